#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_ddl.py - the views of --ddl give sqtrace's own figures, and the queries of doc/fleet.md their answers.

DuckDB and ClickHouse (chdb) run the statements over files of --format=parquet; pypi.py gets them. SQT_SPARK=1 also
runs Spark (pyspark, which needs Java); without it a parser, sqlglot, reads Spark's statements.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from pypi import READERS, available, enter  # noqa: E402

SPARK = os.environ.get("SQT_SPARK") == "1"
enter(*READERS.values(), "sqlglot", *(["pyspark"] if SPARK else []))

import fleet_answers  # noqa: E402
import sql_engines  # noqa: E402
from oracle import SOURCE, TOOLS, check, dump, plan  # noqa: E402

DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
ENGINES = [name for name, package in (("duckdb", "duckdb"), ("clickhouse", "chdb"), ("spark", "pyspark"))
           if available(package) and (name != "spark" or SPARK)]
TIMES = ("p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def export(folder, *traces):
    run_of = run(DUMP, "--quiet", "--format=parquet", "--output=" + folder, *traces)
    assert run_of.returncode == 0, run_of.stderr
    return folder


def ddl(engine, folder):
    return run(DUMP, "--ddl=" + engine, folder).stdout.decode()


def opened(engine, folder):
    """The engine with all views."""
    session = sql_engines.ENGINES[engine]()
    for statement in sql_engines.statements(ddl(engine, folder)):
        session.run(statement)
    return session


# ---- comparing ----

def number(text):
    return None if text in ("-", None) else float(text)


def differs(ours, theirs, exact, digits):
    """Whether a value of a view is not that of sqtrace, which prints so many digits."""
    ours, theirs = number(ours), number(theirs)
    if theirs is None or ours is None:
        return theirs is not None and ours is None
    return abs(ours - theirs) > 0.5001 * 10.0**-digits + (0 if exact else 0.001 * abs(theirs))


def compare(what, view, wanted, keys, columns, exact):
    """view, wanted: rows; columns: name in the view -> (name in sqtrace's table, digits)."""
    found = {tuple(str(row[k]) for k in keys): row for row in view}
    problems = []
    for row in wanted:
        key = tuple(row[k] for k in keys)
        mine = found.get(key)
        if mine is None:
            problems.append("%s is missing" % (key,))
            continue
        problems += ["%s %s: %s, not %s" % (key, ours, mine[ours], row[theirs])
                     for ours, (theirs, digits) in columns.items() if differs(mine[ours], row[theirs], exact, digits)]
    check(not problems and wanted, "%s: %d rows are sqtrace's%s" % (what, len(wanted), "" if exact else ", within 0.1 %"),
          *problems[:5])


def spread(extra=()):
    return {**{name: (name, 6) for name in TIMES}, **dict(extra)}


def summed(rows, names):
    return {name: sum(int(row[name]) for row in rows if row[name] != "-") for name in names}


def figures(name, session, trace):
    """Every figure that sqtrace makes, too."""
    comments, summary, _ = dump(trace, "--table=summary")
    exact = comments["percentiles"][0] == "exact"
    requests = [row for row in summary if not row["stage"].startswith("disk_")]
    shares = [row for row in requests if row["share_pct"] != "-"]
    stages = session.rows("SELECT * FROM stages")
    compare(name + "stages", stages, requests, ("class", "stage"), spread({"requests": ("count", 0)}), exact)
    compare(name + "stages, shares", stages, shares, ("class", "stage"), {"share_pct": ("share_pct", 3)}, True)
    totals = [row for row in requests if row["stage"] == "total"]
    compare(name + "response_times", session.rows("SELECT * FROM response_times"), totals, ("class",),
            spread({"requests": ("count", 0)}), exact)
    disks(name, session, [row for row in summary if row["stage"].startswith("disk_")], exact)
    servers(name, session, trace)
    services(name, session, trace)
    hit_ratios(name, session, trace)
    tail(name, session, trace)
    losses(name, session, trace)


def disks(name, session, rows, exact):
    for row in rows:
        _, row["direction"], row["part"] = row["stage"].split("_", 2)
        row["cache_dir"] = row["class"]
    if rows:
        compare(name + "disks", session.rows("SELECT * FROM disks"), rows, ("cache_dir", "direction", "part"),
                spread({"count": ("count", 0), "share_pct": ("share_pct", 3)}), exact)


def servers(name, session, trace):
    comments, rows, _ = dump(trace, "--table=servers")
    if rows:
        columns = {**{c: (c, 6) for c in ("p50_ms", "p90_ms", "p99_ms", "max_ms", "wait_p50_ms", "connect_p50_ms")},
                   **{c: (c, 0) for c in ("retries", "connects", "failures", "timeouts")},
                   "requests": ("count", 0), "share_pct": ("share_pct", 3)}
        compare(name + "servers", session.rows("SELECT * FROM servers"), rows, ("server",), columns,
                comments["percentiles"][0] == "exact")


def services(name, session, trace):
    comments, rows, _ = dump(trace, "--table=services")
    if rows:
        columns = {**{c: (c, 6) for c in ("p50_ms", "p90_ms", "p99_ms", "max_ms", "queue_p50_ms", "service_p99_ms")},
                   **{c: (c, 0) for c in ("depth_max", "timeouts", "failures")},
                   "waits": ("count", 0), "share_pct": ("share_pct", 3)}
        compare(name + "services", session.rows("SELECT * FROM services"), rows, ("kind", "name"), columns,
                comments["percentiles"][0] == "exact")


def hit_ratios(name, session, trace):
    names = ("dhr_count", "dhr_of", "bhr_count", "bhr_of")
    wanted = summed(dump(trace, "--figure=hit-ratio")[1], names)
    row = session.rows("SELECT * FROM hit_ratios")[0]
    check({c: int(row[c]) for c in names} == wanted, name + "hit_ratios: the sums of figure hit-ratio", row, wanted)
    for view in ("hours", "days"):
        rows = session.rows("SELECT sum(requests) AS n FROM " + view)
        ended = session.rows("SELECT count(*) AS n FROM requests_ended")
        check(int(rows[0]["n"]) == int(ended[0]["n"]) > 0, name + view + " have all requests", rows, ended)


def tail(name, session, trace):
    rows = []
    for row in dump(trace, "--figure=tail-stages")[1]:
        rows += [{**row, "stage": c[:-3], "mean_ms": v} for c, v in row.items()
                 if c.endswith("_ms") and c != "total_ms" and number(v)]
        rows.append({**row, "stage": "total", "mean_ms": row["total_ms"]})
    compare(name + "tail", session.rows("SELECT * FROM tail"), rows, ("class", "percentile", "stage"),
            {"mean_ms": ("mean_ms", 6), "near": ("near", 0), "requests": ("count", 0)}, True)


def losses(name, session, trace):
    rows = dump(trace, "--table=losses")[1]
    lost = sum(int(row["records"]) for row in rows)
    found = session.rows("SELECT lost_records FROM lost")[0]["lost_records"]
    told = session.rows("SELECT DISTINCT lost_records FROM hit_ratios")
    check(int(found) == lost and [int(row["lost_records"]) for row in told] == [lost],
          "%slost: %d records, which other views say, too" % (name, lost), found, told)


# ---- many proxies ----

def scopes(engine, session, fleet):
    for scope, names in (("host", ("proxy-1.paris.example", "proxy-2.berlin.example")),
                         ("site", ("paris.example", "berlin.example"))):
        for one in names:
            traces = sorted(glob.glob(os.path.join(fleet, "*%s-?.sqt" % one)))
            folder = os.path.join(os.path.dirname(fleet), "of-" + one)
            if not os.path.isdir(folder):
                os.mkdir(folder)
                for trace in traces:
                    os.symlink(trace, os.path.join(folder, os.path.basename(trace)))
            rows = [row for row in dump(folder, "--table=summary")[1] if not row["stage"].startswith("disk_")]
            view = session.rows("SELECT * FROM stages_by_%s WHERE %s = '%s'" % (scope, scope, one))
            compare("%s: stages_by_%s, %s" % (engine, scope, one), view, rows, ("class", "stage"),
                    spread({"requests": ("count", 0)}), True)
    lost = session.rows("SELECT host, max(lost_records) AS lost FROM response_times_by_host GROUP BY host ORDER BY host")
    check([int(row["lost"]) for row in lost] == [5000, 0, 0, 0], engine + ": each host says what it lost", lost)


def tree(outputs, folder):
    """The same files in partitions, as table=NAME/date=DATE/host=HOST."""
    for path in glob.glob(os.path.join(outputs, "*", "*", "*.parquet")):
        table, one = path.split(os.sep)[-2], path.split(os.sep)[-3]
        date, host = "2026-11-2%d" % (3 + int(one[-1])), one[:-2]
        place = os.path.join(folder, "table=" + table, "date=" + date, "host=" + host)
        os.makedirs(place, exist_ok=True)
        shutil.copy(path, place)
    return folder


def overlaps(engine, outputs, scratch):
    """A ring that two machines ship, and a second proxy with the name of another."""
    import pyarrow
    import pyarrow.parquet as parquet
    twice = os.path.join(scratch, "twice-" + engine)
    shutil.copytree(outputs, twice)
    again = os.path.join(twice, "proxy-1.paris.example-0")
    shutil.copytree(again, os.path.join(twice, "z-copy"))
    for path in glob.glob(os.path.join(again, "*", "*.parquet")):
        rows = parquet.read_table(path)
        ring = pyarrow.array(["f" * 32] * rows.num_rows, pyarrow.string())
        place = os.path.join(twice, "z-other", path.split(os.sep)[-2])
        os.makedirs(place)
        parquet.write_table(rows.set_column(rows.schema.get_field_index("ring"), "ring", ring),
                            os.path.join(place, "f" * 32 + "-000000.parquet"))
    session = opened(engine, twice)
    count = int(session.rows("SELECT count(*) AS n FROM requests")[0]["n"])
    check(count == 8 * 600 + 600, "%s: a file that came twice is left out of requests, another proxy's is not" % engine, count)
    told = session.rows('SELECT * FROM %s' % session.quoted("overlaps"))
    files = [row for row in told if row["kind"] == "file"]
    check(files and all("z-copy" in row["file"] and "paris.example-0" in row["other"] for row in files) and
          {"requests", "ios", "connections"} <= {row["table_name"] for row in files},
          "%s: overlaps names that file, its table and the other file" % engine, told)
    hosts = [row for row in told if row["kind"] == "host"]
    check(len(hosts) == 1 and hosts[0]["host"] == "proxy-1.paris.example" and "f" * 32 in (hosts[0]["ring"], hosts[0]["other"]),
          "%s: overlaps names two proxies with one name" % engine, hosts)


def parts_of_a_ring(engine, scratch):
    """The first half of a ring, and the whole of it."""
    folder = os.path.join(scratch, "parts-" + engine)
    os.mkdir(folder)
    run(DUMP, "--quiet", "--format=parquet", "--output=" + os.path.join(folder, "a"), "--until=20s", SAMPLE)
    export(os.path.join(folder, "b"), SAMPLE)
    session = opened(engine, folder)
    rows = session.rows("SELECT count(*) AS n FROM swaps WHERE %s IS NOT NULL" % session.quoted("row"))
    whole = [row for row in dump(SAMPLE, "--table=swaps", "--columns=row")[1] if row["row"] != "-"]
    check(int(rows[0]["n"]) == len(whole), "%s: of a part of a ring and the whole, the whole is taken" % engine, rows)


def older(engine, outputs, scratch):
    """Files of a version that lacked a column, and none of some table."""
    import pyarrow.parquet as parquet
    folder = os.path.join(scratch, "older-" + engine)
    os.makedirs(os.path.join(folder, "requests"))
    path = glob.glob(os.path.join(outputs, "*-0", "requests", "*.parquet"))[0]
    parquet.write_table(parquet.read_table(path).drop(["loop_held_ns"]), os.path.join(folder, "requests", "x.parquet"))
    session = opened(engine, folder)
    row = session.rows("SELECT count(*) AS n, count(loop_held_ns) AS held FROM requests")[0]
    check((int(row["n"]), int(row["held"])) == (600, 0), engine + ": a column that files lack is null", row)
    check(int(session.rows("SELECT count(*) AS n FROM swaps")[0]["n"]) == 0, engine + ": a table without files is empty")


# ---- what else is promised ----

def bad_input(scratch, outputs):
    mixed, quoted, empty = (os.path.join(scratch, name) for name in ("mixed", "it's", "empty"))
    shutil.copytree(outputs, mixed)
    tree(outputs, mixed)
    shutil.copytree(outputs, quoted)
    os.mkdir(empty)
    for status, words, options in (
            (1, "no files of --format=parquet", ("--ddl=duckdb", empty)),
            (1, "keep them in two folders", ("--ddl=duckdb", mixed)),
            (1, "give the folder another name", ("--ddl=duckdb", quoted)),
            (1, "No such file or directory", ("--ddl=spark", os.path.join(empty, "none"))),
            (1, "cannot write", ("--ddl=duckdb", "--output=" + os.path.join(empty, "none", "x"), outputs)),
            (1, "cannot write", ("--ddl=duckdb", "--output=/dev/full", outputs)),
            (2, "unknown engine 'oracle'; there are: duckdb, clickhouse, spark", ("--ddl=oracle", outputs)),
            (2, "did you mean duckdb?", ("--ddl=duckd", outputs)),
            (2, "--table does not go with --ddl", ("--ddl=duckdb", "--table=swaps", outputs)),
            (2, "--ddl takes one folder", ("--ddl=duckdb",)),
            (2, "--ddl takes one folder", ("--ddl=duckdb", outputs, outputs))):
        out = run(DUMP, *options)
        lines = out.stderr.decode().split("\n")
        check(out.returncode == status and len(lines) == 2 and lines[0].startswith("sqtrace-dump: ") and words in lines[0] and
              not out.stdout, "bad input: " + words, out.returncode, out.stderr)


def spark_parses(folder):
    if not available("sqlglot"):
        check(True, "spark: a parser reads its statements # SKIP sqlglot could not be installed")
        return
    import sqlglot
    text, problems = ddl("spark", folder), []
    for statement in sql_engines.statements(text):
        if "USING parquet" in statement:
            continue  # sqlglot does not know a view over files
        try:
            tree_of = sqlglot.parse_one(statement, read="spark")
            problems += [] if tree_of.key == "create" else ["not read as a view: " + statement[:80]]
        except sqlglot.errors.ParseError as error:
            problems.append("%s: %s" % (statement[:80], error))
    check(text and not problems, "spark: a parser reads its statements", *problems[:3])


def query_files():
    """The files of doc/queries are the queries of the chapter."""
    folder = os.path.join(SOURCE, "doc", "queries")
    shown = {}
    for title, name, query, wanted in fleet_answers.questions(os.path.join(SOURCE, "doc", "fleet.md")):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            check(file.read() == query and wanted is not None, "doc/fleet.md shows doc/queries/" + name, title)
        shown[name] = title
    check(sorted(shown) == sorted(os.listdir(folder)) and len(shown) == 12, "doc/fleet.md shows all of twelve queries",
          sorted(shown), sorted(os.listdir(folder)))


def value_of(cell):
    """A value that is written alike for each engine."""
    text = str(cell)
    try:
        return "%.6g" % float(text)
    except ValueError:
        return text[:-len(" 00:00:00")] if text.endswith(" 00:00:00") else text


def in_order(rows):
    """Rows of engines that order equal ones differently."""
    return sorted(tuple((name, value_of(cell)) for name, cell in sorted(row.items())) for row in rows)


ANSWERED = {}  # by the first engine: query -> its rows


def chapter(engine, session):
    """Each engine has the planted answer, and all have the same rows."""
    for title, name, query, wanted in fleet_answers.questions(os.path.join(SOURCE, "doc", "fleet.md")):
        rows = session.rows(query)
        check(wanted is not None and wanted(rows), "%s: doc/queries/%s: %s" % (engine, name, title), *rows[:5])
        other = ANSWERED.setdefault(name, in_order(rows))
        check(in_order(rows) == other, "%s: doc/queries/%s: the rows of %s" % (engine, name, ENGINES[0]),
              *set(in_order(rows)) ^ set(other))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        fleet, outputs, many = (os.path.join(scratch, name) for name in ("fleet", "outputs", "many.sqt"))
        os.mkdir(fleet)
        os.mkdir(outputs)
        run(os.path.join(TOOLS, "tests/unit/make_fleet"), fleet)
        run(os.path.join(TOOLS, "tests/unit/figure_traces"), scratch)
        run(os.path.join(TOOLS, "many-records"), many, os.environ.get("SQT_DDL_RECORDS", "3000000"))
        for trace in sorted(glob.glob(os.path.join(fleet, "*.sqt"))):
            export(os.path.join(outputs, os.path.basename(trace)[:-4]), trace)
        traces = {"sample": SAMPLE, "many": many, "mixed": os.path.join(scratch, "mixed.sqt"),
                  "lossy": os.path.join(scratch, "lossy.sqt"), "moved": os.path.join(scratch, "moved.sqt")}
        folders = {name: export(os.path.join(scratch, "of-" + name), trace) for name, trace in traces.items()}
        bad_input(scratch, outputs)
        nobody, gone = os.pipe()
        os.close(nobody)
        left = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--ddl=duckdb", outputs], stdout=gone, stderr=subprocess.PIPE,
                              check=False)
        os.close(gone)
        check(left.returncode == 0 and not left.stderr, "a reader that has gone, as head(1) does, is no error")
        spark_parses(outputs)
        query_files()
        parted = tree(outputs, os.path.join(scratch, "tree"))
        for engine in ENGINES:
            for name, trace in traces.items():
                if engine != "spark" or name == "sample":
                    figures("%s: %s: " % (engine, name), opened(engine, folders[name]), trace)
            session = opened(engine, outputs)
            scopes(engine, session, fleet)
            chapter(engine, session)
            totals = "SELECT * FROM response_times ORDER BY class"
            check(session.rows(totals) == opened(engine, parted).rows(totals), engine + ": partitions hold the same")
            if engine != "spark":
                overlaps(engine, outputs, scratch)
                parts_of_a_ring(engine, scratch)
                older(engine, outputs, scratch)
        for engine in {"duckdb", "clickhouse"} - set(ENGINES):
            check(True, "%s: its views # SKIP it could not be installed" % engine)
    plan()


main()
