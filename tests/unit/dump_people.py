#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_people.py - what a person gets: aligned tables that fit a terminal, sorted rows, a pager.

The same rows as TSV say what each cell must show, and Python's sort is held against --sort and --limit.
"""
import json
import os
import pty
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
TABLES = ["requests", "swaps", "ios", "diskops", "connections", "servers", "summary", "loops", "stalls"]
with open(os.path.join(SOURCE, "src", "format", "stages.def")) as definitions:
    STAGES = re.findall(r"^SQT_STAGE\(\w+, +(\w+),", definitions.read(), re.M) + ["unaccounted"]
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KB": 1024, "MB": 1024 ** 2, "GB": 1024 ** 3, "%": 1}
done = 0


def check(good, text):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))


def dump(*options, width=None):
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "PAGER", "SQTRACE_PAGER")}
    if width:
        env["COLUMNS"] = str(width)
    out = subprocess.run([DUMP, "--quiet", *options, SAMPLE], check=True, stdout=subprocess.PIPE, env=env)
    return out.stdout.decode().split("\n")[:-1]


def head(name):
    """A column's head: its values have units, so its name has none; seconds have no unit."""
    return re.sub("_(ns|ms|pct|bytes)$", "", name)


def rows_of(lines):
    """The header and the rows of TSV."""
    lines = [line.split("\t") for line in lines if not line.startswith("# ")]
    return lines[0], lines[1:]


def aligned(lines):
    """The names, the cells of each row, and the lines that are no comments."""
    lines = [line for line in lines if not line.startswith("# ")]
    # Two spaces or more stand between columns, and one at most inside of a cell.
    return lines[0].split(), [re.split(" {2,}", line.strip()) for line in lines[1:]], lines


def value_of(text):
    """The number that an aligned cell shows, and how far it may be off: half of its last digit."""
    number, _, unit = text.replace(",", "").partition(" ")
    scale = UNITS[unit] if unit else 1
    decimals = len(number.partition(".")[2])
    return float(number) * scale, 0.5 * 10 ** -decimals * scale * 1.001


def same(shown, plain, name):
    """Whether an aligned cell shows what the cell of the TSV says."""
    if shown == plain:
        return True
    try:
        value, off = value_of(shown)
        want = float(plain) * (1e6 if name.endswith("_ms") else 1)
    except (ValueError, KeyError):
        return plain.startswith(shown)  # a text that was cut
    return abs(value - want) <= off


def fits(table):
    header, plain = rows_of(dump("--table=" + table, "--limit=300"))
    if table == "requests":  # tables for people have two columns more
        header, plain = rows_of(dump("--limit=300", "--columns=" + ",".join(header + ["longest_stage", "dir"])))
    for width in (80, 120, 200):
        lines = dump("--table=" + table, "--format=table", "--limit=300", width=width)
        names, rows, shown = aligned(lines)
        check(max(map(len, shown)) <= width and len(rows) == len(plain), "%s: no row is wider than %d" % (table, width))
        left_out = [line for line in lines if line.startswith("# no room for: ")]
        empty = [name for name, column in zip(header, zip(*plain)) if set(column[:200]) == {"-"}]  # none without rows
        missing = set(header) - set(names) - set(empty)
        told = set(left_out[0].split(": ", 1)[1].split()) if left_out else set()
        places = [i for i, name in enumerate(header) if name not in told and name not in empty]
        check(names == [head(header[i]) for i in places] and missing >= told and told <= set(header)
              and not told & set(empty), "%s at %d: columns that find no room are told" % (table, width))
        names = [header[i] for i in places]
        wrong = [(name, shown_, row[place]) for cells, row in zip(rows[:200], plain)
                 for name, shown_, place in zip(names, cells, places)
                 if not same(shown_, row[place], name)] if table not in ("findings", "stalls") else []
        check(not wrong, "%s at %d: each cell shows the value" % (table, width))
        for line in wrong[:3]:
            print("#", line)


def key(row, header, columns):
    """Missing values come last; a sort by several keys is one sort for each, the last key first."""
    name, descending = columns
    text = row[header.index(name)]
    if text == "-":
        return (1, 0)
    value = float(text) if re.fullmatch(r"-?[0-9.]+", text) else text
    return (0, (-value if descending else value) if isinstance(value, float) else value)


def sorts():
    header, plain = rows_of(dump())
    random_ = random.Random(26)
    for columns in ([("total_ns", True)], [("total_ns", False)], [("dns_ns", True), ("time_s", False)],
                    [("status", False), ("class", False), ("size_bytes", True)], [("tag", False)], [("tries", True)]):
        want = plain
        for one in reversed(columns):
            want = sorted(want, key=lambda row: key(row, header, one))
        text = ",".join(("-" if descending else "") + name for name, descending in columns)
        for limit in (None, 1, 10, random_.randrange(len(plain)), len(plain), 10 * len(plain)):
            options = ["--sort=" + text] + (["--limit=%d" % limit] if limit else [])
            check(rows_of(dump(*options))[1] == want[:limit], "%s is Python's order" % " ".join(options))
    check(rows_of(dump("--limit=7"))[1] == plain[:7], "--limit alone: the first rows")
    whole = rows_of(dump("--table=events"))[1]
    check(rows_of(dump("--table=events", "--limit=1000"))[1] == whole[:1000], "--limit of events")
    # Numbers of records are compared, not how they are printed.
    want = sorted(whole, key=lambda row: row[2])
    check(rows_of(dump("--table=events", "--sort=event"))[1] == want, "events sorted by name")
    keys = rows_of(dump("--columns=xid", "--sort=-total_ns", "--limit=5"))[1]
    check(keys == [[row[header.index("xid")]] for row in sorted(
        plain, key=lambda row: key(row, header, ("total_ns", True)))[:5]], "a key need not be printed")


def on_terminal(*options, **variables):
    """What a terminal of 100 characters shows."""
    parent, child = pty.openpty()
    subprocess.run(["stty", "cols", "100", "rows", "40"], stdin=child, check=True)
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "PAGER", "SQTRACE_PAGER")}
    process = subprocess.Popen([DUMP, "--quiet", *options, SAMPLE], stdin=child, stdout=child, stderr=child,
                               env=dict(env, **variables))
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(parent)
    check(process.wait() == 0, "status 0 on a terminal (%s)" % " ".join(options))
    return shown.decode().replace("\r\n", "\n").split("\n")[:-1]


def terminals():
    tsv = dump("--limit=50")
    lines = on_terminal("--limit=50", PAGER="cat")
    names, rows, shown = aligned(lines)
    check(len(rows) == 50 and max(map(len, shown)) <= 100 and "\t" not in "".join(lines),
          "a terminal gets aligned columns that fit")
    check("\t" in "".join(tsv), "a pipe gets TSV")
    check(on_terminal("--limit=50", "--format=tsv", PAGER="cat") == tsv, "--format=tsv on a terminal is that of a pipe")
    with tempfile.TemporaryDirectory() as folder:
        seen = os.path.join(folder, "seen")
        shown = on_terminal("--limit=50", SQTRACE_PAGER="cat >'%s'; echo paged" % seen, PAGER="false")
        with open(seen) as file:
            check(shown == ["paged"] and file.read().split("\n")[:-1] == lines, "SQTRACE_PAGER gets the output, before PAGER")
        shown = on_terminal("--limit=50", "--format=tsv", "--output=" + seen, SQTRACE_PAGER="echo paged")
        check(shown == [], "--output is not paged")
    check(on_terminal("--table=ios", PAGER="head -n 3 >/dev/null") == [], "a pager that ends early is no error")


def chosen():
    names, _, lines = aligned(dump("--columns=object,total_ns,dns_ns,unaccounted_ns,first_byte_ns,client_connect_ns",
                                   "--format=table", "--limit=20", width=60))
    check(names[:4] == "object total dns unaccounted".split()
          and max(map(len, lines)) <= 60, "columns that are asked for are shown, in that order, as far as they go")
    check(not [line for line in dump("--format=table", "--no-comments", "--no-header", "--limit=5") if
               line.startswith(("#", "time"))], "without header and comments")


def paragraphs():
    """Findings: a paragraph each, with what to do and the command, which stays in one line."""
    header, rows = rows_of(dump("--table=findings"))
    for width in (40, 80, 100, 200):
        lines = dump("--table=findings", "--format=table", "--no-comments", width=width)
        found = [part.split("\n") for part in "\n".join(lines).split("\n\n")]
        good = len(found) == len(rows) > 1
        for part, row in zip(found, rows):
            cells = dict(zip(header, row))
            words = " ".join(("%s. %s %s" % (cells["rank"], cells["sentence"], cells["advice"])).split())
            good &= " ".join(" ".join(part[:-1]).split()) == words and part[-1].strip() == cells["command"]
            good &= all(len(line) <= min(width, 100) or " " not in line.strip() for line in part[:-1])
            good &= all(line.startswith("    ") for line in part[1:])
        check(good, "findings at %d: a paragraph for each" % width)
    names = dump("--table=findings", "--format=table", "--columns=cause,requests", "--no-comments")[0].split()
    check(names == ["cause", "requests"], "findings in columns that are asked for")
    check(on_terminal("--table=findings", PAGER="cat") == dump("--table=findings", "--format=table", width=100),
          "a terminal gets the paragraphs")


def json_rows():
    """Each object has the names and the values of the TSV."""
    for table in TABLES + ["findings", "events", "samples"]:
        header, rows = rows_of(dump("--table=" + table, "--limit=500"))
        lines = dump("--table=" + table, "--limit=500", "--format=json")
        wrong = []
        for line, row in zip(lines, rows):
            one = json.loads(line, parse_float=str, parse_int=str)
            if list(one) != header:
                wrong.append(line)
            wrong += [(name, text, one[name]) for name, text in zip(header, row)
                      if one[name] != text and not (text == "-" and one[name] is None)]
        check(len(lines) == len(rows) > 0 and not wrong, "%s as JSON is what TSV has" % table)
        for line in wrong[:3]:
            print("#", line)
    lines = dump("--group-by=class", "--format=json")
    check([json.loads(line)["class"] for line in lines] == [r[0] for r in rows_of(dump("--group-by=class"))[1]], "groups as JSON")


def helps():
    """--help fits, says the same with -h, and has no line that ends in a space."""
    for name in ("dump", "report", "top", "load", "exporter", "ship", "snapshot", "attach"):
        program = os.path.join(TOOLS, "sqtrace-" + name)
        if name == "attach" and not os.path.exists(program):
            continue  # a machine without libbpf
        texts = [subprocess.run([program, option], check=True, stdout=subprocess.PIPE, text=True).stdout for option in ("-h", "--help")]
        lines = texts[0].split("\n")
        check(texts[0] == texts[1] and max(map(len, lines)) <= 79 and not [line for line in lines if line.endswith(" ")],
              "sqtrace-%s -h fits 80 columns" % name)
    for script in ("sqtrace-build", "sqtrace-experiment", "demo", "check"):
        out = subprocess.run([os.path.join(SOURCE, "tools", script), "-h"], check=False, stdout=subprocess.PIPE, text=True)
        check(out.returncode == 0 and out.stdout.startswith("usage:"), "%s -h" % script)


def longest():
    """The longest stage is the one whose column has the largest time."""
    header, rows = rows_of(dump())
    names = [name for name in header if name.endswith("_ns") and name[:-3] in STAGES]
    header, rows = rows_of(dump("--columns=longest_stage," + ",".join(names)))
    wrong = []
    for row in rows:
        times = {name[:-3]: int(text) for name, text in zip(header[1:], row[1:]) if text != "-"}
        most = max(times.values(), default=0)
        if (row[0] == "-") != (most == 0) or (most and times.get(row[0]) != most):
            wrong.append(row)
    check(rows and not wrong and len(names) == len(STAGES), "longest_stage names the longest")
    for row in wrong[:3]:
        print("#", row)
    reads = {(r[0], r[1]): r[2] for r in rows_of(dump("--table=swaps", "--where=direction == in", "--columns=kid,xid,dir"))[1]}
    of = {(r[0], r[1]): r[2] for r in rows_of(dump("--columns=kid,xid,dir", "--where=swap_ins > 0"))[1]}
    check(of and all(reads.get(key, "-") == value for key, value in of.items()), "dir is that of the swap-in")


longest()
paragraphs()
json_rows()
helps()
for one in TABLES:
    fits(one)
sorts()
terminals()
chosen()
print("1..%d" % done)
