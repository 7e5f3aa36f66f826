# SPDX-License-Identifier: GPL-2.0-or-later
"""Rotation and reconfiguration every 200 ms under load."""

import os
import pwd
import time

from lib import access, dump, ring, rows
from lib.client import Background, Client
from lib.env import wait_for
from lib.origin import Origin
from lib.squid import Squid


def every_200_ms(env, action, workers):
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB", dirs=["ufs"], workers=workers, dns=origin.host,
                  lines="cache_mem 16 MB").start()

    def work(n):
        time.sleep(0.1)  # some 800 requests a second; more would only make more to compare
        with Client(squid.client_address(), 20) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 30), size=5000), "r")
    traffic = Background(env, 4, work)
    end = time.monotonic() + 30
    due = time.monotonic()
    actions = 0
    while time.monotonic() < end:
        action(squid, actions)
        actions += 1
        due += 0.2
        time.sleep(max(0, due - time.monotonic()))
    traffic.stop()
    time.sleep(1)
    env.note("%d actions, %d rounds of requests, %d broken" % (actions, traffic.total, len(traffic.errors)))
    env.check(traffic.total > 50, "hardly any traffic: %s" % traffic.errors[:3])
    env.equal(squid.stop(), 0, "Squid's exit status")
    found = ring.numbers(squid.directory)
    env.equal(len(found), workers + (workers > 1), "ring ids")
    for entry in found.values():
        for problem in entry.problems():
            env.check(False, problem)
        env.equal(entry.lost, 0, "lost records")
        env.equal(entry.totals["clean"], 1, "the last totals' clean flag")
    segments = dump.segments(squid.directory)
    owner = pwd.getpwnam(squid.user).pw_uid
    for name in os.listdir(squid.directory):
        info = os.stat(os.path.join(squid.directory, name))
        env.equal(info.st_uid, owner, "owner of " + name)
        env.check(not info.st_mode & 0o007, "others may use " + name)
    env.equal(len(dump.table(env, squid.directory, "events")), sum(entry.head for entry in found.values()),
              "rows of events against heads")
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    return segments


def rotate(env):
    segments = every_200_ms(env, lambda squid, n: squid.rotate(), 1)
    env.check(len(segments) > 100, "only %d segments after 150 rotations" % len(segments))


def reconfigure(env):
    every_200_ms(env, lambda squid, n: squid.reconfigure(), 1)


def both(env):
    """A worker that is reconfigured while the coordinator still opens its port ends (OpenedHttpSocket), so that waits."""
    def act(squid, n):
        if n % 2:
            squid.rotate()
            return
        wanted = 2 * (n // 2 + 1)  # workers open their ports at the start and each time
        wait_for(lambda: squid.log_text().count("Accepting HTTP Socket connections") >= wanted, 20, "open ports")
        squid.reconfigure()
    every_200_ms(env, act, 2)


TESTS = [
    ("squid -k rotate every 200 ms", rotate, 90),
    ("squid -k reconfigure every 200 ms", reconfigure, 90),
    ("rotate and reconfigure in turn, two workers", both, 120),
]
