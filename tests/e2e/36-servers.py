# SPDX-License-Identifier: GPL-2.0-or-later
"""Which server a request waited for: names of servers, the table of servers, and what names= keeps out of a trace."""

import os
import re

from lib import access, dump, rows
from lib.client import Client
from lib.env import first, run
from lib.origin import Origin
from lib.squid import Squid

TABLES = ("requests", "events", "connections", "servers", "swaps", "ios", "loops", "samples", "digests", "summary")
SLOW = 200  # ms


def load(env, names, count=12):
    """Two origins, one of them slow, and a parent called moon: ({xtag: (line, row)}, {xid: address:port}, squid)."""
    fast, slow, parent = Origin(env, "fast"), Origin(env, "slow"), Origin(env, "parent")
    squid = Squid(env, trace="names=" + names, dns=fast.host, lines="""
cache_peer {parent.host} parent {parent.port} 0 no-query no-digest no-netdb-exchange name=moon
acl by_peer urlpath_regex by-peer
cache_peer_access moon allow by_peer
never_direct allow by_peer
always_direct allow !by_peer
logformat where %master_xaction %<a:%<p
access_log stdio:{{folder}}/where.log logformat=where
""".format(parent=parent)).start()
    with Client(squid.client_address()) as client:
        for n in range(count):
            client.request(fast.url("quick%d" % n, hdr=5), "fast-%d" % n)
            client.request(slow.url("tardy%d" % n, hdr=SLOW, close=n % 2), "slow-%d" % n)
            client.request(parent.url("by-peer%d" % n, hdr=20), "peer-%d" % n)
    squid.stop()
    found = {line.xtag: (line, row) for line, row in
             rows.join(env, access.read(squid), dump.table(env, squid.directory, "requests"))}
    with open(os.path.join(squid.folder, "where.log")) as log:
        where = dict(line.split() for line in log)
    return found, where, squid


def check_one_to_one(env, found, where):
    """Each address has one server and each server one address, as access.log has it."""
    pairs = {(where[row["xid"]], row["server"]) for _, row in found.values()}
    env.equal(len(pairs), 3, "addresses, each with one server: %s" % sorted(pairs))
    env.equal(len({server for _, server in pairs}), 3, "servers")
    return dict(pairs)


def check_table(env, squid, found):
    """The table of servers against the rows of requests, by a second computation."""
    table = dump.table(env, squid.directory, "servers")
    stages = ("connect_ns", "tls_ns", "request_send_ns", "server_wait_ns", "server_reply_ns")
    times, total = {}, 0
    for _, row in found.values():
        total += row.ns("total_ns")
        times.setdefault(row["server"], []).append(sum(row.ns(s) for s in stages if row[s] != "-"))
    env.equal([row["server"] for row in table], sorted(times, key=lambda name: -sum(times[name])), "order of the table")
    for row in table:
        values = sorted(times[row["server"]])
        env.equal(int(row["count"]), len(values), "requests")
        env.equal(row["max_ms"], "%d.%06d" % divmod(values[-1], 1000000), "longest")
        share = 100 * sum(values) / total
        env.check(abs(float(row["share_pct"]) - share) < 0.001, "share %s, computed %.3f" % (row["share_pct"], share))
        used = [r for r in dump.table(env, squid.directory, "connections") if r["server"] == row["server"]]
        env.equal(int(row["connects"]), sum(r["reused"] == "0" for r in used), "connections that were opened")
    env.check(float(table[0]["wait_p50_ms"]) >= SLOW, "the slow origin comes first: %s" % table[0])


def everything(squid, env):
    """All that can be read from a trace: each table as text, and the files themselves, uncompressed."""
    texts = [dump.Dump(env, squid.directory, table=name).text for name in TABLES]
    for path in dump.segments(squid.directory):
        texts.append(run(["strings", "-n", "4", path], 20).stdout)
    return "\n".join(texts)


def configured(env):
    found, where, squid = load(env, "configured compress=off")
    by_address = check_one_to_one(env, found, where)
    env.equal({row["server"] for tag, (_, row) in found.items() if tag.startswith("peer")}, {"moon"}, "the parent")
    env.check(all(re.fullmatch("moon|origin-[0-9a-f]{8}", name) for name in by_address.values()), "names: %s" % by_address)
    check_table(env, squid, found)
    text = everything(squid, env)
    for address in by_address:
        for part in (address, address.split(":")[0]):
            env.check(part not in text, "%s is in the trace" % part)
    env.check(not re.search("quick[0-9]|tardy[0-9]|by-peer[0-9]", text), "a path is in the trace")


def servers(env):
    found, where, squid = load(env, "servers", count=4)
    by_address = check_one_to_one(env, found, where)
    env.equal({address: name for address, name in by_address.items() if name != "moon"},
              {address: address for address, name in by_address.items() if name != "moon"}, "origins by their addresses")


def off(env):
    found, _, squid = load(env, "off compress=off", count=4)
    env.equal({row["server"] for _, row in found.values()}, {"-"}, "servers")
    env.equal(dump.table(env, squid.directory, "servers"), [], "table of servers")
    env.check("moon" not in everything(squid, env), "the parent's name is in the trace")


TESTS = [
    ("names=configured: a parent by its name, an origin by a number", first(configured), 60),
    ("names=servers: an origin by its address and port", first(servers), 40),
    ("names=off: none", first(off), 40),
]
