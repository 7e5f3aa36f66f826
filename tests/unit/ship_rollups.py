#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_rollups.py - table rollups and --raw: what is counted, and which requests are shipped one by one.

Everything is computed anew here from the rows of table requests.  Percentiles from counts must be within half of a
bucket of the exact ones.  A trace that is shipped in pieces, with kills, must have the counts of the whole one.
"""
import collections
import itertools
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from pypi import available, enter  # noqa: E402
from shipped import SAMPLE, SOURCE, TOOLS, check, files, grow, growth, rows, ship  # noqa: E402

sys.path.append(os.path.join(SOURCE, "tools", "experiment"))
import engines  # noqa: E402

NOW = "--least-size=0"
STEPS = {60: 2 ** 7, 3600: 2 ** 10}  # seconds: buckets of a doubling
NOT_STAGES = {"server_from", "server_until", "client_tls", "accept_wait", "loop_held", "read_wait"}
LEFT_OUT = ("lost", "clock", "unfinished")
KEY = ("ring", "kid", "time_ns", "step_s", "class", "stage", "server", "ns")


def dump(table, trace, *options):
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--format=tsv", "--table=" + table, *options, trace],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def middle(value, buckets):
    """The middle of the bucket: the least width that leaves no more than so many buckets for a doubling."""
    width = 1
    while value // width >= 2 * buckets:
        width *= 2
    low = value // width * width
    return low + (width - 1) // 2


def durations(row):
    return {name[:-3]: int(cell) for name, cell in row.items() if name.endswith("_ns") and name != "time_ns" and
            name[:-3] not in NOT_STAGES and cell != "-"}


def expected(requests):
    counts = collections.Counter()
    for row in requests:
        if row["outcome"] in LEFT_OUT:
            continue
        for step, buckets in STEPS.items():
            begin = int(row["time_ns"]) // (step * 10**9) * step * 10**9
            for stage, ns in durations(row).items():
                counts[row["ring"], row["kid"], str(begin), str(step), row["class"], stage, row["server"],
                       str(middle(ns, buckets))] += 1
    return counts


def counted(rolled):
    counts = collections.Counter()
    for row in rolled:
        counts[tuple(row[name] for name in KEY)] += int(row["count"])
    return counts


def rank(pairs, per_mille):
    """The smallest value that this share of all does not exceed; pairs: (value, count).  The median is the mean of the middle
    two."""
    total, seen, middle_two = sum(count for _, count in pairs), 0, []
    for value, count in sorted(pairs):
        seen += count
        if per_mille == 500:
            middle_two += [value] if 2 * seen >= total else []
            if 2 * seen > total:
                return (middle_two[0] + value) / 2
        elif seen * 1000 >= total * per_mille:
            return value
    return None


def percentiles_are_close(requests, counts):
    exact, close, worst = collections.defaultdict(list), collections.defaultdict(list), {60: 0, 3600: 0}
    for row in requests:
        for stage, ns in durations(row).items() if row["outcome"] not in LEFT_OUT else ():
            exact[row["class"], stage].append((ns, 1))
    for (_, _, _, step, of_class, stage, _, ns), count in counts.items():
        close[int(step), of_class, stage].append((int(ns), count))
    for (step, *of), pairs in close.items():
        for per_mille in (500, 900, 990, 999):
            right, found = rank(exact[tuple(of)], per_mille), rank(pairs, per_mille)
            worst[step] = max(worst[step], abs(found - right) / max(right, 1))
    return worst


def table_is_right(name, trace):
    requests = dump("requests", trace, "--columns=" + columns_of("requests") + ",ring,time_ns")
    rolled = dump("rollups", trace, "--columns=ring,kid,row,time_ns,step_s,class,stage,server,ns,count")
    want, got = expected(requests), counted(rolled)
    apart = list(((want - got) + (got - want)).items())
    check(want and not apart, "%s: each bucket has its count: %d buckets of %d requests" % (name, len(want), len(requests)),
          len(apart), *apart[:3])
    numbers = [(row["ring"], row["row"]) for row in rolled]
    check(len(set(numbers)) == len(numbers) and "-" not in {row for _, row in numbers}, name + ": ring and row are a key")
    worst = percentiles_are_close(requests, got)
    check(0 < worst[60] <= 0.004 and worst[3600] <= 0.0005, name + ": percentiles are at most half a bucket off: %.4f and %.5f"
          % (worst[60], worst[3600]), worst)
    return got


def columns_of(table):
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--format=tsv", "--table=" + table, SAMPLE],
                          check=True, stdout=subprocess.PIPE).stdout.decode()
    return next(line for line in text.splitlines() if not line.startswith("#")).replace("\t", ",")


def as_text(value):
    return "-" if value == "None" else value


def shipped_counts(out):
    return counted({name: as_text(cell) for name, cell in row} for row in rows(out).get("rollups", ()))


def in_pieces(scratch, whole):
    """As often as six times, and two of these are killed first."""
    seed = random.randrange(1 << 30)
    draw, pieces = random.Random(seed), growth(SAMPLE)
    cuts = sorted(draw.sample(range(1, len(pieces)), 5)) + [len(pieces)]
    trace, out, at = os.path.join(scratch, "growing"), os.path.join(scratch, "pieces"), 0
    for number, cut in enumerate(cuts):
        grow(trace, pieces[at:cut])
        at = cut
        if number % 3 == 1:
            with subprocess.Popen([shipped.SHIP, trace, "--to=" + out, *shipped.make_folder(out), "--quiet", NOW, "--table=rollups"],
                                  stderr=subprocess.DEVNULL) as child:
                try:
                    child.wait(draw.random() * 0.05)
                except subprocess.TimeoutExpired:
                    child.kill()
        wrong = ship(trace, out, "--quiet", NOW, "--table=rollups")
        if wrong:
            check(False, "shipping", wrong)
    batches = len({(ring, first) for _, _, _, ring, first, _ in files(out).values()})
    got = shipped_counts(out)
    apart = list(((whole - got) + (got - whole)).items())
    check(batches > 3 and not apart, "shipped in %d pieces, counts add up to those of the whole" % batches, "seed %d" % seed, *apart[:3])
    ranges = collections.defaultdict(list)
    for path in files(out):
        import pyarrow.parquet
        found = pyarrow.parquet.read_table(path, columns=["row"])["row"].to_pylist()
        ranges[files(out)[path][3], files(out)[path][1]].append((min(found), max(found)))
    wrong = [(a, b) for found in ranges.values() for a, b in itertools.pairwise(sorted(found)) if a[1] >= b[0]]
    check(not wrong, "and no two batches have rows of one stretch, so that views count each once", *wrong[:3])
    ship(trace, os.path.join(scratch, "other"), "--quiet", NOW, "--table=rollups")
    return out


def views(scratch, out):
    """DuckDB's view over all batches, and over a folder into which the trace came twice."""
    import duckdb
    both = os.path.join(scratch, "both")
    subprocess.run(["cp", "-r", out, both], check=True)
    for path in files(os.path.join(scratch, "other")):
        place = path.replace(os.path.join(scratch, "other"), both)
        subprocess.run(["cp", path, place.replace(".parquet", "9.parquet")], check=True)
    found = []
    for folder in (out, both):
        engine = duckdb.connect()
        engine.execute(subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--ddl=duckdb", folder], check=True,
                                      stdout=subprocess.PIPE).stdout.decode())
        found.append(engine.execute("SELECT class, stage, sum(requests) FROM rolled_hours GROUP BY ALL ORDER BY ALL").fetchall())
    check(found[0] and found[0] == found[1], "a trace that came twice is counted once", *[one[:3] for one in found])
    if available("clickhouse"):
        ddl = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--ddl=clickhouse", out], check=True, stdout=subprocess.PIPE).stdout
        session = engines.opened("clickhouse")
        for statement in engines.statements(ddl.decode()):
            session.run(statement)
        got = session.rows("SELECT class, stage, sum(requests) AS n FROM rolled_hours_by_host WHERE host = '-' GROUP BY class, stage ORDER BY class, stage")
        check([(row["class"], row["stage"], int(row["n"])) for row in got] == found[0], "ClickHouse has the same, for a host without a name",
              got[:3])
    engine.execute("SET TimeZone = 'UTC'")
    rolled = {row[0]: row[1:] for row in engine.execute(
        "SELECT class, p50_ms, p99_ms FROM rolled_hours WHERE stage = 'total'").fetchall()}
    counts = collections.defaultdict(list)
    for row in dump("requests", SAMPLE):
        if row["outcome"] not in LEFT_OUT:
            for of in (row["class"], "all"):
                counts[of].append((int(row["total_ns"]), 1))
    wrong = [(of, found, rank(pairs, per_mille)) for of, pairs in counts.items()
             for found, per_mille in zip(rolled.get(of, (-1e9, -1e9)), (500, 990))
             if abs(found * 1e6 / rank(pairs, per_mille) - 1) > 0.0005]
    check(len(counts) > 3 and not wrong, "the view's medians and 99th percentiles are those of the requests", *wrong)


def chosen(out):
    return {(row["ring"], row["row"]): {name: as_text(cell) for name, cell in row.items()}
            for row in map(dict, rows(out).get("requests", ())) if row["outcome"] != "unfinished"}


def kept(scratch, trace, *options):
    """Requests that are shipped, and what the roll-ups count."""
    out = tempfile.mkdtemp(dir=scratch)
    wrong = ship(trace, out, "--quiet", NOW, "--table=requests,rollups", *options)
    if wrong:
        check(False, "shipping", wrong)
    return chosen(out), shipped_counts(out)


def slowest(scratch, trace):
    """Of each process, class and minute of UTC, beside those that failed.  Returns all
    requests, what is counted, and which have failed."""
    everything, whole = kept(scratch, trace)
    failed = {key for key, row in everything.items() if row["outcome"] in ("error", "timeout")}
    slow, groups = set(), collections.defaultdict(list)
    for key, row in everything.items():
        if row["total_ns"] != "-" and key not in failed:
            groups[row["ring"], row["class"], int(row["time_ns"]) // (60 * 10**9)].append((-int(row["total_ns"]), int(row["row"]), key))
    for group in groups.values():
        slow |= {key for _, _, key in sorted(group)[:3]}
    got, counts = kept(scratch, trace, "--raw=slowest:3,failed")
    check(set(got) == slow | failed and counts == whole, "--raw=slowest:3,failed: %d" % len(got), len(slow), len(set(got) ^ (slow | failed)))
    return everything, whole, failed


def raw(scratch, trace):
    """Which requests each rule leaves, computed from all of them."""
    everything, whole, failed = slowest(scratch, trace)
    got, counts = kept(scratch, trace, "--raw=failed")
    check(failed and set(got) == failed and counts == whole, "--raw=failed: %d of %d requests; all are counted" % (len(got), len(everything)))
    got, counts = kept(scratch, trace, "--raw=share:10%")
    again, _ = kept(scratch, trace, "--raw=share:20%")
    share = len(got) / len(everything)
    check(0.08 < share < 0.12 and set(got) < set(again) and counts == whole, "--raw=share:10%%: %.1f %%" % (100 * share))
    check(all(got[key] == everything[key] for key in got), "its rows are those of all")
    got, _ = kept(scratch, trace, "--raw=share:50%")
    unnamed = collections.Counter(key[0] for key, row in everything.items() if row["xid"] == "-")
    some = collections.Counter(key[0] for key in got if everything[key]["xid"] == "-")
    check(unnamed and all(0 < some[ring] < unnamed[ring] for ring in unnamed if unnamed[ring] > 9),
          "of those without xid some, too: %s of %s" % (sorted(some.values()), sorted(unnamed.values())))


def errors(scratch):
    out = os.path.join(scratch, "none")
    for words, says in ((["--raw=slow"], "name rules, as in slowest:10,failed,share:0.1%"), (["--raw=slowest:0"], "name rules"),
                        (["--raw=share:200%"], "name rules"), (["--raw="], "name rules"),
                        (["--table=swaps", "--raw=failed"], "--raw is of table requests"),
                        (["--table=requests", "--raw=failed"], "--raw needs table rollups"), (["--raw=failed"], "--raw needs table rollups")):
        got = ship(SAMPLE, out, *words)
        check(got.startswith("status 2") and says in got and not os.path.exists(out), " ".join(words) + ": an error", got)


def main():
    enter("pyarrow", "duckdb", "clickhouse")
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "made")
        os.mkdir(made)
        subprocess.run([os.path.join(TOOLS, "many-records"), os.path.join(made, "0.sqt"), "1000000"], check=True,
                       stdout=subprocess.DEVNULL)
        whole = table_is_right("sample", SAMPLE)
        table_is_right("made traffic", made)
        errors(scratch)
        if not available("pyarrow") or not available("duckdb"):
            check(True, "what is shipped", skip="pyarrow and duckdb are not there")
        else:
            views(scratch, in_pieces(scratch, whole))
            raw(scratch, made)
            slowest(scratch, SAMPLE)  # which goes on through several minutes
    shipped.plan()


main()
