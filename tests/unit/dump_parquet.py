#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_parquet.py - --format=parquet, judged cell by cell against TSV by the programs that people read Parquet with.

pyarrow, DuckDB, Polars and ClickHouse (chdb) come from PyPI into a virtual environment of the build folder, or of
$SQT_VENVS, which several builds share. Those that cannot be installed are skipped, and named. The files of a process, one
after the other, hold its rows in their order.
"""
import glob
import os
import re
import resource
import sys
import tempfile

sys.dont_write_bytecode = True
from pypi import READERS, VENV, available, enter, run  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
with open(os.path.join(SOURCE, "src", "row", "tables.def"), encoding="utf-8") as declared:
    THINGS = tuple(t for t in re.findall(r'^SQT_TABLE\(\w+, "(\w+)", THINGS,', declared.read(), re.M) if t != "events") + (
        "finding_minutes",)
MANY = 1500  # processes: more files than the budget of memory has room for, and too many for slow readers
SUMMED = ("summary", "stalls")
IDENTITY = ("host", "service", "ring", "kid", "row", "time_ns")
ASKED = {"requests": ["trace_id", "parent_id", "trace_flags", "longest_stage", "dir", "client", "url", "url_host", "user_name",
                      "hierarchy", "log_dns_ns", "log_peer_ns", "log_server_ns", "log_adapt_ns", "notes",
                      "denied_by", "range_bytes", "tunnel_first_ns", "tunnel_held_ns", "tunnel_unsent_ns",
                      "tunnel_rest_ns", "not_kept"]}  # in text only where they are asked for
done = 0


def check(good, text, skip=""):
    global done
    done += 1
    print("%s %d - %s%s" % ("ok" if good else "not ok", done, text, " # SKIP " + skip if skip else ""), flush=True)
    return good


# ---- readers: the columns of a file, as {name: [value]} ----

def pyarrow(path):
    import pyarrow.parquet
    return pyarrow.parquet.ParquetFile(path).read().to_pydict()


def duckdb(path):
    import duckdb
    result = duckdb.sql("select * from read_parquet('%s')" % path)
    return dict(zip(result.columns, map(list, zip(*result.fetchall())))) or {name: [] for name in result.columns}


def polars(path):
    import polars
    return polars.read_parquet(path).to_dict(as_series=False)


def clickhouse(path):
    import chdb
    import io
    import pyarrow.ipc
    data = chdb.query("select * from file('%s', Parquet) settings max_threads = 1, input_format_parquet_preserve_order = 1" % path, "ArrowStream").bytes()
    table = pyarrow.ipc.open_stream(io.BytesIO(data)).read_all() if data else None
    if table is None:
        return {}
    columns = table.to_pydict()
    return {name: [v.decode() if isinstance(v, bytes) else v for v in values] for name, values in columns.items()}


# ---- comparing ----

def text(value, like):
    """A value as TSV has it; like: its cell there."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        bits = value % 2 ** 64
        return ("%016x" % bits if re.fullmatch("[0-9a-f]{16}", like) else
                like if re.fullmatch(r"-?\d+", like) and int(like) % 2 ** 64 == bits else str(value))
    return format(value, "f")


def tsv(data):
    lines = [line.split("\t") for line in data.decode().split("\n")[:-1] if not line.startswith("#")]
    return lines[0], lines[1:]


def differences(folder, header, rows, read):
    """Where a table's files differ from its rows. Rows of tables that sum up are of no process."""
    ring, by_ring, problems = header.index("ring"), {}, []
    summed = os.path.basename(folder) in SUMMED
    for row in rows:
        by_ring.setdefault("-" if summed else row[ring], []).append(row)
    for path in sorted(glob.glob(os.path.join(folder, "*.parquet"))):
        columns = read(path)
        if not columns:
            continue
        if [name for name in columns if not name.endswith("_text")] != header:
            return ["%s has the columns %s" % (path, ", ".join(columns))]
        count = len(columns["ring"])
        wanted = by_ring.get(os.path.basename(path).rsplit("-", 1)[0].replace("none", "-"), [])
        here, wanted[:] = wanted[:count], wanted[count:]
        if len(here) != count:
            problems.append("%s: %d rows too many" % (path, count - len(here)))
        for column, name in enumerate(header):
            values = columns[name]
            if name + "_text" in columns:
                values = [v if t is None else t for v, t in zip(values, columns[name + "_text"])]
            for row, value in zip(here, values):
                if text(value, row[column]) != row[column]:
                    problems.append("%s: %s is %r, not %s" % (os.path.basename(path), name, value, row[column]))
                    break
    return problems + ["%d rows of ring %s are missing" % (len(left), one) for one, left in by_ring.items() if left]


def judge(what, folder, tables, readers=tuple(READERS)):
    """tables: name -> (header, rows)"""
    for reader in readers:
        if not available(reader):
            check(True, "%s: %s" % (what, reader), READERS[reader] + " could not be installed")
            continue
        problems = []
        for name, (header, rows) in tables.items():
            problems += differences(os.path.join(folder, name), header, rows, globals()[reader])
        check(not problems, "%s: %s reads every cell of %d tables, %d rows" %
              (what, reader, len(tables), sum(len(rows) for _, rows in tables.values())))
        for problem in problems[:5]:
            print("# " + problem)


# ---- traces ----

def table_of(trace, name):
    header = tsv(run(DUMP, "--quiet", "--format=tsv", "--table=" + name, trace).stdout)[0]
    columns = header + ASKED.get(name, []) + [c for c in IDENTITY if c not in header]
    return tsv(run(DUMP, "--quiet", "--format=tsv", "--table=" + name, "--columns=" + ",".join(columns), trace).stdout)


def trace(what, path, scratch, named=()):
    folder = os.path.join(scratch, what)
    out = run(DUMP, "--quiet", "--format=parquet", "--output=" + folder, *(["--table=" + ",".join(named)] if named else []), path)
    check(out.returncode == 0 and not out.stderr, "%s: written" % what)
    tables = {name: table_of(path, name) for name in named or THINGS}
    check(sorted(os.listdir(folder)) == sorted(tables), "%s: a folder for each table" % what)
    check(not [f for f in glob.glob(folder + "/*/.*")], "%s: no file that is not whole" % what)
    judge(what, folder, tables)
    return tables


def types(scratch):
    for rows, processes in ((0, 1), (1, 1), (300, 2), (132000, 1), (3000, MANY)):
        what = "types, %d rows, %d processes" % (rows, processes)
        folder = os.path.join(scratch, what)
        out = run(os.path.join(TOOLS, "tests/unit/make_parquet"), folder, str(rows), str(processes))
        check(out.returncode == 0, what + ": written")
        judge(what, folder, {"types": tsv(out.stdout)}, ("pyarrow",) if processes == MANY else tuple(READERS))


# ---- what else is promised ----

def unique_rows(tables):
    for name, (header, rows) in tables.items():
        keys = [(row[header.index("ring")], row[header.index("row")]) for row in rows if row[header.index("row")] != "-"]
        check(len(keys) == len(set(keys)), "%s: ring and row name a row" % name)


def statistics(folder):
    import pyarrow.parquet as pq
    for path in glob.glob(os.path.join(folder, "*", "*.parquet")):
        file = pq.ParquetFile(path)
        for group in range(file.metadata.num_row_groups):
            part = file.read_row_group(group)
            for i in range(file.metadata.num_columns):
                column, values = file.metadata.row_group(group).column(i), [v for v in part.column(i).to_pylist() if v is not None]
                s = column.statistics
                if s is None or s.null_count != part.num_rows - len(values):
                    return "%s: %s has no count of nulls, or a wrong one" % (path, column.path_in_schema)
                if values and s.has_min_max and not isinstance(values[0], (int, str)):
                    continue
                if values and s.has_min_max and (s.min, s.max) != (min(values), max(values)):
                    return "%s: %s lies within %r, %r" % (path, column.path_in_schema, s.min, s.max)
                if values and not s.has_min_max and not isinstance(values[0], str):
                    return "%s: %s has no bounds" % (path, column.path_in_schema)
    return ""


def fails(status, message, *options):
    out = run(DUMP, *options, SAMPLE)
    good = out.returncode == status and out.stderr.decode().startswith("sqtrace-dump: ") and message in out.stderr.decode()
    check(good and not out.stdout, "%s -> %s" % (" ".join(options).replace(os.path.dirname(VENV), ""), message))
    if not good:
        print("# %d: %s" % (out.returncode, out.stderr.decode()))


def full_disk(scratch):
    folder = os.path.join(scratch, "full")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    out = run(DUMP, "--quiet", "--format=parquet", "--output=" + folder, SAMPLE, preexec_fn=limit, restore_signals=False)  # SIGXFSZ stays ignored
    check(out.returncode == 1 and re.search(rb"full/\w+/[0-9a-f]{32}-000000\.parquet: cannot write: File too large", out.stderr),
          "a file that cannot be written is named")
    check(not glob.glob(folder + "/*/.*"), "and nothing half-written is left")


def main():
    enter(*READERS.values())
    with tempfile.TemporaryDirectory() as scratch:
        tables = trace("sample", SAMPLE, scratch)
        unique_rows(tables)
        made = os.path.join(scratch, "made.sqt")
        run(os.path.join(TOOLS, "many-records"), made, "8000")
        trace("made", made, scratch, ("requests", "swaps", "ios", "waits"))
        trace("records", made, scratch, ("events", "syscalls", "summary", "stalls"))
        types(scratch)
        if available("pyarrow"):
            problem = statistics(os.path.join(scratch, "types, 300 rows, 2 processes")) or statistics(os.path.join(scratch, "sample"))
            check(not problem, "statistics are the bounds of each row group")
            print("# " + problem if problem else "#")
        full_disk(scratch)
        there = os.path.join(scratch, "sample")
        fails(1, "cannot make this directory", "--format=parquet", "--output=" + there)
        fails(2, "name it with --output=DIRECTORY", "--format=parquet")
        fails(2, "unknown table 'swap'; did you mean swaps?", "--format=parquet", "--output=" + there, "--table=requests,swap")
        fails(2, "ios is named twice", "--format=parquet", "--output=" + there, "--table=ios,ios")
        fails(2, "is a figure", "--format=parquet", "--output=" + there, "--table=load")
        fails(2, "--where goes with one table", "--format=parquet", "--output=" + there, "--where=kid == 1")
        fails(2, "--sort does not go with --format=parquet", "--format=parquet", "--output=" + there, "--sort=kid")
    print("1..%d" % done)


main()
