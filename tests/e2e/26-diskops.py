# SPDX-License-Identifier: GPL-2.0-or-later
"""Disk operations: where they wait, whatever store they are of, and whether each came back."""

import collections
import os
import re
import signal
import time

from lib import dump, load, native
from lib.client import Client
from lib.env import first, median, wait_for
from lib.origin import Origin
from lib.squid import Squid

MS = 1000000
CONF = "cache_mem 0 MB\nmemory_cache_mode disk\nstore_dir_select_algorithm round-robin\n"
STAGES = ("enqueued_ns", "dequeued_ns", "io_ns", "copy_ns", "complete_ns", "finished_ns")
AT_ONCE = 20
DELAY_MS = 50


def mean_ms(rows, column):
    return sum(row.ns(column) for row in rows) / max(1, len(rows)) / MS


def diskops(env, squid, *options):
    rows = dump.table(env, squid.directory, "diskops", *options)
    check_rows(env, rows)
    if not options:
        check_records(env, squid, rows)
    return rows


def check_rows(env, rows):
    """The stages are not below zero and add up to the total; what the main thread does has only io."""
    for row in rows:
        what = "operation %s (%s)" % (row["seq"], row["op"])
        stages = [row.number(name) for name in STAGES]
        if row["result"] == "unfinished":
            continue
        env.check(all(stage is None or stage >= 0 for stage in stages),
                  "%s has a stage below zero: %s" % (what, stages))
        env.equal(sum(stage or 0 for stage in stages), row.ns("total_ns"), what + ": sum of its stages")
        if row["seq"] == "-":
            env.equal([name for name, stage in zip(STAGES, stages) if stage is not None], ["io_ns"],
                      what + ": stages of what the main thread does")
        if len(env.failures) > 20:
            return


# What a store's record asks for.
ASKS = {"SWAPIN_OPEN", "SWAPIN_READ", "SWAPIN_CLOSE", "SWAPOUT_OPEN", "SWAPOUT_WRITE", "SWAPOUT_CLOSE"}
SECOND_QUEUE = "3"  # the stamp of an operation that left the queue behind a busy lock


def units(env, squid):
    """(time in ns, kid, event, id, arg, aux, [(event, id, arg, aux) of each PART_]) of each record but those."""
    unit = None
    for line in dump.Dump(env, squid.directory, "events").text.split("\n"):
        if not line or line[0] in "#t":
            continue
        at, kid, event, *values, _xid = line.split("\t")
        if event.startswith("PART_"):
            unit[6].append((event, *values))
            continue
        if unit:
            yield unit
        unit = (dump.seconds_ns(at), kid, event, *values, [])
    if unit:
        yield unit


def service(parts):
    """When it was taken up, was done and left the second queue (None: it was not in it), in ns; the ticks until it was
    put back.  None if the records do not say."""
    stamps = [part for part in parts if part[0] == "PART_DISKOP_IO"]
    if not stamps:
        return None
    _, begun, done, ticks = stamps[0]
    second = [dump.seconds_ns(arg) for event, _, arg, aux in parts if event == "PART_STAMP" and aux == SECOND_QUEUE]
    return dump.seconds_ns(begun), dump.seconds_ns(done), second[0] if second else None, int(ticks)


def ticks_per_ns(rows, found):
    """Of the trace's clock, by the longest times that are told in ticks and printed in ns."""
    longest = sorted((row.ns("copy_ns"), found[which][2][3]) for which, row in rows.items()
                     if which in found and found[which][2])[-9:]
    return median([ticks / ns for ns, ticks in longest if ns]) if longest and longest[-1][0] else 1


def check_records(env, squid, rows):
    """The stamps in the records are in order: sqtrace-dump would bring them into order before it prints a row.  Only
    who does an operation may be faster than the record that it was queued.  The stages are the times between them."""
    asked, told, begun, found = {}, {}, {}, {}
    for at, kid, event, first, second, _, parts in units(env, squid):
        if event in ASKS or event == "UNLINK":
            asked[kid, first if event in ASKS else "0"] = at
        elif event == "DISKOP_BEGIN":
            begun[kid, first] = dump.seconds_ns(parts[0][1]), at, second
        elif event == "DISKOP_QUEUED":
            begun[kid, first] = asked.get((kid, second.replace("-", "0")), at), at, second
        elif event.startswith("SWAP") and service(parts):
            told[kid] = first, service(parts)
        elif event in ("DISKOP_END", "DISKOP_LATE") and (kid, first) in begun:
            ask, queued, sio = begun.pop((kid, first))
            stamps = service(parts)
            if not stamps and kid in told and told[kid][0] == sio:
                stamps = told.pop(kid)[1]
            found[kid, first] = ask, queued, stamps, dump.seconds_ns(second), at
    ended = {(row["kid"], row["seq"]): row for row in rows if row["seq"] != "-" and row["result"] != "unfinished"}
    env.equal(sorted(ended.keys() ^ found.keys()), [], "rows without the records of an end, or these without a row")
    rate = ticks_per_ns(ended, found)
    for which in ended.keys() & found.keys():
        ask, queued, stamps, noticed, end = found[which]
        what = "operation %s of kid %s" % (which[1], which[0])
        env.check(ask <= queued <= end and ask <= noticed <= end,
                  "%s: asked for %d, queued %d, noticed %d, ended %d" % (what, ask, queued, noticed, end))
        if not env.check(stamps, what + ": nobody says when it was done"):
            continue
        up, done, left, ticks = stamps
        put = done + ticks / rate
        # Each time is rounded by itself to a nanosecond.
        env.check(ask <= up <= done <= noticed <= end and put <= noticed + 2,
                  "%s: asked for %d, taken up %d, done %d, put back %d, noticed %d"
                  % (what, ask, up, done, put, noticed))
        env.check(left is None or queued <= left <= up, "%s: queued %d, left the second queue %s, taken up %d"
                  % (what, queued, left, up))
        at = [ask, left or min(queued, up), up, done, put, noticed, end]
        off = [ended[which].ns(stage) - (then - before) for stage, before, then in zip(STAGES, at, at[1:])]
        env.check(max(map(abs, off)) <= 2 + 0.01 * (put - done), "%s: stages off by %s ns" % (what, off))
        if len(env.failures) > 20:
            return


# ---- many reads at once of a slow disk ----

def make_squid(env, origin, kinds, call, **options):
    """A Squid whose disks are slow at that call once slow(env) was called."""
    environment = {"SLOWDISK_PATH": "/cache-", "SLOWDISK_MS": str(options.pop("ms", DELAY_MS)), "SLOWDISK_CALL": call,
                   "SLOWDISK_IF": env.path("slow")}
    preload = [native.preload(env, name) for name in ["slowdisk"] + options.pop("preload", [])]
    environment.update(options.pop("environment", {}))
    options.setdefault("alone", True)
    return Squid(env, trace="", dirs=kinds, dns=origin.host, lines=CONF + options.pop("lines", ""),
                 preload=":".join(preload), environment=environment, **options).start()


def slow(env):
    os.chmod(env.folder, 0o755)
    open(env.path("slow"), "w").close()


def worker(squid):
    return squid.process.pid if squid.alone else squid.worker_pids()[0]


def all_at_once(squid, origin, count):
    """Hits of `count` objects that one pass of the event loop finds: Squid is stopped while they are sent."""
    clients = [Client(squid.client_address()) for _ in range(count)]
    urls = [origin.url("o%d" % n, size=1000) for n in range(count)]
    for client, url in zip(clients, urls):
        client.request(url, "fill")
    time.sleep(0.5)
    yield
    os.kill(worker(squid), signal.SIGSTOP)
    try:
        for client, url in zip(clients, urls):
            client.send(client.head("GET", url, "hit"))
        time.sleep(0.1)
    finally:
        os.kill(worker(squid), signal.SIGCONT)
    for client in clients:
        client.receive()
        client.close()
    yield


def queued(env, kinds, preload, within, parallel=False, **options):
    """One after the other, 20 reads of 50 ms wait 0, 50, ... 950 ms: 475 on average; with a thread for each, not."""
    origin = Origin(env)
    squid = make_squid(env, origin, kinds, "read", preload=preload, **options)
    hits = all_at_once(squid, origin, AT_ONCE)
    next(hits)
    slow(env)
    next(hits)
    squid.stop()
    reads = [row for row in diskops(env, squid) if row["op"] == "read" and row.ns("io_ns") > DELAY_MS * MS / 2]
    env.note("; ".join("%s %.3f ms" % (name, mean_ms(reads, name)) for name in STAGES))
    env.equal(len(reads), AT_ONCE, "slow reads")
    env.equal({row["dir"] for row in reads}, {"0", "1"} if parallel else {"0"}, "cache_dirs")
    io, waited = mean_ms(reads, "io_ns"), mean_ms(reads, "dequeued_ns")
    wanted = DELAY_MS * (AT_ONCE - 1) / 2
    env.check(abs(io - DELAY_MS) <= within * DELAY_MS, "io takes %.3f ms on average" % io)
    if parallel:
        env.check(waited < 5, "with a thread for each, they wait %.3f ms" % waited)
    else:
        env.check(abs(waited - wanted) <= within * wanted, "they wait %.3f ms on average, not %g" % (waited, wanted))
        depths = [int(row["depth"]) for row in sorted(reads, key=lambda row: row.begin_ns)]
        # Before each are the reads before it, and opens and closes that are not answered yet.
        env.check(all(n <= depth < 2 * AT_ONCE for n, depth in enumerate(depths)),
                  "what each finds before it: %s" % depths)


# ---- where time is charged ----

@first
def slow_handler(env):
    """What the main thread does with an answer is `finished`, and no I/O."""
    origin = Origin(env)
    squid = make_squid(env, origin, ["aufs"], "fcntl", ms=20)
    with Client(squid.client_address()) as client:
        for turn in ("fill", "hit"):
            for n in range(10):
                client.request(origin.url("o%d" % n, size=1000), turn)
                time.sleep(0.05)
            slow(env)
    squid.stop()
    opens = [row for row in diskops(env, squid) if row["op"] == "open"]
    env.equal(len(opens), 10, "opens")
    env.note("; ".join("%s %.3f ms" % (name, mean_ms(opens, name)) for name in STAGES))
    for row in opens:
        env.check(20 * MS <= row.ns("finished_ns") < 25 * MS, "finished_ns is %s" % row["finished_ns"])
        env.check(row.ns("io_ns") < 5 * MS, "io_ns is %s" % row["io_ns"])


# ---- each comes back ----

def counters(squid, kind):
    """How many operations Squid itself counts: {op: number}; aufs counts opens and creates as one."""
    if kind == "aufs":
        _, text = squid.manager("squidaio_counts")
        return {op: int(count) for op, count in re.findall(r"^ *(open|read|unlink)\t(\d+)\t\d+$", text, re.M)}
    if kind == "diskd":
        _, text = squid.manager("diskd")
        return {op: int(count)
                for op, count in re.findall(r"^ *(open|create|close|unlink|read|write)\s+(\d+)", text, re.M)}
    return {}


ELSEWHERE = {"aufs": {"open", "create", "read", "unlink"},
             "diskd": {"open", "create", "read", "write", "close", "unlink"},
             "rock": {"read", "write"},
             "ufs": set()}
INLINE = {"aufs": {"write", "close"},
          "diskd": set(),
          "rock": set(),
          "ufs": {"open", "create", "read", "write", "close", "unlink"}}


def busy(env, kind, trace=""):
    """(Squid, the rows of its operations under load): as many of each as Squid counts, and none lost."""
    origin = Origin(env)
    squid = Squid(env, trace=trace, dirs=[kind], dns=origin.host, lines=load.CONF, alone=kind != "rock",
                  dir_mb=64).start()
    traffic = load.Mixed(env, squid, origin, seed=26)
    traffic.warm()
    traffic.run(20000 if env.full else 3000, 20)
    time.sleep(1)
    theirs = counters(squid, kind)
    squid.stop()
    rows = diskops(env, squid)
    ours = collections.Counter()
    for row in rows:
        if row["seq"] != "-":
            ours["open" if kind == "aufs" and row["op"] == "create" else row["op"]] += 1
    env.note("%d operations: %s; Squid counts %s" % (len(rows), dict(collections.Counter(
        (row["op"], row["seq"] != "-", row["result"]) for row in rows)), theirs))
    for op, count in theirs.items():
        env.check(ours[op] == count, "%s: %d rows, Squid counts %d" % (op, ours[op], count))
    env.equal([row["seq"] for row in rows if row["result"] not in ("complete", "error", "aborted")], [], "not finished")
    env.equal(lost(env, squid), [], "lost operations")
    return squid, rows


def complete(env, kind):
    """Under load: none left at rest, and each where it really runs, for a swap that is told."""
    squid, rows = busy(env, kind)
    flight = dump.Dump(env, squid.directory, options=["--figure=diskops-in-flight", "--group=200ms"]).rows()
    last = [row for row in flight if row["dir"] == "all"][-2:]
    env.equal([row["in_flight_max"] for row in last], ["0", "0"], "in flight at rest")
    elsewhere = {row["op"] for row in rows if row["seq"] != "-"}
    inline = {row["op"] for row in rows if row["seq"] == "-"}
    if kind == "diskd":
        inline.discard("unlink")  # its queue may be too full for one
    env.equal((elsewhere, inline), (ELSEWHERE[kind], INLINE[kind]), "operations that run elsewhere, and in the main thread")
    env.equal({row["store"] for row in rows}, {kind}, "stores")
    sios = {row["sio"] for row in dump.table(env, squid.directory, "swaps")}
    if kind == "aufs":
        queues = collections.Counter(row["queue"] for row in rows if row["seq"] != "-")
        env.note("operations by queue: %s" % dict(queues))
        env.check(queues["1"] > queues["2"] > 0, "few or none went through the second queue: %s" % dict(queues))
    if kind in ("aufs", "rock"):
        env.check(mean_ms(rows, "copy_ns") > 0, "no time from when an operation was done until it was put back")
    strange = [row["sio"] for row in rows if row["sio"] != "-" and row["sio"] not in sios]
    env.check(not strange, "store I/Os without a row in swaps: %s" % strange[:5])
    nameless = [row for row in rows if row["sio"] == "-" and row["op"] != "unlink"]
    env.check(not nameless, "%d operations of no store I/O: %s" % (len(nameless), nameless[:2]))


def without_swaps(env, kind):
    """The same where no record of a swap tells what was asked for, nor when it was done."""
    squid, rows = busy(env, kind, "events=diskop")
    env.equal({row["op"] for row in rows}, ELSEWHERE[kind], "operations")
    env.equal({row["store"] for row in rows}, {kind}, "stores")
    untimed = [row for row in rows if row["result"] == "complete" and row["io_ns"] == "-"]
    env.check(not untimed, "%d operations that were done at no known time: %s" % (len(untimed), untimed[:2]))
    env.equal(dump.table(env, squid.directory, "swaps"), [], "swaps")


def lost(env, squid):
    return dump.Dump(env, squid.directory, options=["--figure=diskops-lost"]).rows()


def answer_that_is_lost(env):
    """A message of diskd that Squid never sees: its operation is named, with what is known of it."""
    origin = Origin(env)
    once = env.path("once")
    squid = make_squid(env, origin, ["diskd"], "none", preload=["loseanswer"], environment={"LOSEANSWER_ONCE": once})
    os.chmod(env.folder, 0o777)
    with Client(squid.client_address()) as client:
        for n in range(10):
            client.request(origin.url("o%d" % n, size=1000), "fill")
        time.sleep(0.5)
        open(once, "w").close()
        client.send(client.head("GET", origin.url("o3", size=1000), "hit"))
        wait_for(lambda: not os.path.exists(once), 20, "an answer that is lost")
        time.sleep(17)
        squid.kill_all()  # it would wait for that answer for ever
    found = lost(env, squid)
    env.equal([(row["op"], row["dir"]) for row in found], [("open", "diskd:0")], "lost operations")
    for row in found:
        env.note(str(dict(row)))
        env.check(float(row["waited_s"]) > 16 and 0 <= float(row["queued_s"]) - float(row["time_s"]) < 0.1,
                  "its stamps: %s" % dict(row))
    rows = diskops(env, squid, "--where=result == unfinished")
    env.equal([row["seq"] for row in rows], [row["seq"] for row in found], "unfinished rows")


def cut_short(env):
    """Squid is killed while a read is under way: that read is unfinished, not lost."""
    origin = Origin(env)
    squid = make_squid(env, origin, ["aufs"], "read", ms=3000)
    with Client(squid.client_address()) as client:
        client.request(origin.url("o", size=1000), "fill")
        time.sleep(0.5)
        slow(env)
        client.send(client.head("GET", origin.url("o", size=1000), "hit"))
        time.sleep(1.5)
        squid.kill_all()
    rows = diskops(env, squid)
    env.equal([row["op"] for row in rows if row["result"] == "unfinished"], ["read"], "unfinished operations")
    env.equal(lost(env, squid), [], "lost operations")


@first
def left_behind(env):
    """Clients leave while their reads wait behind slow ones.  Squid 7.7 cancels none of these, so none is `aborted`: it
    closes a file only when nothing is under way on it (UFSStoreState::tryClosing, DiskThreadsDiskFile::close), and
    aioCancel, which only a close calls, finds nothing to cancel.  They are done, for nobody."""
    origin = Origin(env)
    squid = make_squid(env, origin, ["aufs"], "read", preload=["fewthreads"])
    clients = [Client(squid.client_address()) for _ in range(AT_ONCE)]
    for n, client in enumerate(clients):
        client.request(origin.url("o%d" % n, size=1000), "fill")
    time.sleep(0.5)
    slow(env)
    # All at once, as above: an open behind slow reads would come to nothing, and no read with it.
    os.kill(worker(squid), signal.SIGSTOP)
    try:
        for n, client in enumerate(clients):
            client.send(client.head("GET", origin.url("o%d" % n, size=1000), "hit"))
        time.sleep(0.1)
    finally:
        os.kill(worker(squid), signal.SIGCONT)
    time.sleep(DELAY_MS * 5 / 1000)
    left = time.monotonic_ns()
    for client in clients:
        client.close()
    time.sleep(DELAY_MS * AT_ONCE / 1000 + 0.5)
    squid.stop()
    rows = diskops(env, squid)
    reads = [row for row in rows if row["op"] == "read" and row.ns("io_ns") > DELAY_MS * MS / 2]
    env.equal(len(reads), AT_ONCE, "slow reads")
    env.equal({row["result"] for row in rows}, {"complete"}, "results")
    waited = [row for row in reads
              if env.held.ends(row)[0] + row.ns("enqueued_ns") + row.ns("dequeued_ns") > left]
    env.check(len(waited) >= AT_ONCE / 2, "only %d reads were still queued when their clients left" % len(waited))
    gone = collections.Counter(row["outcome"] for row in dump.table(env, squid.directory, "requests"))
    env.check(gone["aborted"] >= AT_ONCE / 2, "outcomes of requests: %s" % dict(gone))


TESTS = [
    ("disk operations: 20 slow reads, one thread of aufs", first(lambda env: queued(env, ["aufs"], ["fewthreads"], 0.05)), 40),
    ("disk operations: 20 slow reads, 32 threads of aufs",
     first(lambda env: queued(env, ["aufs"], [], 0.05, parallel=True,
                              lines="cache_dir aufs {folder}/cache-second 64 4 16\n")), 40),
    ("disk operations: 20 slow reads, diskd", first(lambda env: queued(env, ["diskd"], [], 0.10)), 40),
    ("disk operations: 20 slow reads, a rock disker",
     first(lambda env: queued(env, ["rock"], [], 0.15, alone=False, dir_mb=64, unprivileged=True)), 60),
    ("disk operations: a slow handler", slow_handler, 40),
    ("disk operations: clients that leave while their reads are queued", left_behind, 40),
    ("disk operations: an answer that is lost", answer_that_is_lost, 60),
    ("disk operations: a trace that is cut short", cut_short, 40),
] + [("disk operations as Squid counts them: " + kind, lambda env, kind=kind: complete(env, kind), 60)
     for kind in ("aufs", "diskd", "rock", "ufs")
] + [("disk operations without the records of swaps: " + kind, lambda env, kind=kind: without_swaps(env, kind), 60)
     for kind in ("aufs", "diskd")]
