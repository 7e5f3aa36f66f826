# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings about the whole of a trace, computed anew: names that set slow requests apart, restarts, and that all is well."""

import random
import re

from findings_looks import Standstill, harm
from findings_rules import OF
from findings_trace import ANSWER, MS, SECOND, SWAP_IN, When, number

# What the largest part of the time is, in the words of healthy.
PARTS = {"TLS handshakes with servers": ("tls",), "waiting for Squid's event loop": ("loop_held",),
         "waiting for a name server": ("dns",), "waiting for servers": ANSWER, "connecting to servers": ("connect",),
         "waiting for adaptation services": ("adapt",), "access checks": ("access",),
         "waiting for the URL rewriter or Store-ID helper": ("redirect",),
         "waiting for helpers of access checks": ("helper",), "reading from cache_dirs": SWAP_IN,
         "writing replies to clients": ("proxy_reply",), "waiting for request bodies of clients": ("client_body",),
         "replies that wait for their turn": ("reply_wait",), "held back by delay pools": ("held_back",),
         "following the fetch of another request": ("collapsed_wait",), "tries that fail": ("failed_tries",),
         "choosing a server": ("peer_select",), "looking up store entries": ("lookup",),
         "not explained by any stage": ("unaccounted",)}
SHUFFLES, ROUNDS = 20, 7


# ---- names that set requests apart ----

def asked(trace):
    """Whom a request waited for longest, besides servers."""
    most = {}
    for row in trace.waits:
        its = (row["ring"], row["xid"])
        if its not in most or row["ns"] > most[its][0]:
            most[its] = (row["ns"], row["name"] if row["kind"] == "adaptation" else row["who"])
    return {its: who for its, (_, who) in most.items()}


def waited_for(trace):
    """The server, or that of the last try that failed, if such tries took most of the time."""
    found = OF["server"](trace)
    found.update((its, server) for its, server in OF["failed"](trace).items()
                 if 2 * trace.of[its].ns("failed_tries") > trace.of[its].felt)
    return found


def names(trace):
    workers = "".join(trace.comments["process"])
    found = {"server": waited_for(trace),
             **{kind: OF[by](trace) for kind, by in (("listening port", "listener"), ("cache_dir", "place"),
                                                     ("miss reason", "reason"))}}
    found["worker"] = {its: who for its, who in OF["worker"](trace).items()
                       if "kid %s, worker" % who.split()[1] in workers}
    notes = {}
    for row in trace.events("NOTE"):
        name, blank, value = row["arg"].partition(" ")
        if name and blank and value != "other":
            notes.setdefault("note " + name, {}).setdefault((row["ring"], row["id"]), "note %s=%s" % (name, value))
    return {**found, "helper or service": asked(trace), **notes}


# What a request's time goes to.
PARTS_OF_REQUESTS = (("dns",), ("connect", "tls"), ("request_send", "server_wait"), ("server_reply",), ("client_body",),
                     ("failed_tries", "peer_select"), ("access", "helper", "redirect"), ("adapt",), SWAP_IN,
                     ("reply_wait", "proxy_reply", "held_back"), ("accept_wait", "client_tls"))
FAIR_RATE = 131072


def likeness(r, level):
    """What must be alike: class, method, octave of size, and kind of connection; not the connection; or method, and the
    class of those that ask no server."""
    octave = 0 if r.row["class"] == "tunnel" else number(r.row["size_bytes"]).bit_length()
    from_server = level == 2 and r.row["server"] != "-" and r.row["class"] != "tunnel"
    return ("server" if from_server else r.row["class"], r.row["method"], octave if level < 2 else 0,
            r.row["reused_conn"] if level < 1 else "")


class Alike:
    def __init__(self, trace):
        self.requests, self.names, self.level = list(trace.requests), names(trace), 0
        self.took = {r.key: r.slow(r.felt) for r in trace.requests}
        self.all = trace.felt
        for finding in trace.findings:
            if finding["cause"] not in ("slow_at_server", "set_apart"):
                self.leave(finding)

    def leave(self, finding):
        """Requests of those go whom a finding names already for most of their time."""
        for kind, whose in self.names.items():
            for name in set(whose.values()) if kind != "helper or service" else ():
                its = [r for r in self.requests if whose.get(r.key) == name]
                if (" %s " % name) in (" %s " % finding["culprit"]) and \
                        2 * number(finding["waiting_s"]) >= sum(self.took[r.key] for r in its):
                    self.requests = [r for r in self.requests if whose.get(r.key) != name]

    def strata(self):
        found = {}
        for r in self.requests:
            found.setdefault(likeness(r, self.level), []).append(r.key)
        return found.values()

    def scores(self, whose):
        """{name: [excess, requests, ns]}, of requests that have others that are alike and do not have the name."""
        found = {}
        for keys in self.strata():
            its = {}
            for key in keys:
                if key in whose:
                    sums = its.setdefault(whose[key], [0, 0])
                    sums[0] += self.took[key]
                    sums[1] += 1
            felt = sum(self.took[key] for key in keys)
            for name, (ns, count) in its.items():
                others = len(keys) - count
                if others >= 10:
                    score = found.setdefault(name, [0, 0, 0])
                    score[0] += ns - count * (felt - ns) / others
                    score[1] += count
                    score[2] += ns
        return found

    def chance(self, whose):
        """The largest excess after names changed places among requests that are alike."""
        largest, shuffle = 0, random.Random(1).shuffle
        for _ in range(SHUFFLES):
            mixed = {}
            for keys in self.strata():
                its = [whose.get(key) for key in keys]
                shuffle(its)
                mixed.update((key, name) for key, name in zip(keys, its) if name is not None)
            largest = max([largest, *(score[0] for score in self.scores(mixed).values())])
        return largest

    def is_fair(self, whose, name):
        """Where sizes may differ, bodies are slow if they come at half of the rate of others, or less."""
        its = [r for r in self.requests if whose.get(r.key) == name]
        rest = [r for r in self.requests if whose.get(r.key) != name]
        beyond = [sum(r.ns(*part) for r in its) / len(its) - sum(r.ns(*part) for r in rest) / max(len(rest), 1)
                  for part in PARTS_OF_REQUESTS]
        if self.level < 2 or PARTS_OF_REQUESTS[beyond.index(max(beyond))] != ("server_reply",):
            return True
        rate = sum(number(r.row["size_bytes"]) for r in its) * SECOND / sum(r.ns("server_reply") for r in its)
        bodies = [r for r in rest if r.ns("server_reply")]
        return rate < FAIR_RATE and 2 * rate * sum(r.ns("server_reply") for r in bodies) < SECOND * sum(
            number(r.row["size_bytes"]) for r in bodies)

    def best(self):
        """(excess, kind, name, requests, ns of each, ns of the others); None: no name stands out."""
        found = []
        for kind, whose in self.names.items():
            scores = self.scores(whose)
            if scores:
                name = max(scores, key=lambda name: scores[name][0])
                excess, count, ns = scores[name]
                each, others = ns / count, (ns - excess) / count
                if count >= 10 and excess >= 0.1 * self.all and excess >= 50 * MS * count and each >= 2 * others and \
                        self.is_fair(whose, name) and excess > self.chance(whose):
                    found.append((excess, kind, name, count, each, others))
        return max(found, default=None, key=lambda x: (x[0], x[1].startswith("note ")))

    def take_out(self, kind, name, others):
        for key in self.took:
            if self.names[kind].get(key) == name:
                self.took[key] = min(self.took[key], max(others, 0))


def set_apart(trace, finding):
    alike = Alike(trace)
    for _ in range(ROUNDS):
        best = alike.best()
        if not best:
            alike.level += 1
            if alike.level > 2:
                break
            continue
        excess, kind, name, count, each, others = best
        if name == finding["culprit"]:
            bad = sorted({r.begin // SECOND for r in alike.requests if alike.names[kind].get(r.key) == name and
                          alike.took[r.key] - others >= (each - others) / 2})
            when = When(bad, sorted({r.begin // SECOND for r in alike.requests}), SECOND)
            found = harm(trace, excess, count, when=when)
            del found["pattern"]  # growing or not hangs on single requests
            return found
        alike.take_out(kind, name, others)
    return {"names that set requests apart": 1}


# ---- no process served ----

def clients(trace):
    """(time, ring) of each client that came."""
    return sorted([(r.begin, r.key[0]) for r in trace.requests] +
                  [(number(row["time_s"]), row["ring"]) for row in trace.events("CONN_ACCEPT")])


def last_life(trace, start):
    """The last time that a process is seen."""
    ring = start["ring"]
    work = [number(row["time_s"]) + number(row["wait_ns"]) + number(row["work_ns"]) for row in trace.table("loops")
            if row["ring"] == ring and row["work_ns"] != "-"]
    over = [r.begin for r in trace.requests if r.key[0] == ring and r.row["outcome"] != "unfinished"]
    return max(work + over + [number(row["time_s"]) for row in trace.events("CONN_ACCEPT") if row["ring"] == ring] +
               [number(start["time_s"])])


def turns(trace):
    """[(time, STOP or START, when it was open last)]: also of processes that died."""
    listened = [number(row["time_s"]) for row in trace.table("samples") if row["name"] == "backlog"]
    found, runs = [], {}
    for row in trace.events("START", "STOP"):
        at, before = number(row["time_s"]), runs.get(row["kid"])
        if row["event"] == "START" and before and before["event"] == "START":
            found.append((last_life(trace, before), "STOP", last_life(trace, before)))
        seen = [then for then, _ in clients(trace) if then < at] + [then for then in listened if then < at]
        found.append((at, row["event"], min(max(seen, default=at), at)))
        runs[row["kid"]] = row
    return sorted(found)


def restart(trace, finding):
    """From the last sign of an open port before a stop, to the first client after the next start."""
    since, until = [], []
    for (_, what, closed), (start, then, _) in zip(turns(trace), turns(trace)[1:]):
        if (what, then) == ("STOP", "START"):
            came = next((at for at, _ in clients(trace) if at >= start), None)
            since.append(closed)
            until.append(came if came is not None and came - start < 2 * SECOND else start)
    if not since:
        return {"restarts": 1}
    return harm(trace, 0, 0, share=False, since=since[0], until=until[-1],
                pattern="recurring" if len(since) >= 3 else "once")


def died(trace, finding):
    """From a process's last words, or its last sign of life, to the next start of its kid: who had a request open failed."""
    runs, open_, waited, since, until = {}, 0, [], [], []
    for row in trace.events("START", "STOP"):
        before = runs.get(row["kid"])
        if row["event"] == "START" and before and before["event"] == "START":
            ring, now = before["ring"], number(row["time_s"])
            said = [number(words["time_s"]) for words in trace.events("FATAL") if words["ring"] == ring]
            since.append(said[-1] if said else last_life(trace, before))
            until.append(now)
            waited += Standstill(since[-1], now, ring, trace.requests).waited
            open_ += sum(r.key[0] == ring and r.row["outcome"] == "unfinished" for r in trace.requests)
        runs[row["kid"]] = row
    ended = [number(row["time_s"]) for row in trace.events("FATAL")]
    if not since and ended:  # and nobody started it again
        open_ = sum(r.row["outcome"] == "unfinished" for r in trace.requests)
        return harm(trace, 0, open_, open_, share=False, since=ended[-1], until=trace.length)
    if not since:
        return {"processes that died": 1}
    return harm(trace, sum(waited), len(waited) + open_, open_, share=False, since=since[0], until=until[-1])


# ---- nothing stands out ----

def of_all(trace, waiting, share):
    found = harm(trace, waiting, len(trace.requests), share=False, since=0, until=trace.length, pattern="throughout")
    found["share_pct"] = share
    return found


def part_of(trace, part):
    """ns of these stages.  What happens while a tunnel is open does not count."""
    ns = sum(r.ns(*part) for r in trace.requests)
    return ns - (sum(trace.held_while(r, "tunnel")[1] for r in trace.requests) if part == ("loop_held",) else 0)


def summed_up(trace, part):
    """The same, as the summary has it; of requests that have not ended it has none."""
    rows = {row["stage"]: row for row in trace.table("summary") if row["class"] == "all"}
    ended = [r for r in trace.requests if r.row["outcome"] != "unfinished"]
    total, late = sum(r.ns("total") for r in ended), [r for r in trace.requests if r.row["outcome"] == "unfinished"]
    ns = sum(float(rows[stage]["share_pct"]) * total / 100 for stage in part if stage in rows) + sum(
        r.ns(*part) for r in late)
    return int(rows["total"]["count"]) + len(late), ns, total * len(part) / 200000


def healthy(trace, finding):
    """Its numbers are those of the summary."""
    said = re.search(r"in (\d+) requests of (\d+) s\. The largest part of the time, (\d+) %, is (.*): ([\d.]+) ms of the",
                     finding["sentence"])
    part, ns = PARTS[said[4]], part_of(trace, PARTS[said[4]])
    if not trace.felt:  # as of tunnels alone: there is nothing to divide
        return of_all(trace, 0, "-")
    count, as_summed_up, rounded = summed_up(trace, part)
    share, mean = 100 * ns / max(trace.felt, 1), ns / len(trace.requests)
    found = of_all(trace, 0, share)
    wrong = [part != max(PARTS.values(), key=lambda part: part_of(trace, part)), int(said[1]) != count,
             part != ("loop_held",) and abs(as_summed_up - ns) > ns / 100 + rounded, abs(int(said[3]) - share) > 0.6,
             abs(float(said[5]) * MS - mean) > 0.05 * MS + mean / 100, abs(int(said[2]) - trace.length / SECOND) > 0.6]
    if any(wrong):
        found["its sentence"] = wrong
    return found


def unexplained(trace, _):
    slow = sum(r.slow(r.felt) for r in trace.requests)
    return of_all(trace, slow, 100 * slow / trace.felt)


def too_few(trace, _):
    return of_all(trace, 0, "-")


CAUSES = {"slow_at_server": set_apart, "set_apart": set_apart, "restart": restart, "died": died, "healthy": healthy,
          "unexplained": unexplained, "too_few": too_few}
