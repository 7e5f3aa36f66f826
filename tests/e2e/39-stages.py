# SPDX-License-Identifier: GPL-2.0-or-later
"""Stages that say more: followers, delay pools, tries that fail; and why a look-up was no hit."""

import socket
import time

from lib import dump, rows
from lib.client import Client, at_once
from lib.clocks import MS
from lib.dump import seconds_ns
from lib.env import first
from lib.origin import Origin
from lib.squid import Squid


def figure(env, squid, name):
    return dump.Dump(env, squid.directory, options=["--figure=" + name]).rows()


# ---- why a look-up is no hit ----

REASONS = """
cache_mem 16 MB
negative_ttl 1 minute
acl denied urlpath_regex not-cached
cache deny denied
acl unsent urlpath_regex unsent
send_hit deny unsent
acl moved urlpath_regex moved
deny_info 302:http://elsewhere.test/ moved
http_access deny moved
"""


def ask(squid, cases):
    with Client(squid.client_address()) as client:
        for n, (url, _, tags, method, headers) in enumerate(cases):
            client.request(url, "%s-%d" % (tags[0], n), method, headers=headers, body=b"x" if method == "POST" else b"")


def check_reasons(env, squid, cases):
    found = rows.check_run(env, squid)
    for n, (url, reason, tags, _, _) in enumerate(cases):
        line, row = found["%s-%d" % (tags[0], n)]
        env.check(line.tag in tags, "%s: the tag is %s, not one of %s" % (url, line.tag, tags))
        env.equal(row["miss_reason"], reason, "miss_reason of %s, %s" % (url, line.tag))


def case(url, reason, *tags, method="GET", headers=()):
    return url, reason, tags, method, list(headers)


def reasons(env):
    """Each reason beside the tag of access.log."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines=REASONS).start()
    common, old = origin.url("common", etag="c"), origin.url("old", etag="o", cc="max-age=0")
    varied, error = origin.url("varied", vary="Accept-Language"), origin.url("error", status=404, cc="-")
    unsent, private = origin.url("unsent"), origin.url("private", cc="private")
    german, english = ["Accept-Language: de"], ["Accept-Language: en"]
    again = ("TCP_MISS", "TCP_CLIENT_REFRESH_MISS")
    revalidated = ("TCP_REFRESH_UNMODIFIED", "TCP_REFRESH_MODIFIED")
    cases = [
        case(common, "absent", "TCP_MISS"),
        case(common, "-", "TCP_MEM_HIT"),
        case(common, "no_cache", *again, headers=["Cache-Control: no-cache"]),
        case(common, "no_cache", *again, headers=["Pragma: no-cache"]),
        case(common, "reload", *revalidated, headers=["Cache-Control: max-age=0"]),
        case(common, "-", "TCP_MEM_HIT", headers=["Cache-Control: max-age=3000"]),
        case(old, "absent", "TCP_MISS"),
        case(old, "stale", *revalidated),
        case(varied, "absent", "TCP_MISS", headers=german),
        case(varied, "-", "TCP_MEM_HIT", headers=german),
        case(varied, "vary", "TCP_MISS", headers=english),
        case(varied, "-", "TCP_MEM_HIT", headers=english),
        case(varied, "no_cache", *again, headers=english + ["Cache-Control: no-cache"]),
        case(origin.url("posted"), "method", "TCP_MISS", method="POST"),
        case(origin.url("posted"), "absent", "TCP_MISS"),
        case(origin.url("not-cached"), "cache_deny", "TCP_MISS"),
        case(origin.url("not-cached"), "cache_deny", "TCP_MISS"),
        case(private, "uncacheable", "TCP_MISS"),
        case(private, "uncacheable", "TCP_MISS"),
        case(error, "absent", "TCP_MISS"),
        case(error, "negative", "TCP_NEGATIVE_HIT"),
        case(unsent, "absent", "TCP_MISS"),
        case(unsent, "unusable", "TCP_MISS"),
        case(origin.url("moved"), "-", "TCP_DENIED"),
        case(origin.url("headed"), "absent", "TCP_MISS", method="HEAD"),
        case(origin.url("only"), "absent", "TCP_MISS", headers=["Cache-Control: only-if-cached"]),
    ]
    ask(squid, cases)
    squid.stop()
    check_reasons(env, squid, cases)


def reloads(env):
    """Where squid.conf has reload-into-ims, Squid looks for an entry whatever the client says."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
cache_mem 16 MB
refresh_pattern into-ims 0 20% 4320 reload-into-ims
refresh_pattern ignored 0 20% 4320 ignore-reload
""").start()
    reload = ["Cache-Control: no-cache"]
    into, ignored, other = origin.url("into-ims", etag="i"), origin.url("ignored"), origin.url("other")
    cases = [
        case(into, "absent", "TCP_MISS"),
        case(into, "reload", "TCP_REFRESH_UNMODIFIED", headers=reload),
        case(ignored, "absent", "TCP_MISS"),
        case(ignored, "-", "TCP_MEM_HIT", headers=reload),
        case(other, "absent", "TCP_MISS"),
        case(other, "reload", "TCP_CLIENT_REFRESH_MISS", "TCP_MISS", headers=reload),
    ]
    ask(squid, cases)
    squid.stop()
    check_reasons(env, squid, cases)


# ---- delay pools ----

RATE = 100000  # bytes a second
POOLS = """
acl slowed urlpath_regex slowed
delay_pools 2
delay_class 1 1
delay_parameters 1 -1/-1
delay_access 1 allow !slowed
delay_access 1 deny all
delay_class 2 1
delay_parameters 2 {rate}/{rate}
delay_access 2 allow slowed
delay_access 2 deny all
""".format(rate=RATE)


def read_slowly(address, url, tag, pause):
    """Leaves what comes unread for a while, and then takes it all; returns the seconds in all."""
    client = Client(address)
    client.socket = socket.socket()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.socket.settimeout(30)
    client.socket.connect(address)
    begin = time.monotonic()
    client.socket.sendall(client.head("GET", url, tag))
    time.sleep(pause)
    client.receive()
    client.close()
    return time.monotonic() - begin


def pools_by_hold(env, squid, row):
    """Each SERVER_HELD of a request: the number of its pool, and ns until the next bytes from the server."""
    both = "--where=event == SERVER_HELD or event == SERVER_READ"
    events = [event for event in dump.table(env, squid.directory, "events", both) if event["id"] == row["xid"]]
    return [(event["aux"], seconds_ns(after["time_s"]) - seconds_ns(event["time_s"]))
            for event, after in zip(events, events[1:]) if event["event"] == "SERVER_HELD"]


def delay_pool(env):
    """A pool of known rate holds back what is above it; a client that does not read is no pool.

    The pool gets RATE bytes each second and is empty at first: 3.5 times that much arrives in the fourth second, or in
    the fifth, as Squid counts whole seconds by the wall clock and may miss one.  When the pool has bytes, Squid reads
    64 kB at once, and for some us it waits until the client has taken them: holds without a pool."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines=POOLS).start()
    took = {}
    with Client(squid.client_address()) as client:
        client.request(origin.url("warm"), "warm")
        for tag, size in (("slowed", 7 * RATE // 2), ("free", 4 * RATE)):
            took[tag] = client.request(origin.url(tag, size=size), tag).seconds * 1e9
    read_slowly(squid.client_address(), origin.url("lazy", size=20000000), "lazy", 1.5)
    squid.stop()
    found = rows.check_run(env, squid)
    slowed, free, lazy = (found[tag][1] for tag in ("slowed", "free", "lazy"))
    late = env.held.during(slowed)
    env.check(2500 * MS < took["slowed"] < 5500 * MS + late,
              "3.5 s worth of bytes took %.0f ms" % (took["slowed"] / MS))
    env.check(abs(slowed.ns("held_back_ns") - took["slowed"]) < 0.05 * took["slowed"] + late,
              "held back %.0f of %.0f ms: %s" % (slowed.ns("held_back_ns") / MS, took["slowed"] / MS, rows.brief(slowed)))
    env.equal(free["held_back_ns"], "-", "held_back of what no pool limits")
    env.equal(lazy["held_back_ns"], "-", "held_back of a client that does not read")
    env.check(lazy.ns("proxy_reply_ns") + lazy.ns("reply_wait_ns") > 1000 * MS, "a lazy client: %s" % rows.brief(lazy))
    holds = pools_by_hold(env, squid, slowed)
    env.equal({pool for pool, ns in holds if ns > 100 * MS + late}, {"2"}, "pools of long SERVER_HELD")
    env.check({pool for pool, _ in holds} <= {"0", "2"}, "pools of SERVER_HELD: %s" % holds)
    by_pool, charged = sum(ns for pool, ns in holds if pool == "2"), slowed.ns("held_back_ns")
    env.check(0 <= by_pool - charged < 0.01 * by_pool + late,  # what still goes to the client counts as proxy_reply
              "held_back_ns is %d, and from SERVER_HELD of pool 2 to SERVER_READ are %d" % (charged, by_pool))
    env.equal({pool for pool, _ in pools_by_hold(env, squid, lazy)}, {"0"}, "pool of a client that does not read")
    pools = figure(env, squid, "held-back")
    env.equal([(row["pool"], row["count"]) for row in pools], [("2", "1")], "pools that held back")
    env.equal(int(float(pools[0]["held_s"]) * 1e9 + 0.5), slowed.ns("held_back_ns"), "held back by pool 2")


# ---- tries that fail ----

DROPPED = 300  # ms


def closed_connections(env):
    """An origin that takes a request on a kept connection, and closes it after a while."""
    origin = Origin(env)
    squid = Squid(env, trace="names=servers", dns=origin.host, lines="cache deny all").start()
    with Client(squid.client_address()) as client:
        for n in range(4):
            client.request(origin.url("kept%d" % n), "kept-%d" % n)
            client.request(origin.url("dropped%d" % n, drop=DROPPED, hdr=40), "dropped-%d" % n)
    entries = origin.entries()
    squid.stop()
    found = rows.check_run(env, squid)
    for n in range(4):
        line, row = found["dropped-%d" % n]
        name = "dropped-%d" % n
        env.equal(int(row["tries"]), 2, name + ": tries")
        if line.tries is not None:  # 5.7 does not log it
            env.equal(line.tries, 2, name + ": %request_attempts")
        rows.check_stage(env, row, "failed_tries_ns", DROPPED * MS, 15 * MS, name)
        served = entries[name]["header_sent"] - entries[name]["received"]
        rows.check_stage(env, row, "server_wait_ns", served, 5 * MS, name)
        rows.check_no_other(env, row, ("failed_tries_ns", "server_wait_ns"), name)
        env.equal(row["reused_conn"], "0", name + ": the last try's connection")
        env.equal(found["kept-%d" % n][1]["failed_tries_ns"], "-", "failed_tries of a request with one try")
    waterfall = figure(env, squid, "waterfall")
    longest = max(waterfall, key=lambda row: float(row["busy_ms"]))
    env.equal(longest["name"], "failed_tries", "the longest stage of the slowest request")


# ---- followers ----

SLOW = 600  # ms


def follow(env, squid, url, count):
    """One fetches, and the others follow, 100 ms apart."""
    def one(n):
        with Client(squid.client_address()) as client:
            time.sleep(0.1 * n)
            client.request(url, "f%d" % n)
    at_once(count, one)
    time.sleep(0.2)
    squid.stop()
    found = rows.check_run(env, squid)
    return [found["f%d" % n][1] for n in range(count)]


def followers(env):
    """Followers wait for the leader's server."""
    origin = Origin(env)
    squid = Squid(env, trace="names=servers", dns=origin.host, lines="cache_mem 16 MB\ncollapsed_forwarding on").start()
    leader, *others = follow(env, squid, origin.url("one", hdr=SLOW, size=5000), 4)
    rows.check_stage(env, leader, "server_wait_ns", SLOW * MS, 15 * MS, "leader")
    env.equal(leader["collapsed_wait_ns"], "-", "the leader's collapsed_wait")
    for row in others:
        left = leader.begin_ns + leader.ns("total_ns") - row.begin_ns
        rows.check_stage(env, row, "collapsed_wait_ns", left, 30 * MS, "a follower")
        rows.check_no_other(env, row, ("collapsed_wait_ns",), "a follower")
        env.equal(row["miss_reason"], "-", "miss_reason of a follower")
    servers = figure(env, squid, "leader-stages")
    env.equal([(row["server"], row["count"]) for row in servers], [("%s:%d" % (origin.host, origin.port), "3")],
              "servers that followers waited for")
    waited = sum(row.ns("collapsed_wait_ns") for row in others)
    env.equal(int(float(servers[0]["total_s"]) * 1e9 + 0.5), waited, "time of all followers")
    env.check(float(servers[0]["server_wait_pct"]) > 90, "the leader waited for its server: %s" % servers[0])


def private_reply(env):
    """The reply is for the leader alone: its followers have waited for nothing, and fetch their own."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="cache_mem 16 MB\ncollapsed_forwarding on").start()
    leader, *others = follow(env, squid, origin.url("own", hdr=SLOW, cc="private"), 3)
    env.equal(leader["miss_reason"], "uncacheable", "the leader's miss_reason")
    for row in others:
        env.equal(row["miss_reason"], "unshareable", "miss_reason of a follower: %s" % rows.brief(row))
        rows.check_stage(env, row, "server_wait_ns", SLOW * MS, 15 * MS, "a follower on its own")
        env.check(row.ns("collapsed_wait_ns") > 200 * MS, "it followed before: %s" % rows.brief(row))


TESTS = [
    ("why a look-up is no hit", first(reasons), 60),
    ("clients that reload, where squid.conf has its own idea of that", first(reloads), 40),
    ("a delay pool of known rate", first(delay_pool), 60),
    ("an origin that closes kept connections", first(closed_connections), 60),
    ("followers of a slow leader", first(followers), 40),
    ("followers of a reply that is for one client", first(private_reply), 40),
]
