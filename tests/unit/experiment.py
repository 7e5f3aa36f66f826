#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-experiment: its statistics against Python's, and what it says of a wrong command line.

SQT_SOURCE: sqtrace's source tree.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile

SOURCE = os.environ["SQT_SOURCE"]
PROGRAM = os.path.join(SOURCE, "tools", "sqtrace-experiment")
STATISTICS = os.path.join(SOURCE, "tools", "experiment", "frame", "statistics.awk")
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
                               "-v", "base=base", "-v", "percent=95", "-f", STATISTICS, "-f",
                               os.path.join(os.path.dirname(STATISTICS), "paired.awk"), file.name], check=True,
                              stdout=subprocess.PIPE, universal_newlines=True).stdout
    for name, verdict in (("same", "no difference"), ("twice", "more")):
        ratios = [runs[name, r] / runs["base", r] for r in range(8)]
        half = 2.36462 * statistics.stdev(ratios) / 8 ** 0.5
        line = [line for line in text.split("\n") if line.startswith(name)][0]
        wanted = "%.4f  %.4f .. %.4f  %s" % (statistics.mean(ratios), statistics.mean(ratios) - half,
                                            statistics.mean(ratios) + half, verdict)
        check(line.endswith(wanted), "paired ratio of " + name, (line, wanted))


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
    says(2, "--service: a value is wanted", "disk-arms", "--service=")
    says(2, "--service: 'slow': a number is wanted", "disk-arms", "--service=slow")
    says(2, "--scale: more than 0 is wanted", "disk-arms", "--scale=0")
    says(2, "--rounds: '0': a number above 0 is wanted", "disk-arms", "--rounds=0")
    says(2, "--clients: 'many': a number above 0 is wanted", "disk-arms", "--clients=many")
    says(2, "--stores: 'coss': ufs, aufs, diskd and rock are possible", "disk-arms", "--stores=ufs,coss")
    says(2, "--rate is none of disk-arms's", "disk-arms", "--rate=3")
    says(1, "/none/sqtrace-load is missing: run tools/demo, or say where it is with --tools=DIR", "disk-arms",
         "--tools=/none")
    says(1, "/none: no Squid here: run tools/demo, or say where it is with --squid=PREFIX", "disk-arms",
         "--tools=" + os.environ.get("SQT_TOOLS", "."), "--squid=/none")


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
test_bad_input()
test_help()
print("1..%d" % len(results))
sys.exit(not all(results))
