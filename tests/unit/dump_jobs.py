#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_jobs.py - the twelve jobs that users come with, each as one command of a manual: the command stands in the manual as it is
here, it runs, and its answer is what Python finds in the rows of the sample.  So do the jobs of sqtrace-report(1) and of
sqtrace-top(1).  What a click does in a report is in report_requests.py.
"""
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
SAMPLE = os.path.join(SOURCE, "doc", "sample")
TRACE = "/var/spool/squid/trace"
ZONE = "UTC"
done = 0


def check(good, text):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))


def manual(program):
    """All commands of the section EXAMPLES, each in one line."""
    with open(os.path.join(TOOLS, program + ".1"), encoding="utf-8") as page:
        text = page.read().split(".SH EXAMPLES\n")[1].split("\n.SH ")[0]
    commands = "\n".join(re.findall(r"^\.EX\n(.*?)^\.EE", text, re.M | re.S))
    for old, new in (("\\-", "-"), ("\\(aq", "'"), ("\\e", "\\"), ("\\&", "")):
        commands = commands.replace(old, new)
    return [re.sub(r" +", " ", line) for line in re.sub(r"(\\|\|)\n *", lambda m: m.group(1).strip("\\") + " ", commands).split("\n")]


COMMANDS = manual("sqtrace-dump") + manual("sqtrace-report") + manual("sqtrace-top")
KIDS = {"before": "kid-1.sqt", "after": "kid-2.sqt"}


def run(command, folder, **words):
    env = dict(os.environ, TZ=ZONE, PATH=TOOLS + ":" + os.environ["PATH"])
    command = command.replace(TRACE, "'%s'" % SAMPLE)
    for label, name in KIDS.items():
        command = command.replace("/srv/trace-" + label, "'%s'" % os.path.join(SAMPLE, name))
    command = command.replace("sqtrace-report ", "sqtrace-report --quiet --data='%s/tools' " % SOURCE)
    for old, new in words.items():
        command = command.replace(old.replace("__", " == ").replace("_", ":"), new)
    return subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=folder,
                          check=False)


def rows_of(text):
    lines = [line.split("\t") for line in text.decode().split("\n")[:-1] if not line.startswith("# ")]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def table(*options):
    out = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, SAMPLE], stdout=subprocess.PIPE,
                         env=dict(os.environ, TZ=ZONE), check=True)
    return rows_of(out.stdout)


def job(name, command, judge, **words):
    """words: what stands in the manual, with _ for : and __ for ==, and what the sample has in its place"""
    with tempfile.TemporaryDirectory() as folder:
        known = all(line in COMMANDS for line in command.split("\n"))
        out = run(command, folder, **words)
        good = known and (not out.stderr or judge is too_slow) and judge(out, folder)
    check(good, name)
    if not good:
        print("# in the manual: %s; status %d\n# %s\n# %s" % (known, out.returncode, command, out.stderr.decode()))


def ranked(values, per_mille):
    values = sorted(values)
    return values[(len(values) * per_mille + 999) // 1000 - 1]


REQUESTS = table()
# One that is not alone on its connection.
FIRST = next(row for row in REQUESTS if row["kid"] == "1" and row["outcome"] == "complete" and
             sum(other["kid"] == "1" and other["conn"] == row["conn"] for other in REQUESTS) > 1)


def slowest(out, _):
    rows = rows_of(out.stdout)
    want = sorted((int(row["total_ns"]) for row in REQUESTS if row["total_ns"] != "-"), reverse=True)[:10]
    stages = [name for name in rows[0] if name.endswith("_ns") and name not in (
        "client_connect_ns", "total_ns", "first_byte_ns", "server_from_ns", "server_until_ns", "client_tls_ns",
        "accept_wait_ns", "loop_held_ns", "read_wait_ns")]
    return [int(row["total_ns"]) for row in rows] == want and all(
        sum(int(row[name]) for name in stages if row[name] != "-") == int(row["total_ns"]) for row in rows)


def by_cache_dir(out, _):
    groups = {}
    for row in table("--table=swaps"):
        if row["direction"] == "in" and row["total_ns"] != "-":
            groups.setdefault((row["kid"], row["dir"], row["store"]), []).append(int(row["total_ns"]))
    rows = rows_of(out.stdout)
    got = {(row["kid"], row["dir"], row["store"]): int(row["p99_ns"]) for row in rows}
    return got == {key: ranked(values, 990) for key, values in groups.items()} and [
        int(row["p99_ns"]) for row in rows] == sorted(got.values(), reverse=True)


def rates(rows):
    counts = {}
    for row in REQUESTS:
        key = (row["time_s"].split(".")[0] + ".000000000", row["class"])
        counts[key] = counts.get(key, 0) + 1
    return {(row["time_s"], row["class"]): int(row["count"]) for row in rows} == counts


def picture(out, folder):
    """The picture of job 3 has a line for each class that its command names."""
    with open(os.path.join(folder, "classes.svg"), encoding="utf-8") as file:
        text = file.read()
    return all(re.search(">%s<" % name, text) for name in ("miss", "mem_hit", "disk_hit"))


def compared(_, folder):
    """Each class that both traces have is told, with its numbers of requests in both."""
    with open(os.path.join(folder, "compared", "index.html"), encoding="utf-8") as file:
        text = re.sub(r"<[^>]*>", "", file.read())
    counts = [{}, {}]
    for count, name in zip(counts, KIDS.values()):
        for row in rows_of(subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", os.path.join(SAMPLE, name)],
                                          stdout=subprocess.PIPE, check=True).stdout):
            if row["total_ns"] != "-" and row["outcome"] not in ("lost", "clock", "unfinished"):
                count[row["class"]] = count.get(row["class"], 0) + 1
    both = [name for name in counts[0] if name in counts[1] and name != "-"]
    told = re.findall(r": ([\d,]+) and ([\d,]+) requests", text)
    return "From before to after" in text and len(both) > 3 and sorted(told) == sorted(
        tuple("{:,}".format(count[name]) for count in counts) for name in both)


def heat_map(_, folder):
    """The map of all requests, and that of each class, counts them all."""
    with open(os.path.join(folder, "report", "requests.js"), encoding="utf-8") as file:
        text = file.read()
    maps = json.loads(text[text.index("push(") + 5:text.rindex(");")])["heat"]["maps"]
    got = {(one["by"], one["name"]): sum(one["cells"][2::3]) for one in maps if one["by"] in ("all", "class")}
    want = {}
    for row in REQUESTS:
        if row["total_ns"] != "-" and row["outcome"] not in ("lost", "clock", "unfinished"):
            for key in (("all", "all"), ("class", row["class"])):
                want[key] = want.get(key, 0) + 1
    return got == want


def now(out, _):
    text = out.stdout.decode()
    return "Requests in flight" in text and re.search(r"requests a second: [\d.]+ now", text)


def one_connection(out, _):
    want = [row for row in REQUESTS if row["kid"] == "1" and row["conn"] == FIRST["conn"]]
    return len(want) > 1 and rows_of(out.stdout) == want


def ten_seconds(out, _):
    rows = rows_of(out.stdout)
    start = datetime.datetime.fromisoformat(AT[:19] + "+00:00")
    times = [datetime.datetime.fromisoformat(row["when"][:26] + row["when"][29:]) for row in rows]
    shift = START - int(START)
    want = [row["xid"] for row in REQUESTS
            if start.timestamp() <= int(START) + shift + float(row["time_s"]) < start.timestamp() + 10]
    return [row["xid"] for row in rows] == want and len(want) > 5 and all(
        start <= time < start + datetime.timedelta(seconds=10) for time in times)


def at_the_end(out, _):
    last = max(float(row["time_s"]) for row in table("--table=events", "--columns=time_s"))
    want = [row for row in REQUESTS if float(row["time_s"]) >= last - 10]
    return want and sum(int(row["count"]) for row in rows_of(out.stdout)) == len(want)


def too_slow(out, _):
    last = max(float(row["time_s"]) for row in table("--table=events", "--columns=time_s"))
    recent = [row for row in REQUESTS if float(row["time_s"]) >= last - 300]
    misses = [int(row["total_ns"]) for row in recent if row["class"] == "miss" and row["total_ns"] != "-"]
    failed = sum(row["outcome"] != "complete" for row in recent)
    wanted = [ranked(misses, 990) > 1e9, 100 * failed > 5 * len(recent)]
    lines = out.stdout.decode().splitlines()
    if "warning: no process writes this trace" not in out.stderr.decode():  # for nobody writes the sample
        return False
    return [line.split()[0] for line in lines[:2]] == ["FAILED" if wrong else "ok" for wrong in wanted] \
        and lines[2:] == ["alarm"] * any(wanted)


def perfetto(_, folder):
    with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
        return len(json.load(file)["traceEvents"]) > len(REQUESTS)


job("1: the ten slowest requests, and where their time went",
    "sqtrace-dump --sort=-total_ns --limit=10 " + TRACE, slowest)
job("2: the 99th percentile of reads from each cache_dir of each kid",
    "sqtrace-dump --table=swaps --where='direction == in' --group-by=kid,dir,store --sort=-p99_ns " + TRACE, by_cache_dir)
job("3: requests of each class in each second",
    "sqtrace-dump --group-by=time_s,class --group=1s --columns=time_s,class,count " + TRACE,
    lambda out, _: rates(rows_of(out.stdout)))
job("3: the same as a picture", next(command for command in COMMANDS if "--output=classes.tsv" in command) + "\n" +
    next(command for command in COMMANDS if command.startswith("gnuplot")), picture)
job("4: all requests of a client's connection", "sqtrace-dump --where='kid == 1 and conn == 11' " + TRACE, one_connection,
    conn__11="conn == " + FIRST["conn"])
job("5: a line of access.log, by its transaction", "sqtrace-dump --where='kid == 1 and xid == 54' " + TRACE,
    lambda out, _: rows_of(out.stdout) == [FIRST], xid__54="xid == " + FIRST["xid"])
AT = next(row["when"] for row in table("--columns=xid,kid,when") if (row["kid"], row["xid"]) == ("1", FIRST["xid"]))
START = datetime.datetime.fromisoformat(AT[:26] + AT[29:]).timestamp() - float(FIRST["time_s"])
UNTIL = (datetime.datetime.fromisoformat(AT[:19]) + datetime.timedelta(seconds=10)).isoformat()[11:]
job("6: what happened in ten seconds of the day", "sqtrace-dump --clock=wall --since=12:03:10 --until=12:03:20 " + TRACE,
    ten_seconds, **{"12_03_10": AT[11:19], "12_03_20": UNTIL})
job("7: what differs between two traces", "sqtrace-report -o compared before=/srv/trace-before after=/srv/trace-after", compared)
job("8: what Squid is doing now", "sqtrace-top --once " + TRACE, now)
job("8: what Squid has been doing in the last ten seconds", "sqtrace-dump --since=-10s --group-by=class,server " + TRACE,
    at_the_end)
job("9: whether the 99th percentile is above 1 s",
    "sqtrace-dump --since=-5min --fail-if='p99(total_ns) > 1s where class == miss' "
    "--fail-if='share() > 5% where outcome != complete' " + TRACE + " || echo alarm", too_slow)
job("10: a file for Perfetto", "sqtrace-dump --format=chrome --output=trace.json " + TRACE, perfetto)
job("10: a trace for babeltrace2", "sqtrace-dump --format=ctf --output=trace.ctf " + TRACE,
    lambda _, folder: "metadata" in os.listdir(os.path.join(folder, "trace.ctf")))
job("11: a heat map of latency", "sqtrace-report -o report " + TRACE, heat_map)
job("12: which tables and columns there are", "sqtrace-dump --list",
    lambda out, _: b"table requests - " in out.stdout and b"    server_wait_ns " in out.stdout)
print("1..%d" % done)
