#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""attach_pressure.py - sqtrace-attach watches a program that makes up calls, and one that starts too many processes."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from sanitized import SANITIZED  # noqa: E402
from squid_like import program  # noqa: E402

TOOLS = os.environ["SQT_TOOLS"]
NUMBER = 0
CALLS, MOST_MB = 600000, 200  # each call is of a new ClientHttpRequest
PROCESSES, TRACED = 400, 128

# Waits for a line, starts processes that make a call each, makes calls itself, and stays until its standard input ends.
MAIN = r"""
#include <stdlib.h>
static void call(unsigned long object) { ((void (*)(unsigned long, unsigned long))xact)(object, 0); }
int main(int count, char **words)
{
    char byte = 0;
    if (count < 3 || read(0, &byte, 1) != 1)
        return 1;
    for (int i = atoi(words[1]); i > 0; --i)
        if (fork() == 0) {
            call(64);
            return read(0, &byte, 1) != 0;
        }
    for (unsigned long i = atol(words[2]); i > 0; --i) {
        call(i * 64);
        if (i % 500 == 0)
            usleep(1000); /* else the kernel's ring overflows where its reader waits for a processor */
    }
    return write(1, "done\n", 5) != 5 || read(0, &byte, 1) != 0;
}
"""


def check(good, name, *seen):
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("ok" if good else "not ok", NUMBER, name), flush=True)
    if not good:
        for text in seen:
            print("# " + str(text).replace("\n", "\n# "))


def segments(trace):
    return [name for name in os.listdir(trace) if name.endswith(".sqt")]


def traced(path, processes, calls, trace):
    """Exit status, what sqtrace-attach said, and the most memory that it had in MB; None: it cannot attach here."""
    with subprocess.Popen([path, str(processes), str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squid:
        attach = subprocess.Popen(  # pylint: disable=consider-using-with
            [os.path.join(TOOLS, "sqtrace-attach"), "--pid=%d" % squid.pid, "-o", trace], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        said = attach.stderr.readline()
        if "attached to" in said:
            squid.stdin.write(b"\n")
            squid.stdin.flush()
            squid.stdout.readline()
            end = time.monotonic() + 120
            while time.monotonic() < end and len(segments(trace)) < min(TRACED, processes):  # they end with this one
                time.sleep(0.1)
            time.sleep(1)
        squid.stdin.close()
        squid.wait()
        said += attach.stderr.read()
        _, status, usage = os.wait4(attach.pid, 0)
        attach.returncode = os.waitstatus_to_exitcode(status)
        attach.stderr.close()
    return (attach.returncode, said, usage.ru_maxrss / 1024) if "attached to" in said else None


def losses(trace):
    got = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--table=losses", "--format=tsv", "--columns=reason", "--no-header",
                          "--no-comments", "--quiet", trace], capture_output=True, text=True, check=False)
    return got.stdout.split()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = program(folder, MAIN)
        trace = os.path.join(folder, "trace")
        got = traced(path, 0, CALLS, trace)
        if os.geteuid() != 0 or got is None:
            print("1..0 # SKIP no probes can be put in here")
            return 0
        status, said, most = got
        print("# %d calls: %.0f MB; %s" % (CALLS, most, said.strip().replace("\n", "\n# ")))
        check(status == 0 and (most < MOST_MB or SANITIZED), "objects that never end: less than %d MB" % MOST_MB, status, most)
        check(said.count("they are forgotten") == 1 and "sampled" in losses(trace), "and it says so, once, and so does the trace", said,
              losses(trace))
        shutil.rmtree(trace)
        status, said, most = traced(path, PROCESSES, 10, trace)
        print("# %d processes: %.0f MB; %s" % (PROCESSES, most, said.strip().replace("\n", "\n# ")))
        count = len(segments(trace))
        check(status == 0 and count == TRACED, "of %d processes, %d are traced" % (PROCESSES, TRACED), status, count)
        check(said.count("this Squid has more than %d processes" % TRACED) == 1, "and it says so, once", said)
    print("1..%d" % NUMBER)
    return 0


sys.exit(main())
