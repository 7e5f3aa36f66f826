# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of followers, of delay pools and of who is waited for once more, for figures_oracle.py."""

import collections

from oracle import dump, fixed, milli, ms, share, whole

TOLD = ["peer_select", "dns", "connect", "tls", "request_send", "server_wait", "server_reply", "failed_tries"]
# What a leader of figure_traces.c does next: events, and the stage that each leaves it in.
LEAVES_IN = {"XACT_NAMED": "other", "PEER_SELECT_BEGIN": "peer_select", "CONNECT_BEGIN": "connect",
             "CONNECT_END": "peer_select", "DISPATCH": "request_send", "RETRY": "peer_select",
             "REQUEST_SENT": "server_wait", "SERVER_READ": "server_reply", "SERVER_HELD": "other", "SERVER_DONE": "other",
             "XACT_END": "unknown"}


def records(trace, events):
    """{(kid, transaction): [(event, time, arg, aux)]}"""
    found = collections.defaultdict(list)
    for r in dump(trace.path, "--table=events")[1]:
        if r["event"] in events:
            found[r["kid"], r["id"]].append((r["event"], whole(r["time_s"]), r["arg"], r["aux"]))
    return found


def stages_within(steps, begin, end):
    """ns of each stage of a leader from begin to end."""
    spent = collections.Counter()
    for (event, at, _, _), until in zip(steps, [step[1] for step in steps[1:]] + [end]):
        # A connection that is there is given the request at once.
        spent[LEAVES_IN[event]] += max(0, min(until, end) - max(at, begin))
    return spent


def leader_rows(trace):
    steps = records(trace, set(LEAVES_IN) | {"COLLAPSED", "LOOKUP_END", "REPLY_READY"})
    rows = {(r["kid"], r["xid"]): r for r in trace.ended}
    servers = collections.defaultdict(list)
    for (kid, xid), row in rows.items():
        if row["collapsed_wait_ns"] is None:
            continue
        begin, leader = next((s[1], s[2]) for s in steps[kid, xid] if s[0] == "COLLAPSED")
        end = next(s[1] for s in steps[kid, xid] if s[0] in ("LOOKUP_END", "REPLY_READY") and s[1] >= begin)
        known = (kid, leader) in rows
        spent = stages_within([s for s in steps[kid, leader] if s[0] in LEAVES_IN], begin, end) if known else \
            collections.Counter(unknown=end - begin)
        servers[rows[kid, leader]["server"] if known else "-"].append(spent)
    for server, all_spent in sorted(servers.items(), key=lambda item: (-sum(sum(s.values()) for s in item[1]), item[0])):
        totals = [sum(spent.values()) for spent in all_spent]
        whole_ns, together = sum(totals), sum(all_spent, collections.Counter())
        yield {"server": server, "count": str(len(totals)), "total_s": fixed(whole_ns, 9),
               "mean_ms": ms(whole_ns // len(totals)), "max_ms": ms(max(totals)),
               **{stage + "_pct": share(together[stage], whole_ns) for stage in TOLD + ["other", "unknown"]}}


def held_rows(trace):
    pools = {key: [int(aux) for _, _, _, aux in steps if aux != "0"] for key, steps in records(trace, {"SERVER_HELD"}).items()}
    groups = collections.defaultdict(list)
    for r in trace.ended:
        if pools.get((r["kid"], r["xid"])):
            groups[trace.group(r["begin"]), pools[r["kid"], r["xid"]][-1]].append(r)
    for (group, pool), rows in sorted(groups.items()):
        held, total = sum(r["held_back_ns"] for r in rows), sum(r["total_ns"] for r in rows)
        yield {"time_s": trace.middle(group), "pool": str(pool), "count": str(len(rows)), "held_s": fixed(held, 9),
               "held_mean_ms": ms(held // len(rows)), "held_pct": share(held, total)}


SERVER_TIME = ["connect_ns", "tls_ns", "request_send_ns", "server_wait_ns", "server_reply_ns"]
TOLD_APART = 8


def server_waits(trace):
    return waits_by_name(trace, "server", [(r["server"], r["begin"], sum(r[c] or 0 for c in SERVER_TIME)) for r in trace.ended
                                           if r["server"] != "-"])


def service_waits(trace):
    waits = [r for r in dump(trace.path, "--table=waits")[1] if r["outcome"] not in ("lost", "unfinished", "clock")]
    return waits_by_name(trace, "service", [(r["kind"] + ":" + r["name"], whole(r["time_s"]), whole(r["total_ns"]))
                                            for r in waits])


def whatif_rows(trace, wanted):
    """Rows of the table: the numbers in them are computed anew in whatif.py."""
    return [r for r in dump(trace.path, "--table=whatif")[1] if wanted(r) and r["bound"] != "refused"]


def whatif_sizes(trace, setting):
    rows = whatif_rows(trace, lambda r: r["setting"].startswith(setting))
    most = max((float(r["hit_ratio_pct"]) for r in rows), default=0)
    knee = next((r for r in rows if float(r["hit_ratio_pct"]) >= 0.9 * most), None)
    for r in rows:
        yield {"size_bytes": r["needs_bytes"], "hits_pct": r["hit_ratio_pct"], "bytes_pct": r["byte_hit_ratio_pct"],
               "now_pct": r["hit_ratio_pct"] if r["value"] == r["now_value"] else "-",
               "knee_pct": r["hit_ratio_pct"] if r is knee else "-"}


def whatif_children(trace):
    rows = list(whatif_rows(trace, lambda r: "child" in r["setting"] or "max-conn" in r["setting"]))
    for r in rows:
        if r["setting"] == rows[0]["setting"]:
            yield {"children": r["value"].split()[0], "mean_ms": r["wait_mean_ms"], "p99_ms": r["wait_p99_ms"],
                   "now_ms": r["wait_mean_ms"] if r["value"] == r["now_value"] else "-", "setting": r["setting"]}


def whatif_figures(trace):
    yield "whatif-cache-mem", whatif_sizes(trace, "cache_mem")
    yield "whatif-cache-dir", whatif_sizes(trace, "cache_dir ")
    yield "whatif-children", whatif_children(trace)


def waits_by_name(trace, column, waits):
    """waits: [(name, begin, ns)]"""
    of_name, groups = collections.Counter(), collections.defaultdict(list)
    for name, _, ns in waits:
        of_name[name] += ns
    names = sorted(of_name, key=lambda name: (-of_name[name], name))
    for name, begin, ns in waits:
        groups[trace.group(begin), min(names.index(name), TOLD_APART)].append(ns)
    for (group, place), all_ns in sorted(groups.items()):
        ns, covered = sum(all_ns), trace.covered(group)
        yield {"time_s": trace.middle(group), column: names[place] if place < TOLD_APART else "other",
               "count": str(len(all_ns)), "mean_ms": ms(ns // len(all_ns)),
               "waiting": milli((2000 * ns + covered) // (2 * covered))}
