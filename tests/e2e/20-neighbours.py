# SPDX-License-Identifier: GPL-2.0-or-later
"""ICP and HTCP: queries that a Squid sends and what it waits for, and queries that it answers."""

import collections
import socket
import time

from lib import access, dump, rows, versions
from lib.client import Client
from lib.clocks import MS, Agreement
from lib.env import first, free_udp_port, quantile
from lib.neighbour import (HTCP_CLR, HTCP_NOP, HTCP_TST, ICP_QUERY, NeighbourServer, htcp_message, htcp_specifier,
                           icp_message)
from lib.origin import Origin
from lib.squid import Squid

ASKER = "127.0.0.3"  # Squid takes ICP from its own address for its own, whatever the port


def asking(env, origin, lines, name="asking"):
    """A Squid that asks neighbours by ICP and HTCP."""
    return Squid(env, name, trace="", dns=origin.host, lines="""
icp_port {icp}
htcp_port {htcp}
udp_incoming_address {asker}
icp_access deny all
nonhierarchical_direct off
digest_generation off
""".format(icp=free_udp_port(), htcp=free_udp_port(), asker=ASKER) + lines)


def finish(env, squid):
    """([(line, row)], all lines, all rows) after a clean stop, all promises about the rows checked."""
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    lines = access.read(squid)
    pairs = rows.join(env, lines, requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    rows.check_order(env, requests)
    rows.check_outcomes(env, pairs)
    env.equal(dump.table(env, squid.directory, "losses"), [], "losses")
    asked = events(env, squid, "NEIGHBORS_ASKED")
    done = events(env, squid, "NEIGHBORS_DONE")
    env.equal({xid: len(found) for xid, found in asked.items()}, {xid: len(found) for xid, found in done.items()},
              "rounds that began, and that ended")
    return pairs, lines, requests


def events(env, squid, name):
    """{transaction: [rows]} of an event."""
    found = collections.defaultdict(list)
    for row in dump.table(env, squid.directory, "events", "--where=event == " + name):
        found[row["id"]].append(row)
    return found


KNOWN = [
    # name, what the neighbour does, whether its answer is waited for, the end of the round (aux of NEIGHBORS_DONE)
    ("hit", {"ask": "hit", "late": 60}, True, "0"),
    ("miss", {"ask": "miss", "late": 80}, True, "0"),
    ("prompt", {"ask": "hit"}, True, "0"),
    ("late", {"ask": "hit", "late": 500}, False, "1"),
    ("never", {"ask": "never"}, False, "1"),
]
TIMEOUT = 300  # ms


def sent(env, protocol):
    """One at a time: the wait for a neighbour's answer is in peer_select, an answer that is late is not waited for."""
    origin = Origin(env)
    neighbour = NeighbourServer(env, origin.host)
    squid = asking(env, origin, """
cache_peer {host} parent {port} {udp} name=witness no-digest no-netdb-exchange {option}
icp_query_timeout {timeout}
""".format(host=origin.host, port=origin.port, udp=neighbour.port, timeout=TIMEOUT,
           option="htcp" if protocol == "htcp" else "")).start()
    rounds = 15 if env.full else 5
    with Client(squid.client_address()) as client:
        for n in range(rounds):
            for name, want, _, _ in KNOWN:
                tag = "%s.%d" % (name, n)
                env.equal(client.request(origin.url(tag, **want), tag).status, 200, tag)
    time.sleep(0.6)  # the last answers are on their way
    entries = neighbour.entries()
    pairs, _, _ = finish(env, squid)
    rows.check_one_at_a_time(env, pairs)
    answers, done = (events(env, squid, name) for name in ("NEIGHBOR_ANSWER", "NEIGHBORS_DONE"))
    found = {line.xtag: row for line, row in pairs}
    off = Agreement(env)
    for n in range(rounds):
        for name, want, waited, end in KNOWN:
            tag = "%s.%d" % (name, n)
            row = found[tag]
            entry, = entries[tag]
            env.equal(entry["protocol"], protocol, tag + ": asked by")
            if waited:
                off.add("peer_select_ns", tag, row.ns("peer_select_ns"), entry["answered_ns"] - entry["received_ns"],
                        entry["received_ns"], entry["answered_ns"])
                env.equal([(answer["arg"], answer["aux"]) for answer in answers[row["xid"]]],
                          [("witness", str(int(want["ask"] == "hit")))], tag + ": answers")
            else:
                rows.check_stage(env, row, "peer_select_ns", (TIMEOUT + 27) * MS, 33 * MS, tag)  # Squid's clock of events
                env.equal(answers.get(row["xid"], []), [], tag + ": answers in time")
            env.equal([end_["aux"] for end_ in done[row["xid"]]], [end], tag + ": how the round ended")
            rows.check_no_other(env, row, ("peer_select_ns",), tag)
    off.check(rounds * sum(waited for _, _, waited, _ in KNOWN))
    ignored = [row for found_ in events(env, squid, "NEIGHBOR_IGNORED").values() for row in found_]
    env.equal([row["id"] for row in ignored], ["witness"] * rounds, "answers that came too late")


def two_squids(env):
    """Two Squids: one asks by ICP, one by HTCP, the other answers, and each of its lines has a row."""
    origin = Origin(env)
    icp, htcp = free_udp_port(), free_udp_port()
    parent = Squid(env, "parent", trace="", dns=origin.host, lines="""
icp_port {icp}
htcp_port {htcp}
udp_incoming_address 127.0.0.1
acl denied urlpath_regex denied
icp_access deny denied
icp_access allow all
htcp_access deny denied
htcp_access allow all
htcp_clr_access allow all
""".format(icp=icp, htcp=htcp)).start()
    children = []
    for name, port, option in (("icp", icp, ""), ("htcp", htcp, "htcp")):
        children.append(asking(env, origin, "cache_peer 127.0.0.1 sibling %d %d no-digest no-netdb-exchange %s\n"
                               % (parent.port, port, option), "by-" + name).start())
    with Client(parent.client_address()) as client:
        for n in range(20):
            client.request(origin.url("shared%d" % n), "shared%d" % n)
    for child in children:
        with Client(child.client_address()) as client:
            for n in range(30):
                env.equal(client.request(origin.url("shared%d" % n), "asked%d" % n).status, 200, "asked%d" % n)
            client.request(origin.url("denied"), "denied")
    for child in children:
        pairs, _, _ = finish(env, child)
        siblings = [row for row in dump.table(env, child.directory, "connections") if row["peer_kind"] == "sibling"]
        env.equal(len({row["xid"] for row in siblings}), 20, "requests that were sent to the sibling")
        hits = [row["aux"] for found in events(env, child, "NEIGHBOR_ANSWER").values() for row in found]
        env.equal(hits.count("1"), 20, "hits that the sibling said")
        env.equal([row["arg"] for found in events(env, child, "NEIGHBOR_ANSWER").values() for row in found][:1],
                  ["127.0.0.1"], "a neighbour without name= is called by its host")
    _, lines, requests = finish(env, parent)
    check_queries(env, lines, requests, {"UDP_HIT": 40, "UDP_MISS": 20, "UDP_DENIED": 2})


def check_queries(env, lines, requests, wanted):
    """As many rows of class query as lines of each tag."""
    tags = collections.Counter(line.tag for line in lines if line.tag.startswith("UDP_"))
    found = collections.Counter(row["tag"] for row in requests if row["class"] == "query")
    env.equal(dict(found), dict(tags), "rows and lines of queries")
    env.equal(dict(tags), wanted, "queries")
    env.equal({row["outcome"] for row in requests if row["class"] == "query"}, {"complete"}, "outcomes of queries")


class Questioner:
    """Asks a Squid by ICP and HTCP, one question at a time; sums up how long the answers took."""

    def __init__(self, icp, htcp):
        self.ports = {"icp": icp, "htcp": htcp}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((ASKER, 0))
        self.socket.settimeout(5)
        self.took = []

    def ask(self, protocol, datagram, answered=True):
        begin = time.monotonic_ns()
        self.socket.sendto(datagram, ("127.0.0.1", self.ports[protocol]))
        if not answered:
            return None
        answer = self.socket.recv(65536)
        self.took.append(time.monotonic_ns() - begin)
        return answer


def served(env):
    """Every kind of query and answer, also those that access.log does not mention."""
    origin = Origin(env)
    icp, htcp = free_udp_port(), free_udp_port()
    squid = Squid(env, trace="", dns=origin.host, lines="""
icp_port {icp}
htcp_port {htcp}
udp_incoming_address 127.0.0.1
acl denied urlpath_regex denied
icp_access deny denied
icp_access allow all
htcp_access deny denied
htcp_access allow all
htcp_clr_access allow all
""".format(icp=icp, htcp=htcp)).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("here"), "here")
    here, away, denied = (origin.url(name) for name in ("here", "away", "denied"))
    asker = Questioner(icp, htcp)
    times = 20
    looked_up = (2, 3) if versions.survives_icp3(squid.version()) else (2,)
    for n in range(times):
        for version in looked_up:
            env.equal(asker.ask("icp", icp_message(ICP_QUERY, n, here, version))[0], 2, "ICP_HIT")
            env.equal(asker.ask("icp", icp_message(ICP_QUERY, n, away, version))[0], 3, "ICP_MISS")
        env.equal(asker.ask("icp", icp_message(ICP_QUERY, n, denied))[0], 22, "ICP_DENIED")
        for version in (2, 3):
            env.equal(asker.ask("icp", icp_message(ICP_QUERY, n, "no url", version))[0], 4, "ICP_ERR")
        for url, answer in ((here, 0), (away, 1)):
            reply = asker.ask("htcp", htcp_message(HTCP_TST, n + 1, htcp_specifier(url), f1=True))
            env.equal(reply[6] & 15, answer, "HTCP's answer")
        asker.ask("htcp", htcp_message(HTCP_TST, n + 1, htcp_specifier(denied), f1=True), False)
        asker.ask("htcp", htcp_message(HTCP_TST, n + 1, b"\0\1", f1=True), False)
        # not logged: no answer is wanted, nothing to do, no query at all
        asker.ask("htcp", htcp_message(HTCP_TST, n + 1, htcp_specifier(here)), False)
        asker.ask("htcp", htcp_message(HTCP_TST, n + 1, b"", f1=True), False)
        asker.ask("htcp", htcp_message(HTCP_NOP, n + 1, b""), False)
        asker.ask("icp", icp_message(2, n, here), False)
    asker.ask("htcp", htcp_message(HTCP_CLR, 1, b"\0\0" + htcp_specifier(here), f1=True))
    asker.ask("htcp", htcp_message(HTCP_CLR, 2, b"\0\0" + htcp_specifier(here), f1=True))
    env.equal(asker.ask("icp", icp_message(ICP_QUERY, 1, here))[0], 3, "ICP_MISS of what was cleared")
    _, lines, requests = finish(env, squid)
    check_queries(env, lines, requests, {"UDP_HIT": (len(looked_up) + 1) * times + 1,
                                         "UDP_MISS": (len(looked_up) + 1) * times + 2,
                                         "UDP_DENIED": 2 * times, "UDP_INVALID": 3 * times})
    env.equal(len([1 for found in events(env, squid, "XACT_UNLOGGED").values() for _ in found]), 2 * times,
              "queries without a line")
    check_service_times(env, requests, asker)


def check_service_times(env, requests, asker):
    """What the rows say that the answers took is less than what the asker saw, and more than writing two records."""
    took = [row.ns("total_ns") for row in requests if row["tag"] in ("UDP_HIT", "UDP_MISS")]
    env.note("a query is served in %.1f us, answered in %.1f us (medians)"
             % (quantile(took, 0.5) / 1e3, quantile(asker.took, 0.5) / 1e3))
    env.check(min(took) > 1000, "a query was served in %d ns" % min(took))
    env.check(quantile(took, 0.5) < quantile(asker.took, 0.5), "queries are served in more time than the asker waited")


def unlogged(env):
    """With log_icp_queries off no query has a line, and none has a row."""
    origin = Origin(env)
    icp, htcp = free_udp_port(), free_udp_port()
    squid = Squid(env, trace="", dns=origin.host, lines="""
icp_port {icp}
htcp_port {htcp}
udp_incoming_address 127.0.0.1
log_icp_queries off
icp_access allow all
htcp_access allow all
""".format(icp=icp, htcp=htcp)).start()
    asker = Questioner(icp, htcp)
    for n in range(10):
        asker.ask("icp", icp_message(ICP_QUERY, n, origin.url("x")))
        asker.ask("htcp", htcp_message(HTCP_TST, n + 1, htcp_specifier(origin.url("x")), f1=True))
    _, lines, requests = finish(env, squid)
    env.equal((len(lines), len(requests)), (0, 0), "lines and rows")
    env.equal(len(events(env, squid, "XACT_UNLOGGED")), 20, "queries that were served")


def dead_neighbour(env):
    """Neighbours that are asked though no answer is expected, and a client that leaves while one is awaited."""
    origin = Origin(env)
    neighbour = NeighbourServer(env, origin.host)
    squid = asking(env, origin, """
cache_peer {host} sibling {port} {udp} name=witness no-digest no-netdb-exchange
icp_query_timeout 2000
dead_peer_timeout 1 second
""".format(host=origin.host, port=origin.port, udp=neighbour.port)).start()
    with Client(squid.client_address()) as client:
        client.send(client.head("GET", origin.url("left", ask="never"), "left"))
        time.sleep(0.3)
        client.close()
        client.request(origin.url("first", ask="never"), "first")
        time.sleep(1.5)
        client.request(origin.url("dead", ask="never"), "dead")
    pairs, _, _ = finish(env, squid)
    found = {line.xtag: row for line, row in pairs}
    asked = {tag: events(env, squid, "NEIGHBORS_ASKED")[row["xid"]] for tag, row in found.items()}
    env.equal([(row["arg"], row["aux"]) for row in asked["dead"]], [("1", "0")], "a dead neighbour: asked, expected")
    rows.check_stage(env, found["dead"], "peer_select_ns", 0, 20 * MS, "a dead neighbour")
    rows.check_stage(env, found["left"], "peer_select_ns", 300 * MS, 50 * MS, "left")
    env.equal(found["left"]["outcome"], "aborted", "left: outcome")
    rows.check_stage(env, found["first"], "peer_select_ns", 2045 * MS, 55 * MS, "first")


TESTS = [
    ("ICP neighbours that answer late or not at all", first(lambda env: sent(env, "icp")), 60),
    ("HTCP neighbours that answer late or not at all", first(lambda env: sent(env, "htcp")), 60),
    ("a neighbour that is dead, a client that leaves", first(dead_neighbour), 60),
    ("ICP and HTCP between Squids", two_squids, 60),
    ("every kind of query that is answered", served, 60),
    ("queries that are not logged", unlogged, 40),
]
