# SPDX-License-Identifier: GPL-2.0-or-later
"""access.log without a trace: Squid writes each format that has a name, and the rows of each log are those of the trace in all
that the log has.  And beside a trace: each request gets its own line."""

import collections
import glob
import os
import time

from lib import dump, load
from lib.client import Client, at_once
from lib.env import run, wait_for
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


# SQT_JOIN_EACH=25000 makes a join of 100,000 requests.
ROUNDS, EACH = 4, int(os.environ.get("SQT_JOIN_EACH", "400"))


def urls_of(log, count, written):
    """How often each (kid, xid, URL) stands in files of a log, and when each URL was last written, s."""
    for path in glob.glob(log + "*"):
        with open(path, errors="replace") as lines:
            for line in lines:
                words = line.split()
                if words[-2] != "-":
                    count[words[-1], words[-2], words[6]] += 1
                    written[words[6]] = float(words[0])


def look(env, squid, log, seen):
    """What sqtrace-top has of the log while Squid writes both."""
    done = run([env.tool("sqtrace-top"), "--once", "--table=ended", "--format=tsv",
                "--access-log=%s*" % log, "--log-format=squid-join", squid.directory], 30)
    env.require(done.returncode == 0, "sqtrace-top: status %d: %s" % (done.returncode, done.stderr))
    lines = [line.split("\t") for line in done.stdout.splitlines() if not line.startswith("#")]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    named = [row for row in rows if row["xid"] != "-"]
    without = [row for row in named if row["url"] == "-" or row["client"] != "127.0.0.1"]
    env.check(named and not without, "sqtrace-top: %d of %d requests have no line: %s" % (len(without), len(named), without[:3]))
    seen.update((row["kid"], row["xid"], row["url"]) for row in named)


def joined(env):
    """Two workers, rotations of both files, and a restart, after which transactions count from the first again."""
    line = formats(env)["squid-join"]
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB", workers=2, dns=origin.host)
    log, seen = os.path.join(squid.folder, "join-"), set()
    # a file for each process: those who rotate one file at the same time lose some of it
    squid.lines = line + "\naccess_log stdio:%s${process_number}.log logformat=squid-join\nlogfile_rotate 9\n" % log
    squid.start()
    for turn in range(ROUNDS):
        wait_for(lambda: len(squid.rings()) >= 3, 30, "each process to trace")

        def one(n):
            for k in range(EACH // 20):
                with Client(squid.client_address()) as client:  # a new connection: either worker may get it
                    client.request(origin.url("o%d-%d-%d" % (turn, n, k), size=1000, hdr=2), "j")
                    client.request(origin.url("same", size=1000, etag="s"), "j")
        at_once(10, one)
        if not turn:  # so soon that lines of both runs are read at a time
            squid.stop()
            squid.start()
        else:
            look(env, squid, log, seen)
            squid.rotate()
            time.sleep(0.5)
    squid.stop()

    wanted, written = collections.Counter(), {}
    urls_of(log, wanted, written)
    env.check({kid for kid, _, _ in wanted} == {"1", "2"}, "one worker served everything")
    env.check(len(glob.glob(log + "*")) >= ROUNDS - 1, "files of the log: %s" % glob.glob(log + "*"))
    twice = collections.Counter((kid, xid) for kid, xid, _ in wanted)
    env.check(max(twice.values()) > 1, "no transaction's number came again after the restart")
    options = "--access-log=%s*" % log, "--log-format=squid-join"
    rows = dump.table(env, squid.directory, "requests", *options)
    found = collections.Counter((row["kid"], row["xid"], row["url"]) for row in rows if row["xid"] != "-")
    env.equal(sum(found.values()), sum(wanted.values()), "requests that have a line")
    env.check(found == wanted, "%d rows have another line than theirs: %s"
              % (sum((found - wanted).values()), list((found - wanted).items())[:5]))
    late = [row["xid"] for row in rows if "/o" in row["url"] and
            abs((row.wall_ns + row.ns("total_ns")) / 1e9 - written[row["url"]]) > 0.5]
    env.check(not late, "%d rows have the line of another run: xid %s" % (len(late), late[:5]))
    env.check(all(row["client"] == "127.0.0.1" and row["url_host"] for row in rows if row["url"] != "-"),
              "a row without client or host")
    env.check(seen and seen <= set(wanted), "sqtrace-top has other URLs: %s" % list(seen - set(wanted))[:5])
    plain = dump.table(env, squid.directory, "requests")
    env.check("url" not in plain[0] and len(plain) == len(rows), "rows without the log")
    for row, other in zip(plain, rows):
        env.check(all(other[name] == value for name, value in row.items()), "xid %s differs beside the log" % row["xid"])
    grouped = dump.table(env, squid.directory, "requests", *options, "--group-by=url", "--where=url ~ */same*")
    env.equal([int(row["count"]) for row in grouped], [sum(n for key, n in wanted.items() if "/same" in key[2])],
              "--group-by=url")
    events = dump.Dump(env, squid.directory, "events").text
    env.check("o1-1-1" not in events, "a URL is in the trace")


TESTS = [
    ("access.log beside a trace: two workers, rotations, a restart", joined, 120 + EACH // 40),
    ("access.log without a trace: each format, row for row", alone, 120),
]
