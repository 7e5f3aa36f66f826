#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship.py - what sqtrace-ship ships: the rows of sqtrace-dump, in partitions, each once; and what bad input gets.

ship_kills.py has the moments and the kills.
"""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from pypi import available, enter  # noqa: E402
from shipped import (FRAME_BLOCK, FRAME_TEXT, SAMPLE, SHIP, TOOLS, SOURCE, check, differences, files, frames, grow, growth,  # noqa: E402
                     rows, ship, text_frame, with_sequence)
from told import until  # noqa: E402

DUMP = os.path.join(TOOLS, "sqtrace-dump")
PASSES = os.path.join(TOOLS, "tests/unit/make_passes")
NOW = "--least-size=0"
FEW = "--table=requests,swaps,ios,connections"
NONE = "__HIVE_DEFAULT_PARTITION__"


def cells(out, table, *names):
    return [tuple(dict(row)[name] for name in names) for row in rows(out).get(table, [])]


def dumped(trace, table):
    """The rows of sqtrace-dump as (ring, row, time_ns)."""
    text = subprocess.run([DUMP, "--quiet", "--no-comments", "--no-header", "--format=tsv", "--table=" + table, "--columns=ring,row,time_ns", trace],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    return sorted(tuple("None" if cell == "-" else cell for cell in line.split("\t")) for line in text.split("\n")[:-1])


def as_dumped(scratch):
    out = os.path.join(scratch, "sample")
    said = ship(SAMPLE, out, "--quiet", FEW)
    check(not said, "the sample is shipped", said)
    for table in ("requests", "swaps", "ios", "connections"):
        here, there = sorted(cells(out, table, "ring", "row", "time_ns")), dumped(SAMPLE, table)
        check(here == there, "%s: the %d rows of sqtrace-dump" % (table, len(there)), len(here), sorted(set(here) ^ set(there))[:3])
    days = {(time.strftime("%Y-%m-%d", time.gmtime(int(ns) // 10 ** 9))) for ns, in cells(out, "requests", "time_ns")}
    check({one[1] for one in files(out).values()} == days, "date= is that of time_ns", days)
    check({one[2] for one in files(out).values()} == {NONE}, "a trace without a host is host=" + NONE)
    made = {}
    for ring, time_s, ns in cells(out, "ios", "ring", "time_s", "time_ns"):
        whole, part = time_s.split(".")
        made.setdefault(ring, set()).add(int(ns) - int(whole + part.ljust(9, "0")))
    check(all(len(one) == 1 for one in made.values()), "time_s counts from when the ring was made", made)
    import pyarrow.parquet
    notes = [(one[3], pyarrow.parquet.read_metadata(path).metadata[b"sqtrace.start_ns"]) for path, one in files(out).items() if one[0] == "ios"]
    check(notes and all({int(start)} == made[ring] for ring, start in notes), "which is in the file's metadata", notes[:3])
    before = set(files(out))
    check(not ship(SAMPLE, out, FEW) and set(files(out)) == before, "the second time, nothing is new")


def engines(scratch):
    """Engines see the partitions as columns."""
    pattern = os.path.join(scratch, "sample", "table=*", "*", "*", "*.parquet")
    if not available("duckdb"):
        return check(True, "DuckDB reads the partitions", skip="duckdb could not be installed")
    import duckdb
    found = duckdb.sql("select \"table\", count(*) from read_parquet('%s', hive_partitioning = true, union_by_name = true) group by 1" % pattern).fetchall()
    wanted = {table: len(found) for table, found in rows(os.path.join(scratch, "sample")).items()}
    return check(dict(found) == wanted, "DuckDB reads the partitions", found, wanted)


def batches(scratch):
    """A batch waits until it is large or old enough; the sample is old."""
    trace, out = os.path.join(scratch, "waiting"), os.path.join(scratch, "batches")
    pieces = growth(SAMPLE)
    grow(trace, pieces[:400])
    check(not ship(trace, out, "--table=ios", "--least-size=1GB", "--least-age=99999h") and not files(out), "a small batch is put off")
    check(not glob.glob(os.path.join(out, ".sqtrace-ship", "*.parquet")), "and leaves no file")
    check(not ship(trace, out, "--table=ios", "--least-size=1GB", "--least-age=1h") and files(out), "it is shipped once it is old")
    grow(trace, pieces[400:])
    ship(trace, out, "--table=ios", "--least-size=1GB", "--least-age=99999h")
    apart = differences({"ios": rows(os.path.join(scratch, "sample"))["ios"]}, {"ios": rows(out)["ios"]})
    check(not apart, "and in any case once the trace has ended", *apart)


def segment(path, header, found, number):
    with open(path, "wb") as file:
        file.write(with_sequence(header, number) + b"".join(one[1] for one in found))


def removed(scratch):
    """keep= removed a segment that was not shipped: what of it is missing is a row of losses."""
    trace, out = os.path.join(scratch, "keep"), os.path.join(scratch, "kept")
    os.makedirs(trace)
    header, found = frames(os.path.join(SAMPLE, "kid-1.sqt"))
    texts, blocks = [one for one in found if one[0] == FRAME_TEXT], [one for one in found if one[0] == FRAME_BLOCK]
    segment(os.path.join(trace, "a.sqt"), header, texts + blocks[:100], 0)
    ship(trace, out, "--quiet", NOW, "--table=ios,losses")
    os.remove(os.path.join(trace, "a.sqt"))
    segment(os.path.join(trace, "c.sqt"), header, texts + blocks[200:], 2)
    said = ship(trace, out, "--quiet", NOW, "--table=ios,losses")
    count = blocks[200][2] - blocks[100][2]
    losses = cells(out, "losses", "records", "reason")
    check(not said and losses == [(str(count), "missing segment")], "records that were removed unshipped are a row of losses", count, losses, said)
    check(not ship(trace, out, "--quiet", NOW, "--table=ios,losses") and cells(out, "losses", "records", "reason") == losses, "once")
    numbers = sorted(int(row) // 10 ** 6 for row, in cells(out, "ios", "row") if row != "None")
    check(numbers and all(n < blocks[100][2] or n >= blocks[200][2] for n in numbers) and numbers[0] < blocks[100][2],
          "and the rows before and after are there")
    never = os.path.join(scratch, "never")
    ship(trace, never, "--quiet", NOW, "--table=ios,losses")
    check(cells(never, "losses", "records") == [(str(blocks[200][2]),)], "so it is if nothing was shipped before", cells(never, "losses", "records"))
    segment(os.path.join(trace, "a.sqt"), header, texts + blocks[:250], 0)
    segment(os.path.join(trace, "c.sqt"), header, texts + blocks[300:], 2)
    half = os.path.join(scratch, "half")
    os.rename(os.path.join(trace, "c.sqt"), os.path.join(scratch, "later.sqt"))
    ship(trace, half, "--quiet", NOW, "--table=ios,losses")
    segment(os.path.join(trace, "a.sqt"), header, texts + blocks[:100], 0)
    os.rename(os.path.join(scratch, "later.sqt"), os.path.join(trace, "c.sqt"))
    ship(trace, half, "--quiet", NOW, "--table=ios,losses")
    count = blocks[300][2] - blocks[250][2]
    check(cells(half, "losses", "records") == [(str(count),)], "what was shipped and is missing now is not lost", count, cells(half, "losses", "records"))


def strange_host(scratch):
    """A trace that no sqtrace wrote may call its host anything."""
    trace, out = os.path.join(scratch, "strange"), os.path.join(scratch, "strange-out")
    os.makedirs(trace)
    header, found = frames(os.path.join(SAMPLE, "kid-2.sqt"))
    found.insert(1, (FRAME_TEXT, text_frame("def\t16\t0\t../a b=%\n"), 0, 0, 0))
    segment(os.path.join(trace, "a.sqt"), header, found, 0)
    said = ship(trace, out, "--quiet", NOW, "--table=ios")
    check({one[2] for one in files(out).values()} == {"..%2Fa%20b%3D%25"}, "other characters of a host are %XX", said, set(files(out)))


# ---- processes that trace ----

def start_passes(folder, *words):
    os.makedirs(folder, exist_ok=True)
    return subprocess.Popen([PASSES, folder, "compute", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def same(one, other):
    return differences(rows(one), rows(other))


def live(scratch):
    """A process traces, and is shipped meanwhile: the next one, if a busy machine ships nothing of this one in time."""
    for n in range(5):
        trace, out = os.path.join(scratch, "live%d" % n), os.path.join(scratch, "live%d-out" % n)
        wrong, times, early = [], 0, 0
        with start_passes(trace, "host=cache-1.example") as child:
            while child.poll() is None:
                said = ship(trace, out, "--quiet", NOW) if glob.glob(trace + "/*.sqt") else ""
                wrong += [said] if said else []
                times += 1
                early = len(files(out)) if child.poll() is None else early
                time.sleep(0.05)
        if wrong or early:
            break
    ship(trace, out, "--quiet", NOW)
    ship(trace, out + "-once", "--quiet", NOW)
    check(not wrong and early, "a process is shipped while it traces: %d times, %d files before its end" % (times, early), *wrong[:3])
    apart = same(out, out + "-once")
    check(not apart, "with the rows that its finished trace has", *apart)
    check({one[2] for one in files(out).values()} == {"cache-1.example"}, "its host is in the path")


def died(scratch):
    """A killed process leaves records in its ring. They are shipped, and not again when the next process makes a segment of them."""
    trace, out = os.path.join(scratch, "died"), os.path.join(scratch, "died-out")
    with start_passes(trace) as child:
        until(lambda: glob.glob(trace + "/*.ring") and dumped(trace, "loops"), 30, "passes are traced")
        child.send_signal(signal.SIGKILL)
    all_rows = dumped(trace, "loops")
    for _ in range(100):  # its process for the disk has the ring's lock a little longer
        said = ship(trace, out, "--quiet", NOW)
        shipped_first = cells(out, "loops", "ring", "row")
        if len(shipped_first) == len(all_rows):
            break
        time.sleep(0.3)
    check(not said and sorted(shipped_first) == [one[:2] for one in all_rows] and all_rows, "the ring of a killed process is shipped", said, len(shipped_first), len(all_rows))
    with start_passes(trace, "host=renamed.example") as child:
        child.wait()
    said = ship(trace, out, "--quiet", NOW)
    keys = cells(out, "loops", "ring", "row")
    check(not said and len(keys) == len(set(keys)) and sorted(keys) == [one[:2] for one in dumped(trace, "loops")],
          "and not again when the next process made a segment of it", said, len(keys))
    hosts = {one[2] for one in files(out).values()}
    check(len(hosts) == 2 and "renamed.example" in hosts, "a host that was renamed has two names", hosts)


def lost_behind(scratch):
    """The ring of a killed process ends with records that were dropped, of which a segment may still come to say more."""
    out = os.path.join(scratch, "lost-behind")
    for _ in range(2):
        ship(os.path.join(SOURCE, "tests/golden/died.ring"), out, "--quiet", NOW, "--table=losses")
    check(cells(out, "losses", "records", "reason") == [("20", "missing segment")], "what was dropped last in a ring is told once it has ended",
          cells(out, "losses", "records", "reason"))


def twice(scratch):
    """The same ring from two directories."""
    copy, out, other = os.path.join(scratch, "copy"), os.path.join(scratch, "sample"), os.path.join(scratch, "other")
    shutil.copytree(SAMPLE, copy)
    before = set(files(out))
    check(not ship(copy, out, "--quiet", FEW) and set(files(out)) == before, "a ring that is shipped twice to one folder is there once")
    grow(other + "-trace", growth(SAMPLE)[:700])
    ship(other + "-trace", other, "--quiet", NOW, "--table=ios")
    overlaps = [(a, b) for a in files(other).values() for b in files(out).values()
                if a[0] == b[0] and a[3] == b[3] and max(a[4], b[4]) < min(a[5], b[5])]
    check(overlaps, "in two folders, the names of the files show the overlap")


def versions(scratch):
    """Traces of other versions, and files that are none, in one directory."""
    trace, out = os.path.join(scratch, "versions"), os.path.join(scratch, "versions-out")
    shutil.copytree(SAMPLE, trace)
    for name in ("old-stamps.sqt", "good.sqt"):
        shutil.copy(os.path.join(SOURCE, "tests/golden", name), trace)
    ship(trace, out, "--quiet", NOW, "--table=ios")
    here, there = sorted(cells(out, "ios", "ring", "row")), [one[:2] for one in dumped(trace, "ios") if one[1] != "None"]
    check(len(set(one[0] for one in here)) > 3 and [one for one in here if one[1] != "None"] == there, "traces of other versions are shipped, too", len(here), len(there))
    shutil.copy(os.path.join(SOURCE, "tests/golden/newer.sqt"), trace)
    said = ship(trace, out, "--quiet", NOW, "--table=ios", status=1)
    check(not said, "one of a later version is an error", said)


# ---- failures ----

def fails(status, message, *arguments):
    got = subprocess.run([SHIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = got.stderr.decode()
    check(got.returncode == status and said.startswith("sqtrace-ship: ") and message in said and said.count("\n") == 1 and not got.stdout,
          message, got.returncode, said)


def full_disk(scratch):
    out = os.path.join(scratch, "full")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    got = subprocess.run([SHIP, SAMPLE, "--to=" + out, "--make-folder", "--quiet", FEW], stderr=subprocess.PIPE, preexec_fn=limit, restore_signals=False, check=False)
    check(got.returncode == 1 and re.search(r"full/\.sqtrace-ship/\w+\.[-0-9]+-[0-9a-f]{32}-000000\.parquet: cannot write: File too large", got.stderr.decode()),
          "a file that cannot be written is named", got.stderr.decode())
    check(not files(out) and not glob.glob(os.path.join(out, ".sqtrace-ship", "*parquet*")), "nothing of it is shipped or left")
    check(not ship(SAMPLE, out, "--quiet", FEW) and not same(out, os.path.join(scratch, "whole")), "the next run ships all")


def others(scratch):
    """Another process has the lock of a ring."""
    import fcntl
    out = os.path.join(scratch, "locked")
    ring = min(one[3] for one in files(os.path.join(scratch, "whole")).values())
    os.makedirs(os.path.join(out, ".sqtrace-ship"))
    with open(os.path.join(out, ".sqtrace-ship", ring + ".lock"), "w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        got = subprocess.run([SHIP, SAMPLE, "--to=" + out, FEW], stderr=subprocess.PIPE, check=False)
        check(got.returncode == 3 and "another sqtrace-ship" in got.stderr.decode() and ring not in {one[3] for one in files(out).values()},
              "a ring that another one has is left to it: status 3", got.returncode, got.stderr.decode())
    check(not ship(SAMPLE, out, "--quiet", FEW) and not same(out, os.path.join(scratch, "whole")), "and shipped when it is free")


def states(scratch):
    out = os.path.join(scratch, "states")
    ship(SAMPLE, out, "--quiet", FEW)
    ring = min(one[3] for one in files(out).values())
    with open(os.path.join(out, ".sqtrace-ship", ring), "a") as file:
        file.write("more\n")
    before = set(files(out))
    fails(1, ring + ": offset 0: no state of a ring", SAMPLE, "--to=" + out, "--quiet", FEW)
    check(set(files(out)) == before, "and nothing of that ring is shipped again")


def messages(scratch):
    there = os.path.join(scratch, "messages")
    fails(2, "no trace given", "--to=" + there)
    fails(2, "with --to=DIR", SAMPLE)
    fails(2, "unknown table 'swap'; did you mean swaps?", SAMPLE, "--to=" + there, "--table=requests,swap")
    fails(2, "ios is named twice", SAMPLE, "--to=" + there, "--table=ios,ios")
    fails(2, "sum up a whole trace", SAMPLE, "--to=" + there, "--table=summary")
    fails(2, "--least-age", SAMPLE, "--to=" + there, "--least-age=soon")
    fails(2, "--least-size", SAMPLE, "--to=" + there, "--least-size=-1")
    fails(2, "--too", SAMPLE, "--too=" + there)
    fails(1, "cannot make this folder", SAMPLE, "--to=" + there + "/a/b", "--make-folder")
    fails(1, "there is no such folder; if no share is missing here, --make-folder", SAMPLE, "--to=" + there)
    os.mkdir(there)
    fails(1, "has no folder .sqtrace-ship", SAMPLE, "--to=" + there)
    check(not os.listdir(there), "and nothing is made in it")
    fails(1, "nowhere", os.path.join(scratch, "nowhere"), "--to=" + there, "--make-folder")
    check(os.listdir(there) == [".sqtrace-ship"], "--make-folder makes it")
    fails(1, "nowhere", os.path.join(scratch, "nowhere"), "--to=" + there)
    fails(2, "--make-folder does not go with --compact", "--compact", "--to=" + there, "--make-folder")
    with open(os.path.join(scratch, "file"), "w"):
        pass
    fails(1, "file: cannot open this folder: Not a directory", SAMPLE, "--to=" + os.path.join(scratch, "file"))
    for option, pattern in (("--help", "^usage: sqtrace-ship"), ("--version", r"^sqtrace-ship \d")):
        got = subprocess.run([SHIP, option], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check(got.returncode == 0 and re.search(pattern, got.stdout.decode()) and not got.stderr, option)


def main():
    enter("pyarrow", "duckdb")
    with tempfile.TemporaryDirectory() as scratch:
        messages(scratch)
        if not available("pyarrow"):
            check(True, "rows that were shipped", skip="pyarrow could not be installed")
            return shipped.plan()
        ship(SAMPLE, os.path.join(scratch, "whole"), "--quiet", FEW)
        for test in (as_dumped, engines, batches, removed, strange_host, live, died, lost_behind, twice, versions, full_disk, others, states):
            test(scratch)
    return shipped.plan()


main()
