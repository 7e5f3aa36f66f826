# SPDX-License-Identifier: GPL-2.0-or-later
"""The log line and the command that sqtrace-dump(1) gives for a join with access.log, as they stand there."""

import os
import re
import subprocess
import time

from lib import dump
from lib.client import Client, at_once
from lib.origin import Origin
from lib.squid import Squid

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "doc", "sqtrace-dump.1.in")
REQUESTS = 60


def example(env, first):
    """The lines of an example in the manual page, from one that begins so to its end."""
    with open(PAGE) as page:
        text = page.read().replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
    found = re.search(r"^\.nf\n(%s.*?)^\.fi\n" % re.escape(first), text, re.M | re.S)
    env.require(found, "no example in the manual page begins with " + first)
    return found.group(1)


def log_lines(path):
    """What is in the log: {(kid, transaction): the rest of the line}."""
    with open(path) as log:
        words = [line.rstrip("\n").split(" ", 2) for line in log]
    return {(kid, xid): rest for kid, xid, rest in words if xid != "-"}


def join(env):
    origin = Origin(env)
    squid = Squid(env, trace="", workers=2, dns=origin.host)
    log = os.path.join(squid.folder, "sqtrace.log")
    squid.lines = example(env, "logformat sqtrace").replace("/var/log/squid", squid.folder)
    if not os.path.exists(os.path.join(env.squid, "libexec", "log_file_daemon")):  # a small Squid
        squid.lines = squid.lines.replace("daemon:", "stdio:")
    squid.start()

    def one(n):
        with Client(squid.client_address()) as client:
            for k in range(REQUESTS // 10):
                client.request(origin.url("o%d-%d" % (n, k), size=2000, hdr=20))
    at_once(10, one)
    time.sleep(0.5)
    squid.stop()

    command = example(env, "sqtrace-dump --no-comments --columns=kid,xid").replace("/var/spool/squid/trace", squid.directory)
    command = command.replace("/var/log/squid", squid.folder)
    path = env.tools + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          universal_newlines=True, env=dict(os.environ, PATH=path))
    env.equal((done.returncode, done.stderr), (0, ""), "what the command says")
    joined = [line.split(" ", 4) for line in done.stdout.splitlines()]
    wanted = log_lines(log)
    rows = {(row["kid"], row["xid"]): row for row in dump.table(env, squid.directory, "requests")}
    env.check({kid for kid, _ in wanted} == {"1", "2"}, "one worker served everything")
    env.check(len(joined) >= REQUESTS, "%d lines are joined" % len(joined))
    env.equal(len(joined), len(wanted), "joined lines")
    for total, wait, outcome, kid, rest in joined:
        xid, rest = rest.split(" ", 1)
        row = rows[kid, xid]
        env.equal((rest, outcome), (wanted[kid, xid], row["outcome"]), "a joined line")
        env.equal((float(total), float(wait)), (round(row.ns("total_ns") / 1e6, 3), round(row.ns("server_wait_ns") / 1e6, 3)),
                  "its times")


TESTS = [
    ("a join with access.log, as the manual page has it", join, 60),
]
