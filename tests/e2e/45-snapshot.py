# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-snapshot beside a Squid: a snapshot has every record of its stretch, also those that are only in the ring."""

import os
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
    made = []
    for turn in range(8):
        time.sleep(0.7)
        if turn % 2:
            squid.rotate()
        squid.get(origin.url("marked-%d" % turn, size=100))
        subprocess.run([env.tool("sqtrace-snapshot"), squid.directory, "--to=" + out, "--last=1s", "--quiet"], check=True)
        made.append(sorted((os.path.join(out, name) for name in os.listdir(out)), key=os.path.getctime)[-1])
    read = [records(env, one) for one in made]  # while Squid goes on
    traffic.stop()
    squid.stop()
    whole = records(env, squid.directory)
    env.equal(losses(env, squid.directory), [], "records that the trace lost")
    env.check(len(set(made)) == 8, "not each run made a snapshot: %s" % made)
    for name, before in zip(made, read):
        env.equal(records(env, name), before, "a snapshot that changed later")
        env.equal(losses(env, name), [], "records that a snapshot lost")
        env.check(before, "%s has no records" % name)
        for ring, numbers in before.items():
            first, last = min(numbers), max(numbers)
            wanted = {n for n in whole[ring] if first <= n <= last}
            env.equal(len(wanted ^ numbers), 0, "records of a process that %s lacks, or has and the trace has not" % name)


TESTS = [
    ("snapshots of a live trace", live, 60),
]
