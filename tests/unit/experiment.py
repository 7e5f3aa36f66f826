#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-experiment: its statistics against Python's, and what it says of a wrong command line.

SQT_SOURCE: sqtrace's source tree.
"""

import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.environ["SQT_SOURCE"]
PROGRAM = os.path.join(SOURCE, "tools", "sqtrace-experiment")
STATISTICS = os.path.join(SOURCE, "tools", "experiment", "frame", "statistics.awk")
COLUMNS = os.path.join(SOURCE, "tools", "experiment", "frame", "columns.awk")
results = []


def check(good, name, why=""):
    results.append(good)
    print("%s %d - %s" % ("ok" if good else "not ok", len(results), name))
    if not good:
        print("# " + str(why)[:300].replace("\n", "\n# "))


def awk(expression, values=()):
    """The value of an awk expression in which v is the list, n its length."""
    program = "BEGIN { n = split(text, v, \" \"); %s }" % expression
    return subprocess.run(["awk", "-v", "text=" + " ".join(map(repr, values)), open(STATISTICS).read() + program], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()


def near(got, wanted, tolerance=1e-6):
    return abs(float(got) - wanted) <= tolerance * max(1, abs(wanted))


def test_statistics():
    draw = random.Random(6)
    for n in (2, 3, 10, 31):
        values = [draw.lognormvariate(1, 2) for _ in range(n)]
        mean, deviation = statistics.mean(values), statistics.stdev(values)
        got = awk('printf "%.12g %.12g", mean_of(v, n), deviation_of(v, n)', values).split()
        check(near(got[0], mean) and near(got[1], deviation), "mean and deviation of %d values" % n, got)
        shown = awk("print with_cv(v, n)", values)
        check(near(shown.split()[0], mean, 0.01) and near(shown.split("(")[1][:-1], 100 * deviation / mean, 0.01),
              "mean (cv) of %d values" % n, shown)
    # Student's t, from published tables: percent on both sides, degrees of freedom.
    for percent, freedom, t in ((95, 1, 12.7062), (95, 2, 4.30265), (95, 9, 2.26216), (99, 1, 63.6567),
                                (99, 19, 2.86093), (99, 4, 4.60409), (95, 100, 1.98397)):
        got = awk('printf "%%.12g", student(%d, %d)' % (percent, freedom))
        check(near(got, t, 1e-5), "Student's t, %d %%, %d degrees of freedom" % (percent, freedom), got)
    covered = 0
    trials = [[draw.gauss(3, 2) for _ in range(4)] for _ in range(400)]
    text = ["%s %s" % tuple(awk('printf "%.9g %.9g", mean_of(v, n), interval_of(v, n, 95)', trial).split())
            for trial in trials]
    for line in text:
        mean, half = map(float, line.split())
        covered += abs(mean - 3) <= half
    check(365 <= covered <= 395, "a 95 %% interval holds the truth in %d of 400 trials" % covered)
    check(awk("print with_cv(v, n)") == "-", "no value is -")
    check(awk("print with_cv(v, n)", [2.5]) == "2.50 (-)", "one value has no variation")


def test_paired():
    """Ratios within rounds, computed anew."""
    draw = random.Random(7)
    runs = {(name, r): draw.uniform(90, 110) * (2 if name == "twice" else 1) * (r + 1)
            for r in range(8) for name in ("base", "same", "twice")}
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("configuration\tround\tmetric\tvalue\n")
        for (name, r), value in runs.items():
            file.write("%s\t%d\tspeed\t%.9f\n" % (name, r, value))
        file.flush()
        text = subprocess.run(["awk", "-F", "\t", "-v", "metric=speed", "-v", "words=speed", "-v", "names=same twice",
                               "-v", "base=base", "-v", "percent=99", "-f", STATISTICS, "-f",
                               os.path.join(os.path.dirname(STATISTICS), "paired.awk"), file.name], check=True,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout
    for name, verdict in (("same", "no difference"), ("twice", "more")):
        logs = [math.log(runs[name, r] / runs["base", r]) for r in range(8)]
        mean, half = statistics.mean(logs), 3.49948 * statistics.stdev(logs) / 8 ** 0.5
        line = [line for line in text.split("\n") if line.startswith(name)][0]
        wanted = "%.4f  %.4f .. %.4f  %s" % (math.exp(mean), math.exp(mean - half), math.exp(mean + half), verdict)
        check(line.endswith(wanted), "paired ratio of " + name, (line, wanted))


def test_diskop():
    """Operations of one run, in and beside the phases."""
    load = [("phase", "class", "mean_ms", "begin_s", "duration_s"), ("fill", "all", "9", "0", "10"),
            ("top1", "all", "9", "10", "10"), ("top1", "hit", "7.5", "10", "10"), ("idle", "all", "9", "20", "1"),
            ("idle", "hit", "-", "20", "1")]
    stages = ("enqueued_ns", "dequeued_ns", "io_ns", "copy_ns", "complete_ns", "finished_ns")
    ops = [("time_s", "op", *stages, "total_ns", "result")]

    def operation(at, op, ns, result="complete"):
        ops.append((str(at), op, *map(str, ns), str(sum(n for n in ns if n != "-")), result))

    second = 10 ** 9
    operation(4, "read", (0, 0, second, 0, 0, 0))                              # before the phase
    operation(11.5, "read", (0, 0, 2 * second, 0, 0, 0))                       # reaches into it
    operation(14, "read", (2 * 10 ** 6, 10 ** 6, 4 * 10 ** 6, 0, 10 ** 6, 0))
    operation(15, "read", (0, 10 ** 6, 8 * 10 ** 6, 0, 0, 2 * 10 ** 6))
    operation(16, "close", ("-", "-", 10 ** 4, "-", "-", "-"))
    operation(17, "read", (0, 0, 0, 0, 0, 0), "cancelled")
    operation(18, "read", (0, 0, 0, 0, 0, 0), "unfinished")
    operation(20.75, "write", (0, second, 0, 0, 0, 0))                         # reaches out of the trace's last phase
    with tempfile.TemporaryDirectory() as folder:
        for name, comment, rows in (("load", "", load), ("diskops", "# start: 1970 (1000.000000000)\n", ops)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(comment + "".join("\t".join(row) + "\n" for row in rows))
        text = subprocess.run(["awk", "-F", "\t", "-v", "load_start=1000", "-v", "settle=2", "-f", COLUMNS, "-f",
                               os.path.join(SOURCE, "tools", "experiment", "diskop.awk"), "load", "diskops"], check=True,
                              cwd=folder, stdout=subprocess.PIPE, universal_newlines=True).stdout
    got = {key: float(value) for key, value in (line.split("\t") for line in text.split("\n") if line)}
    wanted = {"full_hit_ms": 7.5, "full_ops_s": 3 / 8, "full_in_flight": (1.5 + 0.008 + 0.011 + 0.00001) / 8,
              "full_read_queue_ms": 2, "full_read_io_ms": 6, "full_read_notice_ms": 0.5, "full_read_serve_ms": 1,
              "full_close_io_ms": 0.01, "idle_ops_s": 2, "idle_in_flight": 0.5, "idle_write_queue_ms": 1000,
              "idle_write_io_ms": 0, "idle_write_notice_ms": 0, "idle_write_serve_ms": 0, "lost": 1}
    check(got.keys() == wanted.keys() and all(near(got[key], wanted[key], 1e-5) for key in wanted),
          "diskop: stages, operations in flight and lost ones", sorted(set(got.items()) ^ set(wanted.items())))


def test_digests():
    """Separate costs that add up, and some that do not."""
    for lost, words in ((0, "agrees"), (50, "does not agree")):
        draw = random.Random(8)
        rounds = []
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("configuration\tround\tmetric\tvalue\n")
            for r in range(6):
                off, look, update, false = (draw.uniform(*between) for between in
                                            ((400, 500), (20, 30), (5, 9), (40, 50)))
                values = {"off": off, "no-updates": off + look, "no-lookups": off + update}
                values["no-false-hits"] = off + look + update + lost + draw.uniform(-3, 3)
                values["on"] = values["no-false-hits"] + false
                rounds.append(values)
                for name, value in values.items():
                    for metric in ("cpu_us", "p50_ms"):
                        file.write("%s\t%d\t%s\t%.9f\n" % (name, r, metric, value))
            file.flush()
            text = subprocess.run(["awk", "-F", "\t", "-v", "percent=99", "-f", STATISTICS, "-f",
                                   os.path.join(SOURCE, "tools", "experiment", "digests.awk"), file.name], check=True,
                                  stdout=subprocess.PIPE, universal_newlines=True).stdout
        lines = text.split("\n")
        for label, cost in (("look-ups alone", lambda v: v["no-updates"] - v["off"]),
                            ("updates alone", lambda v: v["no-lookups"] - v["off"]),
                            ("false hits alone", lambda v: v["on"] - v["no-false-hits"]),
                            ("the whole ", lambda v: v["on"] - v["off"]),
                            ("the whole less the sum",
                             lambda v: v["no-false-hits"] + v["off"] - v["no-updates"] - v["no-lookups"])):
            costs = [100 * cost(v) / v["off"] for v in rounds]
            mean, half = statistics.mean(costs), 4.03214 * statistics.stdev(costs) / 6 ** 0.5
            wanted = "%.4g    %.4g .. %.4g" % (mean, mean - half, mean + half)
            shown = [line for line in lines if line.startswith(label) and line.endswith(" " + wanted)]
            check(len(shown) == 2, "digests: " + label, (text, wanted))
        check(lines.count("The sum of the separate costs %s with the whole." % words) == 2,
              "digests: the sum of the separate costs %s with the whole" % words, text)


def says(status, text, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        got = subprocess.run([PROGRAM, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True, timeout=60)
        left = os.listdir(folder)
    check(got.returncode == status and text in got.stderr.split("\n")[0] and not left,
          "%s: %s" % (" ".join(arguments).replace(SOURCE, "") or "nothing", text), (got, left))


def test_bad_input():
    says(2, "which experiment? there is: ")
    says(2, "there is no experiment 'disk-legs'; --list names them", "disk-legs")
    says(2, "there is no experiment '../lib/say'", "../lib/say")
    says(2, "one experiment at a time: 'overhead'", "disk-arms", "overhead")
    says(2, "unknown option '--sevice'", "disk-arms", "--sevice=20")
    says(2, "--service needs a value: --service=...", "disk-arms", "--service")
    says(2, "--service: expected a value", "disk-arms", "--service=")
    says(2, "--service: 'slow': expected a number", "disk-arms", "--service=slow")
    says(2, "--scale: expected more than 0", "disk-arms", "--scale=0")
    says(2, "--rounds: '0': expected a number above 0", "disk-arms", "--rounds=0")
    says(2, "--clients: 'many': expected a number above 0", "disk-arms", "--clients=many")
    says(2, "--stores: 'coss': ufs, aufs, diskd and rock are possible", "disk-arms", "--stores=ufs,coss")
    says(2, "--only: 'hits': off, on, no-lookups, ", "digests", "--only=off,hits")
    says(2, "--rate is none of disk-arms's", "disk-arms", "--rate=3")
    says(2, "--ill: 'proxy-9': proxy-1.paris.example, ", "fleet", "--ill=proxy-9")
    says(2, "--engines: 'oracle': duckdb, clickhouse and spark are possible", "fleet", "--engines=duckdb,oracle")
    says(1, "/none/sqtrace-load is missing: run tools/demo, or say where it is with --tools=DIR", "disk-arms",
         "--tools=/none")
    says(1, "/none: no Squid here: run tools/demo, or say where it is with --squid=PREFIX", "disk-arms",
         "--tools=" + os.environ.get("SQT_TOOLS", "."), "--squid=/none")


def test_engines():
    """Engines that are programs, made here: what they are given, and what becomes of their answers."""
    with tempfile.TemporaryDirectory() as folder:
        def file(name, text, mode=0o644):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(text)
            os.chmod(path, mode)
            return path

        def ask(engine, *files):
            words = [sys.executable, "-B", os.path.join(SOURCE, "tools", "experiment", "engines.py"), engine, *files]
            return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                                  env=dict(os.environ, PATH=os.path.join(folder, "bin") + ":/usr/bin:/bin"))

        given = os.path.join(folder, "given")
        ddl, query = file("ddl", "-- what; it is\nCREATE VIEW a AS\nSELECT 1;\n\nCREATE VIEW b AS SELECT 2;\n"), file("query", "SELECT 3;\n")
        for engine, rows in (("duckdb", '[{"host":"a","n":1.5,"x":null},\n{"host":"b","n":2,"x":"y"}]'),
                             ("clickhouse", '{"host":"a","n":1.5,"x":null}\n{"host":"b","n":2,"x":"y"}')):
            file("bin/" + engine, "#!/bin/sh\ncat >>'%s'\ncase $* in *[Jj][Ss][Oo][Nn]*) printf '%%s\\n' '%s' ;; esac\n"
                 % (given, rows), 0o755)
            got = ask(engine, ddl, query)
            with open(given) as text:
                said = text.read()
            os.remove(given)
            check(got.stdout == "host\tn\tx\na\t1.5\t-\nb\t2\ty\n" and got.returncode == 0, engine + ": rows as TSV", got)
            check(said == "CREATE VIEW a AS\nSELECT 1;\nCREATE VIEW b AS SELECT 2;\nSELECT 3;\n", engine + ": its statements", said)
            check(ask(engine).stdout == "program %s/bin/%s\n" % (folder, engine), engine + ": which program it is")
        file("bin/duckdb", "#!/bin/sh\necho 'no such view' >&2\nexit 1\n", 0o755)
        got = ask("duckdb", ddl, query)
        check((got.returncode, got.stdout, got.stderr) == (1, "", "duckdb: no such view\n"), "what an engine refuses is told", got)
        got = ask("oracle")
        check(got.returncode == 1 and got.stderr.startswith("usage: "), "an engine that there is not", got)
        got = ask("spark")
        check(got.returncode == 0 or got.stderr.startswith("spark: ") and got.stderr.count("\n") == 1, "what is missing is a line", got)


def test_twin():
    """Where there is no unpatched Squid, overhead has sqtrace-build make one with the arguments of the patched one."""
    with tempfile.TemporaryDirectory() as folder:
        def program(path, text):
            path = os.path.join(folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)

        def overhead(*options):
            return subprocess.run([os.path.join(folder, "tools", "sqtrace-experiment"), "overhead", *options,
                                   "--squid=" + os.path.join(folder, "patched")], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True, timeout=60, cwd=folder,
                                  env=dict(os.environ, SQTRACE_CACHE=os.path.join(folder, "cache")))

        for name in ("lib", "experiment"):
            os.makedirs(os.path.join(folder, "tools"), exist_ok=True)
            os.symlink(os.path.join(SOURCE, "tools", name), os.path.join(folder, "tools", name))
        program("tools/sqtrace-experiment", open(PROGRAM).read())
        for name in ("sqtrace-load", "sqtrace-dump", "sqtrace-report"):
            program("cache/sqtrace/" + name, "#!/bin/sh\n")
        for name, version in (("patched", "7.7"), ("other", "6.13")):
            program(name + "/sbin/squid", "#!/bin/sh\necho 'Squid Cache: Version %s'\n" % version)
        got = overhead()
        check(got.returncode == 1 and "does not say how to build its twin" in got.stderr,
              "overhead without a twin, and with a Squid of unknown origin", got)
        program("patched/share/sqtrace/build-arguments", "--squid=7.7\n--small\n--\nCFLAGS=-O1 -g\n")
        said = os.path.join(folder, "words")
        program("tools/sqtrace-build", "#!/bin/sh\nprintf '%%s\\n' \"$@\" >'%s'\nexit 1\n" % said)
        got = overhead()
        with open(said) as file:
            words = file.read().split("\n")[:-1]
        check(got.returncode == 1 and "the unpatched Squid did not build" in got.stderr and
              words[:1] + words[2:] == ["--unpatched", "--squid=7.7", "--small", "--", "CFLAGS=-O1 -g"] and
              words[1].startswith("--prefix=/") and words[1].endswith("/unpatched"),
              "overhead builds the twin", (got, words))
        got = overhead("--unpatched=" + os.path.join(folder, "other"))
        check(got.returncode == 1 and "Squid 6.13 is no twin of 7.7" in got.stderr, "a twin of another version", got)


def test_help():
    text = subprocess.run([PROGRAM, "--help"], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
    page = open(os.path.join(SOURCE, "doc", "sqtrace-experiment.1")).read().replace("\\", "")
    options = [line.split()[0].split("=")[0] for line in text.split("\n") if line.startswith("  --")]
    missing = [option for option in options if option not in page]
    check(len(options) > 10 and not missing, "the manual page names every option of --help", missing)
    names = [line.split()[0] for line in subprocess.run([PROGRAM, "--list"], check=True, stdout=subprocess.PIPE,
                                                        universal_newlines=True).stdout.split("\n") if line]
    missing = [name for name in names if ".SS " + name not in page]
    check(names and not missing, "and every experiment of --list", missing)


test_statistics()
test_paired()
test_diskop()
test_digests()
test_bad_input()
test_engines()
test_twin()
test_help()
print("1..%d" % len(results))
sys.exit(not all(results))
