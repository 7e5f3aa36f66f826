# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-exporter beside a Squid, and a Prometheus that scrapes it."""

import collections
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time
import urllib.parse

from lib import dump, sqload
from lib.client import Background, Client, at_once
from lib.env import free_port, wait_for
from lib.exporter import Exporter, fetch
from lib.native import TOP, preload
from lib.origin import Origin
from lib.small_disk import fill, small_tmpfs
from lib.squid import Squid

# Two readings of a row differ by so much: times come from clock anchors, of which a ring has fewer than its segments.
EACH_S, SHARE = 1e-4, 1e-4
PRIVATE_KB = 64 * 1024
# Of a processor: at 1,000 requests a second, the same with --otlp, and without any requests.
CPU_SHARE, OTLP_SHARE, IDLE_SHARE = 0.02, 0.10, 0.002
WINDOW = "20s"
FOR_S = 2
IDLE_S = {False: 15, True: 600}
SITE = os.path.join(TOP, "tools", "exporter", "site")


class Prometheus:
    """Debian's, which scrapes the exporter each second; with our rules."""

    def __init__(self, env, exporter, rules=os.path.join(SITE, "alerts.yml"),
                 names=os.path.join(SITE, "squid-exporter-names.yml")):
        self.port = free_port()
        config = env.path("prometheus.yml")
        with open(config, "w") as file:
            file.write("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                       "rule_files: ['%s', '%s']\n" % (rules, names) +
                       "scrape_configs: [{job_name: squid, static_configs: [{targets: ['%s']}]}]\n" % exporter.address)
        self.process = subprocess.Popen(["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + env.path("tsdb"),
                                         "--web.listen-address=127.0.0.1:%d" % self.port], stdin=subprocess.DEVNULL,
                                        stdout=open(env.path("prometheus.log"), "wb"), stderr=subprocess.STDOUT)
        env.on_close(self.process.kill)
        wait_for(self.is_up, 60, "Prometheus to scrape")

    def ask(self, what, **words):
        text = fetch("http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, what, urllib.parse.urlencode(words)))
        return json.loads(text)["data"]

    def is_up(self):
        try:
            return self.query("sqtrace_up == 1")
        except OSError:
            return False

    def firing(self):
        return {alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"] if alert["state"] == "firing"}

    def fired(self):
        """Names of the alerts that fired at any time."""
        return {row["metric"]["alertname"] for row in self.query('max_over_time(ALERTS{alertstate="firing"}[1h])')}

    def query(self, text):
        return self.ask("query", query=text)["result"]


def rows_by(env, directory, since_ns, *keys):
    """{values of the keys: [ns]} of the requests that ended since then, in the finished trace."""
    found = collections.defaultdict(list)
    for row in dump.table(env, directory, "requests", "--columns=time_s,total_ns," + ",".join({"class", *keys})):
        if row["class"] != "-" and row["total_ns"] != "-" and row.wall_ns + row.ns("total_ns") >= since_ns:
            found[tuple(row[key] for key in keys)].append(row.ns("total_ns"))
    return found


def compare_notes(env, exporter, rows):
    """Requests and their time by the value of a note."""
    wanted = {(("note", "half"), ("value", value)): values for (value,), values in rows.items() if value != "-"}
    counts, sums = exporter.values("sqtrace_note_requests_total"), exporter.values("sqtrace_note_request_seconds_total")
    env.equal({labels: int(value) for labels, value in counts.items()}, {labels: len(v) for labels, v in wanted.items()},
              "requests by note")
    env.equal(sorted(dict(labels)["value"] for labels in counts), ["one", "two"], "values")
    for labels, values in wanted.items():
        total = sum(values) / 1e9
        env.check(abs(sums.get(labels, -1) - total) <= EACH_S * len(values) + SHARE * total,
                  "%s: the time is %s, of the rows %.6f" % (labels, sums.get(labels), total))


def compare(env, exporter, rows):
    counts = exporter.values("sqtrace_request_duration_seconds_count")
    sums = exporter.values("sqtrace_request_duration_seconds_sum")
    wanted = {(("class", kind), ("kid", kid)): values for (kid, kind), values in rows.items()}
    env.equal({labels: int(value) for labels, value in counts.items()}, {labels: len(v) for labels, v in wanted.items()},
              "requests by class and kid")
    for labels, values in wanted.items():
        total = sum(values) / 1e9
        env.check(abs(sums.get(labels, -1) - total) <= EACH_S * len(values) + SHARE * total,
                  "%s: the sum is %s, of the rows %.6f" % (labels, sums.get(labels), total))
    env.note("%d requests, as in the finished trace" % sum(map(len, wanted.values())))


def dashboard(env, prometheus):
    """Every query returns a series, and so it does for each value of each variable that has such series."""
    with open(os.path.join(SITE, "dashboard.json"), encoding="utf-8") as file:
        board = json.load(file)
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for query in queries:
        found = prometheus.query(re.sub(r"\$(instance|kid|class)\b", ".*", query.replace("$__rate_interval", WINDOW)))
        env.check(found, "no series: %s" % query)
    asked = 0
    for variable in board["templating"]["list"][1:]:
        metric, label = re.match(r"label_values\((.*), ([a-z]+)\)$", variable["query"]["query"]).groups()
        rows = prometheus.query("group by (%s) (%s)" % (label, metric.replace("$instance", ".*")))
        values = [row["metric"][label] for row in rows]
        env.check(values, "variable %s has no values" % label)
        for value in values:
            for query in [query for query in queries if "$" + label in query]:
                text = query.replace("$" + label, value).replace("$__rate_interval", WINDOW)
                prometheus.query(re.sub(r"\$(instance|kid|class)\b", ".*", text))
                asked += 1
    env.note("%d queries of the dashboard, %d with a value" % (len(queries), asked))


def old_names(env, prometheus):
    """The names that dashboards of squid-exporter use return series."""
    for name in ("squid_up", "squid_client_http_requests_total", "squid_client_http_hits_total", "squid_client_http_errors_total",
                 "squid_client_http_kbytes_in_kbytes_total", "squid_client_http_kbytes_out_kbytes_total",
                 "squid_client_http_hit_kbytes_out_bytes_total", "squid_server_http_requests_total",
                 "squid_server_http_errors_total", "squid_server_http_kbytes_in_kbytes_total", "squid_swap_ins_total",
                 "squid_swap_outs_total"):
        found = prometheus.query(name)
        env.check(found, "no series: %s" % name)
        if "errors" not in name:
            env.check(float(found[0]["value"][1]) > 0, "%s is 0" % name)


def scraped(env):
    """Load, a restart and a SIGKILL.  What ended before the exporter started is not counted; all else is, once."""
    env.need_program("prometheus")
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB note=half", dirs=["ufs"], workers=2, dns=origin.host,
                  lines="cache_mem 4 MB\nacl each_second random 0.5\nnote half one each_second\nnote half two all\n").start()
    for n in range(5):
        squid.get(origin.url("before%d" % n, size=1000))
    time.sleep(1)
    since = time.time_ns()
    time.sleep(1)
    exporter = Exporter(env, squid.directory)
    prometheus = Prometheus(env, exporter)
    stop, sent = threading.Event(), []

    def load():
        n = 0
        while not stop.is_set():
            n += 1
            try:
                with Client(squid.client_address(), 20) as client:
                    for k in range(5):
                        # A name of its own now and then, so that requests wait for the name server, too.
                        host = None if k else "n%d.test" % n
                        client.request(origin.url("o%d" % ((7 * n + k) % 50), host, size=30000), "r")
                        sent.append(time.monotonic())
            except OSError:
                pass
            time.sleep(0.1)
    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(6)
    squid.stop()
    squid.start()
    time.sleep(4)
    squid.kill_all()
    squid.start()
    time.sleep(8)
    dashboard(env, prometheus)
    old_names(env, prometheus)
    stop.set()
    thread.join()
    squid.stop()
    time.sleep(2)
    compare(env, exporter, rows_by(env, squid.directory, since, "kid", "class"))
    compare_notes(env, exporter, rows_by(env, squid.directory, since, "note_half"))
    spike = prometheus.query("max_over_time(sum(rate(sqtrace_request_duration_seconds_count[5s]))[60s:1s])")
    most = max(sum(1 for at in sent if end - 2 <= at < end) for end in sent) / 2
    env.note("most requests per second: %.1f as sent, %s as Prometheus saw it" % (most, spike[0]["value"][1]))
    env.check(float(spike[0]["value"][1]) < 3 * most, "rate() shows a spike: %s" % spike)
    env.equal(prometheus.query("resets(sqtrace_loop_wait_seconds_total[2m]) > 0"), [], "counters that were reset")
    env.check(exporter.private_kb() < PRIVATE_KB, "%d KB of private memory" % exporter.private_kb())
    env.equal([rule["health"] for group in prometheus.ask("rules")["groups"] for rule in group["rules"]
               if rule["health"] == "err"], [], "rules that cannot be evaluated")
    exporter.process.terminate()
    env.equal(exporter.process.wait(20), 0, "exit status of the exporter")
    env.equal([line for line in exporter.said().splitlines() if "serves" not in line and "follows" not in line], [],
              "what the exporter said")


def short_rules(env):
    """Our rules with short times: (file, names)."""
    with open(os.path.join(SITE, "alerts.yml"), encoding="utf-8") as file:
        text = file.read()
    short = re.sub(r"\[[0-9]+m\]", "[8s]", re.sub(r"offset [0-9]+m", "offset 8s",
                                                    re.sub(r"for: [0-9]+(m|s)", "for: %ds" % FOR_S, text)))
    env.check(not re.search("[0-9]m\\b", re.sub("(?m)^ *description:.*$", "", short)), "a time was not made short")
    path = env.path("alerts.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(short)
    return path, set(re.findall(r"alert: (\w+)", text))


def alerts(env):
    """Each alert fires when its cause is planted, and none does before."""
    env.need_program("prometheus")
    directory = env.path("small")
    small_tmpfs(env, directory, "24M")
    origin = Origin(env)
    # Times here are of a machine that is shared, but a request of 1 s or a pass of 100 ms is none of that.
    squid = Squid(env, trace="ring=1MB segment=4MB total=off reserve=off", dirs=["diskd"], dns=origin.host, directory=directory,
                  lines="cache_mem 0 MB\nmemory_cache_mode disk\n", alone=True, preload=preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-diskd-", "SLOWDISK_MS": "40"})
    squid.give(directory)
    squid.start()
    exporter = Exporter(env, directory)
    rules, names = short_rules(env)
    prometheus = Prometheus(env, exporter, rules)
    for n in range(20):
        squid.get(origin.url("quiet%d" % n, size=20000))
        time.sleep(0.1)
    time.sleep(IDLE_S[env.full])
    env.equal(prometheus.fired(), set(), "alerts of a healthy Squid, and of one that is idle")
    planted = set()

    def fires(name, seconds=40):
        planted.add(name)
        wait_for(lambda: name in prometheus.firing(), seconds, "the alert " + name)

    def clients(count, work):
        own = [Client(squid.client_address()) for _ in range(count)]
        return Background(env, count, lambda n: work(own[n], n))

    slow = clients(4, lambda client, n: client.request(origin.url("slow", hdr=1500, cc="no-store"), "s"))
    fires("SquidSlowRequests")
    fires("SquidFinding", 90)
    slow.stop()
    hanging = clients(5, lambda client, n: client.request(origin.url("hangs", hdr=25000, cc="no-store"), "h"))
    fires("SquidHangs")
    hanging.stop()
    # diskd reads one block at a time, so all but one wait.
    disk = clients(14, lambda client, n: client.request(origin.url("quiet%d" % n, size=20000), "d"))
    fires("SquidDiskQueue")
    disk.stop()
    busy = clients(8, lambda client, n: client.request(origin.url("busy", size=100, cc="no-store"), "b"))
    fires("SquidLoopBusy")
    kid = (squid.worker_pids() or [squid.process.pid])[0]
    for _ in range(12):  # the busy loop is in a pass as a rule
        os.kill(kid, signal.SIGSTOP)
        time.sleep(0.25)
        os.kill(kid, signal.SIGCONT)
        time.sleep(0.1)
    fires("SquidStalls")
    filler = fill(directory)
    fires("SquidTraceFull")
    os.unlink(filler)
    fires("SquidTraceLosesRecords")
    busy.stop()
    os.kill(kid, signal.SIGSTOP)
    begin = time.monotonic()
    fires("SquidSilent", 10 + FOR_S + 6)
    fires("SquidDown", 10)
    env.note("SquidSilent %.1f s after SIGSTOP" % (time.monotonic() - begin))
    os.kill(kid, signal.SIGCONT)
    wait_for(lambda: not {"SquidDown", "SquidSilent"} & prometheus.firing(), 10, "Squid to be up again")
    squid.kill_all()
    begin = time.monotonic()
    fires("SquidDown", 10 + FOR_S + 6)
    env.note("SquidDown %.1f s after SIGKILL" % (time.monotonic() - begin))
    exporter.process.terminate()
    exporter.process.wait(20)
    Exporter(env, env.path("nowhere"), listen=exporter.address, says="No such file")
    fires("SquidTraceMissing")
    env.equal(planted, names, "alerts with a cause here, and alerts that there are")


def restarts(env):
    """A Squid that is killed every second: nothing stops for good, and nothing is counted twice."""
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB", dns=origin.host).start()
    exporter = Exporter(env, squid.directory)
    since = time.time_ns()
    for n in range(6):
        at_once(3, lambda k: squid.get(origin.url("r%d-%d" % (n, k), size=1000)))
        time.sleep(0.5)
        squid.kill_all()
        squid.start()
    squid.get(origin.url("last", size=1000))
    squid.stop()
    time.sleep(2)
    compare(env, exporter, rows_by(env, squid.directory, since, "kid", "class"))
    env.equal(exporter.process.poll(), None, "the exporter still runs")


class Receiver(http.server.ThreadingHTTPServer):
    """Takes each batch of spans, and counts them."""

    def __init__(self, env):
        taken = self.taken = [0, 0]  # batches, spans

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                taken[1] += self.rfile.read(int(self.headers["Content-Length"])).count(b'"spanId":')
                taken[0] += 1
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        env.on_close(self.shutdown)


def cost(env, share, *options):
    """What the exporter takes beside 1,000 requests a second; of a slower machine, for each 1,000."""
    squid = Squid(env, trace="segment=2MB").start()
    exporter = Exporter(env, squid.directory, *options)

    def own(name):
        return float(re.search(r"^%s ([0-9.]+)$" % name, fetch("http://%s/metrics" % exporter.address), re.M).group(1))

    def spent():
        return own("process_cpu_seconds_total")
    before, begin = spent(), time.monotonic()
    load = sqload.Load(env, "--proxy=%s:%d" % squid.client_address(), "--rate=1000", "--duration=10", "--clients=100",
                       "--size=2000", status=None)
    took, seconds = spent() - before, time.monotonic() - begin
    thousands = load.sum("sent") / 1000
    env.check(thousands > 0.5, "only %d requests were sent" % (1000 * thousands))
    env.note("%.1f %% of a processor over %.1f s, %.0f ms for %.1f thousand requests; %d KB of private memory" % (
        100 * took / seconds, seconds, 1000 * took, thousands, exporter.private_kb()))
    env.check(took < share * thousands + IDLE_SHARE * seconds, "%.3f s of processor time for %d thousand requests" % (took, thousands))
    env.check(exporter.private_kb() < PRIVATE_KB, "%d KB of private memory" % exporter.private_kb())
    return own, 1000 * thousands


def cost_of_spans(env):
    """A span of each request and of each connection to a server goes to a receiver that answers 200."""
    receiver = Receiver(env)
    own, requests = cost(env, OTLP_SHARE, "--otlp=http://127.0.0.1:%d" % receiver.server_address[1])
    wait_for(lambda: own("sqtrace_otlp_queue_bytes") == 0 and receiver.taken[1] == own("sqtrace_otlp_sent_spans_total") and
             receiver.taken[1] >= requests, 20, "all spans to be sent")
    env.note("%d spans in %d batches" % (receiver.taken[1], receiver.taken[0]))
    env.equal(own("sqtrace_otlp_dropped_spans_total"), 0, "spans that were dropped")


TESTS = [
    ("a Prometheus that scrapes the exporter", scraped, 180),
    ("what the exporter costs", lambda env: cost(env, CPU_SHARE), 90),
    ("what spans cost", cost_of_spans, 90),
    ("alerts, each with its cause", alerts, 240),
    ("the exporter beside a Squid that is killed every second", restarts, 120),
]
