# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends before the end: clients that leave and servers that fail, at every stage."""

import collections
import os
import socket
import threading
import time

from lib import access, dump, native, rows, timeouts, versions
from lib.client import Client
from lib.clocks import MS
from lib.env import first, wait_for
from lib.helper import Helper
from lib.origin import Deaf, Origin
from lib.squid import Squid

# Where the client is when it leaves, by X-Tag: the stage that is open then, and what of the request it has sent.
LEAVES = ["helper", "redirect", "dns", "connect", "body", "server_wait", "server_reply", "proxy_reply", "tunnel",
          "swap_in"]


def begin(client, origin, deaf, stage):
    """Sends what makes a request be in that stage soon."""
    url = {"helper": origin.url("wait-acl-wait1000"), "redirect": origin.url("wait-rewrite-wait1000"),
           "dns": origin.url("x", host="d1000-%s.test" % client.name),
           "connect": "http://%s:%d/" % (origin.host, deaf.port),
           "body": origin.url("body"), "server_wait": origin.url("hdr", hdr=1000),
           "server_reply": origin.url("body", body=1000), "proxy_reply": origin.url("big", size=30000000),
           "swap_in": origin.url("stored", size=3000000),
           "tunnel": "%s:%d" % (origin.host, origin.echo_port)}[stage]
    if stage == "body":
        client.send(client.head("POST", url, stage, ["Content-Length: 1000"]) + b"x" * 10)
    else:
        client.send(client.head("CONNECT" if stage == "tunnel" else "GET", url, stage))


@first
def clients_leave(env):
    origin = Origin(env)
    if not origin.has_names:
        env.need_root("a name server listens on port 53 of a loopback address")
    deaf = Deaf(env, origin.host)
    acl, rewrite = Helper(env, "acl"), Helper(env, "rewrite")
    squid = Squid(env, trace="", dns=origin.host, dirs=["aufs"], lines="""
cache_mem 0 MB
maximum_object_size 8 MB
external_acl_type waits ttl=0 negative_ttl=0 children-max=1 %%URI %s
acl asked external waits
acl slow_acl urlpath_regex wait-acl
http_access deny slow_acl !asked
acl slow_rewrite urlpath_regex wait-rewrite
url_rewrite_program %s
url_rewrite_children 1 startup=1
url_rewrite_access allow slow_rewrite
quick_abort_min 0 KB
quick_abort_max 0 KB
""" % (acl.command, rewrite.command)).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("stored", size=3000000), "warm")
    time.sleep(0.3)
    for reset in (False, True):
        for stage in LEAVES:
            client = Client(squid.client_address())
            client.name = "reset" if reset else "end"
            client.open().setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            begin(client, origin, deaf, stage)
            if stage in ("proxy_reply", "tunnel", "swap_in"):
                client.fill()
            time.sleep(0.2 if stage != "proxy_reply" and stage != "swap_in" else 0.5)
            client.close(reset)
    for data in (b"", b"GET http://x"):  # nothing, and half a header
        client = Client(squid.client_address())
        client.open()
        if data:
            client.send(data)
            time.sleep(0.1)
        client.close()
    time.sleep(1.2)
    squid.stop()
    rows.check_run(env, squid)
    check_left(env, squid)


@first
def clients_leave_slow_stages(env):
    """The swap-in of a slow disk, and what a delay pool holds back: neither lasts long enough elsewhere to be left."""
    origin = Origin(env)
    slow = env.path("slow")
    os.chmod(env.folder, 0o755)
    squid = Squid(env, trace="", dns=origin.host, dirs=["aufs"], alone=True, preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "/cache-", "SLOWDISK_MS": "1000", "SLOWDISK_IF": slow}, lines="""
cache_mem 0 MB
acl slowed urlpath_regex slowed
delay_pools 1
delay_class 1 1
delay_parameters 1 20000/20000
delay_access 1 allow slowed
delay_access 1 deny all
""").start()
    # X-Tag: the URL and the stage in which its client leaves.
    leaves = {"slow_disk": (origin.url("stored", size=50000), "swap_in_first_ns"),
              "held_back": (origin.url("slowed", size=300000), "held_back_ns")}
    with Client(squid.client_address()) as client:
        client.request(leaves["slow_disk"][0], "warm")
    time.sleep(0.3)
    open(slow, "w").close()
    for reset in (False, True):
        for tag, (url, _) in leaves.items():
            client = Client(squid.client_address())
            client.send(client.head("GET", url, tag))
            time.sleep(0.5)
            client.close(reset)
            time.sleep(1)  # until the disk has answered, and the pool is full
    squid.stop()
    rows.check_run(env, squid)
    left = collections.Counter()
    for line, row in rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests")):
        if line.xtag in leaves:
            left[line.xtag] += 1
            stage = leaves[line.xtag][1]
            env.equal(row["outcome"], "aborted", "%s: outcome of %s" % (line.xtag, rows.brief(row)))
            env.check(100 * MS < row.ns(stage) <= 600 * MS + env.held.during(row), "%s: %s is %.1f ms: %s"
                      % (line.xtag, stage, row.ns(stage) / MS, rows.brief(row)))
    env.equal(left, dict.fromkeys(leaves, 2), "clients that left, by stage")


def check_left(env, squid):
    left = collections.Counter()
    for line, row in rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests")):
        stage = line.xtag
        if stage not in LEAVES:
            continue
        left[stage] += 1
        if stage == "tunnel":  # both ends may close a tunnel
            env.equal((row["class"], row["outcome"]), ("tunnel", "complete"), stage)
        else:
            env.equal(row["outcome"], "aborted", "%s: outcome of %s" % (stage, rows.brief(row)))
        column = {"body": "client_body_ns", "swap_in": "proxy_reply_ns"}.get(stage, stage + "_ns")
        env.check(row.ns(column) > 100 * MS, "%s: %s is %.1f ms: %s" % (stage, column, row.ns(column) / MS,
                                                                       rows.brief(row)))
    env.equal(left, dict.fromkeys(LEAVES, 2), "clients that left, by stage")


TIMEOUT_S = 2  # connect_timeout and read_timeout where servers fail


def server_cases(version, origin, deaf):
    """(X-Tag, URL, status or None for a cut reply, class, outcome, fate of the last connection)"""
    nameless = versions.status_without_address(version)
    cut_status, cut_outcome = versions.header_cut_short(version)
    cases = [
        ("refuses", "http://%s:1/" % origin.host, 503, "miss", "error", "error"),
        ("hangs", "http://%s:%d/" % (origin.host, deaf.port), 503, "miss", "timeout", "timeout"),
        ("says-nothing", origin.url("n", raw=""), 502, "miss", "error", "complete"),
        ("half-a-header", origin.url("h", raw="HTTP/1.1+200+OK\r\nContent-"), cut_status, "miss", cut_outcome,
         "complete"),
        ("garbage", origin.url("g", raw="cows"), 200, "miss", "complete", "complete"),  # HTTP/0.9
        ("too-late", origin.url("l", hdr=timeouts.longer_ms(TIMEOUT_S)), 504, "miss", "timeout", "complete"),
        ("cut", origin.url("c", size=50000, abort=20000), None, "miss", "aborted", "complete"),
        ("cut-by-reset", origin.url("r", size=50000, abort=20000, reset=1), None, "miss", "aborted", "complete"),
        ("cut-chunk", origin.url("k", size=50000, abort=20000, chunked=1), None, "miss", "aborted", "complete"),
        ("stops", origin.url("s", size=1000000, parts=2, gap=timeouts.longer_ms(TIMEOUT_S)), None, "miss", "timeout",
         "complete"),
        ("old-and-no-name", origin.url("o", host="nowhere.test"), nameless, "miss", "error", None),
    ]
    return [(tag, url, status, class_name, versions.fetch_failed(version, outcome, status), fate)
            for tag, url, status, class_name, outcome, fate in cases]


def servers_fail(env):
    origin = Origin(env)
    deaf = Deaf(env, origin.host)
    squid = Squid(env, trace="", dns=origin.host,
                  lines="connect_timeout %d seconds\nread_timeout %d seconds\nforward_timeout 5 seconds"
                  % (TIMEOUT_S, TIMEOUT_S)).start()
    cases = server_cases(squid.version(), origin, deaf)
    for tag, url, status, _, _, _ in cases:
        with Client(squid.client_address()) as client:
            client.send(client.head("GET", url.replace("\r\n", "%0D%0A"), tag))
            if status:
                env.equal(client.receive().status, status, "status of " + tag)
            else:
                drain(client)
    squid.stop()
    found = rows.check_run(env, squid)
    connections = dump.table(env, squid.directory, "connections")
    for tag, _, status, class_name, outcome, fate in cases:
        row = found[tag][1]
        env.equal((row["class"], row["outcome"]), (class_name, outcome), "class and outcome of %s" % tag)
        fates = [r["outcome"] for r in connections if r["xid"] == row["xid"]]
        env.equal(fates[-1] if fates else None, fate, "%s: fate of its last connection" % tag)
    for tag, column in (("hangs", "connect_ns"), ("too-late", "server_wait_ns"), ("stops", "server_reply_ns")):
        timeouts.check(env, found[tag][1], column, TIMEOUT_S, tag)


def drain(client):
    """Reads until the connection ends."""
    try:
        while client.socket.recv(1 << 16):
            pass
    except OSError:
        pass


@first
def retries(env):
    """Kept connections that the server drops: a try on each, then one on a new connection."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as client:
        for n in range(10):
            client.request(origin.url("keep%d" % n), "keep%d" % n)
            client.request(origin.url("again%d" % n, drop=1, hdr=30), "again%d" % n)
    entries = origin.entries()
    squid.stop()
    found = rows.check_run(env, squid)
    connections = dump.table(env, squid.directory, "connections")
    for n in range(10):
        line, row = found["again%d" % n]
        env.equal((row["tries"], row["outcome"]), ("2", "complete"), "tries and outcome of a retry")
        env.check(line.tries in (2, None), "a retry: %s" % line)
        mine = [r["reused"] for r in connections if r["xid"] == row["xid"]]
        env.equal(mine, ["1", "0"], "connections of a retry")
        entry = entries["again%d" % n]
        rows.check_stage(env, row, "server_wait_ns", entry["header_sent"] - entry["received"], 3 * MS, "a retry")


def servers_stall(env):
    """A POST whose server resets the connection while the client still sends."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    client = Client(squid.client_address())
    client.send(client.head("POST", origin.url("early", raw="", unread=1), "early", ["Content-Length: 1000000"]))
    try:
        for _ in range(20):
            client.send(b"x" * 1000)
            time.sleep(0.02)
        client.receive("POST")
    except Exception as error:  # the reply may come, or the connection may break first
        env.note("the client saw: %r" % error)
    client.close()
    wait_for(lambda: access.read(squid), 10, "a line in access.log")
    squid.stop()
    row = rows.check_run(env, squid)["early"][1]
    env.check(row["outcome"] in ("error", "aborted"), "a POST whose server failed: %s" % rows.brief(row))


class Refuser:
    """A proxy that answers every request, and every CONNECT, with a 503."""

    def __init__(self, env, host):
        self.listener = socket.create_server((host, 0))
        self.port = self.listener.getsockname()[1]
        self.seen = 0
        threading.Thread(target=self.serve, daemon=True).start()
        env.on_close(self.listener.close)

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                peer.close()
                self.seen += 1
            except OSError:
                return


def next_peer(env):
    """A parent that refuses, then another destination: a request and a CONNECT."""
    origin = Origin(env)
    refuser = Refuser(env, origin.host)
    squid = Squid(env, trace="", dns=origin.host, lines="""
cache_peer %s parent %d 0 no-query no-digest default name=refuser
nonhierarchical_direct off
prefer_direct off
retry_on_error on
""" % (origin.host, refuser.port)).start()
    with Client(squid.client_address()) as client:
        env.equal(client.request(origin.url("again"), "again").status, 200, "a request that a parent refused")
    with Client(squid.client_address()) as client:
        _, echoed = client.tunnel("%s:%d" % (origin.host, origin.echo_port), "tunnel")
        env.equal(echoed, 100, "a CONNECT that a parent refused")
    env.check(refuser.seen >= 2, "the parent was asked only %d times" % refuser.seen)
    time.sleep(0.2)
    squid.stop()
    found = rows.check_run(env, squid)
    connections = dump.table(env, squid.directory, "connections")
    for tag, class_name in (("again", "miss"), ("tunnel", "tunnel")):
        row = found[tag][1]
        env.equal((row["class"], row["outcome"], row["tries"]), (class_name, "complete", "2"), tag)
        kinds = [r["peer_kind"] for r in connections if r["xid"] == row["xid"]]
        env.check("parent" in kinds and "direct" in kinds, "%s: connections to %s" % (tag, kinds))


def failed_accept(env):
    """accept fails: the line that Squid logs about it has a row."""
    origin = Origin(env)
    switch = env.path("fail")
    squid = Squid(env, trace="", dns=origin.host, alone=True, preload=native.preload(env, "failaccept"),
                  environment={"FAILACCEPT": switch}).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("before"), "before")
        open(switch, "w").close()
        with socket.create_connection(squid.client_address()):
            wait_for(lambda: [line for line in access.read(squid) if "accept-client" in line.url], 20,
                     "a line about a failed accept")
    squid.stop()
    found = rows.check_run(env, squid)
    env.check("before" in found, "the request before it has no row")
    env.check([row for row in dump.table(env, squid.directory, "requests") if row["xid"] == "-"],
              "a failed accept has no row")


TESTS = [
    ("clients leave at every stage", clients_leave, 60),
    ("clients leave in slow stages", clients_leave_slow_stages, 40),
    ("servers fail at every stage", servers_fail, 60),
    ("retries on kept connections", retries, 40),
    ("a parent that refuses, then another destination", next_peer, 40),
    ("a failed accept", failed_accept, 40),
    ("a server that fails while the client sends", servers_stall, 40),
]
