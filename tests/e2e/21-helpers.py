# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers that wait a known time and log their own clock: the stage that waits for them agrees within 1 ms."""

import base64

from lib import dump, rows
from lib.client import Client
from lib.clocks import MS, Agreement
from lib.env import first
from lib.helper import Helper
from lib.origin import Origin
from lib.squid import Squid

COUNT = 200  # so that p99 leaves out one


def agrees(env, found, helpers, stage, tags, what):
    """The stage took as long as the helpers say that they took for the request, one after the other, and no other stage
    took long."""
    off = Agreement(env)
    for tag in tags:
        asked = [helper.questions(tag) for helper in helpers]
        if not env.check(tag in found and all(asked), "%s: %s has no row, or a helper never saw it" % (what, tag)):
            continue
        spans = sum(asked, [])
        row = found[tag][1]
        off.add(what, tag, row.ns(stage), sum(answered - received for received, answered in spans), *sum(spans, ()),
                parts=len(spans))
        rows.check_no_other(env, row, (stage,), tag)
    off.check(len(tags))


@first
def rewriters(env):
    origin = Origin(env)
    rewrite, store_id = Helper(env, "rewrite"), Helper(env, "storeid")
    squid = Squid(env, trace="", dns=origin.host, lines="""
acl plain urlpath_regex plain
url_rewrite_program %s
url_rewrite_children 1 startup=1
url_rewrite_access deny plain
store_id_program %s
store_id_children 1 startup=1
store_id_access deny plain
""" % (rewrite.command, store_id.command)).start()
    tags = ["r%dx" % n for n in range(COUNT)]
    with Client(squid.client_address()) as client:
        client.request(origin.url("warm"), "warm")
        for n, tag in enumerate(tags):
            client.request(origin.url("wait%d-%s" % (3 + n % 5, tag)), tag)
        client.request(origin.url("plain"), "plain")
        client.request(origin.url("moved/wait4-moved").replace("/x/moved", "/moved"), "moved")
        client.request("http://%s:%d/elsewhere/wait4-elsewhere" % (origin.host, origin.port), "elsewhere")
        client.send(client.head("GET", origin.url("wait300-gone"), "gone"))
        client.close()
        client.request(origin.url("after"), "after")
    squid.stop()
    found = rows.check_run(env, squid)
    agrees(env, found, [rewrite, store_id], "redirect_ns", tags, "rewriters")
    env.equal(found["plain"][1]["redirect_ns"], "-", "redirect_ns of a request that no helper was asked about")
    env.equal(found["elsewhere"][1]["class"], "internal", "class of a redirect")
    env.equal(found["elsewhere"][1]["status"], "302", "status of a redirect")
    env.check(found["elsewhere"][1].ns("redirect_ns") >= 4 * MS, "redirect_ns of a redirect")
    each_alone(env, squid, found, {"0": rewrite, "1": store_id}, tags)


def each_alone(env, squid, found, helpers, tags):
    """The events tell of each question to each helper (by the event's flag), and of each how long it took."""
    begun, ended = {}, {}
    for row in dump.table(env, squid.directory, "events", "--where=event == REDIRECT_BEGIN or event == REDIRECT_END"):
        moments = begun if row["event"] == "REDIRECT_BEGIN" else ended
        env.check((row["aux"], row["id"]) not in moments, "%s of %s again" % (row["event"], row["id"]))
        moments[row["aux"], row["id"]] = row.begin_ns
    off = Agreement(env)
    for flag, helper in helpers.items():
        env.equal(sum(asked == flag for asked, _ in begun), len(helper.questions()), "REDIRECT_BEGIN with aux " + flag)
        for tag in found.keys() & tags:
            key = flag, found[tag][1]["xid"]
            spans = helper.questions(tag)
            if env.check(key in begun and key in ended and len(spans) == 1, "%s: helper %s" % (tag, flag)):
                (received, answered), = spans
                off.add("helper " + flag, tag, ended[key] - begun[key], answered - received, received, answered)
    off.check(len(tags))


def credentials(user):
    return "Proxy-Authorization: Basic " + base64.b64encode((user + ":secret").encode()).decode()


@first
def access_lists(env):
    """An external ACL, basic authentication, and one after the other; each asked anew for each request."""
    origin = Origin(env)
    acl, auth = Helper(env, "acl"), Helper(env, "auth")
    squid = Squid(env, trace="", dns=origin.host, lines="""
auth_param basic program %s
auth_param basic children 1 startup=1
external_acl_type waits ttl=0 negative_ttl=0 children-max=1 children-startup=1 %%URI %s
acl asked external waits
acl known proxy_auth REQUIRED
acl open urlpath_regex open
acl external_only urlpath_regex external
acl known_only urlpath_regex known
http_access allow open
http_access deny known_only !known
http_access allow known_only
http_access deny !asked
http_access allow external_only
http_access deny !known
""" % (auth.command, acl.command)).start()
    externals, users, both = (["%s%dx" % (letter, n) for n in range(COUNT)] for letter in "eua")
    with Client(squid.client_address()) as client:
        client.request(origin.url("warm-external"), "warm")
        client.request(origin.url("warm"), "warm-auth", headers=[credentials("warm")])
        for n, tag in enumerate(externals):
            client.request(origin.url("external-wait%d-%s" % (3 + n % 5, tag)), tag)
        for n, tag in enumerate(users):
            client.request(origin.url("known-%s" % tag), tag, headers=[credentials("wait%d-%s" % (3 + n % 5, tag))])
        for n, tag in enumerate(both):
            client.request(origin.url("both-%s" % tag), tag, headers=[credentials("wait%d-%s" % (3 + n % 5, tag))])
        env.equal(client.request(origin.url("nobody"), "nobody").status, 407, "a request without credentials")
        env.equal(client.request(origin.url("wrong"), "wrong", headers=[credentials("refuse-wrong")]).status, 407,
                  "a request with wrong credentials")
        env.equal(client.request(origin.url("external-wait5-refuse"), "refused").status, 403, "a refused request")
        client.request(origin.url("open"), "open")
    squid.stop()
    found = rows.check_run(env, squid)
    agrees(env, found, [acl], "helper_ns", externals, "external ACL")
    agrees(env, found, [auth], "helper_ns", users, "authentication")
    agrees(env, found, [acl, auth], "helper_ns", both, "external ACL and authentication")
    for tag in ("nobody", "wrong", "refused"):
        env.equal((found[tag][1]["class"], found[tag][1]["outcome"]), ("denied", "complete"), tag)
    env.check(found["refused"][1].ns("helper_ns") >= 5 * MS, "helper_ns of a refused request")
    rows.check_no_other(env, found["open"][1], (), "a request that nobody was asked about", 3 * MS)


TESTS = [
    ("url_rewrite_program and store_id_program: redirect", rewriters, 90),
    ("an external ACL and authentication: helper", access_lists, 90),
]
