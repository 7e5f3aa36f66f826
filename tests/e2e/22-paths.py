# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths that a request can take besides hit and miss: each has its row, its class and outcome, and its time."""

import os
import socket
import threading
import time

from lib import dump, rows, versions
from lib.client import Broken, Client
from lib.clocks import MS
from lib.env import first
from lib.origin import Deaf, Origin
from lib.squid import Squid

CONF = """
acl purge method PURGE
http_access allow purge
acl unforwarded urlpath_regex unforwarded
miss_access deny unforwarded
acl untunneled dstdomain untunneled.test
miss_access deny untunneled
acl unsaid urlpath_regex unsaid
http_reply_access deny unsaid
acl by_name urlpath_regex by-name
acl named {look_up} .named.test
http_access deny by_name named
cache_mem 16 MB
"""


def own_cases(squid, origin):
    """(X-Tag, method, URL, header lines, status, class, outcome, tag) of replies without a server."""
    own = "http://e2e.test:%d" % squid.port
    cached = origin.url("cached", size=1000, etag="c")
    version = squid.version()
    via = "Via: 1.1 e2e.test (squid/%s)" % version
    purged, nameless = versions.tag_of_purge(version), versions.status_without_address(version)
    failed = versions.tag_of_failed_fetch(version, "TCP_MISS_ABORTED")
    return [
        ("fetch", "GET", cached, (), 200, "miss", "complete", "TCP_MISS"),
        ("hit", "GET", cached, (), 200, "mem_hit", "complete", "TCP_MEM_HIT"),
        ("match", "GET", cached, ['If-Match: "d"'], 412, "mem_hit", "complete", "TCP_HIT"),
        ("range", "GET", cached, ["Range: bytes=10-19"], 206, "mem_hit", "complete", "TCP_MEM_HIT"),
        ("purge", "PURGE", cached, (), 200, "internal", "complete", purged),
        ("purge-again", "PURGE", cached, (), 404, "internal", "complete", purged),
        ("manager", "GET", own + "/squid-internal-mgr/info", (), 200, "internal", "complete", "TCP_MISS"),
        ("no-page", "GET", own + "/squid-internal-mgr/cows", (), 404, "internal", "complete", "TCP_MISS"),
        ("icon", "GET", own + "/squid-internal-static/icons/SN.png", (), 200, "mem_hit", "complete", "TCP_HIT"),
        ("no-icon", "GET", own + "/squid-internal-static/icons/cow.png", (), 404, "internal", "complete", "TCP_MISS"),
        ("trace", "TRACE", origin.url("trace"), ["Max-Forwards: 0"], 200, "internal", "complete", "NONE_NONE"),
        ("only", "GET", origin.url("only"), ["Cache-Control: only-if-cached"], 504, "internal", "error", "TCP_MISS"),
        ("refused", "GET", origin.url("x").replace("/x/", "/refused/"), (), 403, "denied", "complete", "TCP_DENIED"),
        ("unforwarded", "GET", origin.url("unforwarded"), (), 403, "internal", "complete", "TCP_MISS"),
        ("unsaid", "GET", origin.url("unsaid"), (), 403, "denied", "complete", "TCP_DENIED_REPLY"),
        ("no-name", "GET", origin.url("n", host="nowhere.test"), (), nameless, "miss", "error", failed),
        ("no-port", "GET", "http://%s:1/" % origin.host, (), 503, "miss", "error", failed),
        ("urn", "GET", "urn:cow:1", (), 404, "miss", versions.fetch_failed(version, "aborted", 404), failed),
        ("odd", "BREW", origin.url("odd"), (), 200, "miss", "complete", "TCP_MISS"),
        ("options", "OPTIONS", origin.url("options"), (), 200, "miss", "complete", "TCP_MISS"),
        ("expects", "GET", origin.url("expects"), ["Expect: cows"], 417, "error", "error", "NONE_NONE"),
        ("no-tunnel", "CONNECT", "%s:1" % origin.host, (), 503) + versions.tunnel_that_is_none(version, "error"),
        ("untunneled", "CONNECT", "untunneled.test:443", (), 403) + versions.tunnel_that_is_none(version, "complete"),
        ("loop", "GET", origin.url("loop"), [via], 403, "internal", "complete", "TCP_MISS"),
    ]


def own_replies(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host)
    squid.lines = CONF.format(look_up=versions.acl_that_looks_up(squid.version()))
    squid.start()
    cases = own_cases(squid, origin)
    with Client(squid.client_address()) as client:  # first: nobody has looked up the names of both ends yet
        client.socket = socket.create_connection(squid.client_address(), 30, ("127.0.0.2", 0))
        env.equal(client.request(origin.url("by-name"), "by-name").status, 200, "status of by-name")
    for tag, method, url, headers, status, _, _, _ in cases:
        with Client(squid.client_address()) as client:
            got = client.request(url, tag, method, headers=list(headers))
            env.equal(got.status, status, "status of " + tag)
    with Client(squid.client_address()) as client:
        for bad in (b"GET http://x/\0 HTTP/1.1\r\n\r\n", b"GET cow://x/ HTTP/1.1\r\nHost: x\r\n\r\n"):
            client.send(bad)
            env.equal(client.receive().status, 400, "status of %r" % bad)
            client.close()
    squid.stop()
    found = rows.check_run(env, squid)
    for tag, method, _, _, status, class_name, outcome, code in cases:
        if not env.check(tag in found, "%s has no row" % tag):
            continue
        row = found[tag][1]
        env.equal((row["class"], row["outcome"], row["status"], row["method"]),
                  (class_name, outcome, str(status), method), "class, outcome, status and method of " + tag)
        env.equal(row["tag"], code, "tag of " + tag)
        env.check(row["reply_wait_ns"] != "-" and row["proxy_reply_ns"] != "-", "%s: a reply without reply_wait: %s"
                  % (tag, rows.brief(row)))
    env.check(found["by-name"][1]["dns_ns"] != "-", "the look-up of a name is nowhere: %s"
              % rows.brief(found["by-name"][1]))
    ready = dump.table(env, squid.directory, "events", "--where=event == REPLY_READY")
    for case in cases:
        row = found[case[0]][1]
        sources = [r["aux"] for r in ready if r["id"] == row["xid"]]
        # Of a reply that came from a server and may not go on, there are two.
        env.equal(len(sources), 2 if case[0] == "unsaid" else 1, "REPLY_READY of %s" % case[0])
    env.equal(sorted(row["class"] for _, row in found[None]), [], "rows of requests with ids but without X-Tag")
    by = {r["xid"]: r["denied_by"] for r in dump.table(env, squid.directory, "requests", "--columns=xid,denied_by")}
    for case in cases:
        env.equal(by[found[case[0]][1]["xid"]], {"refused": "refused", "unsaid": "unsaid"}.get(case[0], "-"),
                  "the ACL that denied " + case[0])


@first
def held_back(env):
    """A delay pool: what it holds back is not the server's time."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
acl slowed urlpath_regex slowed
delay_pools 1
delay_class 1 1
delay_parameters 1 40000/20000
delay_access 1 allow slowed
delay_access 1 deny all
""").start()
    took = {}
    with Client(squid.client_address()) as client:
        client.request(origin.url("warm"), "warm")
        for tag, size in (("slowed", 90000), ("free", 90000)):
            took[tag] = client.request(origin.url(tag, size=size), tag).seconds * 1e9
    entries = origin.entries()
    squid.stop()
    found = rows.check_run(env, squid)
    env.check(took["slowed"] > 1000 * MS, "the pool held nothing back: %.0f ms" % (took["slowed"] / MS))
    for tag, wanted in took.items():
        row = found[tag][1]
        server = entries[tag]["body_sent"] - entries[tag]["received"]
        late = env.held.during(row)
        env.check(row.ns("server_wait_ns") + row.ns("server_reply_ns") < server + 50 * MS + late,
                  "%s: the server's stages are %s" % (tag, rows.brief(row)))
        held = row.ns("held_back_ns") + row.ns("reply_wait_ns") + row.ns("proxy_reply_ns")
        env.check(abs(held - (wanted - server)) < 60 * MS + late, "%s: held back %.0f ms, %.0f of it in the row: %s"
                  % (tag, (wanted - server) / MS, held / MS, rows.brief(row)))
    env.check(found["slowed"][1].ns("held_back_ns") > 0.9 * took["slowed"], "what a pool held back: %s"
              % rows.brief(found["slowed"][1]))


@first
def upgraded(env):
    """A 101, and bytes both ways after it."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="http_upgrade_request_protocols OTHER allow all").start()
    lasted = {}
    for tag, pause in (("up0", 0.1), ("up1", 0.25)):
        with Client(squid.client_address()) as client:
            client.send(client.head("GET", origin.url(tag, upgrade=1), tag, ["Connection: Upgrade", "Upgrade: echo"]))
            while b"\r\n\r\n" not in client.buffer:
                client.fill()
            begin = time.monotonic_ns()
            env.check(client.buffer.startswith(b"HTTP/1.1 101"), "%s: %r" % (tag, client.buffer[:40]))
            client.buffer = client.buffer.partition(b"\r\n\r\n")[2]
            client.send(b"x" * 1000)
            client.take(1000)
            time.sleep(pause)
            lasted[tag] = time.monotonic_ns() - begin
    time.sleep(0.2)
    squid.stop()
    found = rows.check_run(env, squid)
    for tag, wanted in lasted.items():
        row = found[tag][1]
        env.equal((row["status"], row["outcome"]), ("101", "complete"), tag)
        rows.check_stage(env, row, "tunnel_ns", wanted, 5 * MS, tag)


@first
def interim(env):
    """100 Continue and 103 are not the reply."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        client.send(client.head("POST", origin.url("continue", hdr=60), "continue",
                                ["Content-Length: 5", "Expect: 100-continue"]))
        while b"\r\n\r\n" not in client.buffer:
            client.fill()
        env.check(client.buffer.startswith(b"HTTP/1.1 100"), "no 100 Continue: %r" % client.buffer[:60])
        begin = time.monotonic_ns()
        time.sleep(0.15)
        waited = time.monotonic_ns() - begin
        client.send(b"hello")
        env.equal(client.receive("POST").status, 200, "POST after 100 Continue")
        client.request(origin.url("early", interim=1, hdr=60), "early")
    entries = origin.entries()
    squid.stop()
    found = rows.check_run(env, squid)
    rows.check_stage(env, found["continue"][1], "client_body_ns", waited, 5 * MS, "after a 100 Continue")
    for tag in ("continue", "early"):
        wanted = entries[tag]["header_sent"] - entries[tag]["received"]
        rows.check_stage(env, found[tag][1], "server_wait_ns", wanted, 2 * MS, tag)
        env.equal(found[tag][1]["status"], "200", tag + ": status")


@first
def two_families(env):
    """Happy Eyeballs: the first family hangs, or refuses; the other one serves."""
    origin = Origin(env)
    if not origin.has_names:
        env.need_root("a name server listens on port 53 of a loopback address")
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("refused", host="both-1.test", close=1), "refused")
        deaf = Deaf(env, "::1", origin.port)
        client.request(origin.url("hanging", host="both-2.test", close=1), "hanging")
        deaf.close()
    squid.stop()
    found = rows.check_run(env, squid)
    connections = dump.table(env, squid.directory, "connections")
    for tag, fate, lower, upper in (("refused", "error", 0, 200 * MS), ("hanging", "aborted", 240 * MS, 450 * MS)):
        row = found[tag][1]
        env.equal((row["status"], row["class"], row["outcome"]), ("200", "miss", "complete"), tag)
        mine = sorted((r for r in connections if r["xid"] == row["xid"]), key=lambda r: r["outcome"] == "complete")
        if not env.equal([r["outcome"] for r in mine], [fate, "complete"], tag + ": fates of its connections"):
            continue
        loser, winner = mine
        env.check(lower <= row.ns("connect_ns") < upper + env.held.during(row), "%s: connect_ns is %.1f ms"
                  % (tag, row.ns("connect_ns") / MS))
        if tag == "hanging":
            env.equal((loser["spare"], winner["spare"]), ("0", "1"), tag + ": spare")
            rows.check_stage(env, row, "connect_ns", loser.ns("connect_ns"), 10 * MS, "while the loser lasted")
        rows.check_no_other(env, row, ("connect_ns", "dns_ns"), tag, 60 * MS)


@first
def pinned(env):
    """Authentication of a connection ties the client's connection to the server's."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for tag in ("pin0", "pin1"):
            client.request(origin.url(tag, hdr=20), tag, headers=["Authorization: NTLM Y293cw=="])
        client.tunnel("%s:%d" % (origin.host, origin.port), "pin2", sizes=())
    squid.stop()
    found = rows.check_run(env, squid)
    connections = dump.table(env, squid.directory, "connections")
    for tag, kind in (("pin0", "direct"), ("pin1", "pinned"), ("pin2", "pinned")):
        row = found[tag][1]
        env.equal([r["peer_kind"] for r in connections if r["xid"] == row["xid"]], [kind], "connection of " + tag)
    row = found["pin1"][1]
    env.equal((row["reused_conn"], row["connect_ns"], row["outcome"]), ("1", "-", "complete"), "pin1")


@first
def chunked_bodies(env):
    """A chunked body whose end comes late, and one that breaks while the server waits for it."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    waited = {}
    for tag, last in (("late", b"0\r\n\r\n"), ("broken", b"cows\r\n")):
        with Client(squid.client_address()) as client:
            client.send(client.head("POST", origin.url(tag), tag, ["Transfer-Encoding: chunked"])
                        + b"5\r\nhello\r\n")
            begin = time.monotonic_ns()
            time.sleep(0.15)
            waited[tag] = time.monotonic_ns() - begin
            client.send(last)
            try:
                client.receive("POST")
            except (Broken, OSError) as error:
                env.note("%s: %r" % (tag, error))
    time.sleep(0.2)
    squid.stop()
    found = rows.check_run(env, squid)
    env.equal(found["late"][1]["outcome"], "complete", "a body that ends late")
    env.check(found["broken"][1]["outcome"] in (versions.fetch_failed(squid.version(), "aborted", None), "error"),
              "a broken body: %s" % rows.brief(found["broken"][1]))
    for tag, wanted in waited.items():
        rows.check_stage(env, found[tag][1], "client_body_ns", wanted, 5 * MS, tag)


PAUSE = 0.4
UPLOAD = b"u" * 12000000  # more than sockets hold


def slow_server(listener, slept):
    """Is late with its first bytes, pauses in the middle of a TLS record, and takes an upload late; pauses between two whole
    records and before the end do not count."""
    def pause(what):
        begin = time.monotonic_ns()
        time.sleep(PAUSE)
        slept[what] = slept.get(what, 0) + time.monotonic_ns() - begin
    server, _ = listener.accept()
    with server:
        server.recv(100)
        pause("first")
        server.sendall(b"\x16\x03\x03\0\x04abcd")
        pause("idle")
        server.sendall(b"\x17\x03\x03\x10\0" + b"x" * 2096)
        pause("rest")
        server.sendall(b"x" * 2000)
        pause("unsent")
        left = len(UPLOAD)
        while left > 0:
            left -= len(server.recv(100000))
        server.sendall(b"\x17\x03\x03\0\x01a")


@first
def through_tunnels(env):
    """What TUNNEL_END knows of what went through: as the server slept, and as a delay pool held back."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
acl held port %d
delay_pools 1
delay_class 1 1
delay_parameters 1 40000/40000
delay_access 1 allow held
delay_access 1 deny all
""" % origin.echo_port).start()
    slept, listener = {}, socket.create_server((origin.host, 0))
    env.on_close(listener.close)
    serves = threading.Thread(target=slow_server, args=(listener, slept), daemon=True)
    serves.start()
    with Client(squid.client_address()) as client:
        client.send(client.head("CONNECT", "%s:%d" % listener.getsockname(), "slow"))
        env.equal(client.receive("CONNECT").status, 200, "status of the slow tunnel")
        time.sleep(PAUSE)  # the server does not wait for its client before it says something
        client.send(b"hello")
        client.take(9 + 5 + 2096 + 2000)
        client.send(UPLOAD)
        client.take(6)
        time.sleep(PAUSE)
    serves.join(30)
    with Client(squid.client_address()) as client:
        _, echoed = client.tunnel("%s:%d" % (origin.host, origin.echo_port), "held", sizes=(100000,))
        env.equal(echoed, 100000, "bytes that came back")
    time.sleep(0.2)
    squid.stop()
    found = rows.check_run(env, squid)
    columns = ("first", "held", "unsent", "rest")
    asked = {r["xid"]: r for r in dump.table(env, squid.directory, "requests", "--columns=xid," +
                                             ",".join("tunnel_%s_ns" % column for column in columns))}
    row = asked[found["slow"][1]["xid"]]
    for column, wanted in (("first", slept["first"]), ("held", 0), ("unsent", slept["unsent"]), ("rest", slept["rest"])):
        got = int(row["tunnel_%s_ns" % column])
        late = 150 * MS if column == "unsent" else 20 * MS  # what was sent before the pause waits, and the rest needs its time
        env.check(-50 * MS < got - wanted < late + env.held.during(found["slow"][1]), "tunnel_%s_ns is %.0f ms, and the server slept %.0f"
                  % (column, got / MS, wanted / MS))
    held = int(asked[found["held"][1]["xid"]]["tunnel_held_ns"])
    env.check(1000 * MS < held < found["held"][1].ns("tunnel_ns"), "of 100 KB at 40 KB/s a pool held back %.0f ms" % (held / MS))
    pools = dump.table(env, squid.directory, "events", "--where=event == PART_TUNNEL_HELD and arg > 0")
    env.equal([r["aux"] for r in pools], ["1"], "pools of PART_TUNNEL_HELD")


def bytes_of(field, size):
    """Of a field Range in access.log, and the size of the object: (how many bytes it asks for, how RANGE says that)."""
    total, begins = 0, []
    for part in field[len("bytes="):].split(","):
        first, last = part.split("-")
        total += int(last) if not first else (int(last) if last else size - 1) - int(first) + 1
        begins += [int(first)] if not last else []
    return total, (begins[0], 1) if begins else (total, 0)


def ranges(env):
    """What clients ask for with Range, as access.log has the field; the server ignores it, and the cache does not."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host)
    squid.lines = "logformat ranges %master_xaction %{Range}>h %>Hs\naccess_log stdio:{folder}/ranges.log logformat=ranges"
    squid.start()
    size = 5000
    stored = origin.url("stored", size=size)
    with Client(squid.client_address()) as client:
        client.request(stored, "whole")
        for n, field in enumerate(("10-19", "900-", "-50", "0-", "0-9,100-119", "0-9,4000-")):
            for url, status in ((origin.url("other%d" % n, size=size, cc="no-store"), 200), (stored, 206)):
                got = client.request(url, "range%d-%d" % (n, status), headers=["Range: bytes=" + field])
                env.equal(got.status, status, "status of " + field)
        client.request(origin.url("bad", size=size), "bad", headers=["Range: cows=1-2"])
        client.request(origin.url("post"), "post", "POST", headers=["Range: bytes=1-2"])
    squid.stop()
    found = rows.check_run(env, squid)
    events = {r["id"]: (int(r["arg"]), int(r["aux"])) for r in dump.table(env, squid.directory, "events",
                                                                         "--where=event == RANGE")}
    asked = {r["xid"]: r["range_bytes"] for r in dump.table(env, squid.directory, "requests", "--columns=xid,range_bytes")}
    with open(os.path.join(squid.folder, "ranges.log")) as log:
        lines = [line.split() for line in log]
    env.equal(len(lines), 15, "lines of the log of ranges")
    wholes = 0
    for xid, field, status in lines:
        if not field.startswith("bytes=") or xid == found["post"][1]["xid"]:
            env.equal((events.get(xid), asked[xid]), (None, "-"), "range of a request with %s" % field)
            continue
        total, wanted = bytes_of(field, size)
        known = status == "200" or not wanted[1]
        wholes += status == "200"
        env.equal(events.get(xid), wanted, "RANGE of " + field)
        env.equal(asked[xid], str(total) if known and wanted[1] == 0 else str(size - wanted[0]) if known else "-",
                  "range_bytes of %s, status %s" % (field, status))
    env.check(wholes >= 6, "%d of 6 ranges were answered with all by the server" % wholes)


TESTS = [
    ("replies that Squid makes itself: class, outcome, method, one reply", own_replies, 60),
    ("a delay pool", held_back, 60),
    ("Upgrade", upgraded, 40),
    ("100 Continue and 103", interim, 40),
    ("both families", two_families, 40),
    ("pinned connections", pinned, 40),
    ("chunked bodies that end late or break", chunked_bodies, 40),
    ("ranges that clients ask for", ranges, 40),
    ("what goes through tunnels", through_tunnels, 40),
]
