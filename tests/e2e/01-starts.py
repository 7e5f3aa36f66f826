# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracing starts, one request is traced and decoded; and without the directive nothing starts."""

import glob
import os
import pwd

from lib import access, dump, ring, rows
from lib.client import Client
from lib.env import Failure, wait_for
from lib.origin import Origin
from lib.proc import threads
from lib.squid import Squid


def one_request(env):
    """One miss and one hit: a row each, with all columns of the design."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["ufs"], dns=origin.host,
                  lines="cache_mem 0 MB\nmemory_cache_mode disk").start()
    with Client(squid.client_address()) as client:
        for tag in ("first", "second"):
            response = client.request(origin.url("a", size=20000), tag)
            env.equal((response.status, response.body_size), (200, 20000), "what the client got")
    status = squid.stop()
    env.equal(status, 0, "Squid's exit status")
    env.check("sqtrace" not in "\n".join(line for line in squid.log_text().split("\n")
                                         if "WARNING" in line or "ERROR" in line), "cache.log complains")
    env.require(dump.segments(squid.directory), "no segment in %s: %s" % (squid.directory,
                                                                         os.listdir(squid.directory)))
    requests = dump.table(env, squid.directory, "requests")
    env.equal(len(requests), 2, "rows of requests")
    for column in rows.COLUMNS:
        env.check(column in requests[0], "requests has no column " + column)
    env.equal([row["tag"] for row in requests], ["TCP_MISS", "TCP_HIT"], "tags")
    env.equal([row["class"] for row in requests], ["miss", "disk_hit"], "classes")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    env.check(requests[0]["object"] == requests[1]["object"] != "-", "the two have different objects")


def is_ring_of(path, uid, service):
    """Whether a file that may go any moment, and may be another run's unfinished one, is that service's ring."""
    try:
        return os.stat(path).st_uid == uid and ring.Ring(path).identity.service == service
    except (OSError, Failure):
        return False


def directive_off(env):
    """No directive: no thread, no file, no ring, and the page says off."""
    origin = Origin(env)
    squid = Squid(env, dns=origin.host, plain=True).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("a"), "one")
    for pid in squid.processes():
        env.equal(threads(pid), 1, "threads of process %d" % pid)
        with open("/proc/%d/maps" % pid) as maps:
            env.check(".ring" not in maps.read(), "process %d maps a ring" % pid)
    env.check(not os.path.exists(squid.directory), "a trace directory appeared")
    mine = pwd.getpwnam(squid.user).pw_uid
    found = [path for path in glob.glob("/dev/shm/*.ring") if is_ring_of(path, mine, squid.service)]
    env.equal(found, [], "rings in /dev/shm")
    _, page = squid.manager("sqtrace")
    env.check("off" in page, "mgr:sqtrace does not say that tracing is off: " + page[:200])
    squid.stop()


def ring_and_thread(env):
    """With the directive: one more thread, a ring with mode 0640 that a clean stop removes."""
    squid = Squid(env, trace="").start()
    pids = squid.worker_pids()
    env.equal([threads(pid) for pid in pids], [2], "threads of the worker")
    rings = wait_for(squid.rings, 10, "the note that names the ring")
    env.equal(len(rings), 1, "rings")
    env.check(os.path.exists(rings[0]), "no ring " + rings[0])
    info = os.stat(rings[0])
    env.equal(oct(info.st_mode & 0o7777), "0o640", "mode of the ring")
    env.check(info.st_blocks * 512 >= 32 << 20, "the ring is not allocated: %d bytes" % (info.st_blocks * 512))
    for path in dump.segments(squid.directory):
        env.equal(oct(os.stat(path).st_mode & 0o7777), "0o640", "mode of " + path)
    squid.stop()
    env.check(not os.path.exists(rings[0]), "the ring is still there after a clean stop")
    env.equal(squid.rings(), [], "notes of rings after a clean stop")
    keys = [path for path in glob.glob(squid.directory + "/*") if not path.endswith(".sqt")]
    for path in keys:
        env.equal(oct(os.stat(path).st_mode & 0o7777), "0o600", "mode of " + path)
    if not dump.segments(squid.directory):
        raise Failure("a traced Squid left no segment")


TESTS = [
    ("one miss and one hit are traced and decoded", one_request, 60),
    ("without the directive nothing starts", directive_off, 60),
    ("the ring, the thread and their end", ring_and_thread, 60),
]
