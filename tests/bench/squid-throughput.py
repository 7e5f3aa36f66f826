#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Squid's throughput with tracing, as a paired ratio to an unpatched Squid, interleaved.

All variants run side by side, idle but for the one that is driven.  A round drives each for some seconds, in an order
that turns; ratios are taken within the round.  Printed for each variant: requests a second, the median ratio with its
95 % interval (order statistics of the median), and the same for the processor time of Squid's main thread for each
request, which other programs on the machine disturb less.  "unpatched again" is the ratio of an unpatched Squid to
itself: the noise.  While that interval of throughput is wider than 1 %, more rounds follow, up to --most.

With --calls there are three variants more: tracing with the account of system calls (group syscall), and an unpatched
Squid under `strace -f` and under `perf trace`, which give the like.

The traced Squid also tells the share of the flusher in Squid's processor time, and bytes per record on disk.

With --state every measurement is kept in that file, and a run that was broken off goes on where it was.
"""

import glob
import json
import math
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from squids import (CALLS, VARIANTS, WORKLOADS, Origin, arguments, environment, listening, make_dirs,  # noqa: E402
                    observe, variant)
from lib.env import median, wait_for  # noqa: E402
from lib.proc import children  # noqa: E402

WIDE = 0.01
SCRIPT = """
local n = 0
local id = "%s"
local fresh = %s
local url = "%s"
request = function()
  n = n + 1
  return wrk.format("GET", url .. (fresh and (id .. '-' .. n) or ('o' .. (n %% 50))))
end
"""


class Driven:
    """A Squid and what it used."""

    def __init__(self, env, name, workload):
        self.env, self.workload = env, workload
        self.squid = variant(env, name, workload, alone=WORKLOADS[workload].workers == 1)
        make_dirs(self.squid)
        self.squid.start()
        wait_for(lambda: listening(self.squid.tls_port or self.squid.port), 60, "Squid to listen")
        observe(env, name, self.squid)

    def cpu(self):
        """(ns of main threads, ns of flushers) so far."""
        main = flusher = 0
        pids = [self.squid.process.pid] if self.squid.alone else children(self.squid.process.pid)
        for pid in pids:
            for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
                with open(path) as file:
                    ns = int(file.read().split()[0])
                with open(os.path.dirname(path) + "/comm") as file:
                    name = file.read().strip()
                if path.split("/")[4] == str(pid):
                    main += ns
                elif name == "sqtrace":
                    flusher += ns
        return main, flusher

    def drive(self, origin, seconds, salt):
        """(requests a second, ns of the main thread for each, the flusher's in relation to that)"""
        work = WORKLOADS[self.workload]
        path = self.env.path("wrk.lua")
        with open(path, "w") as out:
            out.write(SCRIPT % (salt, "true" if work.fresh else "false", origin.url(self.workload)))
        target = "https://127.0.0.1:%d/" % self.squid.tls_port if work.tls else "http://127.0.0.1:%d/" % self.squid.port
        before = self.cpu()
        text = subprocess.run([self.env.need_program("wrk"), "-t1", "-c16", "-d%ds" % seconds, "-s", path, target],
                              stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        time.sleep(0.3)  # the flusher comes after
        after = self.cpu()
        if "Non-2xx" in text or "Socket errors" in text:
            raise SystemExit("%s: %s" % (self.squid.name, text))
        requests = int(re.search(r"(\d+) requests in", text).group(1))
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))
        main = after[0] - before[0]
        return rate, main / requests, (after[1] - before[1]) / main

    def trace(self):
        """(records, lost, bytes) of the whole trace, after a clean stop."""
        self.squid.stop()
        if self.squid.trace is None:
            return None
        text = subprocess.run([self.env.tool("sqtrace-dump"), "--table=losses", self.squid.directory],
                              stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        size = sum(os.path.getsize(path) for path in glob.glob(self.squid.directory + "/*.sqt"))
        return [int(re.search(r"^# %s: ([\d,]+)" % key, text, re.M).group(1).replace(",", ""))
                for key in ("records", "lost")] + [size]


def interval(values):
    """95 % interval of the median by order statistics."""
    values = sorted(values)
    n = len(values)
    k = max(0, int(n / 2 - 0.98 * math.sqrt(n)))
    return values[k], values[n - 1 - k]


def ratios(rounds, name, index):
    return [r[name][index] / r["unpatched"][index] for r in rounds]


def enough(rounds, least, most):
    if len(rounds) < least:
        return False
    low, high = interval(ratios(rounds, "unpatched again", 0))
    return len(rounds) >= most or high - low <= WIDE


class State:
    """Rounds that were measured, in a file of one JSON array a line: workload, then a round or ["trace", ...]."""

    def __init__(self, path):
        self.path, self.rounds, self.traces = path, {}, {}
        if path and os.path.exists(path):
            with open(path) as file:
                for line in file:
                    self.take(*json.loads(line))

    def take(self, workload, what):
        if isinstance(what, list):
            old = self.traces.get(workload, [0, 0, 0])
            self.traces[workload] = [a + b for a, b in zip(old, what)]
        else:
            self.rounds.setdefault(workload, []).append(what)

    def add(self, workload, what):
        self.take(workload, what)
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps([workload, what]) + "\n")


def measure(env, origin, workload, state, options):
    rounds = state.rounds.setdefault(workload, [])
    if enough(rounds, options.rounds, options.most):
        return
    names = list(VARIANTS)
    driven = {name: Driven(env, name, workload) for name in names}
    for name in names:
        driven[name].drive(origin, 1, "warm")
    while not enough(rounds, options.rounds, options.most):
        turn = len(rounds)
        print("# %s: round %d of %d to %d" % (workload, turn + 1, options.rounds, options.most), file=sys.stderr,
              flush=True)
        order = names[turn % len(names):] + names[:turn % len(names)]
        if turn // len(names) % 2:
            order.reverse()
        state.add(workload, {name: driven[name].drive(origin, options.seconds, "r%d" % turn) for name in order})
    for name in names:
        trace = driven[name].trace()
        if trace:
            state.add(workload, trace)


def report(workload, state):
    rounds = state.rounds[workload]
    for name in VARIANTS:
        cells = ["%-16s %-16s %10.0f" % (workload, name, median([r[name][0] for r in rounds]))]
        for index in (0, 1):
            values = ratios(rounds, name, index)
            cells.append("%8.4f  %.4f .. %.4f" % ((median(values),) + interval(values)))
        if VARIANTS[name][1] is not None and workload in state.traces:
            records, lost, size = state.traces[workload]
            cells.append("%9.1f %% %10.2f %10d" % (100 * median([r[name][2] for r in rounds]), size / records, lost))
        print("   ".join(cells), flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=12, help="at least (default 12)")
    parser.add_argument("--most", type=int, default=40, help="rounds at most (default 40)")
    parser.add_argument("--seconds", type=int, default=3, help="that each Squid is driven in a round (default 3)")
    parser.add_argument("--state", metavar="FILE", help="keep measurements here, and go on with those that are there")
    parser.add_argument("--calls", action="store_true", help="also with the account of system calls, and beside it an "
                        "unpatched Squid under strace and under perf trace")
    options = parser.parse_args()
    if options.calls:
        VARIANTS.update(CALLS)
    options.most = max(options.most, options.rounds)
    state = State(options.state)
    env = environment(options)
    try:
        origin = Origin(env)
        print("%-16s %-16s %10s   %8s  %-16s   %8s  %-16s   %11s %10s %10s" % (
            "workload", "Squid", "requests/s", "ratio", "95 % interval", "CPU", "95 % interval", "flusher", "B/record",
            "lost"))
        for workload in options.workload or WORKLOADS:
            measure(env, origin, workload, state, options)
            report(workload, state)
    finally:
        env.close()


if __name__ == "__main__":
    main()
