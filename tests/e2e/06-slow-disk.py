# SPDX-License-Identifier: GPL-2.0-or-later
"""A delay that is put under a disk shows as service at that cache_dir, and nowhere else."""

import time

from lib import access, dump, native
from lib.client import Client, at_once
from lib.clocks import MS
from lib.env import first, median
from lib.origin import Origin
from lib.rows import ALL_STAGES, check_sums
from lib.squid import Squid

CONF = "cache_mem 0 MB\nmemory_cache_mode disk\nstore_dir_select_algorithm round-robin\n"
SWAP_STAGES = ("swap_in_open_ns", "swap_in_first_ns", "swap_in_rest_ns", "proxy_reply_ns")


def slow(env, slow_kind, kinds):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=kinds, dns=origin.host, lines=CONF, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-%s-" % slow_kind, "SLOWDISK_MS": "50"}).start()
    with Client(squid.client_address()) as client:
        for turn in ("fill", "hit"):
            for n in range(8):
                client.request(origin.url("o%d" % n, size=11000), "%s%d" % (turn, n))
                time.sleep(0.05)
    time.sleep(0.3)
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    check_sums(env, requests)
    blocks = [row for row in dump.table(env, squid.directory, "ios") if row["direction"] == "in"]
    paths = {row["dir"]: row["path"] for row in dump.table(env, squid.directory, "swaps")}
    slow_blocks = [row for row in blocks if "cache-%s-" % slow_kind in paths[row["dir"]]]
    others = [row for row in blocks if row not in slow_blocks]
    env.check(len(slow_blocks) >= 3 * 8 // len(kinds), "only %d blocks from the slow disk" % len(slow_blocks))
    env.check(others or len(kinds) == 1, "no block from another disk")
    for row in slow_blocks:
        held = env.held.during(row)
        env.check(50 * MS <= row.ns("service_ns") < 60 * MS + held,
                  "a block of the slow disk: service_ns %.3f ms" % (row.ns("service_ns") / MS))
        env.check(row.ns("queue_ns") < 15 * MS + held and row.ns("notice_ns") < 15 * MS + held,
                  "a block of the slow disk: queue_ns %s, notice_ns %s" % (row["queue_ns"], row["notice_ns"]))
    for row in others:
        env.check(row.ns("service_ns") < 10 * MS + env.held.during(row), "a block of another disk: service_ns %s" % row["service_ns"])
    if others:
        env.check(median([row.ns("service_ns") for row in others]) < MS, "other disks became slow")
    slow_xids = {row["xid"] for row in slow_blocks}
    by_xid = {str(line.xid): line for line in access.read(squid)}
    for row in requests:
        if row["class"] != "disk_hit":
            continue
        for stage in ALL_STAGES + ["unaccounted_ns"]:
            if stage not in SWAP_STAGES or row["xid"] not in slow_xids:
                env.check(row.ns(stage) < 45 * MS + env.held.during(row), "%s of %s: %.3f ms" % (stage, by_xid[row["xid"]],
                                                                         row.ns(stage) / MS))
        if row["xid"] in slow_xids:
            mine = sum(block.ns("service_ns") for block in slow_blocks if block["xid"] == row["xid"])
            waited = row.ns("swap_in_first_ns") + row.ns("swap_in_rest_ns")
            env.check(waited >= 0.9 * mine, "the request waited %.1f ms for blocks that took %.1f ms"
                      % (waited / MS, mine / MS))


def queued(env):
    """Four readers of one diskd, which serves one block at a time: a block waits while others are read, and what it
    waits for is its queue."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["diskd"], dns=origin.host, lines=CONF, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-diskd-", "SLOWDISK_MS": "50"}).start()
    readers = 4
    with Client(squid.client_address()) as client:
        for n in range(readers):
            client.request(origin.url("q%d" % n, size=11000), "fill%d" % n)
    time.sleep(0.3)

    def read(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("q%d" % n, size=11000), "hit%d" % n)
    at_once(readers, read)
    squid.stop()
    blocks = [row for row in dump.table(env, squid.directory, "ios") if row["direction"] == "in"]
    env.check(len(blocks) >= 3 * readers, "only %d blocks" % len(blocks))
    waited = sorted(row.ns("queue_ns") for row in blocks)
    env.check(waited[len(blocks) // 4] > 40 * MS, "queue_ns of four readers of one disk: %s ms"
              % [round(ns / MS) for ns in waited])
    for row in blocks:
        late = env.held.during(row)
        env.check(50 * MS <= row.ns("service_ns") < 60 * MS + late and row.ns("notice_ns") < 25 * MS + late,
                  "a block: queue %s, service %s, notice %s" % (row["queue_ns"], row["service_ns"], row["notice_ns"]))


TESTS = [
    ("50 ms under an aufs disk, beside diskd", first(lambda env: slow(env, "aufs", ["aufs", "diskd"])), 60),
    ("50 ms under a diskd disk, beside aufs", first(lambda env: slow(env, "diskd", ["aufs", "diskd"])), 60),
    ("four readers of a slow diskd disk: the queue", first(queued), 60),
    ("50 ms under a ufs disk, beside aufs", first(lambda env: slow(env, "ufs", ["ufs", "aufs"])), 60),
]
