#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""top_screen.py - the screen of sqtrace-top in terminals of fixed sizes, and what its keys do.

A process traces requests of which three never end (make_flights.c).  pyte from PyPI reads the screen; it comes into a
virtual environment of the build folder, or of $SQT_VENVS.  Without it the test is skipped.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.dont_write_bytecode = True
from pypi import enter, run  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
TOP = os.path.join(TOOLS, "sqtrace-top")
done = 0


def check(good, text, skip="", shown=None):
    global done
    done += 1
    print("%s %d - %s%s" % ("ok" if good else "not ok", done, text, " # SKIP " + skip if skip else ""), flush=True)
    if not good and shown is not None:
        print("\n".join("# |" + line for line in shown), flush=True)


class Terminal:
    """sqtrace-top in a terminal of that size."""

    def __init__(self, columns, rows, *words):
        import pyte
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(TERM="linux", LC_ALL="C.UTF-8")
            os.execv(TOP, [TOP, "--every=200ms", *words])

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def read(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and select.select([self.fd], [], [], 0.05)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self.stream.feed(data)

    def shows(self, *patterns, seconds=20):
        """Whether each pattern is found in a line, soon."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.1)
            if all(any(re.search(pattern, line) for line in self.lines()) for pattern in patterns):
                return True
        return False

    def hides(self, pattern, seconds=20):
        """Whether the pattern is found in no line, soon."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.read(0.1)
            if not any(re.search(pattern, line) for line in self.lines()):
                return True
        return False

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def leave(self, keys="q", number=None):
        """Its exit status."""
        if number:
            os.kill(self.pid, number)
        else:
            self.press(keys)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.read(0.05)
            time.sleep(0.02)  # the terminal may be closed a while before the program has ended
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


UPSTREAM = r"^ *[\d.,]+ m?s  server_wait +[\d.,]+ m?s  server +upstream +"
BASIC = r"^ *[\d.,]+ m?s  helper +[\d.,]+ m?s  auth +basic +"
CLIENT = r"^ *[\d.,]+ m?s  proxy_reply +[\d.,]+ m?s  client +- +"


def sizes(directory):
    for columns, rows in ((80, 24), (200, 60)):
        terminal = Terminal(columns, rows, directory)
        good = terminal.shows("^sqtrace-top  20", "^in flight: 3; lost: 0 records$", "^Requests in flight", "^Where time goes",
                              "^Whom requests wait for", "^Event loops", "^h help  q quit", UPSTREAM, BASIC)
        check(good, "%d x %d: all tables, and what hangs" % (columns, rows), shown=terminal.lines())
        cut = terminal.shows("^Requests in flight: 2 of 3; 1 shows more$") if rows == 24 else terminal.shows("^Requests in flight$")
        check(cut, "%d x %d: whether there are more of them" % (columns, rows), shown=terminal.lines())
        ages = [line.split("  ")[0].strip() for line in terminal.lines() if re.search(UPSTREAM + "|" + BASIC, line)]
        check(len(ages) == 2 and not any(len(line) > columns for line in terminal.lines()), "%d x %d: no line is too long" % (
            columns, rows), shown=terminal.lines())
        check(terminal.leave() == 0, "%d x %d: q leaves" % (columns, rows))


def keys(directory, writer):
    terminal = Terminal(120, 30, directory)
    terminal.shows(CLIENT)
    terminal.press("1")
    check(terminal.hides("^Where time goes") and terminal.shows(UPSTREAM, BASIC, CLIENT), "1 shows one table", shown=terminal.lines())
    terminal.press("/method == PUT\n")
    check(terminal.shows("^in flight: 0 that match", "show only: method == PUT"), "/ shows only what matches", shown=terminal.lines())
    terminal.press("/helper_ns > 0\n")
    check(terminal.shows("^in flight: 1 that match", BASIC), "/ again", shown=terminal.lines())
    terminal.press("/\x7f1 what\x17\x17\x15helper_n > 0\n")
    check(terminal.shows("character 1: .*helper_n"), "/ says what is wrong", shown=terminal.lines())
    terminal.press("/\x15\n")
    check(terminal.shows("^in flight: 3;"), "/ with an empty line shows all", shown=terminal.lines())
    terminal.press("sss")
    check(terminal.shows("s order: whom$"), "s changes the order", shown=terminal.lines())
    first = next((line for line in terminal.lines() if re.search("|".join((UPSTREAM, BASIC, CLIENT)), line)), "")
    check(re.search(BASIC, first), "the order by whom begins with auth", shown=terminal.lines())
    terminal.press("ss")
    terminal.shows("s order: age_ns$")
    terminal.press("\n")
    check(terminal.shows("^request 101, kid 1: GET, server upstream, in flight$", "^server_wait .*#$"),
          "Enter shows where the time of the oldest one went", shown=terminal.lines())
    writer.stdin.write(b"end 101\n")
    writer.stdin.flush()
    check(terminal.shows("^request 101, kid 1: GET, server upstream, ended: TCP_MISS$", "^in flight: 2;"),
          "which stays when it is over", shown=terminal.lines())
    terminal.press("2")
    check(terminal.shows("^all +", "^miss +"), "2 shows the classes", shown=terminal.lines())
    terminal.press("p")
    check(terminal.shows(r"^\[paused\]"), "p says that it pauses", shown=terminal.lines())
    before = terminal.lines()
    time.sleep(1.2)  # a screen that goes on has another time of day by then
    terminal.read(1)
    check(terminal.lines() == before, "p pauses", shown=terminal.lines())
    terminal.press("h")
    check(terminal.shows("^q +quit$"), "h shows the keys", shown=terminal.lines())
    check(terminal.leave(number=signal.SIGTERM) == 0, "SIGTERM leaves in order")


def once(directory):
    """The rows of --once, of what hangs."""
    found = run(TOP, "--once", "--table=requests", "--format=tsv", directory)
    lines = [line.split("\t") for line in found.stdout.decode().split("\n") if line and line[0] != "#"]
    rows = [dict(zip(lines[0], values)) for values in lines[1:]]
    got = [(row["xid"], row["stage"], row["on"], row["whom"], row["method"], row["kid"], row["sure"]) for row in rows]
    check(got == [("101", "server_wait", "server", "upstream", "GET", "1", "1"), ("102", "helper", "auth", "basic", "GET", "1", "1"),
                  ("103", "proxy_reply", "client", "-", "GET", "1", "1")], "--once: %s" % got)
    check(all(int(row["age_ns"]) >= int(row["stage_ns"]) > 0 for row in rows), "--once: ages")
    totals = run(TOP, "--once", "--table=totals", "--format=tsv", "--where=tag == TCP_MISS", directory).stdout.decode().split("\n")
    check(any(line.startswith("0\t0\t") for line in totals), "--once: what is in flight has no tag: %s" % totals)
    over = run(TOP, "--once", "--xid=7", directory)
    lines = over.stdout.decode().split("\n")
    check(over.returncode == 0 and lines[0] == "request 7, kid 1: GET, server upstream, ended: TCP_MISS" and
          any(line.startswith("server_wait ") for line in lines), "--xid of a request that is over: %s" % lines)


def many_turns():
    """--xid of a request that went to and fro: the sum of each stage, as table requests has it, and no more than 20 turns."""
    sample = os.path.join(os.environ["SQT_SOURCE"], "doc", "sample")
    text = run(os.path.join(TOOLS, "sqtrace-dump"), "--no-comments", "--format=tsv", "--sort=-total_ns", "--limit=1", sample).stdout.decode()
    row = dict(zip(*[line.split("\t") for line in text.splitlines()]))
    lines = run(TOP, "--once", "--xid=" + row["xid"], "--kid=" + row["kid"], sample).stdout.decode().splitlines()
    wrong, empty = [], lines.index("") if "" in lines else 0
    for stage, _, number, unit in map(str.split, lines[2:empty]):
        ns = 1e9 * seconds(number, unit)
        right = float(row["unaccounted_ns" if stage == "-" else stage + "_ns"])
        wrong += [(stage, ns, right)] if abs(ns - right) > 0.006 * right else []
    check(empty > 4 and not wrong, "--xid of many turns: stages in all: %s" % wrong, shown=lines)
    check(lines[empty + 1].startswith("the 20 longest of ") and len(lines) == empty + 24, "and the longest turns", shown=lines)


def seconds(number, unit):
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def turns_in_flight(directory):
    """--xid of a request in flight that had more turns than are kept: the longest are shown, and stages add up to all."""
    lines = [line.split() for line in run(TOP, "--once", "--xid=103", directory).stdout.decode().splitlines()]
    empty, whole = lines.index([]), seconds(*lines[-1][1:3])
    times = sum(int(line[1]) for line in lines[2:empty])
    total = sum(seconds(*line[2:4]) for line in lines[2:empty])
    check(times > 300 and abs(total - whole) < 0.01 * whole, "stages of %d turns take %.4f s of %.4f s" % (times, total, whole), shown=lines)
    turns = [(line[0], seconds(*line[1:3]), seconds(*line[3:5])) for line in lines[empty + 3:-1]]
    check(sorted(turn[1] for turn in turns) == [turn[1] for turn in turns] and len(turns) == 20, "turns in order", shown=lines)
    check(any(name == "proxy_reply" and 0.04 <= took <= turns[-1][1] - begin + 0.001 for name, begin, took in turns[:-1]), "the long turn", shown=lines)
    name, begin, took = turns[-1]
    check(name == "proxy_reply" and begin > 0.04 and abs(begin + took - whole) < 0.02 * whole, "the turn that goes on", shown=lines)


def main():
    enter("pyte")
    try:
        import pyte  # noqa: F401
    except ImportError:
        check(True, "the screen", skip="pyte cannot be installed")
        print("1..1")
        return
    with tempfile.TemporaryDirectory() as directory:
        with subprocess.Popen([os.path.join(TOOLS, "tests", "unit", "make_flights"), directory], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as writer:
            check(writer.stdout.readline() == b"ready\n", "a process traces requests that hang")
            once(directory)
            many_turns()
            turns_in_flight(directory)
            sizes(directory)
            keys(directory, writer)
            writer.stdin.close()
            writer.wait(20)
    print("1..%d" % done)


main()
