# SPDX-License-Identifier: GPL-2.0-or-later
"""trace_context=on: the header field traceparent of requests, as clients sent it, as the origin got it, and in the trace."""

import json
import socketserver
import subprocess
import threading

from lib import dump
from lib.client import Client
from lib.env import UNIT, first, wait_for
from lib.squid import Squid

TRACE, OTHER = "4bf92f3577b34da6a3ce929d0e0e4736", "80000000000000000000000000000001"
ONE = "00-%s-00f067aa0ba902b7-01" % TRACE
NAMED = ("trace_id", "parent_id", "trace_flags")
NONE = ("-", "-", "-")
# tag: the fields of the request, and what the trace says of them
CASES = [
    ("sampled", ["traceparent: " + ONE], (TRACE, "00f067aa0ba902b7", "1")),
    ("without", [], NONE),  # on the same connection
    ("any-case", ["TraceParent:  %s " % ONE], (TRACE, "00f067aa0ba902b7", "1")),
    ("not-sampled", ["traceparent: 00-%s-8000000000000000-00" % OTHER], (OTHER, "8000000000000000", "0")),
    ("flags", ["traceparent: 00-%s-ffffffffffffffff-ff" % TRACE], (TRACE, "ffffffffffffffff", "255")),
    ("later", ["traceparent: cc-%s-0000000000000001-03-more" % TRACE], (TRACE, "0000000000000001", "1")),
    ("upper-case", ["traceparent: " + ONE.upper()], NONE),
    ("too-long", ["traceparent: " + ONE + "0"], NONE),
    ("no-trace", ["traceparent: 00-%s-00f067aa0ba902b7-01" % ("0" * 32)], NONE),
    ("empty", ["traceparent:"], NONE),
    ("two", ["traceparent: " + ONE, "traceparent: " + ONE], NONE),
    ("one-of-two", ["traceparent: bad", "Traceparent: " + ONE], NONE),
    ("other-names", ["traceparent2: " + ONE, "x-traceparent: " + ONE], NONE),
    ("among-others", ["Accept: */*", "tracestate: a=b", "traceparent: " + ONE, "X-Y: 1"], (TRACE, "00f067aa0ba902b7", "1")),
]


class Fields(socketserver.ThreadingTCPServer):
    """An origin that keeps the fields of requests: {path: [(name, value)]}."""
    allow_reuse_address, daemon_threads = True, True

    def __init__(self, env):
        super().__init__(("127.0.0.1", 0), Answer)
        self.got = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()
        env.on_close(self.shutdown)

    def url(self, name):
        return "http://127.0.0.1:%d/%s" % (self.server_address[1], name)


class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        while True:
            line = self.rfile.readline().decode("latin-1").split()
            if not line:
                return
            fields = []
            for field in iter(lambda: self.rfile.readline().decode("latin-1").rstrip("\r\n"), ""):
                name, _, value = field.partition(":")
                fields.append((name.lower(), value.strip()))
            self.server.got[line[1].rsplit("/", 1)[1]] = fields
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nCache-Control: max-age=60\r\n\r\nyes")


def parents(fields):
    """The fields of that kind, in order."""
    return [(name, value) for name, value in fields if name.startswith(("trace", "x-trace"))]


def ask(squid, origin, cases):
    with Client(squid.client_address()) as client:
        for tag, fields, _ in cases:
            client.request(origin.url(tag), tag, headers=fields)


def contexts(env, squid):
    """The three columns of each request, in the order of the requests; one client asked for them one by one."""
    rows = dump.table(env, squid.directory, "requests", "--columns=" + ",".join(("time_s",) + NAMED))
    return [tuple(row[name] for name in NAMED) for row in sorted(rows, key=lambda row: float(row["time_s"]))]


def fields_of_requests(env):
    origin = Fields(env)
    squid = Squid(env, trace="trace_context=on compress=off").start()
    ask(squid, origin, CASES)
    ask(squid, origin, CASES[:1])  # from memory
    squid.stop()
    env.equal(contexts(env, squid), [said for _, _, said in CASES] + [CASES[0][2]], "ids and flags")
    for tag, fields, _ in CASES:
        sent = [(name.lower(), value.strip()) for name, _, value in (field.partition(":") for field in fields)]
        env.equal(parents(origin.got[tag]), parents(sent), "what the origin got: " + tag)
    plain = dump.table(env, squid.directory, "requests")
    env.check(not set(NAMED) & set(plain[0]), "the columns are printed unasked")
    everything = dump.Dump(env, squid.directory, table="events").text
    env.equal(everything.count("\tTRACE_CONTEXT\t"), everything.count("\tPART_TRACE_ID\t"), "parts")
    spans(env, squid)


def spans(env, squid):
    """The request's span is a child of the client's: by the published definitions where they are installed, else as JSON."""
    text = subprocess.run([env.tool("sqtrace-dump"), "--quiet", "--format=otlp", squid.directory], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    python = env.python_with("opentelemetry-proto")
    read = """
import json, sys
sys.path.insert(0, %r)
from otlp import parse, spans_of
for line in sys.stdin:
    for _, s in spans_of(parse(line)):
        print(json.dumps([s.kind, s.trace_id.hex(), s.span_id.hex(), s.parent_span_id.hex(), s.flags]))
""" % UNIT
    if python:
        done = subprocess.run([python, "-c", read], input=text.encode(), check=True, stdout=subprocess.PIPE)
        found = [json.loads(line) for line in done.stdout.splitlines()]
    else:
        env.leave_out("the spans are read as JSON, because opentelemetry-proto cannot be installed from PyPI")
        all_spans = [span for line in text.splitlines() for of in json.loads(line)["resourceSpans"]
                     for scope in of["scopeSpans"] for span in scope["spans"]]
        found = [[s["kind"], s["traceId"], s["spanId"], s.get("parentSpanId", ""), s["flags"]] for s in all_spans]
    said = [case[2] for case in CASES] + [CASES[0][2]]
    named = sorted((trace, parent, int(flags) | 0x300) for trace, parent, flags in said if flags != "-" and int(flags) & 1)
    requests = [span for span in found if span[0] == 2]
    env.equal(sorted((trace, parent, flags) for _, trace, _, parent, flags in requests if parent), named,
              "spans of requests whose clients named theirs")
    env.equal(sum(not span[3] for span in requests), said.count(NONE), "spans of other requests")
    trace_of = {span[2]: span[1] for span in requests}
    children = [span for span in found if span[0] != 2 and span[3]]
    env.check(children and all(trace_of.get(span[3]) == span[1] for span in children), "children: %s" % children)


def reconfigurations(env, squid):
    return dump.Dump(env, squid.directory, table="events").text.count("\tRECONFIGURE\t")


def switched(env):
    """Off by default; a reconfiguration switches it on, and off again."""
    origin = Fields(env)
    squid = Squid(env, trace="compress=off").start()
    for n, setting in enumerate(("", " trace_context=on", " trace_context=off")):
        if n:
            squid.trace = "compress=off" + setting
            squid.reconfigure()
            wait_for(lambda: reconfigurations(env, squid) == n, 20, "squid.conf was read again")  # pylint: disable=cell-var-from-loop
        ask(squid, origin, CASES[:1])
    squid.stop()
    env.equal(contexts(env, squid), [NONE, CASES[0][2], NONE], "off, on, off")


TESTS = [
    ("trace context: fields of requests", first(fields_of_requests), 40),
    ("trace context: off, on, off", first(switched), 40),
]
