#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed and memory of making every figure in one pass over a large made trace, beside reading it for none, and beside the
report, without what gnuplot takes for its pictures.

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
TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools")


def measured(args, cpus):
    """(seconds of processor, on the clock, MiB) of one run."""
    begin = time.monotonic()
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with open("/proc/%d/stat" % process.pid, encoding="ascii") as file:  # without the time of its children
        ticks = sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(args), status))
    return ticks / os.sysconf("SC_CLK_TCK"), time.monotonic() - begin, usage.ru_maxrss / 1024


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
        report = [os.path.join(build, "sqtrace-report"), "--quiet", "--data=" + TOOLS, "--output=" + os.path.join(folder, "report"), trace]
        kinds = (("none, one processor", [program, trace, "none"], cpus[:1]), ("all, one processor", [program, trace], cpus[:1]),
                 ("all, two processors", [program, trace], cpus[:2]), ("the report, one processor", report, cpus[:1]))
        rounds = [[measured(args, set(allowed)) for _, args, allowed in kinds] for _ in range(ROUNDS)]
        print("%-26s %12s %12s %12s %8s" % ("figures", "processor s", "clock s", "M records/s", "MiB"))
        for (name, _, allowed), runs in zip(kinds, zip(*rounds)):
            cpu, clock, mib = map(statistics.median, zip(*runs))
            print("%-26s %12.2f %12.2f %12.1f %8.1f"
                  % (name, cpu, clock, made / (cpu if len(allowed) == 1 else clock) / 1e6, mib))
        if len(cpus) > 1:
            ratios = sorted(one[1] / two[1] for _, one, two, _ in rounds)
            print("by the clock two processors were %.2f times as fast as one (%.2f to %.2f in %d rounds)"
                  % (statistics.median(ratios), ratios[0], ratios[-1], ROUNDS))
        ratios = sorted(pages[0] / one[0] for _, one, _, pages in rounds)
        print("the report took %.2f times the processor time of all figures (%.2f to %.2f)"
              % (statistics.median(ratios), ratios[0], ratios[-1]))


if __name__ == "__main__":
    main()
