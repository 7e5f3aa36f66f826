#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts of a report in Chromium: their curves, the band that zooms them, legends, the tree of all time.

What a chart has is compared with the figure's series, and the tree with table `requests`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import report_browser  # noqa: E402
from browser import Browser, Failure  # noqa: E402
from report_browser import becomes, check, differs, report  # noqa: E402
from report_requests import SAMPLE, SOURCE, TOOLS, Requests, ns_of, quiet, table  # noqa: E402

LEAST = {"p50": 10, "p90": 50, "p99": 100, "p99.9": 1000}
CURVES = "window.sqtraceSeries.map(s => [s, sqtrace.curves(s).kept.map(c => [c.name, c.points])])"
# Each chart that is drawn: its figure, the time below its left end, how many curves it has.
DRAWN = """[...document.querySelectorAll('.chart svg')].filter(s => s.childElementCount).map(s =>
    [s.closest('figure').id, [...s.querySelectorAll('text')].find(t => t.getAttribute('text-anchor') == 'start').textContent,
     s.querySelectorAll('.curve, .area').length])"""


def chart_points(series, trace=SAMPLE, zeros=False):
    """What a chart must have: cells of the figure's columns, but no percentile of too few values, and no zeros alone."""
    rows = [line.split("\t") for line in subprocess.run(
        [os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--no-comments", "--figure=" + series["figure"], trace],
        check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
    names, rows = rows[0], rows[1:]
    if series["form"] == "first":
        keys = [row[names.index(series["key"])] for row in rows]
        rows = [row for row, key in zip(rows, keys) if key == max(dict.fromkeys(keys), key=keys.count)]
    curves = {}
    for ending in (series["solid"] + " " + series["dashed"]).split():
        for i, name in enumerate(names):
            if not i or name != ending and not (ending[0] == "_" and name.endswith(ending) and name != "stages_ms"):
                continue
            stem = name[:-len(ending)]
            count = names.index(stem + "_count") if stem + "_count" in names else None
            for row in rows:
                key = row[names.index(series["key"])] if series["key"] and series["form"] != "first" else ""
                few = count is not None and int(row[count]) < LEAST.get(ending[1:4] if ending.endswith("_ms") else "", 0)
                if row[i] != "-" and not few:
                    curves.setdefault((name, key), []).append([float(row[0]) * 1e9, float(row[i])])
    return sorted(points for points in curves.values() if zeros or any(value > 0 for _, value in points))


def charts(page):
    wrong = []
    curves = page.evaluate(CURVES)
    for series, got in curves:
        wanted = chart_points(series)
        got = sorted(points for _, points in got)
        if [[v for _, v in p] for p in got] != [[v for _, v in p] for p in wanted] or any(
                abs(a[0] - b[0]) > 1000 for one, other in zip(got, wanted) for a, b in zip(one, other)):
            wrong.append("%s has other points than the figure: %s, not %s" % (series["figure"], got[:1], wanted[:1]))
    check(wrong or ([] if len(curves) > 20 else ["only %d" % len(curves)]), "the curves of charts are those of the figures")
    drawn = page.evaluate("[...document.querySelectorAll('figure')].filter(f => f.querySelector('.chart')).map(f => f.id)")
    check(differs(sorted(drawn), sorted(series["figure"] for series, _ in curves)), "each series has its chart")
    over_time = page.evaluate("""[...document.querySelectorAll('figure')].filter(f => f.querySelector('img')
        && /by time group|, by time|of a second/.test(f.querySelector('.rule')?.textContent)).map(f => f.id)""")
    check(["%s is over time and has none" % name for name in over_time if name not in drawn], "figures over time are charts")


def band(page, rows):
    """A drag over the band zooms every chart and the heat map; keys do, too."""
    page.anew()
    page.size(1280, 900)
    for name in ("load", "miss-stages", "machine"):  # charts are drawn when they come near
        page.evaluate("document.getElementById('%s').scrollIntoView()" % name)
        becomes(page, "document.getElementById('%s').querySelector('.chart svg').childElementCount > 0" % name, True)
    left, top, width = page.evaluate("""(() => { const r = document.querySelector('#band canvas').getBoundingClientRect();
        return [r.left, r.top + r.height / 2, r.width]; })()""")
    check([] if 0 <= top < 200 else ["at %d" % top], "the band stays in view")
    heat = page.evaluate("document.querySelector('#heat canvas').toDataURL().length")
    for kind, at in (("mousePressed", .25), ("mouseMoved", .4), ("mouseMoved", .5), ("mouseReleased", .5)):
        page.call("Input.dispatchMouseEvent", type=kind, x=left + at * width, y=top, button="left", clickCount=1)
    length = page.evaluate("sqtrace.traces[0].length_ns")
    view = page.evaluate("[sqtrace.view.from, sqtrace.view.to]")
    check([] if abs(view[0] / length - .25) < .01 and abs(view[1] / length - .5) < .01 else [str(view)],
          "a drag over the band chooses a stretch")
    clock = page.evaluate("sqtrace.clock(sqtrace.traces[0], sqtrace.view.from, 0)")
    becomes(page, DRAWN + ".find(d => d[0] == 'machine')[1]", clock)  # it is in view
    near = page.evaluate(DRAWN)
    page.evaluate("document.getElementById('load').scrollIntoView()")
    becomes(page, DRAWN + ".find(d => d[0] == 'load')[1]", clock)
    shown = dict((one[0], one[1]) for one in page.evaluate(DRAWN))
    check(differs([shown.get("load"), dict((one[0], one[1]) for one in near).get("machine")], [clock, clock]) or ([] if len(near) > 5 else ["only %d charts" % len(near)]), "charts zoom with it")
    check([] if page.evaluate("document.querySelector('#heat canvas').toDataURL().length") != heat else ["as before"],
          "the heat map zooms with it")
    page.evaluate("[...document.querySelectorAll('#band button')].find(b => b.textContent.startsWith('List')).click()")
    wanted = sum(row["time_s"] != "-" and view[0] <= ns_of(row["time_s"]) < view[1] for row in rows)
    check(differs(page.listed(), wanted) or ([] if wanted else ["none"]), "a button lists the requests of the stretch")
    page.evaluate("document.querySelector('#band canvas').focus()")
    page.press("ArrowRight")
    moved = page.evaluate("sqtrace.view.from")
    page.press("Escape")
    check([] if moved > view[0] and page.evaluate("sqtrace.view.from == 0 && sqtrace.view.to") == length else [str(moved)],
          "an arrow key moves the stretch, Escape shows the whole trace")


def legends(page):
    page.anew()
    page.evaluate("document.getElementById('load').scrollIntoView()")
    becomes(page, "document.querySelectorAll('#load .curve').length", 3)
    page.click("#load .curves button")
    off = page.evaluate("[document.querySelectorAll('#load .curve').length, document.querySelector('#load .curves button').getAttribute('aria-pressed')]")
    page.click("#load .curves button")
    check(differs([off, page.evaluate("document.querySelectorAll('#load .curve').length")], [[2, "false"], 3]),
          "a legend switches its curve off and on")
    page.evaluate("document.querySelector('#load .chart svg').focus()")
    page.press("ArrowRight")
    told = page.evaluate("document.querySelector('#load .told').textContent")
    check([] if "hits" in told and "all" in told else [told], "an arrow key tells the values of a time")
    page.press("Enter")
    check([] if 0 < page.listed() < page.evaluate("sqtrace.traces[0].count") else [str(page.listed())],
          "Enter lists the requests of that time")
    page.media(kind="print")
    check(differs(page.evaluate("""['#band', '#load .chart', '#load picture'].map(s => getComputedStyle(document.querySelector(s)).display)"""),
                  ["none", "none", "block"]), "on paper there is gnuplot's picture")
    page.media()


def icicle(page, rows):
    """The tree of all time: shares of classes and stages counted once more, children within parents, links."""
    page.anew()
    page.size(1280, 900)
    boxes = page.evaluate("""[...document.querySelectorAll('.icicle a')].map(a => {
        const up = a.parentElement.parentElement.closest('.node'), r = a.parentElement.getBoundingClientRect();
        const u = (up || document.querySelector('.icicle')).getBoundingClientRect();
        return {filter: a.dataset.filter, share: parseFloat(a.title.match(/: ([\\d.]+)/)[1]), width: r.width,
                all: document.querySelector('.icicle').getBoundingClientRect().width, within: r.left >= u.left - 1 && r.right <= u.right + 1}; })""")
    timed = [row for row in rows if row["outcome"] not in ("lost", "clock", "unfinished") and row["total_ns"] != "-"]
    whole, wrong = sum(int(row["total_ns"]) for row in timed), []
    for box in boxes:
        filters = dict(pair.split("=") for pair in box["filter"].split("&"))
        columns = [stage + "_ns" for stage in filters.get("stage", "total").split(",")]
        ns = sum(int(row[column]) for row in timed for column in columns
                 if row["class"] == filters["class"] and row[column] != "-")
        if abs(100 * ns / whole - box["share"]) > 0.6:
            wrong.append("%s has %s %%, not %.2f" % (box["filter"], box["share"], 100 * ns / whole))
        if abs(box["width"] / box["all"] - ns / whole) > 0.01 or not box["within"]:
            wrong.append("%s is %.3f of the width, not %.3f" % (box["filter"], box["width"] / box["all"], ns / whole))
    check(wrong or ([] if len(boxes) > 20 else ["only %d boxes" % len(boxes)]), "the tree has each share as wide as it is")
    page.click(".icicle .node .node .node a")
    filters = dict(pair.split("=") for pair in page.evaluate("document.querySelector('.icicle .node .node .node a').dataset.filter").split("&"))
    wanted = sum(row["class"] == filters["class"] and row[filters["stage"] + "_ns"] not in ("-", "0") for row in rows)
    check(differs(page.listed(), wanted), "a box of the tree opens its requests")


def compared(page, traces):
    """Two traces: the curves of both in one chart, legends of traces and of curves, times from each start on."""
    curves, wrong, several = page.evaluate("window.sqtraceSeries.map(s => [s, sqtrace.curves(s).kept.map(c => [c.trace, c.name, c.points])])"), [], 0
    for series, got in curves:
        names = {name for _, name, points in got if any(value > 0 for _, value in points)}
        several += len({trace for trace, _, _ in got}) > 1
        for label, path in traces.items():
            drawn = [points for trace, _, points in got if trace == label]
            wanted = chart_points(series, path, zeros=True)
            told = [points for points in wanted if any(value > 0 for _, value in points)]
            # One that is zero in this trace is drawn if it is not in the other.
            if any(points not in drawn for points in told) or any(points not in wanted for points in drawn):
                wrong.append("%s of %s has other points than the figure" % (series["figure"], label))
        if any(name not in names for _, name, _ in got):
            wrong.append("%s has a curve of zeros alone" % series["figure"])
    check(wrong or ([] if several > 15 else ["only %d charts of both" % several]), "compared: the curves of both traces are those of their figures")
    page.size(1280, 900)
    page.evaluate("document.getElementById('load').scrollIntoView()")
    shown = """[['#load .curve:not(.p1)', '#load .curve.p1'].map(s => document.querySelectorAll('.chart .box').length && document.querySelectorAll(s.replace('#load', '#load .box')).length),
        [...document.querySelectorAll('#load .curves button')].map(b => [b.textContent, b.getAttribute('aria-pressed')])]"""
    names = ["before", "after", "hits", "misses", "all"]
    check(differs(becomes(page, shown, [[3, 3], [[name, "true"] for name in names]]), [[3, 3], [[name, "true"] for name in names]]),
          "compared: both traces are in one chart, with a legend of traces and curves")
    page.evaluate("document.querySelectorAll('#load .curves button')[1].click()")
    one = page.evaluate(shown)[0]
    page.evaluate("document.querySelectorAll('#load .curves button')[1].click(), document.querySelectorAll('#load .curves button')[3].click()")
    check(differs([one, page.evaluate(shown)[0]], [[3, 0], [2, 2]]), "compared: a legend switches a trace, or a curve of both")
    page.evaluate("document.getElementById('miss-stages').scrollIntoView()")
    pressed = """[...document.querySelectorAll('#miss-stages .curves button[aria-pressed="true"]')].map(b => b.textContent)"""
    becomes(page, pressed + ".length", 5)
    pressed = page.evaluate(pressed)
    check([] if pressed[:2] == ["before", "after"] and len(pressed) == 5 and "server reply" in pressed else [str(pressed)],
          "compared: of many curves the largest are drawn at first")
    page.evaluate("document.querySelector('#load .chart .box svg').focus()")
    for _ in range(6):
        page.press("ArrowRight")
    told = page.evaluate("document.querySelector('#load .told').textContent")
    check([] if "before" in told and "after" in told and told.startswith("0:") else [told],
          "compared: an arrow key tells the values of both at a time after the start")
    page.press("Enter")
    listed = page.evaluate("document.querySelector('[name=trace]').selectedOptions[0].textContent")
    check([] if listed == "after" and "of the" in page.evaluate("document.querySelector('#list .note').textContent") else [listed],
          "compared: Enter lists the requests of a trace at that time")
    label = page.evaluate("(sqtrace.zoom(sqtrace.traces[1].length_ns * .5, sqtrace.traces[1].length_ns * .75), document.querySelector('#band [aria-live]').textContent)")
    page.evaluate("[...document.querySelectorAll('#band button')].find(b => b.textContent.startsWith('List')).click()")
    rows = [row for row in table("requests", traces["after"]) if row["time_s"] != "-"]
    view = page.evaluate("[sqtrace.view.from, sqtrace.view.to]")
    wanted = sum(view[0] <= ns_of(row["time_s"]) < view[1] for row in rows)
    check(differs([page.listed(), re.sub(r"\d+", "N", label)[:12]], [wanted, "N:N to N:N, "]) or ([] if wanted else ["none"]),
          "compared: the band chooses a stretch of both, counted from their starts")


def percentiles(page, folder):
    """No percentile of too few values, in tables and in pictures."""
    lines = page.evaluate("[...document.querySelectorAll('#summary tr')].map(line => [...line.children].map(cell => cell.textContent))")
    wrong, left_out = [], 0
    for line in lines[1:]:
        row = dict(zip(lines[0], line))
        for name, least in (("p50_ms", 10), ("p90_ms", 50), ("p99_ms", 100), ("p999_ms", 1000)):
            few = int(row["count"].replace(",", "")) < least
            left_out += few
            if few != (row[name] == "-"):
                wrong.append("%s of %s" % (name, row))
    check(wrong or ([] if left_out else ["all have enough"]), "the table of stages has no percentile of too few values")
    counts = {row.split("\t")[0]: int(row.split("\t")[2]) for row in open(os.path.join(folder, "figures", "tail-stages.tsv"))
              if not row.startswith(("#", "class"))}
    picture = open(os.path.join(folder, "figures", "tail-stages.svg")).read()
    wanted = ["%s %s" % (name, p) for name, n in counts.items() for p, least in LEAST.items() if n >= least]
    got = re.findall(r">\s*(\w+ p[\d.]+): [\d.]+ ms<", picture)
    check(differs(sorted(got), sorted(wanted)) or ([] if len(wanted) < 4 * len(counts) else ["all have enough"]),
          "a picture has no percentile of too few values")
    scripts = open(os.path.join(SOURCE, "tools", "plots", "common.gp")).read()
    table_of = open(os.path.join(SOURCE, "tools", "report", "least.def")).read()
    said = {name: int(n) for name, n in re.findall(r'percentile eq "([p\d.]+)" \? (\d+)', scripts)}
    declared = {name.replace("p999", "p99.9"): int(n) for name, n in re.findall(r'^REPORT_LEAST\(\w+, "(\w+)", "[^"]*", (\d+)\)', table_of, re.M)}
    check(differs(said, declared) or differs(declared, LEAST), "pictures and the page agree on how many values are enough")


def overlays(folder):
    """Pictures of several traces: the axis says what the columns are, and each trace is in the key, within the picture."""
    figures, wrong, outside, seen = os.path.join(folder, "figures"), [], [], 0
    for name in sorted(os.listdir(figures)):
        if not name.endswith(".overlay.gp"):
            continue
        script = open(os.path.join(figures, name)).read()
        axis, columns = (re.search(r'^%s = "(.*)"$' % key, script, re.M).group(1) for key in ("YLABEL", "COLUMNS"))
        labels = re.search(r'^LABELS = "(.*)"$', script, re.M).group(1).split()  # without those that have no rows
        for ending, unit in (("_ms", "(ms"), ("_pct", "(%)"), ("_per_s", "(1/s")):
            wrong += ["%s: %s: %s" % (name, axis, column) for column in columns.split() if column.endswith(ending) and unit not in axis]
        seen += len(labels) > 1
        for kind in (".svg", ".narrow.svg"):
            picture = open(os.path.join(figures, name.replace(".gp", kind))).read()
            width = float(re.search(r'viewBox="0 0 (\d+)', picture).group(1))
            for label in labels:
                places = [float(x) for x in re.findall(r'translate\(([-\d.]+),[^>]*>\s*<text>%s</text>' % label, picture)]
                if len(places) != 1 or not 30 < places[0] < width - 6 * len(label):
                    outside.append("%s: %s: %s" % (name + kind, label, places))
    check(wrong, "compared: axes of pictures have the units of their columns")
    check(outside or ([] if seen else ["no picture has two"]), "compared: the key of each picture has each trace once, within the picture")


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP chromium is not installed")
        return
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "one")
        try:
            report(folder, SAMPLE)
            rows = table("requests", SAMPLE)
            with Browser(folder) as browser:
                page = Requests(browser, folder)
                charts(page)
                band(page, rows)
                legends(page)
                percentiles(page, folder)
                icicle(page, rows)
                quiet(page, "charts")
            traces = {"before": os.path.join(SAMPLE, "kid-1.sqt"), "after": os.path.join(SAMPLE, "kid-2.sqt")}
            two = os.path.join(work, "two")
            report(two, *("%s=%s" % pair for pair in traces.items()))
            overlays(two)
            with Browser(two) as browser:
                page = Requests(browser, two)
                compared(page, traces)
                quiet(page, "compared")
        except (Failure, subprocess.CalledProcessError) as failure:
            check([failure], "the browser works")
    print("1..%d" % report_browser.NUMBER)


if __name__ == "__main__":
    sys.exit(main())
