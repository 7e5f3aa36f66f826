#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The client half of sqtrace-load beside wrk: one thread, kept connections, the same separate origin, in turn.

usage: load.py BUILDDIR [ROUNDS [SECONDS]]

sqtrace-load compares each body with what it should be; wrk does not look at them.  On a machine with few processors the
origin is what limits both, so the client's processor time for a request stands beside the requests a second.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys

CONNECTIONS = 32


def run(command, pattern):
    """(requests a second, microseconds of processor time for a request)"""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: exit status %d" % (" ".join(command), status))
    count, seconds = (float(text.replace(",", "")) for text in re.search(pattern, said).groups())
    return count / seconds, (usage.ru_utime + usage.ru_stime) / count * 1e6


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    seconds = sys.argv[3] if len(sys.argv) > 3 else "3"
    load = os.path.join(build, "sqtrace-load")
    if not shutil.which("wrk"):
        print("# wrk is not here: apt-get install wrk")
        return
    origin = subprocess.Popen([load, "--origin", "--quiet"], stdout=subprocess.PIPE, universal_newlines=True)
    try:
        url = origin.stdout.readline().strip() + "/size=1000/a"
        peers = {
            "wrk": (["wrk", "-t1", "-c%d" % CONNECTIONS, "-d%ss" % seconds, url], r"(\d+) requests in ([\d.]+)s"),
            "sqtrace-load": ([load, "--quiet", "--clients=%d" % CONNECTIONS, "--requests=0", "--duration=" + seconds, url],
                             r"([\d,]+) requests in ([\d.]+) s"),
        }
        found = {name: [] for name in peers}
        for _ in range(rounds):
            for name, (command, pattern) in peers.items():
                found[name].append(run(command, pattern))
    finally:
        origin.terminate()
        origin.wait()
    for name, results in found.items():
        print("%-14s %8.0f requests/s   %5.1f us of processor time a request   (medians of %d)"
              % (name, statistics.median(r[0] for r in results), statistics.median(r[1] for r in results), rounds))
    pairs = list(zip(found["sqtrace-load"], found["wrk"]))
    ratios = sorted(ours[0] / theirs[0] for ours, theirs in pairs)
    print("sqtrace-load / wrk, requests a second: median %.3f, %.3f to %.3f; processor time a request: median %.3f"
          % (statistics.median(ratios), ratios[0], ratios[-1],
             statistics.median(ours[1] / theirs[1] for ours, theirs in pairs)))


if __name__ == "__main__":
    main()
