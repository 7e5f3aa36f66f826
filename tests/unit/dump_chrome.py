#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace-event JSON against the tables: what nests, what adds up, what stands in which track."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
NUMBER = 0
PHASES = ("queue", "service", "notice")


def check(problems, name):
    """problems: what is wrong, as texts."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name))
    for problem in problems[:5]:
        print("# %s" % (problem,))


def run(trace, *options):
    return subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, trace], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout.decode("utf-8", "replace")


def table(trace, name, *options):
    lines = [line.split("\t") for line in run(trace, "--table=" + name, "--no-comments", *options).split("\n")[:-1]]
    return [dict(zip(lines[0], row)) for row in lines[1:]]


def ns(text):
    """A decimal number, as an integer of its last decimal: microseconds or seconds as nanoseconds."""
    return int(text.replace(".", ""))


def parse(trace, *options):
    text = run(trace, "--format=chrome", *options)
    if "\ufffd" in text:
        raise ValueError("no UTF-8")
    return json.loads(text, parse_float=ns)


class Span:
    def __init__(self, event):
        self.name, self.pid, self.args = event["name"], event["pid"], event.get("args", {})
        self.begin, self.inside = event["ts"], []
        self.end = event["ts"] + event["dur"] if event["ph"] == "X" else None


def spans(events):
    """The requests as trees of spans, and what is wrong with their nesting.  An outer slice comes before the inner ones."""
    found, problems, stacks = [], [], collections.defaultdict(list)
    for e in events:
        if e["ph"] not in "Xi" or e["cat"] not in ("request", "stage", "part"):
            continue
        stack, span = stacks[e["pid"], e["tid"]], Span(e)
        if e["cat"] == "request":
            stack[:] = [span] if span.end is not None else []
            found.append(span)
            continue
        del stack[1 if e["cat"] == "stage" else 2:]
        if not stack:
            continue  # a part of something else
        outer = stack[-1]
        if span.begin < (outer.inside[-1].end if outer.inside else outer.begin) or span.end > outer.end:
            problems.append("%s is not behind the one before it in %s" % (e, outer.name))
        outer.inside.append(span)
        stack.append(span)
    return found, problems


# Columns of stages that stand after the others.
LATER = ["helper_ns", "collapsed_wait_ns", "held_back_ns", "failed_tries_ns"]


def same_request(span, row, stages):
    """What differs between a request's span and its row."""
    wrong = []
    if span.end is None:
        return [] if row["total_ns"] == "-" and row["outcome"] == "lost" else ["%s has no end" % row]
    if span.begin != ns(row["time_s"]) or span.end - span.begin != int(row["total_ns"]):
        wrong.append("begin or end of %s" % row)
    for column, value in row.items():
        if column not in stages and column not in ("time_s", "kid") and str(span.args.get(column, "-")) != value:
            wrong.append("%s: %s, not %s" % (column, span.args.get(column), value))
    sums = collections.Counter()
    for stage in span.inside:
        sums[stage.name + "_ns"] += stage.end - stage.begin
    for stage in stages + ["unaccounted_ns"]:
        if sums.pop(stage, 0) != (0 if row[stage] == "-" else int(row[stage])):
            wrong.append("%s of request %s" % (stage, row["xid"]))
    at = span.begin
    for stage in span.inside:
        if stage.begin != at:
            wrong.append("a gap before %s of request %s" % (stage.name, row["xid"]))
        at = stage.end
    if at != span.end:
        wrong.append("a gap at the end of request %s" % row["xid"])
    return wrong + ["unknown stage " + name for name in sums]


def phase_times(io):
    """{phase: (from, until)} of a block."""
    at, times = ns(io["time_s"]), {}
    for phase in PHASES:
        times[phase] = at, at + int(io[phase + "_ns"])
        at = times[phase][1]
    return times


def wrong_phases(requests, ios, kids):
    """Phases inside stages lie where their block's are, and fill the stages that wait for blocks."""
    blocks = {(io["kid"], int(io["sio"]), int(io["index"])): phase_times(io) for io in ios}
    wrong = []
    for request in requests:
        for stage in request.inside:
            if stage.inside and stage.name not in ("swap_in_first", "swap_in_rest"):
                wrong.append("phases in " + stage.name)
            for phase in stage.inside:
                times = blocks[kids[phase.pid], phase.args["sio"], phase.args["index"]][phase.name]
                if phase.begin < times[0] or phase.end > times[1]:
                    wrong.append("%s of block %s is not at its time" % (phase.name, phase.args))
            full = sum(phase.end - phase.begin for phase in stage.inside)
            if stage.name in ("swap_in_first", "swap_in_rest") and request.args["outcome"] == "complete" and \
                    full != stage.end - stage.begin:
                wrong.append("%d of %d ns of %s of request %s have a phase"
                             % (full, stage.end - stage.begin, stage.name, request.args.get("xid")))
    return wrong


def wrong_slices(events, ios, kids):
    """Blocks in the threads of disks: all of them, each where its I/O was, none over another."""
    wrong, ends = [], collections.defaultdict(int)
    got, want = collections.Counter(), collections.Counter()
    for e in events:
        if e["ph"] not in "Xi" or e["cat"] != "block":
            continue
        a, thread = e["args"], (e["pid"], e["tid"])
        got[kids[e["pid"]], a["sio"], a["index"], a["direction"], a.get("total_ns"), e["ts"], e.get("dur"),
            e["name"]] += 1
        if e["ph"] == "X" and e["ts"] < ends[thread]:
            wrong.append("%s overlaps another" % e)
        ends[thread] = e["ts"] + e.get("dur", 0)
    for io in ios:
        at, total, lasts = ns(io["time_s"]), io["total_ns"], io["service_ns"]
        if io["queue_ns"] == "-":
            lasts = total
        else:
            at += int(io["queue_ns"])
        want[io["kid"], int(io["sio"]), int(io["index"]), io["direction"], None if total == "-" else int(total), at,
             None if lasts == "-" else int(lasts), {"in": "read", "out": "write"}[io["direction"]]] += 1
    return wrong + ["differs: %s" % (key,) for key in (got - want) + (want - got)]


def names(events):
    """{(pid, tid or None): name} of the metadata events."""
    return {(e["pid"], e["tid"] if e["name"] == "thread_name" else None): e["args"]["name"]
            for e in events if e["ph"] == "M" and e["name"].endswith("_name")}


def kids_of(named):
    """{pid: kid} by the names of the processes."""
    return {pid: re.match(r"kid (\d+)", text).group(1) for (pid, thread), text in named.items() if thread is None}


def wrong_names(events, named, swaps):
    wrong = ["no name: %s" % e for e in events
             if e["ph"] not in "MC" and not ((e["pid"], None) in named and (e["pid"], e["tid"]) in named)]
    disks = {re.sub(r" \(\d+\)$", "", named[e["pid"], e["tid"]]) for e in events if e.get("cat") == "block"
             and e["ph"] in "Xi"}
    known = {("%s %s" % (s["store"], s["path"])).replace("\ufffd", "?") for s in swaps}
    wrong += ["a disk that is none: " + disk for disk in {name.replace("\1", "?") for name in disks} - known]
    return wrong


def picked(name, trace, ios, stages, expression):
    """--where: the requests of that class, and what was read for them before they ended."""
    events = parse(trace, "--where=" + expression)["traceEvents"]
    found, wrong = spans(events)
    rows = table(trace, "requests", "--where=" + expression)
    ends = {(row["kid"], row["xid"]): ns(row["time_s"]) + int(row["total_ns"]) for row in rows}
    kids = kids_of(names(events))
    if len(found) != len(rows):
        wrong.append("%d requests, not %d" % (len(found), len(rows)))
    for span, row in zip(found, rows):
        wrong += same_request(span, row, stages)
    got = collections.Counter((kids[e["pid"]], e["args"]["sio"], e["args"]["index"])
                              for e in events if e["ph"] in "Xi" and e["cat"] == "block")
    want = collections.Counter((io["kid"], int(io["sio"]), int(io["index"])) for io in ios
                               if io["direction"] == "in" and
                               ns(io["time_s"]) + int(io["total_ns"]) <= ends.get((io["kid"], io["xid"]), 0))
    wrong += ["block %s" % (key,) for key in (got - want) + (want - got)]
    check(wrong + ([] if rows else ["nothing was picked"]), "%s: --where picks requests and what they have read" % name)


def judge(name, trace, expression=None):
    whole = parse(trace)
    events = whole["traceEvents"]
    requests, ios, swaps = table(trace, "requests"), table(trace, "ios"), table(trace, "swaps")
    columns = list(requests[0]) if requests else []
    stages = columns[columns.index("client_connect_ns") + 1:columns.index("unaccounted_ns")] if columns else []
    stages += [column for column in LATER if column in columns]
    found, wrong = spans(events)
    check(wrong, "%s: %d spans nest" % (name, len(found)))
    wrong = [] if len(found) == len(requests) else ["%d requests, not %d" % (len(found), len(requests))]
    for span, row in zip(found, requests):
        wrong += same_request(span, row, stages)
    check(wrong, "%s: %d requests have the values, the time and the stages of their rows" % (name, len(requests)))
    named = names(events)
    kids = kids_of(named)
    check(wrong_names(events, named, swaps), "%s: every process and thread has its name" % name)
    check(wrong_phases(found, ios, kids), "%s: phases of blocks fill the stages that wait for them" % name)
    check(wrong_slices(events, ios, kids), "%s: %d blocks in the threads of their disks" % (name, len(ios)))
    got = [(kids[e["pid"]], e["ts"], e["ts"] + e["dur"], e["args"]["records"], e["args"]["reason"])
           for e in events if e["ph"] == "X" and e["cat"] == "loss"]
    want = [(r["kid"], ns(r["time_s"]), ns(r["until_s"]), int(r["records"]), r["reason"])
            for r in table(trace, "losses")]
    check([] if got == want else [got, want], "%s: %d losses" % (name, len(want)))
    if expression:
        picked(name, trace, ios, stages, expression)


def main():
    with tempfile.TemporaryDirectory() as work:
        traces = os.path.join(work, "t")
        subprocess.run([os.path.join(TOOLS, "tests/unit/dump_traces"), traces], check=True, timeout=60)
        golden = os.path.join(SOURCE, "tests", "golden")
        judge("story", os.path.join(traces, "story"), "tag ~ *HIT and kid == 1")
        judge("busy", os.path.join(traces, "busy.sqt"), "swap_ins > 0 and status == 200")
        judge("crossed", os.path.join(traces, "crossed.sqt"), "outcome == aborted")
        judge("kids", os.path.join(golden, "kids"))
        judge("a damaged trace", os.path.join(golden, "flipped.sqt"))
        judge("the sample", os.path.join(SOURCE, "doc", "sample"), "class == disk_hit")
        whole = parse(os.path.join(traces, "story"))
        check([] if "records: 186" in whole["account"] and "squid: 7.7" in whole["about"] else [whole["account"]],
              "comments stand beside the events")
        whole = parse(os.path.join(traces, "story"), "--no-comments")
        check([] if sorted(whole) == ["displayTimeUnit", "traceEvents"] else [sorted(whole)], "--no-comments")
        whole = parse(os.path.join(traces, "story"), "--where=xid == 99")
        check([e for e in whole["traceEvents"] if e.get("cat") == "request"], "no request at all is sound JSON")
        story = table(os.path.join(traces, "story"), "requests", "--since=0.05", "--until=500ms")
        found, _ = spans(parse(os.path.join(traces, "story"), "--since=0.05", "--until=500ms")["traceEvents"])
        check([] if len(found) == len(story) == 2 else [len(found), len(story)], "--since and --until")
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
