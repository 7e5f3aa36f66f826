# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace as the oracle of findings sees it: rows of printed tables as numbers, and when in a trace something was bad."""

import bisect
import functools
import json
import os
import subprocess

from oracle import MS, SECOND, TOOLS, dump

WINDOW = 250 * MS
RATE = 10**6  # bytes a second that nobody calls slow
ANSWER = ("request_send", "server_wait", "server_reply")
CONNECT = ("connect", "tls")
SWAP_IN = ("swap_in_open", "swap_in_first", "swap_in_rest")


def number(text):
    """A cell of any numeric column, in its last digit; 0 if it is missing."""
    return 0 if text == "-" else int(text.replace(".", ""))


COLUMNS = {}


def columns(table, path):
    """All that it prints, and ring: the numbers of transactions are unique in one run of a process."""
    if table not in COLUMNS:
        asked = ["ring", "denied_by", "tunnel_first_ns", "tunnel_held_ns", "tunnel_unsent_ns", "tunnel_rest_ns"] if table == "requests" else ["ring"]
        COLUMNS[table] = ",".join(dump(path, "--table=" + table, "--limit=1")[2] + asked)
    return COLUMNS[table]


def key(row):
    return row["ring"], row["xid"]


class Request:
    def __init__(self, row):
        self.row = row
        self.key, self.conn = key(row), (row["ring"], row["conn"])
        self.begin = number(row["time_s"])
        self.end = self.begin + self.ns("total")
        self.bumped = row["method"] == "CONNECT" and self.ns("client_tls") > 0
        self.tunnel = row["class"] == "tunnel"
        self.was_open = row["tunnel_ns"] != "-"
        self.sent = number(row["sent_bytes"])
        before = self.ns("accept_wait") + (0 if self.bumped else self.ns("client_tls"))
        self.felt = self.ns("total") - self.ns("tunnel") + before

    def ns(self, *stages):
        return sum(number(self.row[stage + "_ns"]) for stage in stages)

    def has(self, *stages):
        return any(self.row[stage + "_ns"] != "-" for stage in stages)

    def slow(self, ns):
        """Of that time of the reply, what its bytes do not need."""
        return max(int(ns - self.sent * SECOND / RATE), 0)


class Trace:
    def __init__(self, path):
        self.path = path
        self.comments, self.findings, _ = dump(path, "--table=findings")
        self.length = number(self.comments["length"][-1].split()[0])
        self.requests = [Request(row) for row in self.table("requests") if row["outcome"] not in ("lost", "clock")]
        self.felt = sum(r.felt for r in self.requests)
        self.of = {r.key: r for r in self.requests}

    @functools.cache
    def table(self, name):
        return dump(self.path, "--table=" + name, "--columns=" + columns(name, self.path))[1]

    @functools.cache
    def events(self, *names):
        wanted = " or ".join("event == " + name for name in names)
        return dump(self.path, "--table=events", "--where=" + wanted, "--columns=" + columns("events", self.path))[1]

    @functools.cached_property
    def waits(self):
        """Rows of waits whose durations are known, with their times as numbers."""
        rows = [dict(row, begin=number(row["time_s"]), ns=number(row["total_ns"])) for row in self.table("waits")
                if row["total_ns"] != "-"]
        for row in rows:
            row["who"] = row["kind"] + " " + row["name"]
        return rows

    @functools.cached_property
    def held(self):
        """{key: {stage: (least, most)}}: for how long the event loop was held in each stage of a request.

        In passes of 5 ms or longer that is where the pass and the stage overlap.  What samples say besides, no table
        says the stage of: it may be in any."""
        if not any(r.ns("loop_held") for r in self.requests):
            return {}
        passes = {}
        for row in self.table("loops"):
            if row["work_ns"] != "-" and int(row["work_ns"]) >= 5 * MS:
                begin = number(row["time_s"]) + int(row["wait_ns"])
                passes.setdefault(row["ring"], []).append((begin, begin + int(row["work_ns"])))
        for rows in passes.values():
            rows.sort()
        spans = self.stages()
        return {r.key: self.held_in(r, spans.get((r.row["kid"], r.key[1], r.begin), []), passes.get(r.key[0], []))
                for r in self.requests}

    def stages(self):
        """{(kid, xid, begin): [(stage, from, until)]}, of the trace-event JSON."""
        text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--format=chrome", self.path], check=True,
                              stdout=subprocess.PIPE, timeout=120).stdout
        kids, lanes, stages = {}, {}, {}
        for event in json.loads(text, parse_float=lambda digits: int(digits.replace(".", "")))["traceEvents"]:
            lane = (event["pid"], event.get("tid"))
            if event["name"] == "process_name":
                kids[event["pid"]] = event["args"]["name"].split(",")[0].replace("kid ", "")
            elif event.get("cat") == "request":
                its = (kids[event["pid"]], str(event["args"].get("xid", "-")), event["ts"])
                lanes[lane] = stages.setdefault(its, [])
            elif event.get("cat") == "stage":
                lanes[lane].append((event["name"], event["ts"], event["ts"] + event["dur"]))
        return stages

    @staticmethod
    def held_in(request, spans, passes):
        overlaps, begins = {}, [span[0] for span in passes]
        for stage, begin, until in spans:
            at = max(bisect.bisect_right(begins, begin) - 1, 0)
            while at < len(passes) and passes[at][0] < until:
                ns = min(until, passes[at][1]) - max(begin, passes[at][0])
                overlaps[stage] = overlaps.get(stage, 0) + max(ns, 0)
                at += 1
        rest = max(request.ns("loop_held") - sum(overlaps.values()), 0)
        return {stage: (overlaps.get(stage, 0), overlaps.get(stage, 0) + rest) for stage in {span[0] for span in spans}}

    def held_while(self, request, *stages):
        """The least and the most."""
        parts = self.held.get(request.key, {})
        return [sum(parts.get(stage, (0, 0))[i] for stage in stages) for i in (0, 1)]


# ---- when ----

def sums(pairs, width=WINDOW):
    """{window: [ns, count]} of (begin, ns)."""
    found = {}
    for begin, ns in pairs:
        window = found.setdefault(begin // width, [0, 0])
        window[0] += ns
        window[1] += 1
    return found


def third(sizes, which):
    length = len(sizes) // 3
    part = sizes[:length] if which == 0 else sizes[length:2 * length] if which == 1 else sizes[-length:]
    return sum(part) / length


def grows(sizes):
    if len(sizes) < 9:
        return False
    first, middle, last = (third(sizes, which) for which in range(3))
    return first < middle < last and last >= 3 * first


class When:
    """Since, until and pattern of bad windows among those with requests."""

    def __init__(self, bad, active, width=WINDOW, sizes=None):
        first, last = min(active), max(active)
        fifth = (last - first) // 5
        between = [window for window in active if bad[0] <= window <= bad[-1]]
        dense = 100 * len(bad) >= 70 * len(between)
        episodes = 1 + sum(b - a > 4 for a, b in zip(bad, bad[1:]))
        self.since, self.until = bad[0] * width, (bad[-1] + 1) * width
        if bad[0] - first <= fifth and bad[-1] + fifth >= last and dense:
            self.pattern = "throughout"
        elif episodes >= 3:
            self.pattern = "recurring"
        elif dense and bad[-1] + 8 >= last:
            self.pattern = "since"
        else:
            self.pattern = "once"
        if self.pattern in ("throughout", "since") and sizes and grows(sizes):
            self.pattern = "growing"


def spell(trace, met, among=None):
    """When some of all requests, or of what is given, were met: windows in which they are at least half as frequent as in
    the whole."""
    among = among or trace.requests
    its, everybody = sums((r.begin, 0) for r in met), sums((r.begin, 0) for r in among)
    span, expected = max(its) - min(its) + 1, len(met) // 4
    wider = -(-span // expected) if expected else span
    its, everybody = (sums(((r.begin // WINDOW, 0) for r in rows), wider) for rows in (met, among))
    share = len(met) / len(among)
    bad = [window for window in sorted(its) if 2 * its[window][1] >= share * everybody[window][1]]
    when = When(bad, sorted(everybody), WINDOW * wider)
    inside = sum(when.since <= r.begin // WINDOW * WINDOW < when.until for r in among)
    if when.pattern == "throughout" and inside < 0.9 * len(among):
        when.pattern = "since" if bad[-1] == max(everybody) else "once"
    return when
