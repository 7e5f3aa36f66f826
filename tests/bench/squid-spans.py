#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a traced Squid pays while sqtrace-exporter sends a span of every request to a receiver.

One Squid serves requests at a fixed rate, memory hits if no other --workload is named, with its main thread on a
processor of its own.  A round has three turns: without the exporter, with it, and without it again.  Printed are the
medians, with 95 % intervals, of how much of a processor the main thread uses: with the exporter against the mean of both turns without it, and the first of those
against the second, which says what the ratio can be trusted to.  Then what the exporter used of a processor, and what
spans it dropped.
"""

import os
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pairs import apart, interval  # noqa: E402
from squids import Origin, arguments, environment, listening, make_dirs, variant  # noqa: E402
from lib.env import free_port, median, wait_for  # noqa: E402

WARM_S, SETTLE_S, TURN_S = 3, 1, 4
RECEIVER = """
import http.server, sys
class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
"""


def used(pid):
    """ns of processor time of a thread, or of a process's only one."""
    with open("/proc/%d/task/%d/schedstat" % (pid, pid), encoding="ascii") as file:
        return int(file.read().split()[0])


def turn(pid):
    """Share of a processor that the main thread uses."""
    time.sleep(SETTLE_S)
    begin, before = time.monotonic_ns(), used(pid)
    time.sleep(TURN_S)
    return (used(pid) - before) / (time.monotonic_ns() - begin)


class Exporter:
    def __init__(self, env, directory, receiver):
        self.process = subprocess.Popen([env.tool("sqtrace-exporter"), "--listen=127.0.0.1:0", "--otlp=http://127.0.0.1:%d" % receiver,
                                         directory], stderr=subprocess.PIPE, universal_newlines=True)
        env.on_close(self.process.kill)
        self.port = int(re.search(r":(\d+)/metrics", self.process.stderr.readline()).group(1))

    def told(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.port) as answer:
            text = answer.read().decode()
        return [float(re.search(r"^sqtrace_otlp_%s_spans_total (\S+)$" % name, text, re.M).group(1)) for name in ("sent", "dropped")]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def rounds(env, squid, receiver, count):
    pid = squid.process.pid  # squid -N
    found = []
    for _ in range(count):
        before = turn(pid)
        exporter = Exporter(env, squid.directory, receiver)
        time.sleep(SETTLE_S)
        begin, own = time.monotonic_ns(), used(exporter.process.pid)
        with_it = turn(pid)
        own = (used(exporter.process.pid) - own) / (time.monotonic_ns() - begin)
        told = exporter.told()
        exporter.stop()
        found.append((before, with_it, turn(pid), own, *told))
    return found


def tell(name, values, form="%-34s %8.4f  %.4f .. %.4f"):
    print(form % ((name, median(values)) + interval(values)), flush=True)


def spans(env, origin, receiver, workload, options):
    squid = variant(env, "patched, on", workload, alone=True)
    make_dirs(squid)
    squid.start()
    wait_for(lambda: listening(squid.port), 60, "Squid to listen")
    os.sched_setaffinity(squid.process.pid, {options.processor})
    urls = [origin.url(workload) + "o%d" % n for n in range(50)]
    load = subprocess.Popen([env.tool("sqtrace-load"), "--proxy=127.0.0.1:%d" % squid.port, "--rate=%d" % options.rate, "--clients=50",
                             "--duration=%ds" % (options.rounds * 30), *urls], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.on_close(load.kill)
    time.sleep(WARM_S)
    found = rounds(env, squid, receiver, options.rounds)
    if load.poll() is not None:
        raise SystemExit("the load ended early")
    load.kill()
    load.wait()
    squid.stop()
    print("%-34s %8s  %s" % ("%s, %d requests/s" % (workload, options.rate), "median", "95 % interval"))
    tell("main thread: spans / none", [2 * b / (a + c) for a, b, c, *_ in found])
    tell("main thread: none / none again", [a / c for a, _, c, *_ in found])
    tell("main thread, of a processor", [(a + c) / 2 for a, _, c, *_ in found])
    tell("exporter, of a processor", [own for _, _, _, own, *_ in found])
    print("spans sent: %d; dropped: %d" % (sum(row[4] for row in found), sum(row[5] for row in found)), flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of 18 s each (default 20)")
    parser.add_argument("--rate", type=int, default=1000, help="requests a second (default 1000)")
    options = parser.parse_args()
    options.processor = apart()
    env = environment(options)
    try:
        origin, port = Origin(env), free_port()
        receiver = subprocess.Popen([sys.executable, "-c", RECEIVER, str(port)])
        env.on_close(receiver.kill)
        wait_for(lambda: listening(port), 10, "the receiver")
        for workload in options.workload or ["memory-hit"]:
            spans(env, origin, port, workload, options)
    finally:
        env.close()


if __name__ == "__main__":
    main()
