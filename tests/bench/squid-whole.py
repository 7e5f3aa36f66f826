#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole cost of tracing: one Squid alone with its load, its main thread's processor full and its caches hot.

Five Squids are there, and one at a time is driven, for a second in turn: unpatched, unpatched again, the same with a
second thread that does nothing, patched with tracing off, and patched with tracing on.  A round is a turn of each, there
and back, so that a drift of the machine meets all alike.  Ratios are taken within the round, to the mean of the two
unpatched ones; "unpatched again" is one unpatched Squid divided by the other, and says what the rest can be trusted to.
After --fresh rounds there are new Squids, linked in new orders if lld is there.

Pinned: the main thread has a processor for itself; the flusher, the disk process, Squid's helpers, clients and origin
share the others.  Free: the kernel places all of them.

Processor time of a request counts all threads of Squid and all its processes: the flusher and "sqtrace-disk" as well as
aufs threads, diskd and unlinkd.

Printed for each Squid: requests a second; ratios with 95 % intervals of the median for throughput, for the processor
time of all, and for that of the main thread; the main thread's involuntary and voluntary context switches a second, and
those of all others.  For the traced one: microseconds of the flusher and of the disk process a request and as a share of
the main thread's, records a request, bytes a record on disk, records lost.

With --state every round is kept in that file, and a run that was broken off goes on where it was.
"""

import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import squids  # noqa: E402
from pairs import apart, interval  # noqa: E402
from squids import WORKLOADS, Origin, answered, arguments, environment, listening, make_dirs, programs, wrk  # noqa: E402
from lib import native  # noqa: E402
from lib.env import median, wait_for  # noqa: E402
from lib.proc import children  # noqa: E402

BASE = "unpatched", "unpatched again"
THREAD, ON = "idle thread", "patched, on"
squids.VARIANTS[THREAD] = ("unpatched", None)
NAMES = [*BASE, THREAD, "patched, off", ON]
ALONE = [name for name, work in WORKLOADS.items() if work.workers == 1]
ROLES = {"sqtrace": "flusher", "sqtrace-disk": "disk"}


class Used:
    """Processor time, ns, and context switches so far, by role: main, flusher, disk, other."""

    def __init__(self, main):
        self.ns, self.involuntary, self.voluntary = {}, {}, {}
        for pid in [main] + children(main):
            for task in glob.glob("/proc/%d/task/*" % pid):
                try:
                    self.add(task, task == "/proc/%d/task/%d" % (main, main))
                except OSError:  # it ended
                    pass

    def add(self, task, is_main):
        with open(task + "/schedstat") as file:
            ns = int(file.read().split()[0])
        with open(task + "/status") as file:
            text = file.read()
        role = "main" if is_main else ROLES.get(re.search("^Name:\t(.*)", text).group(1), "other")
        switches = [int(n) for n in re.findall(r"voluntary_ctxt_switches:\s+(\d+)", text)]
        for where, value in zip((self.ns, self.voluntary, self.involuntary), (ns, *switches)):
            where[role] = where.get(role, 0) + value

    def since(self, before):
        return [{role: value - then.get(role, 0) for role, value in now.items()} for now, then in
                ((self.ns, before.ns), (self.involuntary, before.involuntary), (self.voluntary, before.voluntary))]


class Driven:
    def __init__(self, env, name, workload, processor, program):
        self.env, self.workload, self.name = env, workload, name
        preload = native.preload(env, "idlethread") if name == THREAD else None
        self.squid = squids.variant(env, name, workload, alone=True, program=program, preload=preload)
        make_dirs(self.squid)
        self.squid.start()
        wait_for(lambda: listening(self.squid.tls_port or self.squid.port), 60, "Squid to listen")
        self.pid = self.squid.process.pid
        if processor is not None:
            os.sched_setaffinity(self.pid, {processor})

    def turn(self, origin, seconds, salt):
        """[requests, requests a second, ns, involuntary and voluntary switches by role]"""
        before = Used(self.pid)
        requests, rate = answered(wrk(self.env, self.squid, origin, self.workload, seconds, salt), self.squid)
        return [requests, rate] + Used(self.pid).since(before)

    def trace(self):
        """[records, lost, bytes] of all that it was asked for; ends it."""
        self.squid.stop()
        if self.squid.trace is None:
            return None
        text = subprocess.run([self.env.tool("sqtrace-dump"), "--table=losses", self.squid.directory],
                              stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        segments = glob.glob(self.squid.directory + "/*.sqt")
        size = sum(map(os.path.getsize, segments))
        for path in segments:
            os.unlink(path)
        return [int(re.search(r"^# %s: ([\d,]+)" % key, text, re.M).group(1).replace(",", ""))
                for key in ("records", "lost")] + [size]


class State:
    """Rounds, in a file of one JSON array a line: key (workload and placement), then a round's {name: [turn, turn]} or
    what a traced Squid left: [requests, records, lost, bytes]."""

    def __init__(self, path):
        self.path, self.rounds, self.traces = path, {}, {}
        if path and os.path.exists(path):
            with open(path) as file:
                for key, what in map(json.loads, file):
                    self.take(key, what)

    def take(self, key, what):
        (self.rounds if isinstance(what, dict) else self.traces).setdefault(key, []).append(what)

    def add(self, key, what):
        self.take(key, what)
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps([key, what]) + "\n")


def start_all(env, workload, options, block):
    ordered = programs(env, options.orders, 1 + block * options.orders)
    found, used = {}, {}
    for name in NAMES:
        choice = ordered[squids.prefix_of(env, name)]
        used[id(choice)] = used.get(id(choice), -1) + 1
        found[name] = Driven(env, name, workload, options.processor, choice[used[id(choice)] % len(choice)])
    return found


def measure(env, origin, workload, key, state, options):
    rounds = state.rounds.setdefault(key, [])
    while len(rounds) < options.rounds:
        block = len(rounds) // options.fresh
        driven = start_all(env, workload, options, block)
        requests = 0  # of the traced one
        for name in NAMES:
            warm = driven[name].turn(origin, 2, "warm")[0]
            requests += warm if name == ON else 0
        for _ in range(min(options.fresh, options.rounds - len(rounds))):
            print("# %s: round %d of %d" % (key, len(rounds) + 1, options.rounds), file=sys.stderr, flush=True)
            turn = len(rounds)
            first = turn % len(NAMES)
            order = NAMES[first:] + NAMES[:first]
            found = {name: [] for name in NAMES}
            for name in order + order[::-1]:
                found[name].append(driven[name].turn(origin, options.seconds, "r%d-%d" % (turn, len(found[name]))))
            requests += sum(turn[0] for turn in found[ON])
            state.add(key, found)
        for name in NAMES:
            left = driven[name].trace()
            if left:
                state.add(key, [requests] + left)


# ---- what a round says of a Squid: of both its turns together ----

def rate(turns):
    return sum(t[1] for t in turns)


def cpu_of_all(turns):
    return sum(sum(t[2].values()) for t in turns) / sum(t[0] for t in turns)


def cpu_of(role):
    return lambda turns: sum(t[2].get(role, 0) for t in turns) / sum(t[0] for t in turns)


def ratios(rounds, name, of):
    base = BASE[:1] if name in BASE else BASE
    return [of(r[name]) * len(base) / sum(of(r[other]) for other in base) for r in rounds]


def a_second(rounds, name, index, roles, seconds):
    return sum(t[index].get(role, 0) for r in rounds for t in r[name] for role in roles) / (2 * seconds * len(rounds))


def report(key, state, options):
    rounds = state.rounds[key]
    for name in NAMES:
        cells = ["%-24s %-16s %8.0f" % (key, name, median([rate(r[name]) / 2 for r in rounds]))]
        for of in (rate, cpu_of_all, cpu_of("main")):
            values = ratios(rounds, name, of)
            cells.append("%6.4f  %.4f .. %.4f" % ((median(values),) + interval(values)))
        others = "flusher", "disk", "other"
        cells.append("%6.0f %6.0f   %6.0f %6.0f" % tuple(
            a_second(rounds, name, index, roles, options.seconds)
            for roles in (("main",), others) for index in (3, 4)))
        print("   ".join(cells), flush=True)
    main = median([cpu_of("main")(r[ON]) for r in rounds])
    flusher, disk = (median([cpu_of(role)(r[ON]) for r in rounds]) for role in ("flusher", "disk"))
    requests, records, lost, size = map(sum, zip(*state.traces[key]))
    print("%-24s main thread %.2f us a request, flusher %.3f (%.2f %%), disk process %.3f (%.2f %%); %.1f records a request, "
          "%.1f ns of flusher and disk process a record, %.2f bytes a record, %d lost"
          % (key, main / 1e3, flusher / 1e3, 100 * flusher / main, disk / 1e3, 100 * disk / main, records / requests,
             (flusher + disk) / (records / requests), size / records, lost), flush=True)


def main():
    parser = arguments(__doc__, default=2, help="programs of each Squid for each set of new Squids, their functions in "
                       "other orders; 0: the installed ones (default 2)")
    parser.add_argument("--rounds", type=int, default=24, help="default 24")
    parser.add_argument("--fresh", type=int, default=4, help="rounds with the same Squids (default 4)")
    parser.add_argument("--seconds", type=int, default=1, help="of a turn (default 1)")
    parser.add_argument("--place", choices=["pinned", "free", "both"], default="both", help="default both")
    parser.add_argument("--state", metavar="FILE", help="keep rounds here, and go on with those that are there")
    options = parser.parse_args()
    allowed = os.sched_getaffinity(0)
    env = environment(options)
    print("# processor time of Squid: all its threads and processes, the flusher and the disk process among them")
    print("%-24s %-16s %8s   %-24s   %-24s   %-24s   %s" % (
        "workload", "Squid", "req/s", "throughput", "CPU of all", "CPU of the main thread",
        "switches/s of main: invol., vol.; of others"))
    try:
        state = State(options.state)
        for place in ["pinned", "free"] if options.place == "both" else [options.place]:
            os.sched_setaffinity(0, allowed)
            options.processor = apart() if place == "pinned" else None
            origin = Origin(env)
            for workload in options.workload or ALONE:
                key = "%s, %s" % (workload, place)
                measure(env, origin, workload, key, state, options)
                report(key, state, options)
    finally:
        env.close()


if __name__ == "__main__":
    main()
