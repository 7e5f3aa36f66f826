# SPDX-License-Identifier: GPL-2.0-or-later
"""ICAP services: `adapt` is what the service says that it took, rows and lines agree whatever the service does."""

import collections
import os
import subprocess
import time

from lib import access, dump, rows, timeouts
from lib.adaptation import Scene, check_known, check_many, check_pairs, check_services, took
from lib.client import Broken, Client
from lib.clocks import MS, Agreement
from lib.env import first, free_port, listens, wait_for
from lib.icapd import INSTEAD_SIZE, IcapServer
from lib.origin import Origin
from lib.squid import Squid


# ---- the time of a chain ----

KNOWN = [
    # name, arguments of ask(): what the services wait and do, which of them
    ("reqmod-204", {"reqmod": "wait=30"}),
    ("reqmod-change", {"reqmod": "wait=40;do=change"}),
    ("reqmod-post", {"reqmod": "wait=30;do=change", "post": b"p" * 5000}),
    ("reqmod-full", {"reqmod": "wait=20;do=change", "through": "full"}),  # it allows no 204
    ("instead", {"reqmod": "wait=20;body=30;do=instead", "answer": INSTEAD_SIZE}),
    ("respmod-204", {"respmod": "wait=30"}),
    ("respmod-change", {"respmod": "wait=20;body=40;do=change"}),
    ("respmod-preview", {"respmod": "wait=30;do=change", "through": "preview", "size": 5000}),
    ("respmod-chain", {"respmod": "wait=20;do=change", "through": "chain"}),
    ("both", {"reqmod": "wait=20;do=change", "respmod": "wait=30;do=change"}),
    ("neither", {}),
]


def known_waits(env):
    """One at a time: the difference between adapt_ns and the service's own clock."""
    scene = Scene(env, IcapServer(env))
    found = check_known(env, scene, KNOWN, 40 if env.full else 20)
    check_services(env, scene, found, {"both.0": [("req", 1), ("resp", 1)],
                                       "respmod-chain.0": [("resp", 1), ("resp_full", 2)],
                                       "respmod-preview.0": [("resp_preview", 1)], "neither.0": []})


def slow_origin(env):
    """A slow origin under a slow RESPMOD service: each has its own stage."""
    scene = Scene(env, IcapServer(env))
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for n in range(5):
            scene.ask(client, "slow%d" % n, respmod="wait=120;do=change", hdr=60, body=90, size=4000)
    entries = scene.service.entries()
    origin = scene.origin.entries()
    found = {line.xtag: row for line, row in scene.stop()}
    for n in range(5):
        row, served = found["slow%d" % n], origin["slow%d" % n]
        service, = entries["slow%d" % n]
        for stage, wanted in (("server_wait_ns", served["header_sent"] - served["received"]),
                              ("server_reply_ns", served["body_sent"] - served["header_sent"]),
                              ("adapt_ns", service["done_ns"] - service["received_ns"])):
            rows.check_stage(env, row, stage, wanted, 2 * MS, "slow%d" % n)


# ---- what goes wrong ----

TIMEOUT_S = 2  # of Squid, for services

TROUBLE = [
    # name, arguments, the answer's status
    ("error", {"reqmod": "wait=50;do=error"}, 500),
    ("error-resp", {"respmod": "wait=50;do=error"}, 500),
    ("error-bypass", {"reqmod": "wait=50;do=error", "through": "bypass"}, 200),
    ("error-resp-bypass", {"respmod": "wait=50;do=error", "through": "bypass"}, 500),  # Squid keeps no body then
    ("vanish", {"reqmod": "wait=50;do=vanish"}, 500),
    ("vanish-resp", {"respmod": "wait=50;do=vanish"}, 500),
    ("vanish-bypass", {"reqmod": "wait=50;do=vanish", "through": "bypass"}, 200),
    ("vanish-resp-bypass", {"respmod": "wait=50;do=vanish", "through": "bypass"}, 200),
]


def trouble(env):
    """Errors, bypasses and services that vanish: the time until then is adapt, and the chain is closed."""
    scene = Scene(env, IcapServer(env), "icap_io_timeout %d seconds\n" % TIMEOUT_S)
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for name, want, status in TROUBLE:
            for n in range(3):
                scene.ask(client, "%s.%d" % (name, n), status=status, **want)
        for n in range(3):
            try:
                client.request(scene.origin.url("midway.%d" % n, size=6000), "midway.%d" % n,
                               headers=["X-Respmod: wait=50;body=60;do=midway"])
                env.check(False, "a response that breaks off in the middle came whole")
            except (Broken, ConnectionError):
                client.close()
        for n, kind in enumerate(("Reqmod", "Respmod")):
            client.send(client.head("GET", scene.origin.url("left.%d" % n), "left.%d" % n, ["X-%s: do=never" % kind]))
            time.sleep(0.2)
            client.close()
    time.sleep(timeouts.longer_s(TIMEOUT_S))  # until what was left behind has timed out
    entries = scene.service.entries()
    found = {line.xtag: row for line, row in scene.stop()}
    for name, want, status in TROUBLE + [("midway", {}, 200)]:
        for n in range(3):
            tag = "%s.%d" % (name, n)
            wanted = took(entries, tag)
            env.check(wanted, tag + ": no service was asked")
            rows.check_stage(env, found[tag], "adapt_ns", wanted, 3 * MS, tag)
            if status == 500:
                env.equal(found[tag]["outcome"], "error", tag + ": outcome")
    cut = [row for row in dump.table(env, scene.squid.directory, "waits") if row["outcome"] == "cut"]
    env.equal(sorted(row["xid"] for row in cut), sorted(found["midway.%d" % n]["xid"] for n in range(3)), "answers that are cut")
    for n in range(2):
        row = found["left.%d" % n]
        env.check(row["outcome"] == "aborted" and 190 * MS <= row.ns("adapt_ns") <= 260 * MS + env.held.during(row),
                  "left.%d: %s, adapt_ns is %.3f ms" % (n, row["outcome"], row.ns("adapt_ns") / MS))


# ---- many at once ----

def many(env):
    """Everything mixed, 20 at a time: rows and lines agree."""
    check_many(env, Scene(env, IcapServer(env)), KNOWN + TROUBLE)


# ---- a real one ----

C_ICAP_CONF = """
PidFile {folder}/c-icap.pid
CommandsSocket {folder}/c-icap.ctl
Port 127.0.0.1:{port}
StartServers 1
MaxServers 4
ThreadsPerChild 10
TmpDir {folder}
DebugLevel 1
ModulesDir {modules}
ServicesDir {modules}
LoadMagicFile /etc/c-icap/c-icap.magic
ServerLog {folder}/server.log
LogFormat e2e "%im %is %iu"
AccessLog {folder}/access.log e2e
Service echo srv_echo.so
"""


def c_icap(env):
    """Debian's c-icap with its echo service: rows and lines agree, adapt_ns is the time that Squid's own access log
    has for the services, and both logs have as many adaptations."""
    program = env.need_program("c-icap")
    folder = env.path("c-icap")
    os.makedirs(folder)
    port = free_port()
    modules = [path for path in ("/usr/lib/x86_64-linux-gnu/c_icap", "/usr/lib/c_icap",
                                 "/usr/lib/aarch64-linux-gnu/c_icap") if os.path.isdir(path)]
    env.require(modules, "c-icap's modules are nowhere")
    with open(os.path.join(folder, "c-icap.conf"), "w") as out:
        out.write(C_ICAP_CONF.format(folder=folder, port=port, modules=modules[0]))
    server = subprocess.Popen([program, "-N", "-D", "-f", os.path.join(folder, "c-icap.conf")], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=open(os.path.join(folder, "out"), "w"),
                              stderr=subprocess.STDOUT)

    def stop():
        server.terminate()
        server.wait(20)
    env.on_close(stop)
    wait_for(lambda: listens(port), 20, "c-icap to listen")
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
icap_enable on
icap_preview_enable on
icap_service_failure_limit -1
icap_service req reqmod_precache icap://127.0.0.1:{port}/echo
icap_service resp respmod_precache icap://127.0.0.1:{port}/echo
adaptation_access req allow all
adaptation_access resp allow all
logformat adapt %master_xaction %adapt::sum_trs
access_log stdio:{{folder}}/adapt.log logformat=adapt
""".format(port=port)).start()
    count, closed = 1000 if env.full else 200, 0
    with Client(squid.client_address()) as client:
        for n in range(count):
            kind = n % 4
            size = (0, 300, 5000, 200000)[n // 4 % 4]
            body = b"p" * size if kind == 3 else b""
            ask = (origin.url("c%d" % n, size=size, **({"hdr": 5} if kind == 1 else {})), "c%d" % n,
                   "POST" if body else "GET")
            try:
                response = client.request(*ask, body=body)
            except (Broken, ConnectionError):
                # An unpatched Squid does it, too: when the echo of a large body ends early, it closes the connection.
                client.close()
                closed += 1
                response = client.request(*ask, body=body)
            env.check(response.status == 200 and response.body_size == size, "c%d: %d, %d bytes" % (n, response.status,
                                                                                              response.body_size))
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    rows.check_order(env, requests)
    rows.check_unaccounted(env, requests, alone=True)
    rows.check_one_at_a_time(env, pairs)
    check_pairs(env, squid)
    env.equal(len(pairs), count, "rows")
    env.check(closed <= count // 20, "Squid closed %d connections in %d requests" % (closed, count))
    check_own_times(env, squid, pairs)
    stop()
    with open(os.path.join(folder, "access.log")) as log:
        served = collections.Counter(line.split()[0] for line in log)
    begun = collections.Counter(row["aux"] for row in dump.table(env, squid.directory, "events",
                                                                 "--where=event == ADAPT_BEGIN"))
    env.equal((begun["0"], begun["1"]), (served["REQMOD"], served["RESPMOD"]), "chains, and what c-icap logged")


def check_own_times(env, squid, pairs):
    """adapt_ns, and the chains themselves, against %adapt::sum_trs: a number of milliseconds for each service that was
    asked, cut off, so it took half of one more in the mean.  Where the body is large, other stages go on at the same
    time, and adapt_ns has only the rest; and a REQMOD chain ends with its header, when Squid's number still goes on."""
    with open(os.path.join(squid.folder, "adapt.log")) as log:
        times = {int(xid): [int(ms) * MS + MS // 2 for ms in text.split(",")]
                 for xid, text in (line.split() for line in log) if text != "-"}
    begun, chains = {}, collections.defaultdict(list)
    for row in dump.table(env, squid.directory, "events", "--where=event == ADAPT_BEGIN or event == ADAPT_END"):
        if row["event"] == "ADAPT_BEGIN":
            begun[row["id"]] = row.begin_ns
        else:
            chains[int(row["id"])].append(row.begin_ns - begun[row["id"]])
    off = Agreement(env)
    for line, row in pairs:
        own, ours = times.pop(line.xid, ()), chains[line.xid]
        if not env.equal((len(own), len(ours)), (2, 2), "%s: services by adapt.log, and by the trace" % line.xtag):
            continue
        moments = env.held.ends(row)
        off.add("a RESPMOD chain", line.xtag, ours[1], own[1], *moments)
        if line.method == "GET" or row.ns("size_bytes") < 50000:
            off.add("a REQMOD chain", line.xtag, ours[0], own[0], *moments)
        if row.ns("size_bytes") < 50000:
            off.add("adapt_ns", line.xtag, row.ns("adapt_ns"), sum(own), *moments, parts=2)
    env.equal(times, {}, "lines of adapt.log without a row")
    off.check(len(pairs) // 2, 2 * MS)  # Squid reads this clock once a pass


TESTS = [
    ("ICAP services that wait a known time", first(known_waits), 120),
    ("a slow origin under a slow RESPMOD service", first(slow_origin), 40),
    ("ICAP services that fail, vanish or are left", first(trouble), 60),
    ("ICAP, 20 at a time", many, 90),
    ("a real c-icap", first(c_icap), 60),
]
