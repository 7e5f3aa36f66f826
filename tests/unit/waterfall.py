# SPDX-License-Identifier: GPL-2.0-or-later
"""The figure waterfall once more, for figures_oracle.py: its spans come from the trace-event JSON, which is made by
other code, and its blocks from the table ios."""

import json
import os
import subprocess

MOST = 1000


def stages_of(path, kid, xid):
    """(name, from, until) in ns of each stage of a request, in order."""
    text = subprocess.run([os.path.join(os.environ["SQT_TOOLS"], "sqtrace-dump"), "--quiet", "--format=chrome",
                           "--where=xid == %s and kid == %s" % (xid, kid), path], check=True, stdout=subprocess.PIPE,
                          timeout=120).stdout
    events = json.loads(text, parse_float=lambda number: int(number.replace(".", "")))["traceEvents"]
    return [(event["name"], event["ts"], event["ts"] + event["dur"]) for event in events if event.get("cat") == "stage"]


def merged(spans, slice_ns, begin):
    """Spans of one lane, each a list of kind, index, from, until and what is added up; the short ones of a slice are
    one, of the first one's index."""
    rows, last = [], None
    for span in spans:
        place = (span[2] - begin) // slice_ns if span[3] - span[2] < slice_ns else None
        if place is not None and place == last:
            row = rows[-1]
            rows[-1] = (row[:2] + [min(row[2], span[2]), max(row[3], span[3])] +
                        [a + b for a, b in zip(row[4:], span[4:])])
        else:
            rows.append(list(span))
        last = place
    return rows


def joined(rows):
    """Where a stage follows itself, as failed_tries of two tries do, the figure may have a row for each, and the other
    format has one: no difference in the picture."""
    out = []
    for row in rows:
        if out and row[0] == "stage" and out[-1][3] == row[2]:
            out[-1] = out[-1][:3] + [row[3], out[-1][4], out[-1][5] + row[5]]
        else:
            out.append(row)
    return out


def expected(stages, blocks, begin):
    """(slice in ns, {lane: rows}); a row is the columns that differences() names."""
    lanes = {}
    for name, start, end in stages:
        lanes.setdefault(name, []).append(["stage", None, start, end, 1, end - start])
    lanes["block"] = [["block", b["index"], b["time_s"], b["time_s"] + b["total_ns"], 1, b["total_ns"], b["queue_ns"],
                       b["service_ns"], b["notice_ns"], b["size_bytes"]] for b in blocks]
    slice_ns = 1
    while True:
        rows = {name: merged(spans, slice_ns, begin) for name, spans in lanes.items()}
        if sum(map(len, rows.values())) <= MOST:
            return slice_ns, rows
        slice_ns *= 2


def differences(path, slowest, comments, rows, blocks):
    """What is wrong with the figure, as lines.  slowest: the request's row; all numbers are in ns."""
    begin = slowest["time_s"]
    slice_ns, want = expected(stages_of(path, slowest["kid"], slowest["xid"]), blocks, begin)
    wrong = []
    said = comments["merged"][0] if comments["merged"] else ""
    if bool(said) != (slice_ns > 1) or said and " %d.%06d ms " % divmod(slice_ns, 1000000) not in said:
        wrong.append("slices of %d ns, but it says '%s'" % (slice_ns, said))
    if comments["request"][0].split()[1] != slowest["xid"]:
        wrong.append("it shows " + comments["request"][0])
    columns = ["kind", "index", "from_ms", "until_ms", "spans", "busy_ms", "queue_ms", "service_ms", "notice_ms",
               "size_bytes"]
    for name in {r["name"] for r in rows} | {n for n in want if want[n]}:
        got = [[r[c] + begin if c in ("from_ms", "until_ms") else r[c]
                for c in (columns if name == "block" else columns[:6])]
               for r in rows if r["name"] == name]
        if name == "failed_tries":
            got = joined(got)
        if got != want.get(name):
            wrong.append("%s: %d rows %s instead of %d %s" % (name, len(got), got[:2], len(want.get(name, [])),
                                                              want.get(name, [])[:2]))
    return wrong
