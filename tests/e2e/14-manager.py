# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache-manager page, and the directive added, changed and removed by a reconfiguration."""

import os
import re
import time

from lib import access, dump, ring, rows
from lib.client import Client
from lib.env import wait_for
from lib.origin import Origin
from lib.proc import threads
from lib.squid import Squid


def page(env):
    """mgr:sqtrace: state, files and counts, for each kid."""
    origin = Origin(env)
    squid = Squid(env, trace="", workers=2, dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for n in range(50):
            client.request(origin.url("o%d" % n), "p")
    time.sleep(1)
    head, text = squid.manager("sqtrace")
    env.note(text)
    env.check(" 200 " in head.split("\r\n")[0], "the page's status: " + head.split("\r\n")[0])
    for word in ("tracing", "emitted", "written", "lost", "bytes", "high", "lag", squid.directory):
        env.check(text.lower().count(word.lower()) >= 2, "the page does not say %r for two kids" % word)
    env.equal(re.findall("^groups: (.*)", text, re.M), ["client,server,store,diskop,loop,digest,sample"] * 2, "groups")
    env.check(text.count("groups (bits): ") == 2, "groups (bits) are gone")
    emitted = sum(map(int, re.findall(r"emitted[^0-9\n]*([0-9]+)", text)))
    heads = sum(ring.Ring(path).emitted for path in squid.rings())
    env.check(0 < emitted <= heads, "emitted %d, the rings say %d" % (emitted, heads))
    squid.stop()


def reason(squid):
    """Why mgr:sqtrace says that tracing is off."""
    return re.findall("^reason: (.*)", squid.manager("sqtrace")[1], re.M)


def reload_(env, squid, trace):
    """Reconfigures and waits until it is done."""
    squid.trace = trace
    done = squid.log_text().count("Accepting HTTP Socket")
    squid.reconfigure()
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket") > done, 20, "the reconfiguration")


def get(squid, origin, tag, count=5):
    with Client(squid.client_address()) as client:
        for n in range(count):
            client.request(origin.url("%s%d" % (tag, n)), "%s%d" % (tag, n))


def added_and_removed(env):
    origin = Origin(env)
    squid = Squid(env, trace=None, dns=origin.host)
    os.makedirs(squid.directory)
    squid.give(squid.directory)
    squid.start()
    worker = squid.worker_pids()[0]
    get(squid, origin, "before")
    env.equal(reason(squid), ["there is no sqtrace_log"], "why tracing is off")
    env.equal((threads(worker), os.listdir(squid.directory)), (1, []), "before the directive")
    reload_(env, squid, "")
    env.equal((threads(worker), len(squid.rings())), (2, 1), "with the directive")
    get(squid, origin, "with")
    reload_(env, squid, None)
    env.equal((threads(worker), squid.rings()), (1, []), "after the directive")
    get(squid, origin, "between")
    reload_(env, squid, "")
    get(squid, origin, "again")
    squid.stop()
    found = ring.numbers(squid.directory)
    for entry in found.values():
        env.equal(entry.problems(), [], "record numbers")
    env.equal(len(found), 2, "ring ids")
    traced = {(row["kid"], row["xid"]) for row in dump.table(env, squid.directory, "requests")
              if row["outcome"] not in ("unfinished", "lost")}
    for line in access.read(squid):
        if line.xtag != "-":
            env.equal((str(line.kid), str(line.xid)) in traced, line.xtag.startswith(("with", "again")),
                      line.xtag + " is traced")


def changed(env):
    """Groups, compress, segment and keep change at once; a changed directory or ring wants a restart."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    get(squid, origin, "all")
    reload_(env, squid, "events=client compress=off")
    get(squid, origin, "client")
    reload_(env, squid, "ring=2MB")
    warnings = [line for line in squid.log_text().split("\n") if "WARNING" in line and "sqtrace" in line]
    env.check(len(warnings) == 1 and "restart" in warnings[0], "a changed ring: %s" % warnings)
    get(squid, origin, "ring")
    env.equal(len(squid.rings()), 1, "rings")
    other = env.path("other")
    os.mkdir(other)
    squid.give(other)
    directory, squid.directory = squid.directory, other
    reload_(env, squid, "")
    warnings = [line for line in squid.log_text().split("\n") if "WARNING" in line and "sqtrace" in line]
    env.check(len(warnings) == 2 and "restart" in warnings[1], "a changed directory: %s" % warnings)
    squid.directory = directory
    get(squid, origin, "other")
    squid.stop()
    env.equal(os.listdir(other), [], "files in the directory that wants a restart")
    rows.join(env, access.read(squid), dump.table(env, directory, "requests"))
    lines = {line.xtag: str(line.xid) for line in access.read(squid)}
    events = dump.table(env, directory, "events")
    dispatched = {row["id"] for row in events if row["event"] == "DISPATCH"}
    env.check(lines["all1"] in dispatched and lines["ring1"] in dispatched and lines["client1"] not in dispatched,
              "events=client did not switch the server group off and on again")
    for entry in ring.numbers(directory).values():
        env.equal(entry.problems(), [], "record numbers")


def keep(env):
    """keep bounds the closed segments, also those of earlier runs, and leaves other files alone."""
    origin = Origin(env)
    squid = Squid(env, trace="segment=64KB keep=200KB compress=off", dns=origin.host)
    stranger = os.path.join(squid.directory, "stranger.sqt")
    with open(stranger, "wb") as file:
        file.write(b"x" * 500000)
    for turn in range(2):
        squid.start()
        for batch in range(5):  # with pauses, so that the flusher finds blocks of less than a segment: they wait two seconds
            get(squid, origin, "k%d-%d-" % (turn, batch), 60)
            time.sleep(2.2)
        squid.stop()
        mine = [path for path in dump.segments(squid.directory) if path != stranger]
        mine.sort(key=os.path.getmtime)
        closed = sum(os.path.getsize(path) for path in mine[:-1])
        env.check(len(mine) > 1, "only %d segments" % len(mine))
        env.check(closed <= 200 * 1024, "%d bytes of closed segments with keep=200KB" % closed)
    env.check(os.path.exists(stranger), "a file of somebody else is gone")
    os.unlink(stranger)
    losses = dump.table(env, squid.directory, "losses")
    env.note("losses: %s" % losses[:3])
    env.check(dump.table(env, squid.directory, "requests"), "what is left cannot be decoded")


TESTS = [
    ("the cache-manager page", page, 60),
    ("the directive added and removed", added_and_removed, 60),
    ("the directive changed", changed, 60),
    ("keep", keep, 60),
]
