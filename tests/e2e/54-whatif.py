# SPDX-License-Identifier: GPL-2.0-or-later
"""Table whatif: a trace has the settings of its Squid, today's hits are computed as they were, and another Squid with the value
that was tried has the hits that were foretold."""

import random
import time

from lib import dump
from lib.client import Client
from lib.origin import Origin
from lib.squid import Squid

OBJECTS, REQUESTS = 300, 1500
EVERY = 0.003  # seconds
LINES = "cache_mem %s\nmaximum_object_size_in_memory 100 KB\nmaximum_object_size 3 MB\n"


def of(rows, setting):
    return {row["value"]: row for row in rows if row["setting"] == setting}


def draw():
    numbers = random.Random(43)
    return [int(OBJECTS * numbers.random() ** 2) for _ in range(REQUESTS)]


def ran(env, origin, size, lines="", **more):
    """Rows of whatif of a Squid that answered all."""
    squid = Squid(env, name="squid-" + size.replace(" ", ""), trace="", lines=LINES % size + lines, **more).start()
    with Client(squid.client_address()) as client:
        started = time.monotonic()
        for count, number in enumerate(draw()):
            # Squid makes room once a second, so both must answer as many requests in a second, however busy the machine is.
            time.sleep(max(0, started + count * EVERY - time.monotonic()))
            client.request(origin.url("o%d" % number, size=1000 + 150 * number), "ask")
    time.sleep(0.3)
    squid.stop()
    return dump.table(env, squid.directory, "whatif", "--no-comments")


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
    foretold, then = of(small, "cache_mem")["2 MB"], of(large, "cache_mem")["2 MB"]
    measured = float(then["hit_ratio_pct"]) - float(then["calibration_pct"])
    env.note("2 MB: foretold %s %%, measured %.3f %%" % (foretold["hit_ratio_pct"], measured))
    env.check(abs(float(foretold["hit_ratio_pct"]) - measured) <= 5, "2 MB: foretold %s, measured %.3f" % (
        foretold["hit_ratio_pct"], measured))
    env.check(measured > float(today["hit_ratio_pct"]) + 3, "the larger cache has no more hits: nothing was shown")


TESTS = [
    ("whatif: a memory cache of another size, foretold and measured", memory, 90),
]
