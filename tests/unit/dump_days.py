#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_days.py - ten seconds of a trace in six notations are the same requests: in the sample, across the begin and the end
of summer time, and across steps of clocks; for sqtrace-dump, sqtrace-report and sqtrace-snapshot.

Which requests those are is computed from column time_s and from Python's own zones.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
RULE = "CET-1CEST,M3.5.0,M10.5.0/3"
ZONES = {True: datetime.timezone(datetime.timedelta(hours=2)), False: datetime.timezone(datetime.timedelta(hours=1))}
CHANGES = (datetime.datetime(2026, 3, 29, 1, tzinfo=datetime.timezone.utc),
           datetime.datetime(2026, 10, 25, 1, tzinfo=datetime.timezone.utc))
done = 0


def check(wrong, text):
    global done
    done += 1
    print("%s %d - %s" % ("not ok" if wrong else "ok", done, text))
    for line in list(wrong)[:6]:
        print("# %s" % line)


def run(program, *options):
    return subprocess.run([os.path.join(TOOLS, program), "--quiet", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, TZ=RULE), check=False, text=True, stdin=subprocess.DEVNULL)


def rows(*options):
    out = run("sqtrace-dump", "--columns=kid,xid,time_s", *options)
    lines = [line.split("\t") for line in out.stdout.splitlines() if not line.startswith("# ")]
    return [tuple(line) for line in lines[1:]], out


def start_of(trace):
    text = run("sqtrace-dump", "--table=requests", trace).stdout
    return float(re.search(r"^# start: .*\((\d+\.\d+)\)", text, re.M).group(1))


def local(epoch):
    at = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    return at.astimezone(ZONES[CHANGES[0] <= at < CHANGES[1]])


def notations(start, last, at):
    """A time of the trace, in s after its start, as people write it."""
    here = local(start + at)
    there = here.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
    return {
        "after the start": "%.9f" % at,
        "before the end": "-%.9fs" % (last - at),
        "time of day": here.strftime("%H:%M:%S.%f"),
        "date and time": here.strftime("%Y-%m-%d %H:%M:%S.%f"),
        "ISO 8601 with its zone": here.isoformat(timespec="microseconds"),
        "ISO 8601 of another zone": there.isoformat(timespec="microseconds"),
        "seconds since 1970": "%.6f" % (start + at),
    }


def windows(trace, begin, length=10):
    """--since and --until of a stretch, by notation; and which requests it has."""
    last = max(float(line.split("\t")[0]) for line in run("sqtrace-dump", "--table=events", "--columns=time_s", "--no-comments",
                                                          "--no-header", trace).stdout.splitlines())
    start = start_of(trace)
    wanted = [row for row in rows(trace)[0] if row[2] != "-" and begin <= float(row[2]) < begin + length]
    froms, untils = notations(start, last, begin), notations(start, last, begin + length)
    return {name: ("--since=" + froms[name], "--until=" + untils[name]) for name in froms}, wanted


def same(trace, begin, text, least=15, refused=()):
    """In each notation sqtrace-dump has the requests of these ten seconds; returns the windows."""
    found, wanted = windows(trace, begin)
    wrong = [] if len(wanted) >= least else ["only %d requests" % len(wanted)]
    for name, window in found.items():
        got, out = rows(*window, trace)
        if name in refused:
            if out.returncode != 2 or "more than once" not in out.stderr:
                wrong.append("%s %s: %s" % (name, window, out.stderr))
        elif got != wanted or out.returncode:
            wrong.append("%s %s: %s instead of %s; %s" % (name, window, got[:3], wanted[:3], out.stderr))
    check(wrong, text)
    return found, wanted


def reported(found, wanted, trace, work, text):
    """The same of sqtrace-report: the requests of its page."""
    wrong = []
    for i, (name, window) in enumerate(found.items()):
        folder = os.path.join(work, "report-%d-%d" % (done, i))
        out = run("sqtrace-report", "--data=" + os.path.join(SOURCE, "tools"), "--figures=load", "--output=" + folder, *window, trace)
        with open(os.path.join(folder, "requests.js"), encoding="utf-8") as script:
            page = script.read()
        data = json.loads(page[page.index("push(") + 5:page.rindex(");")])
        at = [data["columns"].index(column) + 1 for column in ("kid", "xid", "time_s")]
        got = sorted(tuple(line.split("|")[i] for i in at) for line in data["rows"].splitlines())
        if got != sorted((kid, xid, str(round(float(time) * 1e9))) for kid, xid, time in wanted) or out.returncode:
            wrong.append("%s: %s" % (name, got[:3]))
    check(wrong, text)


def snapped(found, wanted, trace, work, text):
    """sqtrace-snapshot takes whole files: those of each notation are the same, and have these requests."""
    wrong, files = [], set()
    for i, (name, window) in enumerate(found.items()):
        folder = os.path.join(work, "snapshot-%d-%d" % (done, i))
        out = run("sqtrace-snapshot", trace, "--to=" + folder, *window)
        taken = [os.path.join(base, file) for base, _, names in os.walk(folder) for file in names]
        files.add(tuple(sorted((os.path.basename(path), open(path, "rb").read()) for path in taken if path.endswith(".sqt"))))
        got = {row[:2] for row in rows(*{os.path.dirname(path) for path in taken if path.endswith(".sqt")})[0]}
        if out.returncode or not {row[:2] for row in wanted} <= got:
            wrong.append("%s: status %d, %s" % (name, out.returncode, out.stderr))
    check(wrong or ([] if len(files) == 1 else ["%d different snapshots" % len(files)]), text)


def main():
    sample = os.path.join(SOURCE, "doc", "sample")
    with tempfile.TemporaryDirectory() as work:
        days = os.path.join(work, "days")
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "make_days"), days], check=True)
        for trace, begin, text in (
                (sample, 60, "the sample"), (days + "/autumn", 25, "across the end of summer time"),
                (days + "/spring", 25, "across the begin of summer time"), (days + "/set", 10, "across a clock that is set forward"),
                (days + "/set", 22, "across a clock that is set back"), (days + "/set", 35, "across the start of a process after that"),
                (days + "/jumped", 10, "across a jump of the trace's clock"), (days + "/jumped", 20, "across its falling back")):
            found, wanted = same(trace, begin, "ten seconds in seven notations: " + text)
            if begin in (25, 60) or trace.endswith("set"):
                snapped(found, wanted, trace, work, "snapshots of them: " + text)
            if trace.endswith(("autumn", "set")) and begin in (25, 10):
                reported(found, wanted, trace, work, "reports of them: " + text)
        same(days + "/hours", 3595, "the repeated hour: what may be either is refused, the zone tells", 1,
             ("time of day", "date and time"))
        same(days + "/days", 99355, "a time of day that several days have is refused, a date tells", 1, ("time of day",))
        steps = run("sqtrace-dump", "--table=clock_steps", "--no-comments", "--no-header", days + "/jumped").stdout.splitlines()
        got = [(round(float(line.split("\t")[0]), 2), round(float(line.split("\t")[1]), 2), line.split("\t")[3]) for line in steps]
        wanted = [(15.0, 15.25, "forward"), (25.0, 25.25, "back")]
        check([] if got == wanted else [str(got)], "the last moment before a jump is not moved by the jump")
        comments = [run("sqtrace-dump", "--table=" + table, days + "/jumped").stdout for table in ("events", "requests")]
        said = [[line for line in text.splitlines() if line.startswith("# clock:")] for text in comments]
        check([] if said[0] == said[1] and "between 15.00" in said[0][0] else [str(said)], "events tell it as other tables do")
    print("1..%d" % done)


if __name__ == "__main__":
    sys.exit(main())
