#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The client half of sqtrace-load beside wrk: one thread, kept connections, the same separate origin.

usage: load.py BUILDDIR [ROUNDS [SECONDS]]

Both run at the same time and share one processor, so each has the same time of it, whatever else the machine does; the
origin is on the others.  sqtrace-load compares each body with what it should be; wrk does not look at them.  While the
two keep their processor busy, the ratio is that of what clients can do; else the origin is what limits both.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys

from pairs import apart, interval

CONNECTIONS = 32


def start(command, processor):
    return subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, {processor}))


def result(process, pattern):
    """(requests a second, microseconds of processor time for a request, share of a processor)"""
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(process.args), status))
    count, seconds = (float(text.replace(",", "")) for text in re.search(pattern, said).groups())
    if not count:
        raise SystemExit("%s: no request was answered" % " ".join(process.args))
    used = usage.ru_utime + usage.ru_stime
    return count / seconds, used / count * 1e6, used / seconds


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seconds = sys.argv[3] if len(sys.argv) > 3 else "2"
    load = os.path.join(build, "sqtrace-load")
    if not shutil.which("wrk"):
        print("# wrk is not here: apt-get install wrk")
        return
    processor = apart()
    origin = subprocess.Popen([load, "--origin", "--quiet"], stdout=subprocess.PIPE, universal_newlines=True)
    try:
        url = origin.stdout.readline().strip() + "/size=1000/a"
        peers = {
            "wrk": (["wrk", "-t1", "-c%d" % CONNECTIONS, "-d%ss" % seconds, url], r"(\d+) requests in ([\d.]+)s"),
            "sqtrace-load": ([load, "--quiet", "--clients=%d" % CONNECTIONS, "--requests=0", "--duration=" + seconds, url],
                             r"([\d,]+) requests in ([\d.]+) s"),
        }
        found = {name: [] for name in peers}
        order = list(peers)
        for _ in range(rounds):
            order.reverse()
            running = {name: start(peers[name][0], processor) for name in order}
            for name in order:
                found[name].append(result(running[name], peers[name][1]))
    finally:
        origin.terminate()
        origin.wait()
    for name, results in found.items():
        print("%-14s %8.0f requests/s   %5.1f us of processor time a request   (medians of %d)"
              % (name, statistics.median(r[0] for r in results), statistics.median(r[1] for r in results), rounds))
    busy = statistics.median(a[2] + b[2] for a, b in zip(*found.values()))
    print("their processor was busy for %.0f %% of the time" % (100 * busy))
    for index, what in ((0, "requests a second"), (1, "processor time a request")):
        ratios = [ours[index] / theirs[index] for ours, theirs in zip(found["sqtrace-load"], found["wrk"])]
        print("sqtrace-load / wrk, %s: median %.3f, 95 %% interval %.3f .. %.3f"
              % ((what, statistics.median(ratios)) + interval(ratios)))


if __name__ == "__main__":
    main()
