# SPDX-License-Identifier: GPL-2.0-or-later
"""A Squid that is stopped while a client waits: each stop is in `stalls`, with its length.

Seven stops of each kind, and twenty with --full."""

import os
import random
import signal
import time

from lib import dump
from lib.client import Background, Client
from lib.env import first
from lib.origin import Origin
from lib.squid import Squid

MS = 1000000
STOP_S = 0.5
HEARTBEAT = 400 * MS  # sqtrace-tables(7): how much too long a stop may seem that hit a wait
LIMIT = 5 * MS
CONF = "cache_mem 64 MB\n"
PIPELINED = 3000
AT_WORK = 1 << 31  # of a heartbeat: the flusher was late because of its own work


def stop_once(squid, meanwhile=lambda: None):
    """Stops Squid for half a second.  Returns when, by the monotonic clock: (it was stopped, it went on)."""
    pid = squid.process.pid
    begin = time.monotonic_ns()
    os.kill(pid, signal.SIGSTOP)
    try:
        meanwhile()
        time.sleep(max(0, STOP_S - (time.monotonic_ns() - begin) / 1e9))
    finally:
        end = time.monotonic_ns()
        os.kill(pid, signal.SIGCONT)
    return begin, end


def find(env, rows, begin, end):
    """The row that most of the stop is in; None: there is none."""
    for row in rows:
        at = row.wall_ns - env.held.wall
        length = float(row["work_ms"]) * MS
        if min(at + length, end) - max(at, begin) > (end - begin) / 2:
            return row
    return None


def check(env, squid, stops, limit):
    """Each stop has a row of its length, and says that Squid did not run."""
    squid.stop()
    rows = dump.table(env, squid.directory, "stalls")
    errors = []
    for begin, end in stops:
        row = find(env, rows, begin, end)
        env.check(row, "a stop of %.1f ms is not in stalls" % ((end - begin) / MS))
        if not row:
            continue
        rows.remove(row)
        error = float(row["work_ms"]) * MS - (end - begin)
        held = env.held.around(begin, end)
        errors.append(error / MS)
        env.check("not running" in row["stall"], "the stop is called %r" % row["stall"])
        env.check(-LIMIT - held <= error <= limit + held, "a stop of %.1f ms is one of %s ms in stalls; the machine was "
                  "held up for %.1f ms" % ((end - begin) / MS, row["work_ms"], held / MS))
    env.note("%d stops, errors %s ms" % (len(stops), " ".join("%.2f" % error for error in errors)))
    others = [row["stall"] for row in rows if float(row["work_ms"]) > 100 and "not running" in row["stall"]]
    env.check(not others, "not running, although nobody stopped Squid: %s" % others)


def check_computed(env, squid):
    """What a late heartbeat says of the main thread's processor time, the sample of the same moment says, too."""
    wanted = "event == HEARTBEAT_LATE or event == LOOP_SAMPLE or event == PART_LOOP_RAN"
    found = dump.table(env, squid.directory, "events", "--where=" + wanted)
    ran = {sample["arg"][:-6]: int(part["id"]) for sample, part in zip(found, found[1:])
           if (sample["event"], part["event"]) == ("LOOP_SAMPLE", "PART_LOOP_RAN")}
    both = [(int(row["aux"]) * 1000, ran[row["arg"][:-6]]) for row in found
            if row["event"] == "HEARTBEAT_LATE" and int(row["aux"]) < AT_WORK and row["arg"][:-6] in ran]
    told, sampled = [sum(pair[i] for pair in both) for i in (0, 1)]
    # A sample begins before the flusher's work, and the heartbeat after it.
    env.check(sampled / 4 < told < sampled + MS, "ns that the main thread ran, by heartbeats and by samples: %s" % both)


def count(env):
    return 20 if env.full else 7


def waiting(env):
    """Squid has nothing to do when it is stopped; a request comes meanwhile."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines=CONF, alone=True).start()
    url, stops = origin.url("o", size=1000, cc="max-age=1000"), []
    with Client(squid.client_address()) as client:
        client.request(url, "first")
        for n in range(count(env)):
            time.sleep(0.2 + random.random() / 4)
            stops.append(stop_once(squid, lambda: (time.sleep(0.05), client.send(client.head("GET", url, "n%d" % n)))))
            client.receive()
        time.sleep(1.2)
    check(env, squid, stops, HEARTBEAT + LIMIT)


def working(env):
    """Squid has more to do than it can when it is stopped."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines=CONF + "pipeline_prefetch 10\n", alone=True).start()
    url, stops = origin.url("o", size=1000, cc="max-age=1000"), []
    with Client(squid.client_address()) as client:
        client.request(url, "first")

    def work(n):
        with Client(squid.client_address()) as client:
            client.pipeline([url] * PIPELINED, ["w%d" % n] * PIPELINED)
    busy = Background(env, 2, work)
    for _ in range(count(env)):
        time.sleep(0.2 + random.random() / 4)
        stops.append(stop_once(squid))
    time.sleep(0.2)
    env.note("%d times %d requests" % (busy.stop(), PIPELINED))
    env.check(not busy.errors, "clients: %s" % busy.errors[:3])
    check(env, squid, stops, LIMIT)
    check_computed(env, squid)


TESTS = [
    ("a stop of a Squid that waits", first(waiting), 60),
    ("a stop of a Squid that works", first(working), 90),
]
