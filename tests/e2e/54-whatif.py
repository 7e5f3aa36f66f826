# SPDX-License-Identifier: GPL-2.0-or-later
"""Table whatif: a trace has the settings of its Squid, today's hits are computed as they were, and another Squid with the value
that was tried has the hits that were foretold.  What cannot be foretold is refused, with the reason."""

import os
import random
import shutil
import time

from lib import dump
from lib.client import Client, at_once
from lib.origin import Origin
from lib.squid import Squid
from lib.tls import Certificates, FarEnds

OBJECTS, REQUESTS = 300, 1500
KEPT_CLIENTS, KEPT_EACH = 4, 260
EVERY = 0.003  # seconds
LINES = "cache_mem %s\nmaximum_object_size_in_memory 100 KB\nmaximum_object_size 3 MB\n"


def of(rows, setting):
    return {row["value"]: row for row in rows if row["setting"] == setting}


def draw():
    numbers = random.Random(43)
    return [int(OBJECTS * numbers.random() ** 2) for _ in range(REQUESTS)]


def ask(squid, origin, every=EVERY, want=None, headers=lambda: (), purge=0):
    """All requests.  want: what the origin is to do with an object; purge: every so many requests, objects are purged."""
    with Client(squid.client_address()) as client:
        started = time.monotonic()
        for count, number in enumerate(draw()):
            # Squid makes room once a second, so both must answer as many requests in a second, however busy the machine is.
            time.sleep(max(0, started + count * every - time.monotonic()))
            url = origin.url("o%d" % number, size=1000 + 150 * number, **(want(number) if want else {}))
            client.request(url, "ask", headers=headers())
            if purge and count % purge == 0:
                client.request(url, "purge", "PURGE")
    time.sleep(0.3)


def rows(env, squid):
    squid.stop()
    return dump.table(env, squid.directory, "whatif", "--no-comments")


def ran(env, origin, size, lines="", name="squid", want=None, **more):
    """Rows of whatif of a Squid that answered all."""
    squid = Squid(env, name=name + "-" + size.replace(" ", ""), trace="", lines=LINES % size + lines, **more).start()
    ask(squid, origin, want=want)
    return rows(env, squid)


def memory(env):
    origin = Origin(env)
    small, large = ran(env, origin, "1 MB", alone=True), ran(env, origin, "2 MB", alone=True)
    env.note(small)
    today = of(small, "cache_mem").get("1 MB")
    if not env.check(today and today["now_value"] == "1 MB", "the trace does not say what cache_mem is"):
        return
    env.equal(of(small, "maximum_object_size_in_memory")["100 KB"]["now_value"], "100 KB", "maximum_object_size_in_memory")
    env.equal(of(small, "maximum_object_size")["3 MB"]["now_value"], "3 MB", "maximum_object_size")
    env.equal(today["bound"], "forecast", "today's value: %s" % today)
    env.check(abs(float(today["calibration_pct"])) <= 3, "today's hits are computed too badly: %s" % today)
    compare(env, small, large)


def compare(env, small, large):
    """What the one with 1 MB foretells, and the one with 2 MB had."""
    foretold, then = of(small, "cache_mem")["2 MB"], of(large, "cache_mem")["2 MB"]
    measured = float(then["hit_ratio_pct"]) - float(then["calibration_pct"])
    env.note("2 MB: foretold %s %%, measured %.3f %%" % (foretold["hit_ratio_pct"], measured))
    env.check(abs(float(foretold["hit_ratio_pct"]) - measured) <= 5, "2 MB: foretold %s, measured %.3f" % (
        foretold["hit_ratio_pct"], measured))
    env.check(measured > float(of(small, "cache_mem")["1 MB"]["hit_ratio_pct"]) + 3,
              "the larger cache has no more hits: nothing was shown")


def mixed(env):
    """A third of the objects must not be stored, and the policy is another name of LRU."""
    origin = Origin(env)
    traces = [ran(env, origin, size, "memory_replacement_policy heap LRU\n", "mixed", lambda n: {} if n % 3 else {"cc": "no-store"},
                  alone=True) for size in ("1 MB", "2 MB")]
    env.note(traces[0])
    compare(env, *traces)


def persistent(env):
    """A TLS server whose handshakes take 20 ms: with kept connections, clients wait less by what was foretold."""
    origin = Origin(env)
    far = FarEnds(env, origin, Certificates(env, "far.example", origin.host), "tls:20")
    lines = (LINES % "4 MB" + "cache deny all\nserver_idle_pconn_timeout 1 seconds\ncache_peer %s parent %d 0 no-query no-digest "
             "originserver tls tls-flags=DONT_VERIFY_PEER name=far\nnever_direct allow all\n" % (origin.host, far.ports["tls:20"]))
    waited, found = {}, {}
    for state in ("off", "on"):
        squid = Squid(env, name="pconn-" + state, trace="", lines=lines + "server_persistent_connections %s\n" % state,
                      alone=True).start()

        def work(n):
            pauses = random.Random(n)
            with Client(squid.client_address()) as client:
                for count in range(KEPT_EACH):
                    # Now and then, the connection is idle for too long.
                    time.sleep(1.3 if count % 60 == 59 else pauses.random() * 0.02)
                    client.request(origin.url("o%d-%d" % (n, count), size=1000), "ask")
        at_once(KEPT_CLIENTS, work)
        time.sleep(0.3)
        found[state] = rows(env, squid)
        requests = dump.table(env, squid.directory, "requests", "--no-comments", "--columns=time_s,total_ns")
        waited[state] = [float(row["total_ns"]) / 1e9 for row in requests]
        begins = [float(row["time_s"]) for row in requests]
        waited[state + " hours"] = (max(begins) - min(begins)) / 3600
    row = of(found["off"], "server_persistent_connections").get("on")
    env.check(row and row["bound"] == "forecast" and row["now_value"] == "off", "what is foretold: %s" % found["off"])
    foretold = float(row["saved_s_per_h"]) * waited["off hours"]
    saved = sum(waited["off"]) - sum(waited["on"])
    env.note("foretold %.3f s, saved %.3f s of %.3f s" % (foretold, saved, sum(waited["off"])))
    env.check(abs(foretold - saved) <= 0.25 * saved and saved > 0.2 * sum(waited["off"]),
              "kept connections save %.3f s, and %.3f s were foretold" % (saved, foretold))
    env.equal([r["method"] for r in found["on"] if r["setting"] == "server_persistent_connections"], ["it is on"], "where it is on")
    longer = of(found["on"], "server_idle_pconn_timeout")
    env.equal({value: r["bound"] for value, r in longer.items()}, dict.fromkeys(("2 seconds", "4 seconds", "16 seconds"), "at_most"),
              "longer time-outs")


def refused(env):
    origin, languages = Origin(env), random.Random(44)

    def check(squid, setting, words):
        row = [row for row in rows(env, squid) if row["setting"] == setting]
        env.check([r["bound"] for r in row] == ["refused"] and words in row[0]["method"], "%s: %s instead of %s" % (
            squid.name, row, words))

    heap = Squid(env, name="heap", trace="", lines=LINES % "1 MB" + "memory_replacement_policy heap GDSF\n", alone=True).start()
    ask(heap, origin, 0)
    check(heap, "cache_mem", "replacement by heap GDSF is not simulated")
    vary = Squid(env, name="vary", trace="", lines=LINES % "2 MB", alone=True).start()
    ask(vary, origin, 0, lambda n: {"vary": "Accept-Language"}, lambda: ["Accept-Language: l%d" % languages.randrange(3)])
    check(vary, "cache_mem", "replies have Vary")
    purged = Squid(env, name="purged", trace="", alone=True,
                   lines=LINES % "4 MB" + "acl purge method PURGE\nhttp_access allow purge\n").start()
    ask(purged, origin, 0, purge=2)
    check(purged, "cache_mem", "it was purged")
    warm = Squid(env, name="warm", trace="", lines=LINES % "1 MB", dirs=["ufs"], alone=True).start()
    ask(warm, origin, 0)
    warm.stop()
    shutil.rmtree(warm.directory)
    os.mkdir(warm.directory)
    warm.give(warm.directory)
    warm.start()
    ask(warm, origin, 0)
    check(warm, "cache_dir ufs", "the cache was warm when the trace began")


TESTS = [
    ("whatif: a memory cache of another size, foretold and measured", memory, 90),
    ("whatif: replies that must not be stored, and heap LRU, foretold and measured", mixed, 90),
    ("whatif: connections to servers that are kept, foretold and measured", persistent, 120),
    ("whatif: heap GDSF, Vary, purges and a warm start are refused", refused, 90),
]
