# SPDX-License-Identifier: GPL-2.0-or-later
"""mode=recorder: nothing is written until the end, and what the ring has is what mgr:sqtrace promises.

Five SIGKILLs, and fifty with --full."""

import os
import random
import re
import subprocess
import time

from lib import access, dump
from lib.client import Background, Client
from lib.env import wait_for
from lib.origin import Origin
from lib.squid import Squid

SMALL = "mode=recorder ring=128KB"  # some 140 requests
CONF = "cache_mem 64 MB\n"


def page(squid):
    """mgr:sqtrace as {name: number}"""
    text = squid.manager("sqtrace")[1]
    return {name: int(value) for name, value in re.findall(r"^([^:\n]+): (\d+)$", text, re.M)}


def names(squid):
    return sorted(os.listdir(squid.directory))


def hits(squid, url, count, pause=0.0):
    with Client(squid.client_address()) as client:
        for n in range(count):
            client.request(url, "h%d" % n)
            time.sleep(pause)


def xids(rows):
    return [int(row["xid"]) for row in rows if row["outcome"] == "complete"]


def promised(env):
    """Each request that began in the seconds that mgr:sqtrace promises is in a snapshot, row for line."""
    origin = Origin(env)
    squid = Squid(env, trace="mode=recorder ring=512KB", dns=origin.host, lines=CONF, alone=True).start()
    url, out = origin.url("o", size=1000, cc="max-age=1000"), env.path("out")
    hits(squid, url, 1500, 0.002)
    state = page(squid)
    asked = time.time()
    env.check(state["records overwritten"] > 0 and state["records lost"] == 0, "the ring did not turn over: %s" % state)
    env.check(state["bytes in segments"] == 0 and state["records in segments"] == 0, "something was written: %s" % state)
    env.check(all(name.endswith((".ring", ".key")) for name in names(squid)), "files: %s" % names(squid))
    env.check(500 < state["ring reaches back (ms)"] < 60000, "the ring reaches back %s ms" % state["ring reaches back (ms)"])
    made = subprocess.run([env.tool("sqtrace-snapshot"), squid.directory, "--to=" + out, "--last=1h"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    env.note(made.stdout.strip())
    result = dump.Dump(env, os.path.join(out, os.listdir(out)[0]), "requests")
    env.check("of a flight recorder" in result.errors, "the program does not say what it reads: %s" % result.errors)
    env.check("overwritten" in result.comments(), "comments: %s" % result.comments())
    rows = {int(row["xid"]): row for row in result.rows() if row["outcome"] == "complete"}
    since = asked - state["ring reaches back (ms)"] / 1000
    lines = [line for line in access.read(squid) if line.xid and line.time - line.ms / 1000 > since + 0.001 and
             line.time < asked - 0.01]
    env.check(len(lines) > 100, "only %d requests began in the seconds that were promised" % len(lines))
    for line in lines:
        env.check(line.xid in rows and rows[line.xid]["tag"] == line.tag, "%s has no row" % line)
    env.note("%d requests of %d in %d ms" % (len(lines), len(rows), state["ring reaches back (ms)"]))
    top = subprocess.run([env.tool("sqtrace-top"), "--once", squid.directory], check=True, stdout=subprocess.PIPE, text=True)
    env.check("requests a second" in top.stdout, "sqtrace-top: %s" % top.stdout[:200])
    squid.rotate()
    squid.stop()
    env.equal(sorted(name.rpartition(".")[2] for name in names(squid)), ["key", "sqt"], "files after a clean stop")
    saved = dump.table(env, squid.directory, "requests")
    last = [line.xid for line in access.read(squid) if line.xid][-100:]
    env.check(set(last) <= set(xids(saved)), "the last requests are not in what the end saved")


def kills(env):
    """The next start saves the ring of a Squid that was killed, with the last requests of the access log."""
    origin = Origin(env)
    squid = Squid(env, trace=SMALL, dns=origin.host, lines=CONF, alone=True)
    url, rounds, ends = origin.url("o", size=1000, cc="max-age=1000"), 50 if env.full else 5, []
    for turn in range(rounds):
        squid.start()
        before = len(access.read(squid))
        traffic = Background(env, 2, lambda n: hits(squid, url, 100))
        time.sleep(0.5 + random.random())
        squid.kill_all()
        traffic.stop()
        ends.append([line.xid for line in access.read(squid)[before:] if line.xid][-60:])
        env.check(len(ends[-1]) == 60, "round %d: only %d requests" % (turn, len(ends[-1])))
    squid.start()
    wait_for(lambda: len(squid.rings()) == 1, 30, "the rings of those that were killed to be saved")
    squid.stop()
    segments = dump.segments(squid.directory)
    env.equal(len(segments), rounds + 1, "segments")
    for turn, segment in enumerate(sorted(segments, key=os.path.getmtime)[:rounds]):
        found = set(xids(dump.table(env, segment, "requests")))
        # the log line of the very last one may come before its record
        missing = [xid for xid in ends[turn][:-2] if xid not in found]
        env.check(not missing, "round %d: %d of the last 60 requests are missing" % (turn, len(missing)))
    lost = dump.table(env, squid.directory, "losses")
    env.check(not lost, "losses: %s" % lost)


def readers(env):
    """Readers beside a ring that turns over a few times a second: each row that they show is in the end's words, too."""
    origin = Origin(env)
    squid = Squid(env, trace="mode=recorder ring=64KB", dns=origin.host, lines=CONF, alone=True).start()
    url, seen = origin.url("o", size=1000, cc="max-age=1000"), {}
    traffic = Background(env, 3, lambda n: hits(squid, url, 200))
    end, runs = time.monotonic() + (600 if env.full else 6), 0
    while time.monotonic() < end:
        for row in dump.Dump(env, squid.directory, "requests").rows():
            if row["outcome"] == "complete":
                runs += 1
                seen[int(row["xid"])] = row["tag"], row["status"], row["sent_bytes"]
    traffic.stop()
    squid.stop()
    by_xid = {line.xid: line for line in access.read(squid) if line.xid}
    env.check(len(seen) > 200, "only %d requests were seen" % len(seen))
    for xid, row in seen.items():
        line = by_xid.get(xid)
        if env.check(line, "a row of request %d, which nobody made" % xid):
            env.check(row == (line.tag, str(line.status), str(line.sent)),
                      "request %d: %s, but the log has %s" % (xid, row, line))
    env.note("%d rows of %d requests" % (runs, len(seen)))


TESTS = [
    ("a recorder: a snapshot has what mgr:sqtrace promises", promised, 60),
    ("a recorder: the next start saves the ring of one that was killed", kills, 120),
    ("a recorder: readers of a ring that turns over", readers, 90, 900),
]
