# SPDX-License-Identifier: GPL-2.0-or-later
"""access.log without a trace: Squid writes each format that has a name, and the rows of each log are those of the trace in all
that the log has."""

import collections
import os

from lib import dump, load
from lib.env import wait_for
from lib.origin import Origin
from lib.squid import Squid

REQUESTS = 600
BUILT_IN = "squid", "common", "combined"
JOINED = "squid-join", "sqtrace", "ecs", "elastic", "ltsv"
# What a log has besides: of each format in turn.
SAME = "method", "status", "tag", "sent_bytes"
MS = 1000000


def formats(env):
    """Lines of squid.conf, as --list prints them: {name: line}."""
    text = dump.Dump(env, [], None, ["--list"]).text
    return {line.split(" ")[1]: line for line in text.splitlines() if line.startswith("logformat ")}


def log_of(squid, name):
    return os.path.join(squid.folder, name + ".log")


def rows_of(env, squid, name, *options):
    return dump.table(env, [], "requests", "--access-log=" + log_of(squid, name), "--no-comments", *options)


def traffic(env, workers, seed):
    """A Squid that wrote a trace and all logs, and ended."""
    lines = formats(env)
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["ufs"], workers=workers, dns=origin.host)
    if squid.version().startswith(("5.", "6.")):
        lines["ltsv"] = lines["ltsv"].replace("%byte{9}", "\t")
    squid.lines = "".join(
        ("" if name in BUILT_IN else line + "\n") + "access_log stdio:%s logformat=%s\n" % (log_of(squid, name), name)
        for name, line in lines.items())
    squid.start()
    wait_for(lambda: len(squid.rings()) >= max(1, len(squid.kids())), 30, "each process to trace")
    mixed = load.Mixed(env, squid, origin, seed=seed)
    mixed.warm()
    mixed.run(REQUESTS, 8)
    squid.stop()
    return squid


def class_agrees(row, logged):
    """A log does not say whether a hit read from a disk, nor who made a reply."""
    if row["class"] == logged["class"]:
        return True
    hit = "HIT" in row["tag"] and {row["class"], logged["class"]} == {"mem_hit", "disk_hit"}
    return hit or (row["class"] == "internal" or logged["class"] == "internal") and "MISS" in row["tag"]


def check_row(env, name, row, logged, count):
    for column in SAME:
        env.check(row[column] == logged[column], "%s: xid %s: %s is %s in the trace, and %s in the log"
                  % (name, row["xid"], column, row[column], logged[column]))
    count["class"] += row["class"] != logged["class"]
    env.check(class_agrees(row, logged), "%s: xid %s: %s is %s in the trace, and %s in the log"
              % (name, row["xid"], row["tag"], row["class"], logged["class"]))
    # Squid reads its clock once a pass of its event loop.
    apart = abs(row.ns("total_ns") - logged.ns("total_ns"))
    count["far"] += apart > 3 * MS
    count["outcome"] += row["outcome"] != logged["outcome"]
    env.check(logged["unaccounted_ns"] == logged["server_wait_ns"] == "-", "%s: a stage of a log" % name)


def alone(env):
    squid = traffic(env, workers=1, seed=3)
    requests = dump.table(env, squid.directory, "requests")
    named = {(row["kid"], row["xid"]): row for row in requests if row["xid"] != "-"}
    for name in JOINED:
        logged = rows_of(env, squid, name)
        env.equal(len(logged), len(requests), "rows of " + name)
        count = collections.Counter()
        found = {(row["kid"], row["xid"]): row for row in logged if row["xid"] != "-"}
        env.equal(set(found), set(named), "transactions of " + name)
        for key, row in named.items():
            check_row(env, name, row, found[key], count)
        env.note("%s: of %d rows %d have another class, %d another outcome, %d are more than 3 ms apart"
                 % (name, len(named), count["class"], count["outcome"], count["far"]))
        env.check(count["far"] <= len(named) // 10, "%s: %d of %d are more than 3 ms apart" % (name, count["far"], len(named)))
        env.check(count["outcome"] <= len(named) // 50, "%s: %d outcomes differ" % (name, count["outcome"]))
    for name in BUILT_IN:
        logged = rows_of(env, squid, name)
        env.equal(len(logged), len(requests), "rows of " + name)
        for column in ("method", "status", "tag", "sent_bytes"):
            env.equal(collections.Counter(row[column] for row in logged), collections.Counter(row[column] for row in requests),
                      "%s of all rows of %s" % (column, name))
        env.check(all((row["total_ns"] == "-") == (name != "squid") for row in logged), "durations of " + name)
    summed = dump.table(env, [], "summary", "--access-log=" + log_of(squid, "squid"), "--no-comments")
    env.equal({row["stage"] for row in summed}, {"total"}, "stages in the summary of a native log")
    found = dump.table(env, [], "findings", "--access-log=" + log_of(squid, "elastic"), "--no-comments")
    env.check(found and "TRACE" not in found[0]["command"], "findings of a log: %s" % found[:1])


TESTS = [
    ("access.log without a trace: each format, row for row", alone, 120),
]
