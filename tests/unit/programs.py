# SPDX-License-Identifier: GPL-2.0-or-later
"""programs.py - each program over a trace, each in a folder of its own, and what is wrong with how it ended.

    for run in programs.over(trace, folder):
        for problem in run.problems(records):
            ...

A trace is the path of a segment, of a ring or of a directory.  No program draws.
"""
import collections
import functools
import http.client
import os
import re
import resource
import signal
import subprocess
import time

from sanitized import SANITIZED

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP, REPORT, TOP, SHIP, SNAPSHOT, EXPORTER, LOAD, ATTACH = (
    os.path.join(TOOLS, "sqtrace-" + name)
    for name in ("dump", "report", "top", "ship", "snapshot", "exporter", "load", "attach"))

# What a run may take: seconds of processor time, and more for each record; MiB of memory.  Sanitizers, which are slow, look for
# errors: there only the whole time of a run is bounded, and LIMIT stops it.
SECONDS, SECONDS_OF_RECORD, MEBIBYTES, LIMIT = 2, 5e-6, 256, 60
FORMATS = "tsv", "table", "json", "chrome", "ctf", "otlp", "parquet"
FOUND = re.compile("ERROR: |runtime error: |WARNING: ThreadSanitizer|out of memory")


class Run(collections.namedtuple("Run", "name status said seconds elapsed mebibytes allowed")):
    """A program that has ended.  status: as subprocess has it; allowed: which of them the manual names for that."""

    def problems(self, records):
        if self.status not in self.allowed:
            yield "%s: %s: %s" % (self.name, "signal %d" % -self.status if self.status < 0 else
                                  "status %d" % self.status, self.said[-600:])
        elif FOUND.search(self.said):
            yield "%s: %s" % (self.name, self.said[-600:])
        if self.elapsed > LIMIT:
            yield "%s: %.0f s" % (self.name, self.elapsed)
        if not SANITIZED and self.seconds > SECONDS + SECONDS_OF_RECORD * records:
            yield "%s: %.2f s of processor time for %d records" % (self.name, self.seconds, records)
        if not SANITIZED and self.mebibytes > MEBIBYTES:
            yield "%s: %.0f MiB" % (self.name, self.mebibytes)


@functools.lru_cache(None)
def environment(folder):
    """With a gnuplot that only says its version: no figure has a script."""
    path = os.path.join(folder, "gnuplot")
    with open(path, "w", encoding="ascii") as script:
        script.write("#!/bin/sh\n[ \"$1\" = --version ]\n")
    os.chmod(path, 0o755)
    # strstr() is called on whole pages, whose ends the sanitizer would look for each time.
    return {**os.environ, "PATH": folder + ":" + os.environ["PATH"],
            "ASAN_OPTIONS": "intercept_strstr=0:" + os.environ.get("ASAN_OPTIONS", "")}


class Started:
    """A program that runs.  Its standard output goes to a file, which nobody reads, and its standard error is kept."""

    def __init__(self, folder, name, *command, allowed=(0, 1)):
        self.name, self.allowed, self.begin = name, allowed, time.monotonic()
        self.err = os.path.join(folder, "said")
        with open(os.path.join(folder, "out"), "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=environment(folder), preexec_fn=bounded)

    def said(self):
        """So far.  The file is opened again: the position of the program's own descriptor is for its next line."""
        with open(self.err, encoding="utf-8", errors="replace") as file:
            return file.read()

    def runs(self):
        """Does not reap it: ended() asks what it used."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def ended(self):
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Run(self.name, self.process.returncode, self.said(), used.ru_utime + used.ru_stime,
                   time.monotonic() - self.begin, used.ru_maxrss / 1024, self.allowed)


def bounded():
    """Signals end what would never end by itself, busy or not."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 1))
    signal.alarm(3 * LIMIT)


def run(folder, name, *command, **more):
    return Started(folder, name, *command, **more).ended()


# ---- each program ----

def a_file(trace):
    if not os.path.isdir(trace):
        return trace
    return os.path.join(trace, min(os.listdir(trace))) if os.listdir(trace) else os.devnull


def dump(trace, folder, *options):
    return run(folder, "dump " + " ".join(options), DUMP, "--quiet", *options, trace)


def dump_formats(trace, folder):
    for kind in FORMATS:
        to = ["--output=" + os.path.join(folder, kind)] if kind in ("ctf", "parquet") else []
        yield run(folder, "dump --format=" + kind, DUMP, "--format=" + kind, *to, trace)


def dump_tables(trace, folder):
    for table in ("findings", "events", "losses", "loop_time", "whatif", "whatif_minutes"):
        yield dump(trace, folder, "--table=" + table)
    yield dump(trace, folder, "--whatif=cache_mem=1GB,2TB")


def dump_made(trace, folder):
    """What is made of rows: groups beside each other, a picture, an alarm."""
    yield dump(trace, folder, "--group-by=class,outcome", "--wide")
    yield dump(trace, folder, "--figure=load", "--plot=" + os.path.join(folder, "load.gp"))
    yield run(folder, "dump --nagios", DUMP, "--nagios", "--fail-if=p99(total_ns) > 1s", "--warn-if=max(total_ns) > 1h", trace,
              allowed=(0, 1, 2, 3))


def logs(trace, folder):
    """A file of it as an access.log, without a trace and beside it."""
    file = a_file(trace)
    log = "--access-log=" + file
    for options in (["--table=requests"], ["--table=whatif"], ["--format=json", "--log-format=combined"]):
        yield run(folder, "dump --access-log " + " ".join(options), DUMP, "--quiet", log, *options)
    yield run(folder, "dump TRACE --access-log", DUMP, "--quiet", log, "--columns=total_ns,url", trace)
    if file != os.devnull:  # which is no squid.conf
        with open(file, "rb") as conf:
            wrong = b"\0" in conf.read()
        yield run(folder, "dump --squid-conf", DUMP, "--quiet", "--table=whatif", "--squid-conf=" + file, trace,
                  allowed=(2,) if wrong else (0, 1, 2))
    yield run(folder, "dump --from=strace", DUMP, "--quiet", "--table=syscalls", "--from=strace", file)


def load(trace, folder):
    """A file of it as a list of URLs and as an access.log.  Nobody listens at the proxy's port."""
    file = a_file(trace)
    for options in (["--urls=" + file], ["--workload=log", "--log=" + file]):
        yield run(folder, "load " + options[0].split("=")[0], LOAD, "--proxy=127.0.0.1:1", "--clients=1", "--requests=2",
                  "--duration=1s", "--quiet", *options)


def attach(trace, folder):
    """A file of it as a program.  Not every machine can build sqtrace-attach."""
    if os.access(ATTACH, os.X_OK):
        yield run(folder, "attach --check", ATTACH, "--check", a_file(trace))


def report(trace, folder):
    """With the page's templates, and no script for a figure."""
    data = os.path.join(folder, "data")
    os.makedirs(os.path.join(data, "plots"))
    os.symlink(os.path.join(SOURCE, "tools", "report"), os.path.join(data, "report"))
    with open(os.path.join(data, "plots", "none.gp"), "wb"):
        pass
    yield run(folder, "report", REPORT, "--data=" + data, "-o", os.path.join(folder, "report.html"), "--single-file", trace)


def top(trace, folder):
    yield run(folder, "top --once", TOP, "--once", trace)


def ship(trace, folder):
    """Twice, so that states are read; then what is there is merged."""
    out = "--to=" + os.path.join(folder, "shipped")
    for more in (["--make-folder"], []):
        yield run(folder, "ship", SHIP, "--least-size=1", out, *more, trace)
    if os.path.isdir(os.path.join(folder, "shipped")):
        yield run(folder, "ship --compact", SHIP, "--compact", "--least-age=0s", "--grace=0s", out)


def snapshot(trace, folder):
    """Of a directory: a segment alone is refused, which is status 1."""
    yield run(folder, "snapshot", SNAPSHOT, "--last=1h", "--to=" + os.path.join(folder, "snapshots"), trace)


def exporter(trace, folder, seconds=0.3):
    """Some turns: it follows the trace until it has answered, and ends by SIGTERM."""
    started = Started(folder, "exporter", EXPORTER, "--listen=127.0.0.1:0", trace, allowed=(0, 1))
    port, end = None, time.monotonic() + LIMIT
    while not port and started.runs() and time.monotonic() < end:
        port = re.search(r"serves http://[^ ]*:(\d+)/metrics", started.said())
        time.sleep(0.02)
    answer = b""
    if port:
        time.sleep(seconds)
        answer = scraped(int(port.group(1)))
        live = scraped(int(port.group(1)), "/live.json")
        answer = answer if live.startswith(b"{") else b"no rows for the page: " + live[:100]
    os.kill(started.process.pid, signal.SIGTERM if port else signal.SIGKILL)
    ended = started.ended()
    if ended.status == 0 and b"\nsqtrace_up " not in answer:
        ended = ended._replace(said="no metrics came, ERROR: %r\n" % answer[:200] + ended.said)
    yield ended


def scraped(port, path="/metrics"):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
        connection.request("GET", path)
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        return b"no answer: %r" % (error,)


DUMP_PROGRAMS = dump_formats, dump_tables, dump_made
OTHER_PROGRAMS = report, top, ship, snapshot, exporter
FILE_PROGRAMS = logs, load, attach
PROGRAMS = DUMP_PROGRAMS + OTHER_PROGRAMS + FILE_PROGRAMS


def over(trace, folder, programs=PROGRAMS):
    """Each program's runs, in turn.  The folder is empty, and nothing is in it that is not a run's."""
    for program in programs:
        yield from program(trace, folder)


def records_of(trace):
    """How many records a reader unpacks of it."""
    got = subprocess.run([DUMP, "--quiet", "--table=losses", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=False).stdout
    told = re.findall(rb"\brecords: (\d+)", got)
    return max(map(int, told), default=0)
