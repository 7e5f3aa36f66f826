#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_whatif.py - table whatif_minutes: its hits add up to those of table whatif, over minutes, batches and hosts.

Three hosts are shipped to one folder.  The third one's policy is not simulated, so it has no forecast.  DuckDB and ClickHouse
are asked for the hit ratio of all at each size; SQT_SPARK=1 asks Spark, too.
"""
import collections
import glob
import os
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
ONLY = ("--least-size=0", "--table=whatif_minutes")
COUNTS = ("requests", "bytes", "hits", "hit_bytes", "measured_hits", "measured_hit_bytes")


def rows_of(table, trace, *options):
    text = subprocess.run([DUMP, "--quiet", "--format=tsv", "--no-comments", "--table=" + table, *options, trace], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def size(text):
    number, unit = text.split()
    return int(number) * {"bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[unit]


def summed(rows):
    """(setting, value) -> sums"""
    sums = collections.defaultdict(collections.Counter)
    for row in rows:
        for name in COUNTS:
            sums[row["setting"], int(row["value_bytes"])][name] += int(row[name]) if row[name] not in ("-", None) else 0
    return sums


def adds_up(name, trace, *, settings):
    """Against table whatif, and the measured hits against what that table says of today's value."""
    sums = summed(rows_of("whatif_minutes", trace))
    wrong, seen = [], set()
    for row in rows_of("whatif", trace):
        if row["setting"] not in settings or row["bound"] != "forecast":
            continue
        own = sums[row["setting"], size(row["value"])]
        for counted, of, ratio in ("hits", "requests", "hit_ratio_pct"), ("hit_bytes", "bytes", "byte_hit_ratio_pct"):
            if not own[of] or abs(100 * own[counted] / own[of] - float(row[ratio])) > 0.001:
                wrong.append((row, dict(own)))
        if row["value"] == row["now_value"]:
            measured = float(row["hit_ratio_pct"]) - float(row["calibration_pct"])
            if abs(100 * own["measured_hits"] / own["requests"] - measured) > 0.002:
                wrong.append((row, dict(own)))
        seen.add(row["setting"])
    check(seen == settings and not wrong, "%s: minutes add up to table whatif" % name, seen, *wrong[:3])


def shipped_rows(out):
    import pyarrow.parquet as parquet
    found = []
    for path in glob.glob(os.path.join(out, "table=whatif_minutes", "*", "*", "*.parquet")):
        found += parquet.ParquetFile(path).read().to_pylist()
    return found


def in_batches(scratch, whole_trace):
    """Each request counts in one batch, and what came before it warms the caches."""
    whole, parts, trace = (os.path.join(scratch, name) for name in ("whole", "parts", "grows"))
    check(not ship(whole_trace, whole, *ONLY), "a trace is shipped at once")
    pieces = growth(whole_trace)
    step = len(pieces) // 6 + 1
    for at in range(0, len(pieces), step):
        grow(trace, pieces[at:at + step])
        said = ship(trace, parts, *ONLY)
        check(not said, "the batch from piece %d on is shipped" % at, said)
    once, several = shipped_rows(whole), shipped_rows(parts)
    own, others = summed(once), summed(several)
    counted = ("requests", "bytes", "measured_hits", "measured_hit_bytes")
    check(own.keys() == others.keys() and all(own[key][name] == others[key][name] for key in own for name in counted) and own,
          "shipped in batches, each request counts once", own, others)
    check(all(abs(own[key]["hits"] - others[key]["hits"]) * 100 <= own[key]["requests"] for key in own),
          "and is a hit as in the whole trace", own, others)
    numbers = [(row["ring"], row["row"]) for row in several]
    check(len(numbers) == len(set(numbers)) and len(several) > len(own), "and no two rows have one number")


def fleet(scratch, traces):
    out = os.path.join(scratch, "fleet")
    said = [ship(trace, out, *ONLY) for trace in traces]
    check(len(traces) == 3 and not any(said), "three hosts are shipped", *filter(None, said))
    known = [summed(rows_of("whatif_minutes", trace)) for trace in traces[:2]]
    now = size(rows_of("whatif", traces[0])[0]["now_value"])
    wanted = {}
    for key in known[0]:
        both = known[0][key] + known[1][key]
        wanted[round(100 * key[1] / now)] = (100 * both["hits"] / both["requests"], 100 * both["measured_hits"] / both["requests"])
    with open(os.path.join(SOURCE, "doc", "queries", "cache-sizes.sql"), encoding="utf-8") as file:
        query = file.read()
    for engine, package in ENGINES:
        if not available(package):
            check(True, engine + ": hit ratios of the fleet", skip=package + " could not be installed")
            continue
        session = sql_engines.ENGINES[engine]()
        ddl = subprocess.run([DUMP, "--ddl=" + engine, out], check=True, stdout=subprocess.PIPE).stdout.decode()
        for statement in sql_engines.statements(ddl):
            session.run(statement)
        rows = session.rows(query)
        found = {round(float(row["of_now_pct"])): (float(row["hit_ratio_pct"]), float(row["measured_pct"])) for row in rows}
        check(found.keys() == wanted.keys() and len(found) == 10 and
              all(abs(a - b) < 1e-6 for key in wanted for a, b in zip(found[key], wanted[key])),
              engine + ": hits of two hosts are added up at each size", found, wanted)
        check(all(int(row["hosts"]) == 2 and row["setting"] == "cache_mem" for row in rows), engine + ": says of how many hosts", rows)
        hosts = {row["host"]: row for row in session.rows("SELECT * FROM cache_size_hosts")}
        third = hosts.get("proxy-3.example", {})
        check(len(hosts) == 3 and {host for host, row in hosts.items() if int(row["counts"])} == {"proxy-1.example", "proxy-2.example"} and
              "heap GDSF is not simulated" in str(third.get("refusal")), engine + ": and why the third one does not count", hosts)


def main():
    enter(*READERS.values(), *(["pyspark"] if SPARK else []))
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([os.path.join(TOOLS, "tests", "unit", "figure_traces"), scratch], check=True, stdout=subprocess.DEVNULL)
        traces = sorted(glob.glob(os.path.join(scratch, "sizes", "*")))
        for trace in traces[:2]:
            adds_up(os.path.basename(trace), trace, settings={"cache_mem"})
        third = rows_of("whatif_minutes", traces[2])
        check(third and all(row["hits"] == row["hit_bytes"] == "-" and row["of_now_pct"] == "100.000" and "heap GDSF" in row["refusal"]
                            for row in third), "without a forecast there are no hits, and a reason", *third[:3])
        if not available("pyarrow"):
            check(True, "what is shipped", skip="pyarrow could not be installed")
        else:
            in_batches(scratch, SAMPLE)
            fleet(scratch, traces)
    plan()


main()
