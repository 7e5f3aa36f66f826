#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures and the summary, computed anew from the tables that they are made of.

The trace is made of records of a busy proxy; what is compared comes from different paths through sqtrace-dump.
"""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile

import oracle
from oracle import SOURCE, TOOLS, check, median, ms, plan, quantile


def dump(trace, *options):
    """Comments, the last of a key, and rows."""
    comments, rows, _ = oracle.dump(trace, *options)
    return {key: values[-1] for key, values in comments.items()}, rows


def number(text):
    return 0 if text == "-" else int(text)


def nanoseconds(text):
    """Seconds or milliseconds with all decimals, as an integer of the last one."""
    return int(text.replace(".", ""))


LATE = ["helper_ns", "collapsed_wait_ns", "held_back_ns", "failed_tries_ns"]

CURVES = {
    "client_connect": ["client_connect"],
    "proxy_connect": ["connect", "tls"],
    "server_reply": ["request_send", "client_body", "server_wait", "server_reply", "failed_tries"],
    "swap_in": ["swap_in_open", "swap_in_first", "swap_in_rest"],
    "proxy_reply": ["reply_wait", "collapsed_wait", "held_back", "proxy_reply"],
    "access": ["access", "helper"],
}
for alone in ["redirect", "adapt", "lookup", "peer_select", "dns", "tunnel", "unaccounted"]:
    CURVES[alone] = [alone]


def stages_figure(trace, requests, name, group_ns, wanted):
    _, rows = dump(trace, "--figure=" + name, "--group=%dns" % group_ns)
    groups = {}
    for request in filter(wanted, requests):
        groups.setdefault(nanoseconds(request["time_s"]) // group_ns, []).append(request)
    groups = {index: rows for index, rows in groups.items() if len(rows) >= 10}
    check(len(rows) == len(groups) and len(rows) > 5, "%s has a row for each group of 10 requests" % name)
    same, shares, drawn = True, True, 0
    for row, index in zip(rows, sorted(groups)):
        members = groups[index]
        medians = {curve: median([sum(number(r[s + "_ns"]) for s in stages) for r in members])
                   for curve, stages in CURVES.items()}
        same &= int(row["count"]) == len(members)
        same &= nanoseconds(row["time_s"]) == index * group_ns + group_ns // 2
        same &= all(nanoseconds(row[curve + "_ms"]) == medians[curve] for curve in CURVES)
        same &= nanoseconds(row["total_ms"]) == median([number(r["total_ns"]) for r in members])
        whole = sum(medians.values())
        same &= nanoseconds(row["stages_ms"]) == whole
        shares &= all(abs(float(row[curve + "_pct"]) - 100 * medians[curve] / whole) < 0.001 for curve in CURVES)
        drawn += sum(medians[curve] > 0 for curve in CURVES)
    check(same, "%s: medians, counts and times" % name)
    check(shares, "%s: shares" % name)
    check(drawn > 3 * len(rows), "%s: there was something to compare" % name)


def summary(trace, requests, ios):
    comments, rows = dump(trace, "--table=summary")
    check(comments["percentiles"] == "exact", "the summary is exact")
    asked = [r for r in requests if r["class"] != "query"]
    hits = [r for r in asked if r["class"].endswith("_hit")]
    sent, of_hits = (sum(number(r["sent_bytes"]) for r in some) for some in (asked, hits))
    check(hits and comments["hit ratio"] == "%.2f %% of %d requests, %.2f %% of %d bytes sent to clients" % (
        100 * len(hits) / len(asked), len(asked), 100 * of_hits / sent, sent), "it has the hit ratio of all requests")
    stages = [column[:-3] for column in requests[0]
              if column.endswith("_ns") and
              column not in ("server_from_ns", "server_until_ns", "client_tls_ns", "read_wait_ns")]
    wrong, seen = [], 0
    for row in rows:
        if row["class"] == "all" or ":" not in row["class"]:
            members = [r for r in requests if row["class"] in ("all", r["class"])]
            values = [int(r[row["stage"] + "_ns"]) for r in members if r[row["stage"] + "_ns"] != "-"]
            whole = sum(int(r["total_ns"]) for r in members)
        elif "_block_" in row["stage"]:
            direction, phase = row["stage"].split("_")[1], row["stage"].split("_")[3]
            members = [r for r in ios if r["direction"] == direction and r["dir"] == row["class"].split(":")[1]]
            values = [int(r[phase + "_ns"]) for r in members]
            whole = sum(int(r["total_ns"]) for r in members)
        else:
            continue
        seen += 1
        want = [len(values), median(values)] + [quantile(values, q) for q in (900, 990, 999)] + [max(values)]
        got = [int(row["count"])] + [nanoseconds(row[c]) for c in ("p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms")]
        if want != got:
            wrong.append((row["stage"], row["class"], want, got))
        if row["share_pct"] != "-" and abs(float(row["share_pct"]) - 100 * sum(values) / whole) > 0.001:
            wrong.append((row["stage"], row["class"], "share"))
    for line in wrong[:5]:
        print("#", line)
    check(not wrong, "every row of the summary")
    listed = {(row["stage"], row["class"]) for row in rows}
    entered = {(stage, r["class"]) for r in requests for stage in stages if r[stage + "_ns"] != "-"}
    check(entered <= listed and seen > 40, "every stage of every class is in the summary")


def adds_up(requests, swaps, ios):
    order = list(requests[0])
    charged = order[order.index("access_ns"):order.index("total_ns")] + LATE
    check(len(charged) == 23 and all(sum(number(r[s]) for s in charged) == int(r["total_ns"]) for r in requests),
          "stages and unaccounted add up to the total")
    check(all(sum(int(i[p + "_ns"]) for p in ("queue", "service", "notice")) == int(i["total_ns"]) for i in ios),
          "queue, service and notice add up to the total of a block")
    parts = ("open", "first_io", "rest_io", "idle", "close")
    check(all(sum(number(s[p + "_ns"]) for p in parts) == int(s["total_ns"]) for s in swaps),
          "the parts of a swap add up to its total")
    blocks = {}
    for i in ios:
        blocks.setdefault(i["sio"], []).append(int(i["size_bytes"]))
    check(all(int(s["ios"]) == len(blocks.get(s["sio"], [])) and int(s["size_bytes"]) == sum(blocks.get(s["sio"], []))
              for s in swaps),
          "swaps and their blocks agree")


def loop_time(trace):
    """The table loop_time once more, from the records: a part of a sample belongs to each of its seconds."""
    _, events = dump(trace, "--table=events")
    _, rows = dump(trace, "--table=loop_time")
    waits, seconds, last = [], {}, None
    for at, e in enumerate(events):
        if e["event"] == "WAIT_BEGIN":
            begin = nanoseconds(e["time_s"])
        elif e["event"] == "WAIT_END":
            waits.append((begin, nanoseconds(e["time_s"])))
        elif e["event"] == "LOOP_SAMPLE":
            begin, until = nanoseconds(e["id"]), nanoseconds(e["arg"])
            parts = {part["event"]: part for part in itertools.takewhile(
                lambda part: part["event"].startswith("PART_LOOP"), events[at + 1:at + 4])}
            if last == begin:
                count_sample(seconds, waits, begin, until, parts)
            last = until
    want = []
    for second in sorted(seconds):
        whole = sum(seconds[second].values())
        want.append([second * 10**9] + ["%.2f" % (100 * seconds[second][part] / whole)
                                        for part in ("computing", "blocked", "absent", "idle")])
    columns = ("computing_pct", "blocked_pct", "not_running_pct", "idle_pct")
    got = [[nanoseconds(row["time_s"])] + ["%.2f" % float(row[column]) for column in columns] for row in rows]
    check(len(rows) == 2 and got == want, "loop_time is what the samples and the waits say", got, want)


def count_sample(seconds, waits, begin, until, parts):
    waited = sum(max(0, min(until, b) - max(begin, a)) for a, b in waits)
    sample = {"computing": int(parts["PART_LOOP_RAN"]["id"]), "absent": int(parts["PART_LOOP_RAN"]["arg"])}
    if "PART_LOOP_HELD" in parts and int(parts["PART_LOOP_HELD"]["id"]):
        sample["absent"] = until - begin - waited - sample["computing"]  # the rest of a stopped one's sample
    sample["idle"] = waited
    sample["blocked"] = until - begin - sum(sample.values())
    for second in range(begin // 10**9, (until - 1) // 10**9 + 1):
        share = (min(until, (second + 1) * 10**9) - max(begin, second * 10**9)) / (until - begin)
        for part, ns in sample.items():
            seconds.setdefault(second, dict.fromkeys(("computing", "blocked", "absent", "idle"), 0))[part] += ns * share


# Culprits that stand for all: whose a wait is where no single name stands out.
with open(os.path.join(SOURCE, "src", "figure", "finding", "findings.def"), encoding="utf-8") as rules:
    OWNERS = re.findall(r'^SQT_FINDING_OWNER\(\w+, "([^"]+)"\)', rules.read(), re.M)
DISK = ("disk_queue", "disk_slow", "diskd_poll", "disk_notice")
CLAIMS = {
    "name_server": ["dns"], "adaptation": ["adapt"], "url_helper": ["redirect"], "access_checks": ["access"],
    "slow_clients": ["proxy_reply"], "slow_uploads": ["client_body"], "reply_wait": ["reply_wait"],
    "collapsed": ["collapsed_wait"], "held_back": ["held_back"], "failed_tries": ["failed_tries"],
    "answered_tries": ["failed_tries"], "failed_server": ["failed_tries"], "lookup": ["lookup"],
    "peer_selection": ["peer_select"], "unaccounted": ["unaccounted"],
}
for cause in ("slow_server", "only_server", "slow_servers"):
    CLAIMS[cause] = ["request_send", "server_wait", "server_reply"]
for cause in ("connect", "tls"):
    CLAIMS[cause] = CLAIMS[cause + "_server"] = [cause]
for cause in ("far_server", "far_servers", "reloads", "vary"):
    CLAIMS[cause] = ["connect", "tls", "request_send", "server_wait", "server_reply"]
for cause in (*DISK, "cache_dirs", "memory_small"):
    CLAIMS[cause] = ["swap_in_open", "swap_in_first", "swap_in_rest"]


def felt(request):
    """All that a client waited for, of a tunnel until it opened: the handshake of a bumped CONNECT is within total_ns, that on
    an https_port is not."""
    before = 0 if request["method"] == "CONNECT" else number(request["client_tls_ns"])
    return int(request["total_ns"]) - number(request["tunnel_ns"]) + number(request["accept_wait_ns"]) + before


def claims(finding, requests, read_from, held):
    """What the finding claims of each request: with all that the event loop was held, or with none of it.  How much of that
    was in which stage, no table says."""
    for r in requests:
        name = r["miss_reason"] if finding["cause"] in ("reloads", "vary") else \
            read_from.get((r["kid"], r["xid"])) if finding["cause"] in DISK else r["server"]
        mine = finding["culprit"] in ("-", *OWNERS, name)
        claim = sum(number(r[stage + "_ns"]) for stage in CLAIMS[finding["cause"]]) if mine else 0
        yield claim if held else max(claim - number(r["loop_held_ns"]), 0)


def finding_row(finding, requests, read_from, held):
    """The row's share and costs."""
    claimed = list(claims(finding, requests, read_from, held))
    totals = [felt(r) for r in requests]
    rests = [total - claim for total, claim in zip(totals, claimed)]
    return [100 * sum(claimed) / sum(totals), (median(totals) - median(rests)) / 1e6,
            (quantile(totals, 990) - quantile(rests, 990)) / 1e6]


def finding_agrees(finding, requests, read_from):
    """To the last digit, where the event loop was not held."""
    got = [float(finding[column]) for column in ("share_pct", "cost_p50_ms", "cost_p99_ms") if finding[column] != "-"]
    least, most = (finding_row(finding, requests, read_from, held) for held in (False, True))
    return len(got) == 3 and all(low - last <= value <= high + last for low, value, high, last in
                                 zip(least, got, most, (0.00051, 0.0000011, 0.0000011)))


def runs(finding, trace):
    """The finding's command shows rows."""
    words = [trace if word == "TRACE" else word for word in shlex.split(finding["command"])]
    text = subprocess.run([os.path.join(TOOLS, words[0]), "--quiet", "--no-comments", *words[1:]], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout
    return text.count(b"\n") > 1


def findings(trace, conditions, wanted):
    """Each condition (of --where, or an option), and the causes that are told of its requests."""
    _, swaps = dump(trace, "--table=swaps", "--where=direction == in")
    swaps.sort(key=lambda s: nanoseconds(s["time_s"]))
    read_from = {(s["kid"], s["xid"]): "%s:%s %s" % (s["store"], s["dir"], s["path"]) for s in swaps}
    for condition, causes in zip(conditions, wanted):
        where = [condition if condition.startswith("--") else "--where=" + condition] if condition else []
        comments, found = dump(trace, "--table=findings", *where)
        _, requests = dump(trace, *where)
        requests = [r for r in requests if r["outcome"] not in ("lost", "clock")]
        wrong = [f for f in found if not runs(f, trace) or
                 f["cause"] in CLAIMS and not finding_agrees(f, requests, read_from) or
                 f["cause"] in ("healthy", "too_few") and (f["cost_p50_ms"], f["cost_p99_ms"]) != ("-", "-")]
        check([f["cause"] for f in found] == causes and not wrong and comments["percentiles"] == "exact",
              "findings of %s: %s" % (condition or "all requests", ", ".join(causes)), [f["cause"] for f in found], wrong)


def waits(trace):
    """Rows of helpers and queries, from their events: (begin, kind and name, outcome, queue, total)."""
    _, events = dump(trace, "--table=events")
    begun, want = {}, []
    for event, following in zip(events, events[1:] + [None]):
        at = nanoseconds(event["time_s"])
        if event["event"] == "HELPER_BEGIN":
            begun[event["kid"], event["arg"]] = event
        elif event["event"] == "HELPER_END":
            begin = begun.pop((event["kid"], event["arg"]))
            asked = nanoseconds(begin["time_s"])
            want.append((asked, begin["aux"], event["aux"], nanoseconds(following["id"]) - asked, at - asked))
        elif event["event"] == "QUERY_END":
            want.append((nanoseconds(event["arg"]), event["aux"], following["aux"], 0, at - nanoseconds(event["arg"])))
    numbers = {"ok": "0", "timeout": "3"}
    _, rows = dump(trace, "--table=waits", "--where=kind != adaptation and outcome != unfinished")
    got = [(nanoseconds(row["time_s"]), "%s %s" % (row["kind"], row["name"]), numbers[row["outcome"]], int(row["queue_ns"]),
            int(row["total_ns"])) for row in rows]
    check(len(want) == 2 and got == want, "table waits, from the events", got, want)
    _, rows = dump(trace, "--table=services")
    sums = {"%s %s" % (row["kind"], row["name"]): row["max_ms"] for row in rows}
    check(all(sums[who] == ms(total) for _, who, _, _, total in want), "table services", sums, want)


def closes(trace):
    """Server connections that were closed, from their events: (conn, server, version, how long, TCP's numbers)."""
    _, events = dump(trace, "--table=events")
    opened, named, want = {}, {}, []
    for before, event, part in zip([{"event": ""}] + events, events, events[1:] + [{"event": ""}]):
        conn = event["kid"], event["arg"]
        if event["event"] == "CONNECT_BEGIN" and part["event"] == "PART_SERVER":
            named[conn] = part["aux"], "-" if part["id"] == "0" else part["id"]
        elif event["event"] == "CONNECT_END" and event["aux"] == "0":
            opened[conn] = nanoseconds(event["time_s"])
        elif event["event"] == "SERVER_CLOSE":
            conn, tcp = (event["kid"], event["id"]), ["-"] * 5
            idle = (["-"] * 2 if before["event"] != "SERVER_IDLE" or before["id"] != event["id"] else
                    [before["arg"] + "000000", ("squid", "server", "reset")[int(before["aux"])]])
            if part["event"] == "PART_TCP":
                tcp = [event["arg"], event["aux"] + "000", part["id"] + "000", part["arg"], part["aux"]]
            want.append((event["id"], *named[conn], str(nanoseconds(event["time_s"]) - opened[conn]), *tcp, *idle))
    _, rows = dump(trace, "--table=closes")
    got = [tuple(row[name] for name in ("conn", "server", "ip_version", "open_ns", "received_bytes", "rtt_ns", "least_rtt_ns",
                                        "sent_again", "out_of_order", "idle_ns", "closed_by")) for row in rows]
    check(len(want) == 2 and {row[-1] for row in want} == {"server", "-"} and got == want, "table closes, from the events", got, want)


# Of an event of table incidents: its name there, and the fields that name, count and took_ns are, that with its unit.
INCIDENTS = {"FATAL": ("fatal", "aux", None, None, 0), "CHILD_STARTED": ("child_started", "aux", "arg", None, 0),
             "CHILD_DIED": ("child_died", "aux", "id", None, 0), "SERVICE_STATE": ("service", "arg", None, None, 0),
             "PEER_PROBED": ("peer_probed", "arg", None, None, 0), "LIST_READ": ("list_read", "aux", "id", "arg", 1000),
             "DIR_REBUILT": ("dir_rebuilt", "aux", "id", "arg", 1000000),
             "SWAP_LOGS_WRITTEN": ("swap_logs_written", None, "id", "arg", 1000),
             "CLIENT_RESENT": ("client_resent", None, "aux", "arg", 1000)}


def result(event, part):
    """What became of a child, of a service, of a try, or of bytes for a client; part: the event behind it."""
    if event["event"] == "CHILD_DIED":
        code = int(event["arg"])
        return "unknown" if code >= 1024 else "signal %d" % (code - 256) if code >= 256 else "exit %d" % code
    if event["event"] == "SERVICE_STATE":
        return ["down", "up", "suspended"][int(event["aux"])]
    if event["event"] == "PEER_PROBED":
        return {"0": "connected", "111": "ECONNREFUSED", "113": "EHOSTUNREACH"}[event["aux"]]
    if event["event"] == "CLIENT_RESENT":
        return "unacknowledged" if part["event"] == "PART_CLIENT_RESENT" and part["arg"] != "0" else "acknowledged"
    return "-"


def incidents(trace):
    """What happened to Squid as a whole, from the events."""
    _, events = dump(trace, "--table=events")
    want = []
    for event, part in zip(events, events[1:] + [None]):
        if event["event"] in INCIDENTS:
            incident, name, count, took, unit = INCIDENTS[event["event"]]
            want.append((event["time_s"], incident, event[name] if name else "-", result(event, part), event[count] if count else "-",
                         str(int(event[took]) * unit) if took else "-"))
    _, rows = dump(trace, "--table=incidents")
    got = [tuple(row[name] for name in ("time_s", "incident", "name", "result", "count", "took_ns")) for row in rows]
    dirs = [row for row in got if row[1] == "dir_rebuilt"]
    check(dirs and dirs[0][2] == "diskd /var/cache/d", "a cache_dir has its type and path", dirs)
    named = [row if row[1] != "dir_rebuilt" else row[:2] + ("1",) + row[3:] for row in got]
    check(len({row[1] for row in want}) == len(INCIDENTS) and named == want, "table incidents, from the events", named, want)


def xids(trace):
    """Column xid of events: of records that name a transaction; of those of a store I/O, as table swaps has its; of operations of
    store I/Os; of their parts; and of no others."""
    _, swaps = dump(trace, "--table=swaps")
    reads = {(row["kid"], row["sio"]): row["xid"] for row in swaps}
    _, events = dump(trace, "--table=events")
    ops, last, wrong, known = {}, {}, [], 0
    for event in events:
        kid, name = event["kid"], event["event"]
        if name.startswith("PART_"):
            want = last.get(kid, "-")
        elif name.startswith(("SWAPIN_", "SWAPOUT_")):
            want = reads[kid, event["id"]]
        elif name in ("DISKOP_QUEUED", "DISKOP_BEGIN"):
            want = ops[kid, event["id"]] = reads.get((kid, event["arg"]), "-")
        elif name == "DISKOP_END":
            want = ops[kid, event["id"]]
        elif name.startswith(("WAIT_", "CALLS", "SAMPLE", "LOOP_", "CONN_", "CLIENT_", "REQUEST_PARSED", "SERVER_CLOSE", "SERVER_IDLE",
                              "RELEASE", "UNLINK", "DIGEST_RE", "START", "STOP", "CLOCK", "LOST", "HEARTBEAT", "RECONF")):
            want = "-"
        else:
            want = event["id"] if event["id"].isdigit() and event["id"] != "0" else "-"
        last[kid] = want
        known += want != "-"
        if event["xid"] != want:
            wrong.append((event, want))
    check(known > len(events) / 5 and not wrong, "xid of %d of %d events: %s" % (known, len(events), wrong[:2]))


def main():
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.path.join(TOOLS, "tests/unit/dump_traces"), os.path.join(work, "t")], check=True, timeout=60)
        trace = os.path.join(work, "t", "busy.sqt")
        _, requests = dump(trace)
        _, swaps = dump(trace, "--table=swaps")
        _, ios = dump(trace, "--table=ios")
        requests = [r for r in requests if r["outcome"] not in ("lost", "unfinished")]
        adds_up(requests, swaps, ios)
        stages_figure(trace, requests, "hit-stages", 150000000,
                      lambda r: r["class"].endswith("_hit") and r["status"] == "200")
        stages_figure(trace, requests, "miss-stages", 150000000, lambda r: r["class"] in ("miss", "refresh_miss"))
        summary(trace, requests, ios)
        waits(os.path.join(work, "t", "story"))
        closes(os.path.join(work, "t", "story"))
        incidents(os.path.join(work, "t", "story"))
        loop_time(os.path.join(work, "t", "held.sqt"))
        findings(trace, ["", "class == miss"], [["slow_clients", "disk_slow"], ["slow_clients"]])
    xids(os.path.join(SOURCE, "doc", "sample"))
    findings(os.path.join(SOURCE, "doc", "sample"),
             ["", "class == disk_hit", "dns_ns > 1ms or tls_ns > 1ms", "kid == 0", "client_body_ns > 20ms",
              "--since=80s", "--until=60s"],
             [["slow_server", "diskd_poll"], ["diskd_poll"], ["slow_name_server", "tls_server"], ["healthy"], ["slow_uploads"],
              ["slow_server", "diskd_poll"], ["slow_server"]])
    plan()


if __name__ == "__main__":
    sys.exit(main())
