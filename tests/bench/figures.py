#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory of making every figure in one pass over a large made trace, beside reading it for none.

usage: figures.py BUILDDIR [RECORDS]

On one processor what counts is the time that the process had of it; on two the time on the clock, which says little
while other work is on the machine: so the time of the busier thread stands beside it, the least that it can be.
"""

import os
import subprocess
import sys
import tempfile
import time

RUNS = 3


def measured(args, cpus):
    """(seconds of processor, on the clock, MiB, seconds of the busier thread) of one run."""
    begin = time.monotonic()
    process = subprocess.Popen(args, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    said = process.stdout.read().decode().split()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(args), status))
    whole, second = float(said[6]), float(said[10])
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024, max(second, whole - second)


def main():
    build = sys.argv[1]
    count = sys.argv[2] if len(sys.argv) > 2 else "100000000"
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="sqtrace-bench-") as folder:
        trace = os.path.join(folder, "trace.sqt")
        made = int(subprocess.run([os.path.join(build, "many-records"), trace, count], check=True,
                                  stdout=subprocess.PIPE).stdout)
        print("%d records" % made)
        print("%-24s %12s %12s %8s %16s" % ("figures", "processor s", "M records/s", "MiB", "busier thread s"))
        one = None
        for name, what, allowed in (("none, one processor", ["none"], cpus[:1]), ("all, one processor", [], cpus[:1]),
                                    ("all, two processors", [], cpus[:2])):
            runs = sorted(measured([os.path.join(build, "tests/bench/all-figures"), trace] + what, set(allowed))
                          for _ in range(RUNS))
            cpu, clock, mib, busier = runs[RUNS // 2]
            print("%-24s %12.2f %12.1f %8.1f %16.2f" % (name, cpu, made / cpu / 1e6, mib, busier), flush=True)
            if name.startswith("all, one"):
                one = cpu
            if name.startswith("all, two") and len(cpus) > 1:
                best = min(run[1] for run in runs)
                print("on two processors %.2f times as fast by the clock (best of %d), %.2f times by the busier thread"
                      % (one / best, RUNS, one / busier))


if __name__ == "__main__":
    main()
