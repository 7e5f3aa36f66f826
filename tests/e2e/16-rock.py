# SPDX-License-Identifier: GPL-2.0-or-later
"""Rock stores, in one process and with disker processes: rows, images, where a block waits, and what workers share."""

import os
import signal
import time

from lib import access, dump, load, mixed, native, rock, rows
from lib.client import Broken, Client, at_once
from lib.clocks import MS
from lib.env import first, free_port, wait_for
from lib.origin import Origin
from lib.squid import Squid
from lib.swaps import by_swap, check_agreement, check_hits_have_swapins, check_owned, covered

DISK_ONLY = "cache_mem 0 MB\nmemory_cache_mode disk\nmaximum_object_size 64 MB\n"
SIZES = [0, 1, 300, 3800, 4096, 5000, 12345, 16000, 16384, 70000, 400001]
TIMEOUT_S = 7  # Squid's; it looks once in that time, so a block may wait twice as long


def make_squid(env, origin, **options):
    options.setdefault("lines", DISK_ONLY)
    return Squid(env, trace="", dirs=["rock"], dir_mb=64, dns=origin.host, **options).start()


def events(env, squid, name):
    return dump.table(env, squid.directory, "events", "--where=event == " + name)


# ---- rows, swaps and images ----

def by_rows(env, count, concurrency, **options):
    origin = Origin(env)
    squid = make_squid(env, origin, lines=load.CONF, **options)
    diskers = len(squid.disker_pids())
    requests, _ = mixed.by_rows(env, squid, origin, count, concurrency, seed=1600 + concurrency)
    env.equal(diskers, 0 if options.get("alone") else 1, "diskers")
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)
    env.equal({row["store"] for row in swaps}, {"rock"}, "stores")
    env.equal([row["outcome"] for row in swaps if row["outcome"] in ("unfinished", "lost", "timeout")], [],
              "swaps that did not end")
    check_hits_have_swapins(env, squid)
    check_owned(env, squid, 50)
    check_pairs(env, squid)
    if not options.get("alone"):
        own = {row["kid"] for row in dump.table(env, squid.directory, "events", "--where=event == START")}
        workers = options.get("workers", 1)
        env.equal(own, {str(kid) for kid in range(1, workers + 3)}, "kids that trace: workers, disker, coordinator")
    return requests


def check_pairs(env, squid, swap_ins=True):
    """What begins also ends."""
    for begin, end in (("SWAPIN_OPEN", "SWAPIN_CLOSED"), ("SWAPOUT_OPEN", "SWAPOUT_CLOSED"),
                       ("SWAPIN_READ", "SWAPIN_READ_DONE"), ("SWAPOUT_WRITE", "SWAPOUT_WRITTEN")):
        begun, ended = (sorted((row["kid"], row["id"]) for row in events(env, squid, name)) for name in (begin, end))
        env.check(begun or not swap_ins and begin.startswith("SWAPIN"), "no " + begin)
        env.check(begun == ended, "%d %s, %d %s" % (len(begun), begin, len(ended), end))


def two_workers(env):
    requests = by_rows(env, 12000, 50, workers=2)
    env.check({row["kid"] for row in requests} >= {"1", "2"}, "one worker served everything")


def check_whole_slots(env, squid, blocks):
    """A write to the disk has the slot's header, too, whoever does it; a read does not."""
    operations = {}
    for row in dump.table(env, squid.directory, "diskops"):
        operations.setdefault((row["kid"], row["sio"]), []).append(row)
    env.equal(sorted(operations), sorted(blocks), "swaps with disk operations")
    for swap, of_swap in blocks.items():
        header = rock.SLOT_HEADER.size if of_swap[0]["direction"] == "out" else 0
        env.equal(sorted(row.ns("size_bytes") for row in operations.get(swap, [])),
                  sorted(row.ns("size_bytes") + header for row in of_swap), "bytes of the disk operations of a swap")


def swaps_and_images(env, alone):
    """One reader at a time: the reads cover the image that is in the file, the writes add up to it."""
    origin = Origin(env)
    squid = make_squid(env, origin, alone=alone)
    with Client(squid.client_address()) as client:
        for turn in ("fill", "hit"):
            for n, size in enumerate(SIZES):
                response = client.request(origin.url("s%d" % n, size=size), "%s-%d" % (turn, n))
                env.equal((response.status, response.body_size), (200, size), "what the client got")
                time.sleep(0.1 if turn == "fill" else 0)  # the swap-out ends after the reply
        time.sleep(0.3)
    squid.stop()
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)
    lines = {line.xtag: line for line in access.read(squid)}
    by_xid = {(row["xid"], row["direction"]): row for row in swaps}
    env.equal(len(by_xid), 2 * len(SIZES), "swaps")
    for n, size in enumerate(SIZES):
        fill, hit = lines["fill-%d" % n], lines["hit-%d" % n]
        env.equal(hit.tag, "TCP_HIT", "tag of hit %d" % n)
        out, into = by_xid.get((str(fill.xid), "out")), by_xid.get((str(hit.xid), "in"))
        if not env.check(out and into, "object %d has no swap-out or no swap-in with its request's id" % n):
            continue
        image = rock.image_of(squid.dir_path("rock"), origin.url("s%d" % n, size=size))
        if not env.check(image is not None and len(image) > size, "no image of object %d in the file" % n):
            continue
        written, read = blocks[out["kid"], out["sio"]], blocks[into["kid"], into["sio"]]
        env.equal((out.ns("size_bytes"), out.ns("image_bytes"), out["outcome"]), (len(image), len(image), "complete"),
                  "swap-out of object %d" % n)
        slot = rock.SLOT_SIZE - rock.SLOT_HEADER.size
        env.equal([(int(row["offset_bytes"]), int(row["size_bytes"])) for row in written],
                  [(at, min(slot, len(image) - at)) for at in range(0, len(image), slot)],
                  "slots of object %d" % n)
        env.equal((into["outcome"], into["filen"]), ("complete", out["filen"]), "swap-in of object %d" % n)
        env.equal(covered(read), len(image), "bytes that the swap-in of object %d read" % n)
        env.equal(into.ns("size_bytes"), len(image), "size_bytes of the swap-in of object %d" % n)
    check_whole_slots(env, squid, blocks)
    for row in sum(blocks.values(), []):
        elsewhere = row.ns("queue_ns") > 0 and row.ns("notice_ns") > 0
        env.check(row.ns("service_ns") > 0 and elsewhere != alone,
                  "a block of %s: queue_ns %s, service_ns %s, notice_ns %s"
                  % ("one process" if alone else "a disker", row["queue_ns"], row["service_ns"], row["notice_ns"]))


def header_updates(env, alone):
    """A 304 with new headers rewrites the stored one; its client waits for none of that."""
    origin = Origin(env)
    squid = make_squid(env, origin, alone=alone)
    with Client(squid.client_address()) as client:
        for turn in range(3):
            for n in range(5):
                client.request(origin.url("r%d" % n, etag="r", cc="max-age=0+must-revalidate", size=40000),
                               "%d-%d" % (turn, n))
            time.sleep(1.1)  # so that the next Date is another one
    squid.stop()
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)
    check_pairs(env, squid)
    check_owned(env, squid, 10)
    requests = {row["xid"]: row for row in dump.table(env, squid.directory, "requests")}
    updates = [row for row in swaps if row["update"] == "1"]
    refreshed = [xid for xid, row in requests.items() if row["tag"] == "TCP_REFRESH_UNMODIFIED"]
    env.equal(len(refreshed), 10, "revalidations")
    for direction in ("in", "out"):
        env.equal(sorted(row["xid"] for row in updates if row["direction"] == direction), sorted(refreshed),
                  "transactions whose header updates go " + direction)
    for row in updates:
        env.equal(row["outcome"], "complete", "outcome of an update")
        env.check(0 < row.ns("size_bytes") < 20000, "an update moved %s bytes" % row["size_bytes"])
    for xid in refreshed:
        env.equal(requests[xid].ns("swap_ins"), 1, "swap-ins that a revalidated request waits for")


# ---- where a block waits ----

def slow_disk(env, alone):
    """50 ms under the reads of the file show as service of its blocks and nowhere else."""
    origin = Origin(env)
    switch = env.path("slow")
    squid = make_squid(env, origin, alone=alone, unprivileged=True, preload=native.preload(env, "slowdisk"),
                       environment={"SLOWDISK_PATH": "cache-rock", "SLOWDISK_MS": "50", "SLOWDISK_IF": switch})
    with Client(squid.client_address()) as client:
        for turn in ("fill", "hit"):
            for n in range(8):
                client.request(origin.url("o%d" % n, size=11000), "%s%d" % (turn, n))
                time.sleep(0.05)
            open(switch, "w").close()
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    rows.check_sums(env, requests)
    blocks = dump.table(env, squid.directory, "ios")
    reads = [row for row in blocks if row["direction"] == "in"]
    env.equal(len(reads), 8 * 3, "blocks read")
    for row in reads:
        held = env.held.during(row)
        env.check(50 * MS <= row.ns("service_ns") < 60 * MS + held, "a read: service_ns %s" % row["service_ns"])
        env.check(row.ns("queue_ns") < 15 * MS + held and row.ns("notice_ns") < 15 * MS + held,
                  "a read: queue_ns %s, notice_ns %s" % (row["queue_ns"], row["notice_ns"]))
        env.check((row.ns("queue_ns") > 0 and row.ns("notice_ns") > 0) != alone, "a read: who did it?")
    for row in blocks:
        env.check(row in reads or row.ns("service_ns") < 10 * MS + env.held.during(row), "a write: service_ns %s" % row["service_ns"])
    hits = [row for row in requests if row["class"] == "disk_hit"]
    env.equal(len(hits), 8, "disk hits")
    for row in hits:
        rows.check_no_other(env, row, ("swap_in_first_ns", "swap_in_rest_ns"), "a hit")
        for stage in ("swap_in_first_ns", "swap_in_rest_ns"):
            env.check(row.ns(stage) >= 50 * MS, "%s of a hit: %.3f ms" % (stage, row.ns(stage) / MS))


def stop_disker(squid):
    (pid,) = squid.disker_pids()
    os.kill(pid, signal.SIGSTOP)
    return pid


def hit_while_stopped(env, squid, origin, stopped_s):
    """An object is stored; its hit is asked for while the disker is stopped.  Returns the response and when the
    disker went on, in ns of the trace's time."""
    url = origin.url("one", size=9000)
    with Client(squid.client_address()) as client:
        client.request(url, "fill")
        time.sleep(0.3)
        pid = stop_disker(squid)
        try:
            client.send(client.head("GET", url, "hit"))
            if stopped_s:
                time.sleep(stopped_s)
                os.kill(pid, signal.SIGCONT)
            response = client.receive()
        finally:
            went_on = time.time()
            os.kill(pid, signal.SIGCONT)
        env.equal((response.status, response.body_size), (200, 9000), "the answer")
        time.sleep(0.5)
    squid.stop()
    return response, went_on * 1e9 - dump.Dump(env, squid.directory, "requests").start_ns


def stopped_for_3_s(env):
    """The block that waits for a stopped disker was in its queue."""
    origin = Origin(env)
    squid = make_squid(env, origin)
    hit_while_stopped(env, squid, origin, 3)
    (row,) = [row for row in dump.table(env, squid.directory, "requests") if row["class"] == "disk_hit"]
    reads = [block for block in dump.table(env, squid.directory, "ios") if block["xid"] == row["xid"]]
    env.equal(len(reads), 3, "blocks read")
    env.check(2900 * MS < reads[0].ns("queue_ns") < 3500 * MS, "the first block: queue_ns %s" % reads[0]["queue_ns"])
    for block in reads:
        env.check(block.ns("service_ns") + block.ns("notice_ns") < 200 * MS and block["outcome"] == "complete",
                  "a block: service_ns %s, notice_ns %s, %s" % (block["service_ns"], block["notice_ns"],
                                                                block["outcome"]))
        env.check(block is reads[0] or block.ns("queue_ns") < 200 * MS, "a later block: queue_ns %s"
                  % block["queue_ns"])
    env.check(row.ns("swap_in_first_ns") >= reads[0].ns("queue_ns"), "the request did not wait for it")
    check_pairs(env, squid)


def stopped_for_too_long(env):
    """A block that Squid no longer waits for has timed out; its answer is late."""
    origin = Origin(env)
    squid = make_squid(env, origin)
    _, went_on = hit_while_stopped(env, squid, origin, None)
    line = {line.xtag: line for line in access.read(squid)}["hit"]
    env.equal(line.tag, "TCP_SWAPFAIL_MISS", "tag")
    (swap,) = [row for row in dump.table(env, squid.directory, "swaps")
               if row["xid"] == str(line.xid) and row["direction"] == "in"]
    blocks = [row for row in dump.table(env, squid.directory, "ios") if row["sio"] == swap["sio"]]
    env.equal([(row["outcome"], row["size_bytes"], row["queue_ns"], row["service_ns"], row["notice_ns"])
               for row in blocks], [("timeout", "0", "-", "-", "-")], "the blocks of the swap-in")
    env.equal(swap["outcome"], "timeout", "outcome of the swap-in")
    env.check(TIMEOUT_S * 1e9 <= blocks[0].ns("total_ns") < (2 * TIMEOUT_S + 1) * 1e9,
              "the block was given up after %s ns" % blocks[0]["total_ns"])
    (request,) = [row for row in dump.table(env, squid.directory, "requests") if row["xid"] == str(line.xid)]
    env.check(request.ns("swap_in_first_ns") >= blocks[0].ns("total_ns") and request["class"] == "miss",
              "the request: swap_in_first_ns %s, class %s" % (request["swap_in_first_ns"], request["class"]))
    check_late(env, squid, swap["sio"], blocks[0], went_on)
    operations = [row for row in dump.table(env, squid.directory, "diskops") if row["sio"] == swap["sio"]]
    env.equal([(row["op"], row["result"], row["late"]) for row in operations],
              [("read", "timeout", "0"), ("read", "complete", "1")], "the disk operation and its late answer")
    for row in operations:
        stages = ("enqueued_ns", "dequeued_ns", "io_ns", "copy_ns", "complete_ns", "finished_ns")
        env.equal(sum(row.ns(stage) for stage in stages), row.ns("total_ns"), "sum of its stages")
        env.equal(row["io_ns"] == "-", row["result"] == "timeout", "io_ns of the disk operation")
    check_pairs(env, squid)


def read_until_broken(env, client):
    """Reads the body that has begun; returns how many bytes of it came before Squid closed the connection."""
    head, _, body = client.buffer.partition(b"\r\n\r\n")
    env.equal(head.split()[1], b"200", "status")
    came = len(body)
    try:
        while True:
            client.buffer = b""
            client.fill()
            came += len(client.buffer)
    except (Broken, ConnectionError):
        return came


def cut_off(env):
    """A hit whose later block times out is cut off, and its row says so."""
    origin = Origin(env)
    squid = make_squid(env, origin)
    size = 30 << 20
    url = origin.url("large", size=size)
    with Client(squid.client_address()) as client:
        client.request(url, "fill")
        time.sleep(1)
        client.send(client.head("GET", url, "hit"))
        time.sleep(0.5)
        client.fill()
        pid = stop_disker(squid)
        try:
            came = read_until_broken(env, client)
        finally:
            os.kill(pid, signal.SIGCONT)
    time.sleep(0.5)
    squid.stop()
    lines = {line.xtag: line for line in access.read(squid)}
    (row,) = [row for row in dump.table(env, squid.directory, "requests") if row["xid"] == str(lines["hit"].xid)]
    env.note("%d bytes of %d came: %s, %s" % (came, size, row["tag"], row["outcome"]))
    env.check(came < size and row.ns("sent_bytes") < size, "nothing was cut off")
    env.equal(row["outcome"], "timeout", "outcome of the request")
    (fill,) = [row for row in dump.table(env, squid.directory, "requests") if row["xid"] == str(lines["fill"].xid)]
    env.equal(fill["outcome"], "complete", "outcome of the miss")


def check_late(env, squid, sio, block, went_on):
    """The answer came after the time-out, and after the disker went on, as its stamps say, too."""
    late = [row for row in events(env, squid, "IO_LATE") if row["id"] == sio]
    if not env.equal([(row["arg"], int(row["aux"]) > 0) for row in late], [(block["offset_bytes"], True)],
                     "late answers"):
        return
    everything = dump.table(env, squid.directory, "events")
    part = everything[everything.index(late[0]) + 1]
    env.equal(part["event"], "PART_DISKOP_IO", "what follows the late answer")
    begin, end = dump.seconds_ns(part["id"]), dump.seconds_ns(part["arg"])
    env.check(went_on - 50 * MS < begin < end < late[0].begin_ns,
              "the disker went on at %d, served from %d to %d, was noticed at %d"
              % (went_on, begin, end, late[0].begin_ns))
    env.check(block.begin_ns + block.ns("total_ns") < late[0].begin_ns, "the late answer came before the time-out")


def rejected(env):
    """A queue that is full rejects a block: the swap-out fails, and nothing of it stays open."""
    origin = Origin(env)
    squid = make_squid(env, origin)
    pid = stop_disker(squid)
    with Client(squid.client_address()) as client:
        response = client.request(origin.url("large", size=30 << 20), "large")
        os.kill(pid, signal.SIGCONT)
        env.equal((response.status, response.body_size), (200, 30 << 20), "the answer")
        time.sleep(1)
    squid.stop()
    env.check("overflow" in squid.log_text() or "run out of shared memory" in squid.log_text(), "no queue was full")
    swaps, blocks = by_swap(env, squid)
    check_agreement(env, swaps, blocks)
    check_pairs(env, squid, swap_ins=False)
    env.equal([(row["direction"], row["outcome"]) for row in swaps], [("out", "error")], "swaps")
    found = [row["outcome"] for row in blocks[swaps[0]["kid"], swaps[0]["sio"]]]
    env.check(len(found) > 1000 and found.count("error") == 1 and found.count("complete") == len(found) - 1,
              "%d blocks, %d complete" % (len(found), found.count("complete")))
    env.equal(found[-1], "error", "the last block")


# ---- what workers share ----

def two_ports(env, origin, lines):
    """Two workers, each with a port of its own besides the common one."""
    ports = [free_port(), free_port()]
    own = "".join("if ${process_number} = %d\nhttp_port 127.0.0.1:%d\nendif\n" % (kid, port)
                  for kid, port in enumerate(ports, 1))
    squid = make_squid(env, origin, workers=2, lines=lines + own)
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket connections") >= 4, 20, "each worker's own port")
    return squid, [("127.0.0.1", port) for port in ports]


def shared_memory(env):
    """A hit from the memory that workers share is a mem_hit without a swap-in."""
    origin = Origin(env)
    squid, (first, second) = two_ports(env, origin, "cache_mem 32 MB\nmemory_cache_shared on\n")
    for address, tag in ((first, "fill"), (second, "hit")):
        with Client(address) as client:
            for n in range(5):
                response = client.request(origin.url("o%d" % n, size=3000), tag)
                env.equal((response.status, response.body_size), (200, 3000), tag)
        time.sleep(0.3)
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    rows.check_fields(env, rows.join(env, access.read(squid), requests))
    hits = [row for row in requests if row["kid"] == "2"]
    env.equal([(row["tag"], row["class"], row["swap_ins"]) for row in hits], [("TCP_MEM_HIT", "mem_hit", "0")] * 5,
              "hits of the second worker")
    env.equal(len([row for row in events(env, squid, "MEM_HIT") if row["kid"] == "2"]), 5, "MEM_HIT of kid 2")
    env.equal([row for row in dump.table(env, squid.directory, "swaps") if row["direction"] == "in"], [], "swap-ins")


def collapsed_across_workers(env):
    """Followers in both workers name the one transaction that fetches, and whose the swap-out is, by kid and id."""
    origin = Origin(env)
    squid, addresses = two_ports(env, origin, DISK_ONLY + "collapsed_forwarding on\n")

    def follower(n):
        with Client(addresses[n % 2]) as client:
            time.sleep(0.02 * n)
            response = client.request(origin.url("one", hdr=400, size=50000), "f%d" % n)
            env.equal((response.status, response.body_size), (200, 50000), "follower %d" % n)
    at_once(8, follower)
    time.sleep(0.3)
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    check_owned(env, squid, 1)
    check_pairs(env, squid)
    fetches = events(env, squid, "DISPATCH")
    env.equal(len(fetches), 1, "fetches")
    leader = (fetches[0]["kid"], fetches[0]["id"])
    env.equal([(row["kid"], row["xid"]) for row in dump.table(env, squid.directory, "swaps")
               if row["direction"] == "out"], [leader], "whose the swap-outs are")
    followers = sorted((row["kid"], row["xid"]) for row in requests if row["collapsed"] == "1")
    env.equal({kid for kid, _ in followers}, {"1", "2"}, "kids that have followers")
    told = events(env, squid, "COLLAPSED")
    env.equal(sorted((row["kid"], row["id"]) for row in told), followers, "who says that it follows")
    env.equal({(row["aux"], row["arg"]) for row in told}, {leader}, "whom they follow, by kid and id")


def in_one_process(function):
    return lambda env: function(env, True)


def with_disker(function):
    return lambda env: function(env, False)


TESTS = [
    ("rock in one process: rows and lines agree", lambda env: by_rows(env, 4000, 50, alone=True), 240),
    ("rock with a disker: rows and lines agree", lambda env: by_rows(env, 4000, 50), 240),
    ("rock with a disker, one at a time: times within 1 ms", first(lambda env: by_rows(env, 1500, 1)), 180),
    ("rock with a disker and two workers: rows and lines agree", two_workers, 180),
    ("rock in one process: swaps, blocks and stored images", in_one_process(swaps_and_images), 60),
    ("rock with a disker: swaps, blocks and stored images", with_disker(swaps_and_images), 60),
    ("rock in one process: header updates", in_one_process(header_updates), 60),
    ("rock with a disker: header updates", with_disker(header_updates), 60),
    ("50 ms under rock in one process", first(in_one_process(slow_disk)), 60),
    ("50 ms under a rock disker", first(with_disker(slow_disk)), 60),
    ("a rock disker stopped for 3 s: queue", stopped_for_3_s, 60),
    ("a rock disker stopped for too long: time-out, then a late answer", stopped_for_too_long, 90),
    ("a rock disker stopped within a hit: the hit is cut off", cut_off, 90),
    ("a rock disker whose queue is full", rejected, 60),
    ("a hit from shared memory", shared_memory, 60),
    ("collapsed forwarding across workers", collapsed_across_workers, 60),
]
