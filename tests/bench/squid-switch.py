#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the events of a request cost, in one and the same Squid.

The groups that a traced Squid tells are switched in its memory while it is driven: none or all, with --each also one
alone, in another order each time, for 20 ms each.  So nothing differs but the events: neither the program, nor where
its functions lie, nor the flusher's thread, nor what the machine does meanwhile.  How long the main thread takes for a
request is compared within each turn; printed are the median ratios to "none" with their 95 % intervals (order
statistics of the median).

What a patched Squid with tracing off costs, its flusher, and the stamps of disk operations, which "none" has, too, is not
in it: squid-throughput.py has that.  Nor is what happens less often than once in 20 ms, such as samples: a median does
not see it.
"""

import os
import random
import re
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pairs import apart, interval  # noqa: E402
from squids import (WORKLOADS, Origin, answered, arguments, client, environment, listening, make_dirs,  # noqa: E402
                    variant, wrk)
from lib.env import median, wait_for  # noqa: E402
from lib.native import TOP  # noqa: E402

SLOT, SETTLE = 0.02, 0.004  # seconds: of a state, and before it is looked at
WARM = 2  # seconds, until what a hit needs is there
PROBES = 37  # requests that tell where Squid counts them
SELDOM = "trace", "sample", "digest"  # groups


class Memory:
    """A running Squid's memory: its mask of groups, and how many requests clients have made."""

    def __init__(self, squid, ask):
        pid = squid.process.pid
        program = os.path.realpath("/proc/%d/exe" % pid)
        self.file = os.open("/proc/%d/mem" % pid, os.O_RDWR)
        with open("/proc/%d/maps" % pid) as maps:
            base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(program))
        names = subprocess.run(["nm", program], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        self.groups_at, counters = (base + int(re.search("^([0-9a-f]+) B %s$" % name, names, re.M).group(1), 16)
                                    for name in ("sqt_groups", "statCounter"))
        self.groups = self.word(self.groups_at)
        if not self.groups:
            raise SystemExit("%s does not trace; see its cache.log" % squid.name)
        # The counter of requests is among the first, but not at the same place in each version.
        places = range(counters, counters + 64, 4)
        before = [self.word(place) for place in places]
        ask(PROBES)
        time.sleep(1)  # the last one is counted once it is over
        self.counter = next(place for place, count in zip(places, before) if self.word(place) - count == PROBES)

    def word(self, place):
        return struct.unpack("I", os.pread(self.file, 4, place))[0]

    def tell(self, groups):
        os.pwrite(self.file, struct.pack("I", groups), self.groups_at)

    def requests(self):
        return self.word(self.counter)


def processor_time(pid):
    with open("/proc/%d/task/%d/schedstat" % (pid, pid)) as file:
        return int(file.read().split()[0])


def groups():
    """{name: bit} in the order of the table that declares them."""
    with open(os.path.join(TOP, "src", "format", "groups.def")) as table:
        names = re.findall(r"^SQT_GROUP\(\w+, *(\w+)", table.read(), re.M)
    return {name: 1 << number for number, name in enumerate(names)}


def measure(pid, memory, states, load):
    """[{state: ns of the main thread for each request} of each turn], while there is load"""
    turns = []
    while load.poll() is None:
        turn = {}
        for name in random.sample(list(states), len(states)):
            memory.tell(states[name])
            time.sleep(SETTLE)
            begin = processor_time(pid), memory.requests()
            time.sleep(SLOT)
            took, done = processor_time(pid) - begin[0], memory.requests() - begin[1]
            if took and done and load.poll() is None:
                turn[name] = took / done
        if len(turn) == len(states):
            turns.append(turn)
    memory.tell(states["all"])
    return turns


def switch(env, origin, workload, options):
    squid = variant(env, "patched, on", workload, alone=True)
    make_dirs(squid)
    squid.start()
    wait_for(lambda: listening(squid.tls_port or squid.port), 60, "Squid to listen")

    def ask(count):
        with client(squid) as connection:
            for number in range(count):
                assert connection.request(origin.url(workload) + "p%d" % number).status == 200
    memory = Memory(squid, ask)
    states = {"none": 0, "all": memory.groups}
    if options.each:
        states.update((name, bit) for name, bit in groups().items() if memory.groups & bit and name not in SELDOM)
    os.sched_setaffinity(squid.process.pid, {options.processor})
    load = wrk(env, squid, origin, workload, WARM + options.seconds, "s")
    time.sleep(WARM)
    turns = measure(squid.process.pid, memory, states, load)
    answered(load, squid)
    squid.stop()
    for name in states:
        values = [turn[name] / turn["none"] for turn in turns]
        print("%-16s %-10s %10.0f   %8.4f  %.4f .. %.4f" % (
            (workload, name, median([turn[name] for turn in turns]), median(values)) + interval(values)), flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=120, help="of each workload (default 120)")
    parser.add_argument("--each", action="store_true", help="each group alone, too; more states make wider intervals")
    options = parser.parse_args()
    options.processor = apart()
    env = environment(options)
    try:
        origin = Origin(env)
        print("%-16s %-10s %10s   %8s  %s" % ("workload", "groups", "ns", "ratio", "95 % interval"))
        for workload in options.workload or WORKLOADS:
            if WORKLOADS[workload].workers > 1:
                print("# left out: %s: this looks at one process alone" % workload)
            else:
                switch(env, origin, workload, options)
    finally:
        env.close()


if __name__ == "__main__":
    main()
