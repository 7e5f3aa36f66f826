#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""corpus_programs.py - each program over inputs that fuzzing found, as processes, with whatever sqtrace is built with.

The inputs of tests/fuzz/corpus become directories of a trace.  SQT_FULL=1 takes all of them; else a tenth: those that stand in
the corpus for another program than sqtrace-dump, since nothing else reaches as much of it; then those with names, which were
faults; then others.  Of the forms of sqtrace-dump, and of what reads other files than traces, each input of that tenth has a
third: libFuzzer takes sqtrace-dump through the whole corpus.
"""
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
import programs  # noqa: E402
from told import check, plan  # noqa: E402

CORPUS = os.path.join(programs.SOURCE, "tests", "fuzz", "corpus")
FULL = os.environ.get("SQT_FULL")
BEGINS = re.compile(rb"SQTRACE\x1a|SQTRING\x1a")  # of a segment and of a ring
WORDS = {b"+report", b"+top", b"+ship", b"+snapshot", b"+exporter", b"+log"}


def read(name):
    with open(os.path.join(CORPUS, name), "rb") as file:
        return file.read()


def rank(name):
    """Its place in the order in which inputs are taken."""
    if WORDS & set(read(name).split(b"\n", 1)[0].split(b"\t")):
        return 0, name
    return (2 if re.fullmatch("[0-9a-f]*", name) else 1), name


def write_trace(data, folder):
    """A file for each segment and ring."""
    begins = [match.start() for match in BEGINS.finditer(data)]
    os.mkdir(folder)
    for i, (begin, end) in enumerate(zip([0, *begins], [*begins, len(data)])):
        if begin == end:
            continue
        kind = "sqt" if data.startswith(b"SQTRACE", begin) else "ring"
        with open(os.path.join(folder, "%d.%s" % (i, kind)), "wb") as file:
            file.write(data[begin:end])


def chosen_programs(name, number):
    """Those that an input goes through."""
    if FULL:
        return programs.PROGRAMS
    of_files = programs.FILE_PROGRAMS[number % 3:][:1] if b"+log" not in read(name) else programs.FILE_PROGRAMS
    return programs.OTHER_PROGRAMS + programs.DUMP_PROGRAMS[number % 3:][:1] + of_files


def tried(name, number):
    """(runs, problems) of one input."""
    problems, runs = [], 0
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        trace, place = os.path.join(folder, "trace"), os.path.join(folder, "place")
        write_trace(read(name).split(b"\n", 1)[1], trace)
        os.mkdir(place)
        records = programs.records_of(trace)
        for run in programs.over(trace, place, chosen_programs(name, number)):
            runs += 1
            problems += run.problems(records)
    return runs, ["%s: %s" % (name, line) for problem in problems for line in problem.splitlines()]


def good():
    """Of a trace that is whole, each program makes what it is there for."""
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        ended = list(programs.over(os.path.join(programs.SOURCE, "tests", "golden", "kids"), folder,
                                   programs.DUMP_PROGRAMS + programs.OTHER_PROGRAMS))
        made = [os.path.join(folder, name) for name in ("report.html", "shipped", "snapshots", "ctf", "parquet", "load.gp")]
        lacks = [path for path in made if not os.path.exists(path)]
    check(len(ended) > 20 and not lacks and not any(run.status for run in ended), "a whole trace: each program succeeds",
          *lacks, *(run for run in ended if run.status))


def main():
    names = sorted((name for name in os.listdir(CORPUS) if b"\n" in read(name)), key=rank)
    chosen = names if FULL else names[:(len(names) + 9) // 10]
    check(len(names) > 100, "there is a corpus")
    good()
    runs = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        for name, (count, problems) in zip(chosen, pool.map(tried, chosen, range(len(chosen)))):
            runs += count
            if problems:
                wrong += 1
                check(False, "every program ends as its manual says: %s" % name, *problems[-40:])
    print("# %d runs over %d of %d inputs" % (runs, len(chosen), len(names)))
    check(not wrong, "every program ends as its manual says, in time, over each input: %d inputs" % len(chosen))
    plan()


WORK = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
try:
    main()
finally:
    shutil.rmtree(WORK)
