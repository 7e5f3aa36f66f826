#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables loop_time, profile and stalls of a process whose event loop is held once, against what the kernel said of it.

Only the pass computes, is blocked or is stopped, so the sums of all seconds are those of the pass."""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from sanitized import THREADS_CHECKED  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
# TSan, which looks for races here, makes each call long.
LIMIT_MS = 1000 if THREADS_CHECKED else 10
NUMBER = 0


def check(problems, name):
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name), flush=True)
    for problem in problems:
        print("# %s" % problem)


def rows(name, trace):
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--no-comments", "--table=" + name, trace], check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout.decode()
    header, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(header, line)) for line in lines]


def go_first():
    """Goes before other work, where that is allowed: the short passes, too, would wait for a processor."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass


def passes(trace, how):
    """(length, processor time, wait for a processor) of the pass, in ms."""
    os.mkdir(trace)
    text = subprocess.run([os.path.join(TOOLS, "tests/unit/make_passes"), trace, how], check=True, preexec_fn=go_first,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60).stdout
    return [int(word) / 1e6 for word in text.split()]


def total(table, column):
    return sum(float(row[column]) for row in table if row[column] != "-") * 10  # ms of percents of seconds


def close(problems, what, got, wanted):
    if not abs(got - wanted) <= LIMIT_MS:
        problems.append("%s: %.1f ms, and the kernel says %.1f ms" % (what, got, wanted))


def one(folder, how):
    """A try: a machine that is held up meanwhile may spoil it."""
    trace = os.path.join(folder, how)
    length, ran, queued = passes(trace, how)
    lost = length - ran - queued
    problems, table = [], rows("loop_time", trace)
    close(problems, "computing", total(table, "computing_pct"), ran)
    close(problems, "blocked", total(table, "blocked_pct"), lost if how == "read" else 0)
    close(problems, "stopped", total(table, "stopped_pct"), lost if how == "stop" else 0)
    profile = [row for row in rows("profile", trace) if row["activity"] == "the pass"]
    if not profile:
        problems.append("the pass is not in the profile")
    elif profile[0]["acl"] != ("bad_sites" if how == "acl" else "-"):
        problems.append("the ACL is %s" % profile[0]["acl"])
    elif how == "read" and profile[0]["call"] != "read":
        problems.append("the call is %s" % profile[0]["call"])
    stall = max(rows("stalls", trace), key=lambda row: float(row["work_ms"]))
    parts = {part: float(stall[part + "_ms"].replace("-", "nan")) for part in ("computing", "not_running")}
    close(problems, "computing of the stall", parts["computing"], ran)
    close(problems, "not running of the stall", parts["not_running"], 0 if how == "read" else length - ran)
    on = max(table, key=lambda row: float(row["blocked_pct"]))["blocked_on"]
    if how == "read" and on != "read in the pass":
        problems.append("blocked on %s" % on)
    return problems


def main():
    for how in ("compute", "acl", "read", "stop"):
        for attempt in range(8):
            with tempfile.TemporaryDirectory() as folder:
                problems = one(folder, how)
            if not problems:
                break
        check(problems, "a pass of kind %s" % how)
    print("1..%d" % NUMBER)
    return 0


sys.exit(main())
