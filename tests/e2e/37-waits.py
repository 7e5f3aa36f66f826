# SPDX-License-Identifier: GPL-2.0-or-later
"""Who was waited for, by name: helpers, ICAP services and name servers, against what they log by their own clocks."""

import base64
import collections
import time

from lib import dump, rows
from lib.adaptation import Scene
from lib.client import Client, at_once
from lib.clocks import MS, Agreement
from lib.env import first, free_port, median, run
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.nameserver import NameServer
from lib.origin import Origin
from lib.squid import Squid

COUNT = 100
WAIT = 20  # ms, of a helper whose queue is looked at
TOGETHER = 12  # requests in that queue

CONF = """
auth_param basic program {auth.command}
auth_param basic children 2 startup=2
auth_param basic credentialsttl 1 second
external_acl_type groups ttl=0 negative_ttl=0 children-max=2 children-startup=2 queue-size=50 %URI {acl.command}
url_rewrite_program {rewrite.command}
url_rewrite_children 2 startup=2
store_id_program {store.command}
store_id_children 2 startup=2
acl grouped external groups
acl known proxy_auth REQUIRED
acl plain urlpath_regex plain
acl for_known urlpath_regex known
url_rewrite_access deny plain
store_id_access deny plain
http_access deny for_known !known
http_access allow for_known
http_access allow plain
http_access deny !grouped
"""


def waits(env, squid, where=None):
    return dump.table(env, squid.directory, "waits", *(["--where=" + where] if where else []))


def credentials(user):
    return "Proxy-Authorization: Basic " + base64.b64encode((user + ":secret").encode()).decode()


def by_xid(found):
    """{xid: X-Tag} of what rows.check_run() found, where None stands for all requests without a tag."""
    return {pair[1]["xid"]: tag for tag, pair in found.items() if tag}


# ---- helpers ----

@first
def helpers(env):
    """Each use of each helper is a row, as long as the helper says; the stage helper is what access checks waited."""
    origin = Origin(env)
    used = {kind: Helper(env, name) for kind, name in (("auth", "auth"), ("acl", "acl"), ("rewrite", "rewrite"),
                                                       ("store", "storeid"))}
    squid = Squid(env, trace="", dns=origin.host, lines=CONF.format(**used)).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("warm"), "warm")
        for n in range(COUNT):
            client.request(origin.url("wait%d-g%dx" % (3 + n % 5, n)), "g%dx" % n)
            client.request(origin.url("known-plain-k%dx" % n), "k%dx" % n,
                           headers=[credentials("wait%d-k%dx" % (3 + n % 5, n))])
        env.equal(client.request(origin.url("refuse-g"), "refuse").status, 403, "a refused request")
        client.request(origin.url("plain"), "plain")
    squid.stop()
    found = rows.check_run(env, squid)
    tags, table = by_xid(found), waits(env, squid)
    off = Agreement(env)
    wanted = {"external_acl": ("groups", used["acl"]), "auth": ("basic", used["auth"]),
              "url_rewrite": ("helper.py", used["rewrite"]), "store_id": ("helper.py", used["store"])}
    answers = {"url_rewrite": "err"}  # ERR of a rewriter: the URL stays
    stage = collections.Counter()
    for kind, (name, helper) in wanted.items():
        mine = [row for row in table if row["kind"] == kind]
        env.equal(len(mine), len(helper.questions()), "uses of " + kind)
        env.equal({row["name"] for row in mine}, {name}, "names of " + kind)
        for row in mine:
            tag = tags[row["xid"]]
            if tag[0] not in "gk":
                continue
            (received, answered), = helper.questions(tag)
            off.add(kind, tag, row.ns("service_ns"), answered - received, received, answered)
            env.equal((row["depth"], row["outcome"]), ("0", answers.get(kind, "ok")), "%s of %s" % (kind, tag))
            env.equal(row.ns("queue_ns") + row.ns("service_ns"), row.ns("total_ns"), "%s of %s: parts" % (kind, tag))
            if kind in ("external_acl", "auth"):
                stage[tag] += row.ns("total_ns")
    off.check(COUNT)
    for tag, ns in stage.items():
        env.equal(found[tag][1].ns("helper_ns"), ns, tag + ": helper_ns")
    env.equal([row["outcome"] for row in table if tags[row["xid"]] == "refuse"], ["err"], "a refused request")
    env.equal(found["plain"][1]["helper_ns"], "-", "helper_ns of a request that no helper was asked about")
    check_services(env, squid, table, found)


def check_services(env, squid, table, found):
    """The table of services by a second computation."""
    total = sum(pair[1].ns("total_ns") for tag, pair in found.items() if tag)
    services = dump.table(env, squid.directory, "services")
    env.equal(sorted((row["kind"], row["name"]) for row in services), sorted({(wait["kind"], wait["name"]) for wait in table}),
              "services")
    for row in services:
        mine = [wait for wait in table if (wait["kind"], wait["name"]) == (row["kind"], row["name"])]
        times = sorted(wait.ns("total_ns") for wait in mine)
        env.equal(int(row["count"]), len(mine), "waits for " + row["name"])
        env.check(abs(float(row["p50_ms"]) * MS - median(times)) < 1, "p50 of " + row["name"])
        share = 100 * sum(wait.ns("total_ns") for wait in mine if wait["xid"] != "-") / total
        env.check(abs(float(row["share_pct"]) - share) < 0.01, "share of %s: %s, %f" % (row["name"], row["share_pct"], share))


@first
def queue(env):
    """One child of known service and many requests at once: the sum of the queue, and that of the service."""
    origin, acl = Origin(env), Helper(env, "acl")
    squid = Squid(env, trace="", dns=origin.host, lines="""
external_acl_type single ttl=0 negative_ttl=0 children-max=1 children-startup=1 queue-size=50 %%URI %s
acl grouped external single
http_access deny !grouped
""" % acl.command).start()

    def ask(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("wait%d-q%dx" % (WAIT, n)), "q%dx" % n)

    with Client(squid.client_address()) as client:
        client.request(origin.url("warm"), "warm")
    at_once(TOGETHER, ask)
    squid.stop()
    found = rows.check_run(env, squid)
    tags = by_xid(found)
    table = sorted((row for row in waits(env, squid) if tags[row["xid"]] != "warm"), key=lambda row: row.begin_ns)
    env.equal(len(table), TOGETHER, "uses")
    env.equal(sorted(int(row["depth"]) for row in table), [0] + list(range(TOGETHER - 1)), "depths")
    logged = {tags[row["xid"]]: acl.questions(tags[row["xid"]])[0] for row in table}
    start, began = logged[tags[table[0]["xid"]]][0], table[0].begin_ns
    wanted = [logged[tags[row["xid"]]][0] - start - (row.begin_ns - began) for row in table]
    got = [row.ns("queue_ns") for row in table]
    env.note("queue: %.3f ms in all, by the helper's clock %.3f ms" % (sum(got) / MS, sum(wanted) / MS))
    env.check(abs(sum(got) - sum(wanted)) <= 0.02 * sum(wanted), "queue: %d ns, wanted %d ns" % (sum(got), sum(wanted)))
    for row in table:
        env.equal(found[tags[row["xid"]]][1].ns("helper_ns"), row.ns("total_ns"), "helper_ns with the queue")


@first
def shared(env):
    """Requests that wait for the answer to another one's question wait for the helper, too."""
    origin, acl = Origin(env), Helper(env, "acl")
    squid = Squid(env, trace="", dns=origin.host, lines="""
external_acl_type single ttl=60 children-max=1 children-startup=1 queue-size=50 %%DST %s
acl grouped external single
http_access deny !grouped
""" % acl.command).start()

    def ask(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("s%d" % n, host="wait200.test"), "s%d" % n)

    at_once(5, ask)
    squid.stop()
    found = rows.check_run(env, squid)
    table = waits(env, squid, "kind == external_acl")
    env.equal(sorted(row["outcome"] for row in table), ["ok"] + ["shared"] * 4, "outcomes")
    env.equal(len(acl.questions()), 1, "questions")
    for row in table:
        tag = by_xid(found)[row["xid"]]
        env.equal(found[tag][1].ns("helper_ns"), row.ns("total_ns"), tag + ": helper_ns")
        env.equal(row["service_ns"] == "-", row["outcome"] == "shared", tag + ": service")


def helpers_in_trouble(env):
    """A helper that dies, and one that says that it is broken: each question ends once."""
    origin, acl = Origin(env), Helper(env, "acl")
    squid = Squid(env, trace="", dns=origin.host, lines="""
external_acl_type single ttl=0 negative_ttl=0 children-max=3 children-startup=2 children-idle=1 %%URI %s
acl grouped external single
http_access deny !grouped
""" % acl.command).start()
    with Client(squid.client_address()) as client:
        for tag, name in (("fine", "fine"), ("broken", "bh-1"), ("dead", "dies-1"), ("after", "after")):
            client.request(origin.url(name), tag)
    squid.stop()
    found = rows.check_run(env, squid)
    tags = by_xid(found)
    seen = collections.defaultdict(list)
    for row in waits(env, squid, "kind == external_acl"):
        seen[tags[row["xid"]]].append(row["outcome"])
    env.equal(seen["fine"] + seen["after"], ["ok", "ok"], "healthy ones")
    env.equal(seen["broken"], ["broken"] * 3, "asked three times")
    env.equal(seen["dead"], ["died"], "the helper died")
    service, = dump.table(env, squid.directory, "services", "--where=kind == external_acl")
    env.equal((service["retries"], service["failures"]), ("2", "4"), "retries and failures")


def credentials_at_once(env):
    """Requests with the same credentials ask once; the others wait for that answer."""
    origin, auth = Origin(env), Helper(env, "auth")
    squid = Squid(env, trace="", dns=origin.host, lines="""
auth_param basic program %s
auth_param basic children 1 startup=1
acl known proxy_auth REQUIRED
http_access deny !known
""" % auth.command).start()

    def ask(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("c%d" % n), "c%d" % n, headers=[credentials("wait200-all")])

    at_once(4, ask)
    squid.stop()
    found = rows.check_run(env, squid)
    table = waits(env, squid, "kind == auth")
    env.equal(sorted(row["outcome"] for row in table), ["ok"] + ["shared"] * 3, "outcomes")
    for row in table:
        tag = by_xid(found)[row["xid"]]
        env.equal(found[tag][1].ns("helper_ns"), row.ns("total_ns"), tag + ": helper_ns")


def helper_times_out(env):
    """A rewriter with channels that does not answer one question."""
    origin, rewrite = Origin(env), Helper(env, "channel")
    squid = Squid(env, trace="", dns=origin.host, lines="""
url_rewrite_program %s
url_rewrite_children 1 startup=1 concurrency=10
url_rewrite_timeout 1 second on_timeout=bypass
""" % rewrite.command).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("fine"), "fine")
        client.request(origin.url("mute-1"), "mute")
        client.request(origin.url("after"), "after")
    squid.stop()
    tags = by_xid(rows.check_run(env, squid))
    seen = [(tags[row["xid"]], row["outcome"]) for row in waits(env, squid, "kind == url_rewrite")]
    env.equal(sorted(seen), [("after", "err"), ("fine", "err"), ("mute", "timeout")], "outcomes")


# ---- ICAP ----

def icap(env):
    """Each use of each service is a row, as long as the service says."""
    scene = Scene(env, IcapServer(env))
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for n in range(COUNT // 2):
            scene.ask(client, "m%d" % n, reqmod="wait=%d;do=change" % (3 + n % 5))
            scene.ask(client, "c%d" % n, respmod="wait=%d;do=change" % (3 + n % 5), through="chain")
    entries = scene.service.entries()
    found = {line.xtag: (line, row) for line, row in scene.stop()}
    by_tag = collections.defaultdict(list)
    for row in waits(env, scene.squid, "kind == adaptation"):
        by_tag[by_xid(found)[row["xid"]]].append(row)
    off = Agreement(env)
    for n in range(COUNT // 2):
        for tag, names in (("m%d" % n, ["req"]), ("c%d" % n, ["resp", "resp_full"])):
            env.equal([row["name"] for row in by_tag[tag]], names, tag + ": services")
            for row, entry in zip(by_tag[tag], entries[tag]):
                env.equal((row["outcome"], row["queue_ns"]), ("ok", "0"), tag)
                off.add(row["name"], tag, row.ns("service_ns"), entry["done_ns"] - entry["began_ns"],
                        entry["began_ns"], entry["done_ns"])
    off.check(COUNT // 2)


def named(server, name, *words):
    """A service whose path tells the server that it is one for REQMOD."""
    return server.service("req_" + name, "reqmod_precache", *words).replace("icap_service req_", "icap_service ", 1)


def icap_in_trouble(env):
    """A service that is down, one that does not answer in time, and one that may have only one connection."""
    origin, server = Origin(env), IcapServer(env)
    squid = Squid(env, trace="", dns=origin.host, lines=server.enabled() + """
icap_io_timeout 1 second
icap_service down reqmod_precache icap://127.0.0.1:%d/req/mod bypass=1
%s%s
acl to_down urlpath_regex down
acl to_late urlpath_regex late
acl to_one urlpath_regex one
adaptation_access down allow to_down
adaptation_access late allow to_late
adaptation_access one allow to_one
""" % (free_port(), named(server, "late", "bypass=0"), named(server, "one", "bypass=0", "max-conn=1", "on-overload=wait"))
                  ).start()

    def ask(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("one%d" % n), "one%d" % n, headers=["X-Reqmod: wait=100;do=change"])

    with Client(squid.client_address()) as client:
        client.request(origin.url("one"), "warm")
        env.equal(client.request(origin.url("down"), "down").status, 200, "a service that is down is bypassed")
        client.request(origin.url("late"), "late", headers=["X-Reqmod: do=never"])
        client.close()
    at_once(3, ask)
    squid.stop()
    entries = server.entries()
    found = rows.check_run(env, squid)
    tags = by_xid(found)
    seen = collections.defaultdict(list)
    for row in waits(env, squid, "kind == adaptation"):
        seen[tags[row["xid"]]].append(row)
    env.equal([row["outcome"] for row in seen["down"]], ["failed"], "a service that is down")
    env.equal([(row["name"], row["outcome"]) for row in seen["late"]], [("late", "timeout")], "a service without an answer")
    one = sorted((row for n in range(3) for row in seen["one%d" % n]), key=lambda row: row.begin_ns)
    env.equal([(row["name"], row["outcome"]) for row in one], [("one", "ok")] * 3, "a service of one connection")
    begun = [entries[tags[row["xid"]]][0]["began_ns"] for row in one]
    for row, began in zip(one, begun):  # in which order they get the connection is Squid's choice
        rows.check_stage(env, row, "queue_ns", began - (row.wall_ns - env.held.wall), 10 * MS, tags[row["xid"]])
    env.check(max(begun) - min(begun) >= 200 * MS, "one connection at a time: %d ns" % (max(begun) - min(begun)))


# ---- name servers ----

def name_servers(env):
    """Each query to each name server is a row; late answers and second ones make none."""
    origin = Origin(env)
    if not origin.has_names:
        env.need_root("name servers listen on port 53 of loopback addresses")
    one, two = NameServer(env, "a", origin.host), NameServer(env, "b", origin.host)
    squid = Squid(env, trace="", dns="%s %s" % (one.address, two.address),
                  lines="dns_retransmit_interval 400 milliseconds\ndns_timeout 5 seconds\n"
                        "acl inside dst 192.0.2.0/24\nacl asks_acl urlpath_regex acl$\nhttp_access deny asks_acl inside\n"
                  ).start()
    with Client(squid.client_address()) as client:
        for n in range(40):
            client.request(origin.url("n", host="a%d-t%dx.test" % (5 + n % 5, n)), "t%dx" % n)
        for tag, name in (("twice", "atwice-1"), ("mute", "amute-1"), ("late", "a600-b700-1")):
            time.sleep(1)  # Squid looks for time-outs 400 ms after the first query, and then every 400 ms
            client.request(origin.url("n", host=name + ".test"), tag)
        client.request(origin.url("n", host="atwice-2.test"), "after")
        client.request(origin.url("acl", host="a5-acl.test"), "acl")
    squid.stop()
    found = rows.check_run(env, squid)
    tags = by_xid(found)
    seen = collections.defaultdict(list)
    for row in waits(env, squid, "kind == name_server"):
        seen[tags[row["xid"]]].append(row)
    off = Agreement(env)
    entries = one.entries()
    for n in range(40):
        logged = entries["a%d-t%dx" % (5 + n % 5, n)]
        mine = seen["t%dx" % n]
        env.equal((len(mine), {row["name"] for row in mine}, {row["outcome"] for row in mine}),
                  (len(logged), {one.address}, {"ok"}), "t%dx" % n)
        for row, entry in zip(mine, logged):
            off.add("queries", "t%dx" % n, row.ns("service_ns"), entry["answered_ns"] - entry["received_ns"],
                    entry["received_ns"], entry["answered_ns"])
    off.check(40)
    env.equal({(row["query"], row["acl"]) for row in seen["acl"]}, {("A", "inside"), ("AAAA", "inside")},
              "types of the queries, and the ACL whose check asks")
    env.equal({(row["query"], row["acl"]) for row in seen["t0x"]}, {("A", "-"), ("AAAA", "-")}, "the way to a server")
    each = len(seen["twice"])  # one query for each kind of address
    env.equal({row["outcome"] for row in seen["twice"]}, {"ok"}, "answered twice")
    env.equal([(row["name"], row["outcome"]) for row in seen["mute"]],
              [(one.address, "timeout")] * each + [(two.address, "ok")] * each, "sent again to another server")
    env.equal([(row["name"], row["outcome"]) for row in seen["late"]],
              [(one.address, "timeout")] * each + [(two.address, "overtaken")] * each, "a late answer is first")
    services_found = {row["name"]: row for row in dump.table(env, squid.directory, "services")}
    env.equal((services_found[one.address]["timeouts"], services_found[two.address]["retries"]),
              (str(2 * each), str(2 * each)), "time-outs of the one, retries at the other")


# ---- names ----

def names_off(env):
    origin, acl = Origin(env), Helper(env, "acl")
    squid = Squid(env, trace="names=off compress=off", dns=origin.host, lines="""
external_acl_type secret-name ttl=0 %%URI %s
acl grouped external secret-name
http_access deny !grouped
""" % acl.command).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("one", host="one.test"), "one")
    squid.stop()
    rows.check_run(env, squid)
    kinds = collections.Counter(row["kind"] for row in waits(env, squid))
    env.equal(kinds["external_acl"], 1, "uses")
    texts = [dump.Dump(env, squid.directory, table=name).text for name in ("waits", "services", "events")]
    texts += [run(["strings", "-n", "4", path], 20).stdout for path in dump.segments(squid.directory)]
    for word in ("secret-name", origin.host):
        env.check(not any(word in text for text in texts), word + " is in the trace")


def no_values(env):
    """Squid names lists of ACLs after the line of squid.conf, with what it sets."""
    origin = Origin(env)
    squid = Squid(env, trace="compress=off", lines="""
request_header_add Authorization "Basic hush-asked" all
reply_header_add X-Key "hush-replied" all
note hush-key hush-noted all
""").start()
    with Client(squid.client_address()) as client:
        for i in range(20):
            client.request(origin.url("hushed%d" % i), "hushed")
    squid.stop()
    rows.check_run(env, squid)
    text = "".join(run(["strings", "-n", "4", path], 20).stdout for path in dump.segments(squid.directory))
    env.check("request_header_add" in text, "the directive is not told")
    for word in ("hush-asked", "hush-replied", "hush-noted", "hush-key"):
        env.check(word not in text, word + " is in the trace")


TESTS = [
    ("helpers by name: their own time, the stage helper, the table of services", helpers, 120),
    ("one child of a helper: the queue", queue, 60),
    ("the answer to another request's question", shared, 40),
    ("a helper that dies, and one that is broken", helpers_in_trouble, 40),
    ("the answer to another request's credentials", credentials_at_once, 40),
    ("a helper that does not answer in time", helper_times_out, 60),
    ("ICAP services by name: their own time", first(icap), 90),
    ("an ICAP service that is down, late, or has one connection", first(icap_in_trouble), 60),
    ("name servers: late, twice, not at all", first(name_servers), 60),
    ("names=off: no helper, no name server", first(names_off), 40),
    ("names that Squid makes of squid.conf: no value", no_values, 40),
]
