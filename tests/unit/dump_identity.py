#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_identity.py - host, service, ring, kid, row and time_ns: columns of every table, printed where they are asked for.

Python reads ring ids, kids and start times from the headers of the segments.
"""
import datetime
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
KIDS = os.path.join(SOURCE, "tests", "golden", "kids")
IDENTITY = ["host", "service", "ring", "kid", "row", "time_ns"]
with open(os.path.join(SOURCE, "src", "row", "tables.def"), encoding="utf-8") as declared:
    THINGS = tuple(re.findall(r'^SQT_TABLE\(\w+, "(\w+)", THINGS,', declared.read(), re.M))
WALL_NS = 1000000  # the two count from different anchors of the clock
MEETING_NS = 10  # records of two segments may have times that differ so much, where their blocks meet
done = 0


def check(good, text, *notes):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    for note in notes if not good else ():
        print("# %s" % (note,))


def dump(table, *traces, columns=IDENTITY, options=()):
    out = subprocess.run([DUMP, "--quiet", "--no-comments", "--format=tsv", "--table=" + table,
                          *(["--columns=" + ",".join(columns)] if columns else []), *options, *traces],
                         stdout=subprocess.PIPE, check=True, env={**os.environ, "TZ": "UTC"}).stdout.decode()
    lines = [line.split("\t") for line in out.split("\n")[:-1]]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def tables():
    listed = subprocess.run([DUMP, "--list"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return re.findall(r"^table (\S+)", listed, re.M)


def headers(folder):
    """ring -> (kid, service, wall minus monotonic time when the ring was made), as sqtrace(5) lays them out."""
    found = {}
    for path in glob.glob(os.path.join(folder, "*.sqt")):
        with open(path, "rb") as file:
            head = file.read(192)
        ring, kid = head[32:48].hex(), struct.unpack_from("<I", head, 68)[0]
        monotonic, wall = struct.unpack_from("<QQ", head, 104)
        found[ring] = kid, head[152:184].split(b"\0")[0].decode(), wall - monotonic
    return found


def every_table():
    for table in tables():
        plain = dump(table, SAMPLE, columns=None)
        rows = dump(table, SAMPLE)
        check(len(rows) == len(plain), "%s has them" % table)
        own = [row["row"] for row in rows]
        if table not in THINGS + ("rollups", "finding_minutes", "whatif_minutes"):
            check(set(own) <= {"-"}, "%s sums up: its rows have no number" % table, own[:3])
            continue
        keys = [(row["ring"], row["row"]) for row in rows if row["row"] != "-"]
        check(len(keys) == len(set(keys)), "%s: ring and row name a row" % table)
        unnumbered = [row for row, of in zip(rows, plain) if row["row"] == "-" and
                      (of.get("outcome") or of.get("result") or of.get("reason")) not in
                      ("unfinished", "damaged", "missing segment")]
        check(not unnumbered, "%s: each row that a record ended has a number" % table, unnumbered[:3])


def sample_is_right():
    known = headers(SAMPLE)
    rows = dump("requests", SAMPLE)
    check(all((int(row["kid"]), row["service"]) == known[row["ring"]][:2] for row in rows),
          "ring, kid and service are those of the headers")
    offsets = {}
    for row in dump("requests", SAMPLE, columns=["time_s", "time_ns", "ring"]):
        whole, part = row["time_s"].split(".")
        offsets.setdefault(row["ring"], set()).add(int(row["time_ns"]) - int(whole + part))
    check(all(len(one) == 1 for one in offsets.values()), "time_ns is time_s and a number of the ring")
    base = {offset - known[ring][2] for ring, (offset,) in offsets.items()}
    check(len(base) == 1, "that number is the time of day when the ring was made", base)
    apart = [int(row["time_ns"]) - round(datetime.datetime.fromisoformat(row["when"][:26] + "+00:00").timestamp() * 1e6) * 1000
             for row in dump("requests", SAMPLE, columns=["when", "time_ns"])]
    check(max(map(abs, apart)) < WALL_NS, "and near the time of day in column when", max(map(abs, apart)))


def minutes_are_whole():
    """Roll-ups of all kids begin at the same whole minutes and hours, in all three columns of time."""
    rows = dump("rollups", SAMPLE, columns=["time_s", "when", "time_ns", "step_s", "kid"])
    times, wrong = {}, []
    for row in rows:
        whole = int(row["step_s"]) * 10 ** 9
        when = int(datetime.datetime.fromisoformat(row["when"][:19] + "+00:00").timestamp()) * 10 ** 9
        if int(row["time_ns"]) % whole or when != int(row["time_ns"]) or ".000000000" not in row["when"]:
            wrong.append(row)
        times.setdefault((row["time_ns"], whole), set()).add((row["time_s"], row["when"]))
    check(len({row["kid"] for row in rows}) > 1 and not wrong, "rollups: time_ns and when are whole", wrong[:3])
    apart = [found for found in times.values() if len(found) > 1]
    check(not apart, "rollups: time_s of all kids is the same", apart[:3])


def records_are_named():
    """The number of a row is that of the record that ended it: events has the same numbers."""
    ends = {(row["ring"], row["row"]): row for row in
            dump("events", SAMPLE, columns=["ring", "row", "event", "id"], options=["--where=event == XACT_END"])}
    rows = dump("requests", SAMPLE, columns=["ring", "row", "xid", "outcome"])
    wrong = [row for row in rows if row["outcome"] not in ("unfinished", "lost", "clock") and
             ends.get((row["ring"], row["row"]), {"id": ""})["id"] != row["xid"] and row["xid"] != "-"]
    check(rows and not wrong, "a request's number is that of its XACT_END", *wrong[:3])
    numbers = {}
    for row in dump("events", SAMPLE, columns=["ring", "row"]):
        numbers.setdefault(row["ring"], []).append(int(row["row"]))
    check(all(one == list(range(0, len(one) * 1000000, 1000000)) for one in numbers.values()), "records are numbered from 0")


def from_any_segment():
    segments = sorted(glob.glob(os.path.join(KIDS, "*.sqt")))
    whole = {}
    for table in THINGS:
        for row in dump(table, *segments, columns=["ring", "row", "time_ns"]):
            whole[table, row["ring"], row["row"]] = row["time_ns"]
    compared, wrong = 0, []
    for table in THINGS:
        for row in dump(table, segments[1], columns=["ring", "row", "time_ns"]):
            compared += row["row"] != "-"
            there = whole.get((table, row["ring"], row["row"]))
            # Of other tables, the begin may be a record of the segment that is not read.
            if row["row"] != "-" and (there is None or table in ("events", "samples") and
                                      abs(int(there) - int(row["time_ns"])) > MEETING_NS):
                wrong.append((table, row, there))
    check(compared and not wrong, "numbers and times are the same from whichever segment reading starts: %d rows" % compared,
          *wrong[:3])


def hosts():
    with tempfile.TemporaryDirectory() as scratch:
        names, warnings = {}, {}
        for folder, words, of_squid in (
                ("a", ["host=cache-7.example"], "unused.example"), ("b", [], None), ("b", [], None), ("c", [], None),
                ("squid", [], "squid.example"), ("off", ["names=off"], "squid.example"), ("unfit", [], "a b"),
                ("long", [], "l" * 256)):
            path = os.path.join(scratch, folder)
            os.makedirs(path, exist_ok=True)
            environment = {**os.environ, **({"SQT_SQUID_HOST": of_squid} if of_squid else {})}
            done = subprocess.run([os.path.join(TOOLS, "tests/unit/make_passes"), path, "compute", *words], check=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, env=environment)
            names[folder] = {row["host"] for row in dump("loops", path)}
            warnings[folder] = [line for line in done.stderr.decode().splitlines() if "WARNING" in line]
        check(names["a"] == {"cache-7.example"}, "host= names the host", names)
        check(len(names["b"]) == 1 and re.fullmatch("[0-9a-f]{16}", min(names["b"])),
              "without it, all traces of a directory have one number", names)
        number = [len(names[place]) == 1 and re.fullmatch("[0-9a-f]{16}", min(names[place])) for place in ("off", "unfit", "long")]
        check(names["squid"] == {"squid.example"}, "squid.conf's name of the machine is the default", names)
        check(all(number), "a number where names are off, and for a name that is not allowed", names)
        unfit = ["WARNING: sqtrace: the host's name %s: allowed is" % name in " ".join(warnings[place])
                 for place, name in (("unfit", "a b"), ("long", "l" * 40 + "..."))]
        check(all(unfit) and not warnings["squid"] + warnings["off"] + warnings["a"], "which is warned of", warnings)
        check(names["b"] != names["c"], "and those of another directory another one", names)
        check({row["host"] for row in dump("summary", os.path.join(scratch, "a"))} <= {"cache-7.example"},
              "a table that sums up has what all processes share")
    check({row["host"] for row in dump("loops", SAMPLE)} == {"-"}, "a trace from before has none")


def as_attached(path, copy):
    """A copy of a segment whose first frame says that sqtrace-attach wrote it."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<I", data, 192 + 8)
    body = b"def\t19\t0\tabcdef\n" + data[208:208 + size]
    head = data[192:200] + struct.pack("<I", len(body))
    with open(copy, "wb") as file:
        file.write(data[:192] + head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head + bytes(4)))) + body +
                   data[208 + size:])


def watched_from_outside():
    """What an attached trace does not show is said once, whichever of its processes was watched from outside."""
    with tempfile.TemporaryDirectory() as scratch:
        for attached in ("1", "2", "12", ""):
            copies = []
            for path in sorted(glob.glob(os.path.join(KIDS, "*.sqt"))):
                copies.append(os.path.join(scratch, os.path.basename(path)))
                if os.path.basename(path)[0] in attached:
                    as_attached(path, copies[-1])
                else:
                    shutil.copy(path, copies[-1])
            out = subprocess.run([DUMP, "--quiet", "--table=summary", *copies], stdout=subprocess.PIPE, check=True).stdout
            said = [line for line in out.decode().splitlines() if line.startswith("#")]
            check(sum(line.startswith("# attached") for line in said) == len(attached) and
                  sum(line.startswith("# not seen") for line in said) == bool(attached),
                  "kids watched from outside: %s" % (attached or "none"), *said)


every_table()
watched_from_outside()
sample_is_right()
minutes_are_whole()
records_are_named()
from_any_segment()
hosts()
print("1..%d" % done)
