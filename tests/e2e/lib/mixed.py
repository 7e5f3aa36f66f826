# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed requests through a Squid, and what must hold between its access.log and its trace then."""

import collections

from . import access, dump, load, rows
from .env import wait_for


def by_rows(env, squid, origin, count, concurrency, seed):
    """Sends mixed requests to a started Squid, stops it, and compares row for row.  Returns (rows, lines)."""
    # On a busy machine a process may trace later than it serves, and know nothing of how a request began.
    wait_for(lambda: len(squid.rings()) >= max(1, len(squid.kids())), 30, "each process to trace")
    traffic = load.Mixed(env, squid, origin, seed=seed)
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
    rows.check_unaccounted(env, requests, alone=concurrency == 1)
    check_classes(env, requests)
    if concurrency == 1:
        rows.check_one_at_a_time(env, pairs)
    else:
        begins, ends = (dump.table(env, squid.directory, "events", "--where=event == " + name)
                        for name in ("WAIT_BEGIN", "WAIT_END"))
        rows.check_by_passes(env, pairs, rows.Passes(begins, ends))
    env.equal(dump.table(env, squid.directory, "losses"), [], "losses")
    return requests, lines


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
