#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tracing costs a Squid that is not full: processor time of all its processes, by requests a second.

Four Squids run at the same time, so what else the machine does meets them alike: unpatched, unpatched again, traced, and
a flight recorder (mode=recorder).  Each serves the same number of requests a second; with rate 0, none.  A round has new
Squids.  Processor time is that of all threads of all processes, flusher and "sqtrace-disk" among them.

Printed for each Squid: milliseconds of processor a second, how many that is more than the mean of the two unpatched ones,
and the ratio to it, each as the median of the rounds with its 95 % interval; how often its threads went to sleep a second;
and the bytes that it would write in a day.  "unpatched again" is one unpatched Squid against the other, and says what the rest can
be trusted to.
"""

import glob
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import squids  # noqa: E402
from pairs import interval  # noqa: E402
from squids import Origin, arguments, environment, listening, make_dirs  # noqa: E402
from lib.env import median, wait_for  # noqa: E402

BASE = "unpatched", "unpatched again"
squids.VARIANTS["recorder"] = ("squid", "mode=recorder")
NAMES = [*BASE, "patched, on", "recorder"]
WARM_S = 4
DAY_S = 86400


class Used:
    """Processor time, ns, and sleeps so far, of all threads of a Squid's processes; and bytes of its segments."""

    def __init__(self, squid):
        self.ns = self.sleeps = 0
        for pid in squid.processes():
            for task in glob.glob("/proc/%d/task/*" % pid):
                try:
                    self.add(task)
                except OSError:  # it ended
                    pass
        self.bytes = sum(map(os.path.getsize, glob.glob(squid.directory + "/*.sqt")))

    def add(self, task):
        with open(task + "/schedstat", encoding="ascii") as file:
            self.ns += int(file.read().split()[0])
        with open(task + "/status", encoding="ascii") as file:
            self.sleeps += next(int(line.split()[1]) for line in file if line.startswith("voluntary"))


def begin_load(env, squid, origin, workload, rate, seconds):
    """As many requests a second; of misses each has a URL of its own."""
    if not rate:
        return
    work = squids.WORKLOADS[workload]
    count = rate * (seconds + 60) if work.fresh else 50
    path = env.path("urls-%s" % squid.name)
    with open(path, "w", encoding="ascii") as out:
        out.writelines("%s%s-%d\n" % (origin.url(workload), squid.name if work.fresh else "o", n) for n in range(min(count, 200000)))
    load = subprocess.Popen([env.tool("sqtrace-load"), "--proxy=127.0.0.1:%d" % squid.port, "--rate=%d" % rate, "--clients=20", "--spread",
                             "--duration=%ds" % (seconds + 60), "--urls=" + path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.on_close(load.kill)
    squid.load = load


def one_round(env, origin, workload, rate, seconds):
    """{name: (ns a second, sleeps a second, bytes a second)}"""
    found = {}
    for name in NAMES:
        found[name] = squids.variant(env, name, workload)
        found[name].load = None
        make_dirs(found[name])
        found[name].start()
    for squid in found.values():
        wait_for(lambda: listening(squid.port), 60, "Squid to listen")  # pylint: disable=cell-var-from-loop
        begin_load(env, squid, origin, workload, rate, seconds)
    time.sleep(WARM_S if rate else 3 * WARM_S)
    before, begin = {name: Used(squid) for name, squid in found.items()}, time.monotonic()
    time.sleep(seconds)
    after, took = {name: Used(squid) for name, squid in found.items()}, time.monotonic() - begin
    for squid in found.values():
        if squid.load and squid.load.poll() is not None:
            raise SystemExit("the load of %s ended early" % squid.name)
        if squid.load:
            squid.load.kill()
            squid.load.wait()
        squid.stop()
        for path in glob.glob(squid.directory + "/*.sqt"):
            os.unlink(path)
    return {name: [(getattr(after[name], what) - getattr(before[name], what)) / took for what in ("ns", "sleeps", "bytes")]
            for name in NAMES}


def base(row, name):
    names = BASE[:1] if name in BASE else BASE
    return sum(row[other][0] for other in names) / len(names)


def tell(workload, rate, rows):
    for name in NAMES:
        cells = ["%-16s %6s %-16s" % (workload, rate or "idle", name)]
        for values, form in (([row[name][0] / 1e6 for row in rows], "%9.3f"),
                             ([(row[name][0] - base(row, name)) / 1e6 for row in rows], "%+8.3f"),
                             ([row[name][0] / base(row, name) for row in rows], "%7.4f")):
            cells.append(" ".join((form, form, "..", form)) % (median(values), *interval(values)))
        cells.append("%8.1f  %8.1f MB" % (median([row[name][1] for row in rows]), median([row[name][2] for row in rows]) * DAY_S / 1e6))
        print("   ".join(cells), flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rates", default="0,20,200,1000", help="requests a second, 0: idle (default 0,20,200,1000)")
    parser.add_argument("--rounds", type=int, default=10, help="of new Squids, for each rate (default 10)")
    parser.add_argument("--seconds", type=int, default=20, help="of a round (default 20)")
    options = parser.parse_args()
    env = environment(options)
    print("%-16s %6s %-16s   %-29s   %-26s   %-24s   %8s  %s" % ("workload", "req/s", "Squid", "ms of processor a second",
                                                     "more than unpatched", "of unpatched", "sleeps/s", "written a day"))
    try:
        origin = Origin(env)
        for workload in options.workload or ["memory-hit-2", "disk-hit-rock-2", "miss-2"]:
            for rate in map(int, options.rates.split(",")):
                rows = []
                for turn in range(options.rounds):
                    print("# %s, %d/s: round %d of %d" % (workload, rate, turn + 1, options.rounds), file=sys.stderr, flush=True)
                    rows.append(one_round(env, origin, workload, rate, options.seconds))
                tell(workload, rate, rows)
    finally:
        env.close()


if __name__ == "__main__":
    main()
