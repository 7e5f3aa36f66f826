# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-dump --follow beside a Squid: the same rows as in the finished trace, and soon after they ended."""

import collections
import os
import signal
import subprocess
import threading
import time

from lib import dump
from lib.client import Background, Client
from lib.origin import Origin
from lib.squid import Squid

# What two readings of a row agree in; times come from clock anchors, of which a ring has fewer than its segments.
SAME = {"requests": ("kid", "xid", "conn", "method", "status", "tag", "class", "size_bytes", "sent_bytes", "tries", "outcome"),
        "swaps": ("kid", "sio", "xid", "direction", "dir", "size_bytes", "ios", "outcome")}
WALL_NS, SHARE = 100000, 1e-4
# What it says of a Squid that is started again.
OF_WRITERS = ("sqtrace-dump: no process writes the trace any more; the next one will be followed",
              "sqtrace-dump: a process writes the trace again")


class Follower:
    """sqtrace-dump --follow of a table, and when each of its lines came."""

    def __init__(self, env, directory, table, *options):
        command = [env.tool("sqtrace-dump"), "--follow", "--table=" + table] + list(options) + [directory]
        self.table, self.lines = table, []
        self.errors = open(env.path("follow-%s.err" % table), "wb+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        self.thread = threading.Thread(target=self.body, daemon=True)
        self.thread.start()
        env.on_close(self.process.kill)

    def body(self):
        for line in self.process.stdout:
            self.lines.append((time.time_ns(), line.decode().rstrip("\n")))

    def stop(self, env):
        self.process.send_signal(signal.SIGINT)
        env.equal(self.process.wait(20), 0, "exit status of the follower of " + self.table)
        self.thread.join(20)

    def said(self):
        return os.pread(self.errors.fileno(), 1 << 20, 0).decode()  # the follower shares the file's position

    def rows(self):
        """Each with the time at which its line came."""
        start = next(line for _, line in self.lines if line.startswith("# start: "))
        start_ns = dump.seconds_ns(start[start.index("(") + 1:-1])
        texts = [(came, line.split("\t")) for came, line in self.lines if not line.startswith("#")]
        names = texts[0][1]
        found = []
        for came, values in texts[1:]:
            row = dump.Row(zip(names, values))
            row.start_ns = start_ns
            found.append((came, row))
        return found

    def private_kb(self):
        with open("/proc/%d/smaps_rollup" % self.process.pid) as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def compare(env, follower, directory):
    """The rows of the follower are those of the finished trace: none is missing, none is there twice."""
    names = SAME[follower.table]

    def by_key(rows):
        found = collections.defaultdict(list)
        for row in rows:
            found[tuple(row[name] for name in names)].append(row)
        for same in found.values():
            same.sort(key=lambda row: row.wall_ns)
        return found

    finished = by_key(dump.table(env, directory, follower.table))
    followed = by_key([row for _, row in follower.rows()])
    env.note("%s: %d rows" % (follower.table, sum(map(len, followed.values()))))
    for key in set(finished) | set(followed):
        a, b = finished.get(key, []), followed.get(key, [])
        if len(a) != len(b):
            env.check(False, "%s: %d rows in the finished trace, %d followed: %s" % (follower.table, len(a), len(b), key))
            continue
        for x, y in zip(a, b):
            env.check(abs(x.wall_ns - y.wall_ns) < WALL_NS, "%s: times differ: %s %s" % (key, x["time_s"], y["time_s"]))
            same = x["total_ns"] == "-" and y["total_ns"] == "-" or \
                abs(x.ns("total_ns") - y.ns("total_ns")) <= WALL_NS + SHARE * x.ns("total_ns")
            env.check(same, "%s: total_ns differ: %s %s" % (key, x["total_ns"], y["total_ns"]))


def lateness(env, follower):
    late = sorted(came - row.wall_ns - row.ns("total_ns") for came, row in follower.rows()
                  if row["outcome"] not in ("unfinished", "lost") and row["total_ns"] != "-")
    at = late[len(late) * 99 // 100]
    env.note("%s: lines came after %.3f s in the median, %.3f s at p99" % (
        follower.table, late[len(late) // 2] / 1e9, at / 1e9))
    env.check(at < 1000000000, "p99 from a row's end to its line: %.3f s" % (at / 1e9))


def follow(env):
    """Rotations, two clean restarts, and a SIGKILL of all processes, under load; the long form takes an hour, at 40 requests/s."""
    rotations, apart, rest = (15, 60, 2) if env.full else (8, 0.7, 0.05)
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB", dirs=["ufs"], workers=2, dns=origin.host, lines="cache_mem 4 MB").start()
    squid.get(origin.url("first", size=1000))
    followers = [Follower(env, squid.directory, table) for table in sorted(SAME)]

    def work(n):
        time.sleep(rest)
        with Client(squid.client_address(), 20) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 40), size=50000), "r")
    traffic = Background(env, 4, work)
    memory = []
    for turn in range(4):
        for _ in range(rotations):
            time.sleep(apart)
            squid.rotate()
        memory.append([follower.private_kb() for follower in followers])
        if turn == 3:
            break
        if turn == 1:
            squid.kill_all()
        else:
            squid.stop()
        squid.start()
    traffic.stop()
    squid.stop()
    time.sleep(1.5)
    for follower in followers:
        follower.stop(env)
        others = [line for line in follower.said().splitlines() if line not in OF_WRITERS]
        env.equal(others, [], "what the follower of %s said" % follower.table)
    env.note("private memory of the followers: %s KB" % memory)
    env.check(max(map(max, memory)) < 64 * 1024, "a follower has %d KB of its own" % max(map(max, memory)))
    env.check(traffic.total > 20, "hardly any traffic: %s" % traffic.errors[:3])
    # The ring that the SIGKILL left has become a segment, so a reading now is that of a finished trace.
    env.equal([name for name in os.listdir(squid.directory) if name.endswith(".ring")], [], "rings")
    for follower in followers:
        compare(env, follower, squid.directory)
        lateness(env, follower)


TESTS = [
    ("a reader that follows, and one that comes afterwards", follow, 120, 4500),
]
