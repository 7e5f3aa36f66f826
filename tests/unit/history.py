#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""history.py - tests/bench/history.tsv is what tests/bench/history.py prints, and doc/performance.md has its picture."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
BENCH = os.path.join(SOURCE, "tests", "bench")
HISTORY = os.path.join(BENCH, "history.py")
done = 0


def check(good, text, more=""):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    if not good and more:
        print("# %s" % more)


def is_line(columns, line):
    """Whether it has a date, a commit and numbers above 0, or - for what was not measured."""
    cells = line.split("\t")
    return len(cells) == len(columns) and re.fullmatch(r"\d{4}-\d\d-\d\d", cells[0]) and re.fullmatch(r"[0-9a-z.]+", cells[1]) and \
        all(cell == "-" or float(cell) > 0 for cell in cells[2:])


def main():
    with open(os.path.join(BENCH, "history.tsv"), encoding="ascii") as file:
        header, *lines = file.read().splitlines()
    columns = header.split("\t")
    check(len(lines) > 1 and all(is_line(columns, line) for line in lines), "each line of the file is whole", lines)
    check([line.split("\t")[0] for line in lines] == sorted(line.split("\t")[0] for line in lines), "the latest comes last")
    with open(os.path.join(SOURCE, "doc", "performance.md"), encoding="utf-8") as file:
        check("](history.png)" in file.read() and os.path.exists(os.path.join(SOURCE, "doc", "history.png")), "the picture is there")
    if shutil.which("valgrind"):
        out = subprocess.run([HISTORY, TOOLS, "--header", "--records=200000", "--commit=now", "--off=300", "--on=2500"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        mine = out.stdout.splitlines()
        check(out.returncode == 0 and mine[:1] == [header] and len(mine) == 2 and is_line(columns, mine[1]) and
              mine[1].endswith("\t300\t2500"), "the program prints such a line", out.stdout + out.stderr)
    if shutil.which("gnuplot"):
        with tempfile.TemporaryDirectory() as folder:
            to = os.path.join(folder, "history.png")
            out = subprocess.run([HISTORY, "--draw=" + to], stderr=subprocess.PIPE, text=True, check=False)
            check(out.returncode == 0 and os.path.getsize(to) > 5000, "and draws the picture", out.stderr)
    print("1..%d" % done)


main()
