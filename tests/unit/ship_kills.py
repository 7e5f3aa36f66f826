#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_kills.py - sqtrace-ship neither loses nor doubles a row, whenever it runs and whenever it is killed.

A trace grows in pieces, and is shipped at random moments, some of which end in SIGKILL. The rows must be those of the
whole trace, shipped at once. Then strace kills a run before each of its system calls on files, and lets each fail.
SQT_FULL=1 takes 200 moments and 50 kills; without it there are fewer, and with sanitizers fewer still.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from pypi import available, enter  # noqa: E402
from sanitized import SANITIZED  # noqa: E402
from shipped import SAMPLE, SHIP, check, differences, files, grow, growth, make_folder, rows, ship  # noqa: E402

FULL = os.environ.get("SQT_FULL")
MOMENTS, KILLS = (200, 50) if FULL else (15, 4) if SANITIZED else (40, 10)
CALLS = "openat,write,fsync,renameat,mkdirat,unlinkat"
NOW = "--least-size=0"


def readable(out):
    """An engine that reads at this moment finds whole files only."""
    import pyarrow.parquet
    for path in files(out):
        pyarrow.parquet.read_metadata(path)
    return True


def killed(trace, out, after):
    """Kills a run after so many seconds, unless it is done first. Returns whether it was killed."""
    with subprocess.Popen([SHIP, trace, "--to=" + out, *make_folder(out), "--quiet", NOW], stderr=subprocess.DEVNULL) as child:
        time.sleep(after)
        child.kill()
    return child.returncode == -9


def moments(scratch, once):
    seed = random.randrange(1 << 30)
    draw, pieces = random.Random(seed), growth(SAMPLE)
    cuts = sorted(draw.sample(range(1, len(pieces)), MOMENTS - 1)) + [len(pieces)]
    deadly = set(draw.sample(cuts, KILLS))
    trace, out = os.path.join(scratch, "growing"), os.path.join(scratch, "pieces")
    at, kills, wrong = 0, 0, []
    for cut in cuts:
        grow(trace, pieces[at:cut])
        at = cut
        for _ in range(20 if cut in deadly else 0):  # until one hits
            if killed(trace, out, draw.random() * 0.06):
                kills += 1
                break
        if cut in deadly and draw.random() < 0.5 and cut != cuts[-1]:
            continue  # the next moment finds what the kill left
        wrong += [text for text in [ship(trace, out, "--quiet", NOW)] if text]
    check(not wrong, "a trace that grows is shipped at %d random moments, with %d kills" % (MOMENTS, kills), "seed %d" % seed, *wrong[:3])
    apart = differences(once, rows(out))
    check(kills > KILLS / 2 and not apart, "its rows are those of the whole trace, shipped at once", "seed %d" % seed, kills, *apart)
    ranges = sorted({one[3:] for one in files(out).values()})
    check(all(a[2] <= b[1] for a, b in zip(ranges, ranges[1:]) if a[0] == b[0]), "and no two batches have a record in common", ranges[:5])
    ended = set(files(out))
    check(not ship(trace, out, NOW) and set(files(out)) == ended, "once more, nothing is new")


def count_calls(scratch):
    log, out = os.path.join(scratch, "log"), os.path.join(scratch, "counted")
    shutil.rmtree(out, ignore_errors=True)
    ship(SAMPLE, out, "--quiet", "--table=requests,ios", before=("strace", "-f", "-o", log, "-e", "trace=" + CALLS))
    with open(log) as file:
        names = [line.split("(")[0].split()[-1] for line in file if "(" in line]
    return {name: names.count(name) for name in CALLS.split(",")}


def each_call(scratch, once, how, statuses, step):
    """Runs with a fault at every step-th call of each kind, and then without. The rows must be the same."""
    runs, wrong = 0, []
    for call, count in count_calls(scratch).items():
        for number in range(1, count + 1, step):
            out = os.path.join(scratch, "faulty")
            shutil.rmtree(out, ignore_errors=True)
            got = subprocess.run(["strace", "-f", "-o", "/dev/null", "-e", "trace=" + CALLS, "-e", "inject=%s:%s:when=%d" % (call, how, number), SHIP, SAMPLE,
                                  "--to=" + out, "--make-folder", "--quiet", "--table=requests,ios"], stderr=subprocess.PIPE, check=False)
            runs += 1
            where = "%s %d" % (call, number)
            if got.returncode not in statuses or (os.path.isdir(out) and not readable(out)):
                wrong.append("%s: status %d, %s" % (where, got.returncode, got.stderr.decode()))
            text = ship(SAMPLE, out, "--quiet", "--table=requests,ios")
            wrong += ["%s: %s" % (where, one[:300]) for one in [text, *differences(once, rows(out))] if one]
            wrong += ["%s: left %s" % (where, one) for one in os.listdir(os.path.join(out, ".sqtrace-ship"))
                      if not one.endswith(".lock") and len(one) != 32]
    return runs, wrong


def main():
    enter("pyarrow")
    if not available("pyarrow"):
        check(True, "shipping in pieces", skip="pyarrow could not be installed")
        return shipped.plan()
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "once")
        ship(SAMPLE, out, "--quiet")
        whole = rows(out)
        moments(scratch, whole)
        few = {table: whole[table] for table in ("requests", "ios")}
        if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode != 0:
            check(True, "kills at each call", skip="strace cannot trace here")
            return shipped.plan()
        step = 1 if FULL else 5
        runs, wrong = each_call(scratch, few, "signal=SIGKILL", (-9, 137), step)
        check(runs > 50 / step and not wrong, "killed before a call, %d times: no row is lost or doubled" % runs, *wrong[:5])
        runs, wrong = each_call(scratch, few, "error=ENOSPC", (0, 1, 127), step)  # 127: a library cannot be loaded
        check(runs > 50 / step and not wrong, "a call fails, %d times: no row is lost or doubled" % runs, *wrong[:5])
    return shipped.plan()


main()
