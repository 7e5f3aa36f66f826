#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions of Squid's main thread for each request, by callgrind: unpatched, patched off, patched on.

Requests come one after another on one connection, 10 ms apart, so that Squid's loop has come to rest before the next
one.  Callgrind begins to count when Squid is warm and stops after --requests of them, each thread apart; the flusher's
are told per record.  Counts do not depend on what else the machine does, but for the passes of an event loop that waits
for a disk.  The clock is the TSC, which valgrind reads so slowly that libsqtrace would not take it.  With two workers
and with disker processes, the main threads of all processes are added up.

Where the linker put Squid's texts and functions counts a little: strncmp, for one, takes more instructions where a text
ends with a page.  So each Squid is counted as --orders programs that lld makes of the same objects in other orders, and
the one in the middle is told.

Workload tunnel, which only this benchmark has, is a CONNECT on a connection of its own, and so many requests through it.

With --caches callgrind simulates a processor's caches, too, and the main thread's misses for each request are told: of
instructions and of data in the first level (32 KiB each), and in the second (512 KiB).
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from squids import (CALLS, CONTEXT, NOTES, TRACEPARENT, VARIANTS, WORKLOADS, Origin, Workload, arguments, client,  # noqa: E402
                    environment, listening, make_dirs, prefix_of, programs, variant)
from lib.env import wait_for  # noqa: E402
from lib.proc import children  # noqa: E402

WARM = 200
OBJECTS = 7  # that are hit in turn
SETTLE = 0.01  # s between two requests
THROUGH = 8  # requests through each tunnel
PAUSE = 1.0  # s: the flusher writes what it has, at most 0.2 s later
OPTIONS = ["--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes"]
CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=524288,8,64"]
WORKLOADS["tunnel"] = Workload("cache deny all\n", fresh=True)
MISSES = (("I1", ("I1mr",)), ("D1", ("D1mr", "D1mw")), ("L2, code", ("ILmr",)), ("L2, data", ("DLmr", "DLmw")))


def as_squid(squid):
    """Callgrind listens only to the user who started it, so Squid has that user from the start."""
    return {"user": squid.user, "extra_groups": []} if os.geteuid() == 0 else {}


def control(squid, pid, *words):
    subprocess.run(["callgrind_control"] + list(words) + [str(pid)], check=True, timeout=120,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_squid(squid))


def ask(connection, url, fresh, first, count, fields=()):
    for n in range(first, first + count):
        time.sleep(SETTLE)
        answer = connection.request(url + ("n%d" % n if fresh else "o%d" % (n % OBJECTS)), headers=fields)
        assert answer.status == 200, answer.status


def ask_tunnels(connection, url, count, fields=()):
    target = url.split("/")[2]
    for _ in range(count):
        time.sleep(SETTLE)
        with connection:
            assert connection.request(target, method="CONNECT", headers=fields).status == 200
            for n in range(THROUGH):
                answer = connection.request(url + "n%d" % n)
                assert answer.status == 200 and answer.keep, answer.status


def counts(folder, pids):
    """{thread: {event: count}} of the dumps, the same threads of several processes together."""
    found = {}
    for pid in pids:
        for path in glob.glob("%s/callgrind.%d.*" % (folder, pid)):
            with open(path) as file:
                text = file.read()
            thread = re.search(r"^thread: (\d+)", text, re.M)
            events = re.search(r"^events: (.*)", text, re.M)
            total = re.search(r"^(?:totals|summary): (.*)", text, re.M)
            if thread and total:
                of = found.setdefault(int(thread.group(1)), collections.Counter())
                of.update(dict(zip(events.group(1).split(), map(int, total.group(1).split()))))
    assert found.get(1), "no counts of the main thread in " + folder
    return found


def instructions(env, name, workload, origin, requests, program):
    """({thread: {event: count}}, records) of so many requests."""
    work = WORKLOADS[workload]
    squid = variant(env, name, workload, alone=work.workers == 1, program=program)
    make_dirs(squid)
    if squid.dirs:
        squid.write_conf()
        subprocess.run(squid.command("-z", squid.mode), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **as_squid(squid))
    squid.write_conf()
    mark = squid.log_size()
    with open(os.path.join(squid.folder, "valgrind.out"), "w") as out:
        process = subprocess.Popen(["valgrind", "--callgrind-out-file=" + squid.folder + "/callgrind.%p"] + OPTIONS
                                   + (["--trace-children=yes"] if work.workers > 1 else [])
                                   + squid.command(squid.mode), stdout=out, stderr=out, cwd=squid.folder,
                                   env=dict(os.environ, SQTRACE_CLOCK="tsc"), **as_squid(squid))
    squid.process, squid.log_mark = process, mark
    squid.wait_ready(300)
    wait_for(lambda: listening(squid.tls_port or squid.port), 60, "Squid to listen")
    pids = [process.pid] if work.workers == 1 else children(process.pid)
    fields = (TRACEPARENT,) if name.endswith(" sent") else ()
    with client(squid) as connection:
        def some(first, count):
            if workload == "tunnel":
                ask_tunnels(connection, origin.url(workload), count, fields)
            else:
                ask(connection, origin.url(workload), work.fresh, first, count, fields)
        some(0, WARM)
        time.sleep(PAUSE)
        before = records(env, squid)
        for pid in pids:
            control(squid, pid, "-i", "on")
        some(WARM, requests)
        time.sleep(PAUSE)
        for pid in pids:
            control(squid, pid, "-d")
            control(squid, pid, "-i", "off")
        made = records(env, squid) - before
    found = counts(squid.folder, pids)
    squid.stop(120)
    # The next program begins with an empty cache.
    if env.keep:
        kept = "%s-kept-%d" % (squid.folder, len(glob.glob(squid.folder + "-kept-*")) + 1)
        os.rename(squid.folder, kept)
        print("# " + kept)
    else:
        shutil.rmtree(squid.folder)
    return found, made


def records(env, squid):
    """Records that the trace holds now."""
    if squid.trace is None:
        return 0
    text = subprocess.run([env.tool("sqtrace-dump"), "--quiet", "--table=events", "--no-header", "--no-comments",
                           squid.directory], stdout=subprocess.PIPE, check=True).stdout
    return text.count(b"\n")


def main():
    parser = arguments(__doc__, default=3, help="programs of each Squid, their functions in other orders; 0: the "
                       "installed ones (default 3)")
    parser.add_argument("--requests", type=int, default=1000, help="to count (default 1000)")
    parser.add_argument("--variant", action="append", choices=list(VARIANTS) + list(CALLS) + list(CONTEXT) + list(NOTES),
                        help="default: the first four; then: with the account of system calls; with "
                             "trace_context=on and forward; requests with the field traceparent, without trace_context, on, forward; "
                             "eight notes of which sqtrace_log names none, one, two, eight or another one")
    parser.add_argument("--keep", action="store_true", help="keep the folder with callgrind's files")
    parser.add_argument("--caches", action="store_true", help="misses of simulated caches, too")
    options = parser.parse_args()
    if options.caches:
        OPTIONS.extend(CACHES)
    chosen = options.variant or list(VARIANTS)
    VARIANTS.update({**CALLS, **CONTEXT, **NOTES})
    env = environment(options)
    env.keep = options.keep
    try:
        choice = programs(env, options.orders)
        origin = Origin(env)
        print("%-16s %-16s %14s %9s %9s %8s %20s" % ("workload", "Squid", "instructions", "more", "change", "records",
                                                     "flusher, per record")
              + "".join("%10s" % name for name, _ in MISSES if options.caches))
        for workload in options.workload or WORKLOADS:
            base = None
            for name in chosen:
                runs = [instructions(env, name, workload, origin, options.requests, program)
                        for program in choice[prefix_of(env, name)]]
                runs.sort(key=lambda run: run[0][1]["Ir"])
                found, made = runs[len(runs) // 2]
                each = found[1]["Ir"] / options.requests
                base = base or each
                line = "%-16s %-16s %14.0f %+9.0f %+8.2f%%" % (workload, name, each, each - base,
                                                               100 * (each / base - 1))
                others = sum(of["Ir"] for thread, of in found.items() if thread != 1)
                line += " %8.1f %20.0f" % (made / options.requests, others / made if made else 0)
                if options.caches:
                    line += "".join("%10.0f" % (sum(found[1][event] for event in events) / options.requests)
                                    for _, events in MISSES)
                print(line, flush=True)
    finally:
        env.close()


if __name__ == "__main__":
    main()
