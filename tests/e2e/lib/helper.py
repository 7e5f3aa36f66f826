# SPDX-License-Identifier: GPL-2.0-or-later
"""A helper of Squid's that waits a known time before it answers, and logs its own clock.

Run by Squid as a program (helper.py KIND LOG [MS]).  A line that holds waitN is answered after N milliseconds, any
other after MS.  If it holds "refuse", the answer is no; if "bh-", that it is broken; if "dies-", the helper ends instead
of an answer; if "mute-", there is none.  KIND:

    rewrite   url_rewrite_program: "/moved/" becomes "/there/", "/elsewhere/" is redirected, other URLs stay
    storeid   store_id_program: everything from the name on is the Store-ID's
    acl       external_acl_type
    auth      basic authentication
    channel   url_rewrite_program with concurrency=: the first word of a line is its channel; it changes no URL

Log, tab separated, nanoseconds of CLOCK_MONOTONIC: received  answered  the line
"""

import os
import re
import shutil
import sys
import time


def answer(kind, line):
    if "refuse" in line:
        return "ERR"
    if "bh-" in line:
        return "BH message=broken"
    url = line.split(" ")[0]
    if kind == "rewrite" and "/moved/" in url:
        return 'OK rewrite-url="%s"' % url.replace("/moved/", "/there/")
    if kind == "rewrite" and "/elsewhere/" in url:
        return 'OK status=302 url="%s"' % url.replace("/elsewhere/", "/there/")
    if kind == "storeid":
        return 'OK store-id="http://stored.test/%s"' % url.rsplit("/", 1)[1]
    return "OK" if kind in ("acl", "auth") else "ERR"


def serve(kind, log, milliseconds=0):
    while True:
        line = sys.stdin.readline()
        received = time.monotonic_ns()
        if not line:
            return
        wait = re.search(r"wait(\d+)", line)
        time.sleep(int(wait.group(1) if wait else milliseconds) / 1000)
        if "dies-" in line:
            return
        if "mute-" in line:
            continue
        reply = answer(kind, line.strip()) + "\n"
        if kind == "channel":
            reply = "%s ERR\n" % line.split(" ")[0]
        answered = time.monotonic_ns()
        sys.stdout.write(reply)
        sys.stdout.flush()
        log.write("%d\t%d\t%s\n" % (received, answered, line.strip()))


class Helper:
    """A helper's command for squid.conf, and its log.  milliseconds: how long an answer takes."""

    def __init__(self, env, kind, milliseconds=0):
        self.log = env.path(kind + ".log")
        open(self.log, "w").close()
        os.chmod(self.log, 0o666)
        program = env.path("helper.py")  # Squid's user may not be able to look into this tree
        shutil.copy(os.path.abspath(__file__), program)
        os.chmod(program, 0o644)
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        self.command = "%s -S %s %s %s %d" % (python, program, kind, self.log, milliseconds)

    def questions(self, word=""):
        """[(received, answered)] of the lines with this word, by the monotonic clock in nanoseconds."""
        with open(self.log) as log:
            lines = [line.split("\t", 2) for line in log]
        return [(int(received), int(answered)) for received, answered, line in lines
                if re.search(r"\b%s\b" % re.escape(word), line)]


if __name__ == "__main__":
    with open(sys.argv[2], "a", buffering=1) as own_log:
        serve(sys.argv[1], own_log, *sys.argv[3:])
