# SPDX-License-Identifier: GPL-2.0-or-later
"""The flagship case: a 10,486,356-byte disk hit from ufs, aufs and diskd, idle and with background clients."""

import concurrent.futures
import threading
import time

from lib import access, dump
from lib.client import Client
from lib.env import first, go_first, median, unpatched_too
from lib.origin import Origin
from lib.rows import check_sums
from lib.squid import Squid

MS = 1000000
SIZE = 10486356
CONF = "cache_mem 0 MB\nmemory_cache_mode disk\nmaximum_object_size 64 MB\n"


def start_pair(env, kind, origin):
    """A traced Squid and an untraced one (the unpatched twin, or the same without the directive), both warm."""
    pair = (Squid(env, kind + "-traced", trace="", dirs=[kind], dns=origin.host, lines=CONF,
                  plain=True),
            Squid(env, kind + "-untraced", prefix=env.unpatched or env.squid, dirs=[kind], dns=origin.host,
                  lines=CONF))
    for squid in pair:
        squid.start()
        with Client(squid.client_address(), 120) as client:
            client.request(origin.url("iso", size=SIZE), "fill")
    time.sleep(1)
    return pair


def hit(squid, origin, tag):
    """Seconds that one hit takes, as the client sees it."""
    with Client(squid.client_address(), 120) as client:
        response = client.request(origin.url("iso", size=SIZE), tag)
    if response.body_size != SIZE:
        raise AssertionError("a hit of %d bytes" % response.body_size)
    return response.seconds


def alternate(env, pair, origin, pairs):
    """Interleaved hits of both; ([seconds traced], [seconds untraced])."""
    times = ([], [])
    for n in range(pairs):
        for which in ((0, 1), (1, 0))[n % 2]:
            times[which].append(hit(pair[which], origin, "hit%d" % n))
    return noted(env, times)


def at_once(env, pair, origin, pairs):
    """As alternate(), with a hit of each at the same time: for Squids that sleep nearly all of it."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        times = tuple(pool.map(lambda squid: [hit(squid, origin, "hit%d" % n) for n in range(pairs)], pair))
    return noted(env, times)


def noted(env, times):
    env.note("traced %s, untraced %s" % tuple(["%.3f" % t for t in found] for found in times))
    return times


def hits_and_blocks(env, squid):
    """[(row, its blocks)] of the hits of a stopped Squid."""
    requests = dump.table(env, squid.directory, "requests")
    check_sums(env, requests)
    xids = {str(line.xid) for line in access.read(squid) if line.xtag.startswith("hit")}
    blocks = {}
    for row in dump.table(env, squid.directory, "ios"):
        if row["direction"] == "in":
            blocks.setdefault(row["xid"], []).append(row)
    return [(row, blocks.get(row["xid"], [])) for row in requests if row["xid"] in xids]


def diskd(env):
    go_first(env)  # and is not first(): it sleeps nearly all of its 80 s, and disturbs no other test that goes first
    origin = Origin(env)
    pair = start_pair(env, "diskd", origin)
    traced, untraced = at_once(env, pair, origin, 5 if env.full else 3)
    ratio = median(traced) / median(untraced)
    env.check(abs(ratio - 1) <= 0.05, "a traced hit takes %.1f %% of an untraced one: %s against %s"
              % (ratio * 100, traced, untraced))
    env.check(15 < median(traced) < 40, "the idle diskd hit takes %.1f s" % median(traced))
    for squid in pair:
        squid.stop()
    for row, blocks in hits_and_blocks(env, pair[0]):
        env.check(2555 <= len(blocks) <= 2570, "%d rows in ios for one hit" % len(blocks))
        middle = median([block.ns("total_ns") for block in blocks])
        service = sum(block.ns("service_ns") for block in blocks) / sum(block.ns("total_ns") for block in blocks)
        env.note("median block %.3f ms, service share %.3f %%" % (middle / MS, service * 100))
        env.check(8 * MS < middle < 11 * MS, "the median block takes %.3f ms" % (middle / MS))
        env.check(service < 0.02, "service_ns is %.2f %% of the blocks' time" % (service * 100))
        env.check(row.ns("swap_in_rest_ns") > 0.9 * row.ns("total_ns"),
                  "swap_in_rest_ns is %s of total_ns %s" % (row["swap_in_rest_ns"], row["total_ns"]))
    comb = dump.Dump(env, pair[0].directory, options=["--figure=block-comb"]).rows()
    env.check(2555 <= len(comb) <= 2570, "block-comb has %d rows" % len(comb))
    notice = [name for name in comb[0] if name.startswith("notice")] if comb else []
    env.check(notice, "block-comb has no column of the notice time: %s" % (list(comb[0]) if comb else []))
    if notice:
        env.check(7 < median([float(row[notice[0]]) for row in comb if row[notice[0]] != "-"]) < 11,
                  "block-comb: the median notice time is not near 9.5 ms")


def quick(env, kind, limit):
    """ufs and aufs: the same hit is fast, traced or not."""
    origin = Origin(env)
    pair = start_pair(env, kind, origin)
    # How much tracing costs such a hit is for the benchmarks to say: it is less than the noise of one run.
    traced, untraced = alternate(env, pair, origin, 21 if env.full else 7)
    env.check(median(traced) < limit, "the %s hit takes %.3f s traced, %.3f s untraced"
              % (kind, median(traced), median(untraced)))
    for squid in pair:
        squid.stop()
    for row, blocks in hits_and_blocks(env, pair[0]):
        env.check(2555 <= len(blocks) <= 2570, "%d rows in ios for one hit" % len(blocks))
        env.equal(row["class"], "disk_hit", "class")


def busy(env):
    """With two busy clients the diskd hit is much faster: a busy loop notices sooner."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["diskd"], dns=origin.host, lines=CONF).start()
    with Client(squid.client_address(), 120) as client:
        client.request(origin.url("iso", size=SIZE), "fill")
    time.sleep(1)
    ending = threading.Event()

    def noise():
        with Client(squid.client_address()) as client:
            while not ending.is_set():
                client.request("http://%s:%d/refused/x" % (origin.host, origin.port), "noise")
    noises = [threading.Thread(target=noise, daemon=True) for _ in range(2)]
    for thread in noises:
        thread.start()
    try:
        took = hit(squid, origin, "hit")
    finally:
        ending.set()
        for thread in noises:
            thread.join(20)
    env.note("with two busy clients: %.3f s" % took)
    env.check(took < 10, "the diskd hit takes %.1f s beside two busy clients" % took)
    squid.stop()
    for row, blocks in hits_and_blocks(env, squid):
        env.check(2555 <= len(blocks) <= 2570, "%d rows in ios for one hit" % len(blocks))


TESTS = [
    ("flagship: ufs", unpatched_too(first(lambda env: quick(env, "ufs", 0.5))), 180),
    ("flagship: aufs", first(lambda env: quick(env, "aufs", 1.5)), 210),
    ("flagship: diskd beside two busy clients", unpatched_too(busy), 60),
    ("flagship: diskd idle", diskd, 420),
]
