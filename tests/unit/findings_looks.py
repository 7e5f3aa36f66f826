# SPDX-License-Identifier: GPL-2.0-or-later
"""What a look finds beside the rules of findings, computed anew from printed tables: harm, share, since and until."""

import re
from collections import Counter

from findings_rules import longest, tries
from findings_trace import ANSWER, CONNECT, MS, SECOND, WINDOW, When, key, number, spell

MINUTE = 60 * SECOND
HITS = ("mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit")


def harm(trace, waiting, requests, failures=0, share=True, when=None, since=None, until=None, pattern=None):
    found = {"waiting_s": waiting, "requests": requests, "failures": failures,
             "share_pct": 100 * waiting / trace.felt if share else "-",
             "time_s": when.since if when else since, "until_s": min(when.until if when else until, trace.length)}
    if when or pattern:
        found["pattern"] = when.pattern if when else pattern
    return found


# ---- nobody answers ----

class Question:
    def __init__(self, request, begin, end, answered):
        self.request = request  # None: nobody waits
        self.begin, self.answered = begin, answered
        self.end = min(end, request.end) if request and request.end >= begin else end


def questions(trace, culprit):
    """{type: questions} that were put to a helper, a service, a name server or a server."""
    found = {}
    for row in trace.waits:
        if row["who"] == culprit and row["outcome"] not in ("shared", "abandoned"):
            found.setdefault(row["query"], []).append(
                Question(trace.of.get(key(row)), row["begin"], row["begin"] + row["ns"],
                         row["outcome"] in ("ok", "err", "broken", "failed")))
    if found:
        return found
    return {"-": [Question(r, r.begin, r.begin + r.ns("server_wait", "request_send"),
                           r.has("server_reply") or 0 < number(r.row["status"]) < 500)
                  for r in trace.requests if r.row["server"] == culprit and r.has("server_wait")]}


def runs(asked):
    """Questions in a row that have no answer: none that was put in a window between two of them has one."""
    answered = {q.begin // WINDOW for q in asked if q.answered}
    run = []
    for q in sorted((q for q in asked if not q.answered), key=lambda q: q.begin):
        if run and any(run[-1].begin // WINDOW < window < q.begin // WINDOW for window in answered):
            yield run
            run = []
        run.append(q)
    yield run


def clients_waited(run):
    """{request: ns}: whoever waits for two answers at once waits once."""
    spans = {}
    for q in run:
        if q.request:
            spans.setdefault(q.request, []).append((q.begin, q.end))
    waited = {}
    for request, its in spans.items():
        last = 0
        for begin, end in sorted(its):
            waited[request] = waited.get(request, 0) + max(end - max(begin, last), 0)
            last = max(last, end)
    return waited


def is_silent(run, asked):
    """Five questions in a row, of 100 ms each, for which clients wait for 1 s in all; answers take a third of that."""
    answers, each = [q.end - q.begin for q in asked if q.answered], sum(q.end - q.begin for q in run) / max(len(run), 1)
    return len(run) >= 5 and each >= 100 * MS and sum(clients_waited(run).values()) >= SECOND and \
        each >= 3 * sum(answers) / max(len(answers), 1)


def no_answer(trace, finding):
    types = questions(trace, finding["culprit"])
    if not any(q.answered for asked in types.values() for q in asked):
        types = {"-": [q for asked in types.values() for q in asked]}
    for asked in types.values():
        silent = [(run, clients_waited(run)) for run in runs(asked) if is_silent(run, asked)]
        if silent and abs(silent[0][0][0].begin - number(finding["time_s"])) <= 100 * MS:
            return harm(trace, sum(sum(waited.values()) for _, waited in silent), sum(len(waited) for _, waited in silent),
                        since=silent[0][0][0].begin, until=max(q.end for run, _ in silent for q in run))
    return {"questions without an answer": 5}


# ---- failures ----

class Blames:
    """What failed each request: {kind: (name, took)}, in the order in which they are blamed."""

    KINDS = ("service", "connect", "tls", "look_up", "helper")

    def __init__(self, trace):
        self.of, self.remembered = {}, []  # (end, kind, name)
        self.own = []  # the same of look-ups that Squid makes for itself: (end, name)
        self.probes = [(number(row["time_s"]), row["name"], row["result"]) for row in trace.table("incidents")
                       if row["incident"] == "peer_probed"]
        for row in sorted(trace.waits, key=lambda row: row["begin"] + row["ns"]):
            self.wait(row)
        for row in sorted(trace.table("connections"),
                          key=lambda row: number(row["time_s"]) + number(row["connect_ns"]) + number(row["tls_ns"])):
            if row["outcome"] in ("error", "timeout"):
                self.attempt(row)
        self.remembered.sort()

    def wait(self, row):
        asks_name = row["kind"] == "name_server"
        if row["outcome"] in ("broken", "timeout", "failed", "died") or (asks_name and row["outcome"] == "err"):
            kind = "service" if row["kind"] == "adaptation" else "look_up" if asks_name else "helper"
            name = row["name"] if kind == "service" else row["who"]
            self.of.setdefault(key(row), {})[kind] = (name, row["ns"])
        if asks_name and row["outcome"] in ("timeout", "err") and row["xid"] == "-" and row["query"] in ("A", "AAAA"):
            self.own.append((row["begin"] + row["ns"], row["who"]))
        elif asks_name and row["outcome"] in ("timeout", "err"):
            self.remembered.append((row["begin"] + row["ns"], "look_up", row["who"]))

    def attempt(self, row):
        took = number(row["connect_ns"]) + number(row["tls_ns"])
        kind = "tls" if row["tls_ns"] != "-" else "connect"
        self.of.setdefault(key(row), {})[kind] = (row["server"], took)
        if row["peer_kind"] not in ("direct", "-"):
            self.remembered.append((number(row["time_s"]) + took, "connect", row["server"]))

    def first(self, request):
        its = self.of.get(request.key, {})
        return next(((kind, *its[kind]) for kind in self.KINDS if kind in its), None)

    def before(self, end):
        """Whom Squid may remember: who failed another one, less than a minute before."""
        its = [blame for blame in self.remembered if blame[0] <= end]
        return its[-1] if its and end - its[-1][0] < MINUTE else None

    def probed(self, end):
        """When Squid had tried a cache_peer that is dead, in the two minutes before."""
        last = {name: (at, result) for at, name, result in self.probes if at <= end}
        dead = [at for at, result in last.values() if result not in ("-", "ok")]
        return max(dead) if dead and end - max(dead) < 2 * MINUTE else None


def made_by_squid(trace):
    """Requests that got an error page."""
    ends = trace.events("XACT_END", "PART_XACT_FLAGS", "REPLY_READY")
    made, source = set(), {}
    for row, after in zip(ends, ends[1:] + [None]):
        its = (row["ring"], row["id"])
        if row["event"] == "REPLY_READY":
            source[its] = number(row["aux"])
        elif row["event"] == "XACT_END":
            flags = number(after["aux"]) if after and after["event"] == "PART_XACT_FLAGS" else 0
            if flags & 32 or source.get(its) == 2:
                made.add(its)
    return made


def failures(trace):
    """{(cause, culprit): requests}."""
    found, blames, made, asked = {}, Blames(trace), made_by_squid(trace), longest("name_server")(trace)
    for r in trace.requests:
        status, reused = 0 if r.was_open else number(r.row["status"]), r.row["reused_conn"] != "-"
        blame = blames.first(r)
        if r.row["class"] == "negative_hit" and status >= 400:
            if status >= 500:
                found.setdefault(("kept_errors", "negative_ttl"), []).append(r)
        elif status >= 500 and r.key not in made:
            if reused:
                found.setdefault(("server_errors", r.row["server"]), []).append(r)
        elif status >= 500:
            if blame:
                its = ("failed_" + blame[0], blame[1])
                if blame[0] == "connect" and blame[2] < MS:
                    found.setdefault(("no_local_port", "local ports"), []).append(r)
            elif status == 504 and not reused and not r.ns("peer_select", "dns", "connect"):
                its = ("refused_requests", "only-if-cached")
            elif not reused and r.ns("dns") and r.key in asked:
                its = ("no_address", asked[r.key])
            elif reused:
                its = ("failed_answer", r.row["server"])
            else:
                last, probed = blames.before(r.end), blames.probed(r.end)
                own = [name for at, name in blames.own if at <= r.end < at + 60 * MINUTE]
                its = ("failed_" + last[1], last[2]) if last else ("no_server", own[-1] if own else "-")
                if probed and (not last or probed >= last[0]):
                    its = ("dead_peers", "-")
            found.setdefault(its, []).append(r)
        elif (status in (403, 407) or (r.row["class"] == "denied" and status != 401)) and "helper" in blames.of.get(r.key, {}):
            found.setdefault(("failed_helper", blames.of[r.key]["helper"][0]), []).append(r)
    return found


OF_NOBODY = ("no_server", "dead_peers", "kept_errors")


def is_dead_kept(trace, rows):
    """Whether they timed out on kept connections of a server that answered hardly anything on such meanwhile."""
    its, first, last = {r.key for r in rows}, min(r.begin for r in rows), max(r.begin for r in rows)
    meanwhile = [r for r in trace.requests if r.row["server"] == rows[0].row["server"] and r.row["reused_conn"] == "1" and
                 r.key not in its and first <= r.begin <= last]
    return 10 * sum(r.row["reused_conn"] == "1" for r in rows) >= 9 * len(rows) and 2 * len(meanwhile) < len(rows) and \
        2 * sum(r.row["status"] == "504" for r in rows) > len(rows)


def failed_at_several(trace, finding):
    """Of servers that five connections or more fail to, where several are told together, or None."""
    if finding["culprit"] != "servers" and not re.match(r"worker \d+$", finding["culprit"]) or " servers " not in finding["sentence"]:
        return None
    whom = "failed_answer" if finding["cause"] == "failed_answer" else "failed_connect"
    return [r for (cause, _), rows in failures(trace).items() if cause == whom and len(rows) >= 5 and
            (whom == "failed_connect" or is_dead_kept(trace, rows)) for r in rows]


def failed(trace, finding):
    of_server = finding["cause"] == "no_local_port" and finding["culprit"] not in ("local ports", "routes")
    whom = "failed_connect" if of_server else finding["cause"]
    its = [r for (cause, culprit), rows in failures(trace).items() for r in rows
           if cause == whom and ({"other": "-"}.get(culprit, culprit) == finding["culprit"] or cause in OF_NOBODY or not of_server and
                                 cause == "no_local_port")]
    its = failed_at_several(trace, finding) or its
    if not its:
        return {"failed requests": 5}
    # The time is that of all servers that give no answer.
    met = [r for (cause, _), rows in failures(trace).items() for r in rows if cause == "failed_answer"] \
        if (finding["cause"], finding["culprit"]) == ("failed_answer", "servers") else its
    return harm(trace, sum(r.felt for r in its), len(its), len(its), share=False, when=spell(trace, met))


# ---- replies that a service withholds ----

def withheld(trace, finding):
    through, whose = [], {}
    for row in trace.waits:
        if row["kind"] == "adaptation" and (key(row) not in whose or row["ns"] > whose[key(row)][0]):
            whose[key(row)] = (row["ns"], row["who"])
    for r in trace.requests:
        if r.key in whose and whose[r.key][1] == finding["culprit"] and r.has("first_byte") and r.ns("server_reply"):
            body = r.ns("server_reply")
            ns = body - (r.ns("total") - r.ns("first_byte"))
            if ns >= 0.7 * body:
                through.append((r, ns))
    return harm(trace, sum(ns for _, ns in through), len(through), since=min(r.begin for r, _ in through),
                until=max(r.end for r, _ in through))


# ---- bytes for nobody ----

def shared(trace, left, fetched):
    """{key: bytes that others got of the object of a client that left, after that, until another one that fetches it left}"""
    found, last = {}, {}
    for r in sorted(trace.requests, key=lambda r: r.end):
        name, whose = r.row["object"], last.get(r.row["object"])
        if whose and name != "-":
            found[whose] = found.get(whose, 0) + max(r.sent - fetched.get(r.key, 0), 0)
        if r in left and r.row["server"] != "-":
            last[name] = r.key
    return found


def asked_for(trace):
    """{key: bytes of a range that a client asked for} of those that got the whole object"""
    asked, whole = {}, {r.key: number(r.row["size_bytes"]) for r in trace.requests
                        if r.row["status"] == "200" and r.row["size_bytes"] != "-"}
    for row in trace.events("RANGE"):
        key, to_end = (row["ring"], row["id"]), row["aux"] == "1"
        if key in whole:
            asked[key] = max(whole[key] - number(row["arg"]), 0) if to_end else min(whole[key], number(row["arg"]))
        elif not to_end and key in {r.key for r in trace.requests if r.row["status"] == "200"}:
            asked[key] = number(row["arg"])
    return asked


def waste(trace, finding):
    fetched, asked = {}, asked_for(trace)
    for row in trace.events("SERVER_READ"):
        its = (row["ring"], row["id"])
        fetched[its] = fetched.get(its, 0) + number(row["arg"])
    made = made_by_squid(trace)
    left = [r for r in trace.requests if r.row["outcome"] == "aborted" and r.key not in made and not r.tunnel]
    ranges = [r for r in trace.requests if r.row["status"] == "206" and r not in left and not r.tunnel]
    whole = [r for r in trace.requests if r.key in asked and not r.tunnel and r not in left and
             fetched.get(r.key, 0) // 2 > asked[r.key]]
    others = shared(trace, left + whole, fetched)

    def got(r):
        return asked[r.key] if r in whole else r.sent

    def is_for_others(r):
        return others.get(r.key) and fetched.get(r.key, 0) // 2 <= got(r) + others[r.key]
    its = {"fetched_ranges": ranges, "whole_for_ranges": [r for r in whole if not is_for_others(r)],
           "fetched_for_nobody": [r for r in left if not is_for_others(r)]}[finding["cause"]]
    vain = [r for r in its if fetched.get(r.key, 0) // 2 > got(r)]
    waited = sum((1 - got(r) / fetched[r.key]) * r.ns("server_reply", "reply_wait", "server_wait") for r in vain)
    if finding["cause"] == "fetched_for_nobody":
        waited = 0
    return harm(trace, waited, len(its), share=waited > 0, when=spell(trace, vain))


# ---- work that is done more than once ----

def revalidations(trace, _):
    its = [r for r in trace.requests if r.row["class"] == "refresh_hit" and r.row["reused_conn"] != "-"]
    return harm(trace, sum(r.felt for r in its), len(its), when=spell(trace, its))


def challenges(trace, _):
    its = [r for r in trace.requests if r.row["status"] == "407"]
    return harm(trace, sum(r.felt for r in its), len(its), when=spell(trace, its))


def lost_hits(trace, _):
    hits, its = set(), []
    for r in trace.requests:
        stored = r.row["object"]
        if stored != "-" and r.row["class"] in HITS:
            hits.add(stored)
        elif stored in hits and r.row["miss_reason"] in ("absent", "swap_fail"):
            its.append(r)
            hits.discard(stored)
    return harm(trace, sum(r.felt for r in its), len(its), when=spell(trace, its))


def all_close(trace, _):
    attempts = tries(trace)
    its = [r for r in trace.requests if r.has("failed_tries") and len(attempts.get(r.key, ())) > 1 and
           attempts[r.key][-2]["reused"] == "1"]
    return harm(trace, sum(r.ns("failed_tries") for r in its), len(its), when=spell(trace, its))


def new_connections(trace, _):
    """Where another request was done with that server in the 5 s before."""
    ends, its = {}, []
    for r in trace.requests:
        if r.row["reused_conn"] == "-" or r.tunnel:
            continue
        before = ends.setdefault(r.row["server"], [])
        if r.row["reused_conn"] == "0" and any(0 < r.begin - end < 5 * SECOND for end in before[-32:]):
            its.append(r)
        before.append(r.end)
    return harm(trace, sum(r.ns(*CONNECT) for r in its), len(its), when=spell(trace, its))


# ---- objects that are fetched again ----

def unwritten_objects(trace):
    """{object: times from and until when it could not be written}, if these are so many that it is told."""
    found, failed, count = {}, 0, 0
    for row in sorted((row for row in trace.table("swaps") if row["direction"] == "out" and row["update"] != "1"),
                      key=lambda row: number(row["time_s"]) + int(row["total_ns"])):
        at = number(row["time_s"]) + int(row["total_ns"])
        count += 1
        spans = found.setdefault(row["object"], [])
        if row["outcome"] == "error":
            failed += 1
            spans.append([at, float("inf")])
        elif row["outcome"] == "complete" and spans:
            spans[-1][1] = min(at, spans[-1][1])
    return found if failed >= 20 and 4 * failed >= count else {}


def refetched(trace, finding):
    reasons = {"cache_too_small": ("absent",), "caches_not_shared": ("absent",), "purged": ("absent",), "not_stored": ("uncacheable",), "files_gone": ("swap_fail",),
               "not_written": ("absent", "swap_fail", "uncacheable"), "ranges_not_stored": ("-",),
               "fetched_again": ("expired",)}[finding["cause"]]
    unwritten = unwritten_objects(trace)
    sent, storable, its = {}, set(), []
    for r in trace.requests:
        again = r.row["object"] != "-" and sent.get(r.row["object"], r.begin + 1) <= r.begin
        if r.row["outcome"] == "complete":
            sent.setdefault(r.row["object"], r.end)
        reason = "-" if r.row["miss_reason"] != "-" and r.row["status"] == "206" else r.row["miss_reason"]
        if r.row["class"] == "refresh_miss":
            reason = "expired" if r.row["miss_reason"] == "stale" and r.row["status"] == "200" else "other"
        lost = reason in ("absent", "uncacheable") and bool(unwritten) and (
            any(at <= r.end < until for at, until in unwritten.get(r.row["object"], ())) or
            reason == "uncacheable" and r.row["object"] in storable)
        if r.row["outcome"] == "complete" and reason in ("absent", "swap_fail"):
            storable.add(r.row["object"])
        if reason in reasons and r.row["class"] in ("miss", "refresh_miss") and (again or reason == "swap_fail") and \
                (reason != "-" or r.row["miss_reason"] != "-") and \
                (reason in ("swap_fail", "-", "expired") or lost == (finding["cause"] == "not_written")):
            its.append(r)
    return harm(trace, sum(r.ns(*CONNECT, *ANSWER) for r in its), len(its), since=its[0].begin, until=its[-1].end)


def made_by_conf(trace, finding):
    """Misses that squid.conf makes; of what it does not let the store be asked for, as many would be hits as of others."""
    reason = {"cache_denied": "cache_deny", "hits_denied": "unusable"}[finding["cause"]]
    its = [r for r in trace.requests if r.row["miss_reason"] == reason and r.row["server"] != "-"]
    others = [r for r in trace.requests if r not in its and r.row["class"] in (*HITS, "miss", "refresh_miss")]
    hits = sum(r.row["class"] in HITS for r in others) / max(len(others), 1)
    waited = sum(r.ns(*CONNECT, *ANSWER) for r in its)
    return harm(trace, waited * (hits if reason == "cache_deny" else 1), len(its), since=min(r.begin for r in its),
                until=max(r.end for r in its))


# ---- neighbours, and ports ----

def mute_neighbors(trace, finding, missing):
    """Those that Squid connects to and that never answer, if one request misses as many answers; in any order."""
    answers = [(row["ring"], row["id"], row["arg"]) for row in trace.events("NEIGHBOR_ANSWER")]
    mute = {row["name"] for row in trace.table("incidents") if row["incident"] == "peer_probed"} - \
        {who for _, _, who in answers}
    most = max(Counter((ring, its) for ring, its, _ in answers).values(), default=0)
    if len(mute) != missing or most > 8:
        return "neighbours"
    return finding["culprit"] if set(finding["culprit"].split(", ")) == mute else ", ".join(sorted(mute))


def mute_neighbor(trace, finding):
    expected, missing = {}, {}
    for row in trace.events("NEIGHBORS_ASKED", "NEIGHBORS_DONE"):
        its = (row["ring"], row["id"])
        if row["event"] == "NEIGHBORS_ASKED":
            expected[its] = number(row["aux"])
        elif row["aux"] == "1":
            missing[its] = expected.get(its, 0) - number(row["arg"])
    its = [r for r in trace.requests if missing.get(r.key, 0) > 0]
    found = harm(trace, sum(r.ns("peer_select") for r in its), len(its), since=its[0].begin,
                 until=max(r.end for r in its))
    found["culprit"] = mute_neighbors(trace, finding, max(missing[r.key] for r in its))
    return found


def closed_port(trace, finding):
    """It is sampled no more, for 3 s in which others are."""
    last = {}
    for row in trace.table("samples"):
        if row["source"].startswith("listener "):
            last[row["ring"], row["source"]] = number(row["time_s"])
    alive = max(last.values())
    closed = [at for at in last.values() if alive - at >= 3 * SECOND]
    nearest = min(closed, key=lambda at: abs(at - number(finding["time_s"])), default=0)
    return harm(trace, 0, 0, share=False, since=nearest, until=alive, pattern="since")


# ---- standstills ----

class Standstill:
    def __init__(self, since, until, ring, requests):
        self.since, self.until, self.ring = since, until, ring
        self.waited = [ns for ns in (self.met(r) for r in requests if r.key[0] == ring) if ns]

    def met(self, r):
        """What was read from a kept connection as soon as it was over came in it: after half of it, in the mean."""
        kept = not r.has("accept_wait") and r.has("read_wait")
        begin = r.begin - (r.ns("read_wait") if kept else r.ns("accept_wait"))
        if kept and self.until <= begin < self.until + 2 * MS:
            return (self.until - self.since) // 2
        ns = min(r.end, self.until) - max(begin, self.since)
        return ns if ns >= MS else 0


def commands(trace, event):
    return [(row["ring"], number(row["time_s"])) for row in trace.events("RECONFIGURE", "ROTATE") if row["event"] == event]


def passes(trace):
    """(kind, activity, ring, since, until) of long passes of the event loop."""
    absent = {(row["kid"], row["time_s"]): number(row["not_running_ms"]) for row in trace.table("stalls")}
    for row in trace.table("loops"):
        if row["work_ns"] == "-" or int(row["work_ns"]) < 150 * MS:
            continue
        since = number(row["time_s"]) + int(row["wait_ns"])
        until = since + int(row["work_ns"])
        at = "%d.%09d" % divmod(since, SECOND)
        kind = "stopped" if absent.get((row["kid"], at), 0) > (until - since) // 2 else "standstill"
        for name, event in (("rotation", "ROTATE"), ("reconfiguration", "RECONFIGURE")):
            if row["longest_activity"].startswith("main" + {"rotation": "Rotate", "reconfiguration": "Reconfigure"}[name]) \
                    or any(ring == row["ring"] and since <= then <= until for ring, then in commands(trace, event)):
                kind = name
        if kind in ("rotation", "reconfiguration") or until - since >= 500 * MS:
            yield kind, row["longest_activity"], row["ring"], since, until


def stops(trace):
    """In waits of the event loop."""
    rings = {row["kid"]: row["ring"] for row in trace.table("loops")}
    at_work = {since for _, _, _, since, _ in passes(trace)}
    for row in trace.table("stalls"):
        since = number(row["time_s"])
        if number(row["work_ms"]) >= 500 * MS and since not in at_work:
            yield "stopped", "", rings[row["kid"]], since, since + number(row["work_ms"])


def standstill(trace, finding):
    found = {}
    for kind, activity, ring, since, until in sorted([*passes(trace), *stops(trace)], key=lambda x: x[4]):
        name = activity if kind == "standstill" else ""
        found.setdefault((kind, name), []).append(Standstill(since, until, ring, trace.requests))
    its = [group for (kind, _), group in found.items() if kind == finding["cause"] and
           group[0].since // MS == number(finding["time_s"]) // MS]
    if not its:
        return {"standstills": 1}
    waited = [ns for x in its[0] for ns in x.waited]
    return harm(trace, sum(waited), len(waited), share=False, since=its[0][0].since, until=its[0][-1].until,
                pattern="recurring" if len(its[0]) >= 3 else "once")


# ---- resources ----

def samples(trace, name):
    found = {}
    for row in trace.table("samples"):
        if row["name"] == name:
            found.setdefault(row["ring"], []).append((number(row["time_s"]), number(row["value"])))
    return found


def swapping(trace, _):
    """Seconds in which page faults read from a disk, and how long the event loop was held in their requests; or how long
    they waited for stops that faults fill, if that is more."""
    gaps = [(ring, a, b, (after - before) * SECOND / max(1, b - a)) for ring, rows in samples(trace, "major_faults").items()
            for (a, before), (b, after) in zip(rows, rows[1:]) if (after - before) * SECOND >= 50 * (b - a)]
    seconds = sorted({(a + i * SECOND) // WINDOW for _, a, b, rate in gaps
                      for i in range(max(1, min(60, (b - a) // SECOND)) if rate >= 250 else 1)})
    held = [r.ns("loop_held") for r in trace.requests if r.ns("loop_held") and
            any(window <= r.begin // WINDOW <= window + 5 for window in seconds)]
    stopped = [ns for _, _, ring, since, until in stops(trace)
               if sum(max(0, min(until, b) - max(since, a)) for which, a, b, rate in gaps
                      if which == ring and rate >= 250 and b - a >= 2 * SECOND) * 2 > until - since
               for ns in Standstill(since, until, ring, trace.requests).waited]
    waited = max(held, stopped, key=sum)
    return harm(trace, sum(waited), len(waited), since=seconds[0] * WINDOW, until=seconds[-1] * WINDOW + SECOND)


def few_descriptors(trace, _):
    return harm(trace, 0, 0, share=False, since=0, until=trace.length, pattern="throughout")


CAUSES = {
    "no_answer": no_answer, "withheld_replies": withheld,
    **{cause: failed for cause in ("failed_service", "no_local_port", "failed_connect", "failed_tls", "failed_look_up",
                                   "failed_helper", "failed_answer", "no_server", "dead_peers", "kept_errors", "no_address",
                                   "server_errors")},
    **{cause: standstill for cause in ("reconfiguration", "rotation", "stopped", "standstill")},
    "fetched_ranges": waste, "whole_for_ranges": waste,
    "fetched_for_nobody": waste, "revalidations": revalidations, "challenges": challenges,
    "lost_hits": lost_hits, "all_close": all_close, "new_connections": new_connections, "swapping": swapping,
    "few_descriptors": few_descriptors, "cache_too_small": refetched, "caches_not_shared": refetched, "purged": refetched, "not_stored": refetched, "files_gone": refetched,
    "not_written": refetched, "fetched_again": refetched, "ranges_not_stored": refetched, "cache_denied": made_by_conf, "hits_denied": made_by_conf,
    "mute_neighbor": mute_neighbor, "closed_port": closed_port,
}
