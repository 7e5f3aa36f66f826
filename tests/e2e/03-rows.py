# SPDX-License-Identifier: GPL-2.0-or-later
"""Every line of access.log has exactly one row, and the row says what happened: 20,000 mixed requests."""

import collections

from lib import dump, load, mixed
from lib.env import first
from lib.origin import Origin
from lib.squid import Squid

STORES = ["ufs", "aufs", "diskd"]


def by_rows(env, workers, count, concurrency):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=STORES, workers=workers, dns=origin.host, lines=load.CONF).start()
    requests, _ = mixed.by_rows(env, squid, origin, count, concurrency, seed=workers * 100 + concurrency)
    check_stores(env, squid)
    return requests


def check_stores(env, squid):
    """Disk hits came from each store type."""
    swaps = dump.table(env, squid.directory, "swaps", "--where=direction == in")
    kinds = collections.Counter(row["store"] for row in swaps)
    env.note("swap-ins by store: %s" % dict(kinds))
    for kind in STORES:
        env.check(kinds[kind], "no swap-in from " + kind)


def one_at_a_time(env):
    by_rows(env, 1, 12000 if env.full else 1500, 1)


def one_worker(env):
    by_rows(env, 1, 20000, 50)


def two_workers(env):
    requests = by_rows(env, 2, 20000, 50)
    env.check({row["kid"] for row in requests} >= {"1", "2"}, "one worker served everything")


TESTS = [
    ("mixed requests, one at a time: rows and lines agree, times within 1 ms", first(one_at_a_time), 240),
    ("20,000 mixed requests, 50 at a time, one worker", one_worker, 180),
    ("20,000 mixed requests, 50 at a time, two workers", two_workers, 180),
]
