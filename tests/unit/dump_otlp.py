#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The spans for OpenTelemetry against the tables, and against the definitions of the protocol that PyPI has."""

import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
from otlp import HAVE, attributes, parse, spans_of  # noqa: E402
from pypi import enter  # noqa: E402
from shipped import FRAME_TEXT, frames  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP, SAMPLE = os.path.join(TOOLS, "sqtrace-dump"), os.path.join(SOURCE, "doc", "sample")
TABLES = {"requests": "SERVER", "connections": "TRY", "waits": "WAIT", "swaps": "SWAP"}
LEFT_OUT = {"requests": {"time_s", "kid", "method", "status", "server"}, "connections": {"time_s", "kid", "server"},
            "waits": {"time_s", "kid", "name"}, "swaps": {"time_s", "kid", "path"}}
NUMBER = 0


def check(problems, name, skip=""):
    """problems: what is wrong, as texts."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s%s" % ("not ok" if problems else "ok", NUMBER, name, " # SKIP " + skip if skip else ""), flush=True)
    for problem in problems[:5]:
        print("# %s" % (problem,))


def run(trace, *options):
    return subprocess.run([DUMP, "--quiet", *options, trace], check=True, stdout=subprocess.PIPE, timeout=120).stdout


def table(trace, name, *options):
    """Rows with all columns, and time_ns."""
    text = run(trace, "--table=" + name, "--no-comments", "--format=tsv", *options).decode()
    lines = [line.split("\t") for line in text.split("\n")[:-1]]
    also = ["time_ns"] + (["longest_stage", "dir"] if name == "requests" else [])  # not in text unless asked for
    if any(option.startswith("--columns=") for option in options):
        also = also[:1]
    more = run(trace, "--table=" + name, "--no-comments", "--no-header", "--format=tsv", *options, "--columns=" + ",".join(also))
    return [dict(zip(lines[0] + also, row + cells.split("\t"))) for row, cells in zip(lines[1:], more.decode().split("\n"))]


def kind_of(span):
    if span.kind == 2:
        return "requests"
    if span.name.startswith("swap-"):
        return "swaps"
    return "connections" if span.name.startswith("server connection") else "waits"


class Spans:
    """The spans of an output: [(resource, span)], in its order."""

    def __init__(self, text):
        self.all = [pair for line in text.decode().split("\n")[:-1] for pair in spans_of(parse(line))]
        self.of = collections.defaultdict(list)
        for resource, span in self.all:
            self.of[kind_of(span)].append((resource, span))

    def ids(self, kind=None):
        return {span.span_id for _, span in (self.of[kind] if kind else self.all)}


def as_cell(value):
    return "1" if value is True else "0" if value is False else str(value)


def as_row(name, resource, span):
    """What a span says, as a row says it."""
    found = {key[len("squid."):]: as_cell(value) for key, value in attributes(span).items()
             if key.startswith("squid.") and key != "squid.outside_request"}
    found["kid"] = str(attributes(resource)["squid.kid"])
    if name == "requests":
        others = attributes(span)
        found["method"] = others.get("http.request.method_original", others.get("http.request.method"))
        found["status"] = as_cell(others.get("http.response.status_code"))
    if name != "connections":
        found["length"] = str(span.end_time_unix_nano - span.start_time_unix_nano)
    found["time_ns"] = str(span.start_time_unix_nano)
    found.pop("name", None)
    if found["outcome"] == "lost":  # perhaps without a begin
        del found["time_ns"]
    return frozenset((key, value) for key, value in found.items() if value not in (None, "None"))


def of_table(name, row):
    kept = {"kid", "method", "status"} if name == "requests" else {"kid"}
    found = {key: value for key, value in row.items() if value != "-" and (key in kept or key not in LEFT_OUT[name])}
    if name == "requests" and found.get("status") == "0":
        del found["status"]
    if found["outcome"] == "lost":
        found.pop("time_ns", None)
    if name != "connections":
        found["length"] = row["total_ns"] if row["total_ns"] != "-" else "0"
    return frozenset(found.items())


def differences(got, wanted):
    got, wanted = collections.Counter(got), collections.Counter(wanted)
    return ["only a span: %s" % sorted(row) for row in got - wanted] + ["only a row: %s" % sorted(row) for row in wanted - got]


def rows(trace, spans, what, *options):
    for name in TABLES:
        wanted = [of_table(name, row) for row in table(trace, name, *options)]
        check(differences([as_row(name, *pair) for pair in spans.of[name]], wanted),
              "%s: a span for each of %d rows of %s, with its columns, begin and length" % (what, len(wanted), name))
    blocks = len(table(trace, "ios", *options))
    events = sum(len(span.events) + span.dropped_events_count for _, span in spans.of["swaps"])
    check([] if events == blocks else ["%d events" % events], "%s: the %d blocks are events" % (what, blocks))


def connections(spans):
    problems = []
    for _, span in spans.of["connections"]:
        said = attributes(span)
        known = said.get("squid.connect_ns", 0) + said.get("squid.tls_ns", 0)
        if span.end_time_unix_nano - span.start_time_unix_nano < known:
            problems.append("%s is shorter than its connect and TLS" % said)
    check(problems, "a try is as long as its connect and TLS, or longer")


def ids(spans):
    problems = []
    known = {}
    for _, span in spans.all:
        if len(span.trace_id) != 16 or len(span.span_id) != 8 or not any(span.trace_id) or not any(span.span_id):
            problems.append("ids %s %s" % (span.trace_id.hex(), span.span_id.hex()))
        if span.span_id in known:
            problems.append("twice: %s, %s" % (span, known[span.span_id]))
        known[span.span_id] = span
    check(problems, "ids have 16 and 8 bytes, none is 0, and no span has another's")
    problems, children, marked = [], 0, 0
    for _, span in spans.all:
        if not span.parent_span_id:
            continue
        parent = known.get(span.parent_span_id)
        if parent is None or parent.kind != 2 or parent.trace_id != span.trace_id:
            problems.append("no parent: %s" % span)
            continue
        children += 1
        outside = span.start_time_unix_nano < parent.start_time_unix_nano or \
            span.end_time_unix_nano > parent.end_time_unix_nano
        marked += outside
        if outside != ("squid.outside_request" in attributes(span)):
            problems.append("outside %s: %s in %s" % (outside, span, parent))
    check(problems or ([] if children and marked < children else ["%d of %d" % (marked, children)]),
          "%d children lie within their request, %d of them are outside, and say so" % (children, marked))
    with_xid = {(attributes(resource)["service.instance.id"], attributes(span).get("squid.xid"))
                for resource, span in spans.of["requests"]}
    lonely = [span for resource, span in spans.all if span.kind != 2 and not span.parent_span_id and
              "squid.xid" in attributes(span) and
              (attributes(resource)["service.instance.id"], attributes(span)["squid.xid"]) in with_xid]
    check(lonely, "what has a transaction with a row is a child of its span")


def stages(trace, text):
    """--otlp-stages adds spans, and changes none: of each request they sum up to its columns, and no two overlap."""
    with_stages = run(trace, "--format=otlp", "--otlp-stages")
    requests, times, others = {}, collections.defaultdict(list), 0
    for line in with_stages.decode().splitlines():
        for _, span in spans_of(parse(line)):
            said = attributes(span)
            if span.kind == 2:
                requests[span.span_id] = span, said
            if "squid.stage" in said:
                times[span.parent_span_id].append(span)
            else:
                others += 1
    check([] if others == sum(len(spans_of(parse(line))) for line in text.decode().splitlines()) else [others], "other spans are as before")
    wrong, whole = [], 0
    for parent, found in times.items():
        request, said = requests[parent]
        found.sort(key=lambda span: span.start_time_unix_nano)
        ends = [request.start_time_unix_nano] + [span.end_time_unix_nano for span in found]
        begins = [span.start_time_unix_nano for span in found] + [request.end_time_unix_nano]
        wrong += ["%s: overlap" % said["squid.xid"] for end, begin in zip(ends, begins) if begin < end]
        if "squid.stages_left_out" in said:
            wrong += [] if len(found) == 256 else ["%d stages, and others left out" % len(found)]
            continue
        whole += 1
        sums = collections.Counter()
        for span in found:
            sums["squid.%s_ns" % span.name] += span.end_time_unix_nano - span.start_time_unix_nano
        wrong += ["%s: %s" % (said["squid.xid"], name) for name, ns in sums.items() if ns != said.get(name)]
    check(wrong, "stages of %d requests sum up to their columns, and do not overlap" % whole)
    check([] if whole > 1000 else [whole], "and they are not few")


def secrets(trace, text):
    found = []
    shown = {row["server"] for name in ("requests", "connections") for row in table(trace, name)}
    shown |= {row["name"] for row in table(trace, "waits") if row["kind"] == "name_server"}
    shown |= {name.rsplit(":", 1)[0] for name in shown} - {"-"}
    told = r'\{"key":"server\.address","value":\{"stringValue":"([^"]*)"\}\}'
    decoded = re.sub(told, "", text.decode())
    servers = collections.Counter(row["server"].rsplit(":", 1)[0].strip("[]") for row in table(trace, "connections")
                                  if row["server"] != "-" and not row["server"].startswith("origin-"))
    check([] if servers and collections.Counter(re.findall(told, text.decode())) == servers else [servers],
          "connections have the address of their server")
    found += [name for name in shown - {"-"} if '"%s"' % name in decoded or (len(name) > 3 and name in decoded)]
    found += re.findall(r"\d+\.\d+\.\d+\.\d+|[a-z]+://[^\"]*|[a-z0-9-]+\.(?:example|test|com|org|net)\b", decoded)
    check(found or ([] if len(shown) > 3 else ["the trace has no names"]), "no other host, address or URL is told")


def sampling(trace, spans):
    everything = {row["time_ns"]: row for row in table(trace, "requests")}
    kept = {}
    for share in ("0", "0.1", "25%", "1"):
        found = Spans(run(trace, "--format=otlp", "--otlp-sample=" + share))
        kept[share] = found.ids()
        traces = {span.trace_id for _, span in found.all}
        whole = {span.span_id for _, span in spans.all if span.trace_id in traces}
        check([] if found.ids() == whole else ["%d, not %d" % (len(found.ids()), len(whole))],
              "--otlp-sample=%s: traces are whole" % share)
    count = len({span.trace_id for _, span in spans.all if span.span_id in kept["25%"]})
    of = len({span.trace_id for _, span in spans.all})
    check([] if not kept["0"] and kept["0.1"] < kept["25%"] and kept["1"] == spans.ids() else ["nested"],
          "a smaller share is a part of a larger one; 0 is none, 1 is all")
    check([] if abs(count - of / 4) < 4 * (of * 3 / 16) ** 0.5 else ["%d of %d" % (count, of)],
          "25 %% is %d of %d traces" % (count, of))

    def told(*options):
        found = Spans(run(trace, "--format=otlp", *options))
        return {str(span.start_time_unix_nano) for _, span in found.of["requests"]}

    def failed(row):
        return row["outcome"] in ("error", "timeout") or (row["status"] != "-" and int(row["status"]) >= 500)

    slow = {at for at, row in everything.items() if row["total_ns"] != "-" and int(row["total_ns"]) >= 20000000}
    bad = {at for at, row in everything.items() if failed(row)}
    for wanted, options in ((slow, ["--otlp-slow=20ms"]), (bad, ["--otlp-failed"]),
                            (slow | bad, ["--otlp-failed", "--otlp-slow=20ms"])):
        check([] if told(*options) == wanted and 0 < len(wanted) < len(everything) else ["%d" % len(told(*options))],
              "%s: %d of %d requests" % (" ".join(options), len(wanted), len(everything)))
    rest = told("--otlp-failed", "--otlp-rest=10%")
    sampled = told("--otlp-sample=10%")
    check([] if rest == bad | sampled else ["%d, %d, %d" % (len(rest), len(bad), len(sampled))],
          "--otlp-rest: a share of the others, the same as --otlp-sample picks")
    check([] if told("--otlp-sample=10%", "--otlp-failed") == bad & sampled else ["other ones"],
          "--otlp-sample comes before --otlp-failed")


def picked(trace):
    where = "total_ns > 5ms and class == disk_hit"
    found = Spans(run(trace, "--format=otlp", "--where=" + where))
    wanted = [of_table("requests", row) for row in table(trace, "requests", "--where=" + where)]
    check(differences([as_row("requests", *pair) for pair in found.of["requests"]], wanted) or
          ([] if len(found.of["swaps"]) else ["no swaps"]) or
          [span for _, span in found.all if span.kind != 2 and span.parent_span_id not in found.ids("requests")],
          "--where: %d requests, and what belongs to them" % len(wanted))
    for options in (["--kid=1"], ["--since=10s", "--until=30s"]):
        found = Spans(run(trace, "--format=otlp", *options))
        wanted = [of_table("requests", row) for row in table(trace, "requests", *options)]
        check(differences([as_row("requests", *pair) for pair in found.of["requests"]], wanted) or
              ([] if wanted else ["no rows"]), "%s: %d requests" % (" ".join(options), len(wanted)))


def followed(trace, spans, work):
    """A reader that follows tells the same."""
    folder = os.path.join(work, "followed")
    shutil.copytree(trace, folder)
    with subprocess.Popen([DUMP, "--quiet", "--format=otlp", "--follow", folder], stdout=subprocess.PIPE) as process:
        text = process.stdout.readline()  # signals end it in order now
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        text += process.stdout.read()
    found = Spans(text)
    check([] if found.ids() == spans.ids() and process.returncode == 0 else
          ["%d, not %d; status %d" % (len(found.ids()), len(spans.ids()), process.returncode)], "--follow: the same spans")


def usage(trace):
    for message, options in (
            ("--otlp-slow goes with --format=otlp", ["--otlp-slow=1s"]),
            ("--otlp-rest goes with --otlp-slow or --otlp-failed", ["--format=otlp", "--otlp-rest=1%"]),
            ("--otlp-sample: '2': expected a share from 0 to 1, as in 0.1 or 10%", ["--format=otlp", "--otlp-sample=2"]),
            ("--otlp-sample: 'x': expected a share from 0 to 1, as in 0.1 or 10%", ["--format=otlp", "--otlp-sample=x"]),
            ("--otlp-sample: '': expected a share from 0 to 1, as in 0.1 or 10%", ["--format=otlp", "--otlp-sample="]),
            ("--otlp-slow: 'x': expected a number", ["--format=otlp", "--otlp-slow=x"]),
            ("--format=otlp is made of the table requests, not of swaps", ["--format=otlp", "--table=swaps"]),
            ("--sort does not go with --format=otlp", ["--format=otlp", "--sort=xid"])):
        done = subprocess.run([DUMP, *options, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode()
        check([] if (done.returncode, said) == (2, "sqtrace-dump: %s\n" % message) else [said], message)


def hosts(work):
    """A host with a name, and one that is only a number, as without host= of sqtrace_log."""
    folder = os.path.join(work, "fleet")
    os.mkdir(folder)
    subprocess.run([os.path.join(TOOLS, "tests", "unit", "make_fleet"), folder], check=True, stdout=subprocess.DEVNULL)
    named, number = os.path.join(folder, "proxy-2.paris.example-0.sqt"), b"0123456789abcdef"
    header, found = frames(named)
    numbered = os.path.join(folder, "number.sqt")
    with open(numbered, "wb") as file:
        file.write(header)
        for kind, frame, *_ in found:
            body = frame[16:].replace(b"\tproxy-2.paris.example\n", b"\t" + number + b"\n") if kind == FRAME_TEXT else frame[16:]
            head = frame[:8] + struct.pack("<II", len(body), 0)
            file.write(head[:12] + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body)
    for path, key, value in ((named, "host.name", "proxy-2.paris.example"), (numbered, "host.id", number.decode())):
        got = {tuple((key, text) for key, text in attributes(resource).items() if key.startswith("host."))
               for resource, _ in Spans(run(path, "--format=otlp")).all}
        check([] if got == {((key, value),)} else [got], "the resource says %s" % key)


def contexts(trace):
    """Of requests whose clients name their span; the trace's maker says what they name."""
    trace_of = {n: bytes.fromhex("8000000000000000%016x" % n) for n in range(1, 8)}
    named = {1: (1, 1), 3: (1 << 63, 0), 4: ((1 << 64) - 1, 3), 5: (2, 0xff), 7: (3, 2)}
    shown = {int(row["xid"]): (row["trace_id"], row["parent_id"], row["trace_flags"]) for row in
             table(trace, "requests", "--columns=xid,trace_id,parent_id,trace_flags")}
    wanted = {n: (trace_of[n].hex(), "%016x" % named[n][0], str(named[n][1])) if n in named else ("-", "-", "-")
              for n in range(1, 8)}
    check([] if shown == wanted else [shown], "table requests shows ids and flags where they are asked for")
    check([] if not {"trace_id", "parent_id", "trace_flags"} & set(table(trace, "requests")[0]) else ["shown"],
          "and not otherwise")
    found = table(trace, "requests", "--where=trace_id == %s" % trace_of[4].hex())
    check([] if [row["xid"] for row in found] == ["4"] else [found], "--where finds the request of a trace id")
    found = Spans(run(trace, "--format=otlp"))
    requests = {attributes(span)["squid.xid"]: span for _, span in found.of["requests"]}
    check([] if sorted(requests) == [1, 2, 4, 5, 6] else [sorted(requests)], "what its client did not sample is not told")
    problems = ["%d: %s" % (n, span) for n, span in requests.items() if n in named and
                (span.trace_id, int.from_bytes(span.parent_span_id, "big"), span.flags) !=
                (trace_of[n], named[n][0], named[n][1] | 0x300)]
    problems += ["%d: %s" % (n, span) for n, span in requests.items() if n not in named and
                 (span.parent_span_id or span.flags != 1)]
    check(problems, "a request is a child of the span that its client names, whose flags it has; others are roots")
    problems = []
    for kind in ("waits", "swaps"):
        of = {attributes(span)["squid.xid"]: span for _, span in found.of[kind]}
        problems += [of.get(n) for n, span in requests.items() if n not in of or
                     (of[n].trace_id, of[n].parent_span_id, of[n].flags) !=
                     (span.trace_id, span.span_id, span.flags & 0xff)]
        problems += [n for n in of if n not in requests]
    check(problems, "what a request waits for is in the same trace, also what ends before or after it")
    check([] if len(found.ids()) == len(found.all) else ["twice"], "no two spans have the same id")

    def told(*options):
        return {attributes(span)["squid.xid"] for _, span in Spans(run(trace, "--format=otlp", *options)).of["requests"]}
    check([] if told("--otlp-sample=0") == {1, 4, 5} else [told("--otlp-sample=0")],
          "--otlp-sample=0: what its client sampled is told nevertheless")
    check([] if not told("--otlp-slow=1s") else ["told"], "--otlp-slow leaves out what is not slow, sampled or not")
    check([] if told("--otlp-slow=1us") == {1, 2, 4, 5, 6} else ["others"], "and does not tell what its client left out")


def tunnels(trace):
    """Before 6.7, Squid logs 500 for a tunnel that its server closes."""
    rows_of = {row["time_ns"]: row for row in table(trace, "requests")}
    found = [rows_of[str(span.start_time_unix_nano)]["xid"] for _, span in Spans(run(trace, "--format=otlp", "--otlp-failed")).of["requests"]]
    failed = sorted(span.status.code for _, span in Spans(run(trace, "--format=otlp")).of["requests"])
    check([] if (found, failed) == (["2"], [0, 2]) else [found, failed], "a tunnel that was open did not fail, whatever its status")


def long_requests(trace, unsampled):
    """The span of a helper that ended ten minutes before something else, and twenty before its request."""
    text = run(trace, "--format=otlp")
    found = Spans(text)
    places = {span.trace_id: span.span_id for _, span in found.of["requests"]}
    apart = [span for _, span in found.of["waits"] if places.get(span.trace_id) != span.parent_span_id]
    lines = [len(spans_of(parse(line))) for line in text.decode().split("\n")[:-1]]
    check(apart or ([] if sorted(lines) == [1, 1, 2, 2] else [lines]), "spans of long requests are in the traces of these")
    told = subprocess.run([DUMP, "--format=otlp", "--otlp-slow=1s", trace], capture_output=True, timeout=60, check=True)
    waits = len(Spans(told.stdout).of["waits"])
    check([] if waits == 2 and b"1 span" in told.stderr else [waits, told.stderr], "--otlp-slow says that one is left out")
    told = [attributes(span)["squid.xid"] for _, span in Spans(run(trace, "--format=otlp", "--otlp-sample=0")).of["waits"]]
    check([] if sorted(told) == [1, 2] else [told], "--otlp-sample=0: of long requests what their clients sampled is told")
    told = [attributes(span)["squid.xid"] for _, span in Spans(run(unsampled, "--format=otlp")).of["waits"]]
    check([] if told == [3] else [told], "and never what their clients left out")
    told = subprocess.run([DUMP, "--format=otlp", "--otlp-slow=1s", unsampled], capture_output=True, timeout=60, check=True)
    check([] if b" span" not in told.stderr else [told.stderr], "nor is that counted")


def main():
    enter("opentelemetry-proto")
    usage(SAMPLE)
    if not HAVE:
        check([], "spans", "opentelemetry-proto cannot be installed")
        print("1..%d" % NUMBER)
        return
    text = run(SAMPLE, "--format=otlp")
    spans = Spans(text)
    check([], "the definitions of the protocol take %d lines" % text.count(b"\n"))
    rows(SAMPLE, spans, "sample")
    connections(spans)
    ids(spans)
    check([] if run(SAMPLE, "--format=otlp") == text else ["other bytes"], "a second run prints the same")
    stages(SAMPLE, text)
    secrets(SAMPLE, text)
    sampling(SAMPLE, spans)
    picked(SAMPLE)
    with tempfile.TemporaryDirectory() as work:
        followed(SAMPLE, spans, work)
        hosts(work)
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "dump_traces"), work], check=True, stdout=subprocess.DEVNULL)
        contexts(os.path.join(work, "context.sqt"))
        tunnels(os.path.join(work, "tunnels.sqt"))
        lines = [len(spans_of(parse(line))) for line in run(os.path.join(work, "unasked.sqt"), "--format=otlp").decode().split("\n")[:-1]]
        check([] if lines == [3] else [lines], "spans wait ten minutes from the last one of their transaction on")
        long_requests(os.path.join(work, "long.sqt"), os.path.join(work, "long-unsampled.sqt"))
        for name in ("story", "busy.sqt", "crossed.sqt", "cut.sqt", "held.sqt", "stepped.sqt"):
            trace = os.path.join(work, name)
            rows(trace, Spans(run(trace, "--format=otlp")), name)
    print("1..%d" % NUMBER)


main()
