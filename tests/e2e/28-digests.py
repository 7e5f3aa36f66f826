# SPDX-License-Identifier: GPL-2.0-or-later
"""Cache digests of two Squids: what they look up, make, fetch and hit is what their logs say."""

import collections
import re

from lib import access, dump, versions
from lib.client import Client
from lib.digests import digester, fetch_all, peer, said, start, wait_for_digest
from lib.env import wait_for
from lib.origin import Origin

CBLOCK = 128  # bytes of a digest's head
LONGEST = 2000000000  # ns: a look-up takes microseconds, but the machine may hold Squid up

Way = collections.namedtuple("Way", "xid how total_ms response_ms sent header_bytes tag url")


def ways(squid):
    """Lines of way.log."""
    with open(squid.folder + "/way.log") as log:
        return [Way(*(int(word) if word.isdigit() else word for word in line.split())) for line in log]


def digests(env, squid):
    """{activity: rows} after a clean stop."""
    squid.stop()
    env.equal(dump.table(env, squid.directory, "losses"), [], "losses of " + squid.name)
    found = collections.defaultdict(list)
    for row in dump.table(env, squid.directory, "digests"):
        found[row["activity"]].append(row)
    return found


def results(rows):
    return dict(collections.Counter(row["result"] for row in rows))


def check_look_ups(env, squid, found, past, peers=1):
    """past: how many requests got past the early returns of neighborsDigestSelect."""
    looked = results(found["lookup"])
    env.note("%s: look-ups %s" % (squid.name, looked))
    env.equal(len(found["key"]), past, "keys")
    env.equal(len(found["lookup"]), peers * past, "look-ups: peers times requests")
    env.equal(len(said(squid, "neighborsDigestSelect: choices: ")), past, "selections in cache.log")
    asked, there, hits = (len(said(squid, words)) for words in versions.said_of_digests(squid.version()))
    env.equal(asked, peers * past, "look-ups in cache.log")
    env.equal({name: looked.get(name, 0) for name in ("hit", "miss", "none")},
              {"hit": hits, "miss": there - hits, "none": peers * past - there}, "results in cache.log")
    for row in found["key"] + found["lookup"]:
        env.check(0 < row.ns("busy_ns") < LONGEST, "a look-up took %s ns" % row["busy_ns"])


def check_own_digest(env, squid, found):
    """Steps and entries of rebuilds and rewrites, one by one in cache.log."""
    updates = {name: sum(row.number("count") for row in found["update"] if row["result"] == name)
               for name in ("added", "refused")}
    env.note("%s: updates %s" % (squid.name, updates))
    env.equal(updates, {"added": len(said(squid, "storeDigestAdd: added entry")),
                        "refused": len(said(squid, "storeDigestAdd(?:able)?: (?:NO:|entry expires)"))}, "updates")
    rebuilt, rewritten = results(found["rebuild"]), results(found["rewrite"])
    env.note("%s: rebuilds %s, rewrites %s" % (squid.name, rebuilt, rewritten))
    env.equal(rebuilt.get("more", 0) + rebuilt.get("done", 0), len(said(squid, "storeDigestRebuildStep: buckets")),
              "steps of rebuilds")
    env.equal(rebuilt.get("done", 0), len(said(squid, "storeDigestRebuildFinish: done")), "rebuilds")
    pieces = [int(size) for size in said(squid, r"storeDigestSwapOutStep: size: .* chunk: (\d+)")]
    env.equal([row.number("bytes") for row in found["rewrite"] if row["result"] != "begun"], pieces,
              "pieces of rewrites")
    env.equal(rewritten.get("done", 0), len(said(squid, "storeDigestRewriteFinish: digest expires")), "rewrites")
    env.equal({row.number("bytes") for row in found["rewrite"] if row["result"] == "begun"}, {CBLOCK}, "heads")
    env.check(rebuilt["begun"] - rebuilt["done"] in (0, 1) and rewritten["begun"] - rewritten["done"] in (0, 1),
              "begun and done: %s, %s" % (rebuilt, rewritten))


def check_fetch(env, asker, other, found, result):
    """The only fetch of a digest, as the peer's logs have it."""
    row, = found["fetch"]
    env.equal((row["peer"], row["result"]), (other.name, result), "fetch")
    line, = [way for way in ways(other) if "squid-internal-periodic/store_digest" in way.url]
    body = line.sent - line.header_bytes
    env.note("%s fetched %s of %d bytes in %s ns" % (asker.name, row["result"], body, row["busy_ns"]))
    if result == "new":
        env.equal(row.number("bytes") + CBLOCK, body, "bytes of the digest")
    env.check(row.ns("busy_ns") > 0, "it took a time")
    env.equal(len(said(asker, "peerDigestFetchFinish: recv")), 1, "fetches in cache.log")


def check_hits(env, asker, other, found, kind):
    """What came from the peer: access.log of both."""
    code = "CD_%s_HIT" % kind.upper()
    lines = {way.xid: way for way in ways(asker)}
    got = {xid for xid, way in lines.items() if way.how.split("/")[0] == code}
    rows = {row.number("xid"): row for row in found["hit"]}
    env.equal(len(rows), len(found["hit"]), "one row for a request")
    env.equal({xid for xid, row in rows.items() if row["result"] == "hit"}, got, "requests with " + code)
    predicted = {row.number("xid") for row in found["lookup"] if row["result"] == "hit"}
    env.equal(set(rows), predicted, "requests for which the digest says hit")
    false = {xid for xid, row in rows.items() if row["result"] == "false"}
    env.note("%d hits, %d false ones" % (len(got), len(false)))
    env.equal({lines[xid].how.split("/")[0] for xid in false} - {"HIER_DIRECT"}, set(), "where false hits went")
    sent = collections.defaultdict(list)
    for way in ways(other):
        sent[way.tag].append(way.sent)
    for xid, row in rows.items():
        way = lines[xid]
        env.equal(sent[way.tag][-1:], [row.number("bytes")], "bytes that the peer sent for " + way.tag)
        env.equal(row["peer"], other.name, "peer")
        if row["result"] == "hit":  # Squid's clock goes by milliseconds, and by passes of its loop
            env.check(row.ns("busy_ns") <= (way.total_ms + 2) * 1000000, "%s: %s ns, %%<tt %d ms"
                      % (way.tag, row["busy_ns"], way.total_ms))
    return len(got)


def two_squids(env, kind):
    """Both have digests; one has what the other is asked for."""
    shared, away = (400, 400) if env.full else (150, 100)
    origin = Origin(env)
    other = digester(env, origin, "other", chunk=1)
    asker = digester(env, origin, "asker")
    # On a connection that is used again, access.log says how its first request was sent to the peer: to a parent there
    # may be other reasons.
    asker.lines += peer(other, kind, "proxy-only") if kind == "sibling" else \
        peer(other, kind) + "server_persistent_connections off\n"
    start(other, asker)  # a peer that is not there is dead for a while
    fetch_all(other, [("shared%d" % n, origin.url("shared%d" % n, size=1000 + n)) for n in range(shared)])
    wait_for_digest(other, shared)
    fetch_all(asker, [("first", origin.url("first"))])
    wait_for(lambda: said(asker, "peerDigestFetchFinish: recv"), 20, "the digest to be fetched")
    fetch_all(asker, [("shared%d" % n, origin.url("shared%d" % n, size=1000 + n)) for n in range(shared)])
    fetch_all(asker, [("away%d" % n, origin.url("away%d" % n)) for n in range(away)])
    fetch_all(asker, [("first", origin.url("first"))] * 5)  # memory hits: nothing is looked up
    with Client(asker.client_address()) as client:          # not hierarchical: neither
        for n in range(5):
            client.request(origin.url("post%d" % n), "post%d" % n, "POST", body=b"x" * 10)
    used = int(re.search(r"cd.times_used = (\d+)", asker.manager("counters")[1]).group(1))
    of_asker, of_other = digests(env, asker), digests(env, other)
    check_look_ups(env, asker, of_asker, 1 + shared + away)
    env.equal((of_other["lookup"], of_other["hit"]), ([], []), "look-ups without peers")
    env.equal(len(of_other["key"]) > 0, versions.makes_keys_without_peers(other.version()), "keys without peers")
    for squid, found in ((asker, of_asker), (other, of_other)):
        check_own_digest(env, squid, found)
    check_fetch(env, asker, other, of_asker, "new")
    hits = check_hits(env, asker, other, of_asker, kind)
    env.equal(used, hits, "cd.times_used of mgr:counters")
    env.check(hits >= shared, "%d hits of %d" % (hits, shared))
    check_figures(env, asker, of_asker)


def check_figures(env, squid, found):
    figure = dump.Dump(env, squid.directory, options=["--figure=digest-activity"]).rows()
    env.equal({row["activity"]: int(row["count"]) for row in figure},
              {name: sum(row.number("count") for row in rows) for name, rows in found.items() if rows},
              "digest-activity")
    cost, = dump.Dump(env, squid.directory, options=["--figure=digest-cost"]).rows()
    env.equal(int(cost["requests"]), len(access.read(squid)), "digest-cost: requests")


def no_digest(env):
    """A peer that makes none, and one whose digest is not wanted: as many look-ups, and a fetch that fails."""
    origin = Origin(env)
    other = digester(env, origin, "other", generation="off")
    silent = digester(env, origin, "silent")
    asker = digester(env, origin, "asker", lines=peer(other) + peer(silent, options="no-digest"))
    start(other, silent, asker)
    requests = 20
    fetch_all(asker, [("a%d" % n, origin.url("a%d" % n)) for n in range(requests)])
    wait_for(lambda: said(asker, "disabling .* digest from"), 20, "the fetch to fail")
    found = digests(env, asker)
    other.stop()
    check_look_ups(env, asker, found, requests, peers=2)
    env.equal(results(found["lookup"]), {"none": 2 * requests}, "look-ups")
    check_fetch(env, asker, other, found, "error")
    env.equal(found["hit"], [], "hits")
    env.equal({name for name in digests(env, silent) if name != "rebuild"} - {"rewrite", "update"}, set(),
              "activities of a Squid without peers")


def switched_off(env):
    """What squid.conf can leave out: look-ups while the own digest goes on, and the own digest while look-ups go on."""
    objects = 60
    origin = Origin(env)
    other = digester(env, origin, "other")
    unlooked = digester(env, origin, "unlooked", lines=peer(other, options="no-digest"))
    still = digester(env, origin, "still", lines=peer(other) + "digest_rebuild_period 1 year\n"
                     "digest_rewrite_period 1 year\n")
    start(other, unlooked, still)
    fetch_all(other, [("shared%d" % n, origin.url("shared%d" % n)) for n in range(objects)])
    wait_for_digest(other, objects)
    fetch_all(still, [("first", origin.url("first"))])
    wait_for(lambda: said(still, "peerDigestFetchFinish: recv"), 20, "the digest to be fetched")
    for squid in (unlooked, still):
        fetch_all(squid, [("own%d" % n, origin.url("%s%d" % (squid.name, n))) for n in range(objects)])
    wait_for_digest(unlooked, objects)
    other.stop()
    found = digests(env, unlooked)
    check_look_ups(env, unlooked, found, objects)
    check_own_digest(env, unlooked, found)
    env.equal((results(found["lookup"]), found["fetch"], found["hit"]), ({"none": objects}, [], []), "without look-ups")
    found = digests(env, still)
    check_look_ups(env, still, found, 1 + objects)
    check_own_digest(env, still, found)
    env.equal((results(found["fetch"]), results(found["lookup"])["none"]), ({"new": 1}, 1), "look-ups go on")
    env.equal((results(found["rebuild"])["done"], results(found["rewrite"])["done"]), (1, 1), "rebuilds and rewrites")
    last = max(row.begin_ns for name in ("update", "rebuild", "rewrite") for row in found[name])
    env.check(last < found["key"][0].begin_ns, "the own digest went on after the first request")


TESTS = [
    ("cache digests of two siblings", lambda env: two_squids(env, "sibling"), 180),
    ("cache digests of a parent", lambda env: two_squids(env, "parent"), 180),
    ("a peer that makes no digest", no_digest, 120),
    ("digests without look-ups, and without updates", switched_off, 180),
]
