#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""windows.py - --since and --until read only the blocks that can matter, and give the rows that reading everything gives.

The whole of a trace is read once for each table, and Python picks rows by their begin.  make_windows makes a trace of three
kids with a restart, losses and steps of clocks.  Figures and tables that sum things up are compared with --lookback=all.
"""
import os
import pty
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from sanitized import SANITIZED  # noqa: E402
import window_rows  # noqa: E402
from window_rows import SUMS, THINGS, Rows, first_difference, nanoseconds, options_of, window  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP, REPORT = os.path.join(TOOLS, "sqtrace-dump"), os.path.join(TOOLS, "sqtrace-report")
MAKE, MANY = os.path.join(TOOLS, "tests", "unit", "make_windows"), os.path.join(TOOLS, "many-records")
LONG = os.path.join(TOOLS, "tests", "unit", "make_long")
SAMPLE, GOLDEN = os.path.join(SOURCE, "doc", "sample"), os.path.join(SOURCE, "tests", "golden")
# Enough for what make_windows makes, but for kept connections to servers.
LOOKBACK = "--lookback=2s"
RECORDS = 200000
MAGIC, BLOCK = b"SQTF", 2
done = 0


def check(good, text, more=""):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text), flush=True)
    if not good and more:
        print("# " + more.replace("\n", "\n# "))


def run(*options):
    return window_rows.run(DUMP, *options)


def within(lines, since, until):
    """The rows that begin then, below the header."""
    return Rows(lines).within(since, until)


def things(trace, windows, *lookback):
    """Rows of tables of things, against those of the whole."""
    for table in THINGS:
        whole = Rows(run("--table=" + table, trace)[2])
        wrong = ""
        less = rows = 0
        for where in windows:
            mine = lookback if table != "closes" else ()  # a kept connection to a server was opened at any time before
            bad, count, short = window_rows.compare_thing(DUMP, table, whole, where, *mine, trace)
            wrong, rows, less = wrong or bad, rows + count, less + short
        check(not wrong, "%s: %d windows, %d rows" % (table, len(windows), rows), wrong)
        if table == "requests" and lookback:
            check(less > len(windows) / 2, "%d of %d windows left something out" % (less, len(windows)))


def xids(trace):
    """xid of events in a window is that of the whole trace, or it is not known."""
    options = "--table=events", "--columns=ring,row,xid"
    whole = set(run(*options, trace)[2])
    mine = run(*options, "--since=3s", "--until=3.5s", trace)[2]
    known = [line for line in mine if not line.endswith("\t-")]
    check(len(known) > len(mine) / 10 and set(known) <= whole, "xid of events of a window", str(set(known) - whole)[:300])


def conditions(trace):
    """Times, kids and transactions of --where are taken to the blocks, too."""
    for table in ("requests", "ios", "events"):
        header, *rows = run("--table=" + table, trace)[2]
        kid, xid = (header.split("\t").index(name) if name in header.split("\t") else None for name in ("kid", "xid"))
        cases = [("time_s >= 3.2 and time_s < 3.4 and kid == 1", 
                  lambda row: row[0] != "-" and 3.2 <= float(row[0]) < 3.4 and row[kid] == "1"),
                 ("kid == 3 and time_s > 4.5", lambda row: row[0] != "-" and float(row[0]) > 4.5 and row[kid] == "3"),
                 ("time_s < 1 or kid == 2 and time_s < 1.5",
                  lambda row: row[0] != "-" and (float(row[0]) < 1 or row[kid] == "2" and float(row[0]) < 1.5)),
                 ("not time_s > 0.5", lambda row: row[0] == "-" or not float(row[0]) > 0.5)]
        for text, wants in cases:
            good = [header] + [row for row in rows if wants(row.split("\t"))]
            _, comments, lines = run("--table=" + table, "--where=" + text, LOOKBACK, trace)
            check(lines == good, "%s where %s: %d rows of %s records" % (table, text, len(good) - 1, comments["records"]),
                  first_difference(good, lines))
        if table == "requests":
            transactions(trace, header, rows, kid, xid)
            connections(trace, header, rows, kid)


def transactions(trace, header, rows, kid, xid):
    """Requests by their ids: few of them make the whole trace be read."""
    wrong, less, whole = "", 0, int(run(trace)[1]["records"])
    for row in random.sample(rows, 20) + [row for row in rows if row.split("\t")[xid] in "12345"]:
        cells = row.split("\t")
        text = "xid == %s" % cells[xid] + (" and kid == %s" % cells[kid] if random.random() < 0.7 else "")
        good = [header] + [one for one in rows if one.split("\t")[xid] == cells[xid] and
                           ("kid" not in text or one.split("\t")[kid] == cells[kid])]
        _, comments, lines = run("--where=" + text, LOOKBACK, trace)
        less += int(comments["records"]) < whole
        if lines != good and not wrong:
            wrong = "%s: %s" % (text, first_difference(good, lines))
    check(not wrong, "requests by their ids", wrong)
    check(less > 4, "the whole was not read for %d of them" % less)


def picks_requests():
    """All tables, figures and formats whose --where picks requests, but requests itself."""
    listed = subprocess.run([DUMP, "--list"], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = ["--%s=%s" % names for names in re.findall(r"^(table|figure) (\S+)", listed, re.M)] + ["--format=chrome", "--format=otlp"]
    return [what for what in found if what != "--table=requests" and run(what, "--where=xid == 1 and reused_conn == 1", SAMPLE)[0] == 0]


def picked(folder, trace):
    """A transaction that --where names, in figures, sums and formats: few blocks are read of a trace without losses.

    Losses of other processes are rows of --format=chrome, too."""
    small, less, all_of_them = os.path.join(folder, "few.sqt"), 0, picks_requests()
    lossy = [os.path.join(trace, name) for name in sorted(os.listdir(trace)) if name.startswith("squid.2.")]
    subprocess.run([MANY, small, "300000"], check=True, stdout=subprocess.DEVNULL)
    for what in all_of_them:
        wrong, xid = "", random.randrange(1500, 2500)
        for xid, *traces in (xid, small), (10**9, small), *([(xid, small, *lossy)] if what == "--format=chrome" else []):
            options = [what, "--where=kid == 0 and xid == %d" % xid, *traces]
            good, mine = run("--lookback=all", *options), run("--lookback=1s", *options)
            less += "window" in mine[1]
            if (good[0], good[2]) != (mine[0], mine[2]) and not wrong:
                wrong = "%s: %s" % (options, first_difference(good[2], mine[2]))
        check(not wrong, "%s of a transaction" % what, wrong)
    check(less > len(all_of_them) > 30, "less was read for %d, of %d figures and tables" % (less, len(all_of_them)))


def connections(trace, header, rows, kid):
    """Requests of a client's connection: from its accept to its close."""
    conn, wrong, less, whole = header.split("\t").index("conn"), "", 0, int(run(trace)[1]["records"])
    ids = {row.split("\t")[conn] for row in rows if row.split("\t")[kid] == "1"} - {"0", "-"}
    for number in random.sample(sorted(ids), 12) + ["4000000000"]:
        good = [header] + [row for row in rows if row.split("\t")[conn] == number and row.split("\t")[kid] == "1"]
        _, comments, lines = run("--where=conn == %s and kid == 1" % number, LOOKBACK, trace)
        less += int(comments["records"]) < whole
        if lines != good and not wrong:
            wrong = "%s: %s" % (number, first_difference(good, lines))
    check(not wrong, "requests by their connections", wrong)
    check(less > 2, "the whole was not read for %d of 13" % less)


def sums(trace, windows, *lookback):
    """Figures, and tables that sum things up, against reading everything."""
    for what in SUMS:
        wrong = ""
        for where in windows:
            wrong = wrong or window_rows.compare_sum(DUMP, what, where, trace, *lookback)
        check(not wrong, "%s: %d windows" % (what, len(windows)), wrong)


def golden():
    """Old, damaged and cut-off traces: each table and figure of two windows of each, against reading everything."""
    for name in sorted(os.listdir(GOLDEN)):
        trace, wrong = os.path.join(GOLDEN, name), ""
        if not name.endswith(".sqt") and name not in ("gap", "kids"):
            continue
        range_ = run("--limit=1", trace)[1].get("range", "0 s to 1.0 s")
        length = nanoseconds(range_.split(" to ")[1].split()[0])
        for what in ["--table=" + table for table in THINGS] + list(SUMS):
            for where in window(max(1, length)), (length // 3, length // 2 + 1):
                wrong = wrong or window_rows.compare_sum(DUMP, what, where, trace)
        check(not wrong, "golden %s" % name, wrong)


def unknown_begins(trace):
    """Requests of which nobody knows when they began are in no window, wherever reading stops."""
    wrong = ""
    for until in range(100, 2000, 100):
        options = ["--table=checks", "--until=%d.%03d" % divmod(until, 1000), trace]
        good, mine = run("--lookback=all", *options)[2], run(*options)[2]
        if good != mine and not wrong:
            wrong = "%s: %s" % (" ".join(options), first_difference(good, mine))
    check(not wrong, "checks up to 19 times", wrong)


def edges(trace, length):
    """Times are those of the whole trace to the nanosecond also where reading begins in another block each time."""
    whole, wrong = run("--table=events", "--kid=2", trace)[2], ""
    for since in range(length // 40, length, length // 40):
        until = since + 2 * 10**6
        mine = run("--table=events", "--kid=2", *options_of(since, until), trace)[2]
        if mine != within(whole, since, until) and not wrong:
            wrong = "since %d: %s" % (since, first_difference(within(whole, since, until), mine))
    check(not wrong, "39 edges between blocks of kid 2", wrong)


def shared(folder):
    """The same where blocks repeat records of the block before them."""
    trace, options = os.path.join(folder, "shared"), ("--table=events", "--columns=time_s,event,id")
    subprocess.run([MAKE, trace, str(RECORDS // 2), "shared"], check=True)
    whole, wrong, less = run(*options, trace)[2], "", 0
    length = nanoseconds(whole[-1].split("\t")[0])
    for since in range(length // 40, length, length // 40):
        until = since + 2 * 10**6
        _, comments, mine = run(*options, *options_of(since, until), trace)
        less += since > length // 2 and int(comments["records"]) < len(whole) // 4
        if mine != within(whole, since, until) and not wrong:
            wrong = "since %d: %s" % (since, first_difference(within(whole, since, until), mine))
    check(not wrong, "40 edges between blocks that share records", wrong)
    check(less > 3, "less than a quarter was read for %d of the last 20" % less)


def many(folder):
    """No process is left out where more wrote at a time than are opened at a time."""
    trace, options = os.path.join(folder, "many"), ("--table=events", "--columns=time_s,kid,event,id")
    subprocess.run([MAKE, trace, "12000", "many"], check=True)
    whole = run(*options, trace)[2]
    for since, until in (0, 10**8), (2 * 10**8, 3 * 10**8):
        good, mine = sorted(within(whole, since, until)), sorted(run(*options, *options_of(since, until), trace)[2])
        kids = [len({line.split("\t")[1] for line in lines if line[0] != "t"}) for lines in (good, mine)]
        check(good == mine and kids[0] > 48, "%d kids of a window" % kids[0], "%d: %s" % (kids[1], first_difference(good, mine)))


def years(folder):
    """Times that are moved again and again end at the same bound, whether blocks are read or only their headers."""
    trace, options = os.path.join(folder, "years"), ("--table=events", "--columns=time_s,event,id")
    subprocess.run([MAKE, trace, "0", "years"], check=True)
    whole, wrong = run(*options, trace)[2], ""
    for since in range(10**17, 3 * 10**18, 10**17):
        good, mine = within(whole, since, 10**19), run(*options, "--since=%ds" % (since // 10**9), trace)[2]
        if good != mine and not wrong:
            wrong = "since %d: %s" % (since, first_difference(good, mine))
    check(not wrong and len(whole) == 531, "blocks of years", wrong)


def idle_connections(folder):
    """Requests of connections that were accepted long before the window, half of which never had one, have all their cells."""
    path = os.path.join(folder, "long.sqt")
    subprocess.run([LONG, path, "1500000", "10000"], check=True)
    for what in ("--table=requests", "--table=listeners", "--table=findings", "--table=summary", "--figure=load", "--format=chrome"):
        wrong, less = "", 0
        for since, until in (14, 14.5), (20, 22), (22.2, 23.2), (23.5, 25):  # at 22.5 s begins a tunnel that outlasts the trace
            options = [what, "--since=%gs" % since, "--until=%gs" % until, path]
            good, mine = run("--lookback=all", *options), run("--lookback=2s", *options)
            if what == "--table=requests":
                waits = [line.split("\t") for line in good[2]]
                at = waits[0].index("accept_wait_ns"), waits[0].index("conn")
                less += any(row[at[0]] != "-" and 0 < int(row[at[1]]) <= 2000 for row in waits[1:]) and "window" in mine[1]
            rows, others = window_rows.of_the_window(good[2]), window_rows.of_the_window(mine[2])
            if (good[0], rows) != (mine[0], others) and not wrong:
                wrong = "%s: %s" % (" ".join(options), first_difference(rows, others))
        check(not wrong, "%s of connections that were idle for long" % what, wrong)
        if what == "--table=requests":
            check(less == 4, "each window has first requests of such connections, and leaves blocks out", str(less))
    said = told(path, True, "--table=requests", "--until=22.6s", pause=2.5)
    check(re.search(r"reading on for what --until leaves open: [0-9.]+ [KM]?B of up to [0-9.]+ [KM]B, [0-9]+ s left", said) and
          all(len(line) < 80 for line in said.replace("\033[K", "").split("\r")), "the price of a tunnel is said", repr(said))
    said = told(path, True, "--table=requests", "--until=22s", "--where=conn > 2004")
    check("reading on" not in said, "not where all is over", repr(said))


def bytes_read(*options):
    """Bytes that reading options takes from files: the program has ended, and was not waited for yet."""
    with subprocess.Popen([DUMP, "--quiet", *options], stdout=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with open("/proc/%d/io" % process.pid, encoding="ascii") as io:
            read = int(next(line for line in io if line.startswith("rchar")).split()[1])
        process.wait()
    return read


def costs(folder):
    """A window of a trace that is eight times as large costs headers more."""
    small, large = os.path.join(folder, "small.sqt"), os.path.join(folder, "large.sqt")
    for path, records in (small, 1000000), (large, 8000000):
        subprocess.run([MANY, path, str(records)], check=True, stdout=subprocess.DEVNULL)
    blocks = (os.path.getsize(large) - os.path.getsize(small)) // 60000
    for options in (["--since=-2s", "--lookback=2s"], ["--until=2s"], ["--since=10s", "--until=11s", "--lookback=2s"],
                    ["--where=xid == 1000", "--lookback=2s"],
                    ["--figure=load", "--where=xid == 1000", "--lookback=2s"], ["--format=chrome", "--where=xid == 1000", "--lookback=2s"],
                    ["--table=events", "--since=-2s"], ["--table=findings", "--since=-2s", "--lookback=2s"],
                    ["--format=chrome", "--since=-2s", "--lookback=2s"]):
        few, many = bytes_read(*options, small), bytes_read(*options, large)
        check(many - few < 4096 * 6 * blocks and many < os.path.getsize(large) / 3,
              "%s: %d bytes are read of %d, and %d of %d" % (" ".join(options), few, os.path.getsize(small), many,
                                                            os.path.getsize(large)))


def damaged(folder, trace, length):
    """A window of a damaged trace has the rows that reading everything gives."""
    hurt = os.path.join(folder, "hurt")
    for _ in range(6):
        shutil.rmtree(hurt, ignore_errors=True)
        shutil.copytree(trace, hurt)
        name = os.path.join(hurt, random.choice(sorted(os.listdir(hurt))))
        for _ in range(4):
            with open(name, "r+b") as file:
                file.seek(random.randrange(400, os.path.getsize(name)))
                file.write(bytes((random.randrange(256),)) * random.choice((1, 40)))
        since = random.randrange(length)
        options = ["--since=%d.%09d" % divmod(since, 10**9), hurt]
        good, mine = run("--lookback=all", *options), run(LOOKBACK, *options)
        check(good[2] == mine[2], "a damaged segment, %s" % options[0], first_difference(good[2], mine[2]))


def blocks_of(path):
    """(offset of the frame, number of the first record, count of records) of each block."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = data.index(MAGIC), []
    while at < len(data):
        kind, _, size, _ = struct.unpack_from("<HHII", data, at + 4)
        if kind == BLOCK:
            found.append((at,) + struct.unpack_from("<QI", data, at + 32))
        at += 16 + size
    return found


def first_blocks(folder, trace):
    """The header of a damaged block before the window says nothing: not when later blocks are, nor what is missing."""
    hurt = os.path.join(folder, "first")
    name = sorted(name for name in os.listdir(trace) if name.startswith("squid.2."))[1]
    for at, first, count in random.sample(blocks_of(os.path.join(trace, name))[1:-4], 2):
        shutil.rmtree(hurt, ignore_errors=True)
        os.mkdir(hurt)
        for one in os.listdir(trace):
            if one.startswith("squid.2."):
                shutil.copy(os.path.join(trace, one), hurt)
        with open(os.path.join(hurt, name), "r+b") as file:
            for anchor in at + 16 + 56, at + 16 + 80:
                file.seek(anchor)
                (ns,) = struct.unpack("<Q", file.read(8))
                file.seek(anchor)
                file.write(struct.pack("<Q", ns + 3 * 10**8))
        losses, whole, wrong = run("--table=losses", hurt)[2], run("--table=events", "--columns=time_s,event,id", hurt)[2], ""
        begin = nanoseconds(whole[first].split("\t")[0])
        for since in range(begin, begin + 10**9, 8 * 10**7):
            until = since + 2 * 10**6
            mine = run("--table=events", "--columns=time_s,event,id", *options_of(since, until), hurt)[2]
            if within(whole, since, until) != mine and not wrong:
                wrong = "since %d: %s" % (since, first_difference(within(whole, since, until), mine))
        check(not wrong, "events behind a block of %d with wrong times in its header" % count, wrong)
        since, until = begin - 10**7, begin + 10**9
        good, mine = within(losses, since, until), run("--table=losses", "--lookback=0s", *options_of(since, until), hurt)[2]
        check(good == mine, "losses there: %d" % (len(good) - 1), first_difference(good, mine))


def said(trace):
    """What the comments say of a window."""
    _, comments, _ = run("--since=3s", "--until=3.1s", LOOKBACK, trace)
    _, whole, _ = run(trace)
    check(comments["holds"] == whole["holds"] and comments["range"] == whole["range"], "the head speaks of the whole trace")
    read = int(comments["records"])
    check(read < int(whole["records"]) and comments["window"].startswith("%s of %s records were read" % (
        format(read, ","), format(int(whole["holds"].split()[0]), ","))), "the window's records are counted",
          comments.get("window", "no window"))
    check("lookback" in comments, "what may be missing is said")
    _, comments, _ = run("--lookback=all", "--since=3s", "--until=3.1s", trace)
    check("window" not in comments and "lookback" not in comments and comments["records"] == whole["records"],
          "--lookback=all reads everything")
    out = subprocess.run([DUMP, "--lookback=soon", trace], stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
    check(out.returncode == 2 and out.stderr.decode().startswith("sqtrace-dump: --lookback: "), "--lookback=soon is refused",
          out.stderr.decode())


def report(folder, trace):
    """The report's series are those of the window, too."""
    made = os.path.join(folder, "report")
    out = subprocess.run([REPORT, "-o", made, "--data=" + os.path.join(SOURCE, "tools"), "--quiet", "--since=3s", "--until=3.5s", LOOKBACK, "--group=1s", trace],
                         stderr=subprocess.PIPE, check=False)
    check(out.returncode == 0, "a report of a window", out.stderr.decode())
    wrong = ""
    for name in "load", "stage-medians", "class-shares":
        path = os.path.join(made, "figures", name + ".tsv")
        if not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file.read().split("\n")[:-1] if not line.startswith("# ")]
        good = run("--lookback=all", "--figure=" + name, "--since=3s", "--until=3.5s", "--group=1s", trace)[2]
        if lines != good:
            wrong = "%s: %s" % (name, first_difference(good, lines))
    check(not wrong, "its series are those of the whole trace", wrong)


def told(path, terminal, *options, pause=1.2):
    """What a program that reads for more than a second says on the standard error."""
    main_side, other = pty.openpty()
    with tempfile.TemporaryFile() as file:
        table = () if any(option.startswith("--table") for option in options) else ("--table=events",)
        with subprocess.Popen([DUMP, *table, *options, path], stdout=subprocess.PIPE,
                              stderr=other if terminal else file) as process:
            process.stdout.read(1000)
            time.sleep(pause)  # it cannot write on meanwhile
            while process.stdout.read(1 << 20):
                pass
        os.close(other)
        said = b""
        while terminal and select.select([main_side], [], [], 0.2)[0]:
            try:
                more = os.read(main_side, 65536)
            except OSError:
                break
            if not more:
                break
            said += more
        os.close(main_side)
        file.seek(0)
        return (said if terminal else file.read()).decode()


def progress(folder, path):
    """Progress is for a person at a terminal."""
    said = told(path, True)
    check(re.search(r"reading [0-9.]+ [KM]B of [0-9.]+ MB \([0-9]+ %, [0-9]+ s left\); --since=-10min reads only the end", said) and
          all(len(line) < 80 for line in said.replace("\033[K", "").split("\r")), "progress on a terminal", said)
    rest = os.path.join(folder, "rest")
    subprocess.run([MAKE, rest, str(3 * RECORDS), "shared"], check=True)
    for name in sorted(os.listdir(rest))[:2]:
        os.unlink(os.path.join(rest, name))
    said = told(rest, True, "--since=0.3s")
    check(re.search(r"reading [1-9][0-9.]* [KM]B of [0-9.]+ [KM]B \([0-9]{1,2} %, ", said), "progress where segments are gone", repr(said))
    said = told(path, True, "--until=200s")
    check("; a shorter time takes less" in said, "progress of a window", said)
    for terminal, options in (False, []), (True, ["--quiet"]):
        said = told(path, terminal, *options)
        check(said == "", "no progress %s" % ("with --quiet" if terminal else "in a file"), said)


def main():
    seed = int(os.environ.get("SQT_SEED", random.randrange(10**6)))
    random.seed(seed)
    print("# SQT_SEED=%d" % seed)
    with tempfile.TemporaryDirectory(prefix="sqtrace-windows-") as folder:
        trace = os.path.join(folder, "trace")
        subprocess.run([MAKE, trace, str(RECORDS)], check=True)
        length = window_rows.length_of(DUMP, trace)
        windows = [window(length) for _ in range(int(os.environ.get("SQT_WINDOWS", "3" if SANITIZED else "10")))]
        things(trace, windows, LOOKBACK)
        sums(trace, windows[:4], LOOKBACK)
        unknown_begins(trace)
        golden()
        things(SAMPLE, [window(10 * length) for _ in range(2)])
        conditions(trace)
        xids(trace)
        damaged(folder, trace, length)
        first_blocks(folder, trace)
        edges(trace, length)
        shared(folder)
        many(folder)
        years(folder)
        idle_connections(folder)
        said(trace)
        report(folder, trace)
        costs(folder)
        picked(folder, trace)
        progress(folder, os.path.join(folder, "large.sqt"))
    print("1..%d" % done)


main()
