#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""snapshot.py - sqtrace-snapshot takes the files of a stretch of time, whole or not at all."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from shipped import FRAME_BLOCK, FRAME_TEXT, SAMPLE, SOURCE, TOOLS, check, frames, with_sequence  # noqa: E402
from told import copy_at_once, until  # noqa: E402

SNAPSHOT = os.path.join(TOOLS, "sqtrace-snapshot")


def run(*words):
    return subprocess.run([SNAPSHOT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def rows(*traces, table="requests"):
    """Rows of requests, without the times, which count from another start."""
    got = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), *traces, "--table=" + table, "--columns=ring,row" + (",total_ns,outcome" if table == "requests" else ""), "--format=tsv", "--quiet"],
                         stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in got.stdout.splitlines() if not line.startswith("#")][1:]
    return set(lines), len(lines)


QUIET = "27s", "28s"  # of the sample, in whose middle segments it lies


def only(out):
    names = os.listdir(out)
    return os.path.join(out, names[0]) if len(names) == 1 and names[0].startswith("snapshot-") else None


def split(folder, count):
    """A trace of one process in so many segments, the texts in each."""
    os.makedirs(folder)
    header, found = frames(os.path.join(SAMPLE, "kid-1.sqt"))
    texts, blocks = [one for one in found if one[0] == FRAME_TEXT], [one for one in found if one[0] == FRAME_BLOCK]
    for i in range(count):
        part = blocks[len(blocks) * i // count:len(blocks) * (i + 1) // count]
        with open(os.path.join(folder, "kid-1-%03d.sqt" % i), "wb") as file:
            file.write(with_sequence(header, i) + b"".join(one[1] for one in texts + part))
        os.chmod(os.path.join(folder, "kid-1-%03d.sqt" % i), 0o600)


def windows(scratch, trace):
    whole, count = rows(trace)
    out = os.path.join(scratch, "all")
    got = run(trace, "--to=" + out, "--since=0")
    made = only(out)
    check(got.returncode == 0 and made and made in got.stderr, "a snapshot of all is made, and the line names it", got.stderr, os.listdir(out))
    check(rows(made) == (whole, count) and count > 1000, "it has the rows of the trace", count)
    check(rows(made, trace)[1] == count, "read together with the trace, each is there once", rows(made, trace)[1], count)
    links = {os.stat(os.path.join(folder, name)).st_nlink for folder in (made, trace) for name in os.listdir(folder)}
    check(links == {1}, "no segment gets a second name", links)
    check({os.stat(os.path.join(made, name)).st_mode & 0o777 for name in os.listdir(made)} == {0o600}, "none may read it who may not read the trace")
    out = os.path.join(scratch, "last")
    run(trace, "--to=" + out, "--last=1s")
    names = sorted(os.listdir(only(out)))
    check(0 < len(names) < 5 and names[-1] == sorted(os.listdir(trace))[-1], "the last second has the last segments", names)
    asked = rows(trace, "--since=-1s", table="events")[0]
    check(len(asked) > 100 and asked <= rows(only(out), table="events")[0], "and all of its records", len(asked))
    out = os.path.join(scratch, "first")
    run(trace, "--to=" + out, "--until=1s")
    names = sorted(os.listdir(only(out)))
    check(0 < len(names) < 5 and names[0] == sorted(os.listdir(trace))[0], "the first second has the first ones", names)
    asked = rows(trace, "--until=1s", table="events")[0]
    check(len(asked) > 100 and asked <= rows(only(out), table="events")[0], "and all of its records", len(asked))


def cut(scratch, trace):
    """A segment that is being written ends in the midst of a frame."""
    live, out = os.path.join(scratch, "cut"), os.path.join(scratch, "whole")
    shutil.copytree(trace, live)
    last = os.path.join(live, sorted(os.listdir(live))[-1])
    size = os.path.getsize(last)
    os.truncate(last, size - 100)
    got = run(live, "--to=" + out, "--last=1h")
    copied = os.path.join(only(out), os.path.basename(last))
    _, found = frames(last)
    check(got.returncode == 0 and os.path.getsize(copied) == size - 100 - len(found[-1][1]), "the open segment is copied up to its last whole frame",
          os.path.getsize(copied), size, got.stderr)


def blocks(path):
    """The sizes and times of a segment's blocks, in bytes and ticks, and the size of all before the first."""
    header, found = frames(path)
    return [(len(data), last) for kind, data, *_, last in found if kind == FRAME_BLOCK], len(header) + sum(
        len(data) for kind, data, *_ in found if kind == FRAME_TEXT)


def at_blocks(scratch):
    """A snapshot is cut at blocks: it has those of the time asked for, and of each kid two more at most."""
    trace, ticks = os.path.join(scratch, "kids"), 3000000000
    subprocess.run([os.path.join(TOOLS, "tests", "unit", "make_windows"), trace, "120000"], check=True)
    start = 10**12  # of make_trace.h
    for since, until in (3.0, 3.5), (1.5, 1.6), (0.0, 0.5), (2.25, 99.0):
        out = os.path.join(scratch, "blocks-%g" % since)
        got = run(trace, "--to=" + out, "--since=%gs" % since, "--until=%gs" % until)
        made = only(out)
        if not made:
            check(False, "a snapshot from %g s to %g s" % (since, until), got.stderr)
            continue
        allowed = 0
        for name in sorted(os.listdir(made)):
            of, head = blocks(os.path.join(trace, name))
            before = [start] + [last for _, last in of[:-1]]
            wanted = [size for (size, last), first in zip(of, before)
                      if last >= start + since * ticks and first <= start + until * ticks]
            allowed += head + sum(wanted) + 2 * max(size for size, _ in of) + 80
        taken = sum(os.path.getsize(os.path.join(made, name)) for name in os.listdir(made))
        check(0 < taken <= allowed, "from %g s to %g s: %d bytes" % (since, until, taken), allowed)
        asked = rows(trace, "--since=%gs" % since, "--until=%gs" % until, table="events")[0]
        read = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--table=events", made], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, check=False)
        wrong = [line for line in read.stderr.splitlines() if "warning" in line or "missing" in line]
        check(len(asked) > 100 and asked <= rows(made, table="events")[0] and not wrong and read.returncode == 0,
              "it has all records, and is read without a word", len(asked), wrong[:3])


def damaged(scratch, trace):
    """A bad frame in the midst of a segment hides none of those behind it."""
    for which, name in ((-1, "last"), (3, "fourth")):
        live, out = os.path.join(scratch, "damaged-" + name), os.path.join(scratch, "beyond-" + name)
        shutil.copytree(trace, live)
        path = os.path.join(live, sorted(os.listdir(live))[which])
        header, found = frames(path)
        at = len(header) + sum(len(one[1]) for one in found[:len(found) // 2])
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(b"xxxx")
        got = run(live, "--to=" + out, "--since=0")
        wanted = rows(live, table="events")[0]
        check(got.returncode == 0 and rows(only(out), table="events")[0] == wanted, "%s segment damaged: all that can be read is there" % name,
              len(wanted), got.stderr)


def links(scratch, trace):
    """A directory of symbolic links gives a snapshot that needs them no more."""
    linked, out = os.path.join(scratch, "linked"), os.path.join(scratch, "followed")
    os.makedirs(linked)
    for name in os.listdir(trace):
        os.symlink(os.path.join(trace, name), os.path.join(linked, name))
    run(linked, "--to=" + out, "--since=0")
    check(not [name for name in os.listdir(only(out)) if os.path.islink(os.path.join(only(out), name))] and rows(only(out)) == rows(trace),
          "of symbolic links the files are taken")


def refuses(scratch, trace):
    open_to_all, out = os.path.join(scratch, "open"), os.path.join(scratch, "none")
    os.makedirs(open_to_all)
    os.chmod(open_to_all, 0o777)
    got = run(trace, "--to=" + open_to_all, "--since=0")
    check(got.returncode == 1 and "others may write to it" in got.stderr and not os.listdir(open_to_all), "a folder that others may write to is refused", got.stderr)
    os.symlink(scratch, os.path.join(scratch, "planted"))
    got = run(trace, "--to=" + os.path.join(scratch, "planted"), "--since=0")
    check(got.returncode == 1 and got.stderr.count("\n") == 1, "so is a symbolic link", got.stderr)
    if os.geteuid() == 0:
        foreign = os.path.join(scratch, "foreign")
        os.makedirs(foreign)
        os.chown(foreign, 65534, 65534)
        got = run(trace, "--to=" + foreign, "--since=0")
        check(got.returncode == 1 and "others may write to it" in got.stderr and not os.listdir(foreign), "and one of another user", got.stderr)
    got = run(os.path.join(trace, os.listdir(trace)[0]), "--to=" + out, "--until=1s")
    check(got.returncode == 1 and "is no directory" in got.stderr, "one file is no directory of a trace", got.stderr)
    quiet = os.path.join(scratch, "quiet")
    os.makedirs(quiet)
    parts = sorted(os.listdir(trace))
    for name in parts[:2] + parts[-2:]:
        shutil.copy(os.path.join(trace, name), quiet)
    got = run(quiet, "--to=" + out, "--since=%s" % QUIET[0], "--until=%s" % QUIET[1])
    check(got.returncode == 1 and "no file with records of that time" in got.stderr and not os.listdir(out), "nothing is made of a time without records", got.stderr)


def limits(scratch, trace):
    out = os.path.join(scratch, "limits")
    for _ in range(2):
        run(trace, "--to=" + out, "--last=1s", "--keep=2")
    before = sorted(os.listdir(out))
    got = run(trace, "--to=" + out, "--last=1s", "--keep=2")
    check(len(before) == 2 and before[1] == before[0] + "-2", "a second one of the same time has a name of its own", before)
    got_total = run(trace, "--to=" + out, "--last=1s", "--total=1KB")
    check(got_total.returncode == 1 and "--total allows no more" in got_total.stderr, "so it is at --total", got_total.stderr)
    check(run(trace, "--to=" + out + "-roomy", "--last=1s", "--total=1GB").returncode == 0, "below it one is made")
    check(got.returncode == 1 and "--keep=2" in got.stderr and sorted(os.listdir(out)) == before, "at the limit none is made, and it is said", got.stderr)


def kills(scratch, trace):
    out, whole, wrong, killed = os.path.join(scratch, "kills"), rows(trace), [], 0
    for _ in range(40):
        with subprocess.Popen([SNAPSHOT, trace, "--to=" + out, "--since=0", "--quiet"]) as child:
            time.sleep(random.random() * 0.03)
            child.kill()
        killed += child.returncode == -9
    for name in os.listdir(out) if os.path.isdir(out) else ():
        if not name.startswith(".") and rows(os.path.join(out, name)) != whole:
            wrong.append(name)
    os.makedirs(os.path.join(out, ".sqtrace-snapshot"), exist_ok=True)
    with open(os.path.join(out, ".sqtrace-snapshot", "half.sqt"), "wb") as file:
        file.write(b"half")
    got = run(trace, "--to=" + out, "--since=0")
    whole_ones = [name for name in os.listdir(out) if not name.startswith(".")]
    check(killed > 5 and whole_ones and not wrong, "after kills each snapshot is whole", killed, wrong)
    check(got.returncode == 0 and ".sqtrace-snapshot" not in os.listdir(out), "and the next run removes what they left", got.stderr, os.listdir(out))


def full(scratch, trace):
    small = os.path.join(scratch, "small")
    os.makedirs(small)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0755", "none", small], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        check(True, "a full disk", skip="no tmpfs can be mounted")
        return
    try:
        got = run(trace, "--to=" + small, "--since=0")
        check(got.returncode == 1 and "No space left" in got.stderr and not os.listdir(small), "on a full disk none is made, and nothing is left", got.stderr, os.listdir(small))
    finally:
        subprocess.run(["umount", small], check=True)


def made_in(out):
    return [name for name in os.listdir(out) if not name.startswith(".")] if os.path.isdir(out) else []


def watched(scratch, name, conditions, come, limits=(), there="tests/golden/good.sqt", makes=True):
    """What a watching program says while files come to a trace directory, its status, OUT, and what OUT had before the end."""
    live, out = os.path.join(scratch, "live-" + name), os.path.join(scratch, "watched-" + name)
    os.makedirs(live)
    shutil.copy(os.path.join(SOURCE, there), live)
    words = ["--when=" + one for one in conditions] + ["--after=200ms", *(limits or ["--every=0"])]
    with subprocess.Popen([SNAPSHOT, live, "--to=" + out, *words], stderr=subprocess.PIPE, text=True) as child:
        said = child.stderr.readline()  # it watches
        time.sleep(1)
        for folder in come:
            copy_at_once([os.path.join(folder, one) for one in os.listdir(folder)], live, child)
            if makes:
                until(lambda: made_in(out), 60, "a snapshot is made")
            time.sleep(2)
        before = made_in(out)
        child.send_signal(signal.SIGTERM)
        said += child.stderr.read()
    return said, child.returncode, out, before


def watching(scratch):
    gap = os.path.join(SOURCE, "tests", "golden", "gap")
    said, status, out, _ = watched(scratch, "stall", ("stall > 1ms",), (SAMPLE,))
    check(status == 0 and len(os.listdir(out)) == 1 and "because a pass of the event loop of kid " in said and "more); see:" in said,
          "a stall makes a snapshot, which tells of those that follow", said)
    check(rows(only(out), table="events")[1] > 1000, "and has records")
    said, status, out, _ = watched(scratch, "lost", ("lost", "total_ns > 1h"), (gap,), there="doc/sample/kid-1.sqt")
    check(status == 0 and len(os.listdir(out)) == 1 and re.search(r"because kid \d+ lost \d+ records: ", said), "so does a loss", said)
    said, status, out, _ = watched(scratch, "none", ("total_ns > 1h", "stall > 1h"), (SAMPLE,), makes=False)
    check(status == 0 and not os.path.exists(out) and "snapshots made: 0" in said, "what is below the bounds makes none", said)
    said, status, out, _ = watched(scratch, "full", ("stall > 1ms", "lost"), (SAMPLE, gap), ("--keep=1", "--every=0"), "doc/sample/kid-0.sqt")
    check(status == 1 and len(os.listdir(out)) == 1 and "--keep=1 allows no more" in said and "snapshots made: 1" in said,
          "beyond --keep none is made, and the status says so", said)
    said, status, out, before = watched(scratch, "every", ("stall > 1ms", "lost"), (SAMPLE, gap), ("--every=1h",), "doc/sample/kid-0.sqt")
    check(status == 0 and len(before) == 1 and len(os.listdir(out)) == 2, "within --every there is one, and at the end the one that is due", before, said)
    for words in (("--when=stall = 1s",), ("--when=stall > soon",), ("--when=stalls > 1s",), ("--when=lost", "--last=1s"), ("--last=1s", "--every=1s")):
        got = run(SAMPLE, "--to=" + os.path.join(scratch, "no"), *words)
        check(got.returncode == 2 and got.stderr.count("\n") == 1, "usage: %s" % " ".join(words), got.stderr)


def usage():
    for words in ((), (SAMPLE,), (SAMPLE, "--to=x"), (SAMPLE, "--to=x", "--last=1s", "--since=1s"), (SAMPLE, "--to=x", "--last=soon")):
        got = run(*words)
        check(got.returncode == 2 and got.stderr.count("\n") == 1, "usage: %s" % " ".join(words[1:]), got.stderr)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "trace")
        split(trace, 12)
        windows(scratch, trace)
        at_blocks(scratch)
        cut(scratch, trace)
        damaged(scratch, trace)
        links(scratch, trace)
        refuses(scratch, trace)
        limits(scratch, trace)
        kills(scratch, trace)
        full(scratch, trace)
        watching(scratch)
    usage()
    shipped.plan()


main()
