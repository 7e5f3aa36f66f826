#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracks, arrows and counters of the trace-event JSON: sound by the published format, and as many as in the tables."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import trace_events  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
NUMBER = 0
WINDOW = 100000000  # ns, of the counter of the event loop
UNKNOWN = ("lost", "clock")  # outcomes of which no duration is known


def check(problems, name):
    """problems: what is wrong, as texts."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name), flush=True)
    for problem in problems[:5]:
        print("# %s" % (problem,))


def run(trace, *options):
    return subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, trace], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout.decode("utf-8", "replace")


def table(trace, name, *options):
    lines = [line.split("\t") for line in run(trace, "--table=" + name, "--no-comments", *options).split("\n")[:-1]]
    return [dict(zip(lines[0], row)) for row in lines[1:]]


def differs(got, want):
    """Of two lists, what only one has."""
    got, want = collections.Counter(got), collections.Counter(want)
    return ["%d times too often: %s" % (n, key) for key, n in (got - want).items()] + \
           ["%d times too seldom: %s" % (n, key) for key, n in (want - got).items()]


def number(cell):
    return None if cell == "-" else int(cell)


class Trace:
    """The events of a trace, and what its tables say."""

    def __init__(self, path, *options):
        self.text = run(path, "--format=chrome", *options)
        self.events = trace_events.load(self.text)["traceEvents"]
        self.checked = trace_events.Checked(self.events)
        self.tables = {name: table(path, name, *options)
                       for name in ("requests", "ios", "waits", "loops", "connections", "losses")}
        self.swaps = {(s["kid"], s["sio"]): "%s %s" % (s["store"], s["path"]) for s in table(path, "swaps")}
        self.kids = {e["pid"]: e["args"]["name"].split(",")[0].split()[1]
                     for e in self.events if e["name"] == "process_name"}
        self.threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.events if e["name"] == "thread_name"}

    def of(self, category):
        return [e for e in self.events if e.get("cat") == category and e["ph"] in "Xi"]

    def disk(self, io):
        return self.swaps.get((io["kid"], io["sio"]))


def begin_and_length(event):
    return event["ts"], event.get("dur")


def wrong_loops(trace):
    got = [(trace.kids[e["pid"]], *begin_and_length(e), e["args"].get("wait_ns"), e["args"].get("longest_activity"),
            e["args"]["ready_fds"]) for e in trace.of("loop")]
    want = []
    for row in trace.tables["loops"]:
        wait, work = number(row["wait_ns"]), number(row["work_ns"])
        longest = None if row["longest_activity"] == "-" else row["longest_activity"]
        want.append((row["kid"], trace_events.ns(row["time_s"]) + (wait or 0), work, wait, longest,
                     int(row["ready_fds"])))
    long = [e for e in trace.of("loop") if e.get("dur", 0) >= 5000000 and "longest_activity" in e["args"]]
    return differs(got, want) + [e for e in long if e["name"] != "held by " + e["args"]["longest_activity"]]


def wrong_waits(trace):
    def parts(event):
        """The parts of a wait are the slices within it, in its own thread."""
        inside = [e for begin, end, e in trace.checked.slices[event["pid"], event["tid"]]
                  if e["cat"] == "part" and event["ts"] <= begin and end <= event["ts"] + event["dur"]]
        return tuple(sorted((e["name"], e["dur"]) for e in inside))

    def wanted_parts(row):
        if "-" in (row["queue_ns"], row["service_ns"]):
            return ()
        return tuple((name, int(row[name + "_ns"])) for name in ("queue", "service") if row[name + "_ns"] != "0")

    got, want = [], []
    for e in trace.of("wait"):
        got.append((trace.kids[e["pid"]], *begin_and_length(e), e["args"].get("xid"), e["args"]["kind"],
                    e["args"].get("name"), e["args"]["outcome"], parts(e) if e["ph"] == "X" else ()))
    for row in trace.tables["waits"]:
        want.append((row["kid"], trace_events.ns(row["time_s"]), number(row["total_ns"]), number(row["xid"]),
                     row["kind"], row["name"], row["outcome"], wanted_parts(row)))
    tracks = ["%s is in track %s" % (e["args"]["kind"], trace.threads[e["pid"], e["tid"]]) for e in trace.of("wait")
              if not trace.threads[e["pid"], e["tid"]].startswith(e["args"]["kind"])]
    return differs(got, want) + tracks


def wrong_connections(trace):
    def tls(event):
        inside = [e["dur"] for begin, end, e in trace.checked.slices[event["pid"], event["tid"]]
                  if e["cat"] == "part" and event["ts"] <= begin and end <= event["ts"] + event["dur"]]
        return sum(inside)

    got = [(trace.kids[e["pid"]], e["ts"], e["args"]["conn"], e["args"].get("xid"), e["args"].get("connect_ns"),
            e["args"]["reused"], e["args"]["outcome"], tls(e) if e["ph"] == "X" else 0)
           for e in trace.of("connection")]
    want = [(row["kid"], trace_events.ns(row["time_s"]), number(row["conn"]) or 0, number(row["xid"]),
             number(row["connect_ns"]), int(row["reused"]), row["outcome"], number(row["tls_ns"]) or 0)
            for row in trace.tables["connections"]]
    return differs(got, want)


def wrong_server_waits(trace):
    """Of each transaction the time of server_wait is in its track."""
    got, want = collections.Counter(), collections.Counter()
    for e in trace.of("server"):
        got[trace.kids[e["pid"]], e.get("args", {}).get("xid")] += e["dur"]
    for row in trace.tables["requests"]:
        want[row["kid"], number(row["xid"])] += number(row["server_wait_ns"]) or 0
    return differs(got.items(), [(key, ns) for key, ns in want.items() if ns])


def wrong_losses(trace):
    got = [(trace.kids[e["pid"]], e["ts"], e["ts"] + e["dur"], e["args"]["records"], e["args"]["reason"],
            trace.threads[e["pid"], e["tid"]]) for e in trace.of("loss")]
    want = [(row["kid"], trace_events.ns(row["time_s"]), trace_events.ns(row["until_s"]), int(row["records"]),
             row["reason"], "losses") for row in trace.tables["losses"]]
    return differs(got, want)


def wrong_flows(trace):
    """An arrow to each block that took time, from the request that it is of."""
    got = []
    for start, end in trace.checked.flows:
        request = [e for e in start if e["cat"] == "request"]
        block = [e for e in end if e["cat"] == "block"]
        if not request or not block:
            return ["an arrow between other things: %s, %s" % (start, end)]
        got.append((trace.kids[block[0]["pid"]], block[0]["args"]["sio"], block[0]["args"]["index"],
                    block[0]["args"]["direction"], trace.kids[request[0]["pid"]], request[0]["args"].get("xid")))
    requests = collections.defaultdict(list)
    for row in trace.tables["requests"]:
        if row["outcome"] not in UNKNOWN and row["total_ns"] != "0" and row["xid"] != "-":
            requests[row["kid"], row["xid"]].append(trace_events.ns(row["time_s"]))
    want = []
    for io in trace.tables["ios"]:
        begins = requests.get((io["kid"], io["xid"]), [])
        lasts = number(io["service_ns"] if io["queue_ns"] != "-" else io["total_ns"])
        if lasts and any(begin <= trace_events.ns(io["time_s"]) for begin in begins):
            want.append((io["kid"], int(io["sio"]), int(io["index"]), io["direction"], io["kid"], int(io["xid"])))
    return differs(got, want)


def steps(changes, series):
    """[(time, values)] where values change, of [(time, name of the series, +1 or -1)]."""
    values, found = dict.fromkeys(series, 0), []
    by_time = collections.defaultdict(list)
    for at, name, by in changes:
        by_time[at].append((name, by))
    for at in sorted(by_time):
        before = dict(values)
        for name, by in by_time[at]:
            values[name] += by
        if values != before:
            found.append((at, tuple(sorted(values.items()))))
    return found


def wanted_counters(trace):
    """{(kid, name): [(time, values)]}"""
    changes = collections.defaultdict(list)

    def add(key, series, begin, end):
        if end > begin:
            changes[key] += [(begin, series, 1), (end, series, -1)]

    for row in trace.tables["requests"]:
        if row["outcome"] not in UNKNOWN:
            begin = trace_events.ns(row["time_s"])
            add((row["kid"], "requests in flight"), "requests", begin, begin + int(row["total_ns"]))
    for io in trace.tables["ios"]:
        at, key = trace_events.ns(io["time_s"]), (io["kid"], "blocks of %s" % trace.disk(io))
        if io["queue_ns"] == "-":
            add(key, "queue", at, at + (number(io["total_ns"]) or 0))
            continue
        for part in ("queue", "service", "notice"):
            add(key, part, at, at + int(io[part + "_ns"]))
            at += int(io[part + "_ns"])
    series = {key: ("requests",) if key[1] == "requests in flight" else ("queue", "service", "notice")
              for key in changes}
    found = {key: steps(those, series[key]) for key, those in changes.items()}
    found.update(wanted_busy(trace))
    return {key: those for key, those in found.items() if those}


def wanted_busy(trace):
    """The share of each window in which the loop worked, where it changes."""
    busy = collections.defaultdict(lambda: collections.Counter())
    for row in trace.tables["loops"]:
        if row["work_ns"] == "-":
            continue
        at = trace_events.ns(row["time_s"]) + int(row["wait_ns"])
        end = at + int(row["work_ns"])
        busy[row["kid"]][at // WINDOW] += 0
        while at < end:
            until = min(end, (at // WINDOW + 1) * WINDOW)
            busy[row["kid"]][at // WINDOW] += until - at
            at = until
    found = {}
    for kid, windows in busy.items():
        before, those = 0, []
        for window in range(min(windows), max(windows) + 2):
            percent = (windows[window] * 100 + WINDOW // 2) // WINDOW
            if percent != before:
                those.append((window * WINDOW, (("percent", percent),)))
            before = percent
        found[kid, "event loop busy"] = those
    return found


def wrong_counters(trace):
    got = collections.defaultdict(list)
    for e in trace.events:
        if e["ph"] == "C":
            got[trace.kids[e["pid"]], e["name"]].append((e["ts"], tuple(sorted(e["args"].items()))))
    want, wrong = wanted_counters(trace), []
    for key in set(got) | set(want):
        if got.get(key) != want.get(key):
            wrong.append("%s: %d values, not %d" % (key, len(got.get(key, [])), len(want.get(key, []))))
            wrong += differs(got.get(key, []), want.get(key, []))[:2]
    return wrong


def wrong_tracks(trace):
    """A cache_dir whose I/O does not overlap has one thread, and so has an event loop."""
    threads = collections.Counter()
    for (pid, _), name in trace.threads.items():
        threads[trace.kids[pid], name.split(" (")[0]] += 1
    spans = collections.defaultdict(list)
    for io in trace.tables["ios"]:
        if io["queue_ns"] != "-":
            begin = trace_events.ns(io["time_s"]) + int(io["queue_ns"])
            spans[io["kid"], trace.disk(io)].append((begin, begin + int(io["service_ns"])))
    wrong = []
    for key, those in spans.items():
        those.sort()
        alone = all(one[1] <= two[0] for one, two in zip(those, those[1:]))
        if alone and threads[key] != 1:
            wrong.append("%s has %d threads" % (key, threads[key]))
    return wrong + ["%s has %d threads" % (key, n) for key, n in threads.items() if key[1] == "event loop" and n != 1]


def wrong_colours(trace):
    """A name has one colour in a category, and each class and stage has one."""
    colours = collections.defaultdict(set)
    for e in trace.events:
        if e["ph"] == "X" and e["cat"] in ("request", "stage", "part", "block"):
            colours[e["cat"], e["name"]].add(e.get("cname"))
    return ["%s: %s" % (key, those) for key, those in colours.items()
            if len(those) != 1 or None in those and key[1] not in ("more_stages", "aborted", "unfinished")]


def judge(name, path, *options):
    trace = Trace(path, *options)
    check(trace.checked.problems, "%s: %d events are sound by the published format" % (name, len(trace.events)))
    if trace.checked.problems:
        return
    rows = {key: len(those) for key, those in trace.tables.items()}
    check(wrong_loops(trace), "%s: %d passes of event loops" % (name, rows["loops"]))
    check(wrong_waits(trace), "%s: %d waits" % (name, rows["waits"]))
    check(wrong_connections(trace), "%s: %d server connections" % (name, rows["connections"]))
    check(wrong_server_waits(trace), "%s: waits for servers" % name)
    check(wrong_losses(trace), "%s: %d losses" % (name, rows["losses"]))
    check(wrong_flows(trace), "%s: %d arrows from requests to blocks" % (name, len(trace.checked.flows)))
    check(wrong_counters(trace), "%s: counters" % name)
    check(wrong_tracks(trace), "%s: one track where nothing overlaps" % name)
    check(wrong_colours(trace), "%s: colours" % name)
    processor(name, trace)


def processor(name, trace):
    """Perfetto's own program reads the same number of slices, arrows and values."""
    program, what = shutil.which("trace_processor_shell"), "%s: Perfetto's trace processor" % name
    if not program:  # it is in no package of Debian's
        print("# left out, as trace_processor_shell is not installed: " + what)
        return
    slices = sum(e["ph"] in "Xi" for e in trace.events)
    flows = sum(e["ph"] == "s" for e in trace.events)
    values = sum(len(e["args"]) for e in trace.events if e["ph"] == "C")
    with tempfile.TemporaryDirectory() as work:
        for file, text in (("trace.json", trace.text),
                           ("query.sql", "select 'all', (select count(*) from slice), (select count(*) from flow), "
                                         "(select count(*) from counter), (select ifnull(sum(value), 0) from stats "
                                         "where severity = 'error');")):
            with open(os.path.join(work, file), "w") as out:
                out.write(text)
        said = subprocess.run([program, "-q", os.path.join(work, "query.sql"), os.path.join(work, "trace.json")],
                              stdout=subprocess.PIPE, check=True, timeout=300).stdout.decode()
    want = '"all",%d,%d,%d,0' % (slices, flows, values)
    check([] if want in said else [said, want], what)


# ---- the checker itself ----

SOUND = [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "a"}},
    {"ph": "X", "cat": "c", "name": "outer", "pid": 1, "tid": 2, "ts": 10, "dur": 10, "cname": "good"},
    {"ph": "X", "cat": "c", "name": "inner", "pid": 1, "tid": 2, "ts": 10, "dur": 5},
    {"ph": "B", "cat": "c", "name": "begun", "pid": 1, "tid": 3, "ts": 12},
    {"ph": "E", "cat": "c", "name": "begun", "pid": 1, "tid": 3, "ts": 30},
    {"ph": "b", "cat": "c", "name": "async", "pid": 1, "tid": 3, "ts": 12, "id": 5},
    {"ph": "e", "cat": "c", "name": "async", "pid": 1, "tid": 3, "ts": 15, "id": 5},
    {"ph": "s", "cat": "c", "name": "flow", "pid": 1, "tid": 2, "ts": 19, "id": 1},
    {"ph": "f", "cat": "c", "name": "flow", "pid": 1, "tid": 3, "ts": 20, "id": 1, "bp": "e"},
    {"ph": "C", "name": "counter", "pid": 1, "ts": 10, "args": {"n": 0}},
    {"ph": "i", "cat": "c", "name": "moment", "pid": 1, "tid": 2, "ts": 40, "s": "t"},
]
# Number of the event, its member and another value (None: none), and a word of the complaint; None, None: no event.
FAULTS = [(0, "name", "thread_colour", "metadata"), (1, "dur", -1, "below 0"),
          (1, "cname", "pink", "colour"), (2, "ts", 16, "overlaps"), (3, None, None, "without its begin"),
          (4, None, None, "never ended"), (5, None, None, "without its begin"), (6, "name", "other", "without its"),
          (7, "ts", 21, "before it starts"), (7, "ts", 9, "no slice"), (7, None, None, "0 starts"),
          (8, "tid", 4, "no slice"), (8, "ts", 30, "no slice"), (8, "bp", None, "next slice"),
          (8, None, None, "0 ends"), (9, "args", {"n": -1}, "below 0"), (9, "args", {}, "without numbers"),
          (10, "ts", None, "no time"), (10, "s", "x", "scope"), (10, "ph", "Q", "phase"), (1, "tid", None, "no thread")]


def the_checker():
    check(trace_events.Checked(SOUND).problems, "the checker finds nothing in what is sound")
    for at, member, value, word in FAULTS:
        events = json.loads(json.dumps(SOUND))
        if member is None:
            del events[at]
        elif value is None:
            del events[at][member]
        else:
            events[at][member] = value
        problems = trace_events.Checked(events).problems
        if not any(word in problem for problem in problems):
            check(["%s of event %d is %s, and it says %s" % (member, at, value, problems)], "the checker")
            return
    check([], "the checker notices %d faults" % len(FAULTS))


def main():
    the_checker()
    with tempfile.TemporaryDirectory() as work:
        traces, figures = os.path.join(work, "t"), os.path.join(work, "f")
        subprocess.run([os.path.join(TOOLS, "tests/unit/dump_traces"), traces], check=True, timeout=60)
        subprocess.run([os.path.join(TOOLS, "tests/unit/figure_traces"), figures], check=True, timeout=120)
        judge("story", os.path.join(traces, "story"))
        judge("busy", os.path.join(traces, "busy.sqt"))
        judge("clock steps", os.path.join(traces, "stepped.sqt"))
        judge("losses", os.path.join(figures, "lossy.sqt"))
        judge("kids", os.path.join(SOURCE, "tests", "golden", "kids"))
        judge("the sample", os.path.join(SOURCE, "doc", "sample"))
        judge("a part of the sample", os.path.join(SOURCE, "doc", "sample"), "--since=60", "--until=90")
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
