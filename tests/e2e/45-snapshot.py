# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-snapshot beside a Squid: a snapshot has every record of its stretch, also those that are only in the ring."""

import os
import random
import re
import signal
import subprocess
import time

from lib.client import Background, Client
from lib.origin import Origin
from lib.squid import Squid


def records(env, directory):
    """Process -> numbers of its records."""
    command = [env.tool("sqtrace-dump"), directory, "--table=events", "--columns=ring,row", "--format=tsv", "--quiet"]
    found = {}
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines():
        cells = line.split("\t")
        if len(cells) == 2 and cells[1].isdigit():
            found.setdefault(cells[0], set()).add(int(cells[1]))
    return found


def timed_records(env, directory, *options):
    """(process, number) -> ns since 1970 of its records."""
    command = [env.tool("sqtrace-dump"), directory, "--table=events", "--columns=ring,row,time_ns", "--format=tsv", "--quiet", *options]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")][1:]
    return {(ring, row): int(ns) for ring, row, ns in rows if ring != "-"}


def losses(env, directory):
    command = [env.tool("sqtrace-dump"), directory, "--table=losses", "--format=tsv", "--quiet"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    return [line for line in lines if line and not line.startswith("#")][1:]


def live(env):
    """Two workers under load, with rotations."""
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB", dirs=["ufs"], workers=2, dns=origin.host, lines="cache_mem 4 MB").start()
    out = env.path("out")

    def work(n):
        with Client(squid.client_address(), 20) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 40), size=50000), "r")
    traffic = Background(env, 4, work)
    made, latest = [], []
    for turn in range(8):
        time.sleep(0.7)
        if turn % 2:
            squid.rotate()
        asked = timed_records(env, squid.directory, "--since=-300ms")
        subprocess.run([env.tool("sqtrace-snapshot"), squid.directory, "--to=" + out, "--last=1s", "--quiet"], check=True)
        made.append(sorted((os.path.join(out, name) for name in os.listdir(out)), key=os.path.getctime)[-1])
        latest.append(set(asked))
    read = [records(env, one) for one in made]  # while Squid goes on
    traffic.stop()
    squid.stop()
    whole = records(env, squid.directory)
    env.equal(losses(env, squid.directory), [], "records that the trace lost")
    env.check(len(set(made)) == 8, "not each run made a snapshot: %s" % made)
    for name, before, asked in zip(made, read, latest):
        numbers = {(ring, str(n)) for ring, found in before.items() for n in found}
        env.check(len(asked) > 10, "few records were new before %s: %d" % (name, len(asked)))
        env.equal(len(asked - numbers), 0, "records of just before that are not in %s" % name)
        env.equal(records(env, name), before, "a snapshot that changed later")
        env.equal(losses(env, name), [], "records that a snapshot lost")
        env.check(before, "%s has no records" % name)
        for ring, numbers in before.items():
            first, last = min(numbers), max(numbers)
            wanted = {n for n in whole[ring] if first <= n <= last}
            env.equal(len(wanted ^ numbers), 0, "records of a process that %s lacks, or has and the trace has not" % name)


def request_row(env, directory, kid, xid):
    """The columns that do not count from the start of the trace."""
    command = [env.tool("sqtrace-dump"), directory, "--table=requests", "--kid=" + kid, "--where=xid == " + xid, "--format=tsv", "--quiet",
               "--columns=ring,row,time_ns,xid,tag,status,outcome,total_ns,connect_ns,server_wait_ns,proxy_reply_ns"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")][1:]


def is_same(one, other):
    """Two cells: what is read from a ring goes by an earlier anchor of the clock.  Anchors are a second apart and 100 ns
    exact: a tenth of a millionth of a duration, and of a moment what this makes of the seconds since an anchor."""
    if one == other:
        return True
    return one.isdigit() and other.isdigit() and abs(int(one) - int(other)) <= 2 + min(int(one), 10 ** 10) // 10 ** 7


def in_memory(env, directory):
    env.need_root("mounts a tmpfs")
    os.makedirs(directory)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755,size=256m", "none", directory], check=True)
    env.on_close(lambda: subprocess.run(["umount", "-l", directory], check=False))


def watching(env):
    """Slow requests at random moments, with the trace in memory: each is in a snapshot, whole and with the time before.

    The long form takes an hour, at some 40 requests/s."""
    before, slow, gaps, rest = (60, 20, (60, 240), 0.05) if env.full else (4, 3, (3, 6), 0.005)
    directory, out = env.path("memory"), env.path("out")
    in_memory(env, directory)
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB total=100MB reserve=off", dirs=["ufs"], workers=2, dns=origin.host, lines="cache_mem 4 MB",
                  directory=directory)
    squid.give(directory)
    squid.start()

    def work(n):
        with Client(squid.client_address(), 20) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 40), size=20000), "r")
                time.sleep(rest)
    traffic = Background(env, 2, work)
    command = [env.tool("sqtrace-snapshot"), squid.directory, "--to=" + out, "--when=total_ns > 900ms", "--when=stall > 20s",
               "--before=%ds" % before, "--after=1s", "--every=2s"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watch:
        for n in range(slow):
            time.sleep(random.uniform(*gaps))
            squid.get(origin.url("slow-%d" % n, size=1000, hdr=1000))
        time.sleep(3)
        watch.send_signal(signal.SIGTERM)
        said = watch.communicate(timeout=20)[1]
    traffic.stop()
    squid.stop()
    made = re.findall(r"made (\S+) \(.*because request (\d+) of kid (\d+) (?:took|has taken)", said)
    env.equal(watch.returncode, 0, "exit status of the watching program: " + said)
    env.equal(len(made), slow, "snapshots: " + said)
    env.equal(len(os.listdir(out)), slow, "folders")
    env.equal(losses(env, squid.directory), [], "records that the trace lost")
    whole = timed_records(env, squid.directory)
    for name, xid, kid in made:
        row, wanted = request_row(env, name, kid, xid), request_row(env, squid.directory, kid, xid)
        env.check(len(row) == len(wanted) and all(is_same(*cells) for cells in zip(sum(row, []), sum(wanted, []))),
                  "the row of the slow request: %s, and not %s" % (row, wanted))
        if not env.check(len(row) == 1 and row[0][6] == "complete", "%s has no whole row of it: %s" % (name, row)):
            continue
        end, total = int(row[0][2]), int(row[0][7])
        wanted = {record for record, ns in whole.items() if end - total - before * 10**9 <= ns <= end + 5 * 10**8}
        env.check(len(wanted) > 1000, "few records lie in the time of the slow request: %d" % len(wanted))
        env.equal(len(wanted - set(timed_records(env, name))), 0, "records around the slow request that are not in %s" % name)
        env.equal(losses(env, name), [], "records that a snapshot lost")


TESTS = [
    ("snapshots of a live trace", live, 60),
    ("slow requests of a trace in memory", watching, 60, 6000),
]
