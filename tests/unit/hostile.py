#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that are made to exhaust their reader: time and memory stay linear in the file, and a bound that is met is said.

SQT_HOSTILE_BYTES is the size of a file, without its texts.  With 1000000 it is the long form: three files of each kind,
each table alone and all in one pass, and what each file takes.  With names of kinds it is the long form of these alone.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from sanitized import SANITIZED, THREADS_CHECKED  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
SMALL = 20000  # where everything can be deflated, which makes millions of records of it
MAKE = os.path.join(TOOLS, "tests/unit/make_hostile")
DUMP = os.path.join(TOOLS, "sqtrace-dump")
FIGURES = os.path.join(TOOLS, "tests/bench/all-figures")
# Sanitizers, which are slow, look for errors: neither time nor memory is judged there.
BYTES = int(os.environ.get("SQT_HOSTILE_BYTES", SMALL // 5 if SANITIZED else SMALL))
LONG = BYTES >= 500000

SECONDS, RECORDS_PER_SECOND, MEBIBYTES = 2, 1000000, 256
with open(os.path.join(os.environ["SQT_SOURCE"], "src/row/tables.def")) as declared:
    TABLES = re.findall(r'^SQT_TABLE\(\w+, "(\w+)"', declared.read(), re.M)
JSON = {"--format=chrome": 4, "--format=otlp": 4, "--format=json": 4}  # how much slower it may be: it has longer lines
# The output that keeps most of what the kind is about.
ALONE = {"queries-of-one": "--format=otlp", "proxies": "--table=finding_minutes", "minutes": "--table=finding_minutes"}
LEAST = {"proxies": 1000000}  # bytes: a small file has few segments
PIPED = ("many", "proxies", "headers")  # segments one after the other, read from the standard input
NUMBER = 0


def check(problems, name):
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name), flush=True)
    for problem in problems[:8]:
        print("# %s" % (problem,))


def skip(name, why):
    global NUMBER
    NUMBER += 1
    print("ok %d - %s # SKIP %s" % (NUMBER, name, why))


def make(folder, kind, size, *variant):
    path = os.path.join(folder, kind)
    subprocess.run([MAKE, kind, "1", path], check=True)
    if size:
        subprocess.run([MAKE, kind, str(os.path.getsize(path) + size), path, *map(str, variant)], check=True)
    hour_ago = time.time() - 3600  # a file that is being written to is looked at again and again
    os.utime(path, (hour_ago, hour_ago))
    return path


def busy_seconds():
    """What all processors of the machine have worked."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, soft, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


class Run:
    """One run of a program over a file: its last lines, its records, and what it used.  to: its output, if nobody wants
    its last lines."""

    def __init__(self, path, *command, after=(), to=None):
        piped = os.path.basename(path) in PIPED
        before, begin = busy_seconds(), time.monotonic()
        with open(path if piped else os.devnull) as file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([*command, "/dev/stdin" if piped and command[0] == FIGURES else
                                        "-" if piped else path, *after], stdin=file if piped else None,
                                       stdout=to or out, stderr=err)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
            out.seek(max(out.tell() - 4096, 0))
            self.tail = out.read().decode("utf-8", "replace")
            err.seek(0)
            self.said = err.read().decode("utf-8", "replace")
        self.status, self.seconds = status, used.ru_utime + used.ru_stime
        # Other work takes the processors' caches: then these programs, which wait for memory, take up to twice as long, on
        # some machines four times.  What grows faster than the file takes ten times as long and more.  The long form is for a
        # machine that has no other work.
        others = busy_seconds() - before - self.seconds
        self.beside = 4 if not LONG and others > 0.25 * (time.monotonic() - begin) else 1
        self.mebibytes = used.ru_maxrss / 1024
        told = re.findall(r"\brecords: (\d+)|(\d+) records$", self.tail, re.M)
        self.records = max((int(a or b) for a, b in told), default=0)

    def problems(self, name, slower=1):
        most = self.beside * slower * max(SECONDS, self.records / RECORDS_PER_SECOND)
        if self.status:
            yield "%s: status %d: %s" % (name, self.status, self.said[-200:])
        if self.seconds > most and not SANITIZED:
            yield "%s: %.2f s for %d records" % (name, self.seconds, self.records)
        if self.mebibytes > MEBIBYTES and not SANITIZED:
            yield "%s: %.0f MiB" % (name, self.mebibytes)


def judged(path, name, *command, slower=1, **more):
    """A run, and what is wrong with it.  Other work in the processor's caches makes a run slow, so one that was too slow runs
    again, up to twice."""
    for _ in range(3):
        run = Run(path, *command, **more)
        problems = list(run.problems(name, slower))
        if not any(" s for " in problem for problem in problems):
            break
    return run, problems


def time_and_memory(folder, kinds):
    """All figures, which take every row, and one table or the JSON; the long form has each of these for each kind."""
    outputs = ["--table=" + table for table in TABLES] + list(JSON) * 2
    for i, kind in enumerate(kinds):
        path = make(folder, kind, BYTES if SANITIZED else max(BYTES, LEAST.get(kind, 0)))
        option = ALONE.get(kind, outputs[i % len(outputs)])
        problems = judged(path, option, DUMP, "--quiet", option, slower=JSON.get(option, 1))[1]
        if kind not in PIPED:
            problems += judged(path, "all figures", FIGURES)[1]
        check(problems, "%s: at least 1 million records/s or 2 s, under 256 MiB" % kind)
        os.unlink(path)


# Seed, and so many records that can be deflated.  In the first, a record takes a byte at least, so each table can have a
# run of its own.  Of the others most kinds have millions of records.
VARIANTS = (2, 0), (5, 4500000), (4, 25000000)


def told(name, run):
    rate = run.records / run.seconds / 1e6 if run.seconds else 0
    return "%s %.2f s, %.2f million records/s, %.0f MiB" % (name, run.seconds, rate, run.mebibytes)


def runs_of(path, alone):
    """(name, run, how much slower it may be) of a file."""
    yield "all tables", Run(path, FIGURES, after=TABLES), 1
    whole = Run(path, FIGURES)
    yield "all figures", whole, 1
    if not alone:
        return
    with open(os.devnull, "wb") as nothing:
        for name, slower in [("--table=" + table, 1) for table in TABLES] + list(JSON.items()):
            run = Run(path, DUMP, "--quiet", name, to=nothing)
            run.records = whole.records
            yield name, run, slower


def long_form(folder, kinds):
    worst, files = {}, 0
    for kind in kinds:
        for seed, dense in VARIANTS:
            path, problems, lines = make(folder, kind, BYTES, seed, dense), [], []
            for name, run, slower in runs_of(path, dense == 0):
                problems += run.problems(name, slower)
                lines.append((run.seconds / max(SECONDS, run.records / RECORDS_PER_SECOND) / slower, run.mebibytes, name, run))
            files += os.path.getsize(path) >= BYTES
            slowest, largest = max(lines, key=lambda l: l[0]), max(lines, key=lambda l: l[1])
            print("# %s %d: %d records; %s; %s" % (kind, seed, slowest[3].records, told("slowest: " + slowest[2], slowest[3]),
                                                 told("largest: " + largest[2], largest[3])), flush=True)
            for what, line, value in (("slowest", slowest, slowest[0]), ("largest", largest, largest[1])):
                if value >= worst.get(what, (0, ""))[0]:
                    worst[what] = value, "%s %d, %s" % (kind, seed, told(line[2], line[3]))
            check(problems, "%s, file %d: at least 1 million records/s or 2 s, under 256 MiB" % (kind, seed))
            os.unlink(path)
    for what, (_, line) in worst.items():
        print("# %s of all: %s" % (what, line))
    if not sys.argv[1:]:
        check([] if files >= 100 else ["%d" % files], "100 files of %d bytes" % BYTES)


# What is too much in each kind, and the words for it.
BOUNDS = (
    ("begins", "--table=requests", "transactions of kid 1 are open at .* the oldest are closed as lost"),
    ("with-clients", "--table=requests", "client connections of kid 1 are open at"),
    ("swaps", "--table=swaps", "swaps of kid 1 are open at"),
    ("blocks", "--table=swaps", "blocks of swaps of kid 1 are open at"),
    ("attempts", "--table=connections", "connection attempts of kid 1 are open at"),
    ("operations", "--table=diskops", "disk operations of kid 1 are open at"),
    ("digests", "--table=digests", "requests for digests of kid 1 are open at"),
    ("places", "--figure=disk-utilization", "are of more than 64 cache_dirs and stand together as `other`"),
    ("proxies", "--table=finding_minutes", "proxies have no findings by minute, because there is no room for so many"),
    ("minutes", "--table=finding_minutes", "requests are in no minute, because there are too many minutes"),
    ("calls", "--table=syscalls", "records of calls are left out, because there are too many threads"),
    ("calls", "--table=syscalls", "rows of threads that made no call are left out, because there are too many"),
)


def bounds_are_said(folder):
    for kind, option, words in BOUNDS:
        path = make(folder, kind, LEAST.get(kind, SMALL))
        with open(path) as file:
            process = subprocess.Popen([DUMP, "--quiet", option, "-" if kind in PIPED else path], stdin=file, stdout=subprocess.PIPE)
            comments = [line.decode() for line in process.stdout if line.startswith(b"# ")]
        said = process.wait() == 0 and [line for line in comments if re.match("# bound: .*" + words, line)]
        check([] if said else comments, "%s: a line says that a bound was met: %s" % (kind, words))


def a_crowd(folder):
    out = subprocess.run([DUMP, "--quiet", make(folder, "crowd", 0)], stdout=subprocess.PIPE, check=True).stdout
    lines = out.decode().split("\n")
    outcomes = [line.rsplit("\t", 4) for line in lines if line and not line.startswith("#")]
    column = lines[[l.startswith("#") for l in lines].index(False)].split("\t").index("outcome")
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            outcome = line.split("\t")[column]
            found[outcome] = found.get(outcome, 0) + 1
    wrong = [found] if found.get("lost") or found.get("complete", 0) < 100000 else []
    check(wrong + [l for l in lines if l.startswith("# bound")],
          "of 100,000 requests that are open at once none is lost to a bound")


def a_crowd_and_its_log(folder):
    """As many log files as may be open, with lines of the greatest length, beside as many open requests as there may be."""
    logs = os.path.join(folder, "logs")
    os.mkdir(logs)
    for number in range(64):
        with gzip.open(os.path.join(logs, "access.log.%d.gz" % number), "wb", 1) as log:
            for at in range(1, 10):
                log.write(b"170000000%d.000 100 10.0.0.1 TCP_MISS/200 1000 GET http://h/%s - HIER_DIRECT/1.1.1.1 text/html %d 0\n"
                          % (at, b"x" * 250000, 1000000 + 10 * number + at))
    run, problems = judged(make(folder, "crowd", 0), "requests and log", DUMP, "--table=requests", "--access-log=" + logs)
    if "lines that wait for their requests take more than 32 MiB" not in run.said:
        problems.append((run.tail[-300:], run.said))
    check(problems, "a crowd and 64 compressed logs beside it: under 256 MiB")
    shutil.rmtree(logs)


def a_long_text(folder):
    """What is kept or copied for each row is no longer than a cell shows."""
    path = make(folder, "long-text", SMALL)
    for options in ["--table=requests", "--sort=-total_ns", "--limit=10000"], ["--format=parquet", "--output=" + os.path.join(folder, "rows")]:
        check(judged(path, " ".join(options), DUMP, "--quiet", *options)[1], "long-text: %s: at least 1 million records/s or 2 s, under 256 MiB" % options[-1].split("=")[0])


def a_file_that_is_kept_new(folder):
    """Somebody touches a damaged file all the time: it is not read again at each of its 400,000 places."""
    path, done = make(folder, "crumbs", 400 * SMALL), threading.Event()

    def touch():
        while not done.wait(0.2):
            os.utime(path)

    toucher = threading.Thread(target=touch)
    os.utime(path)
    toucher.start()
    problems = judged(path, "a new file", DUMP, "--quiet", "--table=events")[1]
    done.set()
    toucher.join()
    check(problems, "a damaged file that somebody touches all the time: 2 s")


def a_folder_of_others(folder):
    """Names in the folder of a trace that are none of a trace take no memory: 120,000 of 248 letters."""
    crowded = os.path.join(folder, "crowded")
    os.mkdir(crowded)
    for number in range(120000):
        os.close(os.open(os.path.join(crowded, "%0248d" % number), os.O_CREAT | os.O_WRONLY))
    sample = os.path.join(os.environ["SQT_SOURCE"], "doc/sample")
    for name in os.listdir(sample):
        shutil.copy(os.path.join(sample, name), crowded)
    before, run = (Run(path, DUMP, "--table=events") for path in (sample, crowded))
    problems = ["status %d: %s" % (run.status, run.said)] if run.status else []
    if run.mebibytes > before.mebibytes + 4 and not SANITIZED:
        problems.append("%.0f MiB; the trace alone takes %.0f" % (run.mebibytes, before.mebibytes))
    check(problems, "120,000 other names in the folder of a trace take no memory")
    shutil.rmtree(crowded)


def instructions(path, *command):
    out = path + ".callgrind"
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out, *command, path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out) as file:
        total = [line for line in file if line.startswith(("totals:", "summary:"))][-1]
    os.unlink(out)
    return int(total.split()[1])


# Most of what looks like a frame of 0.5 MB reaches past the end of a small file, and is then cheap.
TWICE = {"magics": 3000000}


def twice_the_file(folder, kinds):
    """The instructions of what stands behind the texts: twice as much takes at most 2.2 times as many."""
    for kind in kinds:
        name = "%s: twice the file takes at most 2.2 times the instructions" % kind
        if subprocess.run(["which", "valgrind"], stdout=subprocess.DEVNULL).returncode:
            skip(name, "there is no valgrind")
            continue
        size = 1500 if os.path.getsize(make(folder, kind, 0)) > 10000 else TWICE.get(kind, 600000)
        for _ in range(3):  # where an id belongs is random, and so are some of the instructions
            least, once, twice = (instructions(make(folder, kind, factor * size), DUMP, "--quiet") for factor in range(3))
            once, twice = once - least, twice - least
            if twice <= 2.2 * once + 1000000:
                break
        check([] if twice <= 2.2 * once + 1000000 else ["%d, then %d" % (once, twice)], name)


def harmful_text(folder):
    """A name with every kind of control character: none of them comes out."""
    path = make(folder, "texts", 0)
    harmful = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
    for options in (["--table=requests"], ["--table=events"], ["--format=chrome"], ["--table=swaps"]):
        run = subprocess.run([DUMP, *options, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        wrong = harmful.findall(run.stdout)
        try:
            text = run.stdout.decode()
        except UnicodeDecodeError as error:
            wrong, text = [error], ""
        if options[0] != "--table=swaps" and "x9b" not in text:
            wrong = ["the escape is not there", text[-300:]]
        check(wrong, "no control character comes out: %s" % " ".join(options))
    rows = subprocess.run([DUMP, "--columns=method,tag", "--no-comments", "--no-header", path], stdout=subprocess.PIPE,
                          check=True).stdout
    check([] if rows.startswith(b"\\x23G") else [rows], "a row is no comment, though its method begins with #")


def main():
    kinds = subprocess.run([MAKE], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:]:
            long_form(folder, sys.argv[1:])
            return
        harmful_text(folder)
        if not THREADS_CHECKED: # which makes all of it too slow, and it is not about threads
            a_crowd(folder)
            a_crowd_and_its_log(folder)
            a_folder_of_others(folder)
            a_long_text(folder)
            a_file_that_is_kept_new(folder)
            bounds_are_said(folder)
            (long_form if LONG else time_and_memory)(folder, kinds)
        if not SANITIZED:
            twice_the_file(folder, [kind for kind in kinds if kind not in PIPED] if LONG else
                           ["one-id", "losses", "blocks-backwards", "magics-between", "collisions"])
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
