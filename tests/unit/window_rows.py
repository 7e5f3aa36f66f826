# SPDX-License-Identifier: GPL-2.0-or-later
"""What --since and --until print of a trace, against rows of the whole that Python picks by their begin.

For tests/unit/windows.py, which makes traces, and tests/e2e/56-windows.py, which has one of a real Squid."""

import bisect
import json
import random
import re
import subprocess

THINGS = ("requests", "events", "swaps", "ios", "diskops", "connections", "loops", "samples", "digests", "losses", "clock_steps",
          "incidents", "waits", "closes")
SUMS = ("--table=summary", "--table=servers", "--table=services", "--table=findings", "--table=listeners", "--table=loop_time",
        "--table=profile", "--table=rollups", "--table=finding_minutes", "--table=stalls", "--table=checks", "--table=syscalls",
        "--figure=load", "--figure=miss-stages", "--format=chrome", "--format=otlp")
OPEN_END = 10**18  # until, of a window that ends with the trace


def run(dump, *options):
    """The status, the comments as a dictionary, and all other lines.  xid of events may be known from records before a window."""
    if "--table=events" in options and not any(option.startswith("--columns") for option in options):
        options = ("--columns=time_s,kid,event,id,arg,aux", *options)
    out = subprocess.run([dump, "--quiet", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = out.stdout.decode().split("\n")[:-1]
    comments = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    account = next((i for i, line in enumerate(lines) if line.startswith('"account"')), len(lines))  # of --format=chrome
    return out.returncode, comments, [line for line in lines[:account] if not line.startswith("# ")]


def nanoseconds(text):
    """A time; none is in no window."""
    if text == "-":
        return -10**18
    whole, part = text.lstrip("-").split(".")
    return (int(whole) * 10**9 + int(part)) * (-1 if text[0] == "-" else 1)


def length_of(dump, trace):
    """ns from the first record of a trace to its last."""
    return nanoseconds(run(dump, "--limit=1", trace)[1]["range"].split(" to ")[1].split()[0])


class Rows:
    """The rows of a whole table, below their header, and which of them begin in a window."""

    def __init__(self, lines):
        self.lines = lines
        self.order = sorted((nanoseconds(line.split("\t", 1)[0]), at) for at, line in enumerate(lines) if at)
        self.unknown = {lines[at] for begin, at in self.order if begin == -10**18}  # their begins were lost: they go by their ends

    def within(self, since, until):
        first, end = (bisect.bisect_left(self.order, (moment, -1)) for moment in (since or -10**17, until))
        return self.lines[:1] + [self.lines[at] for at in sorted(at for _, at in self.order[first:end])]


def window(length):
    """A random window, in ns: short or long, or open at one end."""
    since = random.randrange(length)
    until = since + random.choice((10**6, 10**8, 10**9, length // 4))
    kind = random.random()
    return (since if kind < 0.85 else 0), (until if kind < 0.7 or kind >= 0.85 else OPEN_END)


def options_of(since, until):
    return (["--since=%d.%09d" % divmod(since, 10**9)] if since else []) + \
           (["--until=%d.%09d" % divmod(until, 10**9)] if until != OPEN_END else [])


def first_difference(a, b):
    for one, two in zip(a, b):
        if one != two:
            return "%s\n%s" % (one, two)
    return "%d and %d lines" % (len(a), len(b))


def of_the_window(lines):
    """Without what a finding says of a reconfiguration or rotation: that goes by those that were read, before the window, too."""
    return [re.sub(r" It begins when Squid [^.]*\.", "", line) for line in lines]


def compare_thing(dump, table, rows, where, *options):
    """What is wrong with the rows of a window, how many it should have, and whether blocks were left out."""
    since, until = where
    status, comments, lines = run(dump, "--table=" + table, *options_of(since, until), *options)
    good = rows.within(since, until)
    strange = [line for line in lines if line.startswith("-\t") and line not in rows.unknown]
    lines = [line for line in lines if not line.startswith("-\t")] + strange
    wrong = ""
    if (status, lines) != (0, good):
        wrong = "%s %s: %s" % (table, " ".join(options_of(since, until)), first_difference(good, lines))
    return wrong, len(good) - 1, "window" in comments


def spans_of(lines):
    """Spans of --format=otlp with their processes, sorted.  Those of a process that was killed come when reading ends, so a window
    may have them in another order, and in other lines."""
    found = []
    for line in lines:
        for process in json.loads(line)["resourceSpans"]:
            found += [json.dumps((process["resource"], span)) for scope in process["scopeSpans"] for span in scope["spans"]]
    return sorted(found)


def compare_sum(dump, what, where, trace, *lookback):
    """What is wrong with a table or figure that sums a window up, against reading everything."""
    options = [what] + options_of(*where) + [trace]
    good, mine = run(dump, "--lookback=all", *options), run(dump, *lookback, *options)
    rows, others = of_the_window(good[2]), of_the_window(mine[2])
    if what == "--format=otlp" and rows != others:
        rows, others = spans_of(rows), spans_of(others)
    if (good[0], rows) != (mine[0], others):
        return "%s: %s" % (" ".join(options), first_difference(rows, others))
    return ""
