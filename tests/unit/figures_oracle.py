#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every figure, computed anew from the tables it is made of, must be equal to the last digit printed.

It shares nothing with sqtrace-dump but the tables: rules are written down here a second time, in another way.  Traces
come from figure_traces.c and, if it is there, doc/sample.

usage: figures_oracle.py [TRACE...]   (only these, by name, as in: mixed.sqt sample known)
"""

import collections
import os
import subprocess
import sys
import tempfile

import waterfall
from moved_figures import held_rows, leader_rows, server_waits, service_waits, whatif_figures
from operation_figures import (cost_rows, digest_rows, diskop_shares, diskops, latency_rows, loop_rows, lost_rows,
                               stall_rows, syscall_rows, trend_rows)
from oracle import LEAST, MS, SECOND, SOURCE, TOOLS, check, dump, fixed, median, milli, ms, plan, quantile, share, whole
from resource_figures import backlog_rows, cache_rows, disk_rows, machine_rows, process_rows, with_values
from sanitized import SANITIZED, THREADS_CHECKED

GROUP = 1200 * SECOND
PEAK = 3600 * SECOND

HITS = {"mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit"}
MISSES = {"miss", "refresh_miss"}
CONNECT = ["connect_ns", "tls_ns"]
SERVER = ["request_send_ns", "client_body_ns", "server_wait_ns", "server_reply_ns", "failed_tries_ns"]
REPLY = ["reply_wait_ns", "collapsed_wait_ns", "held_back_ns", "proxy_reply_ns"]


def spread(name, values):
    """The columns of a curve of medians."""
    out = {name + "_count": str(len(values))}
    enough = len(values) >= LEAST
    for p in (50, 75, 90, 99):
        out["%s_p%d_ms" % (name, p)] = ms(None if not enough else median(values) if p == 50 else quantile(values, 10 * p))
    out[name + "_mean_ms"] = ms(sum(values) // len(values) if enough else None)
    return out


class Trace:
    """The tables of a trace as integers, and how its time is cut."""

    def __init__(self, path, group=GROUP):
        self.path = path
        self.width = group
        comments, self.requests, _ = dump(path)
        _, self.swaps, _ = dump(path, "--table=swaps")
        self.length = whole(comments["length"][0].split()[0])
        for row in self.requests + self.swaps:
            for column in row:
                if column.endswith(("_ns", "_s", "_bytes")) or column in ("ios", "swap_ins"):
                    row[column] = whole(row[column])
            row["begin"] = row["time_s"]
            row["end"] = None if row["begin"] is None or row["total_ns"] is None else row["begin"] + row["total_ns"]
        self.ended = [r for r in self.requests if r["outcome"] not in ("lost", "unfinished")]
        self.moved = [s for s in self.swaps if s["outcome"] not in ("lost", "unfinished")]
        # A short trace: halve the width until there are twelve groups.
        self.halvings = 0
        if self.length // 4 < group:
            while group >> (self.halvings + 1) >= MS and (self.length << self.halvings + 1) // group < 24:
                self.halvings += 1
        self.groups = (self.length << self.halvings) // group + 1

    def group(self, time):
        return (time << self.halvings) // self.width

    def begin(self, group):
        return -((-group * self.width) >> self.halvings)

    def middle(self, group):
        return fixed(int((group + 0.5) * (self.width / 2**self.halvings)), 9)

    def covered(self, group):
        return min(self.begin(group + 1), self.length) - self.begin(group)


def sum_of(row, columns):
    return sum(row[c] or 0 for c in columns)


def has(row, columns):
    return any(row[c] is not None for c in columns)


def of_class(classes, status=None):
    return lambda r: (classes is None or r["class"] in classes) and (status is None or r["status"] == status)


def both(*conditions):
    return lambda r: all(condition(r) for condition in conditions)


def there(*columns):
    return lambda r: has(r, columns)


def took(*columns):
    return lambda r: sum_of(r, columns)


def way(direction, ios=None):
    return lambda s: s["direction"] == direction and (ios is None or s["ios"] == ios)


hits, misses, all_of = of_class(HITS), of_class(MISSES), of_class(None)
sized = there("size_bytes")

# ---- medians, by time and by size: a curve is (name, which rows, value) ----

CONTACTED = there(*CONNECT, *SERVER)
REPLY_CLASSES = [("hits_200", of_class(HITS, "200")), ("hits_304", of_class(HITS, "304")), ("misses", misses)]
TOTAL = took("total_ns")
MEDIANS = {
    "response-time": [(n, c, TOTAL) for n, c in (("hits", hits), ("misses", misses), ("all", all_of))],
    "client-connect": [(n, both(c, there("client_connect_ns")), took("client_connect_ns"))
                       for n, c in (("hits", hits), ("misses", misses))],
    "proxy-connect": [("hits", both(hits, CONTACTED), took(*CONNECT)), ("misses", both(misses, CONTACTED), took(*CONNECT)),
                      ("opened", both(of_class(HITS | MISSES), there(*CONNECT)), took(*CONNECT))],
    "server-reply": [(n, both(c, there(*SERVER)), took(*SERVER)) for n, c in (("hits", hits), ("misses", misses))],
    "server-response": [(n, both(c, CONTACTED), took(*CONNECT, *SERVER)) for n, c in (("hits", hits), ("misses", misses))],
    "proxy-reply": [(n, c, took(*REPLY)) for n, c in (("hits", hits), ("misses", misses))],
    "proxy-reply-by-class": [(n, c, took(*REPLY)) for n, c in REPLY_CLASSES],
}
SWAP_MEDIANS = {
    "disk-response-time": [("in", way("in"), TOTAL), ("out", way("out"), TOTAL)],
    "second-io": [(d, way(d, 2), lambda s: s["total_ns"] - (s["first_delay_ns"] or 0)) for d in ("in", "out")],
}
BY_SIZE = {
    "response-time-by-size": [(n, both(c, sized), TOTAL) for n, c in (("hits", hits), ("misses", misses), ("all", all_of))],
    "server-reply-by-size": [(n, both(c, there(*SERVER)), took(*SERVER)) for n, c in (("hits", hits), ("misses", misses))],
    "proxy-reply-by-size": [(n, both(c, sized), took(*REPLY)) for n, c in REPLY_CLASSES],
}
SMALL = {"proxy-reply-small": [(n, both(c, sized), took(*REPLY)) for n, c in REPLY_CLASSES]}
SWAP_BY_SIZE = {
    "disk-response-by-size": [(d + f, both(way(d), there(c)), took(c)) for d in ("in", "out")
                              for f, c in (("", "total_ns"), ("_first", "first_delay_ns"))],
}


def medians(curves, rows, key_of, head_of):
    """The rows of a figure of medians."""
    values = collections.defaultdict(lambda: [[] for _ in curves])
    for row in rows:
        for i, (_, belongs, value) in enumerate(curves):
            if belongs(row):
                values[key_of(row)][i].append(value(row))
    for key in sorted(values):
        if max(len(v) for v in values[key]) >= LEAST:
            out = head_of(key)
            for (name, _, _), members in zip(curves, values[key]):
                out.update(spread(name, members))
            yield out


def size_bins():
    """(from, to) of all bins: 1 KB to 16 KB, 2 KB to 256 KB, then doubling."""
    edges = list(range(0, 16384, 1024)) + list(range(16384, 262144, 2048)) + [262144 << i for i in range(40)]
    return list(zip(edges, edges[1:]))


BINS = size_bins()


def bin_of(size):
    size = max(size or 0, 1)
    return next((low, high) for low, high in BINS if low < size <= high)


def small_bin(size):
    size = max(size or 0, 1)
    low = (size - 1) // 512 * 512
    return (low, low + 512)


def bin_head(bounds):
    return {"from_bytes": str(bounds[0]), "to_bytes": str(bounds[1])}


# ---- rates and shares ----

RATES = {"load": [("hits", hits), ("misses", misses), ("all", all_of)]}
SWAP_RATES = {"swap-load": [("in", way("in")), ("out", way("out"))]}


def one(_):
    return 1


def kind(name):
    return lambda r: r["class"] == name


SHARES = {
    "hit-ratio": [("dhr", hits, all_of, one), ("bhr", hits, all_of, lambda r: r["sent_bytes"] or 0)],
    "hit-classes": [("disk", kind("disk_hit"), hits, one), ("memory", kind("mem_hit"), hits, one),
                    ("ims", kind("ims_hit"), hits, one), ("negative", kind("negative_hit"), hits, one),
                    ("refresh", kind("refresh_hit"), hits, one)],
    "memory-hits-no-swapin": [("never", lambda r: r["never"], kind("mem_hit"), one)],
}
SWAP_SHARES = {"atomic-swaps": [(d, way(d, 1), way(d), one) for d in ("in", "out")]}


def rates(trace, curves, rows):
    count = [[0] * len(curves) for _ in range(trace.groups)]
    for row in rows:
        for i, (_, belongs) in enumerate(curves):
            count[trace.group(row["begin"])][i] += belongs(row)
    if not any(map(any, count)):
        return
    for group in range(trace.groups):
        out = {"time_s": trace.middle(group)}
        ns = trace.covered(group)
        for (name, _), n in zip(curves, count[group]):
            out[name + "_count"] = str(n)
            out[name + "_per_s"] = milli((n * 10**12 + ns // 2) // ns if ns > 0 else None)
        yield out


def shares(trace, curves, rows):
    parts = [[[0, 0] for _ in curves] for _ in range(trace.groups)]
    for row in rows:
        for i, (_, part, of, value) in enumerate(curves):
            cell = parts[trace.group(row["begin"])][i]
            cell[0] += value(row) if part(row) else 0
            cell[1] += value(row) if of(row) else 0
    for group in range(trace.groups):
        out = {"time_s": trace.middle(group)}
        for (name, _, _, _), (part, of) in zip(curves, parts[group]):
            out.update({name + "_count": str(part), name + "_of": str(of), name + "_pct": share(part, of)})
        if any(of >= LEAST for _, of in parts[group]):
            yield out


def mark_never(requests):
    """Memory hits on objects that no request before has swapped in."""
    seen = set()
    for r in requests:
        if r["outcome"] not in ("lost", "unfinished"):
            r["never"] = r["class"] == "mem_hit" and r["object"] not in seen
            if (r["swap_ins"] or 0) > 0 and r["object"] != "-":
                seen.add(r["object"])


# ---- shares up to a value ----

def grid():
    """Upper ends of the steps: 16 wide to 512, then 32 to the doubling."""
    for x in range(15, 512, 16):
        yield x
    base = 512
    while True:
        for i in range(1, 33):
            yield base + base * i // 32 - 1
        base *= 2


def upto(column, printed, curves):
    """Rows of a CDF from lists of values."""
    total = sum(len(values) for _, values in curves)
    done = 0
    for x in grid():
        if done >= total:
            return
        counts = [sum(v <= x for v in values) for _, values in curves]
        done = sum(counts)
        if done:
            out = {column: printed(x)}
            for (name, values), n in zip(curves, counts):
                out.update({name + "_count": str(n), name + "_pct": share(n, len(values))})
            yield out


def first_of_each(rows, value):
    seen = set()
    for row in rows:
        if row["object"] != "-" and row["object"] not in seen:
            seen.add(row["object"])
            yield row[value]


def peak_window(trace, width=PEAK):
    """(from, to) of the busiest window that begins with a twelfth of a window, by the requests that begin in it."""
    slots = collections.Counter(r["begin"] * 12 // width for r in trace.ended)
    last = trace.length * 12 // width
    best = max(range(max(last - 11, 0) + 1), key=lambda s: (sum(slots[i] for i in range(s, s + 12)), -s))
    return lambda row: best <= row["begin"] * 12 // width < best + 12


# ---- how many at a time ----

def levels(trace, curves, intervals, period):
    """For each group: samples, and for each curve the sorted samples and the exact time covered."""
    samples = trace.length // period + 1
    change = [[0] * (samples + 1) for _ in curves]
    covered = [[0] * trace.groups for _ in curves]
    for names, begin, end in intervals:
        for i, name in enumerate(curves):
            if name not in names:
                continue
            change[i][min(-(-begin // period), samples)] += 1
            change[i][min(-(-end // period), samples)] -= 1
            for group in range(trace.group(begin), trace.group(max(end - 1, begin)) + 1):
                covered[i][group] += max(0, min(end, trace.begin(group + 1)) - max(begin, trace.begin(group)))
    of_group = [[[] for _ in curves] for _ in range(trace.groups)]
    for i in range(len(curves)):
        level = 0
        for k in range(samples):
            level += change[i][k]
            of_group[trace.group(k * period)][i].append(level)
    return of_group, covered


def parts_of(request):
    if request["outcome"] == "unfinished":
        return {"all"}
    return {"all"} | ({"hits"} if request["class"] in HITS else {"misses"} if request["class"] in MISSES else set())


def level_rows(trace, curves, intervals, period):
    intervals = list(intervals)
    of_group, covered = levels(trace, curves, intervals, period)
    if not any(end > begin for _, begin, end in intervals):
        return
    for group in range(trace.groups):
        if len(of_group[group][0]) < LEAST:
            continue
        out = {"time_s": trace.middle(group), "samples": str(len(of_group[group][0]))}
        ns = trace.covered(group)
        for i, name in enumerate(curves):
            values = sorted(of_group[group][i])
            n = len(values)
            out[name + "_p50"] = milli((values[(n - 1) // 2] + values[n // 2]) * 500)
            out[name + "_p75"] = milli(values[-(-n * 3 // 4) - 1] * 1000)
            out[name + "_max"] = str(values[-1])
            out[name + "_mean"] = milli((covered[i][group] * 1000 + ns // 2) // ns if ns > 0 else None)
        yield out


def busy_rows(trace):
    places = collections.defaultdict(list)
    for s in trace.swaps:
        if s["outcome"] != "lost":
            interval = ({"all", s["direction"]}, s["begin"], s["end"])
            places["all"].append(interval)
            places["%s:%s" % (s["store"] if s["store"] != "-" else "dir", s["dir"])].append(interval)
    for place in sorted(places, key=lambda p: (p != "all", p)):
        of_group, _ = levels(trace, ("in", "out", "all"), places[place], 2 * MS)
        for group in range(trace.groups):
            n = len(of_group[group][0])
            if n >= LEAST:
                out = {"time_s": trace.middle(group), "dir": place, "samples": str(n)}
                for i, name in enumerate(("in", "out", "all")):
                    out[name + "_pct"] = share(sum(v > 0 for v in of_group[group][i]), n)
                yield out


# ---- the rest ----

def flight_rows(trace):
    places = collections.defaultdict(list)
    for r in diskops(trace):
        if r["result"] != "lost" and r["late"] == "0":
            for place in ("all", r["place"]):
                places[place].append(({"in_flight"}, r["begin"], r["end"]))
    for place in sorted(places, key=lambda p: (p != "all", p)):
        for out in level_rows(trace, ("in_flight",), places[place], 2 * MS):
            out["dir"] = place
            yield out


def overhead_rows(trace, in_peak):
    for direction in ("in", "out"):
        complete = [s for s in trace.moved if s["direction"] == direction and s["outcome"] == "complete"
                    and s["first_io_ns"] is not None]
        for period, rows in (("whole", complete), ("peak", [s for s in complete if in_peak(s)])):
            ones, twos = [s for s in rows if s["ios"] == 1], [s for s in rows if s["ios"] == 2]
            if len(ones) < LEAST:
                continue
            total = median([s["total_ns"] for s in ones])
            measured = median([s["first_io_ns"] for s in ones])
            rest = median([s["total_ns"] - s["first_io_ns"] for s in ones])
            two = median([s["total_ns"] for s in twos]) if len(twos) >= LEAST else None
            io = None if two is None else two - total
            agree = "-" if io is None else str(int(abs(io - measured) * 10 <= total and abs(total - io - rest) * 10 <= total))
            yield {"direction": direction, "period": period, "one_count": str(len(ones)), "two_count": str(len(twos)),
                   "step_bytes": str(max(s["size_bytes"] for s in complete if s["ios"] == 1)), "one_ms": ms(total),
                   "two_ms": ms(two), "io_ms": ms(io), "overhead_ms": ms(None if io is None else total - io),
                   "measured_io_ms": ms(measured), "measured_overhead_ms": ms(rest), "agree": agree}


STAGES = []
CURVES = {
    "client_connect": ["client_connect_ns"], "proxy_connect": CONNECT, "server_reply": SERVER,
    "swap_in": ["swap_in_open_ns", "swap_in_first_ns", "swap_in_rest_ns"], "proxy_reply": REPLY, "access": ["access_ns", "helper_ns"],
}
for alone in ("redirect", "adapt", "lookup", "peer_select", "dns", "tunnel", "unaccounted"):
    CURVES[alone] = [alone + "_ns"]


def stage_rows(trace, wanted):
    groups = collections.defaultdict(list)
    for r in trace.ended:
        if wanted(r):
            groups[trace.group(r["begin"])].append(r)
    for group in sorted(groups):
        members = groups[group]
        if len(members) < LEAST:
            continue
        middle = {c: median([sum_of(r, columns) for r in members]) for c, columns in CURVES.items()}
        everything = sum(middle.values())
        out = {"time_s": trace.middle(group), "count": str(len(members)), "stages_ms": ms(everything),
               "total_ms": ms(median([r["total_ns"] for r in members]))}
        for c, value in middle.items():
            out[c + "_ms"] = ms(value)
            out[c + "_pct"] = milli(int(value / everything * 100000 + 0.5)) if everything else "-"
        yield out


def step_of(total):
    """Its step of a scale of 32 to the doubling."""
    shift = max(total.bit_length() - 6, 0)
    return shift, total >> shift


def tail_rows(trace, classes):
    for name in ["all"] + classes:
        members = [r for r in trace.ended if name in ("all", r["class"])]
        if len(members) < LEAST:
            continue
        totals = sorted(r["total_ns"] for r in members)
        for label, per_mille in (("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)):
            step = step_of(quantile(totals, per_mille))
            near = [r for r in members if step_of(r["total_ns"]) == step]
            out = {"class": name, "percentile": label, "count": str(len(members)), "near": str(len(near)),
                   "total_ms": ms(sum(r["total_ns"] for r in near) // len(near))}
            for stage in STAGES:
                out[stage[:-3] + "_ms"] = ms(sum(r[stage] or 0 for r in near) // len(near))
            yield out


def slowest_rows(trace):
    members = sorted((r for r in trace.ended if r["class"] != "tunnel"), key=lambda r: -r["total_ns"])[:20]
    for rank, r in enumerate(members, 1):
        so_far = 0
        for stage in STAGES:
            if r[stage]:
                so_far += r[stage]
                yield {"rank": str(rank), "time_s": fixed(r["begin"], 9), "kid": r["kid"], "xid": r["xid"], "tag": r["tag"],
                       "class": r["class"], "size_bytes": "-" if r["size_bytes"] is None else str(r["size_bytes"]),
                       "total_ms": ms(r["total_ns"]), "stage": stage[:-3], "stage_ms": ms(r[stage]),
                       "upto_ms": ms(so_far), "share_pct": milli(int(r[stage] / r["total_ns"] * 100000 + 0.5))}


def comb_rows(trace):
    """The blocks of the slowest swap-in that has some; one that is open when the trace ends counts."""
    blocks = collections.defaultdict(list)
    for block in dump(trace.path, "--table=ios")[1]:
        blocks[block["kid"], block["sio"]].append(block)
    slowest = max((s for s in trace.swaps if s["direction"] == "in" and s["outcome"] != "lost"
                   and (s["kid"], s["sio"]) in blocks), key=lambda s: s["total_ns"], default=None)
    for block in blocks[slowest["kid"], slowest["sio"]] if slowest else ():
        out = {c: block[c] for c in ("index", "offset_bytes", "size_bytes")}
        out["asked_ms"] = ms(whole(block["time_s"]) - slowest["begin"])
        out.update((c + "_ms", ms(whole(block[c + "_ns"]))) for c in ("queue", "service", "notice", "total"))
        yield out


def check_waterfall(trace, name):
    """It shows the slowest request."""
    comments, rows, _ = dump(trace.path, "--figure=waterfall")
    for row in rows:
        row.update((column, whole(row[column])) for column in row
                   if column.endswith(("_ms", "_bytes", "spans", "index")))
    slowest = max((r for r in trace.ended if r["class"] != "tunnel"), key=lambda r: r["total_ns"], default=None)
    if not slowest:
        check(rows == [], "%s: waterfall, no rows" % name)
        return
    _, blocks, _ = dump(trace.path, "--table=ios", "--where=direction == in and xid == %s and kid == %s"
                        % (slowest["xid"], slowest["kid"]))
    for block in blocks:
        block.update((column, whole(block[column])) for column in block
                     if column.endswith(("_ns", "_s", "_bytes", "index")))
    wrong = waterfall.differences(trace.path, slowest, comments, rows, blocks)
    check(not wrong, "%s: waterfall, %d rows" % (name, len(rows)), *wrong[:4])


def expected(trace, classes):
    """(figure, its rows) of all of them."""
    def by_time(row):
        return trace.group(row["begin"])

    def time_head(group):
        return {"time_s": trace.middle(group)}

    for name, curves in MEDIANS.items():
        yield name, medians(curves, trace.ended, by_time, time_head)
    for name, curves in SWAP_MEDIANS.items():
        yield name, medians(curves, trace.moved, by_time, time_head)
    for name, curves in BY_SIZE.items():
        yield name, medians(curves, trace.ended, lambda r: bin_of(r["size_bytes"]), bin_head)
    for name, curves in SMALL.items():
        small = [r for r in trace.ended if (r["size_bytes"] or 0) <= 8192]
        yield name, medians(curves, small, lambda r: small_bin(r["size_bytes"]), bin_head)
    for name, curves in SWAP_BY_SIZE.items():
        yield name, medians(curves, trace.moved, lambda r: bin_of(r["size_bytes"]), bin_head)
    for name, curves in RATES.items():
        yield name, rates(trace, curves, trace.ended)
    for name, curves in SWAP_RATES.items():
        yield name, rates(trace, curves, trace.moved)
    for name, curves in SHARES.items():
        yield name, shares(trace, curves, trace.ended)
    for name, curves in SWAP_SHARES.items():
        yield name, shares(trace, curves, trace.moved)

    groups = [("hits", [r for r in trace.ended if hits(r) and sized(r)]),
              ("misses", [r for r in trace.ended if misses(r) and sized(r)])]
    ways = [("swap_ins", [s for s in trace.moved if s["direction"] == "in"]),
            ("swap_outs", [s for s in trace.moved if s["direction"] == "out"])]
    yield "transfer-size", upto("size_bytes", str, [(n, [r["size_bytes"] for r in rows]) for n, rows in groups + ways])
    yield "file-size", upto("size_bytes", str, [(n, list(first_of_each(rows, "size_bytes")))
                                                for n, rows in groups + [("swaps", trace.moved)]])
    in_peak = peak_window(trace)
    busy = [r for r in trace.ended if in_peak(r)]
    yield "response-time-cdf", upto("total_ms", ms, [(n, [v(r) for r in busy if c(r)]) for n, c, v in MEDIANS["response-time"]])
    yield "proxy-connect-cdf", upto("connect_ms", ms, [(n, [v(r) for r in busy if c(r)]) for n, c, v in MEDIANS["proxy-connect"]])

    there_then = [r for r in trace.requests if r["outcome"] != "lost"]
    yield "concurrent-requests", level_rows(trace, ("hits", "misses", "all"),
                                            ((parts_of(r), r["begin"], r["end"]) for r in there_then), 10 * MS)
    yield "outgoing-connections", level_rows(
        trace, ("hits", "misses", "all"),
        ((parts_of(r), r["begin"] + r["server_from_ns"], r["begin"] + r["server_until_ns"])
         for r in there_then if r["server_from_ns"] is not None), 10 * MS)
    yield "concurrent-swaps", level_rows(
        trace, ("in", "out", "all"),
        (({"all", s["direction"]}, s["begin"], s["end"]) for s in trace.swaps if s["outcome"] != "lost"), 2 * MS)
    yield "disk-utilization", busy_rows(trace)
    yield "disk-overhead", overhead_rows(trace, in_peak)
    yield "hit-stages", stage_rows(trace, of_class(HITS, "200"))
    yield "miss-stages", stage_rows(trace, misses)
    yield "leader-stages", leader_rows(trace)
    yield "server-waits", server_waits(trace)
    yield "service-waits", service_waits(trace)
    yield "held-back", held_rows(trace)
    yield from whatif_figures(trace)
    yield "tail-stages", tail_rows(trace, classes)
    yield "slowest", slowest_rows(trace)
    yield "block-comb", comb_rows(trace)
    yield "diskop-latency", latency_rows(trace)
    yield "diskops-in-flight", flight_rows(trace)
    yield "diskops-lost", lost_rows(trace)
    yield "diskop-share", diskop_shares(trace)
    yield "loop-rate", loop_rows(trace)
    yield "stalls", stall_rows(trace)
    yield "syscalls", syscall_rows(trace)
    yield "syscall-trend", trend_rows(trace)
    yield "cache-fill", cache_rows(trace, hits)
    yield "processes", with_values(process_rows(trace))
    yield "machine", with_values(machine_rows(trace))
    yield "disks", with_values(disk_rows(trace))
    yield "backlogs", with_values(backlog_rows(trace))
    yield "digest-activity", digest_rows(trace)
    yield "digest-cost", cost_rows(trace)


def compare(trace, name, figure, want):
    comments, got, header = dump(trace.path, "--figure=" + figure, "--group=%dns" % trace.width)
    want = list(want)
    why = []
    if len(got) != len(want):
        why.append("%d rows instead of %d" % (len(got), len(want)))
    for i, (g, w) in enumerate(zip(got, want)):
        wrong = [c for c in header if g[c] != w.get(c)]
        if wrong or set(w) - set(g):
            why.append("row %d: " % i + ", ".join("%s %s instead of %s" % (c, g[c], w.get(c)) for c in wrong[:4]))
    if not got and not comments["nothing"]:
        why.append("it does not say why there are no rows")
    check(not why, "%s: %s, %d rows" % (name, figure, len(want)), *why[:4])
    return len(want)


# Traces of which a disk operation never came back, and that go on for long enough to know.
LOST_DISKOPS = {"mixed.sqt", "mixed.sqt, 10 s", "cut.sqt", "kids"}


def diskop_ends(trace):
    """The row of `checks`."""
    rows, lost = list(diskops(trace)), len(list(lost_rows(trace)))
    begun = [r["end"] - r["begin"] for r in rows if r["result"] == "unfinished"]
    sentence = "every disk operation that began has ended"
    if begun:
        sentence = "%d of %d disk operations were still open when the trace of their process ended, the longest for %.3f s%s" % (
            len(begun), len(rows), max(begun) / SECOND,
            "; %d of them never came back (see diskops-lost)" % lost if lost else "")
    return {"check": "diskop-ends", "holds": "-", "count": str(len(begun)), "sentence": sentence, "kind": "evidence",
            "unusual": str(int(lost > 0))}


def one_trace(path, name, drawn, classes, group=GROUP):
    trace = Trace(path, group)
    mark_never(trace.requests)
    for figure, want in expected(trace, classes):
        drawn[figure] += compare(trace, name, figure, want)
    check_waterfall(trace, name)
    _, rows, _ = dump(path, "--table=checks")
    bad = [r["sentence"] for r in rows if r["holds"] == "0"]
    check(not bad, "%s: what must hold" % name, *bad)
    kinds = {(r["kind"], r["holds"] == "-", r["unusual"] == "-") for r in rows}
    check(kinds == {("invariant", False, True), ("evidence", True, False)}, "%s: invariants and evidence" % name, str(kinds))
    odd = {r["check"]: r["sentence"] for r in rows if r["unusual"] == "1"}
    want = {"first-delay"} if name == "planted.sqt" else {"diskop-ends"} if name in LOST_DISKOPS else set()
    check(set(odd) == want, "%s: what is unusual" % name, *odd.values())
    got = [r for r in rows if r["check"] == "diskop-ends"]
    check(got == [diskop_ends(trace)], "%s: disk operations that end" % name, *map(str, got))
    counted = next(int(r["count"]) for r in rows if r["check"] == "requests")
    _, load, _ = dump(path, "--figure=load")
    check(counted == len(trace.ended) == sum(int(r["all_count"]) for r in load), "%s: counts of figure and table" % name)
    return trace


# ---- known answers ----

def known(folder):
    # Published medians of proxy ruu, 22 Sep 1997, by day and at the peak: I/O and overhead of swap-ins 38 and 16 ms, 44
    # and 28 ms; of swap-outs 12 and 58 ms, 16 and 58 ms.  So totals of one and two blocks are:
    for name, totals in (("overhead.sqt", (("in", 54, 92, 38, 16), ("out", 70, 82, 12, 58))),
                         ("overhead-peak.sqt", (("in", 72, 116, 44, 28), ("out", 74, 90, 16, 58)))):
        _, rows, _ = dump(os.path.join(folder, name), "--figure=disk-overhead")
        want = [(t[0], *("%d.000000" % n for n in t[1:]), "4096", "1") for t in totals for _ in ("whole", "peak")]
        check([(r["direction"], r["one_ms"], r["two_ms"], r["io_ms"], r["overhead_ms"], r["step_bytes"], r["agree"])
               for r in rows] == want, "%s: I/O and overhead from the totals of one and two blocks" % name)
    # A swap is as old as the trace of its process lets it be, and that may be long over.
    for name, age, unusual in (("killed", "1.000", "0"), ("open.sqt", "20.000", "1")):
        _, rows, _ = dump(os.path.join(folder, name), "--table=checks")
        got = [(r["unusual"], r["sentence"]) for r in rows if r["check"] == "disk-ends"]
        check(got == [(unusual, "1 swap was still open when the trace of its process ended, the longest for %s s"
                       % age)], "%s: a swap that does not end" % name, str(got))
    # In each second: one swap-in for 400 ms at one cache_dir and one for the last 200 ms of them at another; a request
    # for 900 ms and a second for 300 ms of them.
    overlap = os.path.join(folder, "overlap.sqt")
    _, rows, _ = dump(overlap, "--figure=disk-utilization", "--group=1s", "--until=60s")
    busy = {place: {r["in_pct"] for r in rows if r["dir"] == place} for place in ("all", "aufs:0", "diskd:1")}
    check(busy == {"all": {"40.000"}, "aufs:0": {"40.000"}, "diskd:1": {"20.000"}}, "utilisation of overlapping swaps",
          str(busy))
    _, rows, _ = dump(overlap, "--figure=concurrent-swaps", "--group=1s", "--until=60s")
    check({(r["in_mean"], r["in_max"]) for r in rows} == {("0.600", "2")}, "concurrency of overlapping swaps")
    _, rows, _ = dump(overlap, "--figure=concurrent-requests", "--group=1s", "--until=60s")
    check({(r["hits_mean"], r["misses_mean"], r["all_mean"], r["all_p50"], r["all_max"]) for r in rows} ==
          {("0.900", "0.300", "1.200", "1.000", "2")}, "concurrency of overlapping requests")


def little(trace, name):
    """Mean concurrency is the rate times the mean time."""
    _, rows, _ = dump(trace.path, "--figure=concurrent-requests")
    _, load, _ = dump(trace.path, "--figure=load")
    if not rows:
        return
    covered = {r["time_s"]: trace.covered(i) for i, r in enumerate(load)}
    mean = sum(float(r["all_mean"]) * covered[r["time_s"]] for r in rows) / sum(covered[r["time_s"]] for r in rows)
    want = len(trace.ended) / trace.length * sum(r["total_ns"] for r in trace.ended) / len(trace.ended)
    check(abs(mean / want - 1) < 0.01, "%s: mean concurrency is rate times mean time" % name, "%f, %f" % (mean, want))


def windows(folder):
    """A peak, a time window and narrow groups, on the mixed trace."""
    path = os.path.join(folder, "mixed.sqt")
    trace = Trace(path)
    for width in (10, 13):
        comments, rows, _ = dump(path, "--figure=response-time-cdf", "--peak=%ds" % width)
        in_peak = peak_window(trace, width * SECOND)
        busy = [r["total_ns"] for r in trace.ended if in_peak(r)]
        check(int(rows[-1]["all_count"]) == len(busy) == int(comments["peak"][0].split()[0]) > 500,
              "the busiest %d s" % width)
    _, rows, _ = dump(path, "--figure=load", "--group=10s", "--since=5s", "--until=50s")
    want = [sum(5 + 10 * i <= r["begin"] / SECOND < min(15 + 10 * i, 50) for r in trace.ended) for i in range(5)]
    check([int(r["all_count"]) for r in rows] == want and rows[4]["time_s"] == "50.000000000",
          "groups begin at --since")
    # Requests that outlive the groups that are open: the mean is exact all the same.
    _, rows, _ = dump(path, "--figure=concurrent-requests", "--group=1s")
    covered = collections.Counter()
    for r in trace.requests:
        for second in range(r["begin"] // SECOND, (r["end"] - 1) // SECOND + 1):
            covered[second] += min(r["end"], (second + 1) * SECOND) - max(r["begin"], second * SECOND)
    check(all(r["all_mean"] == milli((covered[i] + MS // 2) // MS) for i, r in enumerate(rows[:-1])) and len(rows) > 60,
          "exact means under requests that outlive the open groups")


def main():
    listed = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--list"], check=True, stdout=subprocess.PIPE)
    figures = [line.split()[1] for line in listed.stdout.decode().split("\n") if line.startswith("figure ")]
    drawn = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(TOOLS, "tests/unit/figure_traces"), folder], check=True, timeout=60)
        header = dump(os.path.join(folder, "one.sqt"))[2]
        STAGES.extend(header[header.index("access_ns"):header.index("total_ns")])
        STAGES.extend(["helper_ns", "collapsed_wait_ns", "held_back_ns", "failed_tries_ns"])
        classes = ["mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit", "refresh_miss", "miss", "tunnel",
                   "denied", "internal", "error"]
        names = ["none.sqt", "one.sqt", "group.sqt", "hits.sqt", "misses.sqt", "mixed.sqt", "cut.sqt", "lossy.sqt",
                 "step.sqt", "kids", "overhead.sqt", "overhead-peak.sqt", "planted.sqt", "clean.sqt", "overlap.sqt", "large.sqt",
                 "moved.sqt"]
        # Sanitizers are slow: for errors of memory and of threads, what differs in its code is enough.
        few = sys.argv[1:] or (["mixed.sqt", "kids", "moved.sqt"] if THREADS_CHECKED else
                               ["mixed.sqt", "cut.sqt", "lossy.sqt", "step.sqt", "kids", "moved.sqt", "windows"] if SANITIZED
                               else [])
        chosen = few or names + ["narrow", "sample", "known", "windows", "whatif"]
        for name in [n for n in names if n in chosen]:
            trace = one_trace(os.path.join(folder, name), name, drawn, classes)
            if name in ("mixed.sqt", "kids", "hits.sqt", "misses.sqt"):
                little(trace, name)
        # Groups of the width asked for, of which old ones are summed up while the trace is read.
        if "narrow" in chosen:
            one_trace(os.path.join(folder, "mixed.sqt"), "mixed.sqt, 10 s", drawn, classes, 10 * SECOND)
        sample = os.path.join(SOURCE, "doc", "sample")
        if os.path.isdir(sample) and "sample" in chosen:
            little(one_trace(sample, "sample", drawn, classes), "sample")
        if "whatif" in chosen:
            whatif = Trace(os.path.join(folder, "whatif.sqt"), GROUP)
            for figure, want in whatif_figures(whatif):
                drawn[figure] += compare(whatif, "whatif.sqt", figure, want)
        if "known" in chosen:
            known(folder)
        if "windows" in chosen:
            windows(folder)
    missing = [f for f in figures if not drawn[f] and f != "waterfall"]
    check(few or not missing, "every figure was compared where it has rows", *missing)
    plan()


if __name__ == "__main__":
    sys.exit(main())
