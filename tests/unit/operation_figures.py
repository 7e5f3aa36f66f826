# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of disk operations, the event loop, system calls and digests once more, for figures_oracle.py."""

import collections
from fractions import Fraction

from oracle import MS, SECOND, dump, fixed, median, milli, ms, quantile, share, whole
from resource_figures import rounded, sampled

LATE = 25 * MS  # a heartbeat, or the end of a wait
DISKOP_STAGES = ["enqueued", "dequeued", "io", "copy", "complete", "finished"]


def diskops(trace):
    """Rows of the table, with begin and end."""
    _, rows, _ = dump(trace.path, "--table=diskops")
    for r in rows:
        r["begin"] = whole(r["time_s"])
        r["end"] = None if r["result"] == "lost" else r["begin"] + whole(r["total_ns"])
        r["place"] = "-" if r["dir"] == "-" else "%s:%s" % (r["store"] if r["store"] != "-" else "dir", r["dir"])
        yield r


def came_back(r):
    return r["result"] in ("complete", "error") and r["late"] == "0"


def latency_rows(trace, batch=1000):
    """Those that fill up as they come, then the rest in the order of kinds."""
    open_ = {name: [] for name in ("other", "open", "create", "read", "write", "close", "unlink")}

    def row(name):
        rows = open_[name]
        first, last = min(r["begin"] for r in rows), max(r["begin"] for r in rows)
        out = {"time_s": fixed(first + (last - first) // 2, 9), "op": name, "count": str(len(rows)),
               "partial": str(int(len(rows) < batch))}
        for stage in DISKOP_STAGES + ["total"]:
            values = sorted(whole(r[stage + "_ns"]) for r in rows if r[stage + "_ns"] != "-")
            some = bool(values)
            out[stage + "_mean_ms"] = ms(sum(values) // len(values)) if some else "-"
            out[stage + "_p50_ms"] = ms(median(values)) if some else "-"
            out[stage + "_p99_ms"] = ms(quantile(values, 990)) if some else "-"
        open_[name] = []
        return out

    for r in filter(came_back, diskops(trace)):
        open_[r["op"]].append(r)
        if len(open_[r["op"]]) == batch:
            yield row(r["op"])
    for name in open_:
        if open_[name]:
            yield row(name)


def lost_rows(trace):
    for r in diskops(trace):
        if r["result"] == "unfinished" and r["end"] - r["begin"] >= 15 * SECOND:
            out = {c: r[c] for c in ("time_s", "kid", "seq", "sio", "op", "depth")}
            out.update(dir=r["place"], queued_s=fixed(r["begin"] + whole(r["enqueued_ns"]), 9),
                       waited_s=fixed(r["end"] - r["begin"], 9))
            yield out


def diskop_shares(trace):
    kinds = collections.defaultdict(list)
    order = ["other", "open", "create", "read", "write", "close", "unlink"]
    for r in filter(came_back, diskops(trace)):
        kinds[r["place"], order.index(r["op"])].append(r)
    for (place, op), rows in sorted(kinds.items()):
        total = sum(r["end"] - r["begin"] for r in rows)
        of = {s: sum(whole(r[s + "_ns"]) or 0 for r in rows) for s in DISKOP_STAGES}
        yield {"dir": place, "op": order[op], "count": str(len(rows)),
               "main_thread": str(sum(r["queue"] == "-" for r in rows)), "total_s": fixed(total, 9),
               "mean_ms": ms(total // len(rows)), "max_ms": ms(max(r["end"] - r["begin"] for r in rows)),
               "queue_pct": share(of["enqueued"] + of["dequeued"], total),
               "service_pct": share(of["io"] + of["copy"], total), "notice_pct": share(of["complete"], total),
               "serve_pct": share(of["finished"], total)}


def loop_rows(trace):
    groups = collections.defaultdict(list)
    for r in dump(trace.path, "--table=loops")[1]:
        groups[trace.group(whole(r["time_s"]))].append((whole(r["wait_ns"]), whole(r["work_ns"])))
    for group, passes in sorted(groups.items()):
        waits, works = sum(p[0] for p in passes), sorted(p[1] for p in passes)
        ns = trace.covered(group)
        yield {"time_s": trace.middle(group), "passes": str(len(passes)),
               "passes_per_s": milli((len(passes) * 10**12 + ns // 2) // ns if ns > 0 else None),
               "work_p50_ms": ms(median(works)), "work_p99_ms": ms(quantile(works, 990)), "longest_ms": ms(works[-1]),
               "waiting_pct": share(waits, waits + sum(works))}


def loop_records(trace, event):
    """The records of an event, in order, by kid."""
    records = collections.defaultdict(list)
    for r in dump(trace.path, "--table=events", "--where=event == " + event)[1]:
        records[r["kid"]].append(r)
    return records


def passes(trace):
    """{kid: [(wait's begin, its end, work's end, time-out, whether it was interrupted, longest activity)]}"""
    timeouts = {(kid, r["time_s"]): int(r["arg"]) * MS for kid, rs in loop_records(trace, "WAIT_BEGIN").items() for r in rs}
    signals = {(kid, whole(r["time_s"])): r["aux"] == "1" for kid, rs in loop_records(trace, "WAIT_END").items() for r in rs}
    found = collections.defaultdict(list)
    for r in dump(trace.path, "--table=loops")[1]:
        begin, work = whole(r["time_s"]), whole(r["time_s"]) + whole(r["wait_ns"])
        found[r["kid"]].append((begin, work, work + whole(r["work_ns"]), timeouts[r["kid"], r["time_s"]],
                                signals.get((r["kid"], work), False), whole(r["longest_ns"])))
    return found


def covered(begin, end, last, again, computed):
    """The part of a late heartbeat that a stretch of the main thread has, and how much of the time is outside; or None if
    the stretch does not cover it.  Up to 100 ms and a quarter may be outside, if the main thread computed for as long."""
    both, gap = min(end, again) - max(begin, last), again - last
    outside = gap - both
    excused = computed if 4 * outside <= gap and outside <= 4 * LATE else 0
    covers = both >= LATE and outside - excused <= LATE + min(gap // 8, LATE)
    return (max(begin, last), both, outside) if covers else None


def stops_of(passes, late):
    """({pass: ns for which it did not run}, [(begin, ns) in waits])"""
    worked, waited = collections.Counter(), []
    for p in passes:
        begin, work, end, timeout, interrupted, _ = p
        if work - begin - timeout >= LATE:
            waited.append((begin + timeout, work - begin - timeout))
        for last, again, main_thread in late:
            at_work = main_thread >= 1 << 31
            computed = 0 if at_work else main_thread * 1000
            wait, working = (covered(*stretch, last, again, computed) for stretch in ((begin, work), (work, end)))
            if wait and (interrupted or not at_work):
                waited.append(wait[:2])
            elif working and not at_work:
                stopped = working[1] - max(0, computed - working[2])
                worked[p] += stopped if stopped >= LATE else 0
    return worked, waited


def stall_rows(trace):
    """The worst of `loops`, and waits in which Squid did not run, in the words of the table of the same name, which
    has its own test."""
    worst = []
    late = loop_records(trace, "HEARTBEAT_LATE")
    for kid, of_kid in passes(trace).items():
        worked, waited = stops_of(of_kid, [(whole(r["id"]), whole(r["arg"]), int(r["aux"])) for r in late[kid]])
        for p in of_kid:
            mostly = worked[p] and worked[p] >= (p[2] - p[1]) // 2
            worst.append((p[2] - p[1], p[1], kid, worked[p] if mostly else p[5], min(worked[p], p[2] - p[1])))
        # Of those that tell of the same stretch the longest.
        for begin, ns in waited:
            if not any((ns, begin) < (more, other) and other < begin + ns and begin < other + more
                       for other, more in waited):
                worst.append((ns, begin, kid, ns, ns))
    words = [r["stall"] for r in dump(trace.path, "--table=stalls")[1]]
    for (ns, begin, kid, longest, stopped), stall in zip(sorted(worst, key=lambda s: -s[0])[:20], words):
        yield {"time_s": fixed(begin, 9), "kid": kid, "work_ms": ms(ns), "longest_ms": ms(longest), "stall": stall,
               # These traces have no samples of the main thread.
               "computing_ms": "-", "blocked_ms": "-", "not_running_ms": ms(stopped) if stopped else "-"}


def syscall_rows(trace):
    return dump(trace.path, "--table=syscalls", "--group=%dns" % trace.width)[1]


def trend_rows(trace):
    """All threads together."""
    windows = {}
    for r in syscall_rows(trace):
        windows.setdefault((r["time_s"], r["kid"], r["window_s"]), collections.defaultdict(lambda: [0, 0]))
        if r["name"] != "misc":
            call = windows[r["time_s"], r["kid"], r["window_s"]][r["name"]]
            call[0] += whole(r["total_s"])
            call[1] += int(r["count"])
    for (time, kid, window), calls in windows.items():
        for name in ("open-read", "open-write", "read-disk", "write-disk"):
            total, count = calls[name]
            if count:
                yield {"time_s": time, "kid": kid, "name": name, "total_s": fixed(total, 9), "count": str(count),
                       "share_pct": fixed((total * 100000 * 2 + whole(window)) // (2 * whole(window)), 3),
                       "mean_ms": ms(total // count)}


DIGEST_ACTIVITIES = ["key", "lookup", "update", "rebuild", "rewrite", "fetch", "hit"]


def digest_rows(trace):
    """From `digests`; what is left out says so itself."""
    rows = [r for r in dump(trace.path, "--table=digests")[1] if r["result"] not in ("lost", "unfinished")]
    for activity in DIGEST_ACTIVITIES:
        busy = [whole(r["busy_ns"]) for r in rows if r["activity"] == activity]
        count = sum(int(r["count"]) for r in rows if r["activity"] == activity)
        if count:
            yield {"activity": activity, "count": str(count), "busy_ms": ms(sum(busy)),
                   "mean_ms": ms(sum(busy) // count), "max_ms": ms(max(busy)),
                   "share_pct": share(sum(busy), trace.length)}


def cost_rows(trace):
    totals = sorted(r["total_ns"] for r in trace.ended)
    passes = len(dump(trace.path, "--table=loops")[1])
    if totals:
        yield {"requests": str(len(totals)),
               "requests_per_s": milli((len(totals) * 10**12 + trace.length // 2) // trace.length),
               "p50_ms": ms(median(totals)), "p95_ms": ms(quantile(totals, 950)), "p99_ms": ms(quantile(totals, 990)),
               "mean_ms": ms(sum(totals) // len(totals)), "passes": str(passes),
               "passes_per_request": milli((passes * 1000 + len(totals) // 2) // len(totals)),
               "cpu_ms_per_request": cpu_by_request(trace, len(totals))}


def cpu_by_request(trace, requests):
    """What processes used while they were sampled, as if it went on like that all the time."""
    used, longest = 0, 0
    for groups in sampled(trace, "process").values():
        used += sum(g.grown["cpu_user_us"] + g.grown["cpu_system_us"] for g in groups.values())
        longest = max(longest, sum(g.ns["cpu_user_us"] for g in groups.values()))
    return ms(rounded(Fraction(used * 1000 * trace.length, longest * requests)) if longest else None)
