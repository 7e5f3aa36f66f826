#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""readme.py - the pipelines of README.md's first screen run as they are printed, over doc/sample in place of the trace
directory, and make what they say; the commands from a clone to a picture are at most six, and the last one works.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
SAMPLE = os.path.join(SOURCE, "doc", "sample")
done = 0


def check(good, text, more=""):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    if not good and more:
        print("# " + str(more).replace("\n", "\n# ")[:800])


def blocks(text):
    """Blocks of lines that are indented by four, with what stands before each."""
    for before, block in re.findall(r"([^\n]+)\n\n((?:    [^\n]*\n|\n(?=    ))+)", text):
        yield before, re.sub("^    ", "", block, flags=re.M)


def run(script, folder):
    env = dict(os.environ, PATH=TOOLS + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", HOME=folder)
    return subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def starts_with(path, start):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(start)) == start


def requests_by_class():
    out = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--no-comments", "--no-header", "--format=tsv",
                          "--columns=class,total_ns", SAMPLE], stdout=subprocess.PIPE, check=True, text=True).stdout
    times = {}
    for name, total in (line.split("\t") for line in out.splitlines()):
        if total != "-":
            times.setdefault(name, []).append(int(total))
    return times


def check_awk(out):
    """What awk printed is what Python counts."""
    printed = {words[0]: words[1:] for words in (line.split() for line in out.splitlines()) if len(words) == 4}
    wanted = requests_by_class()
    check(set(printed) == set(wanted) and all(int(printed[c][0]) == len(wanted[c]) and
          abs(float(printed[c][1]) - sum(wanted[c]) / len(wanted[c]) / 1e6) < 0.01 + sum(wanted[c]) / len(wanted[c]) / 1e6 * 1e-4
          for c in wanted), "awk counts the classes of requests", out)


def check_wide(path):
    """Each second has a row, and the classes add up."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line[0] != "#"]
    seconds = [float(row[0]) for row in rows[1:]]
    check(seconds == [seconds[0] + i for i in range(len(seconds))], "each second has a row", seconds[:9])
    sums = {name: sum(int(row[i]) for row in rows[1:]) for i, name in enumerate(rows[0]) if i}
    out = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--no-comments", "--no-header", "--format=tsv",
                          "--group-by=class", "--columns=class,count", SAMPLE], stdout=subprocess.PIPE, check=True, text=True)
    counted = dict(line.split("\t") for line in out.stdout.splitlines())
    check(sums == {name: int(count) for name, count in counted.items()}, "and the counts of the columns add up", sums)


def main():
    if not shutil.which("gnuplot"):
        print("1..0 # SKIP gnuplot is not installed")
        return
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = list(blocks(text))
    pipelines, commands = found[0][1], found[1][1]
    with tempfile.TemporaryDirectory() as folder:
        out = run(pipelines.replace("trace=/var/spool/squid/trace", "trace=" + SAMPLE), folder)
        check(out.returncode == 0 and not re.sub("^sqtrace-dump: .*\n", "", out.stderr, flags=re.M), "they run as printed", out)
        check_awk(out.stdout)
        check_wide(os.path.join(folder, "classes.tsv"))
        check(starts_with(os.path.join(folder, "classes.pdf"), b"%PDF"), "a picture of the classes")
        check(starts_with(os.path.join(folder, "response-time.png"), b"\x89PNG"), "a picture of a figure")
        check(pipelines.count("sqtrace-dump") == 3, "there are three of them")
        listed = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--list"], stdout=subprocess.PIPE, check=True, text=True)
        figures = len(re.findall("^figure ", listed.stdout, re.M))
        check("one of %d figures" % figures in pipelines, "there are %d figures" % figures)
        lines = commands.splitlines()
        check(len(lines) <= 6 and "six commands" in found[1][0] + text[:3000], "six commands to one's own picture", commands)
        out = run(lines[-1].replace("$HOME/squid/trace", SAMPLE), folder)
        check(out.returncode == 0 and starts_with(os.path.join(folder, "mine.png"), b"\x89PNG"), "the last one draws it", out)
    print("1..%d" % done)


main()
