#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_compact.py - sqtrace-ship --compact changes no row, and engines count each row once at any moment.

The sample is shipped in pieces and compacted. strace kills runs before system calls on files, and lets calls fail. After
each, the views of DuckDB must give the rows of the sample, and a second run must finish the work. SQT_FULL=1 takes more
calls.
"""
import glob
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from pypi import available, enter  # noqa: E402
from shipped import SAMPLE, SHIP, TOOLS, check, differences, files, grow, growth, rows, ship  # noqa: E402

DUMP = os.path.join(TOOLS, "sqtrace-dump")
NOW = "--least-size=0"
FEW = "--table=requests,ios,losses"
PIECES = 8
FULL = os.environ.get("SQT_FULL")
OLD = "--least-age=0"
SECONDS = 10
LISTED = 65536  # SQT_LISTING_MOST
CALLS = "openat,pread64,write,fsync,renameat,unlinkat"


def compact(out, *options, status=0, before=()):
    got = subprocess.run([*before, SHIP, "--compact", "--to=" + out, OLD, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         check=False)
    return "" if got.returncode == status else "status %d: %s" % (got.returncode, got.stderr.decode())


def in_pieces(scratch, out, pieces=PIECES):
    """The sample, shipped in pieces."""
    trace, parts = out + "-trace", growth(SAMPLE)
    for at in range(pieces):
        grow(trace, parts[at * len(parts) // pieces:(at + 1) * len(parts) // pieces])
        ship(trace, out, "--quiet", NOW, FEW)
    return out


class Engine:
    """The views over a folder, of which each look is one query."""

    def __init__(self, name, out):
        import sql_engines
        self.session = sql_engines.ENGINES[name]()
        text = subprocess.run([DUMP, "--ddl=" + name, out], stdout=subprocess.PIPE, check=True).stdout.decode()
        for statement in sql_engines.statements(text):
            self.session.run(statement)

    def look(self):
        """Rows, different rows and sums of each table."""
        return [tuple(str(value) for value in self.session.rows(
            "SELECT count(*) AS n, count(DISTINCT concat(ring, '/', CAST(row AS VARCHAR))) AS keys, sum(%s) AS total FROM %s" % sums)[0].values())
            for sums in (("total_ns", "requests"), ("total_ns", "ios"))]

    def left_out(self):
        return {row["file"] for row in self.session.rows("SELECT file FROM files WHERE last_before >= first_row")}


def engines():
    return [name for name, package in (("duckdb", "duckdb"), ("clickhouse", "chdb")) if available(package)]


def merged(out):
    return [path for path in files(out) if int(path.rsplit("-", 1)[1].split(".")[0]) >= 10 ** 9]


def compacted(scratch, once):
    """What is merged, and that shipping goes on."""
    out, trace, parts = os.path.join(scratch, "goes-on"), os.path.join(scratch, "goes-on-trace"), growth(SAMPLE)
    wrong, counts = [], []
    for at in range(PIECES):
        grow(trace, parts[at * len(parts) // PIECES:(at + 1) * len(parts) // PIECES])
        wrong += [ship(trace, out, "--quiet", NOW, FEW)]
        counts.append(len(files(out)))
        if at in (4, PIECES - 1):
            before = rows(out)
            wrong += [compact(out, "--quiet", "--grace=0"), *differences(before, rows(out))]
            counts.append(len(files(out)))
    check(not any(wrong), "rows are the same before and after, and shipping goes on", *[one for one in wrong if one][:3])
    apart = differences(once, rows(out))
    check(not apart, "they are those of the whole trace, shipped at once", *apart)
    check(merged(out) and counts[5] < counts[4] and counts[-1] < counts[-2], "there are fewer files", counts)
    names = set(files(out))
    check(not compact(out, "--quiet", "--grace=0") and set(files(out)) == names, "once more, nothing is merged", names ^ set(files(out)))
    check(not ship(trace, out, "--quiet", NOW, FEW) and set(files(out)) == names, "nothing is shipped again")
    import pyarrow.parquet
    for path in merged(out)[:1]:
        file = pyarrow.parquet.ParquetFile(path)
        starts = [file.metadata.row_group(i).column(0).file_offset for i in range(file.metadata.num_row_groups)]
        check(len(starts) > 1 and starts == sorted(set(starts)) and file.metadata.num_rows == file.read().num_rows
              and file.metadata.metadata[b"sqtrace.merged"].split(), "a merged file has the row groups of the others, and names them", starts)


def chosen(scratch, source):
    """What is small and old."""
    out = shutil.copytree(source, os.path.join(scratch, "chosen"))
    names = set(files(out))
    got = [subprocess.run([SHIP, "--compact", "--to=" + out, *options], stderr=subprocess.PIPE, check=False)
           for options in ((), (OLD, "--least-size=1"), (OLD, "--dry-run"))]
    check(not any(one.returncode for one in got) and set(files(out)) == names, "what is young or large stays, and --dry-run merges nothing", got)
    check("would merge %d files in" % PIECES in got[2].stderr.decode() and "merged 0 files" in got[0].stderr.decode(), "--dry-run says what it would merge", got[2].stderr.decode())
    check(not compact(out, "--grace=0", "--table=ios") and {files(out)[path][0] for path in merged(out)} == {"ios"}, "--table= names the tables")


def moments(scratch, source, name):
    """Before the merged file counts, when all files are there, when some are removed, and at the end."""
    out = shutil.copytree(source, os.path.join(scratch, "moments-" + name))
    engine = Engine(name, out)
    wanted, before = engine.look(), set(files(out))
    check(not compact(out, "--quiet") and set(files(out)) > before, "%s: old files stay for --grace" % name)
    check(engine.look() == wanted and not engine.left_out(), "%s: a merged file does not count at once" % name, wanted, engine.look())
    check(not compact(out, "--quiet") and len(merged(out)) == len(set(files(out)) - before), "%s: nothing is merged twice meanwhile" % name)
    for path in merged(out):
        os.rename(path, re.sub(r"-\d+\.parquet$", "-1500000000.parquet", path))
    check(engine.look() == wanted and engine.left_out(), "%s: when it counts, the others are left out" % name, wanted, engine.look())
    kinds = {row["kind"] for row in engine.session.rows("SELECT kind FROM %s" % engine.session.quoted("overlaps"))}
    check(kinds == {"merged"}, "%s: which overlaps tells from files that came twice" % name, kinds)
    for path in sorted(engine.left_out())[::2]:
        os.remove(path if path.startswith("/") else "/" + path)
    check(engine.look() == wanted, "%s: and do not count when some are removed" % name, wanted, engine.look())
    check(not compact(out, "--quiet") and engine.look() == wanted and not engine.left_out(), "%s: a run after --grace removes them" % name, engine.left_out())


def reading(scratch, source):
    """An engine reads all the time. A query that listed a file just before it was removed may fail, but never counts wrong."""
    out = shutil.copytree(source, os.path.join(scratch, "reading"))
    engine, wrong, gone, looks, done = Engine("duckdb", out), [], [], [], threading.Event()
    wanted, many = engine.look(), len(files(out))

    def read():
        while not done.is_set():
            try:
                looks.append(engine.look())
            except Exception as error:  # noqa: BLE001
                (gone if "No such file" in str(error) else wrong).append(str(error)[:300])
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(60):
        wrong += [text for text in [compact(out, "--quiet", "--grace=2")] if text]
        if len(files(out)) < many and merged(out) and len(looks) > 3:
            break
        done.wait(0.1)
    done.set()
    reader.join()
    wrong += ["%s, not %s" % (one, wanted) for one in looks if one != wanted]
    check(len(looks) > 3 and len(files(out)) < many and not wrong and len(gone) < 3, "an engine that reads all the time counts each row once, %d times" % len(looks), len(files(out)), many, gone[:1], *wrong[:3])


def count_calls(source, scratch):
    log, out = os.path.join(scratch, "log"), shutil.copytree(source, os.path.join(scratch, "counted"))
    compact(out, "--quiet", "--grace=0", before=("strace", "-f", "-o", log, "-e", "trace=" + CALLS))
    with open(log, encoding="utf-8") as file:
        names = [line.split("(")[0].split()[-1] for line in file if "(" in line]
    return {name: names.count(name) for name in CALLS.split(",")}


def faults(scratch, source, once, how, statuses, most):
    """Faults at random calls: the views must not change, and a second run must finish."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    calls = [(name, number + 1) for name, count in count_calls(source, scratch).items() for number in range(count)]
    shutil.rmtree(os.path.join(scratch, "counted"))
    vital = [one for one in calls if one[0] in ("renameat", "unlinkat", "fsync")]
    chosen_calls = draw.sample(vital, min(len(vital), most * 2 // 3))
    chosen_calls += draw.sample([one for one in calls if one not in chosen_calls], most - len(chosen_calls))
    wrong, hits = [], 0
    for call, number in chosen_calls:
        out = shutil.copytree(source, os.path.join(scratch, "faulty"))
        engine = Engine("duckdb", out)
        wanted = engine.look()
        got = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=" + CALLS, "-e", "inject=%s:%s:when=%d" % (call, how, number), SHIP,
                              "--compact", "--to=" + out, "--quiet", OLD, "--grace=0"], stderr=subprocess.PIPE, check=False)
        hits += got.returncode != 0
        seen = engine.look()
        if got.returncode not in statuses or seen != wanted:
            wrong.append("%s %d: status %d, %s, %s, not %s" % (call, number, got.returncode, got.stderr.decode(), seen, wanted))
        text = compact(out, "--quiet", "--grace=0")
        wrong += ["%s %d: %s" % (call, number, one[:300]) for one in [text, *differences(once, rows(out))] if one]
        wrong += ["%s %d: left %s" % (call, number, one) for one in os.listdir(os.path.join(out, ".sqtrace-ship")) if "merge" in one]
        wrong += ["%s %d: %s: not merged" % (call, number, set(files(out)))] if len(merged(out)) < 4 else []
        shutil.rmtree(out)
    check(hits > most // 2 and not wrong, "%s at %d calls: the views do not change, and a second run finishes" % (how, most), "seed %d" % seed, hits, *wrong[:4])


def unusual(scratch, source, once):
    """Files that cannot be merged, and those of others."""
    import fcntl
    out = shutil.copytree(source, os.path.join(scratch, "unusual"))
    ios = sorted(path for path, one in files(out).items() if one[0] == "ios" and one[3] == min(two[3] for two in files(out).values() if two[0] == "ios"))
    with open(ios[1], "r+b") as file:
        file.seek(-6, os.SEEK_END)
        file.write(b"\xff\xff")
    other = os.path.join(os.path.dirname(ios[0]), "notes.parquet")
    with open(other, "wb") as file:
        file.write(b"mine")
    got = subprocess.run([SHIP, "--compact", "--to=" + out, OLD, "--grace=0", "--quiet"], stderr=subprocess.PIPE, check=False)
    said = got.stderr.decode()
    check(os.path.exists(other), "a file of another name is left alone")
    os.remove(other)
    check(got.returncode == 1 and os.path.basename(ios[1]) + ": not a file of sqtrace-ship" in said and ios[0] in files(out) and ios[1] in files(out) and merged(out),
          "a damaged file is named and left, and the rest is merged", said)
    out = shutil.copytree(source, os.path.join(scratch, "wrong-field"))
    one = sorted(path for path, is_of in files(out).items() if is_of[0] == "requests")[1]
    with open(one, "r+b") as file:
        data = file.read()
        at = data.rindex(b"\x18\x03xid\x15") + 7  # behind its codec: how many values the column has
        file.seek(at)
        file.write(b"\x15" if data[at] == 0x16 else b"?")  # no reader of Parquet takes a number of that type there
    got = subprocess.run([SHIP, "--compact", "--to=" + out, OLD, "--grace=0", "--quiet"], stderr=subprocess.PIPE, check=False)
    check(got.returncode == 1 and os.path.basename(one) + ": not a file of sqtrace-ship" in got.stderr.decode() and one in files(out) and merged(out),
          "a file with a wrong field in its metadata is named and left", got.stderr.decode())
    out = shutil.copytree(source, os.path.join(scratch, "twice"))
    one = sorted(path for path, is_of in files(out).items() if is_of[0] == "requests")[1]
    ring, first, end = files(out)[one][3:]
    shutil.copy(one, os.path.join(os.path.dirname(one), "%s-%012d-%012d-0.parquet" % (ring, first + 1, end)))
    engine = Engine("duckdb", out)
    wanted = engine.look()
    check(not compact(out, "--quiet", "--grace=0") and one in files(out) and engine.look() == wanted, "files that overlap are not merged", wanted, engine.look())
    out = shutil.copytree(source, os.path.join(scratch, "busy"))
    with open(os.path.join(out, ".sqtrace-ship", "compact.lock"), "w", encoding="utf-8") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        check(not compact(out, "--quiet", status=3) and not merged(out), "two runs at a time: status 3")


def strace(out, scratch, *expressions):
    """Compacts under strace: the finished process, and the lines of its calls."""
    log = os.path.join(scratch, "calls")
    done = subprocess.run(["strace", "-o", log, "-e", *expressions, SHIP, "--compact", "--to=" + out, "--quiet", OLD, "--grace=0"],
                          stderr=subprocess.PIPE, check=False)
    with open(log, encoding="utf-8", errors="replace") as lines:
        return done, [line for line in lines if line.startswith("newfstatat(")]


def absent(scratch, source):
    """Files that a run does not see, or cannot look at: no row is lost, whatever becomes of them afterwards."""
    out = shutil.copytree(source, os.path.join(scratch, "absent"))
    engine = Engine("duckdb", out)
    wanted = engine.look()
    one = sorted(path for path, is_of in files(out).items() if is_of[0] == "requests")[3]
    aside = os.path.join(scratch, "aside.parquet")
    os.rename(one, aside)
    said = compact(out, "--quiet", "--grace=0")
    os.rename(aside, one)
    check(not said and merged(out) and engine.look() == wanted, "a file that comes later keeps its rows", said, wanted, engine.look())
    out = shutil.copytree(source, os.path.join(scratch, "linked"))
    engine = Engine("duckdb", out)
    one = sorted(path for path, is_of in files(out).items() if is_of[0] == "requests")[3]
    shutil.move(one, aside)
    os.symlink(aside, one)
    said = compact(out, "--quiet", "--grace=0")
    check(not said and merged(out) and os.path.islink(one) and engine.look() == wanted, "so does one that is a symbolic link", said, engine.look())
    looked = strace(shutil.copytree(source, os.path.join(scratch, "looked")), scratch, "trace=newfstatat")[1]
    parquet = [number for number, line in enumerate(looked, 1) if ".parquet" in line and "AT_SYMLINK_NOFOLLOW" in line]
    wrong = []
    for number in parquet[::max(1, len(parquet) // 8)]:
        out = shutil.copytree(source, os.path.join(scratch, "unseen"))
        engine = Engine("duckdb", out)
        got = strace(out, scratch, "trace=newfstatat", "-e", "inject=newfstatat:error=EIO:when=%d" % number)[0]
        if got.returncode != 1 or b"cannot look at its files" not in got.stderr or engine.look() != wanted:
            wrong.append("call %d of %d, status %d: %s" % (number, len(looked), got.returncode, got.stderr))
        shutil.rmtree(out)
    check(len(parquet) > 8 and not wrong, "a file that cannot be looked at ends its folder, and no row is lost", len(parquet), *wrong[:3])

def forged(scratch, source):
    """What others put there: nothing is removed for it, and nothing is written elsewhere."""
    import pyarrow
    import pyarrow.parquet
    out = shutil.copytree(source, os.path.join(scratch, "forged"))
    before = [path for path, is_of in files(out).items() if is_of[0] == "requests"]
    ring = files(out)[before[0]][3]
    schema = pyarrow.parquet.read_schema(before[0])
    names = "".join(os.path.basename(path) + " " for path in before)
    claims = schema.with_metadata({**(schema.metadata or {}), b"sqtrace.merged": names.encode()})
    pyarrow.parquet.write_table(claims.empty_table(), os.path.join(os.path.dirname(before[0]), ring + "-000000000000-000000999999-1000000000.parquet"))
    compact(out, "--quiet", "--table=requests", status=1)
    check(all(os.path.exists(path) for path in before), "a file of another maker that names all files removes none")
    elsewhere = os.path.join(scratch, "elsewhere")
    os.mkdir(elsewhere)
    shutil.rmtree(os.path.join(out, ".sqtrace-ship"))
    os.symlink(elsewhere, os.path.join(out, ".sqtrace-ship"))
    said = compact(out, "--quiet", status=1)
    check(not said and os.listdir(elsewhere) == [], "a symbolic link instead of the stage is refused", said, os.listdir(elsewhere))


def forged_footer(names):
    """A file of one row and no row group, whose metadata says that it was made of those names."""
    def text(data):
        size, length = len(data), b""
        while size > 127:
            size, length = size >> 7, length + bytes([size & 127 | 128])
        return b"\x18" + length + bytes([size]) + data
    footer = b"\x29\x1c\0\x16\x02\x19\x0c\x19\x1c" + text(b"sqtrace.merged") + text(names) + b"\0" + text(b"sqtrace-ship") + b"\x19\x1c\0\0"
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def plant(folder, digit, first, end, part=0, data=b""):
    """Puts a file of a ring of that digit into the folder, and returns its name."""
    name = "%s-%012d-%012d-%d.parquet" % (digit * 32, first, end, part)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return name


def crowd(scratch, source, once, case, put, message, many=1):
    """Files of others do not keep a run, which has the lock meanwhile, for longer than it takes to read them."""
    out = shutil.copytree(source, os.path.join(scratch, case))
    honest, rings = set(files(out)), {one[3] for one in files(out).values()}
    folder = os.path.dirname(min(path for path, one in files(out).items() if one[0] == "requests"))
    put(folder)
    planted = set(files(out)) - honest
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = subprocess.run([SHIP, "--compact", "--to=" + out, "--quiet", OLD, "--grace=0"], stderr=subprocess.PIPE, check=False,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)))
    ended, said = resource.getrusage(resource.RUSAGE_CHILDREN), got.stderr.decode()
    check(got.returncode == 1, "%s: a run ends within %d s of processor time" % (case, SECONDS),
          got.returncode, ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
    check(said.count(message) == many and planted <= set(files(out)), "%s: they are reported and stay" % case, said.count(message), said[:300])
    for path in planted:
        os.remove(path)
    apart = differences(once, rows(out))
    left = [path for path in files(out) if path in honest]
    check({files(out)[path][3] for path in merged(out)} == rings and not left and not apart, "%s: the files beside them are merged" % case, left[:3], *apart)
    shutil.rmtree(out)


def crowds(scratch, source, once):
    def empty(folder):
        for first in range(4000):
            plant(folder, "f", first, first + 1)

    def notes(folder):
        names = [plant(folder, "f", first, first + 1, data=forged_footer(b"")) for first in range(1000)]
        for part in range(100):
            plant(folder, "f", 0, 1000, 4 * 10 ** 9 + part, forged_footer(b"".join(b"%s " % name.encode() for name in names)))
            plant(folder, "f", 0, 2000, 4 * 10 ** 9 + part, forged_footer(b"x" * (1 << 20)))

    def apart(folder):
        for first in range(LISTED):
            plant(folder, "f", 2 * first, 2 * first + 1)
    crowd(scratch, source, once, "empty files", empty, "not a file of sqtrace-ship", 3999)  # the last one has no neighbour to be merged with
    crowd(scratch, source, once, "long notes", notes, "names more files than sqtrace-ship merges into one; they stay", 200)
    crowd(scratch, source, once, "too many files", apart, "more than %d files; the last " % LISTED)


def fails(message, *arguments):
    got = subprocess.run([SHIP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = got.stderr.decode()
    check(got.returncode in (1, 2) and message in said and said.count("\n") == 1 and not got.stdout, message, got.returncode, said)


def messages(scratch):
    fails("--compact reads no trace", "--compact", SAMPLE, "--to=" + scratch)
    fails("--grace goes with --compact", SAMPLE, "--to=" + scratch, "--grace=1h")
    fails("--dry-run goes with --compact", SAMPLE, "--to=" + scratch, "--dry-run")
    fails("name the folder to compact", "--compact")
    fails("nowhere: there is no such folder", "--compact", "--to=" + os.path.join(scratch, "nowhere"))
    fails("has no folder .sqtrace-ship", "--compact", "--to=" + scratch)


def main():
    enter("pyarrow", "duckdb", "clickhouse", "chdb")
    with tempfile.TemporaryDirectory() as scratch:
        messages(scratch)
        if not available("pyarrow"):
            check(True, "merging", skip="pyarrow could not be installed")
            return shipped.plan()
        ship(SAMPLE, os.path.join(scratch, "once"), "--quiet", FEW)
        once = rows(os.path.join(scratch, "once"))
        source = in_pieces(scratch, os.path.join(scratch, "pieces"))
        compacted(scratch, once)
        chosen(scratch, source)
        crowds(scratch, source, once)
        for name in engines():
            moments(scratch, source, name)
        if "duckdb" not in engines() or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
            check(True, "an engine that reads, and kills", skip="it takes DuckDB and strace")
            return shipped.plan()
        reading(scratch, source)
        unusual(scratch, source, once)
        absent(scratch, source)
        forged(scratch, source)
        faults(scratch, source, once, "signal=SIGKILL", (-9, 137), 60 if FULL else 12)
        faults(scratch, source, once, "error=ENOSPC", (0, 1, 127), 30 if FULL else 4)
    return shipped.plan()


main()
