#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What table whatif foretells, beside what a Squid with the other setting does with the same requests at the same times.

Each case runs a Squid with today's setting, takes the forecasts of its trace, and runs a Squid with each other value.  A row
says what was foretold, what was measured, and by how many percent the first one is off.  Caches have an experiment of their
own: sqtrace-experiment whatif.

Helpers and services: requests come in bursts, at --rate a second on average, and each waits for a helper as long as its
URL, its user or its header says: 20 ms on average, lognormal.  Mean and 99th percentile of the wait, in ms.
The others: seconds that all requests took less; a limit says how much it can be at most or at least.
"""

import argparse
import math
import os
import random
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from lib import dump  # noqa: E402
from lib.client import Client  # noqa: E402
from lib.env import Env  # noqa: E402
from lib.helper import Helper  # noqa: E402
from lib.icapd import IcapServer  # noqa: E402
from lib.nameserver import NameServer  # noqa: E402
from lib.origin import Origin  # noqa: E402
from lib.squid import Squid  # noqa: E402
from lib.tls import Certificates, FarEnds  # noqa: E402

import base64  # noqa: E402

QUESTIONS = 5400
TODAY = 4  # children, or connections
TIMES = (2, 8, 16)  # what else is tried: a half, twice, four times
CLIENTS = 80
PERIOD, BUSY = 5.0, 2.0  # s: bursts of twice the rate in the first part of each period
COLUMNS = "%-34s %-14s %-12s %10s %10s %8s  %s"


def arrivals(draw, count, rate):
    """Times of so many requests: in bursts, at that rate on average."""
    times, now = [], 0.0
    quiet = rate * (PERIOD - 2 * BUSY) / (PERIOD - BUSY)
    while len(times) < count:
        now += draw.expovariate(2 * rate if now % PERIOD < BUSY else max(quiet, rate / 10))
        times.append(now)
    return times


def play(squid, times, ask):
    """ask(client, n) at each time, on whichever of the clients is free."""
    lock, upcoming, errors = threading.Lock(), iter(enumerate(times)), []
    start = time.monotonic() + 0.2

    def body():
        with Client(squid.client_address(), 60) as client:
            while not errors:
                with lock:
                    n, at = next(upcoming, (None, None))
                if n is None:
                    return
                time.sleep(max(0, start + at - time.monotonic()))
                try:
                    ask(client, n)
                except Exception as error:
                    errors.append(error)
    threads = [threading.Thread(target=body) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    time.sleep(0.3)


def run(env, name, lines, times, ask, **more):
    """The Squid, which has ended, with its trace."""
    squid = Squid(env, name=name, trace="", lines=lines, alone=True, **more).start()
    play(squid, times, ask)
    squid.stop()
    return squid


def forecasts(env, squid, setting, *options):
    found = dump.table(env, squid.directory, "whatif", "--no-comments", *options)
    return {row["value"]: row for row in found if row["setting"] == setting}


def tell(case, setting, value, foretold, measured, words):
    off = "%+.1f %%" % (100 * (foretold / measured - 1)) if foretold is not None and measured else "-"
    print(COLUMNS % (case, setting, value, "-" if foretold is None else "%.1f" % foretold, "%.1f" % measured, off, words), flush=True)


# ---- queues ----

def services(draw):
    """Milliseconds of each answer: 20 on average."""
    return [max(1, round(draw.lognormvariate(math.log(20) - 0.32, 0.8))) for _ in range(QUESTIONS)]


def waited(env, squid, kind):
    """Mean, 99th percentile."""
    totals = sorted(int(row["total_ns"]) / 1e6 for row in dump.table(env, squid.directory, "waits", "--no-comments")
                    if row["kind"] == kind and row["total_ns"] != "-")
    return sum(totals) / len(totals), totals[-(-len(totals) * 99 // 100) - 1]


def queue(env, case, setting, kind, lines_of, ask, option, draw, rate):
    times = arrivals(draw, QUESTIONS, rate)
    foretold = {}
    for count in (TODAY, *TIMES):
        squid = run(env, "%s-%d" % (case.replace(" ", "-"), count), lines_of(count), times, ask)
        if count == TODAY:
            asked = ["--whatif=%s=%s" % (option, ",".join(map(str, TIMES)))]
            foretold = forecasts(env, squid, setting, *asked)
        mean, p99 = waited(env, squid, kind)
        row = foretold.get(str(count), {"bound": "none", "wait_mean_ms": "-", "wait_p99_ms": "-", "method": ""})
        for name, measured, cell in ("mean", mean, row["wait_mean_ms"]), ("99 %", p99, row["wait_p99_ms"]):
            tell("%s, %s" % (case, name), setting.split()[0][:14], str(count), None if cell == "-" else float(cell), measured,
                 "today" if count == TODAY else row["bound"])


def rewriter(env, origin, draw, rate):
    helper, waits = Helper(env, "channel"), services(draw)

    def lines(count):
        return ("url_rewrite_program %s\nurl_rewrite_children %d startup=%d idle=1 concurrency=0 queue-size=4000\ncache deny all\n"
                % (helper.command.replace(" channel ", " rewrite "), count, count))
    queue(env, "rewriter", "url_rewrite_children", "url_rewrite", lines,
          lambda client, n: client.request(origin.url("wait%d-%d" % (waits[n], n)), "q"), "children", draw, rate)


def authenticator(env, origin, draw, rate):
    helper, waits = Helper(env, "auth"), services(draw)

    def lines(count):
        return ("auth_param basic program %s\nauth_param basic children %d startup=%d idle=1 queue-size=4000\nauth_param basic realm r\n"
                "acl known proxy_auth REQUIRED\nhttp_access deny !known\ncache deny all\n" % (helper.command, count, count))

    def ask(client, n):
        word = base64.b64encode(b"u%d-wait%d:p" % (n, waits[n])).decode()
        client.request(origin.url("o%d" % n), "q", headers=["Proxy-Authorization: Basic " + word])
    queue(env, "authenticator", "auth_param basic children", "auth", lines, ask, "children", draw, rate)


def adaptation(env, origin, draw, rate):
    server, waits = IcapServer(env), services(draw)

    def lines(count):
        return (server.enabled() + server.service("req", "reqmod_precache", "max-conn=%d" % count, "on-overload=wait") +
                "adaptation_access req allow all\ncache deny all\n")
    queue(env, "ICAP service", "icap_service req max-conn", "adaptation", lines,
          lambda client, n: client.request(origin.url("o%d" % n), "q", headers=["X-Reqmod: wait=%d;do=204" % waits[n]]),
          "max-conn", draw, rate)


# ---- seconds ----

def took(env, squid):
    """Seconds of all requests together, and hours from the first to the last."""
    rows = dump.table(env, squid.directory, "requests", "--no-comments", "--columns=time_s,total_ns")
    begins = [float(row["time_s"]) for row in rows]
    return sum(int(row["total_ns"]) for row in rows) / 1e9, (max(begins) - min(begins)) / 3600


def seconds(env, case, setting, value, before, after, times, ask, dirs=((), ()), **more):
    """before, after: lines of squid.conf."""
    one = run(env, case.replace(" ", "-") + "-1", before, times, ask, dirs=dirs[0], **more)
    foretold = forecasts(env, one, setting).get(value)
    total, hours = took(env, one)
    other, _ = took(env, run(env, case.replace(" ", "-") + "-2", after, times, ask, dirs=dirs[1], **more))
    saved = None if not foretold or foretold["saved_s_per_h"] == "-" else float(foretold["saved_s_per_h"]) * hours
    tell(case, setting[:14], value[:12], saved, total - other, "%s, of %.1f s" % (foretold and foretold["bound"], total))


def collapsed(env, origin, draw, rate):
    times = arrivals(draw, 1500, rate / 2)

    def ask(client, n):
        client.request(origin.url("o%d" % (n // 4), size=3000, hdr=400), "q")
    seconds(env, "collapsed_forwarding", "collapsed_forwarding", "on", "collapsed_forwarding off\n", "collapsed_forwarding on\n",
            times, ask)


def connections(env, origin, draw, rate):
    far = FarEnds(env, origin, Certificates(env, "far.example", origin.host), "tls:20")
    lines = ("cache deny all\ncache_peer %s parent %d 0 no-query no-digest originserver tls tls-flags=DONT_VERIFY_PEER name=far\n"
             "never_direct allow all\n" % (origin.host, far.ports["tls:20"]))
    times = arrivals(draw, 1500, rate)

    def ask(client, n):
        client.request(origin.url("o%d" % n, size=1000), "q")
    state, idle = "server_persistent_connections %s\n", "server_idle_pconn_timeout %d seconds\n"
    seconds(env, "kept connections", "server_persistent_connections", "on", lines + state % "off", lines + state % "on", times, ask)
    gaps = [30 * at for at in times[:1100]]  # so that connections are idle for some time
    gaps = [at * 60 / gaps[-1] for at in gaps]
    seconds(env, "idle connections", "server_idle_pconn_timeout", "16 seconds", lines + idle % 1, lines + idle % 16, gaps, ask)


def answers(env, origin, draw, rate):
    server = NameServer(env, "m", origin.host)
    times = arrivals(draw, 1500, rate / 2)

    def ask(client, n):
        client.request("http://m30-n%d.test:%d/o%d" % (n % 20, origin.port, n), "q")
    lines = "cache deny all\n"
    seconds(env, "DNS answers", "negative_dns_ttl", "longer", lines + "positive_dns_ttl 1 second\nnegative_dns_ttl 1 second\n",
            lines + "positive_dns_ttl 601 seconds\nnegative_dns_ttl 600 seconds\n", times, ask,
            dns=server.address)


def refreshed(env, origin, draw, rate):
    times = arrivals(draw, 1500, rate)

    def ask(client, n):
        client.request(origin.url("o%d" % (n % 40), size=2000, cc="max-age=1", lm=1, hdr=30), "q")
    seconds(env, "no refreshes", "refresh_pattern", "override-expire, a larger min", "",
            "refresh_pattern . 60 20% 4320 override-expire\n", times, ask)


def disks(env, origin, draw, rate):
    times = arrivals(draw, 1500, rate)

    def ask(client, n):
        client.request(origin.url("o%d" % (n % 100), size=40000), "q")
    lines = "cache_mem 0\nmemory_cache_mode disk\n"
    seconds(env, "another cache_dir", "cache_dir", "another type", lines, lines, times, ask, (["ufs"], ["aufs"]))


CASES = {case.__name__: case for case in (rewriter, authenticator, adaptation, collapsed, connections, answers, refreshed, disks)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squid", required=True, type=os.path.abspath, metavar="PREFIX", help="a patched Squid")
    parser.add_argument("--tools", required=True, type=os.path.abspath, metavar="BUILDDIR", help="where sqtrace-dump was built")
    parser.add_argument("--case", action="append", choices=list(CASES), help="default: all")
    parser.add_argument("--rate", type=float, default=70, help="requests a second (default 70)")
    parser.add_argument("--rounds", type=int, default=1, help="each with other requests (default 1)")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sqtrace-bench-")
    os.chmod(folder, 0o755)
    print(COLUMNS % ("case", "setting", "value", "foretold", "measured", "off", ""))
    for number in range(options.rounds):
        for name in options.case or CASES:
            place = os.path.join(folder, "%s-%d" % (name, number))
            os.mkdir(place)
            os.chmod(place, 0o755)
            env = Env(place, options.squid, None, options.tools, False, None)
            try:
                CASES[name](env, Origin(env), random.Random(number), options.rate)
            finally:
                env.close()


if __name__ == "__main__":
    main()
