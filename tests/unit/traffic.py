#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What make_traffic makes: the proportions of its table, those of a real trace roughly, and a sound trace.

Of each event a class of requests has as many records as traffic.def says, within 5 % and as many more as the requests
under way at the end can have. The table is of a busy Squid and doc/sample of one with pauses, so these two are compared
roughly: where each request of a class makes an event, they agree within a factor of 2.5. Events that are newer than the
table are left out of that, and named. What follows what in a transaction, a connection, a swap and a disk operation is
as in doc/sample, but for what is rare. SQT_SAMPLE names a trace in place of doc/sample.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

SOURCE, TOOLS = os.environ["SQT_SOURCE"], os.environ["SQT_TOOLS"]
sys.path.insert(0, os.path.join(SOURCE, "tests/bench"))
sys.dont_write_bytecode = True

import proportions  # noqa: E402

RECORDS = 400000
TOLERANCE, UNDER_WAY = 0.05, 15
NAMES_OFF = 25  # of a thousand, as names are drawn
RARE, OFTEN = 0.0002, 0.01  # of all orders
ROUGHLY, FEW_REQUESTS = 2.5, 50
# As many for each request as there are peers without a digest, as its clients are slower than servers, as memory has room.
BY_SITE = {"DIGEST_NONE", "SERVER_HELD", "MEM_HIT"}

number = 0


def check(problems, name):
    global number
    number += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", number, name))
    for problem in problems[:10]:
        print("# %s" % problem)


def table():
    """(share of each class, event -> column -> records per thousand, events newer than the table) of traffic.def"""
    shares, events, order = {}, {}, proportions.event_order()
    with open(os.path.join(SOURCE, "tests/unit/traffic.def")) as file:
        for line in file:
            newest = re.match(r"/\* newest event: (\w+)", line)
            share = re.match(r"TRAFFIC_CLASS\((\w+), ([\d.]+)\)", line)
            event = re.match(r"TRAFFIC\((\w+), +([\d., ]+)\)", line)
            if newest:
                newer = order[order.index(newest[1]) + 1:]
            if share:
                shares[share[1]] = float(share[2])
            if event:
                events[event[1]] = dict(zip(proportions.COLUMNS, map(float, event[2].split(","))))
    return shares, events, newer


def differences(wanted, found, requests):
    """Where the records of an event and class are not as many as they are to be."""
    for event in sorted(set(wanted) | set(found)):
        for column in proportions.COLUMNS:
            per = sum(requests.values()) if column == proportions.OF_NONE else requests[column]
            want = wanted.get(event, {}).get(column, 0) * per / 1000
            have = found.get(event, {}).get(column, 0) * per / 1000
            if abs(want - have) > TOLERANCE * want + allowed(event, column):
                yield "%s of %s: %.0f records, to be %.0f" % (event, column, have, want)


def allowed(event, column):
    """Of requests that are under way, what belongs to a class is counted in no class: up to 12 requests' records.
    Samples, and whether system calls are told, come in large pieces."""
    if event in ("CALLS", "CALLS_TOLD"):
        return 3000
    if column == proportions.OF_NONE:
        return 120 if event.startswith(("SWAP", "REPLY", "DISKOP", "SAMPLE", "SERVER_")) else UNDER_WAY
    return UNDER_WAY


def rough_differences(wanted, found, requests):
    """Where made and real traffic are not alike at all: of what every request of a class does."""
    for event, columns in sorted(wanted.items()):
        for column, want in columns.items():
            if column == proportions.OF_NONE or requests[column] < FEW_REQUESTS or want < 900 or event in BY_SITE:
                continue
            have = found.get(event, {}).get(column, 0)
            if not want / ROUGHLY <= have <= want * ROUGHLY:
                yield "%s of %s: %.0f per thousand requests, in doc/sample %.0f" % (event, column, have, want)


def rows_of(macro, fields):
    """The rows of a macro of traffic.def, each a tuple of its arguments."""
    with open(os.path.join(SOURCE, "tests/unit/traffic.def")) as file:
        return re.findall(r"^%s\(%s\)" % (macro, ", ".join([r'"?([^,"]+)"?'] * fields)), file.read(), re.M)


def of_names(found, wanted, names_many=""):
    """Where something has another share, of a thousand, than it is to have."""
    for name, share in wanted.items():
        if abs(found.get(name, 0) - share) > NAMES_OFF + TOLERANCE * share:
            yield "%s: %.0f of a thousand, to be %.0f" % (name, found.get(name, 0), share)
    for name in set(found) - set(wanted) - {names_many}:
        yield "%s: is not in traffic.def" % name


def other_names(trace):
    """Where reasons, servers or activities are not those of traffic.def."""
    reasons = proportions.reasons(TOOLS, [trace])
    wanted = {}
    for name, reason, share in rows_of("TRAFFIC_REASON", 3):
        wanted.setdefault(name, {})[reason.lower()] = float(share)
    for name in sorted(set(reasons) | set(wanted)):
        yield from of_names(reasons.get(name, {}), wanted.get(name, {}))
    servers, passes, samples = proportions.names(TOOLS, [trace])
    activities = rows_of("TRAFFIC_ACTIVITY", 3)
    yield from of_names(servers, {text: float(share) for _, _, text, share in rows_of("TRAFFIC_SERVER", 4)})
    yield from of_names(passes, {text: float(share) for text, share, _ in activities})
    yield from of_names(samples, {text: float(share) for text, _, share in activities}, names_many="-")


def empty(trace):
    """Tables that show what make_traffic makes, and are empty."""
    for name in ("waits", "loop_time", "profile", "listeners", "servers", "samples", "digests"):
        rows = list(proportions.rows(TOOLS, name, [trace]))
        if not rows:
            yield name


def missing(wanted, found):
    """Events of doc/sample that are not rare and that make_traffic does not make. What comes by the clock is rarer in a
    busy trace."""
    for event, columns in sorted(wanted.items()):
        of_all = columns[proportions.OF_NONE]
        if event not in found and (of_all > 100 or max(columns.values()) > max(20, of_all)):
            yield event


def orders(trace):
    """(kind of thing, event, next event) -> how often: of each transaction, client connection, store I/O and disk
    operation."""
    of_transactions, kinds, last, found = proportions.events_of_transactions(), {}, {}, collections.Counter()
    kinds.update(dict.fromkeys(of_transactions, "transaction"), CLIENT_READ="connection", CONN_ACCEPT="connection",
                 CONN_CLOSE="connection", REQUEST_PARSED="connection")
    for row in proportions.rows(TOOLS, "events", trace):
        event = row["event"]
        kind = "swap" if event.startswith(("SWAPIN_", "SWAPOUT_")) else "operation" if event.startswith("DISKOP_") else \
            kinds.get(event)
        if kind and row["id"] not in ("0", "-"):
            key = row["kid"], kind, row["id"]
            found[kind, last.get(key, "-"), event] += 1
            last[key] = event
    return found


def wrong_orders(real, made):
    """Orders of events that a Squid does not make, and frequent ones of a Squid that are not made."""
    for order, count in made.items():
        if order not in real and count > RARE * sum(made.values()):
            yield "%s: %s, %s: %d times, but not in doc/sample" % (*order, count)
    for order, count in real.items():
        if order not in made and count > OFTEN * sum(real.values()):
            yield "%s: %s, %s: %d times in doc/sample, but not made" % (*order, count)


def every_table(trace):
    """What sqtrace-dump says of the trace in each table and figure that is not as it should be."""
    listed = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--list"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    for kind, name in re.findall(r"^(table|figure) (\S+)", listed, re.M):
        done = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--%s=%s" % (kind, name), "--strict", trace],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode or "damage" in done.stderr or not re.search("^# lost: 0$", done.stdout, re.M):
            yield "%s %s: status %d, %s" % (kind, name, done.returncode, done.stderr[-200:])
        rows = [line.split("\t") for line in done.stdout.splitlines() if not line.startswith("#")]
        if rows and "outcome" in rows[0]:
            at = rows[0].index("outcome")
            lost = sum(row[at] in ("lost", "clock") for row in rows[1:])
            if lost:
                yield "%s %s: %d rows are lost" % (kind, name, lost)


def main():
    with tempfile.TemporaryDirectory(prefix="sqtrace-traffic-") as folder:
        trace = os.path.join(folder, "traffic.sqt")
        subprocess.run([os.path.join(TOOLS, "many-records"), trace, str(RECORDS), "zlib"], check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        shares, events, newer = table()
        made_shares, made, requests = proportions.proportions(TOOLS, [trace])
        check(["%s: %.1f of a thousand requests, to be %.1f" % (name, made_shares[name], share)
               for name, share in shares.items() if abs(share - made_shares[name]) > 2], "the classes of its requests")
        check(list(differences(events, made, requests)), "the records of each event and class")
        sample = [os.environ.get("SQT_SAMPLE") or os.path.join(SOURCE, "doc/sample")]
        _, real, real_requests = proportions.proportions(TOOLS, sample)
        left_out = [event for event in newer if real.pop(event, None)]
        if left_out:
            print("# newer than traffic.def, so make_traffic may lack them: " + " ".join(left_out))
        check(list(rough_differences(real, made, real_requests)), "roughly those of doc/sample")
        check(list(missing(real, made)), "every event that is not rare in doc/sample")
        check(list(wrong_orders(orders(sample), orders([trace]))), "events follow each other as in doc/sample")
        check(list(other_names(trace)), "why look-ups were no hits, servers, activities")
        check(list(empty(trace)), "tables of what it makes have rows")
        check(list(every_table(trace)), "no table finds anything damaged or lost")
    print("1..%d" % number)


if __name__ == "__main__":
    main()
