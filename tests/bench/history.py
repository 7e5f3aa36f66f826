#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers of one commit, as a line of tests/bench/history.tsv; a person adds the line and commits it.

usage: history.py BUILDDIR [OPTION]...
  --dump=FILE        measure this sqtrace-dump (default: BUILDDIR/sqtrace-dump)
  --commit=NAME      what the line calls it (default: the commit that is checked out)
  --records=N        made records (default 1000000; rates take ten times as many)
  --off=N --on=N     instructions of a memory hit more than unpatched, off and on: from tests/bench/run instructions
  --header           print the header row, too
  --draw=PNG         print nothing; draw the file's lines

Instructions are exact: callgrind counts them, and what a start costs is taken away.  Rates depend on the machine, so each is
the processor time of a record in units of a reference loop of the same run: the checksum (CRC-32) of 1 KB.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
HISTORY = os.path.join(HERE, "history.tsv")
TABLES = "events", "requests", "findings"
COLUMNS = (["date", "commit", "bytes_per_record"] + ["%s_instructions" % table for table in TABLES] +
           ["%s_per_kb_of_crc" % table for table in TABLES] + ["hit_off_instructions", "hit_on_instructions"])
RUNS = 5


def instructions(command, scratch):
    """Of one run of a program, by callgrind."""
    out = os.path.join(scratch, "callgrind")
    subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, *command], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with open(out, encoding="utf-8") as file:
        return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M).group(1))


def seconds(command):
    """The least processor time of several runs."""
    best = None
    for _ in range(RUNS):
        with open(os.devnull, "w", encoding="ascii") as null:
            with subprocess.Popen(command, stdout=null) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
        if status:
            raise SystemExit("history: %s failed" % command[0])
        taken = usage.ru_utime + usage.ru_stime
        best = taken if best is None or taken < best else best
    return best


def reference():
    """Seconds of the checksum of 1 KB."""
    data, best = bytes(range(256)) * 4096, None
    for _ in range(RUNS):
        begin = time.process_time()
        for _ in range(100):
            zlib.crc32(data)
        taken = (time.process_time() - begin) / 100 / 1024
        best = taken if best is None or taken < best else best
    return best


def make(build, path, records):
    made = subprocess.run([os.path.join(build, "many-records"), path, str(records)], check=True, stdout=subprocess.PIPE)
    return int(made.stdout)


def measure(build, dump, records):
    """The columns from bytes_per_record on, but the last two."""
    with tempfile.TemporaryDirectory(prefix="sqtrace-history-") as scratch:
        small, large = os.path.join(scratch, "small.sqt"), os.path.join(scratch, "large.sqt")
        few, many = make(build, small, records), make(build, large, 10 * records)
        half = os.path.join(scratch, "half.sqt")
        fewer = make(build, half, records // 2)
        counts, rates = [], []
        for table in TABLES:
            command = [dump, "--quiet", "--table=" + table]
            more = instructions(command + [small], scratch) - instructions(command + [half], scratch)
            counts.append("%.1f" % (more / (few - fewer)))
            rates.append("%.3f" % (seconds(command + [large]) / many / reference()))
        return ["%.3f" % (os.path.getsize(large) / many)] + counts + rates


def draw(to):
    """A picture of the exact numbers: each in percent of its first one."""
    subprocess.run(["gnuplot", "-e", "history='%s'; out='%s'" % (HISTORY, to), os.path.join(HERE, "history.gp")], check=True)


def main():
    options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if "draw" in options:
        return draw(options["draw"])
    unknown = set(options) - {"dump", "commit", "records", "off", "on", "header"}
    if len(words) != 1 or unknown:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    commit = options.get("commit") or subprocess.run(["git", "-C", HERE, "rev-parse", "--short=8", "HEAD"], check=True,
                                                     stdout=subprocess.PIPE, text=True).stdout.strip()
    numbers = measure(words[0], options.get("dump", os.path.join(words[0], "sqtrace-dump")),
                      int(options.get("records", 1000000)))
    if "header" in options:
        print("\t".join(COLUMNS))
    print("\t".join([time.strftime("%Y-%m-%d"), commit] + numbers + [options.get("off", "-"), options.get("on", "-")]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
