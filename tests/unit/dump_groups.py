#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_groups.py - --group-by, --histogram and --clock=wall.

Python computes the same from the rows of the same table, and from its own zoneinfo.
"""
import collections
import datetime
import os
import re
import subprocess
import sys
import tempfile
import zoneinfo

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
MAINS = {"requests": "total_ns", "swaps": "total_ns", "ios": "total_ns", "diskops": "total_ns", "connections": "connect_ns",
         "loops": "work_ns", "digests": "busy_ns", "waits": "total_ns", "events": None, "samples": None}
done = 0


def check(good, text):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))


def run(*options, zone=None, width=None):
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "PAGER", "SQTRACE_PAGER", "TZ")}
    env.update({"TZ": zone} if zone else {}, **({"COLUMNS": str(width)} if width else {}))
    return subprocess.run([DUMP, "--quiet", *options, SAMPLE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                          check=False)


def dump(*options, **how):
    """The comments as a dictionary, the header, the rows."""
    out = run(*options, **how)
    lines = out.stdout.decode().split("\n")[:-1]
    comments = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    cells = [line.split("\t") for line in lines if not line.startswith("# ")]
    return comments, cells[0], cells[1:]


def fails(message, *options):
    out = run(*options)
    text = out.stderr.decode()
    check(out.returncode == 2 and text == "sqtrace-dump: %s\n" % message and not out.stdout,
          "%s -> %s" % (" ".join(options), message))
    if text != "sqtrace-dump: %s\n" % message:
        print("# " + text)


# ---- groups ----

def ranked(values, per_mille):
    return values[max((len(values) * per_mille + 999) // 1000, 1) - 1]


def median(values):
    n = len(values)
    return values[n // 2] if n % 2 else values[n // 2 - 1] + (values[n // 2] - values[n // 2 - 1]) // 2


def share(part, whole):
    return "%.3f" % (100 * part / whole) if whole else "-"


def statistics(values, total):
    if not values:
        return ["0", "0", share(0, total)] + ["-"] * 5
    values = sorted(values)
    return [str(x) for x in (len(values), sum(values), share(sum(values), total), sum(values) // len(values),
                             median(values), ranked(values, 900), ranked(values, 990), values[-1])]


def groups_of(header, rows, keys, of, floors):
    """{key: the cells behind it}, from the rows of a table."""
    groups = {}
    for row in rows:
        key = tuple(floors.get(name, lambda text: text)(row[header.index(name)]) for name in keys)
        groups.setdefault(key, []).append(row)
    values = {key: [int(row[header.index(of)]) for row in some if row[header.index(of)] != "-"] if of else []
              for key, some in groups.items()}
    total = sum(map(sum, values.values()))
    return {key: [str(len(some)), share(len(some), len(rows))] + (statistics(values[key], total) if of else [])
            for key, some in groups.items()}


def close(a, b):
    """Shares may differ in how the last digit is rounded."""
    return a == b or (a[-4:-3] == "." and b[-4:-3] == "." and abs(float(a) - float(b)) < 0.0011)


def grouped(table, keys, *more, of=None, floors=None):
    _, header, rows = dump("--table=" + table, *[o for o in more if o.startswith(("--where", "--since", "--until"))])
    column = of or MAINS[table]
    want = groups_of(header, rows, keys, column, floors or {})
    comments, names, got = dump("--table=" + table, "--group-by=" + ",".join(keys), *more, *(["--of=" + of] if of else []))
    width = len(keys)
    seen = {tuple(row[:width]): row[width:] for row in got}
    good = len(seen) == len(got) and set(seen) == set(want) and all(
        all(map(close, seen[key], cells)) and len(seen[key]) == len(cells) for key, cells in want.items())
    unit = re.search(r"(_ns|_bytes|)$", column).group() if column else ""
    heads = [head % unit if "%" in head else head for head in (
        "values", "sum%s", "sum_share_pct", "mean%s", "p50%s", "p90%s", "p99%s", "max%s")] if column else []
    check(good and names == keys + ["count", "share_pct"] + heads and comments.get("of") == column,
          "%s by %s%s %s: %d groups as Python counts them" % (table, ",".join(keys), " of " + of if of else "",
                                                              " ".join(more), len(want)))
    for key in list(want)[:500] if not good else ():
        if key not in seen or not all(map(close, seen[key], want[key])):
            print("#", key, seen.get(key), want[key])
    counts = [int(row[width]) for row in got]
    if not more and not floors:
        check(counts == sorted(counts, reverse=True), "%s by %s: the largest group comes first" % (table, ",".join(keys)))


def sorts():
    _, header, plain = dump("--group-by=class,status")
    place = header.index("p99_ns")
    want = sorted(plain, key=lambda row: -int(row[place]))
    got = dump("--group-by=class,status", "--sort=-p99_ns", "--limit=4", "--columns=status,p99_ns")
    check(got[1] == ["status", "p99_ns"] and [row[1] for row in got[2]] == [row[place] for row in want[:4]],
          "--sort, --limit and --columns take columns of the groups")
    numbers = [int(row[0]) for row in dump("--table=swaps", "--group-by=ios", "--sort=ios")[2]]
    check(numbers == sorted(numbers) and len(numbers) > 9, "groups are sorted by the number that they share, not by its text")
    lines = run("--group-by=class", "--format=table", "--no-comments", width=80).stdout.decode().split("\n")
    check(lines[0].startswith("class ") and max(map(len, lines)) <= 80 and not any("\t" in line for line in lines),
          "groups as a table that fits")


def bounded():
    comments, header, rows = dump("--table=events", "--group-by=time_s", "--group=10ms", "--limit=20000")
    counted = sum(int(row[1]) for row in rows)
    _, _, plain = dump("--table=events", "--columns=time_s")
    groups = {int(row[0].replace(".", "")) // 10**7 for row in plain}
    check(len(groups) > 10000 and len(rows) == 10001 and rows[-1][0] == "other" and counted == len(plain)
          and comments["other"].startswith("%s rows of further groups" % format(int(rows[-1][1]), ",")),
          "10,000 of %d groups have rows, and the row other has the rest" % len(groups))
    check(header[:3] == ["time_s", "count", "share_pct"], "a table without a duration has counts and shares")
    capped = dump("--table=events", "--group-by=time_s", "--group=10ms", "--limit=7")[2]
    check(capped == rows[:7], "--limit prints the first groups")


# ---- histograms ----

def bounds_of(column):
    if column.endswith("_bytes"):
        return [0] + [2**i for i in range(63)]
    return [0] + [m * 10**e for e in range(19) for m in (1, 2, 5) if m * 10**e < 2**63]


def histogram(table, column, *more):
    _, header, rows = dump("--table=" + table, *more)
    texts = [row[header.index(column)] for row in rows]
    values = [int(text) for text in texts if text != "-"]
    bounds = bounds_of(column)
    counts = {}
    for value in values:
        at = max(i for i, bound in enumerate(bounds) if bound <= value)
        counts[at] = counts.get(at, 0) + 1
    want = [[str(bounds[i]), str(bounds[i + 1]), str(counts.get(i, 0)), share(counts.get(i, 0), len(values))]
            for i in range(min(counts), max(counts) + 1)]
    comments, names, got = dump("--table=" + table, "--histogram=" + column, *more)
    unit = re.search(r"(_ns|_bytes|)$", column).group()
    check(names == ["lower" + unit, "upper" + unit, "count", "share_pct"] and len(got) == len(want)
          and all(all(map(close, a, b)) for a, b in zip(got, want))
          and comments["histogram"] == "%s values of %s; %s rows have none" % (
              format(len(values), ","), column, format(len(texts) - len(values), ",")),
          "%s by %s %s: %d buckets as Python counts them" % (table, column, " ".join(more), len(want)))
    for width in (60, 80, 200):
        lines = run("--table=" + table, "--histogram=" + column, *more, "--format=table", "--no-comments",
                    width=width).stdout.decode().split("\n")[1:-1]
        bars = [line.count("#") for line in lines]
        most = max(counts.values())
        longest = max(bars)
        check(max(map(len, lines)) <= width and 8 <= longest and len(lines) == len(want) and all(
            abs(bar - int(row[2]) * longest / most) <= 1 and (bar > 0) == (row[2] != "0") for bar, row in zip(bars, want)),
              "%s by %s at %d: bars are as long as the counts say" % (table, column, width))


# ---- times of day ----

def wall(zone, table="requests", column="when", source="time_s"):
    comments, _, seconds = dump("--table=" + table, "--columns=" + source)
    start = int(re.search(r"\((\d+)\.(\d{9})\)", comments["start"]).group(1) + re.search(r"\.(\d{9})\)", comments["start"]).group(1))
    want = []
    for (text,) in seconds:
        ns = start + int(text.replace(".", ""))
        then = datetime.datetime.fromtimestamp(ns // 10**9, zoneinfo.ZoneInfo(zone))
        want.append("%s.%09d%s" % (then.strftime("%Y-%m-%dT%H:%M:%S"), ns % 10**9, then.isoformat()[-6:]))
    _, header, got = dump("--table=" + table, "--clock=wall", zone=zone)
    place = header.index(column)
    check([row[place] for row in got] == want and source not in header and want,
          "%s in %s: %s is Python's time of day" % (table, zone, column))
    _, header, rows = dump("--table=" + table, "--columns=%s,%s" % (source, column), zone=zone)
    check(header == [source, column] and [row[1] for row in rows] == want and [row[:1] for row in rows] == seconds,
          "%s in %s: the column without --clock" % (table, zone))
    return want


# ---- wide tables ----

LOG = """1795632956.321 10 10.0.0.1 TCP_MISS/200 100 A,B http://a/ c HIER_DIRECT/1.2.3.4 text/html
1795632957.321 10 10.0.0.1 TCP_MISS/200 100 A http://a/ B,c HIER_DIRECT/1.2.3.4 text/html
1795632958.321 10 10.0.0.1 TCP_MISS/200 100 A http://a/ B,c HIER_DIRECT/1.2.3.4 text/html
"""


def wide():
    """Columns have the counts of their own group, also where there are many groups, and where two are called alike."""
    _, _, rows = dump("--table=events", "--columns=kid,id")
    counts, all_of = collections.Counter(map(tuple, rows)), collections.Counter(row[1] for row in rows)
    comments, header, got = dump("--table=events", "--group-by=kid,id", "--wide")
    shown = [name[3:] for name in header[1:]]
    least = max(number for text, number in all_of.items() if text not in shown)
    check(len(all_of) > 2000 and len(set(shown)) == 250 and min(all_of[text] for text in shown) >= least and
          comments["wide"] == "%d groups with fewer rows have no column" % (len(all_of) - 250),
          "the largest 250 of %d groups have columns" % len(all_of))
    check(all(int(cell) == counts[row[0], text] for row in got for text, cell in zip(shown, row[1:])),
          "each with the counts of its own group")
    with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
        log.write(LOG)
        log.flush()
        out = subprocess.run([DUMP, "--access-log=" + log.name, "--no-comments", "--group-by=class,method,user_name", "--wide"],
                             stdout=subprocess.PIPE, check=False).stdout.decode()
    check(out == "class\tA,B,c\tA,B,c\nmiss\t2\t1\n", "groups that are called alike have a column each")
    far_apart()


def far_apart():
    """A row for each group of time in which nothing happened, unless these are far too many."""
    for group, count in ("1ms", 2001), ("1us", 3):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(LOG)
            log.flush()
            out = subprocess.run([DUMP, "--access-log=" + log.name, "--group-by=time_s,class", "--group=" + group, "--wide"],
                                 stdout=subprocess.PIPE, check=False).stdout.decode()
        rows = [line for line in out.splitlines() if not line.startswith("# ")][1:]
        said = "# empty: 1,999,998 groups of time in which nothing happened have no row" in out
        check(len(rows) == count and said == (count == 3), "groups of %s in 2 s: %d rows" % (group, len(rows)))


def walls():
    berlin = wall("Europe/Berlin")
    wall("America/St_Johns")
    wall("Asia/Kathmandu", "events")
    # What is printed is taken back.
    since, until = sorted(berlin)[100], sorted(berlin)[200]
    got = dump("--clock=wall", "--columns=when", "--since=" + since, "--until=" + until, zone="UTC")[2]
    moments = sorted(datetime.datetime.fromisoformat(row[0][:26] + row[0][29:]) for row in got)
    check(len(got) == 100 and moments[0] == datetime.datetime.fromisoformat(since[:26] + since[29:]),
          "--since and --until take the times that --clock=wall prints")
    _, header, plain = dump()
    _, headed, timed = dump("--clock=wall")
    check(headed == ["when"] + header[1:] and [row[1:] for row in timed] == [row[1:] for row in plain],
          "--clock=wall changes nothing but the times")
    check(dump("--clock=trace")[1:] == (header, plain), "--clock=trace is how it is without")
    latest = dump("--clock=wall", "--sort=-when", "--limit=3", "--columns=when", zone="Europe/Berlin")[2]
    check([row[0] for row in latest] == sorted(berlin, reverse=True)[:3], "--sort=-when")
    by_minute = dump("--group-by=when", "--group=1min", "--columns=when,count", zone="Europe/Berlin")[2]
    want = {}
    for text in berlin:
        want[text[:16] + ":00" + text[-6:]] = want.get(text[:16] + ":00" + text[-6:], 0) + 1
    check(by_minute == [[text, str(want[text])] for text in sorted(want)], "--group-by=when has whole minutes, in order")
    lines = run("--clock=wall", "--format=table", "--no-comments", "--limit=5", width=80).stdout.decode().split("\n")
    check(re.match(r"when +kid ", lines[0]) and re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00 ", lines[1]),
          "a table for people begins with the time of day")


def mistakes():
    fails("--group-by: requests has no column 'clas'; did you mean class?", "--group-by=clas")
    fails("--group-by: requests has no column 'sio'; tables swaps, ios and diskops have it", "--group-by=sio")
    fails("--of: requests has no column 'service_ns'; tables ios and waits have it", "--group-by=class", "--of=service_ns")
    fails("--group-by: more than 4 columns", "--group-by=kid,class,status,tag,method")
    fails("--group-by goes with tables, not with figures", "--figure=load", "--group-by=time_s")
    fails("--sort: requests by class has no column 'p98_ns'; did you mean p90_ns, p99_ns or p50_ns?", "--group-by=class",
          "--sort=-p98_ns")
    fails("--columns: events by event has no column 'xyz'; it has event, count, share_pct", "--table=events",
          "--group-by=event", "--columns=xyz")
    fails("--of goes with --group-by", "--of=total_ns")
    fails("--of: tag has no numbers to sum up", "--group-by=class", "--of=tag")
    fails("--of: requests has no column 'totl_ns'; did you mean total_ns?", "--group-by=class", "--of=totl_ns")
    fails("--histogram: class has no numbers; --group-by=class counts its values", "--histogram=class")
    fails("--histogram: requests has no column 'totl_ns'; did you mean total_ns?", "--histogram=totl_ns")
    fails("--histogram goes with tables, not with figures", "--figure=load", "--histogram=time_s")
    for option in ("--limit=3", "--sort=total_ns", "--group-by=class"):
        fails("%s does not go with --histogram" % option.split("=")[0], "--histogram=total_ns", option)
    fails("--clock: 'utc' is unknown; there are: trace, wall", "--clock=utc")
    fails("--clock=wall goes with tables, not with figures", "--clock=wall", "--figure=load")
    for option in ("--group-by=class", "--histogram=total_ns", "--clock=wall"):
        fails("%s does not go with --format=chrome" % option.split("=")[0], "--format=chrome", option)


ten_seconds = {"time_s": lambda text: "%d.000000000" % (int(text.split(".")[0]) // 10 * 10)}
grouped("requests", ["class"])
grouped("requests", ["server"])
grouped("requests", ["kid", "class", "status"])
grouped("requests", ["class"], of="dns_ns")
grouped("requests", ["tag"], "--where=class == miss", of="size_bytes")
grouped("requests", ["conn"], "--since=30s", "--until=100s")
grouped("requests", ["time_s", "class"], "--group=10s", floors=ten_seconds)
grouped("requests", ["object"])
grouped("swaps", ["kid", "dir", "store"], "--where=direction == in")
grouped("ios", ["dir", "direction"], of="service_ns")
grouped("diskops", ["op", "store", "result"])
grouped("connections", ["server", "outcome"])
grouped("loops", ["longest_activity"])
grouped("waits", ["kind", "name"])
grouped("events", ["event"])
grouped("events", ["event", "arg"], "--where=event == UNLINK or event == DNS_END or event ~ TLS_* or event == START")
grouped("samples", ["source", "name"])
sorts()
bounded()
wide()
for one in (("requests", "total_ns"), ("requests", "size_bytes"), ("requests", "dns_ns"), ("loops", "ready_fds"),
            ("ios", "service_ns", "--where=direction == in")):
    histogram(*one)
walls()
mistakes()
print("1..%d" % done)
