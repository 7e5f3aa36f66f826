#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory and descriptors of sqtrace-exporter and sqtrace-top while they follow a long live trace.

usage: watchers.py BUILDDIR [RECORDS [RATE [TOOLS]]]

live-traffic of BUILDDIR traces RECORDS records (100 million) at RATE a second (150,000) in a folder in memory.  Meanwhile
the exporter, scraped each second, and the screen of sqtrace-top follow it; TOOLS is the build with the programs under
test, one with sanitizers, say, if it is not BUILDDIR.  ASan may keep 8 MB of freed memory.  After each tenth it prints the private memory of both, and how
many descriptors they have.  Both look back five minutes.  It fails if memory after the last tenth is over 1.05 times that
after the first tenth that has as much behind it, if there are more descriptors than after the first of all, if the exporter's counters went back or missed records, or if a program ended badly.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

SCRAPE_S = 1.0
BACK_S = 300  # findings and the screen look back so far


def private(pid):
    """KiB that belong to the process alone: what it shares with the file system's cache is not its own."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if re.match("Private_(Clean|Dirty):|Swap:", line))


def descriptors(pid):
    """The fewest of some moments: a scrape's connection closes a little later than its client."""
    fewest = 10**6
    for _ in range(5):
        fewest = min(fewest, len(os.listdir("/proc/%d/fd" % pid)))
        time.sleep(0.02)
    return fewest


class Top:
    """sqtrace-top on a terminal of 200 by 60 that nobody reads."""

    def __init__(self, program, trace):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
            os.environ.update(TERM="linux", LC_ALL="C.UTF-8")
            os.execv(program, [program, trace])
        self.text = b""

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                self.text = (self.text + os.read(self.fd, 65536))[-100000:]
            except OSError:
                return

    def end(self):
        os.write(self.fd, b"q")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        return -signal.SIGKILL


def scraped(port):
    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=60) as answer:
        return answer.read().decode()


def requests(text):
    return sum(float(value) for value in re.findall(r"^\w*request_duration_seconds_count\S* (\S+)$", text, re.M))


class Exporter:
    def __init__(self, program, trace, log):
        self.process = subprocess.Popen([program, "--listen=127.0.0.1:0", trace], stderr=log, stdout=log)
        self.pid, self.port = self.process.pid, None
        until = time.monotonic() + 60
        while self.port is None and time.monotonic() < until:
            time.sleep(0.1)
            found = re.search(r"127\.0\.0\.1:(\d+)", open(log.name, encoding="utf-8").read())
            self.port = found and int(found.group(1))
        if self.port is None:
            sys.exit("sqtrace-exporter does not say where it listens: " + open(log.name, encoding="utf-8").read())

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def watch(build, tools, records, rate, folder):
    trace, wrong, rows, counts = os.path.join(folder, "trace"), [], [], [0]
    os.mkdir(trace)
    log = open(os.path.join(folder, "exporter.log"), "w", encoding="utf-8")
    writer = subprocess.Popen([os.path.join(build, "tests/bench/live-traffic"), trace, str(records), str(rate)],
                              stdout=subprocess.PIPE)
    time.sleep(2)
    exporter, top = Exporter(os.path.join(tools, "sqtrace-exporter"), trace, log), Top(os.path.join(tools, "sqtrace-top"), trace)
    begin, tenth = time.monotonic(), records / rate / 10
    print("tenth  exporter KiB  descriptors   top KiB  descriptors  requests counted", flush=True)
    while writer.poll() is None:
        top.read()
        counts.append(requests(scraped(exporter.port)))
        if time.monotonic() - begin > tenth * (len(rows) + 1) - 1:
            rows.append((private(exporter.pid), descriptors(exporter.pid), private(top.pid), descriptors(top.pid)))
            print("%5d  %12d  %11d  %8d  %11d  %16d" % (len(rows), *rows[-1], counts[-1]), flush=True)
        time.sleep(SCRAPE_S)
    text = scraped(exporter.port)
    for line in re.findall(r"^sqtrace_\w*(?:lost|missed|losing|overrun)\w*(?:\{.*\})? \S+$", text, re.M):
        print("   " + line)
    print(writer.stdout.read().decode().strip())
    for name, program in (("sqtrace-exporter", exporter), ("sqtrace-top", top)):
        status = program.end()
        if status != 0:
            wrong.append("%s ended with %d" % (name, status))
    if sorted(counts) != counts:
        wrong.append("a counter went back")
    if len(rows) < 9:
        wrong.append("only %d tenths" % len(rows))
    full = int(-(-BACK_S // tenth)) - 1  # the row after which nothing is added
    if full >= len(rows) - 1:
        wrong.append("it is over before five minutes are full and a tenth more")
    for at, name in ((0, "exporter: memory"), (2, "top: memory")):
        if full < len(rows) and rows[-1][at] > 1.05 * rows[full][at]:
            wrong.append("%s is %.3f times what it was" % (name, rows[-1][at] / rows[full][at]))
    for at, name in ((1, "exporter: descriptors"), (3, "top: descriptors")):
        if rows[-1][at] > rows[0][at]:
            wrong.append("%s: %d, they were %d" % (name, rows[-1][at], rows[0][at]))
    said = open(log.name, encoding="utf-8").read()
    if re.search("Sanitizer|runtime error", said) or b"Sanitizer" in top.text:
        wrong.append("a sanitizer speaks: " + said[-3000:] + top.text.decode(errors="replace")[-3000:])
    print(said.strip())
    return wrong


def main():
    os.environ["ASAN_OPTIONS"] = "quarantine_size_mb=8:" + os.environ.get("ASAN_OPTIONS", "")
    build = sys.argv[1]
    records, rate = (int(word) for word in (sys.argv[2:4] + ["100000000", "150000"][len(sys.argv[2:4]):]))
    with tempfile.TemporaryDirectory(prefix="sqtrace-bench-", dir="/dev/shm") as folder:
        wrong = watch(build, (sys.argv[4:] + [build])[0], records, rate, folder)
    for line in wrong:
        print("not ok: " + line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
