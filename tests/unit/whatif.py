#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""whatif.py - table whatif against caches and queues that are written down a second time, and what it refuses.

A trace and logs in which Squid's memory cache is plain LRU are compared to the digit; a busy one with a simulation that
shares nothing with sqtrace-dump but the rules of Squid.
"""
import collections
import glob
import hashlib
import heapq
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOLS = os.environ["SQT_TOOLS"]
DUMP = os.path.join(TOOLS, "sqtrace-dump")
PAGE, FRAME, BASE = 4096, 4136, 54  # a page of an object takes 40 bytes more of cache_mem
MB = 1 << 20
done = 0


def check(good, text, *more):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    for line in () if good else more:
        print("# " + str(line)[:1000])


def run(*options):
    out = subprocess.run([DUMP, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return out.returncode, out.stdout.decode(), out.stderr.decode()


def rows(*options, table="whatif"):
    status, text, said = run("--no-comments", "--format=tsv", "--table=" + table, *options)
    if status:
        return [{"bound": said}]
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def size(text):
    number, unit = text.split()
    return int(number) * {"bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[unit]


def of(found, setting):
    return [row for row in found if row["setting"].startswith(setting)]


def lru_hits(objects, pages):
    """Objects of one page each."""
    cache, hits = collections.OrderedDict(), 0
    for o in objects:
        hits += o in cache
        cache[o] = True
        cache.move_to_end(o)
        if len(cache) > pages:
            cache.popitem(last=False)
    return hits


def fifo_waits(questions, servers):
    """questions: [(begin, service)] in ns."""
    free = [0] * servers
    for begin, service in sorted(questions):
        start = max(begin, heapq.heappop(free))
        heapq.heappush(free, start + service)
        yield start + service - begin


def near(text, value, most):
    return text != "-" and abs(float(text) - value) <= most


def ns(text):
    return int(text.replace(".", ""))


# ---- a trace ----

def trace(folder):
    path = os.path.join(folder, "t", "whatif.sqt")
    found = rows(path)
    requests = rows("--columns=object,class", path, table="requests")
    objects = [r["object"] for r in requests]
    memory = of(found, "cache_mem")
    check(len(memory) >= 8 and all(r["now_value"] == "623 KB" for r in memory), "the trace says what cache_mem is", memory)
    wrong = []
    for r in memory:
        want = 100 * lru_hits(objects, size(r["value"]) // FRAME - BASE) / len(objects)
        if not near(r["hit_ratio_pct"], want, 0.001):
            wrong.append("%s: %s instead of %.3f" % (r["value"], r["hit_ratio_pct"], want))
    check(not wrong, "hits of each size are those of a plain LRU", *wrong)
    check(all(r["calibration_pct"] == "0.000" and r["bound"] == "forecast" for r in memory), "today's size is exact", memory)
    waits = [r for r in rows(path, table="waits")]
    questions = [(ns(r["time_s"]), int(r["service_ns"])) for r in waits]
    children = of(found, "url_rewrite_children")
    check(children and all(r["now_value"] == "2" for r in children), "the trace shows how many children there are", children)
    wrong = []
    for r in children:
        each = sorted(fifo_waits(questions, int(r["value"])))
        mean, p99 = sum(each) / len(each) / 1e6, each[-(-len(each) * 99 // 100) - 1] / 1e6
        busy = sum(s for _, s in questions) / int(r["value"]) / (questions[-1][0] - questions[0][0])
        if busy > 0.9:
            good = r["bound"] == "overloaded" and r["wait_mean_ms"] == "-"
        else:
            good = near(r["wait_mean_ms"], mean, 0.001) and near(r["wait_p99_ms"], p99, 0.002)
        if not good:
            wrong.append("%s children, busy %.2f: mean %.3f, p99 %.3f instead of %s" % (r["value"], busy, mean, p99, r))
    check(not wrong, "waits of each number of children are those of a queue", *wrong)
    check({r["bound"] for r in children} >= {"overloaded", "forecast"}, "some are too few", children)
    _, text, _ = run("--figure=whatif-cache-mem", path)
    points = [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]
    check(sum(point[3] != "-" for point in points) == 1, "the figure has one point of now", text)
    most = max(float(point[1]) for point in points)
    check([point[4] for point in points if point[4] != "-"] == [next(p[1] for p in points if float(p[1]) >= 0.9 * most)],
          "the figure has one point of the knee", text)
    one = rows("--whatif=cache_mem=1MB,2MB", path)
    check([r["value"] for r in one] == ["623 KB", "1 MB", "2 MB"], "--whatif names values", one)
    four = rows("--whatif=children=4", path)
    check([r["value"] for r in four] == ["4", "2"], "--whatif names children", four)


def served(folder):
    """Connections of an ICAP service; of a squid.conf, too, where a trace cannot show how many there are."""
    path = os.path.join(folder, "t", "served.sqt")
    questions = [(ns(r["time_s"]), int(r["service_ns"])) for r in rows(path, table="waits")]
    found = rows("--whatif=max-conn=1,2,3,4", path)
    check([(r["setting"], r["value"], r["now_value"]) for r in found] ==
          [("icap_service scanner max-conn", value, "2") for value in "1234"], "the trace shows how many connections there are", *found)
    check(found[0]["bound"] == "overloaded" and all(r["bound"] == "forecast" for r in found[1:]), "one is too few", *found)
    for r in found[1:]:
        each = list(fifo_waits(questions, int(r["value"])))
        check(near(r["wait_mean_ms"], sum(each) / len(each) / 1e6, 0.001), "waits for %s connections are those of a queue" % r["value"], r)
    check(all(abs(float(r["calibration_pct"])) < 5 for r in found), "today's waits are those that were measured", *found)
    found = rows("--whatif=max-conn=3", path, conf(folder, "icap_service scanner reqmod_precache icap://192.0.2.1/x max-conn=7 bypass=on"))
    check([(r["value"], r["now_value"]) for r in found] == [("3", "7"), ("7", "7")], "max-conn of a squid.conf", *found)


def proxies(folder):
    """Three hosts whose processes have the same number: none is another one started again."""
    found = of(rows(*glob.glob(os.path.join(folder, "t", "sizes", "proxy-[12]*", "*.sqt"))), "cache_mem")
    check(found and all(r["bound"] == "refused" and "or proxies, each with a cache of its own" in r["method"] for r in found),
          "several proxies have no cache together", *found)


def variants(folder):
    """A trace names the URL, so variants of an object are one object."""
    found = of(rows(os.path.join(folder, "t", "variants.sqt")), "cache_mem")
    check([r["bound"] for r in found] == ["refused"] and found[0]["method"].startswith("replies have Vary: "),
          "a trace of variants is refused, and says that it is Vary", *found)
    found = of(rows(os.path.join(folder, "t", "few-variants.sqt")), "cache_mem")
    check(len(found) >= 8 and all(r["bound"] == "forecast" for r in found), "few variants are not refused", *found)


# ---- what is kept ----

def kept_requests(path, *options):
    """[(when its server was known, end, server, connecting, looking up)] in ns, in this order."""
    found = []
    for r in rows("--columns=time_s,total_ns,server,connect_ns,dns_ns", path, *options, table="requests"):
        begin, connecting, looking = ns(r["time_s"]), *(int(r[stage].replace("-", "0")) for stage in ("connect_ns", "dns_ns"))
        found.append((begin + looking, begin + int(r["total_ns"]), r["server"], connecting, looking))
    return sorted(found)


def slower(requests, name):
    """By how many ns that server was slower on new connections: all but connecting and looking up is its time."""
    sums = [[end - begin - connecting for begin, end, server, connecting, _ in requests
             if server == name and (connecting == 0) == kept_one] for kept_one in (False, True)]
    return max(0, sum(sums[0]) / len(sums[0]) - sum(sums[1]) / len(sums[1])) if all(sums) else 0


def servers_keep(path):
    """{server: ns} of those that closed five idle connections, and none stayed idle for longer"""
    left, stayed = collections.defaultdict(list), collections.defaultdict(int)
    for r in rows("--columns=server,idle_ns,closed_by", path, table="closes"):
        if r["closed_by"] in ("server", "reset"):
            left[r["server"]].append(int(r["idle_ns"]))
        elif r["closed_by"] == "squid":
            stayed[r["server"]] = max(stayed[r["server"]], int(r["idle_ns"]))
    return {server: max(idle) for server, idle in left.items() if len(idle) >= 5 and max(idle) >= stayed[server]}


def lasts(requests):
    return (max(r[1] for r in requests) - min(r[0] - r[4] for r in requests)) / 3.6e12


def kept_connections(requests, keep, servers=(), limit=True):
    """Nanoseconds that kept connections save, and how many requests have one, with a pool whose connections time out.
    limit: also what might have had one from before the trace, and what servers are slower on new ones."""
    idle, saved, found, least = collections.defaultdict(list), 0, 0, requests[0][0]
    more = {server: slower(requests, server) if limit else 0 for server in {r[2] for r in requests}}
    for begin, end, server, connecting, _ in requests:
        time_out = min(keep, servers[server]) if server in servers else keep
        there = [since for since in idle[server] if since <= begin < since + time_out]
        if there:
            idle[server].remove(max(there))
            found += 1
        if connecting and (there or (limit and begin - least < time_out and not [s for s in idle[server] if s <= begin])):
            saved += connecting + more[server]
        idle[server].append(end)
    return saved, found


def saves(row, want, hours):
    return near(row["saved_s_per_h"], want / 1e9 / hours, 1e-5)


def kept(folder):
    off, on = (os.path.join(folder, "t", "kept-%s.sqt" % state) for state in ("off", "on"))
    second = 10 ** 9
    for path in off, on:
        found, requests = rows(path), kept_requests(path)
        hours = lasts(requests)
        looked_up = [r[4] for r in requests if r[4]]
        row, = of(found, "negative_dns_ttl")
        check(row["bound"] == "at_most" and saves(row, sum(looked_up), hours) and "all waiting of %d req" % len(looked_up) in row["method"],
              "DNS answers that are kept longer", row)
        seen, refreshed, again = set(), 0, 0
        asked = rows("--columns=time_s,total_ns,class,object", path, table="requests")
        for r in sorted(asked, key=lambda r: ns(r["time_s"]) + int(r["total_ns"])):
            if r["class"] == "refresh_hit" or r["object"] in seen:
                refreshed, again = refreshed + int(r["total_ns"]), again + (r["object"] in seen)
            seen.add(r["object"])
        check(again > 100, "some objects are fetched again", again)
        row, = of(found, "refresh_pattern")
        check(row["bound"] == "at_most" and saves(row, refreshed, hours), "objects that are not refreshed", row)
    found, requests = rows(off), kept_requests(off)
    hours = lasts(requests)
    for time_out, line in (2, None), (60, "pconn_timeout 1 Minute"):
        conf_of = [conf(folder, "server_persistent_connections off", line)] if line else []
        row, = of(rows(off, *conf_of), "server_persistent_connections")
        saved, count = kept_connections(requests, time_out * second, limit=False)
        check(row["bound"] == "forecast" and saves(row, saved, hours) and row["method"].startswith("%d of 3000 requests" % count),
              "kept for %d s: connecting that is saved is that of a pool with that time-out" % time_out, row, saved, count)
    row, = of(found, "server_idle_pconn_timeout")
    check((row["bound"], row["method"]) == ("refused", "server_persistent_connections is off"), "longer, but off", row)

    found, requests = of(rows(on), "server_idle_pconn_timeout"), kept_requests(on)
    hours = lasts(requests)
    check([r["value"] for r in found] == ["4 seconds", "8 seconds", "32 seconds"], "which time-outs", *found)
    servers = servers_keep(on)
    check(servers == {"origin-3": 2996000000}, "who closes idle connections", servers)
    for row, times in zip(found, (2, 4, 16)):
        low, high = (kept_connections(requests, 2 * second * times, {"origin-3": at}) for at in (2996000000, 3363585662))
        got, count = float(row["saved_s_per_h"]) * hours * 1e9, int(row["method"].split()[0])
        check(row["bound"] == "at_most" and low[0] * 0.99999 <= got <= high[0] * 1.00001 and low[1] <= count <= high[1],
              "%s times the time-out: as a pool with that time-out" % times, low, got, count, high, row)
        check(row["method"].endswith("1 of 3 servers close theirs earlier"), "how many servers do", row)
    row = of(rows(on, "--since=300s", "--until=310s"), "server_idle_pconn_timeout")[0]
    check(row["method"] == "fewer than 1000 requests turn to servers", "a window of few requests", row)
    later, row = kept_requests(on, "--since=300s"), of(rows(on, "--since=300s"), "server_idle_pconn_timeout")[2]
    hours = lasts(later)
    check(saves(row, kept_connections(later, 32 * second)[0], hours), "what may have been kept before a window counts", row,
          kept_connections(later, 32 * second)[0] / 1e9 / hours)
    measured = sum(r[3] == 0 for r in requests)
    check(near(found[0]["calibration_pct"], (kept_connections(requests, 2 * second)[1] - measured) / 30, 0.001), "calibration", *found)
    row, = of(rows(on), "server_persistent_connections")
    check((row["bound"], row["method"]) == ("refused", "it is on"), "it is on", row)
    short = rows(os.path.join(folder, "t", "moved.sqt"))
    for setting in "server_persistent_connections", "server_idle_pconn_timeout":
        row, = of(short, setting)
        check((row["bound"], row["method"]) == ("refused", "fewer than 1000 requests turn to servers"), "few: " + setting, row)
    row, = of(rows(os.path.join(folder, "t", "kept-others.sqt")), "server_persistent_connections")
    check(row["bound"] == "refused" and row["method"].startswith("the servers of more than 5 % of"), "servers beyond those with names", row)
    both = os.path.join(folder, "both")
    os.mkdir(both)
    for path in off, on:
        shutil.copy(path, both)
    for setting in "server_persistent_connections", "server_idle_pconn_timeout":
        row, = of(rows(both), setting)
        check(row["bound"] == "refused" and row["method"].startswith("processes have different values"), "two settings: " + setting, row)
    row, = of(rows(on, conf(folder, "server_idle_pconn_timeout 0 seconds")), "server_idle_pconn_timeout")
    check(row["bound"] == "refused" and row["method"].startswith("it is 0 seconds"), "no time at all", row)
    found = of(rows(on, conf(folder, "server_idle_pconn_timeout 90 decades")), "server_idle_pconn_timeout")
    check([r["value"] for r in found] == ["%d seconds" % (315360000 * times) for times in (2, 4, 16)] and
          len({r["saved_s_per_h"] for r in found}) == 1, "a very long time", *found)


# ---- logs ----

def write_log(name, lines):
    """lines: [(end ms, took ms, tag, bytes, object)]"""
    with open(name, "w", encoding="ascii") as out:
        for end, took, tag, sent, o in sorted(lines):
            out.write("%d.%03d %6d 10.0.0.1 %s/200 %d GET http://a.example/%s - HIER_DIRECT/192.0.2.1 text/html\n" % (
                1700000000 + end // 1000, end % 1000, took, tag, sent, o))


def conf(folder, *lines):
    name = os.path.join(folder, "squid.conf")
    with open(name, "w", encoding="ascii") as out:
        out.write("# settings\n" + "".join(line + "\n" for line in lines))
    return "--squid-conf=" + name


def draw_objects(draw, count, many):
    return [int(many * draw.random() ** 3) for _ in range(count)]


def slow_log(folder):
    objects = draw_objects(random.Random(1), 4000, 500)
    cache, lines = collections.OrderedDict(), []
    for i, o in enumerate(objects):
        lines.append((2000 * i, 10, "TCP_MEM_HIT" if o in cache else "TCP_MISS", 1000, o))
        cache[o] = True
        cache.move_to_end(o)
        if len(cache) > 80:
            cache.popitem(last=False)
    log = os.path.join(folder, "slow.log")
    write_log(log, lines)
    settings = conf(folder, "cache_mem %d bytes" % ((80 + BASE) * FRAME))
    found = of(rows("--access-log=" + log, settings), "cache_mem")
    wrong = [r for r in found if not near(r["hit_ratio_pct"], 100 * lru_hits(objects, size(r["value"]) // FRAME - BASE) / 4000,
                                          0.001)]
    check(len(found) > 6 and not wrong, "from a log alone: a plain LRU", *wrong)
    unknown = of(rows("--access-log=" + log), "cache_mem")
    check(unknown and all(r["bound"] == "uncalibrated" and r["now_value"] == "-" for r in unknown),
          "without settings nothing is calibrated", unknown)
    warm = os.path.join(folder, "warm.log")
    write_log(warm, [(at, took, "TCP_MEM_HIT", sent, o) for at, took, _, sent, o in lines])
    found = of(rows("--access-log=" + warm, settings), "cache_mem")
    check([r["bound"] for r in found] == ["refused"] and "lower than measured" in found[0]["method"], "a warm start is refused",
          found)
    cold = os.path.join(folder, "cold.log")
    write_log(cold, [(at, took, "TCP_MISS", sent, o) for at, took, _, sent, o in lines])
    found = of(rows("--access-log=" + cold, settings), "cache_mem")
    check([r["bound"] for r in found] == ["refused"] and "higher than measured" in found[0]["method"],
          "a cache that is purged all the time is refused", found)
    few = os.path.join(folder, "few.log")
    write_log(few, lines[:100])
    found = of(rows("--access-log=" + few, settings), "cache_mem")
    check([r["method"] for r in found] == ["fewer than 1000 requests look into the cache"], "a short log is refused", found)
    heap = conf(folder, "cache_mem 8 MB", "memory_replacement_policy heap GDSF")
    found = of(rows("--access-log=" + log, heap), "cache_mem")
    check([r["method"] for r in found] == ["replacement by heap GDSF is not simulated, only lru and heap LRU"], "a heap policy is refused",
          found)
    heap = conf(folder, "cache_mem %d bytes" % ((80 + BASE) * FRAME), "memory_replacement_policy heap LRU")
    found = of(rows("--access-log=" + log, heap), "cache_mem")
    check(len(found) > 6 and all(r["bound"] == "forecast" for r in found), "heap LRU is not", *found)


def collapsed_log(folder):
    """Of three fetches of an object, the one that begins first ends second: the second loses 40 ms, and the third gains 120."""
    log = os.path.join(folder, "collapsed.log")
    write_log(log, [(0, 0, "TCP_MISS", 1000, 0)] + [(1000 * o + begin + took, took, "TCP_MISS", 1000, o) for o in range(1, 501)
                                                    for begin, took in ((0, 100), (10, 50), (20, 200))])
    found = of(rows("--access-log=" + log), "collapsed_forwarding")
    hours = (500000 + 220) / 3.6e6
    check(len(found) == 1 and found[0]["bound"] == "at_most" and "private" in found[0]["method"] and near(found[0]["saved_s_per_h"], 500 * 0.08 / hours, 0.1) and
          near(found[0]["saved_bytes_per_h"], 1000 * 400 / hours, 2), "what collapsed_forwarding saves", hours, *found)
    # Of two fetches, the one that begins later ends first, and is known to lead before the other one comes.
    write_log(log, [(1000000 * o + begin + took, took, "TCP_MISS", 1000, o if begin < 200000 else "other%d" % o)
                    for o in range(1, 401) for begin, took in ((0, 300000), (100000, 50000), (230000, 10))])
    found = of(rows("--access-log=" + log), "collapsed_forwarding")
    check([(row["saved_s_per_h"], row["saved_bytes_per_h"]) for row in found] == [("0.000000000", "0")],
          "a fetch that began before the one that leads does not follow it", *found)


def shared_hits(accesses, cache_pages):
    """The memory that workers share, with places by another hash."""
    places = {o: int(hashlib.md5(b"%d" % o).hexdigest(), 16) for o, _ in accesses}
    slots, free, hand, hits = [None] * cache_pages, cache_pages, 0, 0
    for o, stored in accesses:
        pages, place = -(-stored // 32768), places[o] % cache_pages
        if slots[place] and slots[place][0] == o:
            hits += 1
            continue
        if slots[place]:
            free += slots[place][1]
            slots[place] = None
        while free < pages:
            hand = (hand + 1) % cache_pages
            if slots[hand]:
                free += slots[hand][1]
                slots[hand] = None
        slots[place] = o, pages
        free -= pages
    return hits


def shared_log(folder):
    draw = random.Random(2)
    objects = draw_objects(draw, 30000, 6000)
    sizes = {o: draw.randrange(2000, 90000) for o in set(objects)}
    accesses = [(o, sizes[o]) for o in objects]
    today = shared_hits(accesses, 1024) / 300
    log = os.path.join(folder, "shared.log")
    state = random.Random(3)
    write_log(log, [(20 * i, 5, "TCP_MEM_HIT" if state.random() * 100 < today else "TCP_MISS", s, o)
                    for i, (o, s) in enumerate(accesses)])
    found = of(rows("--access-log=" + log, conf(folder, "cache_mem 32 MB", "workers 4")), "cache_mem")
    wrong = [r for r in found
             if not near(r["hit_ratio_pct"], shared_hits(accesses, size(r["value"]) // 32768) / 300, 1.5)]
    check(len(found) > 6 and not wrong, "memory that workers share: within 1.5 points", *wrong)


# ---- what bad input gets ----

def bad_input(folder):
    path = os.path.join(folder, "t", "whatif.sqt")
    for options, words in (
            (["--whatif=cache_memory=1GB"], "unknown setting 'cache_memory'; it takes cache_mem,"),
            (["--whatif=cache_mem=big"], "cache_mem takes a size, as 512MB"),
            (["--whatif=cache_mem"], "cache_mem takes a size"),
            (["--whatif=cache_mem=-1MB"], "cache_mem takes a size"),
            (["--whatif=children=0"], "children takes a number of children"),
            (["--whatif=cache_mem=" + ",".join(["1MB"] * 9)], "more than 8 values"),
            (["--table=requests", "--whatif=cache_mem=1MB"], "--whatif goes with --table=whatif"),
            (["--squid-conf=%s" % path], "--squid-conf goes with --table=whatif"),
            (["--table=whatif", "--squid-conf=/nonexistent"], "/nonexistent: cannot be opened: No such file")):
        status, text, said = run(*options, path)
        check(status == 2 and words in said and said.count("\n") == 1 and not text, " ".join(options)[:60], status, said)
    many = of(rows(path, conf(folder, "url_rewrite_children 65536 concurrency=65536")), "url_rewrite_children")
    check([r["bound"] for r in many] == ["refused"] and "more than 4096 questions at once" in many[0]["method"],
          "2^32 questions at once", *many)
    large = of(rows(path, conf(folder, "cache_mem 4000000 TB")), "cache_mem")
    check(large and all(r["value"].split()[0].isdigit() and r["value"][0] != "0" for r in large), "a large cache", *large)
    wrong = conf(folder, "cache_mem 8 MB", "cache_mem many MB")
    status, _, said = run("--table=whatif", wrong, path)
    check(status == 2 and "line 3: 'cache_mem many' is no value that Squid takes" in said, "a wrong line of squid.conf", said)
    continued = "cache_mem \\\n 6 MB\n# no \\\ncache_\\\r\n  mem \\\r\n\\\n\n# yes\n7 MB"
    found = of(rows(path, conf(folder, continued)), "cache_mem")
    check({r["now_value"] for r in found} == {"7 MB"}, "lines that a backslash continues", *found)
    found = of(rows(path, conf(folder, "cache_mem 6 MB", "cache_mem 7 MB\\", "# over")), "cache_mem")
    check({r["now_value"] for r in found} == {"6 MB"}, "a line that waits for another one at the end", *found)
    status, _, said = run("--table=whatif", conf(folder, continued, "cache_mem \\", "many MB"), path)
    check(status == 2 and "line 11: 'cache_mem many'" in said, "the number of a line behind them", said)
    os.mkdir(os.path.join(folder, "conf.d"))
    for name, line in ("a.conf", "cache_mem 2 MB"), ("b.conf", "url_rewrite_children 3"), ("c.other", "cache_mem 4 MB"):
        with open(os.path.join(folder, "conf.d", name), "w", encoding="ascii") as out:
            out.write(line + "\n")
    os.mkdir(os.path.join(folder, "conf.d", "old.conf"))
    including = conf(folder, "include %s/conf.d/*.conf" % folder, "include %s/none/*" % folder)
    found = rows(path, including)
    check({r["now_value"] for r in of(found, "cache_mem")} == {"2 MB"} and
          {r["now_value"] for r in of(found, "url_rewrite_children")} == {"3"}, "settings of files that are included", *found)
    with open(os.path.join(folder, "conf.d", "a.conf"), "w", encoding="ascii") as out:
        out.write("cache_mem many MB\n")
    status, _, said = run("--table=whatif", including, path)
    check(status == 2 and "a.conf: line 1: 'cache_mem many'" in said and said.count("\n") == 1, "a wrong line in one of them", said)
    itself = conf(folder, "include %s/squid.conf" % folder)
    status, _, said = run("--table=whatif", itself, path)
    check(status == 2 and "include each other" in said and said.count("\n") == 1, "a file that includes itself", said)
    with open(os.path.join(folder, "squid.conf"), "wb") as out:
        out.write(b"cache_mem 2 MB\n# \0\ncache_mem 4 MB\n")
    status, _, said = run("--table=whatif", "--squid-conf=" + os.path.join(folder, "squid.conf"), path)
    check(status == 2 and "it has a byte 0" in said and said.count("\n") == 1, "a squid.conf with a byte 0", said)
    with open(os.path.join(folder, "squid.conf"), "wb") as out:
        out.write(bytes(range(1, 256)) * 400)
    status, _, _ = run("--table=whatif", "--squid-conf=" + os.path.join(folder, "squid.conf"), path)
    check(status == 0, "a file that is no squid.conf")
    none = rows(os.path.join(folder, "t", "none.sqt"))
    check(none == [], "a trace without requests has no rows", none)


def refused_conf(path, text, option, words):
    """It is refused within 2 s of processor time, and does not wait."""
    try:
        out = subprocess.run([DUMP, "--table=whatif", option, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                             timeout=30, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (2, 2)))
        status, said = out.returncode, out.stderr.decode()
    except subprocess.TimeoutExpired:
        status, said = None, "it waits"
    check(status == 2 and words in said and said.count("\n") == 1, "squid.conf: " + text, status, said)


def hostile_conf(folder):
    """A squid.conf of somebody else: it may name any file, and each of its names must end in time."""
    path = os.path.join(folder, "t", "whatif.sqt")
    place = os.path.join(folder, "hostile")
    deep = os.path.join(place, "deep")
    os.mkdir(place)
    for first in range(30):
        for second in range(30):
            os.makedirs(os.path.join(deep, str(first), str(second)))
    many = os.path.join(place, "many")
    os.mkdir(many)
    for number in range(257):
        with open(os.path.join(many, "%d.conf" % number), "w", encoding="ascii") as out:
            out.write("cache_mem 2 MB\n")
    long = os.path.join(place, "long")
    os.mkdir(long)
    for number in range(320):
        with open(os.path.join(long, "a" * 240 + str(number)), "wb"):
            pass
    fifo, large, half = (os.path.join(place, name) for name in ("fifo", "large", "half"))
    os.mkfifo(fifo)
    for name, length in (large, (16 << 20) + 1), (half, 9 << 20):
        with open(name, "wb") as out:
            out.write(b"#" * length)
    not_regular = ": cannot be opened: it is not a regular file"
    for text, lines, words in (
            ("a pipe", ["include " + fifo], "squid.conf: line 2: include " + fifo + not_regular),
            ("a device", ["include /dev/zero"], "squid.conf: line 2: include /dev/zero" + not_regular),
            ("a folder", ["include " + deep], "squid.conf: line 2: include " + deep + not_regular),
            ("a large file", ["include " + large],
             "squid.conf: line 2: include " + large + ": it is larger than 16 MiB"),
            ("two files that are large together", ["include " + half] * 2,
             "squid.conf: line 3: include " + half + ": expected at most 16 MiB in all files together"),
            ("itself ten times", ["include %s/squid.conf" % place] * 10,
             "squid.conf: line 2: include %s/squid.conf: files include each other more than 16 deep" % place),
            # Each of them can be read, but there are more than 10^7 of them.
            ("ten files ten times in each", ["include " + tree(place)], "expected at most 256 files and patterns in all"),
            ("257 files", ["include %s/*.conf" % many],
             "squid.conf: line 2: include: expected at most 256 files and patterns in all"),
            ("257 names", ["include %s/none" % many] * 257,
             "squid.conf: line 258: include: expected at most 256 files and patterns in all"),
            ("33 patterns", ["include %s/*.none" % many] * 33,
             "squid.conf: line 34: include %s/*.none: expected at most 32 patterns in all" % many),
            ("a pattern of megabytes", ["include /usr/bin/*[" + "a" * 4000000 + "]"], "expected a pattern of at most 64 characters"),
            # As slow as comparing can be.
            ("patterns and 10,240 long names", ["include %s/%s" % (long, "*[a-z]" * 10 + "b")] * 32,
             "expected at most 10000 files in the folders of all patterns"),
            ("folders that are patterns", ["include /*/*/*/*/*"],
             "squid.conf: line 2: include /*/*/*/*/*: expected wildcards only after the last slash"),
            ("a wildcard of many folders", ["include %s/*/*/*.conf" % deep],
             "squid.conf: line 2: include %s/*/*/*.conf: expected wildcards only after the last slash" % deep)):
        refused_conf(path, text, conf(place, *lines), words)
    refused_conf(path, "a pipe itself", "--squid-conf=" + fifo, fifo + not_regular)
    os.unlink(os.path.join(many, "0.conf"))
    os.unlink(os.path.join(many, "1.conf"))
    found = of(rows(path, conf(folder, "include %s/*.conf" % many)), "cache_mem")
    check({r["now_value"] for r in found} == {"2 MB"}, "squid.conf: a pattern and 255 files", *found)


def tree(folder):
    """A file that includes ten others, each of them ten, and so on: 8 deep."""
    for depth in range(8):
        for number in range(10):
            with open(os.path.join(folder, "tree%d-%d" % (depth, number)), "w", encoding="ascii") as out:
                out.writelines("include %s/tree%d-%d\n" % (folder, depth + 1, next_one) for next_one in range(10) if depth < 7)
    return folder + "/tree0-0"


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(TOOLS, "tests/unit/figure_traces"), os.path.join(folder, "t")], check=True, timeout=60)
        trace(folder)
        variants(folder)
        proxies(folder)
        served(folder)
        kept(folder)
        slow_log(folder)
        shared_log(folder)
        collapsed_log(folder)
        bad_input(folder)
        hostile_conf(folder)
    print("1..%d" % done)


if __name__ == "__main__":
    main()
