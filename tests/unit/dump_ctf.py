#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The CTF output as babeltrace2 reads it, against the table of records."""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
GOLDEN = os.path.join(SOURCE, "tests", "golden")
NUMBER = 0


def check(problems, name):
    """problems: what is wrong, as texts."""
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("not ok" if problems else "ok", NUMBER, name))
    for problem in problems[:5]:
        print("# %s" % (problem,))


def dump(trace, *options):
    return subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, trace], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout.decode()


def ns(text):
    """A decimal number of seconds as nanoseconds."""
    return int(text.replace(".", ""))


def start_of(trace, options):
    """Wall time of the trace's start, ns since the epoch."""
    return ns(re.search(r"# start: .*\((.*)\)", dump(trace, "--table=losses", *options)).group(1))


def wanted(trace, options):
    """{kid: [(ns, event, fields)]} of the table.  A kid's times never go back in CTF."""
    found, now = collections.defaultdict(list), collections.Counter()
    for line in dump(trace, "--table=events", "--no-comments", "--no-header", *options).split("\n")[:-1]:
        time, kid, event, *fields, _xid = line.split("\t")
        now[kid] = max(now[kid], ns(time))
        found[kid].append((now[kid], event, [field for field in fields if field != "-"]))
    return found


def as_printed(name, value):
    """A field of CTF as the table prints it."""
    if value.startswith('"'):
        return value[1:-1]
    if name.endswith("_object"):
        return "%016x" % int(value, 16)
    if name.endswith("_xact") and int(value) >> 63:
        return "u%d" % (int(value) - (1 << 63))
    if name.endswith("_time"):
        return "%s%d.%09d" % ("-" if int(value) < 0 else "", abs(int(value)) // 10**9, abs(int(value)) % 10**9)
    return value


LINE = re.compile(r"\[(\d+\.\d{9})\] \(\S+\) (\S+): \{ kid = (\d+) \}(?:, \{ (.*) \})?")
FIELD = re.compile(r'(\w+) = ("[^"]*"|\S+?)(?:, |$)')


def got(directory):
    """{kid: [(ns since the epoch, event, fields)]} and what babeltrace2 says on its standard error."""
    done = subprocess.run(["babeltrace2", "--clock-seconds", directory], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300)
    found = collections.defaultdict(list)
    for line in done.stdout.decode().split("\n")[:-1]:
        time, event, kid, fields = LINE.fullmatch(line).groups()
        found[kid].append((ns(time), event, [as_printed(*field) for field in FIELD.findall(fields or "")]))
    return found, done.stderr.decode(), done.returncode


def discarded(said, start):
    """[(from, until, events)] of its warnings; times with --clock-seconds."""
    return [(ns(a) - start, ns(b) - start, int(n)) for n, a, b in
            re.findall(r"discarded (\d+) events? between \[([\d.]+)\] and \[([\d.]+)\]", said)]


def losses(events):
    """What must be told as discarded: a stretch begins no earlier than the record before it."""
    found = []
    for records in events.values():
        last = 0
        for at, event, fields in records:
            if event == "LOST":
                found.append((max(ns(fields[0]), last), at, int(fields[1])))
            last = at
    return found


def judge(name, trace, work, *options):
    directory = os.path.join(work, "ctf")
    shutil.rmtree(directory, ignore_errors=True)
    dump(trace, "--format=ctf", "--output=" + directory, *options)
    found, said, status = got(directory)
    start = start_of(trace, options)
    want = wanted(trace, options)
    count = sum(map(len, want.values()))
    wrong = [said] if status else []
    if not count:
        wrong.append("no records")
    for kid in sorted(set(want) | set(found)):
        mine = [(at - start, event, fields) for at, event, fields in found[kid]]
        if mine != want[kid]:
            differ = next(([a, b] for a, b in zip(mine, want[kid]) if a != b), "numbers")
            wrong.append("kid %s: %d, not %d: %s" % (kid, len(mine), len(want[kid]), differ))
    check(wrong, "%s: babeltrace2 reads %d records with their times and fields" % (name, count))
    told, lost = discarded(said, start), losses(want)
    check([] if told == lost else [told, lost, said], "%s: %d stretches of discarded events" % (name, len(lost)))


def errors(work, trace):
    def fails(want, message, *options):
        done = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        said = done.stderr.decode()
        check([] if done.returncode == want and said == "sqtrace-dump: %s\n" % message and not done.stdout
              else [done.returncode, said], message)

    out = os.path.join(work, "made")
    fails(2, "--format=ctf makes a directory: name it with --output=DIRECTORY", "--format=ctf", trace)
    for option in ("where=kid == 1", "columns=kid", "no-header", "figure=block-comb"):
        fails(2, "--%s does not go with --format=ctf" % option.split("=")[0], "--format=ctf", "--" + option,
              "--output=" + out, trace)
    for option in ("columns=kid", "no-header", "figure=block-comb"):
        fails(2, "--%s does not go with --format=chrome" % option.split("=")[0], "--format=chrome", "--" + option,
              trace)
    fails(2, "--format=ctf is made of the table events, not of swaps", "--format=ctf", "--table=swaps",
          "--output=" + out, trace)
    fails(2, "--format=chrome is made of the table requests, not of swaps", "--format=chrome", "--table=swaps", trace)
    check(["a directory was made"] if os.path.exists(out) else [], "and nothing is made")
    os.mkdir(out)
    fails(1, out + ": cannot make this directory: File exists", "--format=ctf", "--output=" + out, trace)
    fails(1, out + "/a/b: cannot make this directory: No such file or directory", "--format=ctf",
          "--output=" + out + "/a/b", trace)
    dump(trace, "--format=ctf", "--table=events", "--output=" + out + "/c")
    check([] if os.path.exists(out + "/c/metadata") else ["no metadata"], "--table=events --format=ctf")


def full_disk(work, trace):
    """A limit on the size of files stands for a full disk: one line, status 1, nothing half-made."""
    out = os.path.join(work, "full")
    done = subprocess.run(["sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh",
                           os.path.join(TOOLS, "sqtrace-dump"), "--format=ctf", "--output=" + out, trace],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    said = done.stderr.decode()
    check([] if done.returncode == 1 and said == "sqtrace-dump: %s: cannot write: File too large\n" % out and
          not os.path.exists(out) else [done.returncode, said], "a full disk: status 1, and no half of a trace")


def main():
    if not shutil.which("babeltrace2"):
        print("1..0 # SKIP babeltrace2 is not installed")
        return
    with tempfile.TemporaryDirectory() as work:
        traces = os.path.join(work, "t")
        subprocess.run([os.path.join(TOOLS, "tests/unit/dump_traces"), traces], check=True, timeout=60)
        story, busy = os.path.join(traces, "story"), os.path.join(traces, "busy.sqt")
        judge("story", story, work)
        judge("story from 50 ms on", story, work, "--since=50ms", "--until=0.5")
        judge("a loss before all else", story, work, "--since=75ms")
        judge("a strange name", os.path.join(traces, "crossed.sqt"), work)
        judge("busy", busy, work)
        judge("one kid of three", os.path.join(GOLDEN, "kids"), work, "--kid=2")
        judge("kids", os.path.join(GOLDEN, "kids"), work)
        judge("a missing segment", os.path.join(GOLDEN, "gap"), work)
        judge("a killed writer's ring", os.path.join(GOLDEN, "died.ring"), work)
        judge("damaged", os.path.join(GOLDEN, "flipped.sqt"), work)
        judge("events of a later version", os.path.join(GOLDEN, "future.sqt"), work)
        judge("the sample", os.path.join(SOURCE, "doc", "sample"), work)
        errors(work, busy)
        full_disk(work, busy)
    print("1..%d" % NUMBER)


if __name__ == "__main__":
    sys.exit(main())
