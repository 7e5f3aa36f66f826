#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Squid's throughput with tracing, as a paired ratio to an unpatched Squid.

The main threads of all variants share one processor, and all are driven at the same time: the kernel gives each the
same time within milliseconds, so whatever else the machine does meets them alike.  How many requests each has done with
its share is its throughput.  Clients, origin, and Squid's other threads and processes are on the other processors.

A round lasts some seconds; ratios are taken within the round, to the mean of two unpatched Squids.  Each round has new
Squids, because one process of a program may be faster than another one, and does not become the same one by being asked
again.  A program may also be faster than another one because of where the linker happened to put its functions, and
nothing that is added to a program leaves them in their places.  So for each round lld makes --orders programs of the
same objects, their functions in orders that no round of the workload had before, and shares them out among the Squids.

Printed for each variant: requests a second, the median ratio with its 95 % interval (order statistics of the median),
and the same for the processor time of Squid's main thread for each request.  "unpatched again" is the ratio of one of
the unpatched Squids to the other: the noise.  While that interval of throughput is wider than 1 %, more rounds follow,
up to --most.

With --calls there is a variant more, tracing with the account of system calls (group syscall), and an unpatched Squid
under `strace -f` and under `perf trace`, which give the like.  Those two are driven one after another, and compared
with an unpatched Squid that is driven alone, too; one that is not installed is left out, and a line says so.

The traced Squid also tells the flusher's processor time as a share of that of all the rest of Squid (helper threads and
processes, too), and bytes per record on disk.

With --state every measurement is kept in that file, and a run that was broken off goes on where it was.
"""

import glob
import itertools
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pairs import apart, interval  # noqa: E402
from squids import (CALLS, OBSERVERS, VARIANTS, WORKLOADS, Origin, answered, arguments, environment, listening,  # noqa: E402
                    make_dirs, observe, observers, prefix_of, programs, variant, wrk)
from lib.env import median, wait_for  # noqa: E402
from lib.proc import children  # noqa: E402

WIDE = 0.01
TRACES = 4  # rounds after which the traced Squid is driven alone, for its flusher and what it writes
UNPATCHED = "unpatched", "unpatched again"
ALONE = "unpatched, alone"


class Driven:
    """A Squid and what it used."""

    def __init__(self, env, name, workload, processor, program):
        self.env, self.workload = env, workload
        self.squid = variant(env, name, workload, alone=WORKLOADS[workload].workers == 1, program=program)
        make_dirs(self.squid)
        self.squid.start()
        wait_for(lambda: listening(self.squid.tls_port or self.squid.port), 60, "Squid to listen")
        observe(env, name, self.squid)
        for pid in self.mains():
            os.sched_setaffinity(pid, {processor})

    def mains(self):
        return [self.squid.process.pid] if self.squid.alone else children(self.squid.process.pid)

    def cpu(self):
        """(ns of main threads, ns of flushers, ns of all but flushers: helper threads and processes, too) so far."""
        main = flusher = squid = 0
        mains = self.mains()
        helpers = [child for pid in mains for child in children(pid)]
        for path in [path for pid in mains + helpers for path in glob.glob("/proc/%d/task/*/schedstat" % pid)]:
            with open(path) as file:
                ns = int(file.read().split()[0])
            with open(os.path.dirname(path) + "/comm") as file:
                name = file.read().strip()
            if name in ("sqtrace", "sqtrace-disk"):
                flusher += ns
            else:
                squid += ns
                main += ns if int(path.split("/")[4]) in mains else 0
        return main, flusher, squid

    def drive(self, origin, seconds, salt):
        """Begins to."""
        self.before = self.cpu()
        self.load = wrk(self.env, self.squid, origin, self.workload, seconds, salt)

    def driven(self, settle=0):
        """(requests a second, ns of the main thread for each), when that is done"""
        requests, rate = answered(self.load, self.squid)
        time.sleep(settle)
        after = self.cpu()
        self.used = [now - then for now, then in zip(after, self.before)]
        return rate, self.used[0] / requests

    def trace(self, origin, seconds):
        """[what cpu() has, while it is driven alone; records, lost and bytes of the whole trace]"""
        self.drive(origin, seconds, "last")
        self.driven(0.3)  # the flusher comes after
        self.squid.stop()
        text = subprocess.run([self.env.tool("sqtrace-dump"), "--table=losses", self.squid.directory],
                              stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        segments = glob.glob(self.squid.directory + "/*.sqt")
        size = sum(map(os.path.getsize, segments))
        for path in segments:
            os.unlink(path)
        return self.used + [int(re.search(r"^# %s: ([\d,]+)" % key, text, re.M).group(1).replace(",", ""))
                            for key in ("records", "lost")] + [size]


def ratios(rounds, name, index):
    base = [ALONE] if name in (ALONE, *OBSERVERS) else UNPATCHED[:1] if name in UNPATCHED else UNPATCHED
    return [r[name][index] * len(base) / sum(r[other][index] for other in base) for r in rounds]


def enough(rounds, least, most):
    if len(rounds) < least:
        return False
    low, high = interval(ratios(rounds, "unpatched again", 0))
    return len(rounds) >= most or high - low <= WIDE


class State:
    """Rounds that were measured, in a file of one JSON array a line: how many orders of each Squid a round had, as "2 a
    round", workload, then a round or [variant, trace...].  Those of other orders are left alone."""

    def __init__(self, path, orders):
        self.path, self.orders, self.rounds, self.traces = path, orders, {}, {}
        if path and os.path.exists(path):
            with open(path) as file:
                for orders, *line in map(json.loads, file):
                    if orders == self.orders:
                        self.take(*line)

    def take(self, workload, what):
        if isinstance(what, list):
            key = workload, what[0]
            self.traces[key] = [a + b for a, b in zip(self.traces.get(key, [0] * 6), what[1:])]
        else:
            self.rounds.setdefault(workload, []).append(what)

    def add(self, workload, what):
        self.take(workload, what)
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps([self.orders, workload, what]) + "\n")


def measure(env, origin, workload, state, options):
    rounds = state.rounds.setdefault(workload, [])
    while not enough(rounds, options.rounds, options.most):
        print("# %s: round %d of %d to %d" % (workload, len(rounds) + 1, options.rounds, options.most), file=sys.stderr,
              flush=True)
        new_squids(env, origin, workload, state, options, len(rounds))


def share_out(env, names, ordered):
    """{name: program}: the variants of one prefix get different ones, as far as there are."""
    found = {}
    for prefix, choice in ordered.items():
        random.shuffle(choice)
        found.update(zip([name for name in names if prefix_of(env, name) == prefix], itertools.cycle(choice)))
    return found


def new_squids(env, origin, workload, state, options, turn):
    """One round."""
    names = [*VARIANTS, *options.observers]
    ordered = programs(env, options.orders, 1 + turn * options.orders)
    driven = {name: Driven(env, name, workload, options.processor, program)
              for name, program in share_out(env, names, ordered).items()}
    driven[ALONE] = driven["unpatched"]
    found = {}

    def drive(group, seconds, salt):
        for name in group:
            driven[name].drive(origin, seconds, salt)
        found.update((name, driven[name].driven()) for name in group)
    drive(names, 1, "warm")
    first = turn % len(VARIANTS)
    for group in [[*VARIANTS][first:] + [*VARIANTS][:first]] + [[name] for name in ([ALONE, *options.observers]
                                                                                     if options.observers else [])]:
        drive(group, options.seconds, "r%d" % turn)
    state.add(workload, found)
    for name in names:
        if driven[name].squid.trace is None or turn >= TRACES:
            driven[name].squid.stop()
        else:
            state.add(workload, [name] + driven[name].trace(origin, options.seconds))


def report(workload, state, names):
    rounds = state.rounds[workload]
    for name in names:
        cells = ["%-16s %-16s %10.0f" % (workload, name, median([r[name][0] for r in rounds]))]
        for index in (0, 1):
            values = ratios(rounds, name, index)
            cells.append("%8.4f  %.4f .. %.4f" % ((median(values),) + interval(values)))
        if (workload, name) in state.traces:
            _, flusher, squid, records, lost, size = state.traces[workload, name]
            cells.append("%9.1f %% %10.2f %10d" % (100 * flusher / squid, size / records, lost))
        print("   ".join(cells), flush=True)


def main():
    parser = arguments(__doc__, default=2, help="programs of each Squid for each round, their functions in other "
                       "orders; 0: the installed ones (default 2)")
    parser.add_argument("--rounds", type=int, default=12, help="at least (default 12)")
    parser.add_argument("--most", type=int, default=40, help="rounds at most (default 40)")
    parser.add_argument("--seconds", type=int, default=3, help="that each Squid is driven in a round (default 3)")
    parser.add_argument("--state", metavar="FILE", help="keep measurements here, and go on with those that are there")
    parser.add_argument("--calls", action="store_true", help="also with the account of system calls, and beside it an "
                        "unpatched Squid under strace and under perf trace")
    options = parser.parse_args()
    options.observers = observers() if options.calls else []
    if options.calls:
        VARIANTS.update(CALLS)
    options.most = max(options.most, options.rounds)
    options.processor = apart()
    env = environment(options)
    try:
        state = State(options.state, "%d a round" % options.orders)
        origin = Origin(env)
        print("%-16s %-16s %10s   %8s  %-16s   %8s  %-16s   %11s %10s %10s" % (
            "workload", "Squid", "requests/s", "ratio", "95 % interval", "CPU", "95 % interval", "flusher", "B/record",
            "lost"))
        for workload in options.workload or WORKLOADS:
            measure(env, origin, workload, state, options)
            report(workload, state, [*VARIANTS] + ([ALONE] + options.observers if options.calls else []))
    finally:
        env.close()


if __name__ == "__main__":
    main()
