# SPDX-License-Identifier: GPL-2.0-or-later
"""What begins also ends: the pairs of events.def, over the whole of a clean run."""

import collections

from . import dump, native

# Pairs whose two events do not carry the same id.
BY_NUMBER = ("START", "WAIT_BEGIN")
# Two ways to say the same: the second end of XACT_BEGIN, and the second begin of DISKOP_END.
SAME = {"XACT_UNLOGGED": "XACT_END", "DISKOP_QUEUED": "DISKOP_BEGIN"}
# Where a thread or another process does it, DISKOP_END tells the end.
MAY_NOT_END = ("UNLINK",)
# What must end as well, later than the pair of the table says.
ALSO = [("SWAPIN_OPEN", "SWAPIN_CLOSED"), ("SWAPOUT_OPEN", "SWAPOUT_CLOSED")]


def check_pairs(env, directory):
    """As many ends as begins for each id."""
    events = dump.table(env, directory, "events", "--columns=kid,event,id,arg")
    named = {(row["kid"], row["arg"]): row["id"] for row in events if row["event"] == "XACT_NAMED"}
    count = collections.Counter()
    for row in events:
        event, key = row["event"], row["id"]
        event = SAME.get(event, event)
        if event in ("XACT_BEGIN", "XACT_END"):
            key = named.get((row["kid"], key), key)
        count[event, row["kid"], key] += 1
    for begin, end in [(name, pair) for name, _, pair in native.events_with("ENDS_WITH") if pair != "NONE"] + ALSO:
        if begin in MAY_NOT_END or begin in SAME:
            continue
        keys = {key[1:] for key in count if key[0] in (begin, end)}
        if begin in BY_NUMBER:
            begins, ends = (sum(count[name, kid, key] for kid, key in keys) for name in (begin, end))
            env.check(abs(begins - ends) <= (begin == "WAIT_BEGIN"), "%d %s and %d %s" % (begins, begin, ends, end))
            continue
        uneven = [(kid, key, count[begin, kid, key], count[end, kid, key]) for kid, key in keys
                  if count[begin, kid, key] != count[end, kid, key]]
        env.check(not uneven, "%d of %d ids have %s without %s or the reverse: (kid, id, begins, ends) %s"
                  % (len(uneven), len(keys), begin, end, sorted(uneven)[:4]))
