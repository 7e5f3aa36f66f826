# SPDX-License-Identifier: GPL-2.0-or-later
"""What findings say of requests that fail without a 5xx, of what flows, and of what hangs, computed anew."""

from findings_looks import failures, harm, made_by_squid
from findings_rules import longest, name_server, place
from findings_trace import ANSWER, CONNECT, MS, RATE, SECOND, SWAP_IN, number, spell

REFUSED_BY_OTHERS = (401, 403, 404, 407)


def span(rows):
    return {"since": min(r.begin for r in rows), "until": max(r.end for r in rows)}


def fetched(trace):
    """{key: bytes read from servers}"""
    found = {}
    for row in trace.events("SERVER_READ"):
        its = (row["ring"], row["id"])
        found[its] = found.get(its, 0) + number(row["arg"])
    return found


# ---- requests that fail in another way ----

def is_cut(r, came, made, outcome="aborted"):
    """The client got all that the server sent before it closed, and that was not the whole."""
    return r.row["outcome"] == outcome and r.key not in made and not r.tunnel and r.row["server"] != "-" and \
        came.get(r.key, 0) > 0 and r.has("server_until") and r.ns("server_until") < r.ns("total") and \
        r.sent >= came[r.key]


def without_request(trace):
    """Whether bytes had come for a request, but no whole one, and its client waited for half a second."""
    reads = {}
    for row in trace.events("CLIENT_READ", "REQUEST_PARSED"):
        reads.setdefault((row["ring"], row["id"]), []).append((number(row["time_s"]), row["event"]))

    def is_without(r):
        before = [row for row in reads.get(r.conn, ()) if row[0] <= r.begin]
        since = max((i + 1 for i, (_, event) in enumerate(before) if event == "REQUEST_PARSED"), default=0)
        return before[since:] and r.begin - before[since][0] >= 500 * MS
    return is_without


def failed_otherwise(trace):
    """{cause: requests} of those whose status is no 5xx, and that no helper failed."""
    came, made, found = fetched(trace), made_by_squid(trace), {}
    broken = {r.key for (cause, _), rows in failures(trace).items() if cause == "failed_helper" for r in rows}
    adapted = longest("adapter")(trace)
    shaken = {(row["ring"], row["id"]) for row in trace.events("CLIENT_TLS_END") if number(row["aux"]) == 0}
    unparsed = without_request(trace)
    last = {(row["ring"], row["id"]): number(row["time_s"]) for row in trace.events("SERVER_READ")}
    for r in trace.requests:
        status, kind = number(r.row["status"]), r.row["class"]
        if status >= 500 or r.key in broken or (kind == "negative_hit" and status >= 400):
            continue
        if is_cut(r, came, made, "timeout") and r.begin + r.ns("server_until") - last.get(r.key, 0) >= 500 * MS:
            cause = "paused"
        elif r.row["outcome"] == "timeout" and (r.row["size_bytes"] == "-" or r.sent < number(r.row["size_bytes"])):
            cause = "timed_out"
        elif is_cut(r, came, made):
            cause = "cut_replies"
        elif r.key in made and r.row["server"] == "-" and 400 <= status < 500 and status not in REFUSED_BY_OTHERS:
            cause = "refused_requests"
        elif (not status or (kind == "internal" and r.row["outcome"] == "aborted")) and r.has("client_tls") and \
                r.conn not in shaken:
            cause = "failed_client_tls"
        elif not status and r.row["method"] == "-" and not r.has("client_tls") and unparsed(r):
            cause = "no_request"
        elif kind == "internal" and status == 200 and not r.has("client_tls") and r.key in adapted:
            cause = "adapted"
        elif kind == "internal" and status in (301, 302, 307):
            cause = "redirected"
        elif status == 403 and kind == "denied":
            cause = "denied"
        else:
            continue
        found.setdefault(cause, []).append(r)
    return found


def otherwise(trace, finding):
    paused = finding["cause"] == "timed_out" and finding["culprit"] != "client_lifetime"
    its = failed_otherwise(trace).get("paused" if paused else finding["cause"], [])
    if paused:
        its = [r for r in its if r.row["server"] == finding["culprit"]]
    if finding["cause"] == "cut_replies" and finding["culprit"] != "servers":
        its = [r for r in its if r.row["server"] == finding["culprit"]]
    if not its:
        return {"failed requests": 5}
    return harm(trace, sum(r.felt for r in its), len(its), len(its), share=False, when=spell(trace, its))


def server_refuses(trace, finding):
    """The longest row of answers that are redirects or 4xx."""
    run, most = [], []
    for r in trace.requests:
        status = number(r.row["status"])
        if r.row["server"] == finding["culprit"] and r.row["reused_conn"] != "-" and 0 < status < 500 and not r.tunnel:
            run = run + [r] if status >= 300 and status != 304 else []
            most = run if len(run) > len(most) else most
    return harm(trace, 0, len(most), len(most), share=False, since=most[0].begin, until=most[-1].end)


def silent_tunnels(trace, finding):
    its = [r for r in trace.requests if r.row["class"] == "tunnel" and r.row["server"] == finding["culprit"] and
           r.row["status"] == "200" and r.sent <= 300]
    return harm(trace, sum(r.ns("tunnel") for r in its), len(its), len(its), share=False, when=spell(trace, its))


# ---- who is asked ----

def asked(trace, finding):
    its = [row for row in trace.waits if row["xid"] != "-" and row["kind"] != "name_server" and
           finding["culprit"] == (row["name"] if row["kind"] == "adaptation" else row["who"])]
    return harm(trace, sum(row["ns"] for row in its), len(its), since=min(row["begin"] for row in its),
                until=max(row["begin"] + row["ns"] for row in its))


def dead_ip_version(trace, finding):
    version, server = finding["culprit"][3], finding["culprit"].partition(" to ")[2]
    its = [row for row in trace.table("connections") if row["ip_version"] == version and row["reused"] != "1" and
           row["outcome"] not in ("lost", "clock", "unfinished", "complete") and row["tls_ns"] == "-" and
           row["server"] == (server or row["server"])]
    begins = [number(row["time_s"]) for row in its]
    return harm(trace, sum(number(row["connect_ns"]) for row in its), len(its), since=min(begins),
                until=max(begin + number(row["connect_ns"]) for begin, row in zip(begins, its)))


def dying_children(trace, finding):
    its = [number(row["time_s"]) for row in trace.table("incidents") if row["incident"] == "child_died" and
           row["name"] == finding["culprit"]]
    return harm(trace, 0, 0, share=False, since=its[0], until=its[-1])


# ---- replies on their way ----

def slow(ns, size):
    return max(ns - size * SECOND / RATE, 0)


def full_line(trace, finding):
    came, waited, bodies = fetched(trace), [], []
    to_clients = finding["culprit"] == "line to clients"
    stages = ("proxy_reply",) if to_clients else (*CONNECT, *ANSWER, "reply_wait", "collapsed_wait")
    for r in trace.requests:
        waited.append(slow(r.ns(*stages), max(r.sent, came.get(r.key, 0))))
        took, size = (r.ns("proxy_reply"), r.sent) if to_clients else (r.ns("server_reply"), came.get(r.key, 0))
        until = r.end if to_clients else r.begin + r.ns("server_until")
        left = r.row["outcome"] == "aborted" and r.ns("server_until") == r.ns("total")  # it went on without its client
        if took > 0 and size > 0 and slow(took, size) > 0 and (to_clients or r.has("server_until") and not left):
            bodies.append((until - took, until))
    return harm(trace, sum(waited), sum(ns > 0 for ns in waited), since=min(bodies)[0], until=max(b for _, b in bodies))


def queue_at_server(trace, finding):
    its = [r for r in trace.requests if r.row["server"] == finding["culprit"] and r.ns("server_wait") > 0 and
           r.has("server_from") and r.row["class"] != "tunnel"]
    quickest = min(r.ns("server_wait") for r in its)
    return harm(trace, sum(r.ns("server_wait") - quickest for r in its), len(its), **span(its))


def stopped_bodies(trace, finding):
    came = fetched(trace)
    its = [r for r in trace.requests if r.row["server"] == finding["culprit"] and came.get(r.key, 0) > 0 and
           r.row["outcome"] in ("aborted", "unfinished") and r.ns("server_reply") >= SECOND and
           r.row["class"] != "tunnel" and came[r.key] * SECOND < 150 * r.ns("server_reply")]
    return harm(trace, sum(r.ns("server_reply") for r in its), len(its), len(its), **span(its))


class OnItsWay:
    """Requests for objects that other requests fetch, in the order in which they end."""

    def __init__(self, trace):
        self.objects, self.joined, self.beside, self.alone, self.vain = {}, {}, {}, {}, {}
        for r in trace.requests:
            if r.row["object"] != "-" and r.row["class"] != "tunnel":
                fetch = self.objects.setdefault((r.key[0], r.row["object"]), {"server": None, "waiting": []})
                (self.fetch if r.has("server_from") else self.join)(fetch, r)

    def join(self, fetch, r):
        if r.ns("reply_wait") < MS:
            return
        if fetch["server"] is not None and r.begin < fetch["alive"] and r.end >= fetch["until"]:
            self.joined.setdefault(fetch["server"], []).append(r)
            fetch["alive"] = r.end
        else:
            fetch["waiting"].append(r)

    def fetch(self, fetch, r):
        server, begin = r.row["server"], r.begin + r.ns("server_from")
        if r.ns("collapsed_wait") >= MS:
            self.vain.setdefault(server, []).append(r)
        if fetch["waiting"] and max(w.end for w in fetch["waiting"]) > begin:
            self.joined.setdefault(server, []).extend(fetch["waiting"])
        if r.row["miss_reason"] != "uncacheable":
            beside = fetch["server"] == server and begin < fetch["until"]
            (self.beside if beside else self.alone).setdefault(server, []).append(r)
        fetch.update(server=server, until=r.end, alive=r.end, waiting=[])


def joined_fetch(trace, finding):
    way = OnItsWay(trace)
    its = way.joined.get(finding["culprit"]) or [r for rows in way.joined.values() for r in rows]
    return harm(trace, sum(r.ns("reply_wait") for r in its), len(its), **span(its))


def fetched_at_once(trace, finding):
    way = OnItsWay(trace)
    its, alone = way.beside[finding["culprit"]], [r.ns(*CONNECT, *ANSWER) for r in way.alone[finding["culprit"]]]
    return harm(trace, sum(r.ns(*CONNECT, *ANSWER) for r in its) - len(its) * sum(alone) / len(alone), len(its),
                **span(its))


def collapsed_in_vain(trace, finding):
    its = OnItsWay(trace).vain[finding["culprit"]]
    return harm(trace, sum(r.ns("collapsed_wait") for r in its), len(its), **span(its))


# ---- what hangs ----

def hanging(trace, finding):
    """Requests that are open, by whom they wait for in their last stage, and since when."""
    spans, asks = trace.stages(), {kind: longest(kind)(trace) for kind in ("helper", "rewriter", "adapter")}
    names, places, its, begun = name_server(trace), place(trace), [], []
    for r in trace.requests:
        stages = spans.get((r.row["kid"], r.key[1], r.begin))
        if r.row["outcome"] != "unfinished" or not stages:
            continue
        stage, since, _ = stages[-1]
        whom = {"dns": names, "helper": asks["helper"], "redirect": asks["rewriter"], "adapt": asks["adapter"],
                **{part: places for part in SWAP_IN}}.get(stage)
        name = whom.get(r.key, "-") if whom is not None else r.row["server"]
        if name == finding["culprit"] and (whom is not None or stage in CONNECT + ANSWER + ("collapsed_wait",)):
            its.append(r.end - since)
            begun.append(since)
    if not its:
        return {"requests that hang": 3}
    return harm(trace, sum(its), len(its), since=min(begun), until=trace.length)


CAUSES = {
    **{cause: otherwise for cause in ("cut_replies", "denied", "redirected", "refused_requests", "failed_client_tls",
                                      "timed_out", "adapted", "no_request")},
    "server_refuses": server_refuses, "silent_tunnels": silent_tunnels, "asked": asked, "full_line": full_line,
    "dead_ip_version": dead_ip_version, "dying_children": dying_children, "queue_at_server": queue_at_server,
    "stopped_bodies": stopped_bodies, "joined_fetch": joined_fetch, "fetched_at_once": fetched_at_once,
    "collapsed_in_vain": collapsed_in_vain, "hanging": hanging,
}
