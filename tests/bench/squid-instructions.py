#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions of Squid's main thread for each request, by callgrind: unpatched, patched off, patched on.

Two runs of each, with few and with many requests one after another on one connection; the difference of their
instructions, divided by the difference of their requests, leaves out start and end.  Callgrind counts each thread
apart; the flusher's are told per record.  The counts repeat to about 0.05 %.
"""

import glob
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from squids import VARIANTS, WORKLOADS, arguments, environment, nginx, variant  # noqa: E402
from lib.client import Client  # noqa: E402
from lib.env import wait_for  # noqa: E402

FEW, MANY = 100, 1100


def instructions(env, name, workload, origin, count):
    """({thread: instructions}, trace directory) of a run with count requests."""
    squid = variant(env, name, workload)
    for path in glob.glob(squid.folder + "/access*") + glob.glob(squid.directory + "/*.sqt"):
        os.unlink(path)
    squid.write_conf()
    folder = squid.folder
    if squid.dirs:
        subprocess.run(squid.command("-z", "-N"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for path in glob.glob(folder + "/callgrind.*"):
        os.unlink(path)
    mark = squid.log_size()
    with open(os.path.join(folder, "valgrind.out"), "w") as out:
        process = subprocess.Popen(["valgrind", "--tool=callgrind", "--separate-threads=yes",
                                    "--callgrind-out-file=" + folder + "/callgrind.%p"] + squid.command("-N"),
                                   stdout=out, stderr=out, cwd=folder)
    squid.process, squid.log_mark = process, mark
    squid.wait_ready(180)
    with Client(squid.client_address(), 60) as client:
        for n in range(20 + count):
            # A miss has a URL of its own; hits have one URL, fetched before it is counted.
            path = "m%d-%d" % (count, n) if workload == "miss" else "one"
            answer = client.request("http://127.0.0.1:%d/%s" % (origin, path))
            assert answer.status == 200, answer.status
    process.send_signal(signal.SIGTERM)
    process.wait(120)
    squid.process = None
    found = {}
    for path in sorted(glob.glob(folder + "/callgrind.%d*" % process.pid)):
        with open(path) as file:
            text = file.read()
        thread = re.search(r"^thread: (\d+)", text, re.M)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.M)
        if thread and total:
            found[int(thread.group(1))] = int(total.group(1))
    assert found.get(1), "no counts of the main thread in " + folder
    return found, squid.directory


def records(env, directory):
    text = subprocess.run([env.tool("sqtrace-dump"), "--table=events", "--no-header", "--no-comments", directory],
                          stdout=subprocess.PIPE, check=True).stdout
    return text.count(b"\n")


def main():
    options = arguments(__doc__).parse_args()
    env = environment(options)
    try:
        origin = nginx(env)
        print("%-16s %-16s %14s %9s %12s %20s" % ("workload", "Squid", "instructions", "change", "records",
                                                 "flusher, per record"))
        for workload in options.workload or WORKLOADS:
            base = None
            for name in VARIANTS:
                few, _ = instructions(env, name, workload, origin, FEW)
                many, directory = instructions(env, name, workload, origin, MANY)
                each = (many[1] - few[1]) / (MANY - FEW)
                base = base or each
                line = "%-16s %-16s %14.0f %+8.2f%%" % (workload, name, each, 100 * (each / base - 1))
                if VARIANTS[name][1] is not None:
                    total = records(env, directory)
                    others = sum(n for thread, n in many.items() if thread != 1)
                    line += " %12d %20.0f" % (total, others / total)
                print(line, flush=True)
    finally:
        env.close()


if __name__ == "__main__":
    main()
