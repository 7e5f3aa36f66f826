#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time and bytes of the queries in doc/queries over made traces of 100 hosts.

usage: fleet.py BUILDDIR RECORDS [ENGINE]

Makes RECORDS records or more, ships each host with sqtrace-ship, loads the SQL of --ddl, and asks each query once.
ENGINE is duckdb, clickhouse or spark (two threads), a package of this Python or a program.  Spark's start is not counted.
DuckDB may have 12 GB of memory, and puts what needs more into files.  Times are by the clock, in brackets of the processor.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "tools", "experiment"))
sys.dont_write_bytecode = True
import engines  # noqa: E402

HOSTS = 100


def processor():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(what, function):
    begin, before = time.monotonic(), processor()
    result = function()
    print("%-28s %8.2f s (%.2f)" % (what, time.monotonic() - begin, processor() - before), flush=True)
    return result


def sizes(folder):
    return [os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names]


def make(build, records, folder):
    """The folders of the traces, and how many records they have: whole blocks."""
    places, made = [], 0
    for number in range(1, HOSTS + 1):
        place = os.path.join(folder, "trace-%d" % number)
        os.mkdir(place)
        done = subprocess.run([os.path.join(build, "many-records"), os.path.join(place, "0.sqt"), str(records // HOSTS),
                               "zstd", "proxy-%d.site-%d.example" % (number, number % 10), str(number)], check=True,
                              stdout=subprocess.PIPE)
        made += int(done.stdout)
        places.append(place)
    return places, made


def ask(engine, ddl, folder):
    session = engines.opened(engine)
    if engine == "duckdb":
        session.run("SET memory_limit = '12GB'")
        session.run("SET temp_directory = '%s'" % os.path.join(folder, "spilled"))
    timed("views", lambda: [session.run(statement) for statement in engines.statements(ddl)])
    counts = ("requests", "ios", "swaps", "connections")
    print(", ".join("%s %s" % (session.rows("SELECT count(*) AS n FROM " + table)[0]["n"], table) for table in counts))
    folder = os.path.join(SOURCE, "doc", "queries")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            query = file.read()
        timed(name, lambda text=query: session.rows(text))
    print("%-28s %8.0f MiB" % ("memory of this process", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main():
    build, records, *more = sys.argv[1:]
    engine = (more + ["duckdb"])[0]
    with tempfile.TemporaryDirectory(prefix="sqtrace-bench-") as folder:
        traces, made = make(build, int(records), folder)
        shipped = os.path.join(folder, "shipped")
        print("%d records of %d hosts, %.1f MB" % (made, HOSTS, sum(sizes(folder)) / 1e6))
        timed("sqtrace-ship", lambda: [subprocess.run(
            [os.path.join(build, "sqtrace-ship"), "--quiet", "--make-folder", "--to=" + shipped, trace], check=True) for trace in traces])
        print("%d files, %.1f MB" % (len(sizes(shipped)), sum(sizes(shipped)) / 1e6), flush=True)
        ask(engine, subprocess.run([os.path.join(build, "sqtrace-dump"), "--ddl=" + engine, shipped], check=True,
                                   stdout=subprocess.PIPE).stdout.decode(), folder)


if __name__ == "__main__":
    main()
