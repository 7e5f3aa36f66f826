# SPDX-License-Identifier: GPL-2.0-or-later
"""eCAP services, which run inside Squid: `adapt` is what the service says that it took; one that blocks is a stall."""

import re
import threading
import time

from lib import dump, rows
from lib.adaptation import Scene, check_known, check_many, check_services, took
from lib.client import Client
from lib.clocks import MS
from lib.ecap import INSTEAD_SIZE, EcapAdapter
from lib.env import first

NEEDS = "ecap"

KNOWN = [
    # name, arguments of ask(): what the services wait and do, which of them
    ("reqmod-204", {"reqmod": "wait=30"}),
    ("reqmod-change", {"reqmod": "wait=40;do=change"}),
    ("reqmod-post", {"reqmod": "wait=30;do=change", "post": b"p" * 5000}),
    ("instead", {"reqmod": "wait=20;body=30;do=instead", "answer": INSTEAD_SIZE}),
    ("respmod-204", {"respmod": "wait=30"}),
    ("respmod-change", {"respmod": "wait=20;body=40;do=change"}),
    ("respmod-body", {"respmod": "wait=30;do=change", "size": 5000}),
    ("respmod-chain", {"respmod": "wait=20;do=change", "through": "chain"}),
    ("both", {"reqmod": "wait=20;do=change", "respmod": "wait=30;do=change"}),
    ("blocks", {"reqmod": "stall=20"}),
    ("neither", {}),
]


def known_waits(env):
    """One at a time: the difference between adapt_ns and the service's own clock."""
    scene = Scene(env, EcapAdapter(env))
    found = check_known(env, scene, KNOWN, 40 if env.full else 20)
    check_services(env, scene, found, {"both.0": [("req", 1), ("resp", 1)],
                                       "respmod-chain.0": [("resp", 1), ("resp_full", 2)], "neither.0": []})


TROUBLE = [
    # name, arguments, the answer's status, the row's outcome
    ("block", {"reqmod": "wait=50;do=block"}, 403, "complete"),
    ("block-resp", {"respmod": "wait=50;do=block"}, 403, "aborted"),  # Squid's tag says so
    ("error", {"reqmod": "wait=50;do=error"}, 500, "error"),
    ("error-resp", {"respmod": "wait=50;do=error"}, 500, "error"),
    ("error-bypass", {"reqmod": "wait=50;do=error", "through": "bypass"}, 200, "complete"),
    ("error-resp-bypass", {"respmod": "wait=50;do=error", "through": "bypass"}, 500, "error"),  # Squid keeps no body
]


def trouble(env):
    """Services that refuse, fail or are left: the time until then is adapt, and the chain is closed."""
    scene = Scene(env, EcapAdapter(env))
    with Client(scene.squid.client_address()) as client:
        for name, want, status, _ in TROUBLE:
            for n in range(3):
                scene.ask(client, "%s.%d" % (name, n), status=status, **want)
        for n, kind in enumerate(("Reqmod", "Respmod")):
            client.send(client.head("GET", scene.origin.url("left.%d" % n), "left.%d" % n, ["X-%s: wait=600" % kind]))
            time.sleep(0.2)
            client.close()
    time.sleep(1)  # until the services have answered nobody
    found = {line.xtag: row for line, row in scene.stop()}
    entries = scene.service.entries()
    for name, _, _, outcome in TROUBLE:
        for n in range(3):
            tag = "%s.%d" % (name, n)
            wanted = took(entries, tag)
            env.check(wanted >= 50 * MS, tag + ": the service says that it took %.3f ms" % (wanted / MS))
            rows.check_stage(env, found[tag], "adapt_ns", wanted, MS, tag)
            env.equal(found[tag]["outcome"], outcome, tag + ": outcome")
    for n in range(2):
        row = found["left.%d" % n]
        env.check(row["outcome"] == "aborted" and 190 * MS <= row.ns("adapt_ns") <= 260 * MS + env.held.during(row),
                  "left.%d: %s, adapt_ns is %.3f ms" % (n, row["outcome"], row.ns("adapt_ns") / MS))


def many(env):
    """Everything mixed, 20 at a time: rows and lines agree."""
    check_many(env, Scene(env, EcapAdapter(env)), KNOWN + TROUBLE)


def blocks(env):
    """A service that blocks: the pass of the loop is the first line of `stalls`, and who came meanwhile waited."""
    scene = Scene(env, EcapAdapter(env))
    with Client(scene.squid.client_address()) as one, Client(scene.squid.client_address()) as other:
        scene.warm(one)
        scene.ask(other, "warm")
        blocker = threading.Thread(target=scene.ask, args=(one, "blocks", "stall=200"))
        blocker.start()
        time.sleep(0.05)
        begin = time.monotonic_ns()
        scene.ask(other, "waits")
        waited = time.monotonic_ns() - begin
        blocker.join()
    scene.stop()
    slept = took(scene.service.entries(), "blocks")
    stalls = list(dump.Dump(env, scene.squid.directory, table="stalls").rows())
    env.note("the other one waited %.1f ms; %s" % (waited / MS, "; ".join(row["stall"] for row in stalls[:3])))
    env.check(waited > 100 * MS, "another request took only %.1f ms" % (waited / MS))
    env.check("ms in AsyncJob::start" in stalls[0]["stall"], "the first line is %r" % stalls[0]["stall"])
    env.check(abs(float(stalls[0]["longest_ms"]) * MS - slept) < MS, "the service slept %.3f ms: %r"
              % (slept / MS, stalls[0]["stall"]))


TESTS = [
    ("eCAP services that wait a known time", first(known_waits), 120),
    ("eCAP services that refuse, fail or are left", first(trouble), 60),
    ("eCAP, 20 at a time", many, 90),
    ("an eCAP service that blocks", first(blocks), 40),
]
