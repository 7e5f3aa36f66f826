# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-load: against its own origin, through Squid, and against proxies that do wrong."""

import http.client
import math
import random
import re
import socket
import threading
import time

from lib import access, dump, sqload, tls
from lib.clocks import MS, Agreement
from lib.env import first, free_port
from lib.squid import Squid

# What sqtrace-load and access.log call a hit; a revalidated one is none for Cache-Status.
HITS = {"HIT", "MEM_HIT", "IMS_HIT", "INM_HIT", "NEGATIVE_HIT", "OFFLINE_HIT"}
HIT_CLASSES = {"mem_hit", "disk_hit", "ims_hit", "negative_hit"}


def code(tag):
    """TCP_MEM_HIT_ABORTED -> MEM_HIT"""
    for prefix in ("TCP_", "CF_"):
        if tag.startswith(prefix):
            tag = tag[len(prefix):]
    for suffix in ("_ABORTED", "_TIMEDOUT"):
        if tag.endswith(suffix):
            tag = tag[:-len(suffix)]
    return tag


# ---- without a proxy ----

def alone(env):
    """Phase 1 of wpb repeats nothing; the repeated share of phase 2; distances as 1/t; sizes."""
    each = 10000 if env.full else 1500
    load = sqload.Load(env, "--workload=wpb", "--wait=0", "--keep-alive", "--http=1.1", "--clients=10",
                       "--requests=%d" % each, "--hit-ratio=0.4", rows=True, seconds=200)
    rows = load.rows()
    env.equal(len(rows), 20 * each, "rows")
    env.equal(load.sum("verified"), 20 * each, "bodies compared")
    env.equal(load.sum("errors"), 0, "errors")
    env.equal(int(load.comments["origin_requests"]), 20 * each, "requests that the origin counts")
    first = [row["url"] for row in rows if row["phase"] == "phase1"]
    env.equal(len(set(first)), len(first), "different URLs in phase 1")
    seen, repeats = set(first), 0
    for row in rows:
        if row["phase"] == "phase2":
            repeats += row["url"] in seen
            seen.add(row["url"])
    share = repeats / (10 * each)
    env.note("repeated in phase 2: %.2f %%" % (share * 100))
    env.check(abs(share - 0.4) < (0.01 if env.full else 0.012), "%.4f of phase 2 repeat, wanted 0.4" % share)
    sizes = [int(url.split("size=")[1].split("/")[0]) for url in seen]
    large = sum(size == 1 << 20 for size in sizes)
    small = sorted(size for size in sizes if size <= 40960)
    env.equal(len(small) + large, len(sizes), "sizes are 0 to 40 KB or 1 MB")
    env.check(abs(large / len(sizes) - 0.01) < 2.6 * math.sqrt(0.0099 / len(sizes)), "%d large of %d"
              % (large, len(sizes)))
    worst = max(abs((i + 0.5) / len(small) - size / 40960) for i, size in enumerate(small))
    env.check(worst * math.sqrt(len(small)) < 1.63, "small sizes are not uniform: %.4f" % worst)


def unit_ks(values):
    """The root of their number times the largest distance from the uniform distribution; above 1.63 in 1 %."""
    values = sorted(values)
    n = len(values)
    return math.sqrt(n) * max(max(x - i / n, (i + 1) / n - x) for i, x in enumerate(values))


def fits(env):
    """Pareto sizes and 1/t, computed anew from the URLs that were asked for."""
    each = 2000 if env.full else 200
    load = sqload.Load(env, "--workload=wpb", "--wait=0", "--keep-alive", "--http=1.1", "--clients=30",
                       "--requests=%d" % each, "--hit-ratio=0.7", "--sizes=pareto", rows=True, seconds=300)
    asked = {}
    sizes = {}
    for row in load.rows():
        match = re.search(r"/size=(\d+)/c(\d+)f(\d+)$", row["url"])
        asked.setdefault(int(match.group(2)), []).append(int(match.group(3)))
        env.check(sizes.setdefault(match.group(0).split("/")[2], int(match.group(1))) == int(match.group(1)),
                  "a file has two sizes")
        env.equal(int(row["bytes"]), int(match.group(1)), "bytes of " + row["url"])
    alpha = len(sizes) / sum(math.log((size + 0.5) / 3072) for size in sizes.values())
    env.note("%d sizes, tail index %.4f" % (len(sizes), alpha))
    env.check(abs(alpha / 1.1 - 1) < max(0.01, 2.58 / math.sqrt(len(sizes))), "the tail index is %.4f" % alpha)
    ks = unit_ks([1 - (3072 / (size + 0.5)) ** 1.1 for size in sizes.values()])
    env.check(ks < 1.63, "sizes are not Pareto's: %.3f" % ks)
    # Where in the distribution of what could be drawn, the last used first, each repeat lies: uniform if it is 1/t.
    random_ = random.Random(1)
    harmonic = [0.0]
    for t in range(1, 2 * each + 1):
        harmonic.append(harmonic[-1] + 1 / t)
    places, repeats = [], 0
    for files in asked.values():
        last = {}
        for n, file in enumerate(files):
            if n >= each and file in last:
                repeats += 1
                if len(places) < 10000:
                    nearer = sum(1 / (n - at) for at, other in enumerate(files[:n]) if last[other] > last[file])
                    same = sum(1 / (n - at) for at, other in enumerate(files[:n]) if other == file)
                    places.append((nearer + random_.random() * same) / harmonic[n])
            last[file] = n
    ks = unit_ks(places)
    env.note("repeats: %.4f; distances: %.3f" % (repeats / (30 * each), ks))
    env.check(abs(repeats / (30 * each) - 0.7) < 2.58 * math.sqrt(0.21 / (30 * each)), "%d repeats" % repeats)
    env.check(ks < 1.63, "distances are not 1/t: %.3f" % ks)


def latency(env):
    """The first byte comes at the set latency with 1,000 requests open."""
    seconds = 20 if env.full else 4
    load = sqload.Load(env, "--wait=500ms", "--rate=2000", "--duration=%d" % seconds, "--clients=1300", "--size=2000",
                       rows=True, seconds=60)
    rows = load.rows()
    open_ = [sum(float(row["time_s"]) <= at < float(row["time_s"]) + int(row["total_ns"]) / 1e9 for row in rows)
             for at in (1, 2, 3)]
    env.check(min(open_) > 900, "open requests: %s" % open_)
    off = Agreement(env)
    for row in rows:
        begin = load.start_ns - env.held.wall + dump.seconds_ns(row["time_s"])
        if float(row["time_s"]) > 1:  # before that, connections are opened
            sent, came = int(row["sent_ns"]), int(row["first_byte_ns"])
            off.add("first byte", row["url"], came - sent, 500 * MS, begin + sent, begin + came)
    off.check(limit_ns=2 * MS)


def rate(env):
    """A constant rate is held, and its times are evenly spread."""
    seconds = 60 if env.full else 4
    load = sqload.Load(env, "--rate=5000", "--duration=%d" % seconds, "--clients=500", "--size=1000", rows=True,
                       seconds=seconds + 30)
    sent = int(load.result["urls", "all"]["sent"])
    env.check(abs(sent / (5000 * seconds) - 1) < 0.01, "%d sent of %d" % (sent, 5000 * seconds))
    times = sorted(float(row["time_s"]) for row in load.rows())
    env.check(max(abs(t - i / 5000) for i, t in enumerate(times)) < 1e-6 or sent != 5000 * seconds,
              "the times of the requests are not one rate")
    by_second = [0] * (seconds + 1)
    for row in load.rows():
        by_second[min(int(float(row["time_s"]) + int(row["sent_ns"]) / 1e9), seconds)] += 1
    env.note("sent in each second: %s" % by_second)
    begin = load.start_ns - env.held.wall
    for second, count in enumerate(by_second[:seconds]):
        # What could not be sent while the machine was held up at the end of a second is sent in the next one.
        held = env.held.around(begin + second * 1000 * MS, begin + (second + 1) * 1000 * MS)
        env.check(abs(count - 5000) <= 50 + 5000 * held / (1000 * MS), "%d sent in second %d of %d, held up for %.1f ms"
                  % (count, second + 1, seconds, held / MS))


def spread(env):
    """With --spread each request is due at a random moment of its interval, with another seed at another one."""
    places = []
    for seed in (1, 2):
        load = sqload.Load(env, "--rate=500", "--duration=4", "--clients=100", "--size=1000", "--spread",
                           "--seed=%d" % seed, rows=True)
        places.append([float(row["time_s"]) * 500 - i
                       for i, row in enumerate(sorted(load.rows(), key=lambda row: float(row["time_s"])))])
        env.equal(len(places[-1]), 2000, "requests")
        env.check(min(places[-1]) > -0.001 and max(places[-1]) < 1.001, "some are outside of their interval")
        ks = unit_ks(places[-1])
        env.check(ks < 1.63, "moments are not uniform: %.3f" % ks)
    apart = sum(abs(a - b) for a, b in zip(*places)) / 2000
    env.check(abs(apart - 1 / 3) < 0.03, "moments of two seeds are %.3f of an interval apart, not 1/3" % apart)


def cannot_hide(env):
    """A server that stands still for a second is seen by all requests that were due then, not by one."""
    stop = threading.Event()
    server = http_server(env, hold=stop)
    timer = threading.Timer(1.0, stop.set)
    timer2 = threading.Timer(2.0, stop.clear)
    timer.start(), timer2.start()
    load = sqload.Load(env, "--rate=200", "--duration=3", "--clients=4", "http://127.0.0.1:%d/x" % server, rows=True,
                       status=None)
    long = sum(int(row["total_ns"]) > 100e6 for row in load.rows())
    env.note("%d requests of 600 took more than 100 ms" % long)
    env.check(130 < long < 260, "%d requests took more than 100 ms; about 180 were due then" % long)
    env.equal(load.status, 3, "status of a run in which more than 1 % were late")


def http_server(env, hold):
    """A server of Python's that answers each request on a connection, and waits while hold is set."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    env.on_close(listener.close)

    def serve(connection):
        with connection:
            data = b""
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
                while b"\r\n\r\n" in data:
                    data = data.split(b"\r\n\r\n", 1)[1]
                    while hold.is_set():
                        time.sleep(0.005)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def origin(env):
    """The origin, asked by Python's client."""
    origin_ = sqload.Origin(env, "--wait=100ms", "--body-wait=100ms", "--expires=1h")
    connection = http.client.HTTPConnection("127.0.0.1", origin_.port, timeout=10)

    def get(path, **headers):
        begin = time.monotonic()
        connection.request("GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        response = connection.getresponse()
        head = time.monotonic() - begin
        body = response.read()
        return response, body, head, time.monotonic() - begin
    response, body, head, whole = get("/size=70000/a")
    env.equal((response.status, len(body)), (200, 70000), "status and length")
    env.check(0.1 <= head < 0.15 and 0.2 <= whole < 0.25, "header after %.3f s, body after %.3f s" % (head, whole))
    env.equal(get("/size=70000/a")[1], body, "the same URL has the same body")
    env.check(get("/size=70000/b")[1] != body, "another URL has the same body")
    modified = response.headers["Last-Modified"]
    env.equal(get("/size=70000/a", If_Modified_Since=modified)[0].status, 304, "not modified")
    env.equal(get("/size=70000/a", If_Modified_Since="Sat, 01 Jan 2000 00:00:00 GMT")[0].status, 200, "modified")
    env.check("Expires" in response.headers, "no Expires")
    env.equal(get("/size=3;store=0/a")[0].headers["Cache-Control"], "no-store", "Cache-Control")
    env.equal(get("/other")[0].status, 404, "a path that is no object's")
    env.check(get("/size=3;wait=0;body=0/a")[3] < 0.05, "a URL's own wait")


# ---- through Squid ----

def counts(env, load, squid):
    """Hits and requests, over responses whose header came, are the same for the client, access.log and the trace."""
    rows = [row for row in load.rows() if row["status"] != "-"]
    lines = [line for line in access.read(squid) if line.method == "GET" and "/size=" in line.url]
    traced = dump.table(env, squid.directory, "requests")
    by_client = sum(row["cache"] == "hit" for row in rows)
    by_log = sum(code(line.tag) in HITS for line in lines)
    by_trace = sum(row["class"] in HIT_CLASSES for row in traced)
    env.note("requests %d, %d, %d; hits %d, %d, %d (client, access.log, trace)"
             % (len(rows), len(lines), len(traced), by_client, by_log, by_trace))
    env.equal((len(rows), len(traced)), (len(lines), len(lines)), "requests")
    env.equal((by_client, by_trace), (by_log, by_log), "hits by client and trace, and by access.log")
    return by_log


CONF = "cache_mem 32 MB\nmaximum_object_size_in_memory 16 KB\nmaximum_object_size 8 MB\n"


def through(env, *options, least_hits=100, most_hits=None):
    squid = Squid(env, trace="", dirs=["aufs"], lines=CONF).start()
    # What is late is not what these look at: Squid does not go before other work.
    load = sqload.Load(env, "--proxy=127.0.0.1:%d" % squid.port, "--late=10s", *options, rows=True)
    squid.stop()
    env.equal(load.sum("errors"), 0, "errors")
    hits = counts(env, load, squid)
    env.equal(load.sum("hits"), hits, "hits in the results")
    rows = load.rows()
    env.equal(load.sum("verified") + sum(row["status"] == "304" for row in rows), len(rows), "bodies compared")
    env.check(hits >= least_hits, "only %d hits" % hits)
    return load


def wpb(env):
    load = through(env, "--workload=wpb", "--wait=10ms", "--clients=20", "--requests=%d" % (600 if env.full else 60))
    env.equal(load.result["phase1", "all"]["hits"], "0", "hits in phase 1")


def urls(env):
    through(env, "--rate=400", "--duration=3", "--clients=50", "--objects=400", "--size=20000")


def poly(env):
    factor = 10 if env.full else 1
    load = through(env, "--workload=poly", "--rate=200", "--scale=%g" % (0.0001 * factor), "--wait=20ms",
                   "--cache=2.5GB", "--clients=300", "--phases=framp,fill,inc1,top1", least_hits=100)
    rows = load.rows()
    env.check(any(row["status"] == "304" for row in rows), "nothing was answered 304")
    env.check({row["kind"] for row in rows} == {"plain", "since_same", "since_older", "reload"}, "kinds of requests")
    top = load.result["top1", "all"]
    env.check(abs(int(top["sent"]) / float(top["duration_s"]) / 200 - 1) < 0.01, "%s requests in %s s of top1"
              % (top["sent"], top["duration_s"]))
    frozen = sum(int(row["bytes"]) for row in rows if row["phase"] == "fill" and row["cache"] != "hit")
    env.check(frozen >= 2 * 0.0001 * factor * 2.5 * 2 ** 30, "fill ended after %d bytes" % frozen)


def log(env):
    """The access.log of one Squid, in its native format, replayed through another."""
    first_ = Squid(env, name="first", lines="access_log stdio:{folder}/native.log logformat=squid\n").start()
    sqload.Load(env, "--proxy=127.0.0.1:%d" % first_.port, "--late=10s", "--rate=300", "--duration=1", "--objects=150",
                "--size=3000", "--clients=20", name="first-load")
    first_.stop()
    path = first_.folder + "/native.log"
    with open(path, "a") as file:
        file.write("this is no line of a log\n")
    with open(path) as file:
        lines = [line.split() for line in file if "/size=" in line]
    load = through(env, "--workload=log", "--log=" + path, "--timing", "--clients=50")
    env.equal(int(load.result["log", "all"]["sent"]), len(lines), "requests")
    env.check("left out: 1 lines that are not of Squid's native format, the first is line %d: 'this is no line"
              % (len(lines) + 1) in load.errors, "it says %r" % load.errors)
    rows = load.rows()
    env.equal(len({row["url"] for row in rows}), len({line[6] for line in lines}), "URLs")
    largest = {}
    for line in lines:
        largest[line[6]] = max(largest.get(line[6], 0), int(line[4]))
    env.equal(sorted(int(url.split("size=")[1].split("/")[0]) for url in {row["url"] for row in rows}),
              sorted(largest.values()), "sizes")
    begins = sorted(float(line[0]) - int(line[1]) / 1000 for line in lines)
    times = sorted(float(row["time_s"]) for row in rows)
    worst = max(abs((b - begins[0]) - (t - times[0])) for b, t in zip(begins, times))
    env.check(worst < 0.002, "times differ from the log's by %.4f s" % worst)


def secure_conf(env, names):
    certificates = tls.Certificates(env, *names)
    port = free_port()
    return certificates, port, CONF + "https_port 127.0.0.1:%d tls-cert=%s\ntls_outgoing_options cafile=%s.crt\n" % (
        port, certificates.server, certificates.ca)


def both_ends(env):
    """TLS to the proxy and from it to the origin, both checked."""
    certificates, port, conf = secure_conf(env, ["127.0.0.1"])
    squid = Squid(env, trace="", dirs=["aufs"], lines=conf).start()
    load = sqload.Load(env, "--proxy=https://127.0.0.1:%d" % port, "--ca=%s.crt" % certificates.ca, "--tls",
                       "--cert=" + certificates.server, "--requests=40", "--objects=100", "--size=30000", rows=True)
    # The same in tunnels: nothing is a hit, and Squid sees no request.
    tunnels = sqload.Load(env, "--proxy=127.0.0.1:%d" % squid.port, "--ca=%s.crt" % certificates.ca, "--tls",
                          "--tunnel", "--cert=" + certificates.server, "--requests=20", "--objects=50", "--clients=3",
                          name="tunnels")
    squid.stop()
    env.equal((load.sum("errors"), load.sum("verified")), (0, 400), "errors, bodies compared")
    lines = [line for line in access.read(squid) if line.method == "GET"]
    hits = sum(code(line.tag) in HITS for line in lines)
    env.equal((load.sum("hits"), len(lines)), (hits, 400), "hits and requests as in access.log")
    env.check(hits > 200, "only %d hits" % hits)
    env.equal((tunnels.sum("errors"), tunnels.sum("verified"), tunnels.sum("hits")), (0, 60, 0), "in tunnels")
    env.equal(sum(line.method == "CONNECT" for line in access.read(squid)), 3, "tunnels in access.log")
    env.equal(int(tunnels.comments["origin_requests"]), 60, "requests of the origin")


def distrust(env):
    """A certificate of nobody's, and one for another host."""
    certificates = tls.Certificates(env, "192.0.2.1")
    for options in ((), ("--cert=" + certificates.server,)):
        load = sqload.Load(env, "--tls", "--ca=%s.crt" % certificates.ca, "--requests=2", "--clients=2", *options,
                           status=3)
        env.equal((load.sum("tls"), load.sum("errors")), (4, 4), "handshakes that failed")
        env.check("certificate verify failed" in load.errors, "it says %r" % load.errors)


def bandwidth(env):
    """28.8 kbit/s for each of 20 clients, whatever the others take."""
    load = sqload.Load(env, "--bandwidth=28800", "--clients=20", "--requests=1", "--size=9000", "--once", rows=True)
    times = sorted(int(row["total_ns"]) / 1e9 for row in load.rows())
    env.note("9,000 bytes took %.3f s to %.3f s; at 28.8 kbit/s they take 2.5 s" % (times[0], times[-1]))
    env.check(2.0 < times[0] and times[-1] < 3.0, "9,000 bytes took %.3f s to %.3f s" % (times[0], times[-1]))


def breaks(env):
    """Errors and aborts of the origin by ratio; counts as access.log has them."""
    count = 10000 if env.full else 1500
    squid = Squid(env, trace="", lines=CONF + "negative_ttl 0 seconds\n").start()
    load = sqload.Load(env, "--proxy=127.0.0.1:%d" % squid.port, "--errors=0.1", "--aborts=0.2", "--clients=20",
                       "--requests=%d" % (count // 20), "--objects=%d" % (count // 2), "--size=3000", rows=True)
    squid.stop()
    row = load.result["urls", "all"]
    asked = int(load.comments["origin_requests"])
    for column, share in (("status", 0.1), ("truncated", 0.2)):
        sigma = math.sqrt(share * (1 - share) / asked)
        env.check(abs(int(row[column]) / asked - share) < 4 * sigma, "%s: %s of %d" % (column, row[column], asked))
    hits = counts(env, load, squid)
    env.check(hits > count / 5, "only %d hits of %d" % (hits, count))


# ---- what goes wrong ----

class Wrong:
    """A proxy that answers every request in one wrong way."""

    def __init__(self, env, answer):
        self.answer = answer
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        env.on_close(self.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            try:
                self.answer(connection, data)
            except OSError:
                pass


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def text(head, body=b""):
    return lambda connection, _: connection.sendall(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body)


def broken_off(connection, _):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    time.sleep(0.05)
    reset(connection)


WRONG = [  # what the proxy does, the column that counts it, exit status
    ("another body", text(b"Content-Length: 100", b"x" * 100), "wrong", 1),
    ("a body that is too long", text(b"Content-Length: 101", b"x" * 101), "wrong", 1),
    ("a body of chunks that is too short", text(b"Transfer-Encoding: chunked", b"0\r\n\r\n"), "wrong", 1),
    ("no body", text(b"Content-Length: 100"), "truncated", 0),
    ("no body and no length", text(b"X: y"), "truncated", 0),
    ("chunks that are none", text(b"Transfer-Encoding: chunked", b"zz\r\n"), "garbage", 0),
    ("no HTTP", lambda connection, _: connection.sendall(b"SSH-2.0-x\r\n\r\n"), "garbage", 0),
    ("a header without end", lambda connection, _: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20000),
     "garbage", 0),
    ("nothing, and the end", lambda connection, _: None, "closed", 3),
    ("a reset", lambda connection, _: reset(connection), "reset", 3),
    ("a reset in the body", broken_off, "reset", 0),
    ("nothing at all", lambda connection, _: time.sleep(20), "timeout", 3),
    ("an error", lambda connection, _: connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
     "status", 3),  # each answer is an error
]


def wrong(env):
    """Each is counted as what it is, said, and over in a moment."""
    for what, answer, column, status in WRONG:
        proxy = Wrong(env, answer)
        begin = time.monotonic()
        load = sqload.Load(env, "--proxy=127.0.0.1:%d" % proxy.port, "--clients=2", "--requests=3", "--timeout=0.5",
                           "--size=100", status=None, seconds=20)
        took = time.monotonic() - begin
        env.check(took < 5, "%s: it took %.1f s" % (what, took))
        row = load.result["urls", "all"]
        env.equal((row[column], row["errors"], row["responses"]), ("6", "6", "0"),
                  "%s: counted as %s, errors, responses" % (what, column))
        if column == "garbage" and load.status == 3:
            load.status = 0  # no head came
        env.equal(load.status, status, "%s: exit status" % what)
        env.check("first error" in load.text, "%s: nothing is said of it" % what)


def unreachable(env):
    begin = time.monotonic()
    port = free_port()
    load = sqload.Load(env, "--proxy=127.0.0.1:%d" % port, status=1, seconds=10)
    env.equal(load.errors, "sqtrace-load: could not connect: 127.0.0.1:%d: Connection refused\n" % port, "message")
    env.check(time.monotonic() - begin < 2, "it took %.1f s" % (time.monotonic() - begin))
    # One that goes away in the middle.
    origin_ = sqload.Origin(env)
    threading.Timer(1.0, origin_.process.kill).start()
    begin = time.monotonic()
    load = sqload.Load(env, "--server=" + origin_.authority, "--requests=0", "--duration=60", status=1, seconds=30)
    env.check("given up, no connection succeeds any more" in load.errors, "it says %r" % load.errors)
    env.check(int(load.result["urls", "all"]["connect"]) >= 200, "connections that were refused are not counted")
    env.check(time.monotonic() - begin < 10, "it took %.1f s" % (time.monotonic() - begin))


def too_fast(env):
    """A rate that no machine serves, and one that a slow server's connections cannot take."""
    for options in (("--rate=5000000",), ("--rate=500", "--wait=200ms", "--clients=5")):
        begin = time.monotonic()
        load = sqload.Load(env, "--duration=1", *options, status=3, seconds=30)
        env.check(time.monotonic() - begin < 8, "it took %.1f s" % (time.monotonic() - begin))
        row = load.result["urls", "all"]
        env.equal(load.comments["valid"], "no", "valid")
        env.check("more than 1 % of the requests could not be sent on time" in load.errors, "it says %r" % load.errors)
        rate_ = float(options[0].split("=")[1])
        env.check(abs(int(row["due"]) / rate_ - 1) < 0.01, "%s due" % row["due"])
        env.check(int(row["sent"]) < 0.7 * int(row["due"]), "%s sent" % row["sent"])


TESTS = [
    ("load: wpb against its own origin: recurrence and sizes", alone, 120),
    ("load: wpb: Pareto sizes and 1/t, computed anew", fits, 60),
    ("load: the first byte comes when it should, 1,000 requests open", first(latency), 60),
    ("load: 5,000 requests a second", first(rate), 60),
    ("load: requests at random moments of their intervals", first(spread), 30),
    ("load: a server that stands still is seen by all that wait", first(cannot_hide), 30),
    ("load: the origin, asked by another client", origin, 30),
    ("load: wpb through Squid: hits as access.log and the trace count them", wpb, 60),
    ("load: urls at a rate through Squid: hits as access.log and the trace count them", urls, 60),
    ("load: poly through Squid: hits as access.log and the trace count them", poly, 60),
    ("load: a log, replayed through Squid: hits as access.log and the trace count them", log, 60),
    ("load: TLS at both ends of Squid, and through tunnels", both_ends, 60),
    ("load: certificates that are not trusted", distrust, 30),
    ("load: a limit on each client's bandwidth", bandwidth, 30),
    ("load: an origin that breaks off, through Squid", breaks, 60),
    ("load: proxies that do wrong", wrong, 60),
    ("load: a proxy that cannot be reached, or goes away", unreachable, 60),
    ("load: a rate beyond what is possible", too_fast, 60),
]
