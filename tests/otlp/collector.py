#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""collector.py - spans for OpenTelemetry, taken by OpenTelemetry's own Collector.

usage: collector.py FOLDER    $SQT_TOOLS: folder with sqtrace-dump and sqtrace-exporter

The Collector is built in FOLDER, from its published Go modules.  It prints what it has understood; that is compared with what
sqtrace-dump wrote, field by field.
"""

import atexit
import calendar
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(SOURCE, "tests", "unit"))
from told import check, plan, until  # noqa: E402
TOOLS, SAMPLE, GOLDEN = os.environ.get("SQT_TOOLS", "."), os.path.join(SOURCE, "doc", "sample"), os.path.join(SOURCE, "tests", "golden")
KINDS = {1: "Internal", 2: "Server", 3: "Client"}
STATUS = {0: "Unset", 1: "Ok", 2: "Error"}
CONFIGURATION = """
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {debug: {verbosity: detailed, use_internal_logger: false, output_paths: ["%s"]}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
"""


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- the Collector ----

class Collector:
    def __init__(self, folder, name):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.printed, self.log = (os.path.join(folder, name + end) for end in (".spans", ".log"))
        configuration = os.path.join(folder, name + ".yaml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION % (self.port, self.printed))
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([os.path.join(folder, "collector"), "--config=file:" + configuration],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        until(lambda: "Everything is ready" in text_of(self.log) or self.process.poll(), 60, "the Collector is ready")

    def send(self, lines):
        """[(status, answer)]"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        answers = []
        for line in lines:
            connection.request("POST", "/v1/traces", line, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answers.append((answer.status, answer.read().decode()))
        connection.close()
        return answers

    def end(self):
        """All spans that it has printed, as of `understood`."""
        self.process.terminate()
        self.process.wait(60)
        return understood(text_of(self.printed))


def nanoseconds(text):
    """2026-11-25 18:55:56.680822318 +0000 UTC"""
    day, _, fraction = text.removesuffix(" +0000 UTC").partition(".")
    return calendar.timegm(time.strptime(day, "%Y-%m-%d %H:%M:%S")) * 10 ** 9 + int(fraction.ljust(9, "0"))


def understood(text):
    """{span id: what the Collector prints of it}"""
    spans = {}
    resource = None
    into = None
    for line in text.split("\n"):
        named = re.match(r"    ([A-Z][A-Za-z ]*?) *: ?(.*)$", line)
        listed = re.match(r"     +-> ([^:]*): (.*)$", line)
        if line.startswith("Resource attributes:"):
            into = resource = {}
        elif re.match(r"Span #\d+$", line):
            span = {"resource": resource, "attributes": {}, "events": []}
        elif line == "Attributes:":
            into = span["attributes"]
        elif re.match(r"SpanEvent #\d+$", line):
            span["events"].append({"attributes": {}})
        elif line == "     -> Attributes::" or line.strip() == "-> Attributes::":
            into = span["events"][-1]["attributes"]
        elif re.match(r"     -> (Name|Timestamp|DroppedAttributesCount): ", line) and span["events"]:
            span["events"][-1][listed.group(1)] = listed.group(2)
        elif listed:
            into[listed.group(1)] = listed.group(2)
        elif named and line.startswith("    ") and not line.startswith("     "):
            span[named.group(1)] = named.group(2)
            if named.group(1) == "ID":
                spans[named.group(2)] = span
    return spans


# ---- what sqtrace-dump wrote ----

def printed_value(value):
    (kind, inner), = value.items()
    return {"stringValue": "Str(%s)", "intValue": "Int(%s)", "boolValue": "Bool(%s)",
            "doubleValue": "Double(%s)"}[kind] % (str(inner).lower() if kind == "boolValue" else inner)


def attributes(of):
    return {one["key"]: printed_value(one["value"]) for one in of.get("attributes", ())}


def written(lines):
    """{span id: as `understood` has it}"""
    spans = {}
    for line in lines:
        for of in json.loads(line)["resourceSpans"]:
            resource = attributes(of["resource"])
            for scope in of["scopeSpans"]:
                for span in scope["spans"]:
                    spans[span["spanId"]] = {
                        "resource": resource, "attributes": attributes(span), "Trace ID": span["traceId"],
                        "Parent ID": span.get("parentSpanId", ""), "Name": span["name"], "Kind": KINDS[span["kind"]],
                        "Status code": STATUS[span.get("status", {}).get("code", 0)],
                        "start": int(span["startTimeUnixNano"]), "end": int(span["endTimeUnixNano"]),
                        "events": [(one["name"], int(one["timeUnixNano"]), attributes(one))
                                   for one in span.get("events", ())]}
    return spans


def differences(wrote, got):
    """Texts."""
    found = ["%d spans, %d understood" % (len(wrote), len(got))] if wrote.keys() != got.keys() else []
    for name, span in wrote.items():
        other = got.get(name, {})
        if not other:
            continue
        theirs = {key: other.get(key) for key in ("resource", "attributes", "Trace ID", "Parent ID", "Name", "Kind", "Status code")}
        theirs.update(start=nanoseconds(other["Start time"]), end=nanoseconds(other["End time"]),
                      events=[(one["Name"], nanoseconds(one["Timestamp"]), one["attributes"]) for one in other["events"]])
        found += ["span %s: %s: %s, understood: %s" % (name, key, span[key], theirs[key]) for key in span if span[key] != theirs[key]]
    return found


def dump(trace):
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--format=otlp", trace], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    return text.split("\n")[:-1]


# ---- the tests ----

def test_lines(folder):
    lines = dump(SAMPLE)
    wrote = written(lines)
    collector = Collector(folder, "lines")
    answers = collector.send(lines)
    check(set(answers) == {(200, '{"partialSuccess":{}}')}, "the Collector takes each of %d lines whole" % len(lines), set(answers))
    refused = collector.send([lines[0].replace('"traceId":"', '"traceId":"x', 1), lines[0][:-1]])
    check([status for status, _ in refused] == [400, 400], "it is a judge: an id that is none and half a line it refuses", refused)
    got = collector.end()
    wrong = differences(wrote, got)
    check(len(wrote) > 2000 and not wrong, "%d spans are understood as they were written" % len(wrote), len(wrong), *wrong[:5])
    check(sum(len(span["events"]) for span in got.values()) > 500 and
          {span["Kind"] for span in got.values()} == set(KINDS.values()), "among them are events, and spans of three kinds")


def sent_of(log, least):
    """What the metrics of the exporter say, once so many spans were sent or dropped."""
    served = re.search(r"serves http://([^/]*)/metrics", text_of(log)).group(1)
    connection = http.client.HTTPConnection(served, timeout=30)
    connection.request("GET", "/metrics")
    metrics = connection.getresponse().read().decode()
    connection.close()
    counts = {name: int(value) for name, value in re.findall(r"^sqtrace_otlp_(sent|dropped)_spans_total (\d+)$", metrics, re.M)}
    return counts if sum(counts.values()) >= least else None


def test_exporter(folder):
    """A trace that appears while sqtrace-exporter follows its folder."""
    trace = os.path.join(folder, "trace")
    os.mkdir(trace)
    shutil.copy(os.path.join(GOLDEN, "good.sqt"), trace)
    collector = Collector(folder, "exporter")
    log = os.path.join(folder, "sqtrace-exporter.log")
    with open(log, "w", encoding="utf-8") as file:
        exporter = subprocess.Popen([os.path.join(TOOLS, "sqtrace-exporter"), "--listen=127.0.0.1:0",
                                     "--otlp=http://127.0.0.1:%d" % collector.port, trace], stderr=file, stdin=subprocess.DEVNULL)
    atexit.register(exporter.kill)
    until(lambda: "follows" in text_of(log), 30, "the exporter follows")
    time.sleep(1.5)  # it has looked at its folder once more, and what comes now is new
    for name in os.listdir(SAMPLE):
        shutil.copy(os.path.join(SAMPLE, name), trace)
    # Without its request a span waits for one that may come.
    wrote = {name: span for name, span in written(dump(SAMPLE)).items()
             if span["Kind"] == "Server" or span["Parent ID"] or "squid.xid" not in span["attributes"]}
    until(lambda: text_of(collector.printed).count("\nSpan #") >= len(wrote), 60, "all spans are there")
    counts = until(lambda: sent_of(log, len(wrote)), 30, "its metrics say that all were sent")
    exporter.terminate()
    status = exporter.wait(60)
    wrong = differences(wrote, collector.end())
    check(status == 0 and not wrong, "sqtrace-exporter --otlp: %d spans are understood as they were written" % len(wrote), status,
          len(wrong), *wrong[:5])
    check(counts == {"sent": len(wrote), "dropped": 0}, "its metrics say that all were sent and none dropped", counts)


def build(folder):
    """What is missing, or None."""
    if not shutil.which("go"):
        return "there is no Go"
    made = subprocess.run(["go", "build", "-o", os.path.join(folder, "collector"), "."], cwd=HERE, check=False,
                          env=dict(os.environ, GOFLAGS="-mod=readonly"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode == 0:
        return None
    said = made.stdout.decode().strip().split("\n")
    old = re.search(r"go.mod requires go >= [0-9.]*|invalid go version", "\n".join(said))
    return "the Go here is too old" if old else "the Collector's modules cannot be built: " + said[-1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    folder = os.path.abspath(sys.argv[1])
    shutil.rmtree(os.path.join(folder, "trace"), ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    lack = build(folder)
    if lack:
        print("ok 1 - the Collector takes spans # SKIP %s\n1..1" % lack)
        return
    test_lines(folder)
    test_exporter(folder)
    plan()


if __name__ == "__main__":
    main()
