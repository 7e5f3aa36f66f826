# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rule of findings claims, computed anew from printed tables: harm, share, since and until.

Numbers are [least, most]: how long the event loop was held in a stage is not always known, see findings_trace.py.
"""

import re

from findings_trace import ANSWER, CONNECT, MS, SECOND, SWAP_IN, When, key, number, sums

OWN = ("accept_wait", "access", "lookup", "peer_select", "reply_wait", "proxy_reply", "unaccounted")
# cause: whose, stages, ns of the mean request, ns of each in an episode
RULES = {
    "loop_blocked": ("all", ("loop_held",), 2, 0),
    "loop_computing": ("all", ("loop_held",), 2, 0),
    "not_running": ("all", ("loop_held",), 2, 0),
    "descriptors": ("listener", ("accept_wait",), 2, 0),
    "accept_wait": ("listener", ("accept_wait",), 2, 5),
    "client_tls": ("listener", ("client_tls",), 1, 5),
    "one_worker": ("worker", OWN, 0.5, 0),
    "slow_name_server": ("name_server", ("dns",), 2, 0),
    "name_server": ("all", ("dns",), 2, 0),
    "far_server": ("server", CONNECT + ANSWER, 2, 20),
    "far_servers": ("all", CONNECT + ANSWER, 2, 20),
    "reloads": ("reason", CONNECT + ANSWER, 2, 0),
    "vary": ("reason", CONNECT + ANSWER, 2, 0),
    "slow_server": ("server", ANSWER, 2, 20),
    "only_server": ("server", ANSWER, 2, 100),
    "lost_packets": ("lost", (), 2, 0),
    "slow_servers": ("all", ANSWER, 2, 100),
    "connect_server": ("attempts", ("connect",), 2, 20),
    "connect": ("all", ("connect",), 2, 20),
    "tls_server": ("server", ("tls",), 2, 10),
    "tls": ("all", ("tls",), 2, 10),
    "service_queue": ("adapter", ("adapt",), 10, 0),
    "slow_service": ("adapter", ("adapt",), 10, 0),
    "adaptation": ("all", ("adapt",), 10, 0),
    "rewriter_queue": ("rewriter", ("redirect",), 2, 0),
    "slow_rewriter": ("rewriter", ("redirect",), 2, 0),
    "url_helper": ("all", ("redirect",), 2, 0),
    "helper_queue": ("helper", ("helper",), 2, 0),
    "slow_helper": ("helper", ("helper",), 2, 0),
    "helpers": ("all", ("helper",), 2, 0),
    "access_checks": ("all", ("access",), 1, 1),
    "memory_small": ("all", SWAP_IN, 2, 15),
    "disk_opens": ("place", SWAP_IN, 2, 0),
    "disk_queue": ("place", SWAP_IN, 2, 0),
    "disk_slow": ("place", SWAP_IN, 2, 0),
    "diskd_poll": ("place", SWAP_IN, 2, 0),
    "disk_notice": ("place", SWAP_IN, 2, 0),
    "cache_dirs": ("all", SWAP_IN, 2, 0),
    "slow_clients": ("all", ("proxy_reply",), 20, 0),
    "slow_uploads": ("all", ("client_body",), 50, 0),
    "reply_wait": ("all", ("reply_wait",), 2, 0),
    "slow_leader": ("leader", ("collapsed_wait",), 2, 50),
    "collapsed": ("all", ("collapsed_wait",), 2, 50),
    "delay_pool": ("pool", ("held_back",), 2, 0),
    "held_back": ("all", ("held_back",), 2, 0),
    "closed_connections": ("failed", ("failed_tries",), 2, 20),
    "answered_tries": ("failed", ("failed_tries",), 2, 20),
    "failed_server": ("failed", ("failed_tries",), 2, 20),
    "failed_tries": ("all", ("failed_tries",), 2, 20),
    "late_neighbor": ("neighbor", ("peer_select",), 2, 5),
    "peer_selection": ("all", ("peer_select",), 2, 0),
    "lookup": ("all", ("lookup",), 2, 0),
    "unaccounted": ("all", ("unaccounted",), 2, 0),
}
KINDS = {"helper": ("auth", "external_acl", "cert_generation", "cert_validation", "helper"),
         "rewriter": ("url_rewrite", "store_id"), "adapter": ("adaptation",), "name_server": ("name_server",)}


# ---- whose a request's time is ----

def by_column(column):
    return lambda trace: {r.key: r.row[column] for r in trace.requests if r.row[column] != "-"}


def place(trace):
    """The cache_dir that it read from last."""
    swaps = [row for row in trace.table("swaps") if row["direction"] == "in"]
    swaps.sort(key=lambda row: number(row["time_s"]))
    return {key(s): "%s:%s%s" % (s["store"], s["dir"], " " + s["path"] if s["path"] != "-" else "")
            for s in swaps}


def worker(trace):
    return {r.key: "worker " + r.row["kid"] for r in trace.requests}


def listener(trace):
    """The port of its connection: a name in table listeners ends with its number."""
    names, ports = {}, {}
    for row in trace.table("listeners"):
        names.setdefault(row["kid"], []).append(row["listener"])
    for row in trace.events("CONN_ACCEPT"):
        its = [name for name in names.get(row["kid"], ()) if re.search("[ :]%s$" % row["aux"], name)]
        its = its or names.get(row["kid"], ())
        if len(its) == 1:
            ports[row["ring"], row["id"]] = its[0]
    return {r.key: ports[r.conn] for r in trace.requests if r.conn in ports}


def longest(kind):
    """Whom of a kind it waited for longest."""
    def find(trace):
        most = {}
        for row in trace.waits:
            if row["kind"] in KINDS[kind] and (key(row) not in most or row["ns"] > most[key(row)][0]):
                most[key(row)] = (row["ns"], row["who"])
        return {its: who for its, (_, who) in most.items()}
    return find


def name_server(trace):
    """Who joins another's look-up waits for the name server that answered last."""
    own, last, found = longest("name_server")(trace), {}, {}
    for r in trace.requests:
        ring = r.key[0]
        if r.key in own:
            last[ring] = own[r.key]
        if r.key in own or (r.ns("dns") and ring in last):
            found[r.key] = last[ring]
    return found


def leader(trace):
    """The server of the request that it follows."""
    rings = {r.row["kid"]: r.key[0] for r in trace.requests}
    follows = {(row["ring"], row["id"]): (rings.get(row["aux"].replace("-", "0")), row["arg"])
               for row in trace.events("COLLAPSED")}
    return {its: trace.of[other].row["server"] for its, other in follows.items()
            if other in trace.of and trace.of[other].row["server"] != "-"}


def pool(trace):
    return {(row["ring"], row["id"]): "delay pool " + row["aux"] for row in trace.events("SERVER_HELD")
            if number(row["aux"])}


def tries(trace):
    """{key: attempts that brought a connection, or the last that did not}, in order."""
    found = {}
    for row in sorted(trace.table("connections"), key=lambda row: number(row["time_s"])):
        found.setdefault(key(row), []).append(row)
    return found


def failed(trace):
    """The server of the last try after which another followed."""
    return {its: rows[-2]["server"] for its, rows in tries(trace).items()
            if len(rows) > 1 and its in trace.of and trace.of[its].has("failed_tries")}


def neighbor(trace):
    return {(row["ring"], row["id"]): row["arg"] for row in trace.events("NEIGHBOR_ANSWER")}


OF = {"server": by_column("server"), "reason": by_column("miss_reason"), "place": place, "worker": worker,
      "listener": listener, "leader": leader, "pool": pool, "failed": failed, "neighbor": neighbor,
      "name_server": name_server, **{kind: longest(kind) for kind in KINDS if kind != "name_server"}}


# ---- claims ----

class Claim:
    """What a rule claims of a request."""

    def __init__(self, request, least, most, slow):
        self.request, self.least, self.most = request, max(least, 0), max(most, 0)
        self.slow = slow  # without what the bytes of the reply need


def charged(trace, stages, request):
    if stages == ("loop_held",):
        least, most = trace.held_while(request, "tunnel")
        return [request.ns("loop_held") - most, request.ns("loop_held") - least]
    ns = request.ns(*stages)
    if request.bumped:  # its handshake is within the request, where it was charged to reply_wait, or to no stage
        inside = min(request.ns("client_tls"), request.ns("reply_wait", "unaccounted"))
        wait = min(inside, request.ns("reply_wait"))
        ns -= ("client_tls" in stages) * (request.ns("client_tls") - inside)
        ns -= ("reply_wait" in stages) * wait + ("unaccounted" in stages) * (inside - wait)
    least, most = trace.held_while(request, *stages)
    return [ns - most, ns - least]


def claims(trace, by, stages, culprit):
    if by == "attempts":
        return attempts(trace, culprit)
    if by == "lost":
        return lost(trace)
    whose = OF[by](trace) if by != "all" else {}
    found = []
    for r in trace.requests:
        if by != "all" and whose.get(r.key) != culprit:
            continue
        least, most = charged(trace, stages, r)
        reply = r.ns("server_reply") if "server_reply" in stages else 0
        found.append(Claim(r, least, most, (least + most) // 2 - reply + r.slow(reply) if reply else (least + most) // 2))
    return found


def attempts(trace, culprit):
    """Tries to connect count for the server that they were meant for, whoever answers in the end."""
    spent = {}
    for row in trace.table("connections"):
        if row["server"] == culprit and row["reused"] != "1" and row["outcome"] not in ("lost", "clock") and \
                key(row) in trace.of:
            spent[key(row)] = spent.get(key(row), 0) + number(row["connect_ns"])
    found = []
    for its, ns in spent.items():
        r = trace.of[its]
        least, most = trace.held_while(r, "connect", "failed_tries")
        ns = min(ns, r.felt)
        found.append(Claim(r, ns - most, ns - least, ns - (least + most) // 2))
    return found


def lost(trace):
    """What TCP waits before it sends a packet again: 1 s or 3 s for a SYN, 200 ms for others."""
    found = []
    for r in trace.requests:
        connect, ns = r.ns("connect"), 0
        if 0 <= connect - SECOND < SECOND // 3:
            ns = SECOND
        elif 0 <= connect - 3 * SECOND < SECOND // 3:
            ns = 3 * SECOND
        ns += sum(SECOND // 5 for stage in ("server_wait", "server_reply") if r.ns(stage) >= SECOND // 5)
        found.append(Claim(r, ns, ns, 0))
    return found


def requests_of(trace, by, finding, its):
    """{window: [0, count]} of the culprit's requests, also of those that claim nothing."""
    if by == "attempts":
        whose = OF["server"](trace)
        found = sums((r.begin, 0) for r in trace.requests if whose.get(r.key) == finding["culprit"])
        return found or sums((r.begin, 0) for r in trace.requests)
    return sums((c.request.begin, 0) for c in its)


def rule(trace, finding):
    """{column: value, or (least, most)}."""
    by, stages, mean, _ = RULES[finding["cause"]]
    accepts = "wait for Squid to accept" in finding["sentence"]
    if finding["cause"] in ("loop_blocked", "loop_computing", "not_running") and accepts:
        # Who waits to be accepted waits for what holds the event loop.
        by, stages = "listener", ("accept_wait",)
        port = finding["sentence"].split("new connections to ")[1].split(" that wait for Squid")[0]
        its = claims(trace, by, stages, port)
    else:
        its = claims(trace, by, stages, "-" if by == "all" else finding["culprit"])
    least, most = sum(c.least for c in its), sum(c.most for c in its)
    whose = requests_of(trace, by, finding, its)
    felt = sums((c.request.begin, c.slow) for c in its if c.slow >= MS // 2)
    usual = sum(ns for ns, _ in felt.values()) / max(sum(count for _, count in whose.values()), 1)
    bad = [window for window in sorted(felt) if window in whose and
           2 * felt[window][0] >= usual * whose[window][1] and felt[window][0] >= mean * MS * whose[window][1]]
    sizes = [felt[window][0] / whose[window][1] for window in bad]
    when = When(bad, sorted(whose), sizes=sizes) if bad else None
    return {"waiting_s": (least, most), "requests": (sum(c.least > 0 for c in its), sum(c.most > 0 for c in its)),
            "failures": 0, "share_pct": (100 * least / trace.felt, 100 * most / trace.felt),
            "time_s": when.since if when else 0, "until_s": min(when.until, trace.length) if when else trace.length,
            "pattern": when.pattern if when else "throughout"}


def episode(trace, finding):
    """The same of a cause that is bad for some time only: beyond the median window."""
    by, stages, _, each = RULES[finding["cause"]]
    its = claims(trace, by, stages, "-" if by == "all" else finding["culprit"])
    everybody = sums((r.begin, r.felt) for r in trace.requests)
    requests = requests_of(trace, by, finding, its)
    felt = sums((c.request.begin, c.slow) for c in its if c.slow >= MS // 2)
    windows = sorted(requests)
    ratios = sorted(felt.get(window, (0, 0))[0] / requests[window][1] for window in windows)
    usual = ratios[len(ratios) // 2]
    bad = [window for window in windows if window in felt and
           felt[window][0] >= 3 * usual * requests[window][1] and
           100 * felt[window][0] >= 30 * everybody[window][0] and
           felt[window][0] // felt[window][1] >= max(50, each) * MS]
    if not bad:
        return {"bad windows": 1}
    beyond = sum(felt[window][0] - usual * requests[window][1] for window in bad)
    when = When(bad, windows)
    return {"waiting_s": beyond, "requests": sum(felt[window][1] for window in bad), "failures": 0,
            "share_pct": 100 * beyond / trace.felt, "time_s": when.since, "until_s": min(when.until, trace.length),
            "pattern": when.pattern}


def of_a_rule(trace, finding):
    return (episode if "At other times it is" in finding["sentence"] else rule)(trace, finding)


def dropped(trace, finding):
    """Connections that the kernel dropped."""
    drops = max(number(row["drops"]) for row in trace.table("listeners") if row["listener"] == finding["culprit"])
    return {"waiting_s": 0, "requests": drops, "failures": drops, "share_pct": "-", "time_s": 0, "until_s": trace.length}


CAUSES = {**{cause: of_a_rule for cause in RULES}, "backlog_full": dropped}
