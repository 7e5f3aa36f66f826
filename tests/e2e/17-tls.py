# SPDX-License-Identifier: GPL-2.0-or-later
"""TLS on either side of Squid: rows and lines agree, and handshakes and tunnels last as long as their far ends say."""

import collections
import os
import random
import ssl
import time

from lib import access, dump, rows, timeouts
from lib.built import built_with
from lib.client import Broken, Client, at_once
from lib.clocks import MS, Agreement
from lib.env import alone, first, free_port, wait_for
from lib.origin import Origin
from lib.proc import listening
from lib.squid import Squid
from lib.tls import Certificates, FarEnds, secure

NAME = "secure.test"
PEER = "peer.test"

# Ways to the far end: a CONNECT on the port of that name, unless there is none.
#   splice    at once            peek      after the client's hello     late   after the server's hello
#   bump      the client first   see       after the client's hello     stare  after the server's hello
#   asked     a tunnel through a parent    parent    bumped, through a parent
BUMPED, SPLICED = ("bump", "see", "stare", "parent"), ("splice", "peek", "late")
TUNNELS = ("plain", "asked") + SPLICED
NO_CONNECT = ("https", "origin", "peer")
MODES = BUMPED + TUNNELS + NO_CONNECT

CONF = """
tls_outgoing_options cafile={ca}.crt
acl through_parent myportname parent asked
acl to_peer dstdomain {peer}
cache_peer {host} parent {proxy} 0 no-query no-digest name=parent
cache_peer {host} parent {tls} 0 no-query no-digest originserver tls tls-cafile={ca}.crt tls-domain={name} name=tlspeer
cache_peer_access parent allow through_parent
cache_peer_access parent deny all
cache_peer_access tlspeer allow to_peer
cache_peer_access tlspeer deny all
never_direct allow through_parent
never_direct allow to_peer
http_upgrade_request_protocols echo allow all
"""
BUMP_CONF = """
acl at1 at_step SslBump1
acl at2 at_step SslBump2
acl on_splice myportname splice
acl on_peek myportname peek
acl on_late myportname late
acl on_bump myportname bump parent
acl on_see myportname see
acl on_stare myportname stare
ssl_bump splice on_splice
ssl_bump peek on_peek at1
ssl_bump splice on_peek
ssl_bump peek on_late at1
ssl_bump peek on_late at2
ssl_bump splice on_late
ssl_bump bump on_bump
ssl_bump peek on_see at1
ssl_bump bump on_see
ssl_bump stare on_stare at1
ssl_bump stare on_stare at2
ssl_bump bump on_stare
"""


def can_go(env, mode):
    """To bump, splice or peek takes a Squid with OpenSSL."""
    return mode not in BUMPED + SPLICED or built_with(env.squid, "openssl")


def ways(env, modes=MODES):
    """Those of the ways that the Squid under test can go."""
    cannot = [mode for mode in modes if not can_go(env, mode)]
    if cannot:
        env.leave_out("%s: to bump, splice or peek takes a Squid with OpenSSL" % " ".join(cannot))
    return [mode for mode in modes if mode not in cannot]


class Place:
    """An origin, far ends, and a Squid with a port for each way."""

    def __init__(self, env, *ends, tls="tls:0", proxy="proxy:0", more=""):
        self.env = env
        self.origin = Origin(env)
        self.certificates = Certificates(env, NAME, PEER, "127.0.0.1")
        self.context = self.certificates.context()
        # With GnuTLS Squid takes a ticket for an error: Debian's 5.7 answers ERR_READ_ERROR.
        self.far = FarEnds(env, self.origin, self.certificates, tls, proxy, *ends,
                           tickets=2 if built_with(env.squid, "openssl") else 0)
        self.squid = Squid(env, trace="", dns=self.origin.host)
        bumps = [mode for mode in BUMPED + SPLICED if can_go(env, mode)]
        self.ports = {mode: free_port() for mode in bumps + ["asked", "https"]}
        self.ports.update({mode: self.squid.port for mode in ("plain", "origin", "peer")})
        lines = [CONF.format(ca=self.certificates.ca, host=self.origin.host, proxy=self.far.ports[proxy],
                             tls=self.far.ports[tls], name=NAME, peer=PEER), BUMP_CONF if bumps else "", more]
        for mode in bumps:
            lines.append("http_port 127.0.0.1:%d ssl-bump name=%s tls-cert=%s generate-host-certificates=on"
                         % (self.ports[mode], mode, self.certificates.ca))
        lines.append("http_port 127.0.0.1:%d name=asked" % self.ports["asked"])
        lines.append("https_port 127.0.0.1:%d name=https tls-cert=%s" % (self.ports["https"], self.certificates.server))
        self.squid.lines = "\n".join(lines)
        with open(os.path.join(self.squid.folder, "hosts"), "a") as hosts:
            hosts.write("%s %s %s\n" % (self.origin.host, NAME, PEER))
        self.squid.start()
        wait_for(lambda: set(self.ports.values()) <= listening(), 20, "Squid to listen on its ports")

    def client(self, mode):
        return Client(("127.0.0.1", self.ports[mode]))

    def path(self, name, **want):
        return "/" + self.origin.url(name, **want).split("/", 3)[3]

    def request(self, mode, tag, end, **want):
        """One request on a connection of its own; returns when the tunnel was open, by the client's clock."""
        port = self.far.ports[end]
        path = self.path(tag, **want)
        opened = 0
        with self.client(mode) as client:
            if mode == "origin":
                response = client.request("https://%s:%d%s" % (NAME, port, path), tag)
            elif mode == "peer":
                response = client.request("http://%s%s" % (PEER, path), tag)
            elif mode == "https":
                secure(client, self.context, "127.0.0.1")
                response = client.request(self.origin.url(tag, **want), tag)
            else:
                self.connect(client, port, tag + "-c")
                opened = time.monotonic_ns()
                secure(client, self.context, NAME)
                client.send(("GET %s HTTP/1.1\r\nHost: %s:%d\r\nX-Tag: %s\r\n\r\n" % (path, NAME, port, tag)).encode())
                response = client.receive()
        self.env.equal(response.status, 200, "%s: status" % tag)
        self.env.equal(response.body_size, want.get("size", 100), "%s: size of the body" % tag)
        return opened

    def connect(self, client, port, tag):
        client.send(client.head("CONNECT", "%s:%d" % (NAME, port), tag))
        self.env.equal(client.receive("CONNECT").status, 200, "%s: status" % tag)

    def finish(self):
        """Stops Squid; checks what holds for every trace; sets lines, requests, pairs, attempts, by_tag, entries."""
        env = self.env
        time.sleep(0.2)
        self.squid.stop()
        self.lines = access.read(self.squid)
        self.requests = dump.table(env, self.squid.directory, "requests")
        self.attempts = dump.table(env, self.squid.directory, "connections")
        self.pairs = rows.join(env, self.lines, self.requests)
        rows.check_fields(env, self.pairs)
        rows.check_sums(env, self.requests)
        rows.check_order(env, self.requests)
        check_ends(env, self.squid)
        env.equal([row for row in self.requests + self.attempts if row["outcome"] in ("lost", "unfinished")], [],
                  "rows without an end")
        self.by_tag = {line.xtag: (line, row) for line, row in self.pairs}
        self.entries = {entry["tag"]: entry for entry in self.far.entries() if not entry["end"].startswith("proxy")}

    def row(self, tag):
        self.env.require(tag in self.by_tag, "no line of access.log has the tag " + tag)
        return self.by_tag[tag][1]

    def tunnel_row(self, mode, tag):
        """The row of the tunnel: that of the CONNECT, or of the one that Squid makes up once it has peeked."""
        row = self.row(tag + "-c")
        if mode != "peek":
            return row
        same = [other for other in self.requests if other["conn"] == row["conn"] and other["tag"] == "TCP_TUNNEL"]
        self.env.require(len(same) == 1, "%s: %d tunnels on its connection" % (tag, len(same)))
        return same[0]


def check_ends(env, squid):
    """What begins also ends, as often and for the same transaction or connection."""
    count = collections.Counter()
    for row in dump.table(env, squid.directory, "events"):
        count[row["event"], row["id"], row["arg"] if row["event"].startswith(("TLS_", "CONNECT_")) else ""] += 1
    for begin, end in (("TLS_BEGIN", "TLS_END"), ("CLIENT_TLS_BEGIN", "CLIENT_TLS_END"),
                       ("CONNECT_BEGIN", "CONNECT_END"), ("TUNNEL_BEGIN", "TUNNEL_END"), ("ACCESS_BEGIN", "ACCESS_END"),
                       ("REPLY_WRITE", "REPLY_WRITTEN"), ("PEER_SELECT_BEGIN", "PEER_SELECT_END"),
                       ("FORWARD_BEGIN", "FORWARD_END")):
        keys = {key[1:] for key in count if key[0] in (begin, end)}
        uneven = [key for key in keys if count[(begin,) + key] != count[(end,) + key]]
        env.check(not uneven, "%s without %s or the reverse: %s" % (begin, end, uneven[:4]))


def mixed(env):
    """All ways at once, many at a time."""
    place = Place(env, "tls:3")
    count, concurrency = (6000, 20) if env.full else (600, 12)
    sent = collections.Counter()
    modes = ways(env)

    def work(n):
        random_ = random.Random(n)
        for k in range(count // concurrency):
            mode = random_.choice(modes)
            tag = "%s-%d-%d" % (mode, n, k)
            place.request(mode, tag, random_.choice(("tls:0", "tls:3")), size=random_.choice((0, 100, 70000)),
                          hdr=random_.choice((0, 0, 5)))
            sent[mode] += 1
    at_once(concurrency, work)
    place.finish()
    env.note("requests by way: %s" % dict(sent))
    env.check(set(sent) == set(modes), "some ways were not taken")
    env.check(len(place.lines) >= count, "only %d lines in access.log" % len(place.lines))
    rows.check_outcomes(env, place.pairs)
    rows.check_unaccounted(env, place.requests)
    begins, ends = (dump.table(env, place.squid.directory, "events", "--where=event == " + name)
                    for name in ("WAIT_BEGIN", "WAIT_END"))
    rows.check_by_passes(env, place.pairs, rows.Passes(begins, ends))
    check_ways(env, place)


def check_ways(env, place):
    """Each way's rows have the class and the stages that it should have, and no others."""
    wrong = []
    for tag, (line, row) in place.by_tag.items():
        mode, inner = tag.split("-")[0], not tag.endswith("-c")
        if mode not in MODES:
            continue
        handshake = row["reused_conn"] == "0" and mode in (("bump", "parent", "origin", "peer") if inner
                                                           else ("see", "stare", "late"))
        client = mode == "https" or (mode in BUMPED + SPLICED and mode != "splice" and not inner)
        tunnel = mode in TUNNELS and mode != "peek"
        class_ = "tunnel" if tunnel else "miss" if inner else "internal"
        for name, got, wanted in (("class", row["class"], class_), ("outcome", row["outcome"], "complete"),
                                  ("tls_ns", row["tls_ns"] != "-", handshake),
                                  ("client_tls_ns", row["client_tls_ns"] != "-", client),
                                  ("tunnel_ns", row["tunnel_ns"] != "-", tunnel)):
            if got != wanted:
                wrong.append("%s: %s %s" % (tag, name, row[name]))
    env.check(not wrong, "%d rows: %s" % (len(wrong), rows.first_few(wrong, 8)))
    made_up = {(row["tag"], row["access_ns"] != "-") for line, row in place.pairs if line.xtag == "-"}
    env.equal(made_up, {("TCP_TUNNEL", True)} if can_go(env, "peek") else set(),
              "tag and whether there is access_ns, of CONNECTs that Squid made up")


@first
def one_at_a_time(env):
    """tls_ns, tunnel_ns and connect_ns against the far ends' own clocks."""
    place = Place(env, tls="tls:50", proxy="proxy:20")
    count = 200 if env.full else 100
    opened = {}
    for mode in ways(env):
        for n in range(count):
            tag = "%s-%d" % (mode, n)
            opened[tag] = place.request(mode, tag, "tls:50", close=1)
    place.finish()
    rows.check_one_at_a_time(env, place.pairs)
    off = Agreement(env)
    for tag in opened:
        mode = tag.split("-")[0]
        if mode == "https":
            continue
        if not env.check(tag in place.entries, "%s did not reach the far end" % tag):
            continue
        far = place.entries[tag]
        if mode in TUNNELS:
            begin = {"peek": far["accepted"], "late": far["answered"]}.get(mode, opened[tag])
            off.add(mode + " tunnel_ns", tag, place.tunnel_row(mode, tag).ns("tunnel_ns"), far["closed"] - begin,
                    begin, far["closed"])
        if mode not in ("plain", "asked", "splice", "peek"):
            row = place.row(tag + "-c" if mode in ("late", "see", "stare") else tag)
            begin = far["asked" if mode == "parent" else "accepted"]
            end = far["answered" if mode == "late" else "done"]
            off.add(mode + " tls_ns", tag, row.ns("tls_ns"), end - begin, begin, end)
    # What either end computes for a handshake, a millisecond of RSA on a slow processor, is on one side of a clock only.
    off.check(count, limit_ns=2 * MS)
    check_stages(env, place, opened)


def check_stages(env, place, opened):
    """What took 50 ms is in no other stage."""
    for tag in opened:
        mode = tag.split("-")[0]
        for name in (tag, tag + "-c"):
            if name not in place.by_tag:
                continue
            row = place.row(name)
            rows.check_no_other(env, row, ("tls_ns", "tunnel_ns", "reply_wait_ns", "connect_ns"), name, 30 * MS)


# ---- handshakes that come to nothing ----

TIMEOUT_S = 2  # of Squid, for servers and for clients


def attempts_of(place, row):
    return [attempt for attempt in place.attempts if attempt["xid"] == row["xid"]]


def servers_that_fail(env):
    """Servers that answer a ClientHello with nonsense, by closing, or not at all; and clients that do not wait."""
    place = Place(env, "garbage", "closes", "silent", proxy="silent",
                  more="connect_timeout %d seconds\npeer_connect_timeout %d seconds" % (TIMEOUT_S, TIMEOUT_S))
    wanted = {}  # tag: outcome of the attempt

    def ask(mode, tag, end, patience):
        with place.client(mode) as client:
            client.open().settimeout(patience)
            try:
                if mode == "origin":
                    client.request("https://%s:%d/x" % (NAME, place.far.ports[end]), tag)
                else:
                    place.connect(client, place.far.ports[end], tag + "-c")
                    secure(client, place.context, NAME)
                    client.send(client.head("GET", "/x", tag, ["Host: " + NAME])[:-2] + b"\r\n")
                    client.receive()
            except (OSError, Broken):
                pass

    for mode in ways(env, ("origin", "bump", "see", "stare", "late")):
        for end, patience, outcome in (("garbage", 9, "error"), ("closes", 9, "error"), ("silent", 9, "timeout"),
                                       ("silent", 0.6, "aborted")):
            tag = "%s-%s-%s" % (mode, end, outcome)
            ask(mode, tag, end, patience)
            wanted[tag] = outcome
    for mode in ways(env, ("parent",)):
        ask(mode, mode + "-silent-timeout", "closes", 9)
        ask(mode, mode + "-silent-aborted", "closes", 0.6)
    time.sleep(timeouts.longer_s(TIMEOUT_S))  # until what the last client left behind has timed out
    place.finish()
    lasted = {"error": (0, 300 * MS), "timeout": (timeouts.least_ns(TIMEOUT_S), timeouts.most_ns(TIMEOUT_S)),
              "aborted": (100 * MS, 1500 * MS)}
    for tag, outcome in wanted.items():
        mode = tag.split("-")[0]
        row = place.row(tag if mode in ("origin", "bump") else tag + "-c")
        if outcome == "aborted" and mode in ("see", "stare", "late"):
            outcome = "timeout"  # Squid does not read from a client while it looks at the server for it
        attempts = attempts_of(place, row)
        if not env.check(len(attempts) == 1, "%s: %d attempts" % (tag, len(attempts))):
            continue
        env.equal(attempts[0]["outcome"], outcome, tag + ": outcome of the attempt")
        env.check(row["tls_ns"] != "-" and attempts[0]["tls_ns"] != "-", tag + ": no tls_ns")
        low, high = lasted[outcome]
        for got in (row.ns("tls_ns"), attempts[0].ns("tls_ns")):
            env.check(low <= got <= high + env.held.during(row), "%s: tls_ns is %.1f ms" % (tag, got / MS))
        if mode in ("origin", "bump"):
            env.equal(row["outcome"], "aborted" if outcome == "aborted" else "error", tag + ": outcome of the request")
    for outcome in ("timeout", "aborted"):
        low, high = lasted[outcome]
        tag = "parent-silent-" + outcome
        if not can_go(env, "parent"):
            continue
        row = place.row(tag)
        env.equal([attempt["outcome"] for attempt in attempts_of(place, row)], ["complete", outcome], tag + ": attempts")
        env.check(low <= row.ns("connect_ns") <= high + env.held.during(row) and row["tls_ns"] == "-",
                  "%s: connect_ns %s, tls_ns %s" % (tag, row["connect_ns"], row["tls_ns"]))


@first
def clients_handshakes(env):
    """client_tls_ns against the client's clock, on an https_port and in CONNECTs that are bumped or looked into."""
    place = Place(env)
    count = 200 if env.full else 30
    lasted = {}
    place.request("https", "warm", "tls:0")  # the client's first connection loads libraries
    for mode in ways(env, ("https", "bump")):
        for n in range(count):
            tag = "%s-%d" % (mode, n)
            with place.client(mode) as client:
                begin = time.monotonic_ns()
                client.open()
                if mode == "bump":
                    place.connect(client, place.far.ports["tls:0"], tag + "-c")
                    begin = time.monotonic_ns()
                time.sleep(0.03)
                secure(client, place.context, "127.0.0.1" if mode == "https" else NAME)
                lasted[tag] = begin, time.monotonic_ns()
                time.sleep(0.02)
                client.request(place.origin.url(tag), tag) if mode == "https" else None
    place.finish()
    off = Agreement(env)
    for tag, (begin, end) in lasted.items():
        mode = tag.split("-")[0]
        row = place.row(tag if mode == "https" else tag + "-c")
        off.add(mode + " client_tls_ns", tag, row.ns("client_tls_ns"), end - begin, begin, end)
        if mode == "https":
            env.check(row.ns("client_connect_ns") >= row.ns("client_tls_ns") + 15 * MS - env.held.around(end),
                      "%s: client_connect_ns is only %.3f ms" % (tag, row.ns("client_connect_ns") / MS))
    off.check(count)


def clients_that_fail(env):
    """Clients that talk nonsense, say nothing, or leave in the middle of their handshake."""
    place = Place(env, more="request_timeout %d seconds\nrequest_start_timeout %d seconds" % (TIMEOUT_S, TIMEOUT_S))
    hello = ssl.MemoryBIO()
    tls = place.context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname=NAME)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = hello.read()
    behaviours = {"error": [b"\x16\x03\x01\x00\x05nonsense, and more of it\r\n" * 5], "timeout": [hello[:50]],
                  "aborted": [hello[:50], None], "aborted at once": [None], "aborted after hello": [hello, None]}
    conns = []
    for mode in ways(env, ("https", "bump")):
        for name, words in behaviours.items():
            with place.client(mode) as client:
                client.open().settimeout(9)
                tag = "%s-%s" % (mode, name.replace(" ", "-"))
                if mode == "bump":
                    place.connect(client, place.far.ports["tls:0"], tag)
                for word in words:
                    time.sleep(0.05)
                    if word:
                        client.send(word)
                    else:
                        client.close()
                try:
                    while client.socket and client.socket.recv(4096):
                        pass
                except OSError:
                    pass
            conns.append((mode, name, tag))
            time.sleep(0.1)
    place.finish()
    ends = [row for row in dump.table(env, place.squid.directory, "events") if row["event"] == "CLIENT_TLS_END"]
    env.equal(len(ends), len(conns), "handshakes of clients")
    for (mode, name, tag), end in zip(conns, ends):
        outcome = name.split()[0]
        found = [row for row in place.requests if row["conn"] == end["id"]]
        if env.check(len(found) == 1, "%s: %d rows" % (tag, len(found))):
            env.equal(found[0]["outcome"], outcome, tag + ": outcome")
            env.check(found[0]["client_tls_ns"] != "-", tag + ": no client_tls_ns")
            if outcome == "timeout":
                timeouts.check(env, found[0], "client_tls_ns", TIMEOUT_S, tag)


# ---- other ends of tunnels and of replies ----

def how_servers_end(env):
    """SERVER_DONE says whether the reply was whole: a 101 is, a broken chunk is not; a tunnel that fails says so."""
    place = Place(env, "upgrade", "broken")
    with place.client("plain") as client:
        client.send(client.head("GET", "http://%s:%d/x" % (NAME, place.far.ports["upgrade"]), "upgrade",
                                ["Connection: upgrade", "Upgrade: echo"]))
        while b"\r\n\r\n" not in client.buffer:
            client.fill()
        env.check(b" 101 " in client.buffer, "no 101: %r" % client.buffer[:80])
        client.buffer = client.buffer.partition(b"\r\n\r\n")[2]
        client.send(b"e" * 1000)
        client.take(1000)
    with place.client("plain") as client:
        client.send(client.head("GET", "http://%s:%d/x" % (NAME, place.far.ports["broken"]), "broken"))
        try:
            client.receive()
        except (Broken, ConnectionError, ValueError):
            pass
    with place.client("plain") as client:
        client.send(client.head("CONNECT", "127.0.0.1:1", "nowhere"))
        env.equal(client.receive("CONNECT").status, 503, "CONNECT to nowhere")
    place.finish()
    done = collections.defaultdict(list)
    for row in dump.table(env, place.squid.directory, "events"):
        if row["event"] == "SERVER_DONE":
            done[row["id"]].append(row["aux"])
        if row["event"] == "PART_XACT_FLAGS":
            flags = int(row["aux"])
    env.equal(done[place.row("upgrade")["xid"]], ["0"], "SERVER_DONE of a 101")
    env.check(place.row("upgrade")["tunnel_ns"] != "-", "the 101's tunnel has no tunnel_ns")
    env.equal(done[place.row("broken")["xid"]], ["1"], "SERVER_DONE of a broken chunk")
    env.check(flags & 32, "the failed CONNECT's error page is not said to be one: flags %d" % flags)
    env.equal(place.row("nowhere")["outcome"], "error", "outcome of the failed CONNECT")


TESTS = [
    ("TLS in every way, many at a time: rows and lines agree", mixed, 120),
    ("TLS in every way, one at a time: handshakes and tunnels by the far ends' clocks", alone(one_at_a_time), 400),
    ("handshakes of servers that come to nothing", servers_that_fail, 120),
    ("handshakes of clients by their own clocks", clients_handshakes, 200),
    ("handshakes of clients that come to nothing", clients_that_fail, 60),
    ("a 101, a broken chunk, a tunnel to nowhere", how_servers_end, 60),
]
