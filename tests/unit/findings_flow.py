# SPDX-License-Identifier: GPL-2.0-or-later
"""What findings say of requests that fail without a 5xx, of what flows, and of what hangs, computed anew."""

import bisect
import re

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
    """Whether bytes had come for a request, but no whole one, and its client waited for half a second; or they were read in the
    pass of the event loop in which it ended."""
    reads, passes = {}, {}
    for row in trace.events("CLIENT_READ", "REQUEST_PARSED", "WAIT_BEGIN", "WAIT_END"):
        if row["event"].startswith("WAIT_"):
            passes.setdefault(row["ring"], []).append((number(row["time_s"]), row["event"]))
        else:
            reads.setdefault((row["ring"], row["id"]), []).append((number(row["time_s"]), row["event"]))

    def is_turned_away(r, read):
        waits = passes.get(r.row["ring"], [])
        last = bisect.bisect_right(waits, (r.begin, "WAIT_END")) - 1
        return last >= 0 and waits[last][1] == "WAIT_END" and read >= waits[last][0]

    def is_without(r):
        before = [row for row in reads.get(r.conn, ()) if row[0] <= r.begin]
        since = max((i + 1 for i, (_, event) in enumerate(before) if event == "REQUEST_PARSED"), default=0)
        return before[since:] and (r.begin - before[since][0] >= 500 * MS or is_turned_away(r, before[-1][0]))
    return is_without


def health_check(trace):
    """Whether a client left its TLS handshake within 2 ms, and nothing is known to have come in it: that is known of tunnels
    that are bumped."""
    ends, events = {}, {}
    for row in trace.events("CLIENT_READ", "REQUEST_PARSED", "CLIENT_TLS_BEGIN", "CLIENT_TLS_END"):
        its = events.setdefault((row["ring"], row["id"]), [])
        if row["event"] == "CLIENT_TLS_END" and number(row["aux"]) == 3:
            begun = [at for at, event, _ in its if event == "CLIENT_TLS_BEGIN"][-1]
            came = any(event == "CLIENT_READ" and at > begun for at, event, _ in its)
            early = [aux for _, event, aux in its if event == "REQUEST_PARSED"][-1:]
            ends[row["ring"], row["id"]] = begun, came or any(early)
        its.append((number(row["time_s"]), row["event"], number(row["aux"])))

    def is_check(r):
        begun, came = ends.get(r.conn, (0, True))
        return r.ns("client_tls") < 2 * MS and r.conn in ends and not (came and begun >= r.begin)
    return is_check


def failed_otherwise(trace):
    """{cause: requests} of those whose status is no 5xx, and that no helper failed."""
    came, made, found = fetched(trace), made_by_squid(trace), {}
    broken = {r.key for (cause, _), rows in failures(trace).items() if cause == "failed_helper" for r in rows}
    adapted = longest("adapter")(trace)
    shaken = {(row["ring"], row["id"]) for row in trace.events("CLIENT_TLS_END") if number(row["aux"]) == 0}
    unparsed, checks = without_request(trace), health_check(trace)
    last = {(row["ring"], row["id"]): number(row["time_s"]) for row in trace.events("SERVER_READ")}
    half = {(row["ring"], row["id"]) for row in trace.events("ADAPT_FAILED") if number(row["aux"]) == 9}
    for r in trace.requests:
        status, kind = number(r.row["status"]), r.row["class"]
        if (status >= 500 and not r.was_open) or r.key in broken or (kind == "negative_hit" and status >= 400):
            continue
        if r.key in half:
            cause = "half_answers"
        elif r.tunnel and r.row["outcome"] == "timeout" and r.ns("tunnel") < 60 * SECOND:
            cause = "tunnel_timeouts"
        elif is_cut(r, came, made, "timeout") and r.begin + r.ns("server_until") - last.get(r.key, 0) >= 500 * MS:
            cause = "paused"
        elif r.row["outcome"] == "timeout" and (r.row["size_bytes"] == "-" or r.sent < number(r.row["size_bytes"])):
            cause = "timed_out"
        elif is_cut(r, came, made):
            cause = "cut_replies"
        elif kind == "denied" and status not in (401, 407):
            cause = "denied"
        elif r.key in made and r.row["server"] == "-" and 400 <= status < 500 and status not in REFUSED_BY_OTHERS:
            cause = "refused_requests"
        elif (not status or (kind == "internal" and r.row["outcome"] == "aborted")) and r.has("client_tls") and \
                r.conn not in shaken:
            if checks(r):
                continue
            cause = "failed_client_tls"
        elif not status and r.row["method"] == "-" and not r.has("client_tls") and unparsed(r):
            cause = "no_request"
        elif kind == "internal" and status == 200 and not r.has("client_tls") and r.key in adapted:
            cause = "adapted"
        elif kind == "internal" and status in (301, 302, 307):
            cause = "redirected"
        else:
            continue
        found.setdefault(cause, []).append(r)
    return found


def otherwise(trace, finding):
    paused = finding["cause"] == "timed_out" and finding["culprit"] != "client_lifetime"
    its = failed_otherwise(trace).get("paused" if paused else finding["cause"], [])
    if paused:
        its = [r for r in its if r.row["server"] == finding["culprit"]]
    if finding["culprit"] == "only-if-cached":
        its = failures(trace).get((finding["cause"], finding["culprit"]), [])
    ports = re.search(r"because (\S+) does not have their port", finding["sentence"])
    if ports:
        its = [r for r in its if r.row["denied_by"] == ports[1]]
    if finding["cause"] == "cut_replies" and finding["culprit"] != "servers":
        its = [r for r in its if r.row["server"] == finding["culprit"]]
    if not its:
        return {"failed requests": 5}
    return harm(trace, sum(r.felt for r in its), len(its), len(its), share=False, when=spell(trace, its))


def server_refuses(trace, finding):
    """The longest row of answers that are redirects or 4xx; of one method, where it says so, of those that are 4xx.  Or, of
    servers that refuse alike, all with that status."""
    if finding["culprit"] == "servers":
        status = re.search(r" with status (\d+)\. ", finding["sentence"])[1]
        its = [r for r in trace.requests if r.row["status"] == status and r.row["reused_conn"] != "-" and not r.tunnel]
        return harm(trace, 0, len(its), len(its), share=False, when=spell(trace, its))
    run, most, method = [], [], re.search(r"requests of method (\S+) in a row", finding["sentence"])
    for r in trace.requests:
        status = number(r.row["status"])
        if method and r.row["method"] != method[1]:
            continue
        if r.row["server"] == finding["culprit"] and r.row["reused_conn"] != "-" and 0 < status < 500 and \
                (method or not r.tunnel):
            run = run + [r] if status >= (400 if method else 300) and status != 304 else []
            most = run if len(run) > len(most) else most
    return harm(trace, 0, len(most), len(most), share=False, since=most[0].begin, until=most[-1].end)


def contradicting_answers(trace, finding):
    """All errors of these servers that are not about their clients."""
    made, of_clients = made_by_squid(trace), (401, 407, 408, 411, 412, 413, 415, 416, 417, 428, 429,
                                                           431, 503)
    its = [r for r in trace.requests if r.row["server"] in finding["culprit"].split() and r.key not in made and
           not r.tunnel and r.row["reused_conn"] != "-" and number(r.row["status"]) >= 400 and
           number(r.row["status"]) not in of_clients]
    return harm(trace, sum(r.felt for r in its), len(its), len(its), share=False, since=min(r.begin for r in its),
                until=max(r.end for r in its))


def clock_set(trace, _):
    """What failed within 2 s of the largest step forward of the time of day, and what asks about expired objects after it, in as
    long a time as before, if that is a fifth of all, and four times as often as before."""
    steps = [row for row in trace.table("clock_steps") if row["kind"] == "wall_forward"]
    step = max(steps, key=lambda row: abs(int(row["step_ns"])))
    at, until = number(step["time_s"]), number(step["until_s"])
    made = made_by_squid(trace)
    failed = [r for r in trace.requests if at - SECOND // 2 <= r.end <= until + 2 * SECOND and
              (r.row["outcome"] == "timeout" or r.key in made and number(r.row["status"]) >= 500)]
    before = [r for r in trace.requests if r.end < until]
    equal = until + at - min(r.end for r in trace.requests)
    since = [r for r in trace.requests if until <= r.end <= equal]
    old, new = ([r for r in rows if r.row["miss_reason"] == "stale"] for rows in (before, since))
    if len(new) < 20 or len(new) * 5 < len(since) or len(new) * len(before) < 4 * len(old) * len(since) or \
            len(before) < 100:
        new = []
    return harm(trace, sum(r.felt for r in failed + new), len(failed) + len(new), len(failed), share=False, since=at,
                until=min(trace.length, equal if new else until + 2 * SECOND))


def silent_tunnels(trace, finding):
    its = [r for r in trace.requests if r.row["class"] == "tunnel" and r.row["server"] == finding["culprit"] and
           r.row["status"] == "200" and r.sent <= 300]
    return harm(trace, sum(r.ns("tunnel") for r in its), len(its), len(its), share=False, when=spell(trace, its))


def closed_tunnels(trace, finding):
    its = silent_tunnels(trace, finding)
    return dict(its, waiting_s=0)


def slow_tunnel(trace, finding):
    """Tunnels that wait for 300 ms or longer, for what a pool, the server's first bytes, or its taking of uploads takes."""
    pools, uploaded, came, last = {}, {}, {}, {}
    for row in trace.events("TUNNEL_END", "PART_TUNNEL_HELD", "PART_TUNNEL_UPLOAD", "PART_TUNNEL_DOWNLOAD"):
        if row["event"] == "TUNNEL_END":
            last[row["ring"]] = row["ring"], row["id"]
        elif row["event"] == "PART_TUNNEL_HELD":
            pools[last[row["ring"]]] = "delay pool " + row["aux"]
        else:
            (uploaded if row["event"] == "PART_TUNNEL_UPLOAD" else came)[last[row["ring"]]] = number(row["id"])

    def beyond(r, ns, size):
        ns -= size * SECOND // RATE
        return ns if ns * 10 >= r.ns("tunnel") else 0

    def waits(r):
        held, tls = r.ns("tunnel_held"), r.has("tunnel_rest")
        return {"held_tunnels": held,
                "late_tunnels": r.ns("tunnel_first") - held if tls and r.has("tunnel_first") and uploaded.get(r.key) else 0,
                "slow_tunnels": beyond(r, r.ns("tunnel_rest"), came.get(r.key, 0)) if tls else 0,
                "slow_tunnel_uploads": beyond(r, r.ns("tunnel_unsent"), uploaded.get(r.key, 0))}[finding["cause"]]
    its = [r for r in trace.requests if r.tunnel and waits(r) >= 300 * MS and
           finding["culprit"] in (r.row["server"], pools.get(r.key), "servers", "line to servers")]
    tunnels = [r for r in trace.requests if r.tunnel and r.key in pools]
    return harm(trace, sum(waits(r) for r in its), len(its), share=False, when=spell(trace, its, tunnels))


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


class Connection:
    def __init__(self, row):
        self.begin = number(row["time_s"])


def over_limit(trace, _):
    its = [Connection(row) for row in trace.events("CONN_OVER_LIMIT")]
    accepted = [Connection(row) for row in trace.events("CONN_ACCEPT")]
    return harm(trace, 0, 0, share=False, when=spell(trace, its, its + accepted))


def resent(trace, gone):
    """Connections with segments that were sent again: what they waited, at most 200 ms and a round trip for each."""
    pairs = trace.events("CLIENT_RESENT", "PART_CLIENT_RESENT")
    its, waited = [], 0
    for row, part in zip(pairs[::2], pairs[1::2]):
        busy, again = number(row["arg"]) * 1000, number(row["aux"])
        if (busy >= SECOND and number(part["arg"]) > 0) == gone:
            its.append(Connection(row))
            waited += busy if gone else min(busy, again * (200 * MS + number(part["aux"]) * 1000))
    when = spell(trace, its, [Connection(row) for row in trace.events("CONN_CLOSE")])
    when.since = max(when.since - waited / len(its), 0)
    # A trace may say any time; a cell holds 292 years.
    return harm(trace, min(waited, (1 << 63) - 1), 0, len(its) if gone else 0, share=False, when=when)


def undelivered(trace, _):
    return resent(trace, True)


def lost_to_clients(trace, _):
    return resent(trace, False)


def pipelined(trace, _):
    """Requests whose first bytes came before the one before them on their connection was over."""
    last, its, waited = {}, [], 0
    for r in trace.requests:
        before = r.begin - r.ns("client_connect")
        end, first = last.get(r.conn, (None, None))
        ns = 0
        if end is not None and before <= end and abs(r.begin - end) <= 10 * MS:
            first = before if first is None else min(first, before)
            ns = min(end, r.begin) - first
        if ns >= 20 * MS:
            its.append(r)
            waited += ns
        last[r.conn] = (r.end, first if ns >= 20 * MS else None)
    return harm(trace, waited, len(its), share=False, when=spell(trace, its))


def worked(trace):
    """How long Squid had worked until a time: in long passes, and in the one under way."""
    works = [(number(row["time_s"]) + int(row["wait_ns"]), int(row["work_ns"])) for row in trace.table("loops")]
    return lambda at: sum(ns if begin + ns <= at else at - begin for begin, ns in works
                          if begin <= at < begin + ns or begin + ns <= at and ns >= 5 * MS)


def sending(reads, header, held):
    """From the read of the first byte of a header to the last one, which ends it, without what Squid did meanwhile."""
    size, first = 0, len(reads)
    while first and size < header:
        first -= 1
        size += reads[first][1]
    if size < header or not reads:
        return 0
    begin, end = reads[first][0], reads[-1][0]
    return max(end - begin - max(held(end) - held(begin), 0), 0)


def slow_headers(trace, _):
    """From the first read of a header, while no request is open on its connection, to the last one before it was parsed."""
    reads, its, waited, begins = {}, [], 0, {(r.conn, r.begin): r for r in trace.requests}
    held = worked(trace)
    for row in trace.events("CLIENT_READ", "REQUEST_PARSED", "XACT_BEGIN"):
        conn, at = (row["ring"], row["arg" if row["event"] == "XACT_BEGIN" else "id"]), number(row["time_s"])
        if row["event"] == "CLIENT_READ":
            if not any(r.conn == conn and r.begin < at < r.end for r in trace.requests):
                reads.setdefault(conn, []).append((at, int(row["arg"])))
        elif row["event"] == "REQUEST_PARSED":
            reads[conn] = sending(reads.pop(conn, []), int(row["arg"]), held) if row["aux"] == "0" else 0
        else:
            ns = reads.pop(conn, 0)
            if isinstance(ns, int) and ns >= 50 * MS and (conn, at) in begins:
                its.append(begins[conn, at])
                waited += ns
    return harm(trace, waited, len(its), share=False, when=spell(trace, its))


def not_accepted(trace, _):
    """The longest row of passes in which the acceptor ran longest, and nothing was accepted."""
    accepts = sorted(number(row["time_s"]) for row in trace.events("CONN_ACCEPT"))
    rows, last = [[]], None
    for row in trace.table("loops"):
        begin = number(row["time_s"]) + int(row["wait_ns"])
        end = begin + int(row["work_ns"])
        before = max((at for at in accepts if at <= end), default=0)
        if before != last:
            rows.append([])
            last = before
        if "TcpAcceptor::doAccept" in row["longest_activity"] and before < begin and \
                sum(at <= end for at in accepts) >= 20:
            rows[-1].append((begin, end))
    longest = max((row for row in rows if any(last - first < 30 * SECOND for (first, _), (last, _) in zip(row, row[49:]))),
                  key=len)
    return harm(trace, 0, len(longest), len(longest), share=False, since=longest[0][0], until=longest[-1][1])


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
        self.objects, self.joined, self.beside, self.alone, self.vain, self.held = {}, {}, {}, {}, {}, {}
        for r in trace.requests:
            if r.row["object"] != "-" and r.row["class"] != "tunnel":
                fetch = self.objects.setdefault((r.key[0], r.row["object"]), {"server": None, "waiting": [], "slow_until": 0})
                (self.fetch if r.has("server_from") else self.join)(fetch, r)

    @staticmethod
    def is_slow(r):
        """Its client took the reply slowly."""
        return r.ns("proxy_reply") >= SECOND and r.ns("proxy_reply") >= 0.6 * (r.end - r.begin)

    def hold(self, fetch):
        """Those who joined the last fetch wait for a slow client."""
        self.held.setdefault(fetch["server"], []).extend(fetch["last"])
        fetch.update(last=[], held=True)

    def join(self, fetch, r):
        if self.is_slow(r):
            fetch["slow_until"] = r.end
            if fetch["server"] is not None and r.begin < fetch["alive"]:
                self.hold(fetch)
            return
        if r.ns("reply_wait") < MS:
            return
        if fetch["server"] is not None and r.begin < fetch["alive"] and r.end >= fetch["until"]:
            self.joined.setdefault(fetch["server"], []).append(r)
            fetch["last"].append(r)
            if fetch["held"]:
                self.hold(fetch)
            fetch["alive"] = r.end
        else:
            fetch["waiting"].append(r)

    def fetch(self, fetch, r):
        server, begin = r.row["server"], r.begin + r.ns("server_from")
        if r.ns("collapsed_wait") >= MS:
            self.vain.setdefault(server, []).append(r)
        last, held = [], self.is_slow(r) or fetch["slow_until"] > begin
        if fetch["waiting"] and max(w.end for w in fetch["waiting"]) > begin:
            self.joined.setdefault(server, []).extend(fetch["waiting"])
            last = fetch["waiting"]
        if r.row["miss_reason"] != "uncacheable":
            beside = fetch["server"] == server and begin < fetch["until"]
            (self.beside if beside else self.alone).setdefault(server, []).append(r)
        fetch.update(server=server, until=r.end, alive=r.end, waiting=[], last=last, held=False, slow_until=0)
        if held:
            self.hold(fetch)


def joined_fetch(trace, finding):
    way = OnItsWay(trace)
    its = way.joined.get(finding["culprit"]) or [r for rows in way.joined.values() for r in rows]
    return harm(trace, sum(r.ns("reply_wait") for r in its), len(its), **span(its))


def slow_reader(trace, finding):
    way = OnItsWay(trace)
    server = re.search(r"of a reply of (\S+) that", finding["sentence"])
    its = way.held[server[1]] if server else [r for rows in way.held.values() for r in rows]
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


# ---- what the cache has, or has not ----

UNKEPT = {"1": "maximum_object_size", "2": "minimum_object_size", "3": "max_open_disk_fds", "4": "max_filedescriptors"}


def not_taken(trace, finding):
    """Objects of which nothing was kept when they were fetched, and that are fetched again."""
    refused = {(row["ring"], row["id"]) for row in trace.events("SWAP_REFUSED") if row["aux"] == "1"}
    unkept = {(row["ring"], row["id"]): UNKEPT.get(row["aux"]) for row in trace.events("NOT_KEPT")}
    if finding["cause"] == "not_kept":
        refused = {key for key, why in unkept.items() if why == finding["culprit"] and key not in refused}
    came, sent, its = fetched(trace), {}, []
    for r in trace.requests:
        if r.row["object"] == "-" or r.row["outcome"] != "complete":
            continue
        absent = r.row["miss_reason"] == "absent" or (r.row["miss_reason"] == "uncacheable" and unkept.get(r.key))
        if absent and r.row["class"] in ("miss", "refresh_miss") and r.row["size_bytes"] != "-" and \
                sent.get(r.row["object"], r.begin + 1) <= r.begin:
            its.append(r)
        if came.get(r.key, 0) > 0:
            sent[r.row["object"]] = r.end if r.key in refused else float("inf")
    if not its:
        return {"requests of objects that were not taken": 20}
    return harm(trace, sum(r.ns(*CONNECT, *ANSWER) for r in its), len(its), since=its[0].begin, until=its[-1].end)


def kept_redirects(trace, finding):
    """Hits that are redirects, of requests that got an ID."""
    named = {(row["ring"], row["xid"]) for row in trace.waits if row["who"] == finding["culprit"] and row["outcome"] == "ok"}
    hits = ("mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit")
    its = [r for r in trace.requests if r.key in named and r.row["class"] in hits and
           r.row["status"] in ("301", "302", "303", "307", "308")]
    if not its:
        return {"redirects": 20}
    return harm(trace, sum(r.felt for r in its), len(its), len(its), share=False, since=its[0].begin, until=its[-1].end)


CAUSES = {
    **{cause: otherwise for cause in ("cut_replies", "denied", "redirected", "refused_requests", "failed_client_tls",
                                      "timed_out", "adapted", "no_request", "half_answers", "tunnel_timeouts")},
    "clock_set": clock_set, "not_taken": not_taken, "not_kept": not_taken, "kept_redirects": kept_redirects,
    "server_refuses": server_refuses, "contradicting_answers": contradicting_answers, "silent_tunnels": silent_tunnels,
    "closed_tunnels": closed_tunnels, "asked": asked, "full_line": full_line,
    **{cause: slow_tunnel for cause in ("held_tunnels", "late_tunnels", "slow_tunnel_uploads", "slow_tunnels")},
    "dead_ip_version": dead_ip_version, "dying_children": dying_children, "over_limit": over_limit, "pipelined": pipelined,
    "undelivered": undelivered, "lost_to_clients": lost_to_clients,
    "slow_headers": slow_headers, "not_accepted": not_accepted,
    "queue_at_server": queue_at_server,
    "stopped_bodies": stopped_bodies, "joined_fetch": joined_fetch, "slow_reader": slow_reader, "fetched_at_once": fetched_at_once,
    "collapsed_in_vain": collapsed_in_vain, "hanging": hanging,
}
