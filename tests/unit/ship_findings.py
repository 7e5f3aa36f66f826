#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_findings.py - table finding_minutes: rows of a finding add up to its row in table findings, also in an engine.

Twelve proxies are made, three of which are ill in different ways (make_fleet.c).  Each is shipped to one folder. DuckDB and
ClickHouse are asked which host has which finding, and which cause grew since the week before; SQT_SPARK=1 asks Spark, too.
"""
import collections
import decimal
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sql_engines  # noqa: E402
from pypi import READERS, available, enter  # noqa: E402
from shipped import SAMPLE, SOURCE, TOOLS, check, grow, growth, plan, ship  # noqa: E402

SPARK = os.environ.get("SQT_SPARK") == "1"
DUMP = os.path.join(TOOLS, "sqtrace-dump")
ENGINES = [("duckdb", "duckdb"), ("clickhouse", "chdb")] + ([("spark", "pyspark")] if SPARK else [])
ILL = {"proxy-3.example": ("disk_slow", "aufs:1 /cache/1"), "proxy-7.example": ("slow_server", "origin-far"),
       "proxy-11.example": ("failed_answer", "origin-near")}
NOW = ("--least-size=0",)


def rows_of(table, trace, *options):
    text = subprocess.run([DUMP, "--quiet", "--format=tsv", "--no-comments", "--table=" + table, *options, trace], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def nanoseconds(seconds):
    return int(decimal.Decimal(str(seconds)).scaleb(9).to_integral_value())


def findings(trace):
    """(cause, culprit) -> requests, failures, ns; as table findings has them."""
    return {(row["cause"], row["culprit"]): (int(row["requests"]), int(row["failures"]), nanoseconds(row["waiting_s"]))
            for row in rows_of("findings", trace) if row["cause"] not in ("healthy", "too_few")}


def summed(rows):
    """The same from table finding_minutes."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows:
        for i, name in enumerate(("requests", "failures", "waiting_ns")):
            sums[row["cause"], row["culprit"]][i] += int(row[name])
    return {key: tuple(values) for key, values in sums.items()}


# ---- rows ----

def minutes_add_up(name, trace):
    """Against table findings, and the minutes' own sums against table requests."""
    rows = rows_of("finding_minutes", trace)
    sums = summed(rows)
    alone = sums.pop(("all", "-"))
    check(sums == findings(trace), "%s: the minutes of each of %d findings add up to it" % (name, len(sums)), sums, findings(trace))
    requests = [row for row in rows_of("requests", trace) if row["outcome"] not in ("lost", "clock")]
    check(alone[0] == len(requests), "%s: each request is in one minute" % name, alone, len(requests))
    own = {(row["kid"], row["time_s"]): row for row in rows if row["cause"] == "all"}
    check(len(own) == sum(row["cause"] == "all" for row in rows) and
          all(own[row["kid"], row["time_s"]]["minute_" + column] == row["minute_" + column] == own[row["kid"], row["time_s"]][column]
              for row in rows for column in ("requests", "failures", "waiting_ns")),
          "%s: beside each are the minute's own sums" % name)
    begun = collections.Counter()
    for row in rows_of("requests", trace, "--columns=kid,time_ns,outcome"):
        if row["outcome"] not in ("lost", "clock"):
            begun[row["kid"], int(row["time_ns"]) // (60 * 10**9)] += 1
    told = collections.Counter()
    for row in rows_of("finding_minutes", trace, "--columns=kid,time_ns,cause,requests"):
        if row["cause"] == "all":
            told[row["kid"], int(row["time_ns"]) // (60 * 10**9)] += int(row["requests"])
    check(begun == told, "%s: requests are in the minute in which they began" % name, begun, told)


def shipped_rows(out):
    import pyarrow.parquet as parquet
    found = []
    for path in glob.glob(os.path.join(out, "table=finding_minutes", "*", "*", "*.parquet")):
        found += [{name: "-" if value is None else value for name, value in row.items()}
                  for row in parquet.ParquetFile(path).read().to_pylist()]
    return found


def own_sums(rows):
    """(ring, minute) -> requests and ns"""
    sums = collections.Counter()
    for row in rows:
        if row["cause"] == "all":
            sums[row["ring"], row["time_ns"], "requests"] += row["requests"]
            sums[row["ring"], row["time_ns"], "ns"] += row["waiting_ns"]
    return sums


def in_batches(scratch):
    """Each request counts in one batch."""
    whole, parts, trace = (os.path.join(scratch, name) for name in ("whole", "parts", "grows"))
    check(not ship(SAMPLE, whole, *NOW), "the sample is shipped")
    once = shipped_rows(whole)
    check(summed(once).keys() - {("all", "-")} == findings(SAMPLE).keys() and
          {key: value for key, value in summed(once).items() if key[0] != "all"} == findings(SAMPLE),
          "shipped at once, its findings are those of the trace", summed(once), findings(SAMPLE))
    pieces = growth(SAMPLE)
    size = len(pieces) // 6 + 1
    for at in range(0, len(pieces), size):
        grow(trace, pieces[at:at + size])
        said = ship(trace, parts, *NOW)
        check(not said, "the batch from piece %d on is shipped" % at, said)
    several = shipped_rows(parts)
    check(own_sums(several) == own_sums(once), "shipped in batches, each request counts once",
          *sorted(own_sums(several).items() ^ own_sums(once).items())[:5])
    numbers = [(row["ring"], row["row"]) for row in several if row["row"] != "-"]
    check(len(numbers) == len(set(numbers)) and len(several) > len(own_sums(several)) // 2, "and no two rows have one number")


# ---- engines ----

def opened(engine, out):
    session = sql_engines.ENGINES[engine]()
    ddl = subprocess.run([DUMP, "--ddl=" + engine, out], check=True, stdout=subprocess.PIPE).stdout.decode()
    for statement in sql_engines.statements(ddl):
        session.run(statement)
    return session


def query(name):
    with open(os.path.join(SOURCE, "doc", "queries", name), encoding="utf-8") as file:
        return file.read()


def which_hosts(engine, session, traces):
    """The rows are those of each host's own findings, and nobody is named who is well."""
    rows = session.rows(query("ill-host.sql"))
    found = {(row["host"], row["cause"], row["culprit"]):
             (int(row["requests"]), int(row["failures"]), nanoseconds("%.9f" % float(row["waiting_s"]))) for row in rows}
    wanted = {(os.path.basename(trace), *key): value for trace in traces for key, value in findings(trace).items()}
    check(found == wanted, "%s: hosts, causes, culprits and sums are those of each host's findings" % engine, found, wanted)
    worst = {}
    for row in rows:
        worst.setdefault(row["host"], (row["cause"], row["culprit"]))
    check(worst == ILL, "%s: the three that are ill are named with cause and culprit, and no other" % engine, worst)
    sums = session.rows("SELECT cause, culprit, requests, failures, waiting_s FROM findings")
    added = collections.Counter()
    for (_, *key), value in wanted.items():
        added[tuple(key)] += value[2]
    check({(row["cause"], row["culprit"]): nanoseconds("%.9f" % float(row["waiting_s"])) for row in sums} == added,
          "%s: hosts add up" % engine, sums, added)


def status(engine, session):
    rows = {row["host"]: row for row in session.rows("SELECT * FROM status_by_host")}
    ill = {host: row["cause"] for host, row in rows.items() if row["cause"] != "healthy"}
    check(len(rows) == 12 and ill == {host: cause for host, (cause, _) in ILL.items()}, "%s: status names the three, and nine are healthy" % engine,
          rows)
    check(all(int(row["of_requests"]) == 600 for row in rows.values()), "%s: status is of the last minutes" % engine, rows)


def grown(engine, session):
    rows = session.rows(query("grown-causes.sql"))
    check([row["cause"] for row in rows] == ["failed_answer", "slow_server", "disk_slow"] and
          all(float(row["this_week_s"]) > 10 * float(row["last_week_s"]) for row in rows) and float(rows[0]["last_s"]) == 0,
          "%s: three causes grew since last week" % engine, rows)


def fleet(scratch):
    made, out = os.path.join(scratch, "made"), os.path.join(scratch, "fleet")
    os.mkdir(made)
    subprocess.run([os.path.join(TOOLS, "tests", "unit", "make_fleet"), made, "twelve"], check=True)
    traces = sorted(glob.glob(os.path.join(made, "*")))
    said = [ship(trace, out, *NOW) for trace in traces]
    check(len(traces) == 12 and not any(said), "twelve proxies are shipped", *filter(None, said))
    for engine, package in ENGINES:
        if not available(package):
            check(True, engine + ": which hosts have which finding", skip=package + " could not be installed")
            continue
        session = opened(engine, out)
        which_hosts(engine, session, traces)
        status(engine, session)
        grown(engine, session)
    shutil.rmtree(made)


def main():
    enter(*READERS.values(), *(["pyspark"] if SPARK else []))
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "figure_traces"), scratch], check=True, stdout=subprocess.DEVNULL)
        minutes_add_up("sample", SAMPLE)
        for name in ("mixed", "lossy", "moved"):
            minutes_add_up(name, os.path.join(scratch, name + ".sqt"))
        if not available("pyarrow"):
            check(True, "what is shipped", skip="pyarrow could not be installed")
        else:
            in_batches(scratch)
            fleet(scratch)
    plan()


main()
