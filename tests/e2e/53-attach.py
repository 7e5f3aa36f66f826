# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-attach: a trace of a Squid from outside, judged by the patched Squid's own trace of the same requests; and that it
leaves nothing behind."""

import collections
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from lib import dump, load
from lib.client import Client, at_once
from lib.env import Skip, median, run, unpatched_too, wait_for, with_unpatched
from lib.helper import Helper
from lib.origin import Origin
from lib.squid import Squid

REQUESTS = 500
ASKED = 40  # requests about which a helper of access checks is asked, while others wait for their server
HELPER = """
external_acl_type asked ttl=0 negative_ttl=0 children-max=4 children-startup=4 queue-size=50 %%URI %s
acl helped urlpath_regex helped
acl answered external asked
http_access deny helped !answered
"""
# A stage agrees if it is within these of the patched Squid's, and this share of its rows must.  Both traces see the same moment,
# but the processor may go to another process between the two readings of the clock: on a virtual machine it was away for 10 to
# 40 us in up to 12 % of the rows.  Probes themselves take 2 to 6 us; the first one after Squid has slept finds cold caches and
# took 12 to 18 us in two of three rows of server_reply_ns that began after a wait of more than 5 ms.  So that these rows do not
# hide a wrong begin, half of all are closer than CLOSER_NS: a begin that is wrong by 50 us is found in stages of up to 1.3 ms.
NS, SHARE, ROWS = 20000, 0.05, 0.8
CLOSER_NS, CLOSER_SHARE = 7500, 0.0375
FEW = 2  # so many rows may differ of a stage that ten or more have
LEFT_OVER = 0.65  # of reply_wait, which gets the differences of all stages that stand before it
STAGES = ("access_ns", "helper_ns", "redirect_ns", "lookup_ns", "peer_select_ns", "dns_ns", "connect_ns", "tls_ns", "request_send_ns",
          "server_wait_ns", "server_reply_ns", "tunnel_ns", "swap_in_open_ns", "swap_in_first_ns", "swap_in_rest_ns",
          "reply_wait_ns", "proxy_reply_ns", "total_ns", "first_byte_ns")
SAME = "tag", "class", "sent_bytes", "tries", "outcome"


class Attached:
    """sqtrace-attach, running until stop()."""

    def __init__(self, env, squid, name="attached", words=()):
        env.need_root("probes")
        self.env = env
        self.folder = env.path(name)
        self.command = [env.tool("sqtrace-attach"), *(words or ["--service=" + squid.service]), "-o", self.folder]
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        env.on_close(self.process.kill)
        time.sleep(0.5)
        wait_for(lambda: self.process.poll() is not None or probed(squid), 30, "probes in Squid")
        if self.process.poll() is not None:
            said = self.process.stderr.read()
            if "kernel" in said:  # it cannot, or its numbers of processes are others
                raise Skip(said.strip())
            env.require(False, "sqtrace-attach ended: " + said)

    def stop(self, number=signal.SIGINT):
        """Its exit status and what it said."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=60)[1]
        self.env.note("sqtrace-attach: " + said.strip())
        return self.process.returncode, said


def differing(squid):
    """Bytes of the program's code in memory that are not those of its file."""
    pid, count = squid.worker_pids()[0], 0
    with open("/proc/%d/exe" % pid, "rb") as file:
        program = file.read()
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, open("/proc/%d/mem" % pid, "rb") as memory:
        for line in maps:
            words = line.split()
            if "x" in words[1] and len(words) > 5 and words[5].endswith("/squid"):
                begin, end = (int(number, 16) for number in words[0].split("-"))
                offset = int(words[2], 16)
                memory.seek(begin)
                count += sum(a != b for a, b in zip(memory.read(end - begin), program[offset:offset + end - begin]))
    return count


def probed(squid):
    return differing(squid) > 0


def by_begin(rows):
    """Of each kid, its rows in the order in which they began."""
    kids = collections.defaultdict(list)
    for row in rows:
        kids[row["kid"]].append(row)
    return {kid: sorted(rows, key=lambda row: int(row["time_ns"])) for kid, rows in kids.items()}


def known(row, column):
    return row[column] != "-"


def stage_agrees(env, pairs, column):
    """The share of rows in which the stage is nearly the same; a row that only one trace has it in disagrees."""
    both = [(int(own[column]), int(seen[column])) for own, seen in pairs if known(own, column) and known(seen, column)]
    single = sum(known(own, column) != known(seen, column) for own, seen in pairs)
    if not both and not single:
        return
    near = sum(abs(seen - own) <= max(NS, SHARE * own) for own, seen in both)
    apart = median([abs(seen - own) / max(CLOSER_NS, CLOSER_SHARE * own) for own, seen in both]) if both else 0
    env.note("%s: %d of %d rows agree, %d are in one trace only" % (column, near, len(both), single))
    env.check(apart <= 1, "%s: in the median the rows differ by %.2f of what half of them may" % (column, apart))
    least = LEFT_OVER if column == "reply_wait_ns" else ROWS
    total = len(both) + single
    few = FEW if total >= 10 else 0
    env.check(near >= min(least * total, total - few), "%s: %d of %d rows agree, %d are in one trace only"
              % (column, near, len(both), single))


def asks(env, squid, origin, worker):
    with Client(squid.client_address()) as client:
        for n in range(ASKED // 4):
            time.sleep(0.02 * worker)  # so that they do not begin at once
            url = origin.url("helped-wait10-%d-%d" % (worker, n), hdr=100)
            env.equal(client.request(url, "helped-%d-%d" % (worker, n)).status, 200, "allowed")


def judged(env, dirs, workers):
    """Both traces have the same rows."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=dirs, workers=workers, dns=origin.host, plain=True,
                  lines=load.CONF + HELPER % Helper(env, "acl").command)
    squid.start()
    wait_for(lambda: len(squid.rings()) >= max(1, workers), 30, "each process to trace")
    mixed = load.Mixed(env, squid, origin, seed=4, weights=WEIGHTS)
    mixed.warm()
    time.sleep(1)
    attached = Attached(env, squid)
    since = time.time_ns()
    mixed.run(REQUESTS, 2)
    at_once(4, lambda worker: asks(env, squid, origin, worker))
    time.sleep(1)
    status, said = attached.stop()
    env.equal(status, 0, "exit status")
    env.check("0 calls were lost" in said, "nothing is lost: " + said)
    squid.stop()
    columns = "--columns=" + ",".join(("kid", "time_ns") + STAGES + SAME)
    own = by_begin(r for r in dump.table(env, squid.directory, "requests", columns) if int(r["time_ns"]) > since)
    seen = by_begin(dump.table(env, attached.folder, "requests", columns))
    env.equal({kid: len(rows) for kid, rows in seen.items()}, {kid: len(rows) for kid, rows in own.items()}, "rows of each kid")
    pairs = [pair for kid in own for pair in zip(own[kid], seen.get(kid, []))]
    env.check(len(pairs) >= REQUESTS, "%d rows" % len(pairs))
    env.equal(sum(known(row, "helper_ns") for row, _ in pairs), ASKED, "requests with a helper")
    for column in STAGES:
        stage_agrees(env, pairs, column)
    for column in SAME:
        other = collections.Counter((a[column], b[column]) for a, b in pairs if a[column] != b[column])
        env.check(sum(other.values()) <= len(pairs) // 50, "%s: %s" % (column, other.most_common(3)))


# What two clients at a time can send in the same order in both traces.
WEIGHTS = {"memory_hit": 24, "disk_hit": 22, "miss": 16, "chunked": 2, "not_modified": 6, "negative": 4, "tunnel": 3, "vary": 5,
           "revalidate": 5, "changed": 1, "head": 2, "refused": 2, "reload": 1}


def ufs(env):
    """Hits from memory and ufs, misses, tunnels, revalidations, refused requests."""
    judged(env, ["ufs"], 1)


def rock(env):
    """The same of two workers with rock."""
    judged(env, ["rock"], 2)


def plain_squid(env):
    """An unpatched Squid, if there is one."""
    squid = Squid(env, prefix=env.unpatched or env.squid, plain=True)
    squid.start()
    return squid


def fetch(squid, origin, count, name):
    with Client(squid.client_address()) as client:
        for n in range(count):
            status = client.request(origin.url("%s%d" % (name, n % 10), size=2000), "%s%d" % (name, n)).status
            if status != 200:
                return status
    return 200


@with_unpatched
def unpatched(env):
    """Each line of access.log has a row, and every program reads the trace."""
    origin, squid = Origin(env), plain_squid(env)
    attached = Attached(env, squid)
    refused = run(attached.command[:-1] + [env.path("second")], 30)
    env.check(refused.returncode == 1 and "another sqtrace-attach" in refused.stderr, "a second one: " + refused.stderr)
    env.check(not os.path.exists(env.path("second")), "the second one leaves no folder")
    env.equal(fetch(squid, origin, 100, "x"), 200, "a request")
    time.sleep(0.5)
    env.equal(attached.stop()[0], 0, "exit status")
    rows = dump.table(env, attached.folder, "requests")
    env.equal(len(rows), 100, "rows")
    env.equal(collections.Counter(row["class"] for row in rows), {"mem_hit": 90, "miss": 10}, "classes")
    env.check("build id" in dump.Dump(env, attached.folder, "requests").comments().get("attached", ""), "the header says it")
    causes = [row["cause"] for row in dump.table(env, attached.folder, "findings")]
    env.check(causes and "healthy" not in causes, "a trace from outside finds no Squid healthy: %s" % causes)
    top = run([env.tool("sqtrace-top"), "--once", attached.folder], 60)
    env.check(top.returncode == 0 and "mem_hit" in top.stdout, "sqtrace-top: " + top.stderr)


class Steady:
    """A client that asks until end(), which returns how many requests it sent and which failed."""

    def __init__(self, squid, origin):
        self.squid, self.origin, self.over, self.sent, self.failed = squid, origin, False, 0, []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        with Client(self.squid.client_address()) as client:
            while not self.over:
                self.sent += 1
                try:
                    status = client.request(self.origin.url("s%d" % (self.sent % 50), size=2000), "s%d" % self.sent).status
                except (OSError, RuntimeError) as error:
                    status = repr(error)
                if status != 200:
                    self.failed.append(status)
                time.sleep(0.002)

    def end(self):
        self.over = True
        self.thread.join(30)
        return self.sent, self.failed


@unpatched_too
def nothing_left(env):
    """No request fails however often it comes and goes, and Squid's code is as it was, also after SIGKILL."""
    origin, squid = Origin(env), plain_squid(env)
    rounds, killed = (500, 10) if env.full else (4, 2)
    steady = Steady(squid, origin)
    for n in range(rounds):
        attached = Attached(env, squid, "attached%d" % n)
        if n % 50 == 5:
            squid.rotate()
        time.sleep(1.2 if n < 2 else 0.1)
        attached.stop(signal.SIGKILL if n % killed == 1 else signal.SIGINT)
        wait_for(lambda: not probed(squid), 30, "the probes to be gone")
        if n < 2:
            env.check(dump.table(env, attached.folder, "requests"), "what was written of the trace is read")
        shutil.rmtree(attached.folder)
    sent, failed = steady.end()
    env.note("%d requests while it came and went %d times" % (sent, rounds))
    env.equal(failed[:5], [], "requests that failed, of %d" % sent)
    env.check(sent > 50 * rounds // 3, "%d requests" % sent)


def answers(squid, origin):
    try:
        return fetch(squid, origin, 1, "again") == 200
    except OSError:
        return False


@unpatched_too
def follows(env):
    """A worker that is killed, and Squid's end: with --service the next Squid is traced, too."""
    origin, squid = Origin(env), plain_squid(env)
    attached = Attached(env, squid)
    env.equal(fetch(squid, origin, 10, "a"), 200, "the first worker")
    old = squid.worker_pids()[0]
    os.kill(old, signal.SIGKILL)
    wait_for(lambda: set(squid.worker_pids()) - {old}, 30, "a new worker")
    wait_for(lambda: answers(squid, origin), 30, "an answer")
    squid.rotate()
    squid.reconfigure()
    wait_for(lambda: answers(squid, origin), 30, "an answer")
    env.equal(fetch(squid, origin, 20, "b"), 200, "the second worker")
    squid.stop()
    squid.start()
    wait_for(lambda: squid.worker_pids() and probed(squid), 30, "probes in the next Squid")
    env.equal(fetch(squid, origin, 30, "c"), 200, "the next Squid")
    time.sleep(0.5)
    env.equal(attached.stop()[0], 0, "exit status")
    pids = {line for line in dump.Dump(env, attached.folder, "requests").text.splitlines() if line.startswith("# process")}
    env.equal(len(pids), 3, "processes: %s" % pids)
    env.check(all("kid 1, single process" in line for line in pids), "what they are: %s" % pids)
    env.check(len(dump.table(env, attached.folder, "requests")) >= 60, "rows")


class Flood:
    """Asks for one object again and again, many requests at once, on a few connections: count of each, or until end()."""

    AT_ONCE, THREADS = 100, 2

    def __init__(self, squid, origin, count):
        self.squid, self.url, self.count, self.over, self.done = squid, origin.url("flood", size=100), count, False, 0
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(self.THREADS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        request = Client.head("GET", self.url)
        with socket.create_connection(self.squid.client_address(), 30) as to:
            for _ in range(0, self.count, self.AT_ONCE):
                if self.over:
                    return
                to.sendall(request * self.AT_ONCE)
                got, rest = 0, b""
                while got < self.AT_ONCE:
                    more = to.recv(1 << 16)
                    if not more:
                        return
                    got += (rest + more).count(b"HTTP/1.1 200")
                    rest = more[-11:]
                self.done += got

    def end(self, over=True):
        self.over = over
        for thread in self.threads:
            thread.join(60)
        return self.done


@unpatched_too
def behind(env):
    """A reader that is too slow: what it lost is marked where it is missing, and all else keeps its time."""
    origin, squid = Origin(env), plain_squid(env)
    attached = Attached(env, squid)
    env.equal(fetch(squid, origin, 10, "a"), 200, "a request")
    attached.process.send_signal(signal.SIGSTOP)
    begin = time.time_ns()
    flood = Flood(squid, origin, 12000).end(over=False)
    end = time.time_ns()
    attached.process.send_signal(signal.SIGCONT)
    time.sleep(1.5)
    later = time.time_ns()
    env.equal(fetch(squid, origin, 10, "b"), 200, "a request")
    time.sleep(0.5)
    status, said = attached.stop()
    env.equal(status, 0, "exit status")
    rows = dump.table(env, attached.folder, "requests", "--columns=time_ns,total_ns,outcome")
    times = [int(row["time_ns"]) for row in rows]
    meanwhile = [row for row in rows if begin < int(row["time_ns"]) < end]
    env.note("%d requests while it stood still, %d of them in the trace: %s" % (flood, len(meanwhile), said.strip()))
    env.check(" 0 calls were lost" not in said, "some are lost: " + said)
    env.check(flood // 3 < len(meanwhile) < flood, "%d of %d rows" % (len(meanwhile), flood))
    env.check(sum(time > later for time in times) >= 10, "those that came later")
    env.check(not any(end < time < later for time in times), "none between")
    losses = dump.table(env, attached.folder, "losses")
    env.equal([row["reason"] for row in losses], ["ring full"], "gaps")
    env.check(len({row["time_ns"] for row in meanwhile}) > len(meanwhile) * 0.99, "times of their own")


@unpatched_too
def most(env):
    """--most goes on after the process that --pid named ended."""
    origin, squid = Origin(env), plain_squid(env)
    env.require(squid.worker_pids(), "a worker")
    old = squid.worker_pids()[0]
    attached = Attached(env, squid, words=("--pid=%d" % old, "--most=5%"))
    flood = Flood(squid, origin, 1 << 30)
    wait_for(lambda: not probed(squid), 20, "a pause")
    os.kill(old, signal.SIGKILL)
    flood.end()
    wait_for(lambda: set(squid.worker_pids()) - {old}, 30, "a new worker")
    wait_for(lambda: answers(squid, origin) and probed(squid), 30, "probes in the new worker")
    env.equal(fetch(squid, origin, 20, "b"), 200, "the new worker")
    time.sleep(0.5)
    status, said = attached.stop()
    env.equal(status, 0, "exit status: " + said)
    losses = dump.table(env, attached.folder, "losses")
    env.check("sampled" in {row["reason"] for row in losses}, "gaps: %s" % losses[:3])
    kids = collections.Counter(line.split()[2] for line in dump.Dump(env, attached.folder, "requests").text.splitlines()
                               if line.startswith("# process"))
    env.note("processes: %s" % kids)
    env.equal(sum(kids.values()), 2, "workers in the trace")


def probes_stand_on_instructions(env, prefix):
    """Where objdump says that one begins: a probe in the middle of one would change what Squid does."""
    if not shutil.which("objdump"):
        raise Skip("objdump is needed")
    program = os.path.join(prefix, "sbin", "squid")
    text = re.search(r" \.text +\S+ +(\S+) +\S+ +(\S+)", run(["objdump", "-h", program], 60).stdout)
    base = int(text.group(1), 16) - int(text.group(2), 16)
    code = run(["objdump", "-d", "--no-show-raw-insn", "--section=.text", program], 120).stdout
    begins = {int(found, 16) - base for found in re.findall(r"^ +([0-9a-f]+):", code, re.M)}
    rows = [line.split("\t") for line in run([env.tool("sqtrace-attach"), "--check", program], 60).stdout.splitlines()]
    probes = [(int(row[3], 16), row[1]) for row in rows if len(row) == 5 and row[3].startswith("0x")]
    env.note("%s: %d probes" % (program, len(probes)))
    env.check(len(probes) > 60, "%d probes" % len(probes))
    env.equal([name for offset, name in probes if offset not in begins], [], "probes inside of an instruction")


def probes_of_patched(env):
    """Of the Squid with the hooks."""
    probes_stand_on_instructions(env, env.squid)


@with_unpatched
def probes_of_unpatched(env):
    """Of the Squid without them."""
    probes_stand_on_instructions(env, env.unpatched)


ALONE = True  # two sqtrace-attach on Squids of one program disturb each other

TESTS = [
    ("attach: the same rows as the patched Squid's own trace, ufs", ufs, 120),
    ("attach: the same rows as the patched Squid's own trace, rock and two workers", rock, 120),
    ("attach: probes stand on instructions", probes_of_patched, 120),
    ("attach: probes stand on an unpatched Squid's instructions", probes_of_unpatched, 120),
    ("attach: an unpatched Squid", unpatched, 90),
    ("attach: nothing is left behind", nothing_left, 120, 3000),
    ("attach: new workers and restarts", follows, 150),
    ("attach: a reader that is too slow", behind, 120),
    ("attach: --most after a worker ended", most, 120),
]
