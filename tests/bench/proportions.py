#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many records of each event a thousand requests make, by the class of the request.

usage: proportions.py BUILDDIR TRACE...

Prints the rows of tests/unit/traffic.def, which make_traffic follows. An event of a transaction, a store I/O or a disk
operation is counted for a thousand requests of the class of its request. Every other event is counted in the column
"all", for a thousand requests of any class. Parts of units are not counted. A comment names the newest event there is.
"""

import collections
import csv
import os
import re
import subprocess
import sys

CLASSES = ("mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit", "refresh_miss", "miss", "tunnel", "denied",
           "error")
OF_NONE = "all"
COLUMNS = (OF_NONE,) + CLASSES
EVENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/format/events.def")
LEFT_OUT = re.compile("PART_|START|STOP|ROTATE|RECONFIGURE|LOST")  # of units, or of the trace itself


def rows(tools, table, traces):
    """The rows of a table as dictionaries."""
    process = subprocess.Popen([os.path.join(tools, "sqtrace-dump"), "--quiet", "--no-comments", "--table=" + table]
                               + list(traces), stdout=subprocess.PIPE, text=True, errors="replace")
    yield from csv.DictReader(process.stdout, delimiter="\t", quoting=csv.QUOTE_NONE)
    if process.wait() > 1:
        raise SystemExit("sqtrace-dump: exit status %d" % process.returncode)


def event_order():
    """All events, oldest first."""
    with open(EVENTS) as file:
        return re.findall(r"^SQT_EVENT\((\w+),", file.read(), re.M)


def events_of_transactions():
    """Events whose id is a transaction."""
    with open(EVENTS) as file:
        return set(re.findall(r"^SQT_EVENT\((\w+), .*\n +ID\(XACT,", file.read(), re.M))


class Owners:
    """Which class an event belongs to."""

    def __init__(self, classes):
        self.classes = classes  # (kid, transaction) -> class
        self.swaps = {}  # (kid, store I/O) -> class
        self.operations = {}  # (kid, disk operation) -> class
        self.of_transactions = events_of_transactions()

    def of(self, event, kid, id_, arg):
        if event in ("SWAPIN_OPEN", "SWAPOUT_OPEN"):
            self.swaps[kid, id_] = self.classes.get((kid, arg), OF_NONE)
        if event.startswith(("SWAPIN_", "SWAPOUT_")):
            return self.swaps.get((kid, id_), OF_NONE)
        if event in ("DISKOP_QUEUED", "DISKOP_BEGIN"):
            self.operations[kid, id_] = self.swaps.get((kid, arg), OF_NONE)
        if event.startswith("DISKOP_"):
            return self.operations.get((kid, id_), OF_NONE)
        return self.classes.get((kid, id_), OF_NONE) if event in self.of_transactions else OF_NONE


def proportions(tools, traces):
    """(share of each class per thousand, event -> column -> records per thousand, requests of each class)"""
    classes, requests = {}, collections.Counter()
    for row in rows(tools, "requests", traces):
        if row["class"] in CLASSES and row["outcome"] not in ("lost", "unfinished"):
            requests[row["class"]] += 1
            classes[row["kid"], row["xid"]] = row["class"]
    owners, counts = Owners(classes), collections.defaultdict(collections.Counter)
    for row in rows(tools, "events", traces):
        if not LEFT_OUT.match(row["event"]):
            counts[row["event"]][owners.of(row["event"], row["kid"], row["id"], row["arg"])] += 1
    total = sum(requests.values())
    shares = {name: 1000 * requests[name] / total for name in CLASSES}
    per = dict(requests, **{OF_NONE: total})
    return shares, {event: {column: 1000 * count[column] / per[column] for column in COLUMNS if per.get(column)}
                    for event, count in counts.items()}, requests


def number(value):
    return "%.0f" % value if value >= 100 else "%.3g" % value


def main():
    shares, found, _ = proportions(sys.argv[1], sys.argv[2:])
    order = event_order()
    print("/* newest event: %s */" % order[-1])
    for name in CLASSES:
        print("TRAFFIC_CLASS(%s, %s)" % (name, number(shares[name])))
    print()
    for event in sorted(found, key=order.index):
        print("TRAFFIC(%-18s %s)" % (event + ",", ", ".join("%6s" % number(found[event].get(column, 0))
                                                            for column in COLUMNS)))


if __name__ == "__main__":
    main()
