# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens only when things go wrong, or seldom; and what begins also ends."""

import os
import re
import time

from lib import dump, load, rows
from lib.client import Client, at_once
from lib.env import run, wait_for
from lib.origin import Origin
from lib.pairs import check_pairs
from lib.squid import Squid

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


def trouble(env):
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
    check_pairs(env, squid.directory)
    check_ids(env, squid)


def check_ids(env, squid):
    """Fields that a hook fills for another one's record."""
    for event, column, what in (("LOOKUP_END", "arg", "object"), ("SERVER_DONE", "arg", "connection")):
        rows = dump.table(env, squid.directory, "events", "--where=event == " + event)
        empty = [row for row in rows if row[column] in ("0", "-")]
        env.check(len(rows) > 100, "only %d %s" % (len(rows), event))
        env.check(not empty, "%d of %d %s have no %s: %s" % (len(empty), len(rows), event, what, empty[:3]))


def no_place(env):
    """Objects that no cache_dir takes."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
cache_mem 8 MB
cache_dir ufs {folder}/cache-large-1 64 4 16 min-size=100000
""")
    squid.write_conf()
    run(squid.command("-z", "--foreground"), 60)
    squid.start()
    with Client(squid.client_address()) as client:
        for n in range(5):
            client.request(origin.url("small%d" % n, size=9000), "n%d" % n)
    time.sleep(0.3)
    squid.stop()
    refused = dump.table(env, squid.directory, "events", "--where=event == SWAP_REFUSED")
    env.check(refused and {row["aux"] for row in refused} == {"1"}, "SWAP_REFUSED: %s" % refused)
    check_pairs(env, squid.directory)


def not_kept(env):
    """Objects of which Squid keeps nothing, and why."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
cache_mem 8 MB
minimum_object_size 1 KB
maximum_object_size 50 KB
maximum_object_size_in_memory 50 KB
max_open_disk_fds 1
cache_dir ufs {folder}/cache-one-1 64 4 16
""")
    squid.write_conf()
    run(squid.command("-z", "--foreground"), 60)
    squid.start()

    def one(n):
        """Two that keep a file open each, and one that comes meanwhile."""
        with Client(squid.client_address()) as client:
            time.sleep(0 if n < 2 else 0.8)
            more = {"parts": 10, "gap": 150} if n < 2 else {}
            client.request(origin.url("file%d" % n, size=40000, **more), "file%d" % n)
    with Client(squid.client_address()) as client:
        for tag, size in (("kept", 9000), ("large", 60000), ("small", 500)):
            client.request(origin.url(tag, size=size), tag)
        client.request(origin.url("private", size=60000, cc="no-store"), "private")
    at_once(3, one)
    time.sleep(0.3)
    squid.stop()
    found = rows.check_run(env, squid)
    why = {r["xid"]: r["not_kept"] for r in dump.table(env, squid.directory, "requests", "--columns=xid,not_kept")}
    for tag, wanted in (("kept", "-"), ("large", "too_large"), ("small", "too_small"), ("private", "-"), ("file0", "-"),
                        ("file1", "-"), ("file2", "open_files")):
        env.equal(why[found[tag][1]["xid"]], wanted, "why nothing is kept of " + tag)


def crowd_revalidates(env):
    """Several want the same stale object: one revalidates it, the others follow."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="cache_mem 8 MB\ncollapsed_forwarding on").start()
    url = origin.url("stale", size=500, etag="s", hdr=300, cc="max-age=0")

    def one(n):
        with Client(squid.client_address()) as client:
            time.sleep(n * 0.05)
            env.equal(client.request(url, "r%d" % n).status, 200, "a revalidation")
    with Client(squid.client_address()) as client:
        client.request(url, "first")
    at_once(4, one)
    squid.stop()
    found = rows.check_run(env, squid)
    followers = [tag for tag in found if tag and found[tag][1]["collapsed"] == "1"]
    env.check(len(followers) >= 2, "followers of a revalidation: %s" % followers)
    for tag in followers:
        env.check(found[tag][1]["server_wait_ns"] == "-" and found[tag][1].ns("collapsed_wait_ns") > 50000000,
                  "a follower: %s" % rows.brief(found[tag][1]))


TESTS = [
    ("followers of a revalidation", crowd_revalidates, 40),
    ("objects that no cache_dir takes", no_place, 40),
    ("objects of which nothing is kept", not_kept, 40),
    ("trouble: refused and broken files, followers, rotation; what begins ends, ids are there", trouble, 90),
]
