# SPDX-License-Identifier: GPL-2.0-or-later
"""Other ways in which a traced Squid ends, and kids of other kinds."""

import os
import signal
import time

from lib import access, dump, ring, rows
from lib.client import Background, Client
from lib.env import run, wait_for
from lib.helper import Helper
from lib.origin import Origin
from lib.proc import alive
from lib.squid import Squid


def load_on(env, squid, origin, clients=4, size=20000):
    def work(n):
        with Client(squid.client_address(), 10) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 40), size=size), "l")
    traffic = Background(env, clients, work)
    wait_for(lambda: traffic.total > 4, 20, "traffic")
    return traffic


def check_numbers(env, squid, what, rings=()):
    """Nothing missing, nothing double, and the decoder agrees."""
    found = ring.numbers(squid.directory, rings)
    for entry in found.values():
        for problem in entry.problems():
            env.check(False, "%s: %s" % (what, problem))
    env.equal(len(dump.Dump(env, squid.directory, "events").rows()), sum(entry.head for entry in found.values()),
              what + ": rows of events against heads")
    return found


def shutdown_under_load(env):
    """squid -k shutdown with requests in flight: every logged line still has its row."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs"], workers=2, dns=origin.host,
                  lines="cache_mem 8 MB\nshutdown_lifetime 1 second").start()
    traffic = load_on(env, squid, origin)
    hanging = Client(squid.client_address())
    hanging.send(hanging.head("GET", origin.url("late", hdr=8000), "late"))
    time.sleep(0.3)
    traffic.ending = True
    squid.stop()
    traffic.stop()
    check_numbers(env, squid, "after a shutdown under load")
    env.equal(squid.rings(), [], "rings after a clean stop")
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), [row for row in requests if row["outcome"] != "unfinished"])
    rows.check_sums(env, requests)
    env.check(len(pairs) > 50, "only %d requests" % len(pairs))


def shutdown_between(env):
    """A request that an access list holds until Squid has begun to shut down: it is refused, and has its row."""
    origin = Origin(env)
    acl = Helper(env, "acl")
    squid = Squid(env, trace="", dns=origin.host, lines="""
shutdown_lifetime 3 seconds
external_acl_type waits ttl=0 children-max=1 children-startup=1 %%URI %s
acl asked external waits
http_access deny !asked
""" % acl.command).start()
    client = Client(squid.client_address())
    client.send(client.head("GET", origin.url("wait600-late"), "late"))
    time.sleep(0.2)
    squid.signal(signal.SIGTERM)
    env.equal(client.receive().status, 503, "a request while Squid shuts down")
    client.close()
    squid.stop()
    row = rows.check_run(env, squid)["late"][1]
    env.equal((row["class"], row["outcome"], row["tries"]), ("miss", "error", "0"), "class, outcome and tries")
    env.check(row["reply_wait_ns"] != "-", "no reply_wait: %s" % rows.brief(row))


def fatal(env):
    """A configuration that a reconfiguration cannot use ends Squid with FATAL: nothing is lost."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    traffic = load_on(env, squid, origin)
    held = [open(path, "rb") for path in squid.rings()]
    worker = squid.worker_pids()[0]
    squid.lines = "cows everywhere\n"
    squid.write_conf()
    os.kill(worker, signal.SIGHUP)
    wait_for(lambda: not alive(worker), 20, "the worker to end")
    traffic.stop()
    env.check("FATAL" in squid.log_text(), "no FATAL in cache.log")
    heads = [ring.Ring("/proc/self/fd/%d" % file.fileno()) for file in held]
    squid.kill_all()
    found = check_numbers(env, squid, "after FATAL", squid.rings())
    for header in heads:
        env.check(header.identity.ring_id in found and found[header.identity.ring_id].head == header.head,
                  "records of the process that ended with FATAL are missing")
    squid.lines = ""
    squid.start()
    squid.stop()
    check_numbers(env, squid, "after the next start")
    env.equal(squid.rings(), [], "rings after the next start")


def crash(env):
    """SIGSEGV: Squid's own report of the crash is not disturbed, and the trace is whole up to it."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["ufs"], dns=origin.host).start()
    traffic = load_on(env, squid, origin)
    held = [open(path, "rb") for path in squid.rings()]
    worker = squid.worker_pids()[0]
    os.kill(worker, signal.SIGSEGV)
    wait_for(lambda: not alive(worker), 20, "the worker to end")
    heads = [ring.Ring("/proc/self/fd/%d" % file.fileno()) for file in held]
    wait_for(lambda: worker not in squid.kids() and squid.worker_pids(), 30, "the new worker")
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket") >= 2, 30, "the new worker to serve")
    traffic.stop()
    env.check("Received Segment Violation" in squid.log_text(), "no report of the crash in cache.log")
    with Client(squid.client_address()) as client:
        env.equal(client.request(origin.url("after"), "after").status, 200, "a request after the crash")
    squid.stop()
    found = check_numbers(env, squid, "after a crash")
    env.equal(len(found), 2, "ring ids")
    for header in heads:
        env.check(header.identity.ring_id in found and found[header.identity.ring_id].head == header.head,
                  "records of the crashed process are missing")
    env.equal(squid.rings(), [], "rings after the clean stop")


def kids(env):
    """A rock cache_dir with two workers: a disker and a coordinator trace as well, into small rings."""
    origin = Origin(env)
    squid = Squid(env, trace="", workers=2, dns=origin.host,
                  lines="cache_mem 8 MB\ncache_dir rock {folder}/rock 64")
    os.mkdir(os.path.join(squid.folder, "rock"))
    squid.give(os.path.join(squid.folder, "rock"))
    squid.write_conf()
    run(squid.command("-z", "--foreground"), 60)
    squid.start()
    wait_for(lambda: len(squid.rings()) == 4, 20, "four rings")
    headers = [ring.Ring(path) for path in squid.rings()]
    env.equal(sorted(header.identity.kid_kind for header in headers), [1, 1, 2, 3], "kinds of kids")
    for header in headers:
        env.equal(header.capacity * 32, 32 << 20 if header.identity.kid_kind == 1 else 1 << 20,
                  "ring of a kid of kind %d" % header.identity.kid_kind)
        env.equal(header.identity.service, squid.service[:31], "service name")
        env.equal(header.identity.version, squid.version(), "Squid's version")
    with Client(squid.client_address()) as client:
        for n in range(40):
            client.request(origin.url("o%d" % (n % 20), size=9000), "k")
    squid.stop()
    found = check_numbers(env, squid, "two workers, a disker, a coordinator")
    env.equal(sorted(entry.identity.kid for entry in found.values()), [1, 2, 3, 4], "kids")
    env.equal(squid.rings(), [], "rings after a clean stop")
    rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests"))


def without_master(env):
    """squid -N: one process, kid 0."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, alone=True).start()
    with Client(squid.client_address()) as client:
        for n in range(10):
            client.request(origin.url("o%d" % n), "n")
    squid.stop()
    found = check_numbers(env, squid, "squid -N")
    env.equal([(entry.identity.kid, entry.identity.kid_kind) for entry in found.values()], [(0, 0)], "kid and kind")
    env.equal(len(dump.table(env, squid.directory, "requests")), 10, "rows of requests")


TESTS = [
    ("shutdown under load", shutdown_under_load, 60),
    ("a request while Squid shuts down", shutdown_between, 40),
    ("FATAL", fatal, 60),
    ("a crash", crash, 60),
    ("a disker and a coordinator", kids, 60),
    ("squid -N", without_master, 60),
]
