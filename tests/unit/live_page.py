#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""live_page.py - what hangs now: the exporter, its page, sqtrace-top, --fail-if and --when tell the same.

A process traces requests (make_flights.c), of which 80 hang.  Then it is stopped, goes on, and is killed.  The page
is looked at with Chromium, and judged by axe-core (PyPI), where they are there.
"""
import atexit
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from browser import Browser, Page  # noqa: E402
from pypi import python_with, run  # noqa: E402
from told import all_said, check, plan, until  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
HANG = 80  # 77, and the three that make_flights begins with
SILENT_S = 10
MASK = (1 << 64) - 1
SLOW_READERS = 100
PRIVATE_KB = 64 * 1024


def tool(name):
    return os.path.join(TOOLS, name)


class Program:
    def __init__(self, *command):
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stderr=self.said, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self.process.kill)

    def says(self, pattern):
        return until(lambda: re.search(pattern, all_said(self.said)), 30, pattern)

    def tell(self, word):
        self.process.stdin.write(word + b"\n")
        self.process.stdin.flush()


class Exporter(Program):
    def __init__(self, folder, *options):
        super().__init__(tool("sqtrace-exporter"), "--listen=127.0.0.1:0", *options, folder)
        self.port = int(self.says(r"serves http://[^ ]*:(\d+)/").group(1))

    def get(self, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer, text

    def values(self, name):
        """{labels: value}"""
        found = re.findall(r"^%s(?:\{([^}]*)\})? ([0-9.]+)$" % name, self.get("/metrics")[2], re.M)
        return {tuple(sorted(re.findall(r'([a-z_]+)="([^"]*)"', labels))): float(value) for labels, value in found}

    def page(self):
        """{table: rows}, and the rest."""
        data = json.loads(self.get("/live.json")[2])
        for name, table in data.pop("tables").items():
            data[name] = [dict(zip(table["columns"], row)) for row in table["rows"]]
        return data

    def private_kb(self):
        with open("/proc/%d/smaps_rollup" % self.process.pid, encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def top_rows(folder, table):
    done = run(tool("sqtrace-top"), "--once", "--table=" + table, "--format=tsv", folder)
    lines = [line.split("\t") for line in done.stdout.decode().splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def fail_if(folder, *options):
    done = run(tool("sqtrace-dump"), "--quiet", *options, folder)
    return done.returncode, done.stdout.decode()


def hangs(folder, exporter, begun):
    """Number and age are the same everywhere, within what it takes to ask."""
    flights = exporter.values("sqtrace_requests_in_flight")
    oldest = max(exporter.values("sqtrace_oldest_request_seconds").values())
    page = exporter.page()
    top = top_rows(folder, "requests")
    told = fail_if(folder, "--since=-1s", "--fail-if=count() >= %d where outcome == unfinished" % HANG,
                   "--fail-if=max(total_ns) > 1h", "--warn-if=max(total_ns) > 1s")
    spent = time.monotonic() - begun
    check(sum(flights.values()) == HANG, "the exporter has %d in flight" % HANG, flights)
    stages = {dict(labels)["stage"]: value for labels, value in flights.items() if value}
    check(stages == {"server_wait": HANG - 2, "helper": 1, "proxy_reply": 1}, "by stage", stages)
    check(page["totals"][0]["in_flight"] == HANG and len(page["requests"]) == HANG, "so has the page", page["totals"])
    check(len(top) == HANG, "so has sqtrace-top", len(top))
    check(told[0] == 4 and "FAILED count() >= %d" % HANG in told[1], "so has --fail-if", told)
    check(re.search(r"^ok max\(total_ns\) > 1h", told[1], re.M) and "WARNING max(total_ns) > 1s" in told[1],
          "--warn-if is met, where --fail-if is not", told)
    ages = [oldest, page["requests"][0]["age_ns"] / 1e9, int(top[0]["age_ns"]) / 1e9]
    check(all(0.5 < age < spent + 5 for age in ages) and max(ages) - min(ages) < 5, "the oldest is as old", ages, spent)
    check({(row["on"], row["whom"]) for row in page["requests"]} == {(row["on"], None if row["whom"] == "-" else row["whom"])
                                                                     for row in top}, "and they wait for the same",
          page["requests"][:3])
    nagios = fail_if(folder, "--nagios", "--fail-if=max(total_ns) > 1h", "--warn-if=max(total_ns) > 1s")
    check(nagios[0] == 1 and nagios[1].startswith("SQTRACE WARNING: max(total_ns) > 1s: ") and "s;~:1.0" in nagios[1],
          "--nagios has a warning", nagios)
    warns = fail_if(folder, "--warn-if=count() > 1")
    check(warns[0] == 5 and warns[1].startswith("WARNING count() > 1: "), "a warning alone is status 5", warns)


def finding(exporter):
    row = until(lambda: [row for row in exporter.page()["findings"] if row["culprit"] == "upstream"], 20, "a finding")[0]
    check(row["cause"] == "hanging" and row["requests"] == HANG - 2, "the page has the finding with its culprit", row)


def snapshots(watching, folder):
    said = watching.says(r"request (\d+) of kid 1 has taken [^\n]*").group(0)
    made = until(lambda: [name for name in os.listdir(folder) if not name.startswith(".")], 30, "a snapshot")
    check(made and "--when='total_ns > 1.5s'" in said, "--when sees what hangs", said)


# ---- HTTP ----

def web(exporter):
    status, answer, text = exporter.get("/")
    check(status == 200 and "<h1>Squid now</h1>" in text, "the page is at /")
    check("default-src 'none'" in answer.getheader("Content-Security-Policy", ""), "and may use nothing but itself")
    check(not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text + exporter.get("/live.js")[2] + exporter.get("/live.css")[2]),
          "nothing of it comes from elsewhere")
    check(exporter.get("/live.json")[1].getheader("Content-Type") == "application/json; charset=utf-8", "numbers are JSON")


def options(folder):
    path = Exporter(folder, "--web.telemetry-path=/m/x", "--no-page")
    check([path.get(name)[0] for name in ("/m/x", "/metrics", "/", "/live.json", "/live.js")] == [200, 404, 404, 404, 404],
          "--web.telemetry-path, and --no-page")
    for message, words in (
            ("--web.config.file: there is neither TLS nor a password; listen on 127.0.0.1, and put a proxy that has both "
             "before it", ["--web.config.file=web.yml"]),
            ("--listen and --web.listen-address are the same: give one of them",
             ["--listen=127.0.0.1:1", "--web.listen-address=:1"]),
            ("--web.telemetry-path: 'x': expected a path, as in /metrics", ["--web.telemetry-path=x"]),
            ("--web.telemetry-path: '/' is taken by the live page; --no-page turns that off", ["--web.telemetry-path=/"]),
            ("--web.telemetry-path: '/healthz' is taken", ["--web.telemetry-path=/healthz"])):
        done = run(tool("sqtrace-exporter"), *words, folder)
        check((done.returncode, done.stderr.decode()) == (2, "sqtrace-exporter: %s\n" % message), message, done.stderr)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    everywhere = Program(tool("sqtrace-exporter"), "--web.listen-address=:%d" % port, folder)
    everywhere.says(r"serves http://\[::\]:%d/metrics" % port)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        check(connection.recv(100).startswith(b"HTTP/1.1 200"), "--web.listen-address=:PORT is all addresses")
    for program in (path, everywhere):
        program.process.terminate()


def slow_readers(exporter):
    """They ask for the page's numbers, and read nothing."""
    slow = []
    for _ in range(SLOW_READERS):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", exporter.port))
        connection.sendall(b"GET /live.json HTTP/1.1\r\n\r\n")
        slow.append(connection)
    times = []
    for _ in range(20):
        before = time.monotonic()
        exporter.page()
        times.append(time.monotonic() - before)
        time.sleep(0.05)
    check(sorted(times)[18] < 1, "%d slow readers hold nothing up: %.3f s at most" % (SLOW_READERS, max(times)))
    check(exporter.private_kb() < PRIVATE_KB, "with %d KB of private memory" % exporter.private_kb())
    for connection in slow:
        connection.close()


# ---- a browser ----

def axe_source():
    """axe-core's script."""
    python = python_with("axe-core-python")
    if not python:
        return None
    found = run(python, "-c", "import axe_core_python, glob, os; print(glob.glob(os.path.join(os.path.dirname("
                "axe_core_python.__file__), '**', 'axe*.js'), recursive=True)[0])")
    path = found.stdout.decode().strip()
    return open(path, encoding="utf-8").read() if path else None


def console(page):
    page.evaluate("0")
    return [event for event in page.browser.events
            if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled") or
            (event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"))]


def judged(page, axe, text):
    if not axe:
        check(True, "axe: %s # SKIP there is no axe-core" % text)
        return
    page.evaluate(axe + ";0")
    found = json.loads(page.evaluate("axe.run().then(found => JSON.stringify(found.violations.map(one => "
                                     "[one.id, one.nodes.map(node => node.html + ' ' + node.failureSummary)])))"))
    check(not found, "axe finds nothing: " + text, *found)


def looked_at(exporter, width, dark, axe):
    name = "%d px, %s" % (width, "dark" if dark else "light")
    with Browser(tempfile.gettempdir(), width=width) as browser:
        page = Page(browser, "about:blank")
        page.call("Log.enable")
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.call("Page.navigate", url="http://127.0.0.1:%d/" % exporter.port)
        page.wait_for("document.querySelectorAll('#requests tbody tr').length == %d" % HANG)
        page.wait_for("document.querySelectorAll('#findings li').length > 0")
        shown = page.evaluate("document.body.innerText")
        check("upstream" in page.evaluate("document.getElementById('findings').innerText") and
              "server_wait" in shown and "server upstream" in shown, name + ": stage and culprit are there", shown[:800])
        check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name + ": nothing is wider than the page")
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        check((back == "rgb(255, 255, 255)") == (not dark), name + ": the colours", back)
        judged(page, axe, name)
        if os.environ.get("SQT_PICTURES"):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=1800, deviceScaleFactor=1, mobile=False)
            page.screenshot(os.path.join(os.environ["SQT_PICTURES"], "live-%d-%d.png" % (width, dark)))
        if not dark:
            keyboard(page)
        check(not console(page), name + ": the console has no message", *console(page))


def no_trace():
    """The page of an exporter that has nothing to read yet."""
    with tempfile.TemporaryDirectory() as empty, Browser(tempfile.gettempdir()) as browser:
        exporter = Exporter(empty)
        page = Page(browser, "about:blank")
        page.call("Page.navigate", url="http://127.0.0.1:%d/" % exporter.port)
        page.wait_for("document.getElementById('state')?.textContent.startsWith('The trace cannot be read: ')")
        shown = page.evaluate("document.body.innerText")
        check("Hit ratio" in shown and not re.search("NaN|undefined|null", shown), "without a trace the page has no numbers", shown)
        exporter.process.terminate()


def keyboard(page):
    """Tab reaches the button, which the space bar presses; the filter filters; and the numbers change."""
    for _ in range(3):
        key(page, "Tab", "Tab", 9)
        if page.evaluate("document.activeElement.id") == "pause":
            break
    key(page, " ", "Space", 32, " ")
    check(page.evaluate("document.getElementById('pause').getAttribute('aria-pressed')") == "true", "the keyboard pauses")
    state = page.evaluate("document.getElementById('at').textContent")
    time.sleep(3)
    check(page.evaluate("document.getElementById('at').textContent") == state, "and nothing changes")
    key(page, " ", "Space", 32, " ")
    page.wait_for("document.getElementById('at').textContent != %s" % json.dumps(state), 20)
    page.evaluate("document.getElementById('filter').focus()")
    for letter in "helper":
        key(page, letter, "Key" + letter.upper(), ord(letter.upper()), letter)
    page.wait_for("document.querySelectorAll('#requests tbody tr').length == 1", 10)
    check(True, "the filter filters")


def key(page, name, code, number, text=None):
    more = {"text": text} if text else {}
    page.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=code, windowsVirtualKeyCode=number, **more)
    page.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=code, windowsVirtualKeyCode=number)


# ---- spans that Squid sends on ----

def try_id(ring, xact, tries):
    """The id that a server gets, computed once more."""
    def mixed(value):
        value = (value ^ value >> 33) * 0xff51afd7ed558ccd & MASK
        value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53 & MASK
        return value ^ value >> 33

    state = mixed(0x7370616e000000 + 0x80)
    for i, number in enumerate((int.from_bytes(ring[:8], "little"), int.from_bytes(ring[8:], "little"), xact, tries)):
        state = mixed(state ^ mixed(number + i & MASK)) + 0x9e3779b97f4a7c15 & MASK
    return "%016x" % state


def forwarded(flights, folder):
    """Two tries of request 301, each with the id that its server got."""
    flights.tell(b"f")
    time.sleep(1)
    text = run(tool("sqtrace-dump"), "--quiet", "--format=otlp", folder).stdout.decode()
    every = [(of["resource"], span) for line in text.splitlines() for of in json.loads(line)["resourceSpans"]
             for scope in of["scopeSpans"] for span in scope["spans"]]
    words = [({a["key"]: list(a["value"].values())[0] for a in resource["attributes"]},
              {a["key"]: list(a["value"].values())[0] for a in span["attributes"]}, span) for resource, span in every]
    tries = sorted(((more["squid.try"], of, more, span) for of, more, span in words if "squid.try" in more),
                   key=lambda one: one[0])
    request = [span for _, more, span in words if span["kind"] == 2 and more.get("squid.xid") == "301"]
    ring = bytes.fromhex(tries[0][1]["service.instance.id"]) if tries else b""
    check([span["spanId"] for _, _, _, span in tries] == [try_id(ring, 301, n) for n in (1, 2)], "each try has the id that is sent",
          tries)
    check(len(request) == 1 and request[0]["parentSpanId"] == "%016x" % 7 and
          all(span["parentSpanId"] == request[0]["spanId"] and span["traceId"] == "%016x%016x" % (1, 2) and span["kind"] == 3
              for _, _, _, span in tries), "caller, request and try are one chain", request)
    check([more.get("error.type") for _, _, more, _ in tries] == ["error", None] and
          [more.get("http.request.resend_count") for _, _, more, _ in tries] == [None, "1"] and
          all(more["server.address"] == "upstream" for _, _, more, _ in tries), "the first one failed, and the second is sent again")


# ---- a Squid that is down ----

def stopped(flights, exporter, folder):
    """As long as it is stopped; a silent process is down 10 s later, and the page and /healthz say so."""
    check(exporter.values("sqtrace_squid_up") == {(): 1} and exporter.values("sqtrace_silent_processes") == {(): 0},
          "a Squid that lives is up")
    flights.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    until(lambda: exporter.values("sqtrace_squid_up") == {(): 0}, SILENT_S + 5, "it is down")
    took = time.monotonic() - begin
    check(SILENT_S - 1 < took < SILENT_S + 3, "one that is stopped is down after %.1f s" % took)
    until(lambda: exporter.values("sqtrace_silent_processes") == {(): 1}, 2, "it is silent")
    check(True, "and is silent")
    check(exporter.get("/healthz")[0::2] == (503, "Squid is down: no process has shown a sign of life for 10 s\n"), "/healthz says so")
    check(exporter.page()["squid_up"] == 0, "the page says so")
    flights.process.send_signal(signal.SIGCONT)
    until(lambda: exporter.values("sqtrace_squid_up") == {(): 1}, 5, "it is up again")
    check(exporter.get("/healthz")[0] == 200 and exporter.values("sqtrace_silent_processes") == {(): 0}, "it is up again")


def killed(flights, exporter, folder):
    flights.process.kill()
    begin = time.monotonic()
    until(lambda: exporter.values("sqtrace_squid_up") == {(): 0}, SILENT_S + 5, "it is down")
    check(time.monotonic() - begin < SILENT_S + 3, "one that is killed is down after %.1f s" % (time.monotonic() - begin))
    until(lambda: not exporter.values("sqtrace_requests_in_flight"), 80, "nothing is in flight")
    check(True, "what it had in flight is not there any more")
    told = fail_if(folder, "--since=-5min", "--strict", "--fail-if=count() > 1000")
    check(told[0] == 4 and told[1].startswith("FAILED no process writes this trace; its last record is "), "--strict says so", told)
    told = fail_if(folder, "--since=-5min", "--nagios", "--fail-if=count() > 1000")
    check(told[0] == 3 and told[1].startswith("SQTRACE UNKNOWN: no process writes this trace; "), "--nagios says so", told)


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as made:
        flights = Program(tool("tests/unit/make_flights"), folder)
        assert flights.process.stdout.readline() == b"ready\n"
        exporter = Exporter(folder)
        exporter.says("follows")
        watching = Program(tool("sqtrace-snapshot"), "--when=total_ns > 1.5s", "--after=1s", "--to=" + made, folder)
        watching.says("watching")
        forwarded(flights, folder)
        begun = time.monotonic()
        flights.tell(b"H")
        time.sleep(2)
        hangs(folder, exporter, begun)
        finding(exporter)
        snapshots(watching, made)
        web(exporter)
        options(folder)
        slow_readers(exporter)
        axe = axe_source() if shutil.which("chromium") else None
        for width, dark in ((1400, False), (390, False), (390, True)):
            if shutil.which("chromium"):
                looked_at(exporter, width, dark, axe)
            else:
                check(True, "the page in a browser # SKIP there is no chromium")
        if shutil.which("chromium"):
            no_trace()
        stopped(flights, exporter, folder)
        killed(flights, exporter, folder)
        exporter.process.terminate()
        check(exporter.process.wait(20) == 0, "the exporter ends")
    plan()


main()
