# SPDX-License-Identifier: GPL-2.0-or-later
"""Every line of access.log has exactly one row, and the row says what happened: 20,000 mixed requests."""

import collections

from lib import access, dump, load, rows
from lib.env import go_first
from lib.origin import Origin
from lib.squid import Squid

STORES = ["ufs", "aufs", "diskd"]


def mixed(env, workers, count, concurrency, at_a_time_check):
    if concurrency == 1:
        go_first(env)
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=STORES, workers=workers, dns=origin.host, lines=load.CONF).start()
    traffic = load.Mixed(env, squid, origin, seed=workers * 100 + concurrency)
    traffic.warm()
    traffic.run(count, concurrency)
    env.check(len(traffic.odd) <= count // 1000, "unexpected answers: %s" % collections.Counter(traffic.odd))
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    lines = access.read(squid)
    env.note("%d lines, %d rows" % (len(lines), len(requests)))
    env.require(len(lines) >= count, "only %d lines in access.log" % len(lines))
    pairs = rows.join(env, lines, requests)
    rows.check_fields(env, pairs)
    rows.check_outcomes(env, pairs)
    rows.check_sums(env, requests)
    rows.check_order(env, requests)
    rows.check_unaccounted(env, requests)
    check_classes(env, requests)
    at_a_time_check(env, squid, pairs)
    env.equal(dump.table(env, squid.directory, "losses"), [], "losses")
    return squid, requests, lines


def one_client(env, squid, pairs):
    rows.check_one_at_a_time(env, pairs)


def many_clients(env, squid, pairs):
    begins, ends = (dump.table(env, squid.directory, "events", "--where=event == " + name)
                    for name in ("WAIT_BEGIN", "WAIT_END"))
    rows.check_by_passes(env, pairs, rows.Passes(begins, ends))


# Class of each tag, as the design gives them; memory and disk hits are told apart by check_hits.
CLASSES = {"TCP_MISS": "miss", "TCP_MEM_HIT": "mem_hit", "TCP_INM_HIT": "ims_hit", "TCP_IMS_HIT": "ims_hit",
           "TCP_NEGATIVE_HIT": "negative_hit", "TCP_REFRESH_UNMODIFIED": "refresh_hit",
           "TCP_REFRESH_MODIFIED": "refresh_miss", "TCP_CLIENT_REFRESH_MISS": "miss", "TCP_TUNNEL": "tunnel",
           "TCP_DENIED": "denied", "NONE_NONE": "error"}


def check_classes(env, requests):
    count = collections.Counter()
    wrong = []
    for row in requests:
        count[row["class"]] += 1
        tag = row["tag"].replace("_ABORTED", "").replace("_TIMEDOUT", "").replace("_CF", "")
        if tag in CLASSES and row["class"] != CLASSES[tag] and row["class"] != "internal":
            wrong.append("%s is %s" % (row["tag"], row["class"]))
        if tag == "TCP_HIT" and row["class"] not in ("disk_hit", "mem_hit"):
            wrong.append("%s is %s" % (row["tag"], row["class"]))
        if row["class"] == "disk_hit" and row.ns("swap_ins") < 1:
            wrong.append("a disk_hit without swap-in: xid %s" % row["xid"])
        if row["class"] == "disk_hit" and row["outcome"] == "complete" and row["swap_in_first_ns"] == "-":
            wrong.append("a disk_hit without a first read: xid %s" % row["xid"])
    env.note("classes: %s" % dict(count))
    env.check(not wrong, "%d rows have the wrong class: %s" % (len(wrong), collections.Counter(wrong).most_common(5)))
    for name in ("mem_hit", "disk_hit", "miss", "ims_hit", "negative_hit", "refresh_hit", "refresh_miss", "tunnel",
                 "denied", "error"):
        env.check(count[name], "no request of class " + name)


def check_stores(env, squid):
    """Disk hits came from each store type."""
    swaps = dump.table(env, squid.directory, "swaps", "--where=direction == in")
    kinds = collections.Counter(row["store"] for row in swaps)
    env.note("swap-ins by store: %s" % dict(kinds))
    for kind in STORES:
        env.check(kinds[kind], "no swap-in from " + kind)


def one_at_a_time(env):
    squid, _, _ = mixed(env, 1, 12000 if env.full else 1500, 1, one_client)
    check_stores(env, squid)


def one_worker(env):
    squid, _, _ = mixed(env, 1, 20000, 50, many_clients)
    check_stores(env, squid)


def two_workers(env):
    squid, requests, _ = mixed(env, 2, 20000, 50, many_clients)
    env.check({row["kid"] for row in requests} >= {"1", "2"}, "one worker served everything")
    check_stores(env, squid)


TESTS = [
    ("mixed requests, one at a time: rows and lines agree, times within 1 ms", one_at_a_time, 240),
    ("20,000 mixed requests, 50 at a time, one worker", one_worker, 180),
    ("20,000 mixed requests, 50 at a time, two workers", two_workers, 180),
]
