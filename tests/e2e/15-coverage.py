# SPDX-License-Identifier: GPL-2.0-or-later
"""Every event of the table of events is fired by traffic, or is listed here with the reason why not."""

import collections
import os
import re
import time

from lib import dump, load, native
from lib.client import Client, at_once
from lib.env import wait_for
from lib.origin import Origin
from lib.squid import Squid

# Events that this test does not fire, and where they are.
ELSEWHERE = dict.fromkeys(("ADAPT_BEGIN", "ADAPT_SERVICE", "ADAPT_END"), "the tests of adaptation") | dict.fromkeys(
    ("XACT_UNLOGGED", "NEIGHBORS_ASKED", "NEIGHBOR_ANSWER", "NEIGHBORS_DONE", "NEIGHBOR_IGNORED"),
    "the tests of neighbours") | {
    "CALLS": "the test of system calls",
    "PART_CALLS": "the test of system calls",
    "CALLS_TOLD": "the test of system calls",
    "LOST": "only a full ring makes it: the tests of a full disk and of a killed writer",
    "IO_LATE": "only a rock disker that was stopped makes it: the tests of rock",
    "DISKOP_LATE": "only a rock disker that was stopped makes it: the tests of rock",
    "CLIENT_TLS_BEGIN": "the tests of TLS",
    "CLIENT_TLS_END": "the tests of TLS",
    "TLS_BEGIN": "the tests of TLS",
    "TLS_END": "the tests of TLS",
}

CONF = load.CONF + """
cache_dir diskd {folder}/cache-tight-1 64 4 16 Q1=1 Q2=72
collapsed_forwarding on
url_rewrite_program {folder}/rewrite
url_rewrite_children 1 startup=1
url_rewrite_access allow rewritten
"""


def make_squid(env, origin):
    squid = Squid(env, trace="", dirs=["aufs", "ufs"], dns=origin.host,
                  lines="acl rewritten urlpath_regex rewritten\n" + CONF)
    helper = os.path.join(squid.folder, "rewrite")
    with open(helper, "w") as out:
        out.write("#!/bin/sh\nwhile read -r line; do echo ERR; done\n")
    os.chmod(helper, 0o755)
    return squid.start()


def crowd(squid, origin):
    """Many at once: a diskd directory with Q1=1 refuses, and one fetch is followed by others."""
    def one(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("followed", hdr=300, size=50000), "follow%d" % n)
            for k in range(30):
                client.request(origin.url("crowd%d-%d" % (n, k), size=30000), "crowd")
    at_once(10, one)


def broken_files(squid, origin):
    """Swap files that are gone when they are wanted."""
    with Client(squid.client_address()) as client:
        for n in range(12):
            client.request(origin.url("gone%d" % n, size=40000), "gone")
        time.sleep(0.5)
        for folder, _, files in os.walk(squid.folder):
            for name in files:
                if re.fullmatch("[0-9A-F]{8}", name):
                    os.unlink(os.path.join(folder, name))
        for n in range(12):
            client.request(origin.url("gone%d" % n, size=40000), "gone")


def coverage(env):
    origin = Origin(env)
    squid = make_squid(env, origin)
    traffic = load.Mixed(env, squid, origin, seed=15)
    traffic.warm()
    traffic.run(1500, 10)
    with Client(squid.client_address()) as client:
        client.request(origin.url("rewritten"), "rewritten")
        client.request(origin.url("interim", interim=1), "interim")
        client.request(origin.url("looked-up", host="d20-x.test"), "dns")
        client.send(client.head("POST", origin.url("post"), "post", ["Content-Length: 10"]))
        time.sleep(0.1)
        client.send(b"0123456789")
        client.receive("POST")
    crowd(squid, origin)
    broken_files(squid, origin)
    squid.rotate()
    time.sleep(0.5)
    done = squid.log_text().count("Accepting HTTP Socket")
    squid.reconfigure()
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket") > done, 20, "the reconfiguration")
    squid.stop()
    seen = collections.Counter(row["event"] for row in dump.table(env, squid.directory, "events"))
    env.note("seen: %s" % dict(seen))
    names = native.declared_events()
    env.check(len(names) > 40, "the table of events has only %d events" % len(names))
    for name in names:
        if name in ELSEWHERE:
            continue
        env.check(seen[name], "no %s" % name)
    env.check(not set(seen) - set(names), "events that the table does not declare: %s" % (set(seen) - set(names)))
    check_pairs(env, squid)


def check_pairs(env, squid):
    """What begins also ends: as many ends as begins for each transaction, over the whole of a clean run."""
    count = collections.Counter()
    for row in dump.table(env, squid.directory, "events"):
        count[row["event"], "-" if row["event"] in ("START", "STOP") else row["id"]] += 1
    for begin, end in (("ACCESS_BEGIN", "ACCESS_END"), ("LOOKUP_BEGIN", "LOOKUP_END"), ("DNS_BEGIN", "DNS_END"),
                       ("PEER_SELECT_BEGIN", "PEER_SELECT_END"), ("CONNECT_BEGIN", "CONNECT_END"),
                       ("REDIRECT_BEGIN", "REDIRECT_END"), ("FORWARD_BEGIN", "FORWARD_END"),
                       ("TUNNEL_BEGIN", "TUNNEL_END"), ("SWAPIN_OPEN", "SWAPIN_CLOSED"),
                       ("SWAPOUT_OPEN", "SWAPOUT_CLOSED"), ("SWAPIN_READ", "SWAPIN_READ_DONE"),
                       ("SWAPOUT_WRITE", "SWAPOUT_WRITTEN"), ("CONN_ACCEPT", "CONN_CLOSE"), ("START", "STOP")):
        ids = {key for name, key in count if name in (begin, end)}
        uneven = [(key, count[begin, key], count[end, key]) for key in ids if count[begin, key] != count[end, key]]
        env.check(not uneven, "%d of %d ids have %s without %s or the reverse: (id, begins, ends) %s"
                  % (len(uneven), len(ids), begin, end, uneven[:4]))


TESTS = [
    ("every event is fired, and what begins ends", coverage, 90),
]
