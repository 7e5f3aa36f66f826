#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory of making every figure in one pass over a large made trace, beside reading it for none.

usage: figures.py BUILDDIR [RECORDS]

On one processor what counts is the time that the process had of it; on two the time on the clock, which says little
while other work is on the machine.  Runs are interleaved, and the two are compared by the clock, round by round.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def measured(args, cpus):
    """(seconds of processor, on the clock, MiB) of one run."""
    begin = time.monotonic()
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(args), status))
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    build = sys.argv[1]
    count = sys.argv[2] if len(sys.argv) > 2 else "100000000"
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="sqtrace-bench-") as folder:
        trace = os.path.join(folder, "trace.sqt")
        made = int(subprocess.run([os.path.join(build, "many-records"), trace, count], check=True,
                                  stdout=subprocess.PIPE).stdout)
        print("%d records" % made)
        program = os.path.join(build, "tests/bench/all-figures")
        kinds = (("none, one processor", ["none"], cpus[:1]), ("all, one processor", [], cpus[:1]),
                 ("all, two processors", [], cpus[:2]))
        rounds = [[measured([program, trace] + what, set(allowed)) for _, what, allowed in kinds]
                  for _ in range(ROUNDS)]
        print("%-24s %12s %12s %12s %8s" % ("figures", "processor s", "clock s", "M records/s", "MiB"))
        for (name, _, allowed), runs in zip(kinds, zip(*rounds)):
            cpu, clock, mib = map(statistics.median, zip(*runs))
            print("%-24s %12.2f %12.2f %12.1f %8.1f"
                  % (name, cpu, clock, made / (cpu if len(allowed) == 1 else clock) / 1e6, mib))
        if len(cpus) > 1:
            ratios = sorted(one[1] / two[1] for _, one, two in rounds)
            print("by the clock two processors were %.2f times as fast as one (%.2f to %.2f in %d rounds)"
                  % (statistics.median(ratios), ratios[0], ratios[-1], ROUNDS))


if __name__ == "__main__":
    main()
