# SPDX-License-Identifier: GPL-2.0-or-later
"""The event loop: its passes are those that Squid counts, and what stops it is named."""

import os
import random
import re
import signal
import time

from lib import dump, load, native
from lib.built import built_with
from lib.client import Client
from lib.env import first, free_port, wait_for
from lib.origin import Origin
from lib.proc import listening
from lib.squid import Squid
from lib.tls import Certificates, FarEnds, secure

MS = 1000000
NAME = "secure.test"
CONF = "cache_mem 0 MB\nmemory_cache_mode disk\n"


def passes_of(squid):
    """What mgr:info counts."""
    _, text = squid.manager("info")
    return int(re.search(r"Select loop called: (\d+) times", text).group(1))


def counted(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs"], dns=origin.host, lines=load.CONF).start()
    traffic = load.Mixed(env, squid, origin, seed=24)
    traffic.warm()
    first, first_at = passes_of(squid), time.time()
    traffic.run(3000, 10)
    time.sleep(1)
    last, last_at = passes_of(squid), time.time()
    squid.stop()
    loops = dump.Dump(env, squid.directory, table="loops")
    rows = loops.rows()
    start = loops.start_ns / 1e9
    traced = sum(first_at < start + float(row["time_s"]) <= last_at for row in rows)
    env.note("mgr:info: %d passes; traced %d" % (last - first, traced))
    env.check(last - first > 500, "only %d passes" % (last - first))
    env.check(abs(traced - (last - first)) <= 0.01 * (last - first) + 1,
              "%d passes traced, mgr:info counts %d" % (traced, last - first))
    env.check(all(row.ns("wait_ns") >= 0 and row.ns("work_ns") > 0 for row in rows), "a time below zero")
    ends = [float(row["time_s"]) * 1e9 + row.ns("wait_ns") + row.ns("work_ns") for row in rows]
    begins = [float(row["time_s"]) * 1e9 for row in rows]
    gaps = [abs(begin - end) for begin, end in zip(begins[1:], ends)]
    env.check(max(gaps) < 1000, "a pass does not begin where the one before it ended: %.0f ns" % max(gaps))
    named = [row for row in rows if row["longest_activity"] != "-"]
    env.check(len(named) > 0.5 * len(rows), "only %d of %d passes name an activity" % (len(named), len(rows)))
    env.check(all(row.ns("longest_ns") <= row.ns("work_ns") for row in named), "an activity longer than its pass")


def stalled(env, kind, call):
    """One slow call among many fast ones is the first line of `stalls`."""
    origin = Origin(env)
    once = env.path("once")
    squid = Squid(env, trace="", dirs=[kind], dns=origin.host, lines=CONF, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-%s-" % kind, "SLOWDISK_MS": "200", "SLOWDISK_CALL": call,
                               "SLOWDISK_ONCE": once}).start()
    os.chmod(os.path.dirname(once), 0o777)
    with Client(squid.client_address()) as client:
        for n in range(40):
            if n == 20:
                open(once, "w").close()
            client.request(origin.url("o%d" % n, size=11000), "o")
            client.request(origin.url("o%d" % n, size=11000), "o")
    time.sleep(0.3)
    env.check(not os.path.exists(once), "no call was slow")
    squid.stop()
    check_first(env, squid, r"(%s) on cache_dir 0 \(%s\)" % ("open|create" if call == "open" else call, kind))


def check_first(env, squid, what):
    """The first line of `stalls` is about 200 ms in that, and the second one about much less."""
    rows = list(dump.Dump(env, squid.directory, table="stalls").rows())
    env.note("; ".join(row["stall"] for row in rows[:3]))
    wanted = r"\d+\.\d{3} s: 2\d\d(\.\d)? ms in %s$" % what
    env.check(rows and re.match(wanted, rows[0]["stall"]), "the first line is %r" % (rows and rows[0]["stall"]))
    env.check(len(rows) < 2 or float(rows[1]["work_ms"]) < 150, "the second line is %r" % rows[1]["stall"])


def stalled_by_rotation(env):
    """One log that is slow to open again is the first line of `stalls`, which names what opened it."""
    origin, once = Origin(env), env.path("once")
    squid = Squid(env, trace="", dns=origin.host, lines=CONF, alone=True, preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "access-", "SLOWDISK_MS": "200", "SLOWDISK_CALL": "open",
                               "SLOWDISK_ONCE": once}).start()
    os.chmod(os.path.dirname(once), 0o777)
    with Client(squid.client_address()) as client:
        for n in range(40):
            if n == 20:
                open(once, "w").close()
                squid.rotate()
                wait_for(lambda: not os.path.exists(once), 20, "Squid to open its log again")
            client.request(origin.url("o%d" % n, size=11000), "o")
    squid.stop()
    check_first(env, squid, "mainRotate")


def stalled_by_tls(env, accept):
    """One slow step among many handshakes of clients, or with servers, is the first line of `stalls`."""
    origin, once = Origin(env), env.path("once")
    certificates = Certificates(env, NAME, "127.0.0.1")
    far = FarEnds(env, origin, certificates, "tls:0", tickets=2 if built_with(env.squid, "openssl") else 0)
    port = free_port()
    squid = Squid(env, trace="", dns=origin.host, alone=True, preload=native.preload(env, "slowtls"),
                  environment={"SLOWTLS_ONCE": once},
                  lines="https_port 127.0.0.1:%d tls-cert=%s\ntls_outgoing_options cafile=%s.crt\n"
                        "server_persistent_connections off\n" % (port, certificates.server, certificates.ca))
    with open(os.path.join(squid.folder, "hosts"), "a") as hosts:
        hosts.write("%s %s\n" % (origin.host, NAME))
    squid.start()
    wait_for(lambda: port in listening(), 20, "Squid to listen for TLS")
    os.chmod(os.path.dirname(once), 0o777)
    for n in range(20):
        if n == 10:
            open(once, "w").close()
        with Client(("127.0.0.1", port) if accept else squid.client_address()) as client:
            if accept:
                secure(client, certificates.context(), "127.0.0.1")
                response = client.request(origin.url("o%d" % n), "o")
            else:
                path = origin.url("o%d" % n).split("/", 3)[3]
                response = client.request("https://%s:%d/%s" % (NAME, far.ports["tls:0"], path), "o")
            env.equal(response.status, 200, "status")
    env.check(not os.path.exists(once), "no handshake was slow")
    squid.stop()
    check_first(env, squid, "Security::Accept" if accept else "Security::Connect")


def stopped_while_idle(env):
    """Each stop of 500 ms of a Squid that does nothing is in `stalls`; it may seem to begin 400 ms too early."""
    squid = Squid(env, trace="", alone=True).start()
    chance, stops = random.Random(1), []
    time.sleep(1)
    for _ in range(20 if env.full else 5):
        time.sleep(0.6 + chance.random())
        begin = time.time_ns()
        os.kill(squid.process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(squid.process.pid, signal.SIGCONT)
        stops.append((begin, time.time_ns()))
    time.sleep(1)
    squid.stop()
    rows = list(dump.Dump(env, squid.directory, table="stalls").rows())
    for begin, end in stops:
        found = [row for row in rows if begin - 430 * MS <= row.wall_ns <= begin + 30 * MS
                 and end - 30 * MS <= row.wall_ns + float(row["work_ms"]) * MS <= end + 30 * MS]
        env.check(len(found) == 1 and "stopped" in found[0]["stall"], "%d rows of the stop of %.3f s: %s"
                  % (len(found), (end - begin) / 1e9, [row["stall"] for row in found or rows]))


TESTS = [
    ("the loop: passes as mgr:info counts them", counted, 60),
    ("the loop: a slow write on aufs", lambda env: stalled(env, "aufs", "write"), 40),
    ("the loop: a slow open on ufs", lambda env: stalled(env, "ufs", "open"), 40),
    ("the loop: a slow rotation of the logs", stalled_by_rotation, 40),
    ("the loop: stops of 500 ms while it is idle", first(stopped_while_idle), 90),
    ("the loop: a slow step of a client's handshake", lambda env: stalled_by_tls(env, True), 40),
    ("the loop: a slow step of a handshake with a server", lambda env: stalled_by_tls(env, False), 40),
]
