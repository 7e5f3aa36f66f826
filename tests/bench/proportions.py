#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How many records of each event a thousand requests make, by the class of the request.

usage: proportions.py BUILDDIR TRACE...

Prints the rows of tests/unit/traffic.def, which make_traffic follows. An event of a transaction, a store I/O or a disk
operation is counted for a thousand requests of the class of its request. Every other event is counted in the column
"all", for a thousand requests of any class. Parts that a unit always has are not counted. A comment names the newest
event there is. Further rows say why look-ups were no hits, which servers were used, and what the main thread did.
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
# Parts that a unit always has; what is of the trace itself, or of the machine.
LEFT_OUT = re.compile("PART_(?!LOOP_HELD|LOOP_IN)|START|STOP|ROTATE|RECONFIGURE|LOST|HEARTBEAT_LATE")
ACTIVITIES = 12  # of which rows are printed


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


def of_thousand(counts):
    total = sum(counts.values())
    return {name: 1000 * count / total for name, count in counts.most_common()}


def reasons(tools, traces):
    """class -> reason why the look-up was no hit -> requests of a thousand"""
    found = collections.defaultdict(collections.Counter)
    for row in rows(tools, "requests", traces):
        if row["class"] in CLASSES and row["miss_reason"] != "-":
            found[row["class"]][row["miss_reason"]] += 1
    return {name: of_thousand(counts) for name, counts in found.items()}


def names(tools, traces):
    """(server -> connections of a thousand, activity -> longest ones of a thousand passes,
    activity -> samples of a thousand of the main thread; "-": in a wait)"""
    found = {"PART_SERVER": collections.Counter(), "PART_ACTIVITY": collections.Counter(),
             "LOOP_SAMPLE": collections.Counter()}
    for row in rows(tools, "events", traces):
        if row["event"] in found:
            found[row["event"]]["-" if row["aux"] == "0" else row["aux"]] += 1
    return tuple(of_thousand(counts) for counts in found.values())


def number(value):
    return "%.0f" % value if value >= 100 else "%.3g" % value


def print_names(tools, traces):
    for name, shares in reasons(tools, traces).items():
        for reason, share in shares.items():
            print("TRAFFIC_REASON(%s, %s, %s)" % (name, reason.upper(), number(share)))
    servers, passes, samples = names(tools, traces)
    print()
    for server, share in servers.items():
        print('TRAFFIC_SERVER(NAME, KIND, "%s", %s)' % (server, number(share)))
    print()
    for activity in list(passes)[:ACTIVITIES]:
        print('TRAFFIC_ACTIVITY("%s", %s, %s)' % (activity, number(passes[activity]), number(samples.get(activity, 0))))


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
    print()
    print_names(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    main()
