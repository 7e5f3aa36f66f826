# SPDX-License-Identifier: GPL-2.0-or-later
"""torture_cases.py - what torture.py tortures: libsqtrace in a process that traces, and each program.

The unit tests themselves are not run: they assert success. libsqtrace has a program of its own (tests/torture), because
Squid is its only program. The reader's code is reached through the programs that end when it has no memory.
"""
import gzip
import http.client
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from shipped import SAMPLE, grow, growth, ship
from squid_like import program
from tortured import NO_MEMORY, TOOLS, Case, end, start

LOCK = threading.Lock()

DUMP = os.path.join(TOOLS, "sqtrace-dump")


class Library(Case):
    """libsqtrace: what it took is in the trace, once, and what it could not do it said."""

    def go(self, words, where, out, at, lasting):
        ringdir = os.path.join("/dev/shm", "sqtrace-torture-%d-%s" % (os.getpid(), os.path.basename(where)))
        shutil.rmtree(ringdir, ignore_errors=True)
        os.mkdir(ringdir, 0o700)
        run = end(*start([os.path.join(TOOLS, words[0]), out, ringdir], where, at, lasting, armed=False), out)
        run.rings = os.listdir(ringdir)
        got = subprocess.run([DUMP, "--table=events", "--format=tsv", "--columns=event,id", "--where=event == CLIENT_READ", "--no-header", "--no-comments", "--quiet",
                              "--strict", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        run.read = got.returncode, sorted(got.stdout.decode(errors="replace").splitlines())
        shutil.rmtree(ringdir)
        return run

    def same(self, run, whole):
        lines = run.out.decode().splitlines()
        taken = []
        for line in lines:
            if line.startswith("emitted"):
                taken += ["CLIENT_READ\t%d" % number for number in range(*map(int, line.split()[1:]))]
        wrong = []
        if run.read[0] != 0 or run.read[1] != sorted(taken):
            wrong.append("status %d, %d records are in the trace and not %d: %s" % (
                run.read[0], len(run.read[1]), len(taken), sorted(set(run.read[1]) ^ set(taken))[:5]))
        said = [line for line in lines if line.startswith("said 0 ")]
        off = "said 9 off" in lines
        attempts = 1 + ("emitted 2000 2000" in lines)  # the reconfiguration tries again
        if off and len(said) != attempts:
            wrong.append("tracing is off, and %d lines and not %d say why" % (len(said), attempts))
        if any(not NO_MEMORY.search(line) for line in said):
            wrong.append("a WARNING is not about memory")
        if run.err:
            wrong.append("something is on the standard error")
        left = [name for name in run.left if not name.endswith(".sqt") and name != "sqtrace.key"] + run.rings
        return wrong + (["it left %s" % left] if left else []) + (["\n".join(lines)] if wrong or left else [])


class Hidden(Case):
    """A program that makes what it makes in a folder whose name begins with a dot."""

    def finals(self, left):
        return {name: data for name, data in left.items() if "/.sqtrace-" not in name}


class Ship(Hidden):
    """sqtrace-ship: each file that is there is whole, and the next run makes what is missing."""

    def go(self, words, where, out, at, lasting):
        run = super().go(words, where, out, at, lasting)
        if run.status == 1:
            run.after = self.finals(super().go(words, where, out, 0, False).left)
        return run

    def gave_up(self, run, whole):
        finals = self.finals(whole.left)
        wrong = [] if run.after == finals else ["the next run does not make the rest"]
        run.left = {name: data for name, data in self.finals(run.left).items() if data != finals.get(name)}
        return wrong + super().gave_up(run, whole)


class Load(Case):
    """sqtrace-load: all requests are answered, or one of its two processes says that there is no memory."""

    processes = 2

    def same(self, run, whole):
        lines = [line.split("\t") for line in run.out.decode().splitlines() if not line.startswith("#")]
        good = b"# valid: yes" in run.out and len(lines) > 1 and dict(zip(*lines[:2])).get("responses") == "6"
        return [] if good else ["not six responses: %s" % run.out.decode()[-1500:]]


class Exporter(Case):
    """sqtrace-exporter: a scrape gets all or is refused, and the next one gets all."""

    def go(self, words, where, out, at, lasting):
        failing, process = start([os.path.join(TOOLS, words[0]), *words[1:]], where, at, lasting, stderr=open(os.path.join(where, "said"), "wb+"))
        answers = []
        port = self.port(process, os.path.join(where, "said"))
        for _ in range(2 if port else 0):
            answers.append(self.scrape(port))
            # Some turns.
            time.sleep(0.15)
        process.terminate()
        run = end(failing, process, out)
        with open(os.path.join(where, "said"), encoding="utf-8", errors="replace") as file:
            run.err = re.sub(r":\d+/metrics", ":PORT/metrics", file.read().replace(where, "."))
        run.answers = answers
        return run

    @staticmethod
    def port(process, path):
        for _ in range(1500):
            with open(path, encoding="utf-8", errors="replace") as file:
                found = re.search(r"serves http://[^ ]*:(\d+)/metrics", file.read())
            if found or process.poll() is not None:
                return found and int(found.group(1))
            time.sleep(0.02)
        return None

    @staticmethod
    def scrape(port):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, sorted(line.rsplit(" ", 1)[0] for line in text.splitlines())
        except TimeoutError:
            return "no answer", []
        except (OSError, http.client.HTTPException):
            return "closed", []

    def same(self, run, whole):
        refused = [one for one in run.answers if one != whole.answers[0]]
        wrong = ["a scrape got %s and %d lines, not %d" % (one[0], len(one[1]), len(whole.answers[0][1])) for one in refused if one[0] not in ("closed", 500, 503)]
        if not run.answers or (refused and (not run.failed or (run.failed == 1 and len(refused) == 2))):
            wrong.append("answers: %s" % [one[0] for one in run.answers])
        more = [line for line in run.err.splitlines() if line not in whole.err.splitlines()]
        return wrong + ["it said " + line for line in more if not NO_MEMORY.search(line)]


PREPARED = tempfile.TemporaryDirectory()


def prepared(name, make):
    """A function that puts a copy of what make(folder) makes into a run's folder."""
    def put(out):
        folder = os.path.join(PREPARED.name, name)
        with LOCK:
            if not os.path.isdir(folder):
                os.mkdir(folder)
                make(folder)
        shutil.copytree(folder, out, dirs_exist_ok=True)
    return put


def ship_pieces(folder):
    """The sample's beginning, shipped in four pieces."""
    parts = [one for one in growth(SAMPLE) if one[0] == "kid-1.sqt"][:24]
    for i in range(4):
        grow(os.path.join(folder, "trace"), parts[6 * i:6 * i + 6])
        ship(os.path.join(folder, "trace"), os.path.join(folder, "shipped"), "--quiet", "--least-size=0", "--table=requests,ios")


def make_parquet(folder):
    subprocess.run([DUMP, "--format=parquet", "--quiet", "--table=requests,ios", "--until=1s", "--output=" + os.path.join(folder, "parquet"), SAMPLE], check=True)


def make_log(folder, lines=200):
    with open(os.path.join(folder, "access.log"), "w", encoding="ascii") as file:
        for i in range(lines):
            file.write("%d.%03d %6d 10.0.0.%d TCP_MISS/200 %d GET http://a%d.example.com/%d - HIER_DIRECT/127.0.1.1 text/html\n" % (
                1795842075 + i // 1000, i % 1000, 1 + i % 7, i % 9, 300 + i, i % 5, i % 50))


def make_packed_log(folder):
    make_log(folder, 20000)  # more than zlib hands out at once: it takes memory for a window
    with open(os.path.join(folder, "access.log"), "rb") as file, gzip.open(os.path.join(folder, "access.log.gz"), "wb") as packed:
        packed.write(file.read())
    os.unlink(os.path.join(folder, "access.log"))


CASES = [
    Library("libsqtrace", "tests/torture/torture_trace"),
    Case("dump requests", "sqtrace-dump", "{trace}"),
    Case("dump with two threads", "sqtrace-dump", "{trace}", "--figure=hit-stages", crew=True),
    Case("dump table", "sqtrace-dump", "{trace}", "--format=table", "--sort=-total_ns", "--where=total_ns > 1ms"),
    Case("dump group-by", "sqtrace-dump", "{trace}", "--group-by=class", "--of=total_ns"),
    Case("dump findings", "sqtrace-dump", "{trace}", "--table=findings"),
    Case("dump whatif", "sqtrace-dump", "{trace}", "--table=whatif"),
    Case("dump chrome", "sqtrace-dump", "{trace}", "--format=chrome"),
    Case("dump otlp", "sqtrace-dump", "{trace}", "--format=otlp"),
    Case("dump ctf", "sqtrace-dump", "{trace}", "--format=ctf", "--output={out}/ctf"),
    Case("dump parquet", "sqtrace-dump", "{trace}", "--format=parquet", "--output={out}/parquet"),
    Case("dump to a file", "sqtrace-dump", "{trace}", "--table=events", "--output={out}/events.tsv"),
    Ship("ship", "sqtrace-ship", "{trace}", "--to={out}/shipped", "--make-folder", "--least-size=0"),
    Case("report", "sqtrace-report", "{trace}", "--output={out}/report", "--data=" + os.path.join(os.environ.get("SQT_SOURCE", "."), "tools"), "--quiet", "--figures=hit-stages"),
    Case("top", "sqtrace-top", "{trace}", "--once"),
    Case("dump wide json", "sqtrace-dump", "{trace}", "--group-by=class,outcome", "--wide", "--format=json"),
    Case("dump plot", "sqtrace-dump", "{trace}", "--figure=load", "--plot={out}/load.gp"),
    Case("dump access.log whatif", "sqtrace-dump", "--access-log={out}/access.log", "--table=whatif", prepare=prepared("log", make_log)),
    Case("dump packed access.log", "sqtrace-dump", "--access-log={out}/access.log.gz", prepare=prepared("packed-log", make_packed_log)),
    Case("dump histogram", "sqtrace-dump", "{trace}", "--histogram=total_ns"),
    Case("dump alarm", "sqtrace-dump", "{trace}", "--fail-if=p99(total_ns) > 1h"),
    Case("dump ddl", "sqtrace-dump", "{out}/parquet", "--ddl=duckdb", "--output={out}/views.sql", prepare=prepared("parquet", make_parquet)),
    Ship("ship rollups", "sqtrace-ship", "{trace}", "--to={out}/shipped", "--make-folder", "--least-size=0", "--table=requests,rollups", "--raw=slowest:2"),
    Ship("ship --compact", "sqtrace-ship", "--to={out}/shipped", "--compact", "--least-age=0", "--grace=0s", prepare=prepared("pieces", ship_pieces)),
    Case("attach --check", "sqtrace-attach", "--check", "{out}/squid-like", prepare=prepared("squid-like", program)),
    Exporter("exporter", "sqtrace-exporter", "{trace}", "--listen=127.0.0.1:0"),
    Load("load", "sqtrace-load", "--clients=2", "--requests=3", "--objects=3", "--size=1KB", "--output=-", "--quiet"),
    Load("load with TLS", "sqtrace-load", "--clients=2", "--requests=3", "--objects=3", "--size=1KB", "--output=-", "--quiet", "--tls"),
    Hidden("snapshot", "sqtrace-snapshot", "{trace}", "--to={out}/snapshots", "--since=0"),
]
