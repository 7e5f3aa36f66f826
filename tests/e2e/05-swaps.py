# SPDX-License-Identifier: GPL-2.0-or-later
"""Swaps, their blocks and the files they are about; and whose they are."""

import collections
import os
import time

from lib import access, dump, rows
from lib.client import Broken, Client, at_once
from lib.origin import Origin
from lib.squid import Squid
from lib.swaps import by_swap, check_agreement, check_hits_have_swapins, check_owned, covered

CONF = "cache_mem 0 MB\nmemory_cache_mode disk\nmaximum_object_size 64 MB\nstore_dir_select_algorithm round-robin\n"
SIZES = [0, 1, 300, 3800, 4096, 5000, 12345, 70000, 400001]


def swap_file(squid, row):
    """Path of the swap file that a row of `swaps` names (cache_dir lines say 4 and 16 directories)."""
    number = int(row["filen"])
    return os.path.join(row["path"], "%02X" % ((number // 16 // 16) % 4), "%02X" % (number // 16 % 16),
                        "%08X" % number)


def swaps_and_images(env, kind):
    """One reader at a time: the reads cover the stored image, the writes add up to it."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=[kind], dns=origin.host, lines=CONF).start()
    with Client(squid.client_address()) as client:
        for turn in ("fill", "hit"):
            for n, size in enumerate(SIZES):
                url = origin.url("s%d" % n, size=size)
                response = client.request(url, "%s-%d" % (turn, n))
                env.equal((response.status, response.body_size), (200, size), "what the client got")
                if turn == "fill":
                    time.sleep(0.1)  # the swap-out ends after the reply
        time.sleep(0.3)
    squid.stop()
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)
    lines = {line.xtag: line for line in access.read(squid)}
    by_xid = collections.defaultdict(list)
    for row in swaps:
        by_xid[row["xid"], row["direction"]].append(row)
    for n, size in enumerate(SIZES):
        fill, hit = lines["fill-%d" % n], lines["hit-%d" % n]
        env.equal(hit.tag, "TCP_HIT", "tag of hit %d" % n)
        outs, ins = by_xid[str(fill.xid), "out"], by_xid[str(hit.xid), "in"]
        if not env.check(len(outs) == 1 and len(ins) == 1, "object %d: %d swap-outs with its request's id, %d swap-ins"
                         % (n, len(outs), len(ins))):
            continue
        out, into = outs[0], ins[0]
        image = os.path.getsize(swap_file(squid, out))
        env.check(image > size, "the stored image of object %d has %d bytes" % (n, image))
        env.equal((out.ns("size_bytes"), out["outcome"]), (image, "complete"), "swap-out of object %d" % n)
        env.equal(into["outcome"], "complete", "swap-in of object %d" % n)
        env.equal((into["filen"], into["dir"]), (out["filen"], out["dir"]), "file of object %d" % n)
        env.equal(out["store"], kind, "store of object %d" % n)
        env.equal(covered(blocks[into["kid"], into["sio"]]), image, "bytes that the swap-in of object %d read" % n)
        env.equal(into.ns("size_bytes"), image, "size_bytes of the swap-in of object %d" % n)
    if kind != "ufs":
        inside = [row for row in sum(blocks.values(), []) if row["direction"] == "in"]
        env.check(all(row.ns("service_ns") > 0 and row.ns("queue_ns") > 0 and row.ns("notice_ns") > 0
                      for row in inside), "a block of %s lacks queue, service or notice time" % kind)


def make_store_test(function, kind):
    return lambda env: function(env, kind)


def owners(env, kind):
    """Vary, revalidation, a swap-in that fails: the records still know whose they are."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=[kind], dns=origin.host, lines=CONF).start()

    def get(client, tag, name, headers=(), **want):
        return client.request(origin.url(name, **want), tag, headers=list(headers))

    with Client(squid.client_address()) as client:
        for turn in range(3):
            for language in ("de", "fr"):
                for n in range(5):
                    get(client, "vary", "v%d" % n, ["Accept-Language: " + language], vary="Accept-Language",
                        size=9000 + n)
                    get(client, "reval", "r%d" % n, etag="r", cc="max-age=0+must-revalidate", size=20000)
                    get(client, "changed", "c%d" % n, lm="new", cc="max-age=0+must-revalidate", size=20000)
                    get(client, "plain", "p%d" % n, size=30000)
            time.sleep(0.3)
        # Swap files that vanish or are cut under Squid.
        time.sleep(1)
        found = []
        for folder, _, files in os.walk(squid.dir_path(kind)):
            found += [os.path.join(folder, name) for name in files if len(name) == 8]
        env.check(len(found) > 10, "only %d swap files" % len(found))
        for number, path in enumerate(sorted(found)):
            if number % 3 == 0:
                os.unlink(path)
            elif number % 3 == 1:
                os.truncate(path, number % 2 * 2000)
        for n in range(5):
            for tag, name, headers, want in (
                    ("lostvary", "v%d", ["Accept-Language: de"], {"vary": "Accept-Language", "size": 9000 + n}),
                    ("lostvary", "v%d", ["Accept-Language: fr"], {"vary": "Accept-Language", "size": 9000 + n}),
                    ("lostreval", "r%d", [], {"etag": "r", "cc": "max-age=0+must-revalidate", "size": 20000}),
                    ("lostplain", "p%d", [], {"size": 30000})):
                try:
                    response = get(client, tag, name % n, headers, **want)
                    env.check(response.status == 200, "%s got %d" % (tag, response.status))
                except (Broken, ConnectionError) as error:  # a hit that breaks off in the middle is Squid's way out
                    env.note("%s %d: %r" % (tag, n, error))
                client.close()
    squid.stop()
    check_owned(env, squid, 40)
    requests = check_hits_have_swapins(env, squid)
    rows.check_fields(env, rows.join(env, access.read(squid), requests))
    rows.check_sums(env, requests)
    swaps, blocks = by_swap(env, squid)
    tags = collections.Counter(line.tag for line in access.read(squid))
    env.note("tags: %s" % dict(tags))
    env.check(tags["TCP_SWAPFAIL_MISS"] or any(row["outcome"] == "error" for row in swaps),
              "no swap-in failed")
    reasons = {row["miss_reason"] for row in requests if row["tag"] == "TCP_SWAPFAIL_MISS"}
    env.check(reasons <= {"swap_fail"}, "miss_reason of swap-ins that failed: %s" % reasons)
    env.check(any(row["outcome"] == "error" for row in swaps if row["direction"] == "in"),
              "no swap-in has outcome error: %s" % collections.Counter(row["outcome"] for row in swaps))
    env.check(tags["TCP_REFRESH_UNMODIFIED"] and tags["TCP_REFRESH_MODIFIED"], "no revalidation happened")


def collapsed(env):
    """Followers of one fetch: each has its row, the server's side belongs to the leader alone."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs"], dns=origin.host,
                  lines="cache_mem 64 MB\ncollapsed_forwarding on\nmaximum_object_size 64 MB").start()

    def follower(n):
        with Client(squid.client_address()) as client:
            time.sleep(0.02 * n)
            response = client.request(origin.url("one", hdr=400, size=50000), "f%d" % n)
            env.equal((response.status, response.body_size), (200, 50000), "follower %d" % n)
    at_once(6, follower)
    time.sleep(0.3)
    fetches = [entry for entry in origin.entries() if entry.startswith("f")]
    env.equal(len(fetches), 1, "fetches at the origin")
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    check_owned(env, squid, 1)
    forwards = [row["id"] for row in dump.table(env, squid.directory, "events", "--where=event == DISPATCH")]
    leader = [row["xid"] for line, row in pairs if line.xtag == fetches[0]]
    env.equal(forwards, leader, "who was dispatched")
    for line, row in pairs:
        follows = line.xtag != fetches[0]
        env.equal(row["collapsed"], "1" if follows else "0", line.xtag + ": collapsed (%s)" % line.tag)
        if follows:
            env.equal(row["server_wait_ns"], "-", line.xtag + ": server_wait_ns")
            env.check(row.ns("unaccounted_ns") < 0.05 * row.ns("total_ns"),
                      "%s: unaccounted %s of %s" % (line.xtag, row["unaccounted_ns"], row["total_ns"]))


def several_readers(env):
    """Two readers of one object at the same time: each swap-in knows its own request."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs", "diskd"], dns=origin.host, lines=CONF).start()
    with Client(squid.client_address()) as client:
        for n in range(4):
            client.request(origin.url("o%d" % n, size=150000), "fill")
        time.sleep(0.5)

    def reader(n):
        with Client(squid.client_address()) as client:
            for turn in range(4):
                client.request(origin.url("o%d" % ((n + turn) % 4), size=150000), "r%d-%d" % (n, turn))
    at_once(8, reader)
    squid.stop()
    check_owned(env, squid, 4)
    check_hits_have_swapins(env, squid)
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)


TESTS = [("swaps, blocks and stored images: " + kind, make_store_test(swaps_and_images, kind), 60)
         for kind in ("ufs", "aufs", "diskd")]
TESTS += [("whose records: Vary, revalidation, failed swap-ins: " + kind, make_store_test(owners, kind), 90)
          for kind in ("ufs", "aufs", "diskd")]
TESTS += [
    ("collapsed forwarding", collapsed, 60),
    ("several readers of one object", several_readers, 60),
]
