#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""exporter.py - sqtrace-exporter: its options, what it counts, both formats, HTTP, and what is wrong with a trace.

The exporter follows a directory.  Then the sample trace is copied there, so all of its rows are new.  The same numbers are
computed from the rows of sqtrace-dump.  promtool and prometheus_client (PyPI, in a virtual environment below $SQT_VENVS)
judge the formats; where they are missing, the cases are skipped.
"""
import atexit
import collections
import concurrent.futures
import fractions
import glob
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from pypi import enter, run  # noqa: E402
from sanitized import SANITIZED  # noqa: E402
from told import all_said, check, copy_at_once, plan, until  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
EXPORTER, DUMP = os.path.join(TOOLS, "sqtrace-exporter"), os.path.join(TOOLS, "sqtrace-dump")
SAMPLE, GOLDEN = os.path.join(SOURCE, "doc", "sample"), os.path.join(SOURCE, "tests", "golden")
OPEN = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
BOUNDS = ("0.001", "0.005", "0.02", "0.1", "0.25", "0.5", "1.0", "2.5", "10.0", "60.0")
PRIVATE_KB = 64 * 1024
SCRAPE_S = 0.05


def same(got, wanted, text):
    check(got == wanted, text, "got      %r" % (got,), "expected %r" % (wanted,))


# ---- the exporter, and what it says ----

class Exporter:
    def __init__(self, folder, *options, listen="127.0.0.1:0", program=EXPORTER, **how):
        self.said_in = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, "--listen=" + listen, *options, folder], stderr=self.said_in,
                                        stdin=subprocess.DEVNULL, **how)
        atexit.register(self.process.kill)
        self.port = int(self.says(r"serves http://[^ ]*:(\d+)/metrics").group(1))

    def said(self):
        return all_said(self.said_in)

    def says(self, pattern, seconds=30):
        return until(lambda: re.search(pattern, self.said()), seconds, pattern)

    def get(self, path="/metrics", headers=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.getheader("Content-Type"), text

    def metrics(self):
        return parse(self.get()[2])

    def value(self, name, **labels):
        return self.metrics().get((name, tuple(sorted(labels.items()))))

    def stop(self):
        self.process.terminate()
        return self.process.wait(20)


def parse(text):
    """{(name, labels): value} of the text format, without a library."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        match = re.fullmatch(r'([a-zA-Z_:]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? ([-0-9.]+)(?: # .*)?', line)
        if not match:
            raise AssertionError("cannot be read: " + line)
        labels = tuple(sorted(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match.group(2) or "")))
        if (match.group(1), labels) in found:
            raise AssertionError("twice: " + line)
        found[match.group(1), labels] = fractions.Fraction(match.group(3))
    return found


def rows(table, *options):
    text = run(DUMP, "--table=" + table, "--no-comments", "--quiet", "--format=tsv", *options, SAMPLE).stdout.decode()
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def seconds(text):
    return fractions.Fraction(int(text), 10 ** 9)


# ---- command line ----

def usage():
    for status, message, options in (
            (2, "no trace given: name a trace directory", ()),
            (2, "'b': expected one trace directory", ("a", "b")),
            (2, "the standard input cannot be followed; name a trace directory", ("-",)),
            (2, "unknown option '--lisen'; did you mean --listen?", ("--lisen=1", "a")),
            (2, "--listen: '9746': expected ADDRESS:PORT, as in 127.0.0.1:9746", ("--listen=9746", "a")),
            (2, "--listen: '127.0.0.1:70000': expected ADDRESS:PORT, as in 127.0.0.1:9746",
             ("--listen=127.0.0.1:70000", "a")),
            (2, "--listen: 'localhost:1': expected an IP address and a port, as in 127.0.0.1:9746 or [::1]:9746",
             ("--listen=localhost:1", "a")),
            (2, "--listen: ':1': expected an IP address and a port, as in 127.0.0.1:9746 or [::1]:9746",
             ("--listen=:1", "a")),
            (2, "--buckets: '1ms': expected more than the one before", ("--buckets=5ms,1ms", "a")),
            (2, "--buckets: '0': expected more than 0", ("--buckets=0,1", "a")),
            (2, "--buckets: 'x': expected a number", ("--buckets=1,x", "a")),
            (2, "--buckets: more than 32", ("--buckets=" + ",".join(map(str, range(1, 40))), "a")),
            (2, "--series: '10': too small", ("--series=10", "a")),
            (2, "--top: expected at most 1000000", ("--top=1000001", "a"))):
        found = run(EXPORTER, *options, timeout=20)
        same((found.returncode, found.stderr.decode(), found.stdout), (status, "sqtrace-exporter: %s\n" % message, b""),
             "%s -> %s" % (" ".join(options)[:60], message))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = "127.0.0.1:%d" % taken.getsockname()[1]
        found = run(EXPORTER, "--listen=" + place, SAMPLE, timeout=20)
        same((found.returncode, found.stderr.decode()),
             (1, "sqtrace-exporter: %s: cannot listen: Address already in use; --listen names another port\n" % place),
             "a port in use is said")
    same(run(EXPORTER, "--version").stdout.split()[0], b"sqtrace-exporter", "--version")


# ---- what is counted ----

def copy(folder, trace, kids, exporter):
    copy_at_once([path for path in glob.glob(os.path.join(trace, "*.sqt"))
                  if not kids or os.path.basename(path) in ["kid-%d.sqt" % kid for kid in kids]], folder, exporter.process)


def followed(folder, *options, trace=SAMPLE, kids=()):
    """An exporter to which all rows of that trace are new, and what it has counted of them."""
    os.mkdir(folder)
    shutil.copy(os.path.join(GOLDEN, "good.sqt"), folder)
    exporter = Exporter(folder, *options)
    exporter.says("follows")
    time.sleep(1.2)
    for _ in range(3):  # it has looked since, even if it had no processor for long
        exporter.get()
        time.sleep(0.15)
    copy(folder, trace, kids, exporter)
    settle(exporter)
    return exporter


def settle(exporter):
    """Waits until nothing new has come for two seconds: on a busy machine the exporter may look late, and rows follow their
    records."""
    last, same_for = None, 0
    for _ in range(200):
        time.sleep(0.5)
        now = {key: value for key, value in exporter.metrics().items()
               if key[0] in ("sqtrace_records_total", "sqtrace_request_duration_seconds_count")}
        same_for = same_for + 1 if now and now == last else 0
        if same_for == 4:
            return
        last = now
    raise AssertionError("the records do not settle: %s" % last)


def histogram(found, name, pairs, text):
    """pairs: [(labels, ns)].  Counts, sums and buckets are those of the exporter, and it has no others."""
    wanted = collections.defaultdict(list)
    for labels, ns in pairs:
        wanted[tuple(sorted(labels.items()))].append(int(ns))
    expected = {}
    for labels, values in wanted.items():
        expected[name + "_count", labels] = len(values)
        expected[name + "_sum", labels] = fractions.Fraction(sum(values), 10 ** 9)
        for bound in BOUNDS + ("+Inf",):
            upto = len(values) if bound == "+Inf" else sum(value <= fractions.Fraction(bound) * 10 ** 9 for value in values)
            expected[name + "_bucket", tuple(sorted(labels + (("le", bound),)))] = upto
    compare(found, lambda key: key[0].startswith(name + "_"), expected, text)


def counters(found, name, pairs, text):
    expected = collections.defaultdict(fractions.Fraction)
    for labels, value in pairs:
        expected[name, tuple(sorted(labels.items()))] += value
    compare(found, lambda key: key[0] == name, dict(expected), text)


def compare(found, picks, expected, text):
    got = {key: value for key, value in found.items() if picks(key)}
    if not check(got == expected and expected, "%s: %d series" % (text, len(expected))):
        for key in [key for key in set(got) | set(expected) if got.get(key) != expected.get(key)][:5]:
            print("# %s: got %s, expected %s" % (key, got.get(key), expected.get(key)))


def pick(row, *names):
    return {name: row[name] for name in names}


def counts(exporter):
    found = exporter.metrics()
    requests = rows("requests")
    ended = [row for row in requests if row["class"] != "-"]
    histogram(found, "sqtrace_request_duration_seconds",
              [(pick(row, "kid", "class"), row["total_ns"]) for row in ended if row["total_ns"] != "-"], "total_ns by class")
    stages = re.findall(r"^SQT_STAGE\([A-Z_]+, *([a-z_]+),",
                        open(os.path.join(SOURCE, "src", "format", "stages.def"), encoding="utf-8").read(), re.M)
    histogram(found, "sqtrace_request_stage_duration_seconds",
              [({"kid": row["kid"], "stage": stage}, row[stage + "_ns"]) for row in ended for stage in stages
               if row[stage + "_ns"] != "-"], "stages")
    histogram(found, "sqtrace_loop_work_seconds",
              [(pick(row, "kid"), row["work_ns"]) for row in rows("loops") if row["work_ns"] != "-"], "passes of the loop")
    counters(found, "sqtrace_requests_total", [(pick(row, "kid", "outcome"), 1) for row in requests], "outcomes")
    counters(found, "sqtrace_request_sent_bytes_total",
             [(pick(row, "kid", "class"), int(row["sent_bytes"])) for row in ended], "bytes sent")
    counters(found, "sqtrace_server_wait_seconds_total",
             [(pick(row, "server"), 0 if row["server_wait_ns"] == "-" else seconds(row["server_wait_ns"])) for row in ended
              if row["server"] != "-"], "waits for servers")
    counters(found, "sqtrace_server_connections_total",
             [(pick(row, "server", "outcome"), 1) for row in rows("connections") if row["server"] != "-"], "connections")
    counters(found, "sqtrace_service_seconds_total",
             [(pick(row, "kind", "name", "outcome"), 0 if row["service_ns"] == "-" else seconds(row["service_ns"]))
              for row in rows("waits")], "services")
    counters(found, "sqtrace_disk_queue_seconds_total",
             [(pick(row, "store", "dir", "op"), 0 if row["dequeued_ns"] == "-" else seconds(row["dequeued_ns"]))
              for row in rows("diskops") if row["dir"] != "-" and row["store"] != "-"], "disk queues")
    counters(found, "sqtrace_loop_wait_seconds_total",
             [(pick(row, "kid"), seconds(row["wait_ns"])) for row in rows("loops") if row["wait_ns"] != "-"], "waits of the loop")
    counters(found, "sqtrace_server_reply_seconds_total",
             [(pick(row, "server"), duration(row["server_reply_ns"])) for row in ended if row["server"] != "-"], "replies of servers")
    counters(found, "sqtrace_server_connect_seconds_total",
             [(pick(row, "server", "outcome"), duration(row["connect_ns"])) for row in rows("connections")
              if row["server"] != "-"], "time to connect")
    waits = rows("waits")
    counters(found, "sqtrace_service_waits_total", [(pick(row, "kind", "name", "outcome"), 1) for row in waits], "waits")
    counters(found, "sqtrace_service_queue_seconds_total",
             [(pick(row, "kind", "name", "outcome"), duration(row["queue_ns"])) for row in waits], "queues of services")
    disk = [row for row in rows("diskops") if row["dir"] != "-" and row["store"] != "-"]
    labels = ("store", "dir", "op")
    counters(found, "sqtrace_disk_operations_total", [(pick(row, *labels), 1) for row in disk], "disk operations")
    counters(found, "sqtrace_disk_io_seconds_total", [(pick(row, *labels), duration(row["io_ns"])) for row in disk], "disk I/O")
    counters(found, "sqtrace_disk_io_bytes_total",
             [(pick(row, *labels), 0 if row["size_bytes"] == "-" else int(row["size_bytes"])) for row in disk], "disk bytes")
    counters(found, "sqtrace_disk_results_total", [(pick(row, "store", "dir", "result"), 1) for row in disk], "disk results")
    flusher = [row for row in rows("syscalls") if row["thread"] == "flusher" and row["name"] != "misc"]
    counters(found, "sqtrace_tracer_calls_total", [(pick(row, "kid"), int(row["count"])) for row in flusher], "flusher's calls")
    counters(found, "sqtrace_tracer_call_seconds_total",
             [(pick(row, "kid"), fractions.Fraction(row["total_s"])) for row in flusher], "time in the flusher's calls")
    hits = {name: "hit" for name in ("mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit")}
    looked = [({"kid": row["kid"], "result": result}, row["sent_bytes"]) for row in ended
              for result in [{**hits, "miss": "miss", "refresh_miss": "miss"}.get(row["class"])] if result]
    counters(found, "sqtrace_cache_lookups_total", [(labels, 1) for labels, _ in looked], "hits and misses")
    counters(found, "sqtrace_cache_lookup_sent_bytes_total", [(labels, int(sent)) for labels, sent in looked], "and their bytes")
    counters(found, "sqtrace_responses_total",
             [({"kid": row["kid"], "status": row["status"][0] + "xx" if row["status"] != "0" else "none"}, 1) for row in ended],
             "statuses")
    counters(found, "sqtrace_swaps_total", [(pick(row, "kid", "direction"), 1) for row in rows("swaps")], "swaps")
    counters(found, "sqtrace_swap_bytes_total",
             [(pick(row, "kid", "direction"), int(row["size_bytes"])) for row in rows("swaps")], "their bytes")
    traffic(found)
    main_thread(found)
    samples(found)
    return requests, found


def duration(text):
    return 0 if text == "-" else seconds(text)


def traffic(found):
    events = rows("events", "--columns=kid,event,arg")
    for name, event, with_bytes in (
            ("sqtrace_client_received_bytes_total", "CLIENT_READ", True), ("sqtrace_client_connections_total", "CONN_ACCEPT", False),
            ("sqtrace_client_connections_closed_total", "CONN_CLOSE", False), ("sqtrace_server_dispatches_total", "DISPATCH", False),
            ("sqtrace_server_received_bytes_total", "SERVER_READ", True)):
        counters(found, name, [(pick(row, "kid"), int(row["arg"]) if with_bytes else 1) for row in events
                               if row["event"] == event], event)


def main_thread(found):
    """loop_time has shares of each second, rounded to 0.001 %."""
    states = {"computing": "computing_pct", "blocked": "blocked_pct", "idle": "idle_pct"}
    told = rows("loop_time")
    for state, column in states.items():
        wanted = collections.defaultdict(float)
        for row in told:
            wanted[row["kid"]] += float(row[column]) / 100
        got = {kid: float(found["sqtrace_main_thread_seconds_total", (("kid", kid), ("state", state))]) for kid in wanted}
        # The first and the last second of a process are not whole.
        check(all(abs(got[kid] - wanted[kid]) <= 2 * max(1, wanted[kid] / 100) for kid in wanted),
              "main thread: %s is %s, loop_time says %s" % (state, got, dict(wanted)))


def samples(found):
    """Counters are the growth from a process's first sample to its last.  All of them have ended, so there are no gauges."""
    first, last = {}, {}
    for row in rows("samples", "--columns=kid,ring,source,name,value"):
        key = row["kid"], row["ring"], row["source"], row["name"]
        first.setdefault(key, row["value"])
        last[key] = row["value"]
    grown = [(key, int(last[key]) - int(first[key])) for key in last if key[3] != "device"]
    for name, value in (("sqtrace_squid_cpu_user_seconds_total", "cpu_user_us"),
                        ("sqtrace_squid_cpu_system_seconds_total", "cpu_system_us")):
        counters(found, name, [({"kid": key[0]}, fractions.Fraction(amount, 10 ** 6)) for key, amount in grown
                               if key[2:] == ("process", value)], value)
    check(not [key for key in found if key[0].startswith(("sqtrace_squid_open", "sqtrace_squid_resident", "sqtrace_cache_memory", "sqtrace_cache_disk",
                                                         "sqtrace_cache_dir", "sqtrace_requests_in_flight"))],
          "no gauge of a process that has ended")
    busy = {fractions.Fraction(amount, 1000) for key, amount in grown if key[3] == "busy_ms"}
    told = {value for key, value in found.items() if key[0] == "sqtrace_disk_device_busy_seconds_total"}
    check(told and told <= busy, "a device is as busy as one of its kids saw: %s of %s" % (sorted(told), sorted(busy)))


def one_after_the_other(folder):
    """Kid 1 is read when kid 2, who sampled the same device at the same time, has been read and has ended."""
    exporter = followed(folder, kids=(2,))
    before = exporter.metrics()
    device, = [key for key in before if key[0] == "sqtrace_disk_device_busy_seconds_total"]
    first = before[device]
    check(not [key for key in before if key[0] == "sqtrace_disk_device_in_flight"], "a kid's trace has ended: no gauges")
    copy(folder, SAMPLE, (1,), exporter)
    settle(exporter)
    samples_of_kid_1 = ("sqtrace_squid_cpu_user_seconds_total", (("kid", "1"),))
    both = exporter.metrics()
    check(samples_of_kid_1 in both and first > 0 and both[device] - first < first / 10,
          "kids read one after the other: the device was busy for %s s, and then %s" % (first, both[device]))
    same(exporter.stop(), 0, "a signal ends it with status 0")


# ---- formats ----

def formats(exporter, requests):
    status, kind, text = exporter.get()
    same((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"), "the text format's type")
    status, open_kind, open_text = exporter.get(headers=OPEN)
    same((status, open_kind), (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"), "OpenMetrics' type")
    check(open_text.endswith("# EOF\n") and "# EOF" not in text, "OpenMetrics ends with EOF")
    ours = {key: value for key, value in parse(text).items() if not key[0].startswith(("process_", "sqtrace_exporter"))}
    theirs = {key: value for key, value in parse(open_text).items() if not key[0].startswith(("process_", "sqtrace_exporter"))}
    check(ours == theirs and len(ours) > 500, "both formats tell the same, %d series" % len(ours))
    if shutil.which("promtool"):
        found = run("promtool", "check", "metrics", input=text.encode())
        same((found.returncode, found.stderr), (0, b""), "promtool has nothing to say about the text format")
    else:
        check(True, "promtool reads it", skip="promtool is not installed")
    exemplars(open_text, requests)
    try:
        import prometheus_client.openmetrics.parser as open_parser
        import prometheus_client.parser as parser
    except ImportError:
        check(True, "prometheus_client reads both", skip="prometheus_client cannot be installed")
        return
    for name, library, what in (("OpenMetrics", open_parser, open_text), ("the text format", parser, text)):
        read = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in library.text_string_to_metric_families(what) for sample in family.samples}
        plain = {key: float(value) for key, value in parse(what).items()}
        check(read == plain, "prometheus_client reads the same of %s" % name)


def exemplars(text, requests):
    """Each names a request of its ring, kid and transaction that lies in the bucket."""
    by_xid = collections.defaultdict(set)
    for row in requests:
        by_xid[row["kid"], row["xid"]].add(row["total_ns"])
    found = re.findall(r'^sqtrace_request_duration_seconds_bucket\{.*le="([^"]*)"\} \d+ # \{ring="([0-9a-f]{32})",kid="(\d+)",'
                       r'transaction="(\d+)"\} ([0-9.]+) ([0-9.]+)$', text, re.M)
    wrong = [one for one in found if str(int(fractions.Fraction(one[4]) * 10 ** 9)) not in by_xid[one[2], one[3]] or
             (one[0] != "+Inf" and fractions.Fraction(one[4]) > fractions.Fraction(one[0]))]
    check(len(found) > 20 and not wrong, "%d exemplars are requests of the trace" % len(found))
    if wrong:
        print("# %s" % (wrong[0],))


# ---- bounds ----

def bounds(folder, total):
    for options in (("--series=500",), ("--series=2000", "--detail", "--top=2"), ("--series=300",)):
        exporter = followed(os.path.join(folder, "bound" + "".join(options)), *options)
        found = exporter.metrics()
        most = int(options[0].split("=")[1])
        check(len(found) <= most, "%s: %d series" % (" ".join(options), len(found)))
        got = sum(value for key, value in found.items() if key[0] == "sqtrace_request_duration_seconds_count")
        dropped = "--series=2000" not in options
        check(0 < got <= total if dropped else got == total, "%s: %d of %d requests are told" % (" ".join(options), got, total))
        check(found["sqtrace_exporter_other_total", ()] > 0, "%s: rows of others are counted" % " ".join(options))
        if "--top=2" in options:
            servers = [key for key in found if key[0] == "sqtrace_server_requests_total"]
            check(len(servers) == 3 and (("server", "other"),) in [key[1] for key in servers],
                  "--top=2: two servers and others")
            check(any(dict(key[1]).get("class") == "miss" for key in found
                      if key[0] == "sqtrace_request_stage_duration_seconds_count"), "--detail: stages by class")
        same(exporter.stop(), 0, "a signal ends it with status 0")


# ---- HTTP ----

def raw(port, data, seconds=20):
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        got = b""
        while True:
            piece = connection.recv(65536)
            if not piece:
                return got
            got += piece


def web(exporter):
    before = exporter.value("sqtrace_exporter_refused_total")
    same(exporter.get("/else")[0::2], (404, "there are /metrics, /healthz and a page at /\n"), "another path gets 404")
    same(exporter.get(method="DELETE")[0], 405, "another method gets 405")
    same(exporter.get(headers={"X-Long": "x" * 65536})[0], 431, "64 KB of header get 431")
    same(exporter.get(method="HEAD")[0::2], (200, ""), "HEAD gets no body")
    same(exporter.get("/healthz")[0::2], (200, "ok\n"), "/healthz")
    check(raw(exporter.port, b"nonsense\r\n\r\n").startswith((b"HTTP/1.1 400", b"HTTP/1.0 400")), "nonsense gets 400")
    raw(exporter.port, b"GET /metrics")
    time.sleep(0.2)  # a text is kept for 0.1 s
    same(exporter.value("sqtrace_exporter_refused_total") - before, 4, "refused requests are counted")
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: exporter.get(headers=OPEN), range(100)))
    check(all(answer[0] == 200 and answer[2].endswith("# EOF\n") for answer in answers), "100 scrapes at once are answered")
    idle = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(20)]
    same(exporter.get()[0], 200, "clients that say nothing hold up nobody")
    for one in idle:
        one.close()
    took = []
    for _ in range(5):
        time.sleep(0.15)
        begin = time.monotonic()
        exporter.get()
        took.append(time.monotonic() - begin)
    check(min(took) < SCRAPE_S or SANITIZED, "a scrape of %d series takes %.1f ms" % (len(exporter.metrics()), min(took) * 1000))


def process(exporter, folder):
    """What it has open, and how much memory is its own."""
    pid, sockets = exporter.process.pid, set()
    for name in os.listdir("/proc/%d/fd" % pid):
        target = os.readlink("/proc/%d/fd/%s" % (pid, name))
        if target.startswith(folder):
            flags = re.search(r"flags:\s*(\d+)", open("/proc/%d/fdinfo/%s" % (pid, name)).read()).group(1)
            check(int(flags, 8) & 3 == os.O_RDONLY, "%s is open for reading only" % os.path.basename(target))
        sockets.update(re.findall(r"socket:\[(\d+)\]", target))
    listening = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(path).read().splitlines()[1:] if os.path.exists(path) else ():
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                listening.append(words[1])
    same(listening, ["0100007F:%04X" % exporter.port], "it listens at one address")
    private = sum(int(line.split()[1]) for line in open("/proc/%d/smaps_rollup" % pid) if line.startswith("Private_"))
    check(private < PRIVATE_KB or SANITIZED, "%d KB of private memory" % private)


# ---- what is wrong with a trace ----

def trouble(work):
    folder = os.path.join(work, "later")
    exporter = Exporter(folder)
    exporter.says("later: No such file or directory")
    same(exporter.get("/healthz")[0::2], (503, "%s: No such file or directory\n" % folder), "/healthz says what is missing")
    same(exporter.value("sqtrace_up"), 0, "sqtrace_up is 0")
    os.mkdir(folder)
    exporter.says("there is no trace")
    shutil.copy(os.path.join(GOLDEN, "good.sqt"), folder)
    exporter.says("follows " + folder)
    same((exporter.value("sqtrace_up"), exporter.get("/healthz")[0]), (1, 200), "it begins when the trace is there")
    problems = exporter.value("sqtrace_exporter_problems_total")
    shutil.copy(os.path.join(GOLDEN, "newer.sqt"), folder)
    exporter.says("newer.sqt: written by a newer sqtrace")
    until(lambda: exporter.value("sqtrace_exporter_problems_total") > problems, 30, "the problem is counted")
    check(exporter.value("sqtrace_up") == 1, "a trace of another version is said and counted")
    os.rename(folder, folder + ".away")
    until(lambda: exporter.value("sqtrace_up") == 0, 10, "up is 0")
    check(exporter.said().count("No such file or directory") >= 2, "a directory that goes away is said")
    os.rename(folder + ".away", folder)
    until(lambda: exporter.value("sqtrace_up") == 1, 10, "up is 1")
    check("can read again" in exporter.said(), "and that it is back")
    check(len(exporter.said().splitlines()) < 12, "nothing is said again and again")
    same(exporter.stop(), 0, "it ended well")
    if os.getuid() != 0:
        check(True, "a directory without permission", skip="it needs root to take another user")
        return
    shut = os.path.join(work, "shut")
    os.mkdir(shut, 0o700)
    os.chmod(work, 0o755)
    # The other user may not be able to enter the build folder, as below /root.
    exporter = Exporter(shut, program=shutil.copy(EXPORTER, work), user=65534, group=65534)
    exporter.says("shut: .*Permission denied; run this as root, or as a user in Squid's group$")
    check(True, "a directory without permission is said, and what to do")
    same((exporter.stop(), exporter.said().count("Permission denied")), (0, 1), "once")


def main():
    enter("prometheus_client")
    with tempfile.TemporaryDirectory() as work:
        usage()
        exporter = followed(os.path.join(work, "trace"))
        requests, found = counts(exporter)
        one_after_the_other(os.path.join(work, "kids"))
        formats(exporter, requests)
        web(exporter)
        process(exporter, os.path.join(work, "trace"))
        same(exporter.stop(), 0, "SIGTERM ends it with status 0")
        bounds(work, sum(value for key, value in found.items() if key[0] == "sqtrace_request_duration_seconds_count"))
        trouble(work)
    plan()


main()
