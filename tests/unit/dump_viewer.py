#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace-event JSON in Chromium's own trace viewer, in Chromium.

Debian's Chromium comes without the page chrome://tracing, but Go's sources carry the viewer that this page shows.
SQT_SCREENSHOT=FILE keeps a picture of what it drew.
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from browser import Browser, Failure  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
SAMPLE = os.path.join(SOURCE, "doc", "sample")
PART = ["--since=60", "--until=90"]
LATE = ["helper_ns", "collapsed_wait_ns", "held_back_ns", "failed_tries_ns"]  # stages whose columns stand at the end
NUMBER = 0

PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<script src="webcomponents.min.js"></script>
<link rel="import" href="trace_viewer_full.html">
<style>html, body { height: 100%; margin: 0 } tr-ui-timeline-view { height: 100% }</style>
<body></body>
"""

# Reads trace.json as chrome://tracing does, and shows it.
LOAD = """(async () => {
    const text = await (await fetch("trace.json")).text();
    window.model = new tr.Model();
    await new tr.importer.Import(model).importTraces([text]);
    const view = document.createElement("tr-ui-timeline-view");
    const tracks = document.createElement("track-view-container");
    tracks.id = "track_view_container";
    view.track_view_container = tracks;
    Polymer.dom(view).appendChild(tracks);
    Polymer.dom(document.body).appendChild(view);
    view.model = model;
    return model.importWarnings.map(warning => warning.message);
})()"""

# What the viewer understood: {kid: {what: [[path of titles, start, duration] in ms, ...]}} by process and thread.
UNDERSTOOD = """(() => {
    const found = {};
    const walk = (slices, path, into) => {
        for (const s of slices) {
            into.push([path + s.title, s.start, s.duration]);
            walk(s.subSlices, path + s.title + "/", into);
        }
    };
    const tops = slices => slices.filter(s => !s.parentSlice);
    for (const p of Object.values(model.processes)) {
        const threads = found[p.name] = {};
        for (const t of Object.values(p.threads)) {
            const spans = [];
            walk(t.asyncSliceGroup.slices.filter(s => s.isTopLevel), "", spans);
            walk(tops(t.sliceGroup.slices), "", spans);
            threads[t.name] = spans;
        }
    }
    return found;
})()"""

# How many arrows it found with a slice at both ends, and how many series of counters with how many values.
ARROWS = "model.flowEvents.filter(e => e.startSlice && e.endSlice).length"
VALUES = """(() => {
    let values = 0;
    for (const p of Object.values(model.processes))
        for (const counter of Object.values(p.counters))
            for (const series of counter.series)
                values += series.samples.length;
    return values;
})()"""

# How many points of the canvas have a colour that is not a grey.
COLOURED = """(() => {
    let coloured = 0;
    for (const canvas of Array.from(document.querySelectorAll("canvas"))) {
        if (!canvas.width || !canvas.height)
            continue;
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < data.length; i += 4)
            coloured += Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 30;
    }
    return coloured;
})()"""


def check(problems, name):
    """problems: what is wrong, as texts."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name))
    for problem in problems[:5]:
        print("# %s" % (problem,))


def dump(*options):
    return subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, SAMPLE], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout


def table(name):
    lines = dump("--table=" + name, "--no-comments", *PART).decode().split("\n")[:-1]
    rows = [line.split("\t") for line in lines]
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def wanted():
    """{(kid, path of titles): [spans, ns]} by the tables."""
    sums = collections.defaultdict(lambda: [0, 0])
    rows = table("requests")
    stages = list(rows[0])[list(rows[0]).index("client_connect_ns") + 1:list(rows[0]).index("unaccounted_ns") + 1] + LATE
    for row in rows:
        top = row["class"] if row["class"] != "-" else row["outcome"]
        values = [(top, row["total_ns"])] + [("%s/%s" % (top, stage[:-3]), row[stage]) for stage in stages]
        for path, ns in values:
            if ns not in ("-", "0"):
                sums[row["kid"], path][0] += 1
                sums[row["kid"], path][1] += int(ns)
    for io in table("ios"):
        path = {"in": "read", "out": "write"}[io["direction"]]
        sums[io["kid"], path][0] += 1
        sums[io["kid"], path][1] += int(io["service_ns"])
    for loop in table("loops"):
        sums[loop["kid"], "work"][0] += 1
        sums[loop["kid"], "work"][1] += int(loop["work_ns"])
    return sums


def compare(understood):
    """Spans and their sums by kid and path.  A stage may be in pieces.  The viewer's times are floating milliseconds, so
    it takes a stage of some ns for a part of the stage before it."""
    got = collections.defaultdict(lambda: [0, 0.0])
    elsewhere = {wait["kind"] for wait in table("waits")} | {"server_wait", "server connections"}  # dump_tracks.py has those
    for process, threads in understood.items():
        kid = process.split(",")[0].split()[1]
        for thread, spans in threads.items():
            for path, _, duration in spans:
                if thread.split(" (")[0] in elsewhere:
                    continue
                if path.startswith("held by "):
                    path = "work"
                names = path.split("/")
                if len(names) > 2 and names[-1] not in ("queue", "service", "notice"):
                    path = names[0] + "/" + names[-1]
                got[kid, path][0] += 1
                got[kid, path][1] += duration * 1e6
    wrong = []
    for key, (count, ns) in wanted().items():
        path = key[1]
        if "/" not in path and got[key][0] != count:
            wrong.append("%s of kid %s: %d, not %d" % (path, key[0], got[key][0], count))
        if abs(got[key][1] - ns) > 1 + 1e-6 * ns:
            wrong.append("%s of kid %s: %.0f ns, not %d" % (path, key[0], got[key][1], ns))
    known = {path for _, path in wanted()}
    for (kid, path), (count, _) in got.items():
        if count and path not in known and path.split("/")[1] not in ("swap_in_first", "swap_in_rest"):
            wrong.append("%d %s of kid %s that no table knows" % (count, path, kid))
    return wrong


def draw(work):
    viewer = sorted(glob.glob("/usr/share/go-*/src/**/trace_viewer_full.html", recursive=True))
    if not viewer or not shutil.which("chromium"):
        print("1..0 # SKIP chromium, or its trace viewer in golang-src, is not installed")
        sys.exit()
    for name in ("trace_viewer_full.html", "webcomponents.min.js"):
        os.symlink(os.path.join(os.path.dirname(viewer[-1]), name), os.path.join(work, name))
    with open(os.path.join(work, "index.html"), "w") as out:
        out.write(PAGE)
    text = dump("--format=chrome", *PART)
    events = json.loads(text)["traceEvents"]
    with open(os.path.join(work, "trace.json"), "wb") as out:
        out.write(text)
    with Browser(work) as browser:
        page = browser.open("index.html")
        page.wait_for("typeof tr == 'object' && typeof tr.Model == 'function' && typeof Polymer == 'function'")
        check(page.evaluate(LOAD), "the viewer imports it and warns of nothing")
        understood = page.evaluate(UNDERSTOOD)
        check(compare(understood), "its spans, stages and blocks are as many and as long as the tables say")
        got = page.evaluate(ARROWS), page.evaluate(VALUES)
        want = sum(e["ph"] == "s" for e in events), sum(len(e["args"]) for e in events if e["ph"] == "C")
        check([] if got == want else [got, want], "its %d arrows have both ends, and its counters %d values" % want)
        page.wait_for("document.querySelectorAll('canvas').length > 0")
        try:
            page.wait_for(COLOURED + " > 1000", 20)
            check([], "it draws them")
        except Failure as failure:
            check([failure], "it draws them")
        check(page.errors(), "no error in the page")
        if os.environ.get("SQT_SCREENSHOT"):
            page.screenshot(os.environ["SQT_SCREENSHOT"])


def main():
    with tempfile.TemporaryDirectory() as work:
        try:
            draw(work)
        except Failure as failure:
            check([failure], "the browser works")
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
