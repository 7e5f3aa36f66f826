#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""exporter_otlp.py - sqtrace-exporter --otlp: what receivers of OTLP get, good ones and bad ones.

A receiver in this program takes batches, and does to each what it is told.  The trace is copied into an empty directory that the
exporter follows, so all of its requests are new.  The spans must be those of sqtrace-dump --format=otlp.
"""

import atexit
import concurrent.futures
import glob
import http.client
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from otlp import HAVE, parse  # noqa: E402
from pypi import enter  # noqa: E402
from told import all_said, check, copy_at_once, plan, until  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
EXPORTER, DUMP = os.path.join(TOOLS, "sqtrace-exporter"), os.path.join(TOOLS, "sqtrace-dump")
SAMPLE, GOLDEN = os.path.join(SOURCE, "doc", "sample"), os.path.join(SOURCE, "tests", "golden")
with open(EXPORTER, "rb") as program:
    SLOW = re.search(b"__[at]san_init", program.read()) is not None  # a sanitizer looks for errors, and times are not judged
SCRAPE_S = 30 if SLOW else 1  # while a receiver misbehaves
END_S = 30 if SLOW else 3  # behind a signal
WAIT_S = 120  # for what takes a few seconds where no other work holds it up


def spans_in(message):
    return [span for of in message["resourceSpans"] for scope in of["scopeSpans"] for span in scope["spans"]]


# ---- receivers ----

class Receiver:
    """Takes requests; act(connection, number of the request, its body) answers, and says whether the spans were taken."""

    def __init__(self, act, slow=False):
        self.act, self.slow, self.got, self.bodies, self.times, self.heads = act, slow, [], 0, [], []
        self.answering = 0
        self.all = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            self.all.append(connection)
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        try:
            while self.slow and connection.recv(1):
                time.sleep(0.2)
            stream = connection.makefile("rb")
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = stream.readline()
                    if not line:
                        return
                    head += line
                length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
                body = stream.read(length)
                if len(body) < length:  # the exporter gave it up, and sends it again
                    return
                self.times.append(time.monotonic())
                self.heads.append(head)
                self.bodies += 1
                self.answering += 1
                try:
                    if self.act(connection, self.bodies, body):
                        self.got.append(body)
                finally:
                    self.answering -= 1
        except OSError:
            pass

    def close(self):
        self.server.close()
        for connection in self.all:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def ids(self):
        """Of the batches that were taken.  Who gets an answer may be ahead of the thread that gave it."""
        end = time.monotonic() + 30
        while self.answering and time.monotonic() < end:
            time.sleep(0.01)
        return [span["spanId"] for body in list(self.got) for span in spans_in(json.loads(body))]


def answer(connection, status, *headers, body=b"{}"):
    lines = ["HTTP/1.1 %d Answer" % status, "Content-Length: %d" % len(body), "Content-Type: application/json", *headers, "", ""]
    connection.sendall("\r\n".join(lines).encode() + body)
    return 200 <= status < 300


def good(connection, _number, _body):
    return answer(connection, 200)


# ---- the exporter ----

class Exporter:
    """Follows a folder to which the sample came after it had begun."""

    def __init__(self, folder, port, *options, trace=os.path.join(SAMPLE, "*.sqt")):
        os.mkdir(folder)
        shutil.copy(os.path.join(GOLDEN, "good.sqt"), folder)
        self.said_in = tempfile.TemporaryFile()
        self.process = subprocess.Popen([EXPORTER, "--listen=127.0.0.1:0", "--otlp=http://127.0.0.1:%d" % port, *options,
                                         folder], stderr=self.said_in, stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        self.port = int(until(lambda: re.search(r"serves http://[^ ]*:(\d+)/", self.said()), WAIT_S, "serves").group(1))
        until(lambda: "follows" in self.said(), WAIT_S, "follows")
        self.took = []  # by scrapes, s
        time.sleep(1.2)
        for _ in range(3):  # it has looked since, even if it had no processor for long
            self.metrics()
            time.sleep(0.15)
        copy_at_once(glob.glob(trace), folder, self.process)
        self.took = []

    def said(self):
        return all_said(self.said_in)

    def metrics(self):
        begin = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        self.took.append(time.monotonic() - begin)
        return {name: float(value) for name, value in re.findall(r"^([a-z_]+) ([-0-9.e+]+)$", text, re.M)} | {
            "requests": sum(float(value) for value in re.findall(r"^sqtrace_requests_total\{.*\} (\S+)$", text, re.M))}

    def usual(self):
        """What a scrape takes in the middle; other work of the machine makes some slow."""
        return statistics.median(self.took)

    def otlp(self, name):
        return int(self.metrics()["sqtrace_otlp_" + name])

    def stop(self):
        self.process.terminate()
        return self.process.wait(WAIT_S if SLOW else 20)


def wanted(*options, trace=SAMPLE):
    text = subprocess.run([DUMP, "--quiet", "--format=otlp", *options, trace], stdout=subprocess.PIPE, check=True).stdout
    spans = [span for line in text.decode().splitlines() for span in spans_in(json.loads(line))]
    return [span for span in spans if span["kind"] == 2 or "parentSpanId" in span or not any(
        one["key"] == "squid.xid" for one in span["attributes"])]  # others wait for a request that does not come


def settled(exporter, total):
    """All spans were sent or dropped."""
    until(lambda: exporter.otlp("sent_spans_total") + exporter.otlp("dropped_spans_total") >= total and
          exporter.otlp("queue_bytes") == 0, WAIT_S, "all are sent or dropped")


# ---- cases ----

def usage():
    where = "expected http://ADDRESS:PORT, as in http://127.0.0.1:4318"
    for options, message in (
            (["--otlp=https://127.0.0.1:4318"], "--otlp: 'https://127.0.0.1:4318': there is no TLS; name a Collector on this "
                                                "machine, as http://127.0.0.1:4318"),
            (["--otlp=127.0.0.1:4318"], "--otlp: '127.0.0.1:4318': " + where),
            (["--otlp=http://collector.example:4318"], "--otlp: 'http://collector.example:4318': " + where),
            (["--otlp=http://127.0.0.1:0"], "--otlp: 'http://127.0.0.1:0': " + where),
            (["--otlp=http://127.0.0.1:70000"], "--otlp: 'http://127.0.0.1:70000': " + where),
            (["--otlp=http://u@127.0.0.1:1"], "--otlp: 'http://u@127.0.0.1:1': " + where),
            (["--otlp="], "--otlp: '': " + where),
            (["--otlp-slow=1s"], "--otlp-slow goes with --otlp"),
            (["--otlp-queue=1MB"], "--otlp-queue goes with --otlp"),
            (["--otlp=http://[::1]:4318/x", "--otlp-queue=1"], "--otlp-queue: '1': too small"),
            (["--otlp=http://localhost", "--otlp-sample=2"],
             "--otlp-sample: '2': expected a share from 0 to 1, as in 0.1 or 10%")):
        done = subprocess.run([EXPORTER, *options, SAMPLE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20,
                              check=False)
        check((done.returncode, done.stderr.decode()) == (2, "sqtrace-exporter: %s\n" % message), message,
              done.stderr.decode())


def takes_all(work, spans):
    receiver = Receiver(good)
    exporter = Exporter(os.path.join(work, "good"), receiver.port)
    settled(exporter, len(spans))
    ids = receiver.ids()
    missing = {span["spanId"] for span in spans} - set(ids)
    extra = set(ids) - {span["spanId"] for span in spans}
    check(not missing and not extra and len(ids) == len(spans), "each of %d spans arrives once" % len(spans),
          "%d arrived; %d are missing, %d are others" % (len(ids), len(missing), len(extra)))
    check(receiver.bodies < len(spans) / 10, "in %d batches" % receiver.bodies)
    heads = [head.decode() for head in receiver.heads]
    check(all(head.startswith("POST /v1/traces HTTP/1.1\r\n") and "Content-Type: application/json\r\n" in head and
              "Host: 127.0.0.1:%d\r\n" % receiver.port in head for head in heads), "as POST /v1/traces of JSON", heads[:1])
    check((exporter.otlp("sent_spans_total"), exporter.otlp("dropped_spans_total")) == (len(spans), 0), "all are counted as sent")
    if HAVE:
        for body in receiver.got:
            parse(body.decode(), request=True)
    check(True, "the definitions of the protocol take each batch", skip="" if HAVE else "no opentelemetry-proto")
    check(exporter.stop() == 0, "a signal ends it")
    receiver.close()


def later(work, spans, name, act, tries, said, wait=0, options=()):
    """A receiver that gets better: all spans arrive."""
    receiver = Receiver(act)
    exporter = Exporter(os.path.join(work, name), receiver.port, *options)
    settled(exporter, len(spans))
    ids = receiver.ids()
    check(set(ids) == {span["spanId"] for span in spans} and exporter.otlp("sent_spans_total") == len(spans) and
          exporter.otlp("retries_total") >= tries, "%s: all arrive after %d tries again" % (name, tries),
          "%d of %d, %d again" % (len(set(ids)), len(spans), exporter.otlp("retries_total")))
    check(said in exporter.said() and "takes spans again" in exporter.said(), "%s: it is said, and that it is over" % name,
          exporter.said())
    gaps = [b - a for a, b in zip(receiver.times, receiver.times[1:])][:tries]
    # The receiver notes when it has read a batch, so one that is read late makes the gap behind it shorter.
    check(not gaps or min(gaps) >= 0.8 * wait, "%s: it waits %.1f s" % (name, wait), gaps)
    check(exporter.usual() < SCRAPE_S, "%s: a scrape takes %.0f ms" % (name, exporter.usual() * 1000))
    check(exporter.stop() == 0, "%s: a signal ends it" % name)
    receiver.close()


def refused(work, spans, status):
    receiver = Receiver(lambda connection, number, body: answer(connection, status))
    exporter = Exporter(os.path.join(work, "refused-%d" % status), receiver.port)
    settled(exporter, len(spans))
    check(exporter.otlp("refused_spans_total") == len(spans) and exporter.otlp("retries_total") == 0,
          "%d: all are dropped and counted" % status)
    check(exporter.said().count("status %d; drops what is refused" % status) == 1, "%d: said once" % status, exporter.said())
    check(exporter.stop() == 0, "%d: a signal ends it" % status)
    receiver.close()


def partly(work, spans):
    receiver = Receiver(lambda connection, number, body: answer(
        connection, 200, body=b'{"partialSuccess": {"rejectedSpans": "3"}}' if number == 1 else b"{}"))
    exporter = Exporter(os.path.join(work, "partly"), receiver.port)
    settled(exporter, len(spans))
    check((exporter.otlp("refused_spans_total"), exporter.otlp("sent_spans_total")) == (3, len(spans) - 3),
          "rejected spans of an answer 200 are counted as refused")
    exporter.stop()
    receiver.close()


def never(work, spans, name, act, said):
    """A receiver that never takes anything: reading and scrapes go on, and the queue is bounded."""
    receiver = Receiver(act, slow=act is slowly) if act else None
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = receiver.port if receiver else closed.getsockname()[1]
    exporter = Exporter(os.path.join(work, name), port, "--otlp-queue=256KB", "--otlp-timeout=1s", "--otlp-retry=3s")
    requests = sum(span["kind"] == 2 for span in spans)
    most = 0

    def counted():
        nonlocal most
        most = max(most, exporter.otlp("queue_bytes"))
        return exporter.metrics()["requests"] == requests
    until(counted, WAIT_S, "all requests are counted")
    for _ in range(10):
        counted()
        time.sleep(0.1)
    check((SLOW or most) and most <= 256 << 10, "%s: %d bytes are queued" % (name, most))
    check(exporter.otlp("queue_full_spans_total") > len(spans) / 3, "%s: what finds no room is counted" % name)
    settled(exporter, len(spans))
    got = [exporter.otlp(what + "_spans_total") for what in ("sent", "dropped", "queue_full", "expired")]
    check(got[:2] == [0, len(spans)] and got[3] > 0 and got[2] + got[3] == len(spans),
          "%s: in the end each of %d spans is dropped and counted" % (name, len(spans)), got)
    check(said in exporter.said() and len(exporter.said().splitlines()) < 10, "%s: said, and not again and again" % name,
          exporter.said())
    check(exporter.usual() < SCRAPE_S, "%s: a scrape takes %.0f ms" % (name, exporter.usual() * 1000))
    begin = time.monotonic()
    check(exporter.stop() == 0 and time.monotonic() - begin < END_S, "%s: a signal ends it" % name)
    if receiver:
        receiver.close()


def silent(_connection, _number, _body):
    return False


def slowly(_connection, _number, _body):
    """Reads a byte at a time, and never all."""
    return False


def drips(connection, _number, _body):
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":
        connection.sendall(bytes([byte]))
        time.sleep(0.2)
    return False


def first(times, act):
    """Does that so many times, and is good then."""
    return lambda connection, number, body: (act if number <= times else good)(connection, number, body)


def closes(connection, _number, _body):
    connection.shutdown(socket.SHUT_RDWR)
    return False


def slow_ones(work):
    spans = wanted("--otlp-slow=20ms", "--otlp-failed")
    receiver = Receiver(good)
    exporter = Exporter(os.path.join(work, "slow"), receiver.port, "--otlp-slow=20ms", "--otlp-failed")
    until(lambda: len(set(receiver.ids())) >= len(spans), WAIT_S, "all came")
    exporter.stop()
    check(set(receiver.ids()) == {span["spanId"] for span in spans}, "--otlp-slow and --otlp-failed: the %d spans of "
          "sqtrace-dump" % len(spans))
    receiver.close()


def contexts(work):
    """Requests whose clients name their spans."""
    traces = os.path.join(work, "traces")
    subprocess.run([os.path.join(TOOLS, "tests", "unit", "dump_traces"), traces], check=True)
    trace = os.path.join(traces, "context.sqt")

    def places(spans):
        return sorted((span["traceId"], span["spanId"], span.get("parentSpanId", ""), span["flags"]) for span in spans)
    for options in ((), ("--otlp-sample=0",)):
        spans = wanted(*options, trace=trace)
        receiver = Receiver(good)
        exporter = Exporter(os.path.join(work, "contexts%d" % len(options)), receiver.port, *options, trace=trace)
        settled(exporter, len(spans))
        exporter.stop()
        receiver.ids()
        got = [span for body in receiver.got for span in spans_in(json.loads(body))]
        named = {place for place in places(got) if place[0].startswith("8" + "0" * 15)}
        check(places(got) == places(spans) and len(named) == 9, "%d spans in traces of clients %s" % (len(named), " ".join(options)),
              got, spans)
        receiver.close()


def rejects(connection, _number, _body):
    return answer(connection, 200, body=b'{"partialSuccess": {"rejectedSpans": 1}}')


def at_the_end(work, spans, name, act):
    """What is queued when a signal comes is sent, if that takes no longer than two seconds: on a busy machine the third time
    may be the first one."""
    requests = sum(span["kind"] == 2 for span in spans)
    for n in range(3):
        receiver = Receiver(act)
        exporter = Exporter(os.path.join(work, "%s-%d" % (name, n)), receiver.port)
        until(lambda: exporter.metrics()["requests"] == requests, WAIT_S, "all requests are counted")
        until(lambda: exporter.otlp("queue_bytes") < 1 << 18, WAIT_S, "the rest can be sent in two seconds")
        begin = time.monotonic()
        exporter.stop()
        ids = set(receiver.ids())
        if len(ids) == len(spans) or time.monotonic() - begin < 2:
            break
        receiver.close()
    check(ids == {span["spanId"] for span in spans}, "%s: what is queued at the end is sent" % name, "%d of %d" % (len(ids), len(spans)))
    receiver.close()


def main():
    enter("opentelemetry-proto")
    usage()
    spans = wanted()
    with tempfile.TemporaryDirectory() as work:
        cases = [
            (takes_all, work, spans), (at_the_end, work, spans, "end", good),
            (at_the_end, work, spans, "end of one that rejects", rejects), (slow_ones, work), (contexts, work),
            (partly, work, spans),
            (refused, work, spans, 400), (refused, work, spans, 500),
            (later, work, spans, "503", first(2, lambda connection, *_: answer(connection, 503)), 2, "status 503; tries again", 0.3),
            (later, work, spans, "429", first(1, lambda connection, *_: answer(connection, 429, "Retry-After: 2")), 1,
             "status 429; tries again", 1.0),
            (later, work, spans, "never again", first(1, lambda connection, *_: answer(connection, 503, "Retry-After: 9" + 20 * "9")), 1,
             "status 503; tries again", 1.0, ["--otlp-retry=3s"]),
            (later, work, spans, "closes", first(2, closes), 2, "no connection, or no answer; tries again", 0.3),
            (later, work, spans, "silent", first(1, silent), 1, "no answer in time; tries again", 0.4, ["--otlp-timeout=1s"]),
            (never, work, spans, "never answers", silent, "no answer in time"),
            (never, work, spans, "reads a byte at a time", slowly, "no answer in time"),
            (never, work, spans, "answers a byte at a time", drips, "no answer in time"),
            (never, work, spans, "nobody listens", None, "no connection, or no answer")]
        with concurrent.futures.ThreadPoolExecutor(5) as pool:  # they mostly wait
            for case in [pool.submit(*case) for case in cases]:
                case.result()
    plan()


main()
