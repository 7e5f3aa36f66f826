# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace directory's file system is full for 10 s under load."""

import os
import re
import time

from lib import dump, ring
from lib.client import Background, Broken, Client
from lib.env import first, median, wait_for
from lib.origin import Origin
from lib.small_disk import fill, small_tmpfs
from lib.squid import Squid


def page_number(page, name):
    """The number behind a name in mgr:sqtrace, summed over kids."""
    found = re.findall(r"%s[^0-9\n]*([0-9]+)" % name, page)
    return sum(map(int, found)) if found else None


def throughputs(traffic, seconds):
    """Requests a second, second by second."""
    found = []
    for _ in range(seconds):
        before, begin = traffic.total, time.monotonic()
        time.sleep(1)
        found.append((traffic.total - before) / (time.monotonic() - begin))
    return found


def disk_full(env, words, must_lose):
    directory = env.path("small")
    small_tmpfs(env, directory, "8M")
    origin = Origin(env)
    squid = Squid(env, trace="segment=64MB total=off reserve=off " + words, dns=origin.host, lines="cache_mem 64 MB",
                  directory=directory)
    squid.give(directory)
    squid.start()
    # Two clients that pause a little: what they make in 10 s fits into the default ring of a million records.
    clients = [Client(squid.client_address()) for _ in range(2)]

    def work(n):
        time.sleep(0.0005)
        try:
            response = clients[n].request(origin.url("o%d" % n, size=3000), "w")
        except Broken:
            clients[n].close()
            raise
        if response.status != 200 or response.body_size != 3000:
            raise AssertionError("status %d, %d bytes" % (response.status, response.body_size))
    traffic = Background(env, 2, work)
    time.sleep(1)
    before = throughputs(traffic, 5)
    filler = fill(directory)
    during = throughputs(traffic, 10)
    page = squid.manager("sqtrace")[1]
    env.check("not writing" in page, "mgr:sqtrace does not say that nothing is written: " + page[:600])
    os.unlink(filler)
    after = throughputs(traffic, 5)
    wait_for(lambda: "not writing" not in squid.manager("sqtrace")[1], 10, "writing to resume")
    env.note("throughput before %s, during %s, after %s" % tuple(["%.0f" % t for t in part]
                                                               for part in (before, during, after)))
    traffic.stop()
    time.sleep(1.5)
    page = squid.manager("sqtrace")[1]
    env.equal([repr(error) for error in traffic.errors], [], "failed requests")
    usual = before + after
    env.check(median(during) >= min(usual) * 0.97, "throughput falls to %.0f/s while the disk is full; it is %.0f to "
              "%.0f/s otherwise" % (median(during), min(usual), max(usual)))
    emitted, written, lost = (page_number(page, name) for name in ("emitted", "written", "lost"))
    env.note("mgr:sqtrace: emitted %s, written %s, lost %s" % (emitted, written, lost))
    if env.check(None not in (emitted, written, lost), "mgr:sqtrace lacks emitted, written or lost: " + page):
        env.equal(emitted, written + lost, "mgr:sqtrace: emitted against written + lost")
    squid.stop()
    # Not the line of the start, which names it, too.
    complaint = [line for line in squid.log_text().split("\n") if "sqtrace" in line and "No space left" in line and directory in line]
    env.check(complaint, "cache.log does not name the directory that is full")
    env.check(len(complaint) < 20, "cache.log has %d lines about it" % len(complaint))
    found = ring.numbers(directory)
    env.equal(len(found), 1, "ring ids")
    for entry in found.values():
        env.equal(entry.problems(), [], "record numbers")
        result = dump.Dump(env, directory, "events")
        rows = result.rows()
        losses = dump.table(env, directory, "losses")
        env.equal(len(rows), entry.head, "rows of events against the head")
        env.equal(sum(int(row["records"]) for row in losses), entry.lost, "losses against the totals")
        env.equal(len([row for row in rows if row["event"] == "LOST"]), entry.marks, "LOST records")
        env.note("head %d, lost %d, marks %d" % (entry.head, entry.lost, entry.marks))
        if must_lose:
            env.check(entry.lost > 0, "nothing was lost with a ring of 1 MB")
            # Behind the first of many stretches there is one line with the sum of all.
            said = (re.findall(r"^sqtrace-dump: lost ([\d,]+) records in", result.errors, re.M) or
                    re.findall(r"^sqtrace-dump: lost ([\d,]+)", result.errors, re.M))
            env.equal(sum(int(number.replace(",", "")) for number in said), entry.lost, "lost records, as the decoder says")
            env.equal(dump.Dump(env, directory, "requests", ["--strict"], fail=False).status, 3,
                      "exit status with --strict")
        else:
            env.equal(entry.lost, 0, "lost records with the default ring")


TESTS = [
    ("disk full for 10 s, default ring", first(lambda env: disk_full(env, "", False)), 210),
    ("disk full for 10 s, ring=1MB", first(lambda env: disk_full(env, "ring=1MB", True)), 210),
]
