# SPDX-License-Identifier: GPL-2.0-or-later
"""Before a connection exists: clients that wait for Squid's accept, a full backlog, the limit of descriptors.

What the trace says is held against the clients' own clocks, and against the kernel's counters of a network namespace
that the test makes.
"""

import array
import ctypes
import fcntl
import os
import signal
import socket
import struct
import threading
import time

from lib import access, dump, rows
from lib.client import Broken, Client, at_once
from lib.env import Skip, first, free_port, wait_for
from lib.origin import Origin
from lib.squid import Squid
from lib.tls import Certificates, secure

MS = 1000000
HELD = 0.9  # seconds
CLONE_NEWNET = 0x40000000


def listener(squid):
    return "http_port 127.0.0.1:%d" % squid.port


class Waiting:
    """A client that connects now, sends a request, and reads the answer later; both by its own clock."""

    def __init__(self, squid, url, tag):
        self.tag = tag
        self.client = Client(squid.client_address())
        self.begin_ns = time.monotonic_ns()
        self.client.open()
        self.client.send(Client.head("GET", url, tag))
        self.end_ns = 0

    def finish(self):
        self.client.receive()
        self.end_ns = time.monotonic_ns()
        self.client.close()


def check_accounted(env, squid, waiting):
    """At least 90 % of what each client waited is in its row, and not more than it waited."""
    joined = rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests"))
    found = {line.xtag: row for line, row in joined}
    tick = 10 * MS  # as exact as the kernel tells it
    for one in waiting:
        row = found[one.tag]
        felt = one.end_ns - one.begin_ns
        told = row.ns("accept_wait_ns") + row.ns("client_connect_ns") + row.ns("total_ns")
        env.check(0.9 * felt <= told <= felt + tick, "%s waited %.1f ms, the trace has %.1f ms: %s"
                  % (one.tag, felt / MS, told / MS, rows.brief(row)))
        env.check(row.ns("accept_wait_ns") >= 0.9 * felt - 20 * MS, "before the accept: %s" % row["accept_wait_ns"])
    return found


def table_row(env, squid):
    found = dump.table(env, squid.directory, "listeners")
    env.equal([row["listener"] for row in found], [listener(squid)], "ports")
    return found[0]


def finding(env, squid, cause):
    """The finding of that cause, which is there and is of this port."""
    found = {row["cause"]: row for row in dump.table(env, squid.directory, "findings")}
    env.check(cause in found, "findings: %s" % sorted(found))
    env.equal(found[cause]["culprit"], listener(squid), "culprit")
    return found[cause]


def stopped(env):
    """Squid stands still for 900 ms while ten clients wait in its backlog, which is not full."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    with Client(squid.client_address()) as kept:
        for n in range(3):
            kept.request(origin.url("kept%d" % n), "kept-%d" % n)
    time.sleep(1.2)  # a sample before it
    worker, = squid.worker_pids()
    os.kill(worker, signal.SIGSTOP)
    try:
        waiting = [Waiting(squid, origin.url("w%d" % n), "w-%d" % n) for n in range(10)]
        time.sleep(HELD)
    finally:
        os.kill(worker, signal.SIGCONT)
    at_once(len(waiting), lambda n: waiting[n].finish())
    time.sleep(1.2)
    squid.stop()
    found = check_accounted(env, squid, waiting)
    for n in (1, 2):
        env.equal(found["kept-%d" % n]["accept_wait_ns"], "-", "a later request of a connection")
    env.check(found["kept-0"].ns("accept_wait_ns") <= 20 * MS, "no wait: %s" % found["kept-0"]["accept_wait_ns"])
    row = table_row(env, squid)
    env.equal((row["count"], row["connections"], row["drops"], row["put_off"]), ("13", "11", "0", "0"), "table listeners")
    env.check(9 <= int(row["backlog"]) <= 10, "backlog: %s" % row)
    env.check(float(row["max_ms"]) >= 1000 * HELD - 20, "longest wait: %s" % row["max_ms"])
    told, = dump.table(env, squid.directory, "findings")
    env.equal((told["cause"], told["pattern"], told["harm"], told["requests"]), ("stopped", "once", "standstill", "10"),
              "who waits to be accepted waits for what stops Squid: %s" % told)
    env.check(float(told["waiting_s"]) >= 10 * (HELD - 0.1), "seconds of clients: %s" % told)


def out_of_descriptors(env):
    """At its limit of descriptors Squid puts off an accept until a client leaves."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="max_filedescriptors 128\n").start()
    time.sleep(1.2)
    idle = []
    begin = time.monotonic()
    while "running out of filedescriptors" not in squid.log_text():
        env.check(len(idle) < 128 and time.monotonic() < begin + 20, "Squid does not run out of descriptors")
        idle.append(socket.create_connection(squid.client_address()))
        time.sleep(0.02)
    waiting = [Waiting(squid, origin.url("w%d" % n), "w-%d" % n) for n in range(8)]
    time.sleep(HELD)
    for one in idle:
        one.close()
    at_once(len(waiting), lambda n: waiting[n].finish())
    time.sleep(1.2)
    idle = [socket.create_connection(squid.client_address()) for _ in range(110)]
    time.sleep(0.5)
    squid.stop()  # while an accept is put off
    check_accounted(env, squid, waiting)
    events = [row["event"] for row in dump.table(env, squid.directory, "events")]
    env.equal(events.count("ACCEPT_RESUMED"), events.count("ACCEPT_PUT_OFF"), "accepts that go on, or whose port closes")
    row = table_row(env, squid)
    env.check(int(row["put_off"]) >= 1 and float(row["put_off_ms"]) >= 1000 * HELD, "put off: %s" % row)
    told = finding(env, squid, "descriptors")
    env.check("128" in told["sentence"] and "max_filedescriptors" in told["advice"], "what it says: %s" % told)
    samples = dump.table(env, squid.directory, "samples", "--where=name == descriptors_limit")
    env.equal({row["value"] for row in samples}, {"128"}, "limit of descriptors")


# ---- in a network namespace ----

def new_namespace():
    """This thread, and what it starts, gets a network of its own, with nothing but loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise Skip("no network namespace: %s" % os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.pack("16sh14x", b"lo", 1)  # IFF_UP
        fcntl.ioctl(any_socket, 0x8914, array.array("B", flags))  # SIOCSIFFLAGS


def in_namespace(test):
    """The test, run in a thread that has a network namespace."""
    def run(env):
        errors = []

        def body():
            try:
                new_namespace()
                test(env)
            except BaseException as error:
                errors.append(error)
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]
    return run


def netstat(name):
    with open("/proc/thread-self/net/netstat") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    return int(values[names.index(name)])


def overflow(env):
    """Forty clients come while Squid stands still, and its backlog takes 33."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="max_filedescriptors 128\n").start()
    with Client(squid.client_address()) as client:
        for n in range(10):
            client.request(origin.url("q%d" % n), "q-%d" % n)
    time.sleep(1.2)
    before = netstat("ListenDrops"), netstat("ListenOverflows")
    worker, = squid.worker_pids()
    os.kill(worker, signal.SIGSTOP)
    clients = []
    try:
        for _ in range(60):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(squid.client_address())
            clients.append(client)
        time.sleep(2.5)  # SYNs are sent again
    finally:
        os.kill(worker, signal.SIGCONT)
    for client in clients:
        client.close()
    time.sleep(2.5)  # until the next sample
    drops, overflows = netstat("ListenDrops") - before[0], netstat("ListenOverflows") - before[1]
    squid.stop()
    env.check(drops >= 20 and drops == overflows, "the kernel dropped %d, of which %d overflowed" % (drops, overflows))
    row = table_row(env, squid)
    env.equal(int(row["drops"]), drops, "drops of the port, against /proc/net/netstat")
    env.equal(int(row["backlog_limit"]), 32, "limit of the backlog")
    env.check(int(row["backlog"]) >= 32, "largest backlog: %s" % row)
    for name, wanted in (("listen_drops", drops), ("listen_overflows", overflows)):
        values = [int(r["value"]) for r in dump.table(env, squid.directory, "samples", "--where=name == " + name)]
        env.equal(values[-1] - values[0], wanted, name)
    told = finding(env, squid, "backlog_full")
    env.equal((told["share_pct"], told["cost_p50_ms"], told["cost_p99_ms"]), ("-", "-", "-"), "cost that nobody knows")
    env.check(" %d " % drops in told["sentence"] and "not known" in told["sentence"], "what it says: %s" % told["sentence"])


def handshakes(env):
    """Clients that take 60 ms to begin a TLS handshake: it is before their requests' totals, and a finding names the port."""
    certificates = Certificates(env, "proxy.test")
    origin = Origin(env)
    port = free_port()
    squid = Squid(env, trace="", dns=origin.host,
                  lines="https_port 127.0.0.1:%d tls-cert=%s\n" % (port, certificates.server)).start()
    felt = {}
    for n in range(12):
        begin = time.monotonic_ns()
        with Client(("127.0.0.1", port)) as client:
            client.open()
            time.sleep(0.06)
            secure(client, certificates.context(), "proxy.test")
            client.request(origin.url("t%d" % n), "t-%d" % n)
            felt["t-%d" % n] = time.monotonic_ns() - begin
    squid.stop()
    joined = rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests"))
    for line, row in joined:
        env.check(60 * MS <= row.ns("client_tls_ns") <= row.ns("client_connect_ns"), "handshake: %s" % rows.brief(row))
        told = row.ns("accept_wait_ns") + row.ns("client_connect_ns") + row.ns("total_ns")
        env.check(told >= 0.9 * felt[line.xtag], "%s waited %d ns, the trace has %d ns" % (line.xtag, felt[line.xtag], told))
    found = {row["cause"]: row for row in dump.table(env, squid.directory, "findings")}
    env.check("client_tls" in found, "findings: %s" % sorted(found))
    env.equal(found["client_tls"]["culprit"], "https_port 127.0.0.1:%d" % port, "culprit")
    row = [row for row in dump.table(env, squid.directory, "listeners") if row["listener"].startswith("https_port ")][0]
    env.check(row["count"] == "12" and float(row["tls_p50_ms"]) >= 60, "table listeners: %s" % row)


def two_workers(env):
    """Two workers share a listening socket: a row for each, and the requests of both."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, workers=2).start()
    time.sleep(1.2)
    at_once(40, lambda n: squid.get(origin.url("s%d" % n)))
    time.sleep(1.2)
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    found = dump.table(env, squid.directory, "listeners")
    env.equal([(row["listener"], row["kid"]) for row in found], [(listener(squid), "1"), (listener(squid), "2")], "rows")
    for row in found:
        env.equal(int(row["count"]), sum(r["kid"] == row["kid"] for r in requests), "requests of kid " + row["kid"])
        env.check(int(row["backlog_limit"]) > 0 and row["drops"] == "0", "what the kernel says: %s" % row)
    env.equal(sum(int(row["connections"]) for row in found), 40, "connections")


def reopened(env):
    """Ports that are closed and opened again by a reconfiguration, and names=off."""
    origin = Origin(env)
    squid = Squid(env, trace="names=off", dns=origin.host).start()
    for n in range(2):
        with Client(squid.client_address()) as client:
            client.request(origin.url("r%d" % n), "r-%d" % n)
        mark = squid.log_text().count("Accepting HTTP Socket connections")
        squid.reconfigure()
        wait_for(lambda: squid.log_text().count("Accepting HTTP Socket connections") > mark, 20, "the port is open again")
        time.sleep(1.2)
    squid.stop()
    found = dump.table(env, squid.directory, "listeners")
    env.equal([(row["listener"], row["connections"], row["drops"]) for row in found], [("1", "2", "0")], "one port")
    everything = dump.Dump(env, squid.directory, table="samples").text + dump.Dump(env, squid.directory).text
    env.check(str(squid.port) not in everything, "the port's number is in the trace")


def over_limit(env):
    """Connections beyond client_ip_max_connections are counted where they are closed, and the finding has their number."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="client_ip_max_connections 3\n").start()
    closed = 0
    for n in range(8):
        clients = []
        for k in range(6):
            client = Client(squid.client_address())
            client.open()
            clients.append(client)
        for client in clients:
            try:
                client.request(origin.url("l%d" % n))
            except (Broken, ConnectionError):
                closed += 1
            client.close()
        time.sleep(0.2)
    squid.stop()
    told = [row for row in dump.table(env, squid.directory, "incidents") if row["incident"] == "over_limit"]
    env.check(closed >= 16, "%d connections were closed" % closed)
    env.equal(len(told), closed, "connections over the limit")
    env.equal({row["name"] for row in told}, {listener(squid)}, "ports")
    env.equal(squid.log_text().count("attempting more than"), closed, "lines of cache.log")
    found = {row["cause"]: row for row in dump.table(env, squid.directory, "findings")}
    env.check("over_limit" in found and "%d of " % closed in found["over_limit"]["sentence"], "findings: %s" % found)


DEAF = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # a packet filter that takes nothing: BPF_RET, 0
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27


def deafen(client):
    """Nothing that comes reaches this client any more, as on a line that loses all."""
    client.open().setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(DEAF)))


def resent(env):
    """Six clients never get an answer, six get it late, and twelve are well.  What TCP sent again is held against the
    kernel's counter of the namespace."""
    def again():
        with open("/proc/thread-self/net/snmp") as file:
            names, values = [line.split() for line in file if line.startswith("Tcp:")]
        return int(values[names.index("RetransSegs")])

    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host).start()
    clients = [Client(squid.client_address()) for _ in range(24)]
    for n, client in enumerate(clients):
        client.request(origin.url("q%d" % n))
    before = again()
    for n, client in enumerate(clients[:12]):
        deafen(client)
        client.send(Client.head("GET", origin.url("q%d" % n)))
    time.sleep(0.5)
    own = again()  # with segments of the clients, which hear of no acknowledgment
    for client in clients[6:12]:
        client.socket.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    for client in clients[6:12]:
        client.receive()
    time.sleep(1.5)
    after = again()
    for client in clients:
        client.close()
    squid.stop()
    told = [row for row in dump.table(env, squid.directory, "incidents") if row["incident"] == "client_resent"]
    env.equal(sorted(row["result"] for row in told), ["acknowledged"] * 6 + ["unacknowledged"] * 6, "connections")
    segments = sum(int(row["count"]) for row in told)
    env.check(own > before and segments <= after - before <= 2 * segments + 24,
              "%d segments were sent again, by both sides %d" % (segments, after - before))
    for row in told:
        took = row.ns("took_ns")
        least, most = (1900, 2900) if row["result"] == "unacknowledged" else (200, 1700)
        env.check(least * MS <= took <= most * MS, "bytes were on their way: %s" % row)
    found = {row["cause"]: row for row in dump.table(env, squid.directory, "findings")}
    env.check("undelivered" in found and "6 of 24 connections" in found["undelivered"]["sentence"], "findings: %s" % found)


def quiet_tunnels(env):
    """Tunnels that Squid closes because nothing comes through them, and one that its client closes."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="read_timeout 2 seconds\n").start()
    for n in range(7):
        with Client(squid.client_address()) as client:
            client.send(client.head("CONNECT", "%s:%d" % (origin.host, origin.echo_port), "q-%d" % n))
            env.equal(client.receive("CONNECT").status, 200, "status of the CONNECT")
            if n:
                client.socket.settimeout(10)
                env.equal(client.socket.recv(1), b"", "what comes through a quiet tunnel")
    squid.stop()
    joined = rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests"))
    for line, row in joined:
        env.equal(row["outcome"], "complete" if line.xtag == "q-0" else "timeout", "outcome of " + line.xtag)
    found = {row["cause"]: row for row in dump.table(env, squid.directory, "findings")}
    env.check("tunnel_timeouts" in found and "6 of 7" in found["tunnel_timeouts"]["sentence"], "findings: %s" % found)


TESTS = [
    ("clients wait in the backlog while Squid stands still", first(stopped), 40),
    ("clients wait while Squid is out of descriptors", first(out_of_descriptors), 40),
    ("a backlog overflows: the port and its drops", first(in_namespace(overflow)), 40),
    ("handshakes of clients on an https_port", first(handshakes), 40),
    ("a port of two workers", first(two_workers), 40),
    ("a port is opened again, and has no name", first(reopened), 40),
    ("connections beyond client_ip_max_connections", over_limit, 10),
    ("segments that are sent to clients again", first(in_namespace(resent)), 30),
    ("tunnels that a time-out closes", quiet_tunnels, 40),
]
