# SPDX-License-Identifier: GPL-2.0-or-later
"""A delay that is put somewhere shows in the stage that is named after it, and in no other."""

import os
import time

from lib import access, dump, versions
from lib.client import Client
from lib.clocks import MS, Agreement
from lib.env import first
from lib.origin import Origin
from lib.rows import check_no_other, check_stage, check_sums
from lib.squid import Squid

def traced(env, squid):
    """{X-Tag: (line, row)} after a clean stop."""
    squid.stop()
    rows = dump.table(env, squid.directory, "requests")
    check_sums(env, rows)
    by_key = {(row["kid"], row["xid"]): row for row in rows}
    return {line.xtag: (line, by_key[str(line.kid), str(line.xid)]) for line in access.read(squid)
            if (str(line.kid), str(line.xid)) in by_key}


def origin_delays(env):
    """The origin's own clock against server_wait_ns and server_reply_ns, on first and on reused connections."""
    count = 200 if env.full else 30
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for kind in ("first", "reused"):
            client.request(origin.url("warm" + kind, close=1) if kind == "first" else origin.url("warm"), "warm")
            for n in range(count):
                want = {"hdr": 150, "body": 250, "size": 3000}
                if kind == "first":
                    want["close"] = 1
                client.request(origin.url("%s%d" % (kind, n), **want), "%s-%d" % (kind, n))
    entries = origin.entries()
    found = traced(env, squid)
    off = Agreement(env)
    for kind in ("first", "reused"):
        for n in range(count):
            tag = "%s-%d" % (kind, n)
            if not env.check(tag in found and tag in entries, "request %s is nowhere" % tag):
                continue
            row, entry = found[tag][1], entries[tag]
            env.equal(entry["nth"] > 1, kind == "reused", "%s: the origin saw a used connection" % tag)
            env.equal(row["reused_conn"], "1" if kind == "reused" else "0", tag + ": reused_conn")
            for stage, begin, end in (("server_wait_ns", "received", "header_sent"),
                                      ("server_reply_ns", "header_sent", "body_sent")):
                off.add("%s connections: %s" % (kind, stage), tag, row.ns(stage), entry[end] - entry[begin],
                        entry[begin], entry[end])
            check_no_other(env, row, ("server_wait_ns", "server_reply_ns"), tag)
            if kind == "reused":
                env.equal([row[stage] for stage in ("dns_ns", "connect_ns", "tls_ns")], ["-"] * 3,
                          tag + ": stages of a kept connection")
    off.check(count)


def interim_answer(env):
    """A 103 does not end server_wait."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for n in range(5):
            client.request(origin.url("i%d" % n, hdr=100, interim=1, body=50), "i%d" % n)
    entries = origin.entries()
    found = traced(env, squid)
    for n in range(5):
        row, entry = found["i%d" % n][1], entries["i%d" % n]
        check_stage(env, row, "server_wait_ns", entry["header_sent"] - entry["received"], 2 * MS, "after a 103")
        check_stage(env, row, "server_reply_ns", entry["body_sent"] - entry["header_sent"], 2 * MS, "after a 103")


def slow_post(env):
    """A client that sends its body slowly."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    paused = {}
    for n, pauses in enumerate(([0.2, 0.3], [0.4], [0.1, 0.1, 0.1])):
        with Client(squid.client_address()) as client:
            tag = "post%d" % n
            client.send(client.head("POST", origin.url(tag, size=10), tag, ["Content-Length: %d" % (50 * len(pauses))]))
            begin = time.monotonic_ns()
            for pause in pauses:
                time.sleep(pause)
                last = time.monotonic_ns()
                client.send(b"p" * 50)
            paused[tag] = last - begin
            env.equal(client.receive("POST").status, 200, tag)
    entries = origin.entries()
    found = traced(env, squid)
    for tag, wanted in paused.items():
        row = found[tag][1]
        check_stage(env, row, "client_body_ns", wanted, 5 * MS, tag)
        check_no_other(env, row, ("client_body_ns",), tag)
        env.check(entries[tag]["method"] == "POST", tag + " did not reach the origin")


def slow_tunnel(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    lasted = {}
    for n, pause in enumerate((0.1, 0.3)):
        with Client(squid.client_address()) as client:
            tag = "tunnel%d" % n
            client.send(client.head("CONNECT", "%s:%d" % (origin.host, origin.echo_port), tag))
            env.equal(client.receive("CONNECT").status, 200, tag)
            begin = time.monotonic_ns()
            client.send(b"x" * 1000)
            client.take(1000)
            time.sleep(pause)
            lasted[tag] = time.monotonic_ns() - begin
    time.sleep(0.2)
    found = traced(env, squid)
    for tag, wanted in lasted.items():
        row = found[tag][1]
        check_stage(env, row, "tunnel_ns", wanted, 5 * MS, tag)
        check_no_other(env, row, ("tunnel_ns",), tag)
        env.equal(row["class"], "tunnel", tag + ": class")


def slow_names(env):
    """A name server that takes its time."""
    origin = Origin(env)
    if not origin.has_names:
        env.need_root("a name server listens on port 53 of a loopback address")
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for n in range(3):
            client.request(origin.url("n", host="d150-%d.test" % n), "dns%d" % n)
        client.request(origin.url("n", host="nowhere.test"), "nowhere")
    found = traced(env, squid)
    for n in range(3):
        row = found["dns%d" % n][1]
        check_stage(env, row, "dns_ns", 150 * MS, 6 * MS, "dns%d" % n)
        check_no_other(env, row, ("dns_ns",), "dns%d" % n)
    env.equal(found["nowhere"][0].status, versions.status_without_address(squid.version()),
              "a name that does not exist")
    env.check(found["nowhere"][1]["dns_ns"] != "-", "a failed look-up has no dns_ns")


def slow_reader(env):
    """A client that does not read: the time is proxy_reply's."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="cache_mem 64 MB\nmaximum_object_size_in_memory 32 MB").start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("big", size=20000000), "warm")
        client.send(client.head("GET", origin.url("big", size=20000000), "slow"))
        client.fill()
        time.sleep(0.4)
        env.equal(client.receive().body_size, 20000000, "the slow reader's body")
    row = traced(env, squid)["slow"][1]
    env.check(400 * MS > row.ns("proxy_reply_ns") > 380 * MS or row.ns("proxy_reply_ns") >= 400 * MS,
              "proxy_reply_ns is %.3f ms" % (row.ns("proxy_reply_ns") / MS))
    check_no_other(env, row, ("proxy_reply_ns",), "slow reader", 50 * MS)


def slow_rewriter(env):
    """A url_rewrite_program that takes 100 ms."""
    helper = env.path("rewrite")
    with open(helper, "w") as out:
        out.write("#!/bin/sh\nwhile read -r line; do sleep 0.1; echo ERR; done\n")
    os.chmod(helper, 0o755)
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="url_rewrite_program %s\nurl_rewrite_children 1 startup=1\n"
                  % helper).start()
    with Client(squid.client_address()) as client:
        for n in range(3):
            client.request(origin.url("r%d" % n), "r%d" % n)
    found = traced(env, squid)
    for n in range(3):
        row = found["r%d" % n][1]
        check_stage(env, row, "redirect_ns", 112 * MS, 12 * MS, "rewriter")
        check_no_other(env, row, ("redirect_ns",), "rewriter")


def retried(env):
    """An origin that drops a kept connection: a second try, and its stages add to the same columns."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("keep"), "keep")
        client.request(origin.url("again", drop=1, hdr=100), "again")
    entries = origin.entries()
    found = traced(env, squid)
    line, row = found["again"]
    env.equal((2 if line.tries is None else line.tries, row["tries"]), (2, "2"), "tries")
    env.equal(row["outcome"], "complete", "outcome")
    check_stage(env, row, "server_wait_ns", entries["again"]["header_sent"] - entries["again"]["received"], 2 * MS, "retry")
    connections = [r for r in dump.table(env, squid.directory, "connections") if r["xid"] == row["xid"]]
    env.equal(sorted(r["reused"] for r in connections), ["0", "1"], "connections of the retried request")


TESTS = [
    ("an origin that delays header and body, first and reused connections", first(origin_delays), 210),
    ("an interim answer does not end the wait", first(interim_answer), 40),
    ("a slow POST body", first(slow_post), 40),
    ("a tunnel", first(slow_tunnel), 40),
    ("a slow name server", first(slow_names), 40),
    ("a slow reader", first(slow_reader), 40),
    ("a slow rewriter", first(slow_rewriter), 40),
    ("a retried request", first(retried), 40),
]
