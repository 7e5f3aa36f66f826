# SPDX-License-Identifier: GPL-2.0-or-later
"""--since and --until of a trace with all that happens to a Squid give the rows that reading everything gives, cell for cell."""

import os
import random
import shutil
import signal
import sys
import threading
import time

from lib import dump, load, native
from lib.client import Broken, Client
from lib.env import UNIT
from lib.origin import Origin
from lib.small_disk import fill, small_tmpfs
from lib.squid import Squid

sys.path.insert(0, UNIT)
import window_rows  # noqa: E402  pylint: disable=wrong-import-position

# A connection to a server lives for 5 s, or for as long as a slow request of 18 s is on it and 4 s more.  So 30 s before a
# window have all that its rows need.
CONF = load.CONF + """
pconn_lifetime 5 seconds
server_idle_pconn_timeout 4 seconds
"""
LOOKBACK = "--lookback=30s"
WINDOWS, LEAST = 200, 10


def long_ones(env, squid, origin, ending):
    """Tunnels, downloads, and connections that are idle before they have a request: each lasts for many windows."""
    def tunnel(client, n):
        client.tunnel("%s:%d" % (origin.host, origin.echo_port), "tunnel%d" % n, (300,) * 12, 1.5)

    def download(client, n):
        client.request(origin.url("slow%d" % n, size=40000, parts=12, gap=1500), "slow%d" % n)

    def idle(client, n):
        client.open()
        time.sleep(12)
        client.request(origin.url("late%d" % n, size=700), "late%d" % n)

    def work(kind, first):
        n = first
        while not ending.is_set():
            client = Client(squid.client_address(), 30)
            try:
                kind(client, n)
            except (Broken, OSError):
                ending.wait(0.3)  # its Squid was stopped or killed
            client.close()
            n += 10
    threads = [threading.Thread(target=work, args=(kind, n), daemon=True)
               for n, kind in enumerate((tunnel, tunnel, download, download, idle, idle, idle))]
    for thread in threads:
        thread.start()
    env.on_close(ending.set)
    return threads


def serve(squid, traffic, seconds, rate):
    """Mixed requests for a time, at most so many a second, while Squid rotates its logs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        traffic.run(rate, 12)
        squid.rotate()
        time.sleep(max(0, min(end, begin + 1) - time.monotonic()))


def make_trace(env, seconds, rate):
    """Three workers: a restart, a worker that is killed, a clock that is set, and a disk that is full until records are lost."""
    directory = env.path("small")
    small_tmpfs(env, directory, "300M")
    origin, step = Origin(env), env.path("step")
    squid = Squid(env, trace="ring=1MB segment=2MB total=off reserve=off", dirs=["ufs"], workers=3, dns=origin.host, lines=CONF,
                  directory=directory, plain=True, unprivileged=True, preload=native.preload(env, "wallstep"),
                  environment={"WALLSTEP_IF": step, "WALLSTEP_S": "600"})
    squid.give(directory)
    squid.start()
    traffic, ending = load.Mixed(env, squid, origin, seed=random.randrange(10**6)), threading.Event()
    traffic.warm()
    threads = long_ones(env, squid, origin, ending)
    serve(squid, traffic, seconds / 5, rate)
    os.kill(squid.worker_pids()[1], signal.SIGKILL)
    serve(squid, traffic, seconds / 5, rate)
    with open(step, "w", encoding="ascii"):
        pass
    serve(squid, traffic, seconds / 5, rate)
    env.equal(squid.stop(), 0, "Squid's exit status")
    squid.start()
    serve(squid, traffic, seconds / 5, rate)
    filler = fill(directory)
    traffic.run(3000, 12)
    os.unlink(filler)
    serve(squid, traffic, seconds / 5, rate)
    ending.set()
    for thread in threads:
        thread.join(40)
    squid.stop()
    return shutil.copytree(directory, env.path("trace"))  # it stays if the test fails


def windows(env):
    """Windows of each table of things, and of sums in turn: 200 of them, or as many as two and a half minutes are enough for.  In the
    long form all sums, for up to 45 minutes."""
    seed = int(os.environ.get("SQT_SEED", random.randrange(10**6)))
    env.note("SQT_SEED=%d" % seed)
    random.seed(seed)
    trace, program = make_trace(env, *((900, 40) if env.full else (90, 80))), env.tool("sqtrace-dump")
    for table in "losses", "clock_steps":
        env.check(dump.table(env, trace, table), "the trace has no row of " + table)
    kids = {(row["kid"], row["ring"]) for row in dump.table(env, trace, "events", "--columns=kid,ring")}
    env.equal(len(kids), 9, "processes: 3 workers and a coordinator, twice, and one for the killed worker")
    length, begin = window_rows.length_of(program, trace), time.monotonic()
    whole = {table: window_rows.Rows(window_rows.run(program, "--table=" + table, trace)[2]) for table in window_rows.THINGS}
    found, wrong, short, sums, n = {table: 0 for table in whole}, [], 0, 0, 0
    while n < WINDOWS and (n < LEAST or time.monotonic() - begin < (2700 if env.full else 150)):
        where = window_rows.window(length)
        for table, rows in whole.items():
            mine = (LOOKBACK,) if table != "closes" else ()  # a busy connection to a server was opened at any time before
            bad, count, less = window_rows.compare_thing(program, table, rows, where, *mine, trace)
            wrong += [bad] * bool(bad)
            found[table], short = found[table] + count, short + less
        for what in window_rows.SUMS if env.full else [window_rows.SUMS[n % len(window_rows.SUMS)]]:
            bad, sums = window_rows.compare_sum(program, what, where, trace, LOOKBACK), sums + 1
            wrong += [bad] * bool(bad)
        n += 1
    for table, rows in whole.items():
        env.note("%s: %d rows in %d windows of %d in all" % (table, found[table], n, len(rows.lines) - 1))
    env.note("%d windows, %d sums of %d ns, compared in %.0f s; %d readings left blocks out" %
             (n, sums, length, time.monotonic() - begin, short))
    env.check(short > n, "only %d of %d readings left blocks out" % (short, n * len(whole)))
    for bad in wrong:
        env.check(False, bad)


TESTS = [
    ("random windows of a trace of three workers, with losses, steps, restarts and rotations", windows, 1200, 5400),
]
