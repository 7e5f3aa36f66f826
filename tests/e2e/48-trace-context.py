# SPDX-License-Identifier: GPL-2.0-or-later
"""trace_context=on: the header field traceparent of requests, as clients sent it, as the origin got it, and in the trace."""

import json
import os
import socketserver
import subprocess
import sys
import threading

from lib import dump
from lib.client import Client
from lib.env import UNIT, first, wait_for
from lib.exporter import Exporter, fetch
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
        self.got, self.mute = {}, False
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
            if self.server.mute:  # it closes the connection without an answer
                return
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
    """Off by default; a reconfiguration switches it on, and off again.  So it is with notes."""
    origin = Fields(env)
    squid = Squid(env, trace="compress=off", lines="note mark yes all\nnote other no all\n").start()
    for n, setting in enumerate(("", " trace_context=on note=mark", " trace_context=off note=other,mark")):
        if n:
            squid.trace = "compress=off" + setting
            squid.reconfigure()
            wait_for(lambda: reconfigurations(env, squid) == n, 20, "squid.conf was read again")  # pylint: disable=cell-var-from-loop
        ask(squid, origin, CASES[:1])
    squid.stop()
    env.equal(contexts(env, squid), [NONE, CASES[0][2], NONE], "off, on, off")
    notes = dump.table(env, squid.directory, "requests", "--columns=time_s,notes", "--sort=time_s")
    env.equal([row["notes"] for row in notes], ["-", '{"mark":"yes"}', '{"other":"no","mark":"yes"}'], "notes")


# ---- trace_context=forward ----

def told(env, squid):
    """{span id: (kind, trace, parent, name, attributes)} of a Squid's trace."""
    text = subprocess.run([env.tool("sqtrace-dump"), "--quiet", "--format=otlp", squid.directory], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    found = {}
    for line in text.splitlines():
        for of in json.loads(line)["resourceSpans"]:
            for scope in of["scopeSpans"]:
                for s in scope["spans"]:
                    attributes = {a["key"]: list(a["value"].values())[0] for a in s["attributes"]}
                    env.check(s["spanId"] not in found, "a span id comes twice")
                    found[s["spanId"]] = (s["kind"], s["traceId"], s.get("parentSpanId", ""), s["name"], attributes)
    return found


def parent_of(value):
    """Trace, span and flags of a field."""
    return tuple(value.split("-")[1:])


def climbs(env, spans, sent, upper, words):
    """The span that a server was sent is a try, whose parent is the request's span, whose parent is the upper one."""
    trace, span, flags = parent_of(sent)
    env.equal((trace, flags), (TRACE, "01"), words + ": trace and flags are as they came")
    env.check(span in spans, "%s: no span %s" % (words, span))
    kind, of, parent, _, attributes = spans[span]
    env.equal((kind, of), (3, TRACE), words + ": it is a try")
    env.equal((spans[parent][0], spans[parent][2]), (2, upper), words + ": of the request, which is a child")
    return attributes


def peer(server, *options):
    return "cache_peer 127.0.0.1 parent %d 0 no-query no-digest no-netdb-exchange %s\n" % (server, " ".join(options))


def forwarded(env):
    """Two Squids, one behind the other, and a server: each is sent a span of the one before, in the caller's trace."""
    origin = Fields(env)
    behind = Squid(env, "behind", trace="trace_context=forward names=servers",
                   lines="unique_hostname behind.test\n").start()
    front = Squid(env, "front", trace="trace_context=forward", lines=peer(behind.port, "default", "name=behind") +
                  "unique_hostname front.test\nnever_direct allow all\n").start()
    ask(front, origin, CASES)
    front.stop()
    behind.stop()
    spans = told(env, front), told(env, behind)
    env.equal(set(spans[0]) & set(spans[1]), set(), "span ids of both")
    for tag, fields, said in CASES:
        sent = [(name.lower(), value.strip()) for name, _, value in (field.partition(":") for field in fields)]
        got = origin.got[tag]
        if said == NONE:
            env.equal(parents(got), parents(sent), "nothing is made of " + tag)
            continue
        old, new = [value for name, value in parents(sent) if name == "traceparent"], dict(parents(got))["traceparent"]
        env.check(len(new) == len(old[0]) and new[:36] + new[52:] == old[0][:36] + old[0][52:] and new != old[0],
                  "%s: only the span is another: %s" % (tag, new))
        env.equal([pair for pair in parents(got) if pair[0] == "tracestate"],
                  [pair for pair in parents(sent) if pair[0] == "tracestate"], tag + ": tracestate")
    sent = dict(parents(origin.got["sampled"]))["traceparent"]
    upper = spans[1][spans[1][parent_of(sent)[1]][2]][2]
    attributes = climbs(env, spans[1], sent, upper, "behind")
    env.check(upper in spans[0], "the upper one is a try of the Squid before")
    env.equal((attributes["server.address"], attributes["server.port"]), ("127.0.0.1", str(origin.server_address[1])),
              "where the try went")
    tries = [(span, s) for span, s in spans[0].items() if s[0] == 3 and "squid.try" in s[4]]
    requests = {s[2]: span for span, s in spans[1].items() if s[0] == 2 and s[2]}
    chains = 0
    for span, (_, trace, parent, _, words) in tries:
        env.equal(words["server.address"], "behind", "the peer's name")
        if span in requests:  # left out if the caller did not sample
            env.equal((spans[1][requests[span]][1], spans[0][parent][0]), (trace, 2), "one trace")
            chains += spans[0][parent][2] == "00f067aa0ba902b7"
    env.equal(chains, sum(said[1:] == ("00f067aa0ba902b7", "1") for _, _, said in CASES), "chains from the caller to Squid behind")


def retried(env):
    """A server that closes without an answer, and a second one: each is sent the span of its own try."""
    first_one, second = Fields(env), Fields(env)
    first_one.mute = True
    squid = Squid(env, trace="trace_context=forward", lines=peer(first_one.server_address[1], "default", "name=mute") +
                  peer(second.server_address[1], "name=second") + "never_direct allow all\n").start()
    ask(squid, second, CASES[:1])
    squid.stop()
    spans = told(env, squid)
    got = [dict(parents(server.got["sampled"]))["traceparent"] for server in (first_one, second)]
    words = [climbs(env, spans, value, "00f067aa0ba902b7", "try %d" % (n + 1)) for n, value in enumerate(got)]
    env.equal([(w["squid.try"], w["server.address"]) for w in words], [("1", "mute"), ("2", "second")], "tries")
    env.equal((words[0].get("error.type"), words[1].get("error.type")), ("error", None), "the first one failed")
    env.equal(words[1].get("http.request.resend_count"), "1", "the second one is sent again")


# ---- as a Collector understands it ----

def own_span(service, span, parent, kind):
    """A span of a caller or a server, in their own words."""
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"spans": [{"traceId": TRACE, "spanId": span, "parentSpanId": parent, "name": service, "kind": kind,
                                   "startTimeUnixNano": "1", "endTimeUnixNano": "2"}]}]}]})


def collected(env):
    """A caller, two Squids and two servers of which one fails; all send their spans to a Collector, which knows one chain."""
    program = os.path.join(os.path.dirname(os.path.abspath(env.tools)), "collector", "collector")
    if not os.path.exists(program):
        env.leave_out("the Collector, which tools/check --only=collector builds")
        return
    sys.path[:0] = [os.path.join(os.path.dirname(UNIT), "otlp"), UNIT]
    from collector import Collector  # pylint: disable=import-outside-toplevel,import-error
    os.symlink(program, env.path("collector"))
    collector = Collector(env.folder, "taken")
    env.on_close(collector.process.kill)
    mute, origin = Fields(env), Fields(env)
    mute.mute = True
    behind = Squid(env, "behind", trace="trace_context=forward", lines="unique_hostname behind.test\n").start()
    front = Squid(env, "front", trace="trace_context=forward", lines=peer(mute.server_address[1], "default", "name=mute") +
                  peer(behind.port, "name=behind") + "unique_hostname front.test\nnever_direct allow all\n").start()
    exporters = [Exporter(env, squid.directory, "--otlp=http://127.0.0.1:%d" % collector.port) for squid in (front, behind)]
    ask(front, origin, CASES[:1])
    sent = [dict(parents(server.got["sampled"]))["traceparent"].split("-")[2] for server in (mute, origin)]
    collector.send([own_span("caller", "00f067aa0ba902b7", "", 3), own_span("mute", "1" * 16, sent[0], 2),
                    own_span("origin", "2" * 16, sent[1], 2)])
    for exporter in exporters:
        wait_for(lambda: fetch("http://%s/metrics" % exporter.address).count(  # pylint: disable=cell-var-from-loop
            "sqtrace_otlp_queue_bytes 0\n"), 20, "spans to be sent")
    front.stop()
    behind.stop()
    for exporter in exporters:
        exporter.process.terminate()
        exporter.process.wait(20)
    spans = collector.end()

    def chain(span):
        """(service, kind, number of the try) of a span and all above it."""
        found = []
        while span:
            one = spans.get(span)
            env.require(one, "the Collector has no span " + span)
            env.equal(one["Trace ID"], TRACE, "one trace")
            service = one["resource"]["service.name"]
            name = next((squid.name for squid in (front, behind) if squid.service in service), service[4:-1])
            found.append((name, one["Kind"], one["attributes"].get("squid.try", "")))
            span = one["Parent ID"]
        return found
    upper = [("front", "Server", ""), ("caller", "Client", "")]
    env.equal(chain("1" * 16), [("mute", "Server", ""), ("front", "Client", "Int(1)")] + upper, "above the server that failed")
    env.equal(chain("2" * 16), [("origin", "Server", ""), ("behind", "Client", "Int(1)"), ("behind", "Server", ""),
                                ("front", "Client", "Int(2)")] + upper, "above the server that answered")


TESTS = [
    ("trace context: Squid's own spans go on", first(forwarded), 60),
    ("trace context: a span for each try", first(retried), 60),
    ("trace context: a Collector's trace of two Squids", collected, 60),
    ("trace context: fields of requests", first(fields_of_requests), 40),
    ("trace context: off, on, off", first(switched), 40),
]
