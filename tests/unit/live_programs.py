#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""live_programs.py - what hangs in a living process, as sqtrace-dump, sqtrace-top and sqtrace-exporter say it.

A process traces requests (make_flights.c).  Twenty of them begin to hang when they are told to, and end when they are told to.
"""
import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True
from told import all_said, check, plan, until  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
CULPRIT = "upstream"


def tool(name):
    return os.path.join(TOOLS, name)


class Flights:
    """The process whose trace is read."""

    def __init__(self, folder):
        self.process = subprocess.Popen([tool("tests/unit/make_flights"), folder], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        atexit.register(self.process.kill)
        assert self.process.stdout.readline() == b"ready\n"

    def tell(self, word):
        self.process.stdin.write(word + b"\n")
        self.process.stdin.flush()


class Following:
    """sqtrace-dump --follow --table=findings."""

    def __init__(self, folder):
        self.printed, self.said = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen([tool("sqtrace-dump"), "--follow", "--table=findings", "--format=tsv",
                                         "--no-comments", folder], stdout=self.printed, stderr=self.said,
                                        stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)

    def rows(self, **values):
        """Those in which these columns have these values."""
        lines = [line.split("\t") for line in all_said(self.printed).splitlines()]
        rows = [dict(zip(lines[0], line)) for line in lines[1:] if len(line) == len(lines[0])]
        return [row for row in rows if all(row[name] == value for name, value in values.items())]


class Exporter:
    def __init__(self, folder):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen([tool("sqtrace-exporter"), "--listen=127.0.0.1:0", folder], stderr=self.said,
                                        stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        self.port = int(until(lambda: re.search(r"serves http://[^ ]*:(\d+)/metrics", all_said(self.said)), 30,
                              "it serves").group(1))

    def text(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port, timeout=30) as answer:
            return answer.read().decode()

    def value(self, name, cause):
        found = re.search(r'^%s\{cause="%s",culprit="%s",harm="waiting"\} (\S+)$' % (name, cause, CULPRIT), self.text(),
                          re.M)
        return float(found.group(1)) if found else None


def top(folder, *options):
    done = subprocess.run([tool("sqtrace-top"), "--once", *options, folder], stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, check=True)
    return done.stdout.decode()


def top_rows(folder):
    lines = [line.split("\t") for line in top(folder, "--table=findings", "--format=tsv").splitlines()
             if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def dump_rows(folder):
    done = subprocess.run([tool("sqtrace-dump"), "--table=findings", "--format=tsv", "--no-comments", "--quiet", folder],
                          stdout=subprocess.PIPE, check=True)
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def is_hanging(row):
    return row["cause"] == "hanging" and row["culprit"] == CULPRIT and row["requests"] == "21"


def hangs(folder, following, exporter, begun):
    """21: request 101 waits for the same server."""
    row = until(lambda: following.rows(cause="hanging", state="begins"), 30, "it begins")[0]
    check(is_hanging(row) and row["lasts"] == "1" and row["rank"] == "1", "--follow: it begins, and is the first", row)
    def asked():
        age = time.monotonic() - begun
        return [(age, row) for row in top_rows(folder)[:1] if is_hanging(row)]

    age, told = until(asked, 30, "the first of sqtrace-top")[0]
    check(int(told["until_ns"]) == 0 and int(told["since_ns"]) >= 1e9 * age - 1e8, "sqtrace-top has it first", told, age)
    check(is_hanging(dump_rows(folder)[0]), "and so has sqtrace-dump", dump_rows(folder))
    shown = top(folder)
    check(re.search(r"^Findings of the last .*\n1\. 21 requests have been waiting for upstream, for up to ", shown, re.M),
          "the screen says it in words", *shown.splitlines())
    until(lambda: exporter.value("sqtrace_finding_lasts", "hanging") == 1, 30, "the exporter has it")
    check(exporter.value("sqtrace_finding_requests", "hanging") == 21, "the exporter has the number", exporter.text())
    check(exporter.value("sqtrace_finding_waiting_seconds", "hanging") >= 20, "and what they have waited")
    count = re.search(r"^sqtrace_findings (\d+)$", exporter.text(), re.M)
    check(count and int(count.group(1)) >= 1, "and how many findings there are")


def over(following, exporter):
    row = until(lambda: following.rows(cause="hanging", state="ends"), 40, "it ends")[0]
    check(row["rank"] == "-" and row["lasts"] == "0", "--follow: it ends", row)
    until(lambda: exporter.value("sqtrace_finding_lasts", "hanging") is None, 40, "the exporter forgets it")
    check(True, "the exporter does not have it any more")


def gone(folder, following, flights):
    """The traced process ends while requests hang: they hang no more."""
    flights.tell(b"h")
    until(lambda: len(following.rows(cause="hanging", state="begins")) == 2, 40, "it begins again")
    flights.tell(b"d")
    check(flights.process.wait(30) == 0, "the traced process ends")
    until(lambda: following.rows(cause="died", state="begins"), 40, "that it died begins")
    until(lambda: len(following.rows(cause="hanging", state="ends")) == 2, 40, "it ends with the process")
    check("no process writes the trace any more" in all_said(following.said), "and so --follow says",
          all_said(following.said))
    check(not following.rows(cause="died", state="ends"), "that it died has no end yet", following.rows(cause="died"))
    flights = Flights(folder)
    until(lambda: "a process writes the trace again" in all_said(following.said), 30, "there is another process")
    check(True, "--follow says that there is another process")
    return flights


def ends(following, exporter, flights):
    """A process that is told to end leaves no other behind."""
    for process in following.process, exporter.process:
        process.send_signal(signal.SIGTERM)
        status = process.wait(30)
        check(status == 0, "status 0 after SIGTERM", status)
    flights.process.stdin.close()
    check(flights.process.wait(30) == 0, "and the traced process ends")


def main():
    with tempfile.TemporaryDirectory() as folder:
        flights = Flights(folder)
        following, exporter = Following(folder), Exporter(folder)
        exporter.text()
        time.sleep(2)
        check(not following.rows(cause="hanging"), "nothing hangs at first")
        begun = time.monotonic()
        flights.tell(b"h")
        hangs(folder, following, exporter, begun)
        flights.tell(b"o")
        flights.tell(b"e")
        over(following, exporter)
        flights = gone(folder, following, flights)
        ends(following, exporter, flights)
    plan()


main()
