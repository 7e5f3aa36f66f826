# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of the main thread's time: tables loop_time and profile, loop_held_ns, and what findings make of them.

Passes that compute, that are blocked, that are stopped, that are throttled and that wait for a processor are held against
the kernel's sched_switch, five of each, and twenty with --full."""

import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time

from lib import access, dump, native, proc, rows
from lib.client import Background, Client
from lib.env import Skip, first, wait_for
from lib.origin import Origin
from lib.sched import Scheduler, total
from lib.squid import Squid

MS = 1000000
SECOND = 1000 * MS
LIMIT = 10 * MS
CONF = "cache_mem 64 MB\n"
PARTS = {"computing": "running", "stopped": "stopped", "not_running": None, "blocked": None}
GROUPS = "/sys/fs/cgroup"
BUSY = "while True: pass"


def count(env):
    return 20 if env.full else 5


class Passes:
    """A Squid whose event loop a request can hold."""

    def __init__(self, env, ms=100):
        self.env = env
        self.log = env.path("passes.log")
        self.origin = Origin(env)
        open(self.log, "w").close()
        os.chmod(self.log, 0o666)
        self.squid = Squid(env, trace="", dns=self.origin.host, lines=CONF, alone=True,
                           preload=native.preload(env, "heldpass"),
                           environment={"HELDPASS_LOG": self.log, "HELDPASS_MS": str(ms)}).start()
        # In a virtual machine with Linux 6.18, the kernel's trace has no switch from idle to a thread but on processor 0:
        # elsewhere it does not say how long a thread waited for a processor that had to be woken.
        os.sched_setaffinity(self.squid.process.pid, {min(os.sched_getaffinity(0))})
        self.url = self.origin.url("o", size=1000, cc="max-age=1000")
        self.client = Client(self.squid.client_address())
        self.client.request(self.url, "first")
        self.scheduler = Scheduler(env, self.squid.process.pid)
        time.sleep(1.5)

    def lines(self):
        with open(self.log) as log:
            return log.read().split("\n")[:-1]

    def hold(self, how, meanwhile=lambda: None):
        """Returns (begin, end) of the pass, by the monotonic clock."""
        before = len(self.lines())
        self.client.send(self.client.head("GET", self.url, "held", ["X-Pass: " + how]))
        while len(self.lines()) == before:
            time.sleep(0.001)
        meanwhile()
        self.client.receive()
        begin, end = [int(line.split()[1]) for line in self.lines()[before:]]
        time.sleep(0.3)
        return begin, end

    def stop(self):
        """Returns the rows of loop_time, with their begins by the monotonic clock, and what the scheduler says."""
        time.sleep(1.2)
        spans = self.scheduler.spans()
        self.client.close()
        self.squid.stop()
        return [(row.wall_ns - self.env.held.wall, row)
                for row in dump.table(self.env, self.squid.directory, "loop_time")], spans


def told(rows, column, begin, end):
    """Nanoseconds that the rows of the seconds around a pass have of a part, and from when until when these are."""
    near = [(at, row) for at, row in rows if at < end + 30 * MS and at + SECOND > begin]
    return sum(float(row[column + "_pct"]) / 100 * SECOND for _, row in near), near[0][0], near[-1][0] + SECOND


def asleep_in(spans, passes, since, until):
    """Nanoseconds that the thread slept in passes, of that time."""
    return sum(total(spans, "asleep", max(begin, since), min(end, until)) for begin, end in passes)


def compare(env, how, rows, spans, passes):
    """The median error of each part is below the limit.  A blocked main thread sleeps, as an idle one does, so only what
    lies in the passes counts as blocked."""
    errors = {part: [] for part in PARTS}
    for begin, end in passes:
        for part in PARTS:
            ours, since, until = told(rows, part, begin, end)
            theirs = {"computing": lambda: total(spans, "running", since, until),
                      "stopped": lambda: total(spans, "stopped", since, until),
                      "not_running": lambda: total(spans, "queued", since, until) + total(spans, "stopped", since, until),
                      "blocked": lambda: asleep_in(spans, passes, since, until)}[part]()
            held = env.held.within((since, until))
            errors[part].append((max(0, ours - theirs - held) or min(0, ours - theirs + held)) / MS)
    env.note("%s: %s" % (how, {part: ["%.1f" % error for error in found] for part, found in errors.items()}))
    for part, found in errors.items():
        env.check(abs(statistics.median(found)) * MS <= LIMIT, "%s: %s is %.1f ms off in the median"
                  % (how, part, statistics.median(found)))


def largest(env, how, rows, passes, wanted, least):
    """Most passes show that part: at least so many ms of it."""
    found = [told(rows, wanted, begin, end)[0] / MS for begin, end in passes]
    env.check(statistics.median(found) >= least, "%s: %s is %s ms" % (how, wanted, ["%.1f" % ms for ms in found]))


def computing(env):
    p = Passes(env)
    passes = [p.hold("compute") for _ in range(count(env))]
    rows, spans = p.stop()
    compare(env, "computing", rows, spans, passes)
    largest(env, "computing", rows, passes, "computing", 95)


def blocked(env):
    p = Passes(env)
    passes = [p.hold("read") for _ in range(count(env))]
    rows, spans = p.stop()
    compare(env, "blocked", rows, spans, passes)
    largest(env, "blocked", rows, passes, "blocked", 90)
    odd = [row for _, row in rows if row["blocked_on"] != "-" and
           (float(row["blocked_pct"]) == 0 or "system call" in row["blocked_on"] or "epoll" in row["blocked_on"])]
    env.check(not odd, "not blocked, or on nothing: %s" % odd[:3])
    names = {row["blocked_on"] for at, row in rows for begin, end in passes if at <= begin and end <= at + SECOND}
    env.check(names and all(name.startswith("read in ") for name in names), "blocked on %s" % names)


def blocked_briefly(env, rate):
    """A call that blocks for 30 ms is in loop_time with its name, beside so many requests a second: four of five, and with --full 18 of 20."""
    p = Passes(env, 30)
    load = subprocess.Popen([env.tool("sqtrace-load"), "--proxy=127.0.0.1:%d" % p.squid.port, "--rate=%d" % rate,
                             "--clients=10", "--duration=120s", p.url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.on_close(load.kill)
    time.sleep(1)
    passes = []
    for _ in range(count(env)):
        passes.append(p.hold("read"))
        time.sleep(1)  # a row is a second
    env.check(load.poll() is None, "the load ended early")
    load.kill()
    load.wait()
    rows, _ = p.stop()
    near = [[row for at, row in rows if at < end + 30 * MS and at + SECOND > begin] for begin, end in passes]
    named = [any(float(row["blocked_pct"]) >= 1 and row["blocked_on"].startswith("read in ") for row in found)
             for found in near]
    env.note("%d of %d" % (sum(named), len(named)))
    env.check(sum(named) >= 0.9 * len(named) - 0.5, "%d of %d calls are in loop_time with their name" % (sum(named), len(named)))


def read_wait(env):
    """Two requests come while Squid stands still, so that one poll reports both. One of them holds the pass. If Squid reads
    it first, the bytes of the other wait meanwhile: read_wait_ns. Else the other waits for its reply."""
    p = Passes(env)
    worker = p.squid.process.pid
    with Client(p.squid.client_address()) as other:
        other.request(p.url, "alone-0")
        for n in range(count(env)):
            os.kill(worker, signal.SIGSTOP)
            wait_for(lambda: proc.stopped(worker), 10, "the stop")
            p.client.send(p.client.head("GET", p.url, "held", ["X-Pass: compute"]))
            time.sleep(0.01)
            other.send(other.head("GET", p.url, "behind-%d" % n))
            time.sleep(0.01)
            os.kill(worker, signal.SIGCONT)
            p.client.receive()
            other.receive()
            time.sleep(0.1)
            other.request(p.url, "alone-%d" % (n + 1))
    times = [int(line.split()[1]) for line in p.lines()]
    passes = list(zip(times[::2], times[1::2]))
    p.stop()
    joined = rows.join(env, access.read(p.squid), dump.table(env, p.squid.directory, "requests"))
    by_tag = {line.xtag: row for line, row in joined}
    behind = 0
    for n, (begin, end) in enumerate(passes):
        row, held = by_tag["behind-%d" % n], end - begin
        waits = [row.ns("read_wait_ns"), row.ns("total_ns")]
        env.check(held <= max(waits) <= held + 20 * MS and min(waits) < 10 * MS,
                  "beside %.1f ms: read_wait_ns and total_ns %s" % (held / MS, waits))
        behind += waits[0] > waits[1]
    env.check(behind > 0, "Squid never read the request first that holds the pass")
    env.equal(len(passes), count(env), "passes that were held")
    alone = [row.ns("read_wait_ns") for tag, row in by_tag.items() if tag.startswith("alone-")]
    env.check(len(alone) > count(env) and statistics.median(alone) < 5 * MS, "alone: %s" % alone)


def stopped(env):
    p = Passes(env)

    def stop():
        time.sleep(0.02)
        os.kill(p.squid.process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(p.squid.process.pid, signal.SIGCONT)
    passes = [p.hold("compute", stop) for _ in range(count(env))]
    rows, spans = p.stop()
    compare(env, "stopped", rows, spans, passes)
    largest(env, "stopped", rows, passes, "stopped", 85)


def quota(env, pid, ms, of_ms):
    """Puts a process, which must not be one of a real-time class, into a new control group of that quota.  Returns a
    function: ns for which the kernel has throttled it."""
    old = os.path.isdir(GROUPS + "/cpu")
    group = GROUPS + ("/cpu" if old else "") + "/sqtrace-38-%d" % pid
    limits = [("cpu.cfs_period_us", of_ms * 1000), ("cpu.cfs_quota_us", ms * 1000)] if old else \
             [("cpu.max", "%d %d" % (ms * 1000, of_ms * 1000))]
    try:
        os.mkdir(group)
        env.on_close(lambda: os.rmdir(group))
        for name, value in limits + [("cgroup.procs", pid)]:
            with open(os.path.join(group, name), "w") as file:
                file.write(str(value))
    except OSError as error:
        raise Skip("no control group can be made: %s" % error)

    def throttled_ns():
        with open(os.path.join(group, "cpu.stat")) as file:
            stat = dict(line.split() for line in file)
        return int(stat["throttled_time"]) if old else int(stat["throttled_usec"]) * 1000
    return throttled_ns


def throttled(env):
    p = Passes(env)
    kernel = quota(env, p.squid.process.pid, 10, 50)
    passes = [p.hold("compute") for _ in range(count(env))]
    mean = kernel() / MS / len(passes)
    rows, spans = p.stop()
    compare(env, "throttled", rows, spans, passes)
    env.note("the kernel throttled for %.1f ms a pass" % mean)
    largest(env, "throttled", rows, passes, "throttled", mean / 2)


def waiting(env):
    p = Passes(env)
    pid = p.squid.process.pid
    for task in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(task), {0})
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    env.on_close(busy.kill)
    os.sched_setaffinity(busy.pid, {0})
    passes = [p.hold("compute") for _ in range(count(env))]
    busy.kill()
    busy.wait()
    rows, spans = p.stop()
    compare(env, "waiting for a processor", rows, spans, passes)
    largest(env, "waiting for a processor", rows, passes, "waiting", 50)


# ---- names ----

def lists(env):
    """An ACL of 20,000 regular expressions that begin with what each URL has, and one of 50,000 addresses."""
    chance = random.Random(1)
    with open(env.path("regexes"), "w") as out:
        for _ in range(20000):
            out.write("[a-z.]+%s[0-9]+.*%s$\n" % tuple("".join(chance.choices("abcdefghijklmnop", k=8)) for _ in "ab"))
    with open(env.path("addresses"), "w") as out:
        out.writelines("10.%d.%d.%d\n" % (n >> 16, n >> 8 & 255, n & 255) for n in range(50000))
    for name in ("regexes", "addresses"):
        os.chmod(env.path(name), 0o644)
    return ('acl many_addresses src "%s"\nhttp_access deny many_addresses\nacl many_regexes url_regex "%s"\n'
            'http_access deny many_regexes\n' % (env.path("addresses"), env.path("regexes")))


def load(env, squid, urls, seconds, clients=2):
    """Clients that ask again and again, each on a connection of its own: none waits to be accepted.  Each asks for one of
    the urls."""
    own = threading.local()

    def work(n):
        if not hasattr(own, "client"):
            own.client = Client(squid.client_address())
        own.client.request(urls[n % len(urls)], "c%d" % n)
    busy = Background(env, clients, work)
    time.sleep(seconds)
    done = busy.stop()
    env.note("%d requests" % done)
    env.check(not busy.errors, "clients: %s" % busy.errors[:3])


def shares(env, squid, key):
    """{key: share of all seconds that have rows} of the profile."""
    rows = dump.table(env, squid.directory, "profile")
    seconds = len({row["time_s"] for row in rows})
    found = {}
    for row in rows:
        found[key(row)] = found.get(key(row), 0) + float(row["share_pct"]) / max(seconds, 1)
    return found


def acls(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines=CONF + lists(env), alone=True).start(seconds=120)
    # A long path, so that each expression takes its time.
    load(env, squid, [origin.url("o" + 100 * "a", size=1000, cc="max-age=1000")], 5, clients=4)
    squid.stop()
    found = shares(env, squid, lambda row: row["acl"])
    env.note("shares by ACL: %s" % found)
    env.check(max(found, key=found.get) == "many_regexes", "most is %s" % found)
    env.check(found.get("many_addresses", 0) < 2, "the ACL of addresses has %s %%" % found.get("many_addresses"))
    env.note("the first finding: %s" % dump.table(env, squid.directory, "findings")[0])
    # A request's own check counts as access_checks while its pass is shorter than 5 ms, and as loop_computing if it is
    # longer: which of the two is told depends on how fast the processor is.  Only the latter has a name.
    finding = dump.table(env, squid.directory, "findings")[0]
    env.check((finding["cause"], finding["culprit"]) in (("loop_computing", "acl many_regexes"), ("access_checks", "-")),
              "the first finding is %s" % finding)


def no_names(env):
    origin = Origin(env)
    squid = Squid(env, trace="names=off compress=off", dns=origin.host, lines=CONF + lists(env),
                  alone=True).start(seconds=120)
    load(env, squid, [origin.url("o", size=1000, cc="max-age=1000")], 3)
    squid.stop()
    env.equal(set(shares(env, squid, lambda row: row["acl"])), {"-"}, "ACLs")
    for path in dump.segments(squid.directory):
        with open(path, "rb") as file:
            env.check(b"many_regexes" not in file.read(), "the name is in %s" % path)


def slow_reads(env):
    """ufs reads in the main thread: the time that they hold others is loop_held_ns, and the finding has the cache_dir."""
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="cache_mem 0\nmemory_cache_mode disk\n", dirs=["ufs"], alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "/cache-ufs-", "SLOWDISK_MS": "40", "SLOWDISK_IF": env.path("slow")})
    squid.start()
    # Each client has an object of its own: one that others read at the moment would be in memory.
    urls = [origin.url("o%d" % n, size=9000, cc="max-age=1000") for n in range(3)]
    for url in urls * 2:
        squid.get(url)
    time.sleep(1)
    open(env.path("slow"), "w").close()
    load(env, squid, urls, 4, clients=3)
    squid.stop()
    found = shares(env, squid, lambda row: row["activity"])
    env.note("shares by activity: %s" % found)
    env.check(max(found, key=found.get) == "read on cache_dir 0 (ufs)", "most is %s" % max(found, key=found.get))
    rows = dump.table(env, squid.directory, "loop_time")
    worst = max(rows, key=lambda row: float(row["blocked_pct"]))
    env.check(float(worst["blocked_pct"]) > 60, "blocked for %s %%" % worst["blocked_pct"])
    env.equal(worst["blocked_on"], "read on cache_dir 0 (ufs)", "blocked on")
    slow = [row for row in dump.table(env, squid.directory, "requests") if row.ns("total_ns") > 100 * MS]
    held = statistics.median(row.ns("loop_held_ns") / row.ns("total_ns") for row in slow)
    env.check(0.7 < held <= 1, "requests are held for %.2f of their time" % held)
    finding = dump.table(env, squid.directory, "findings")[0]
    env.equal((finding["cause"], finding["culprit"]), ("loop_blocked", "read on cache_dir 0 (ufs)"), "finding")


ALONE = True  # it looks at who has the processor

TESTS = [
    ("loop_time: a pass that computes", first(computing), 60),
    ("loop_time: a pass that is blocked in read", first(blocked), 60),
    ("loop_time: a call that blocks for 30 ms, at a request a second", first(lambda env: blocked_briefly(env, 1)), 90),
    ("loop_time: a call that blocks for 30 ms, at 20 requests a second", first(lambda env: blocked_briefly(env, 20)), 90),
    ("loop_time: a call that blocks for 30 ms, at 1,000 requests a second", first(lambda env: blocked_briefly(env, 1000)), 90),
    ("requests: bytes that wait behind a pass that computes", first(read_wait), 60),
    ("loop_time: a pass that is stopped", first(stopped), 60),
    ("loop_time: a pass that a control group throttles", throttled, 60),
    ("loop_time: a pass that waits for a processor", waiting, 60),
    ("profile: an ACL of 20,000 regular expressions", first(acls), 180),
    ("profile: names=off", first(no_names), 180),
    ("profile: ufs reads of 40 ms", first(slow_reads), 90),
]
