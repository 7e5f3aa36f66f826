#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""exporter_pressure.py - sqtrace-exporter while many peers misbehave: it answers scrapes within a second, sends its spans,
and stays below the memory that its unit allows.

The exporter may open 1,024 files.  Peers are processes of this script, of another user if root runs it: what the exporter
closes, they open again.
SQT_PRESSURE_S is how long the 2,000 connections stand, in seconds; the default is 5.
"""
import atexit
import errno
import glob
import http.client
import http.server
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from sanitized import SANITIZED  # noqa: E402
from told import all_said, check, plan, until  # noqa: E402

HEADER = b"GET /metrics HTTP/1.1\r\n" + b"x:y\r\n" * 52424  # 256 KB in lines of 5 bytes
NOBODY = 65534
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


# ---- peers ----

class Peer:
    """A connection that is opened again when it ends; it sends `data`, over and over if `again`, and reads nothing."""

    def __init__(self, port, poll, peers, data, again=False, reset=False):
        self.port, self.poll, self.peers, self.data, self.again, self.reset = port, poll, peers, data, again, reset
        self.socket = None
        self.open()

    def open(self):
        if self.socket:
            del self.peers[self.socket.fileno()]
            if self.reset:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", self.port))
        self.left = self.data
        self.peers[self.socket.fileno()] = self
        self.poll.register(self.socket, select.EPOLLRDHUP | (select.EPOLLOUT if self.left or self.reset else 0))

    def ready(self, what):
        if self.reset or what & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
            self.open()
            return
        try:
            self.left = self.left[self.socket.send(self.left):] or (self.data if self.again else b"")
        except OSError as error:
            if error.errno != errno.EAGAIN:
                self.open()
                return
        if not self.left:
            self.poll.modify(self.socket, select.EPOLLRDHUP)


def attack(port, tell, *counts):
    """Until it is ended.  counts: of each kind; tell: a descriptor that gets a byte once all stand."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    poll, peers = select.epoll(), {}
    kinds = {"idle": {"data": b""}, "headers": {"data": HEADER}, "unread": {"data": SCRAPE},
             "pipelined": {"data": SCRAPE * 200, "again": True}, "reset": {"data": b"", "reset": True},
             "drips": {"data": b"GET /"}}
    for word in counts:
        kind, count = word.split("=")
        for _ in range(int(count)):
            Peer(port, poll, peers, **kinds[kind])
    os.write(tell, b"x")
    while True:
        for number, what in poll.poll():
            if number in peers:
                peers[number].ready(what)


class Attack:
    """A copy of this process, because nobody could run a program below /root."""

    def __init__(self, exporter, *counts):
        got, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(got)
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setresgid(NOBODY, NOBODY, NOBODY)
                    os.setresuid(NOBODY, NOBODY, NOBODY)
                attack(exporter.port, tell, *counts)
            finally:
                os._exit(1)
        atexit.register(self.__exit__)
        os.close(tell)
        assert os.read(got, 1), "the peers did not start"
        os.close(got)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


# ---- the exporter ----

class Exporter:
    def __init__(self, program, folder, *options):
        self.said_in = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, "--listen=127.0.0.1:0", *options, folder], stderr=self.said_in,
                                        stdin=subprocess.DEVNULL,
                                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024)))
        atexit.register(self.process.kill)
        pattern = r"serves http://[^ ]*:(\d+)/metrics"
        self.port = int(until(lambda: re.search(pattern, all_said(self.said_in)), 30, pattern).group(1))

    def get(self, path):
        """Status and text, and how long it took."""
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, time.monotonic() - begin

    def value(self, name):
        return float(re.search(r"^%s ([0-9.]+)$" % name, self.get("/metrics")[1], re.M).group(1))

    def files(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def peak_kb(self):
        return int(re.search(r"VmHWM:\s*(\d+)", open("/proc/%d/status" % self.process.pid).read()).group(1))

    def answers(self, name, seconds=1.0, scrapes=10):
        """Scrapes and looks at /healthz, spread over that time."""
        took, failed = [], []
        for number in range(scrapes):
            for path in ("/metrics", "/healthz"):
                try:
                    status, text, one = self.get(path)
                    took.append(one)
                    if status != 200 or (path == "/metrics" and "sqtrace_up 1\n" not in text):
                        failed.append("%s: status %d" % (path, status))
                except (OSError, http.client.HTTPException) as error:
                    failed.append("%s: %r" % (path, error))
            if self.process.poll() is not None:
                failed.append("the exporter ended: %d" % self.process.returncode)
                break
            time.sleep(seconds / scrapes if number < scrapes - 1 else 0)
        check(not failed and max(took) <= WITHIN_S, "%s: %d scrapes are answered, the slowest within %.0f ms"
              % (name, scrapes, 1000 * max(took, default=0)), *failed[:5])


def raw(port, data, half=True):
    """What comes for these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(data)
        if half:
            connection.shutdown(socket.SHUT_WR)
        got = b""
        while True:
            try:
                piece = connection.recv(65536)
            except ConnectionResetError:
                return got
            if not piece:
                return got
            got += piece


# ---- a receiver of spans ----

class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    spans = 0

    def do_POST(self):
        Receiver.spans += self.rfile.read(int(self.headers["Content-Length"])).count(b'"spanId"')
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "--otlp=http://127.0.0.1:%d" % server.server_address[1]


# ---- the cases ----

def headers_alone(exporter, allowed):
    """Fewer connections than descriptors: what counts is only what is kept of headers."""
    with Attack(exporter, "headers=900"):
        exporter.answers("900 connections with 256 KB of header", 5)
    check(exporter.process.poll() is None and (exporter.peak_kb() < allowed or SANITIZED), "they take %d KB" % exporter.peak_kb())


def stand(exporter, folder, seconds):
    with Attack(exporter, "idle=1000", "headers=1000"):
        exporter.answers("2,000 connections, half idle, half with 256 KB of header", seconds)
        for path in glob.glob(os.path.join(SAMPLE, "*.sqt")):
            shutil.copy(path, folder)
        until(lambda: Receiver.spans > 1000 or exporter.process.poll() is not None, 60, "spans are sent")
        check(exporter.process.poll() is None, "spans are sent meanwhile")
        exporter.answers("the same, with more of the trace to read")
    exporter.answers("afterwards")


def others(exporter):
    for name, counts in (("100 clients that ask and do not read", ("unread=100",)),
                         ("1,000 clients that ask and do not read", ("unread=1000",)),
                         ("600 clients that pipeline scrapes and do not read", ("pipelined=600",)),
                         ("20 clients that connect and reset", ("reset=20",)),
                         ("1,000 requests that do not end", ("drips=1000",))):
        with Attack(exporter, *counts):
            exporter.answers(name)
    exporter.answers("after all of them")


def odd(exporter):
    port = exporter.port
    for name, data, half, answer in (
            ("a client that shuts its side down", SCRAPE, True, b"HTTP/1.1 200 "),
            ("bytes of TLS", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\xee" * 400, True, b""),
            ("bytes of TLS with line ends", b"\x16\x03\x01\r\n\r\n", False, b"HTTP/1.1 400 "),
            ("NULs", b"GET /metrics\0 HTTP/1.1\r\n\r\n", False, b"HTTP/1.1 400 "),
            ("no version", b"GET /metrics\r\n\r\n", False, b"HTTP/1.1 400 "),
            ("another version", b"GET /metrics HTTP/2.0\r\n\r\n", False, b"HTTP/1.1 400 "),
            ("empty lines only", b"\r\n" * 9000, False, b"HTTP/1.1 400 "),
            ("a request line without an end", b"GET /" + b"x" * 300000, False, b"HTTP/1.1 431 "),
            ("a header of 16,384 bytes", b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 16354 + b"\r\n\r\n", False, b"HTTP/1.1 200 "),
            ("a header of 16,385 bytes", b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 16355 + b"\r\n\r\n", False, b"HTTP/1.1 431 "),
            ("a body in chunks", b"POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", False,
             b"HTTP/1.1 405 "),
            ("a body that does not come", b"POST /metrics HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", False, b"HTTP/1.1 405 "),
            ("a whole URL", b"GET http://a:1/healthz?x HTTP/1.0\r\n\r\n", False, b"HTTP/1.1 200 ")):
        got = raw(port, data, half)
        check(got.startswith(answer) and got.count(b"HTTP/1.1 ") == (answer != b""), name, got[:100])


def spent(exporter):
    """Descriptors run out although connections leave most of them alone."""
    limit = exporter.files() + 20
    with Attack(exporter, "idle=50"):
        until(lambda: exporter.files() > limit or exporter.process.poll() is not None, 30, "connections stand")
        resource.prlimit(exporter.process.pid, resource.RLIMIT_NOFILE, (limit, 1024))
        exporter.answers("no descriptor is left")
    resource.prlimit(exporter.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
    exporter.answers("there are descriptors again")
    check("a connection could not be accepted: Too many open files" in all_said(exporter.said_in), "that is reported")


def go_first():
    """A client has a tenth of a second for a step (see http.h), which other processes of this machine may take from it."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        pass


def main():
    go_first()
    with tempfile.TemporaryDirectory() as work:
        folder = os.path.join(work, "trace")
        os.mkdir(folder)
        shutil.copy(os.path.join(SOURCE, "tests", "golden", "good.sqt"), folder)
        exporter = Exporter(os.path.join(TOOLS, "sqtrace-exporter"), folder, receiver())
        until(lambda: "follows" in all_said(exporter.said_in), 30, "follows")
        time.sleep(1.5)  # what comes from now on is new
        before = exporter.files()
        unit = open(os.path.join(SOURCE, "tools", "exporter", "site", "sqtrace-exporter.service.in")).read()
        allowed = 1024 * int(re.search(r"^MemoryMax=(\d+)M$", unit, re.M).group(1))
        headers_alone(exporter, allowed)
        stand(exporter, folder, float(os.environ.get("SQT_PRESSURE_S", "5")))
        others(exporter)
        odd(exporter)
        until(lambda: exporter.files() <= before + 8, 20, "connections are closed")
        spent(exporter)
        check(exporter.value("sqtrace_exporter_refused_total") > 0, "what was closed is counted")
        check(exporter.peak_kb() < allowed or SANITIZED, "it took %d KB at most, of %d" % (exporter.peak_kb(), allowed))
        exporter.process.terminate()
        check(exporter.process.wait(20) == 0, "SIGTERM ends it with status 0", all_said(exporter.said_in)[-2000:])
    plan()


TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
SAMPLE = os.path.join(SOURCE, "doc", "sample")
WITHIN_S = 10 if SANITIZED else 1
main()
