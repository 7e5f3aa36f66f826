# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-ship beside a Squid: what it ships in pieces, some of them killed, is what the finished trace has."""

import glob
import os
import random
import subprocess
import threading
import time

from lib.client import Background, Client
from lib.env import UNIT
from lib.origin import Origin
from lib.squid import Squid


class Shipper:
    """Ships again and again, and kills every third run."""

    def __init__(self, env, directory, out):
        self.env, self.directory, self.out = env, directory, out
        self.runs, self.kills, self.errors, self.stopped = 0, 0, [], False
        self.thread = threading.Thread(target=self.body, daemon=True)
        self.thread.start()

    def body(self):
        while not self.stopped:
            self.ship(kill=self.runs % 3 == 1)
            time.sleep(random.random() * 0.2)

    def ship(self, kill=False):
        self.runs += 1
        command = [self.env.tool("sqtrace-ship"), self.directory, "--to=" + self.out, "--make-folder", "--quiet", "--least-size=0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
            if kill:
                time.sleep(random.random() * 0.1)
                child.kill()
            text = child.communicate(timeout=60)[1].decode()
        self.kills += child.returncode == -9
        if child.returncode not in ((0, -9) if kill else (0,)):
            self.errors.append("status %d: %s" % (child.returncode, text))

    def stop(self):
        self.stopped = True
        self.thread.join(60)
        self.ship()


def compare(env, how, directory, out):
    """What was shipped in pieces, and what is shipped at once now."""
    once = env.path("once-" + how)
    subprocess.run([env.tool("sqtrace-ship"), directory, "--to=" + once, "--make-folder", "--quiet"], check=True)
    python = env.python_with("pyarrow")
    if not python:
        env.leave_out("rows are not compared, because pyarrow cannot be installed from PyPI")
        return
    said = subprocess.run([python, os.path.join(UNIT, "shipped.py"), how, once, out], check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "SQT_TOOLS": os.path.dirname(env.tool("sqtrace-ship"))}).stdout.decode().strip()
    env.note(said)
    env.check("\n" not in said, "the rows that were shipped differ: %s" % said)


def pieces(env):
    """Two workers, rotations and a clean restart under load; then a SIGKILL of all processes."""
    origin = Origin(env)
    squid = Squid(env, trace="segment=2MB host=proxy-1.example", dirs=["ufs"], workers=2, dns=origin.host,
                  lines="cache_mem 4 MB\ncollapsed_forwarding on").start()
    squid.get(origin.url("first", size=1000))
    out = env.path("out")
    shipper = Shipper(env, squid.directory, out)

    def work(n):
        with Client(squid.client_address(), 20) as client:
            for k in range(20):
                client.request(origin.url("o%d" % (k * (n + 1) % 40), size=50000), "r")
    traffic = Background(env, 4, work)
    for turn in range(2):
        for _ in range(5):
            time.sleep(0.7)
            squid.rotate()
        if turn == 0:
            squid.stop()
            squid.start()
    traffic.stop()
    squid.stop()
    shipper.stop()
    env.note("%d runs, %d of them killed" % (shipper.runs, shipper.kills))
    env.check(shipper.kills > 2 and shipper.runs > 10, "hardly any run: %d, %d killed" % (shipper.runs, shipper.kills))
    env.equal(shipper.errors, [], "runs that failed")
    env.check(glob.glob(os.path.join(out, "table=requests", "date=*", "host=proxy-1.example", "*.parquet")), "no requests were shipped")
    compare(env, "cells", squid.directory, out)

    squid.start()
    squid.get(origin.url("last", size=1000))
    shipper.ship()
    squid.kill_all()
    shipper.ship()
    squid.start()
    squid.stop()
    shipper.ship()
    env.equal(shipper.errors, [], "runs that failed around the SIGKILL")
    # Rows that were read from the ring of a killed process have other times than those of its segment.
    compare(env, "keys", squid.directory, out)


TESTS = [
    ("a trace that is shipped in pieces, and at once", pieces, 120),
]
