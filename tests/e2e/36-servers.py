# SPDX-License-Identifier: GPL-2.0-or-later
"""Which server a request waited for: names of servers, the table of servers, and what names= keeps out of a trace."""

import base64
import json
import os
import random
import re
import urllib.parse

from lib import access, dump, rows
from lib.client import Broken, Client
from lib.env import first, run, wait_for
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.origin import Origin
from lib.squid import Squid

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
acl tardy urlpath_regex tardy
acl marked annotate_transaction speed=low
acl more annotate_transaction way+=a;"b"
acl two annotate_transaction way+=second
http_access allow tardy marked
http_access allow by_peer more two
note direct yes !by_peer
logformat notes %master_xaction %{{speed}}note %{{way}}note %{{direct}}note
access_log stdio:{{folder}}/notes.log logformat=notes
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
    listed = run([env.tool("sqtrace-dump"), "--list"], 20).stdout
    names = re.findall("^table ([^ ]*) - ", listed, re.M)
    env.check(len(names) > 20, "tables: %s" % names)
    texts = [dump.Dump(env, squid.directory, table=name).text for name in names]
    texts.append(dump.Dump(env, squid.directory, options=["--format=chrome"]).text)
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
    found, where, squid = load(env, "servers note=speed,way", count=4)
    by_address = check_one_to_one(env, found, where)
    env.equal({address: name for address, name in by_address.items() if name != "moon"},
              {address: address for address, name in by_address.items() if name != "moon"}, "origins by their addresses")
    check_notes(env, squid)


def check_notes(env, squid):
    """Notes that squid.conf names, as columns and in groups: each as access.log has it."""
    rows_found = dump.table(env, squid.directory, "requests", "--columns=xid,note_way,note_speed,note_direct,notes")
    with open(os.path.join(squid.folder, "notes.log")) as log:
        lines = {xid: [urllib.parse.unquote(text) for text in texts] for xid, *texts in map(str.split, log)}
    env.equal({row["xid"]: [row["note_speed"], row["note_way"], "-"] for row in rows_found},
              {xid: [speed, way, "-"] for xid, (speed, way, _) in lines.items()}, "notes as in access.log")
    env.equal({texts[2] for texts in lines.values()}, {"yes", "-"}, "a note that sqtrace_log does not name")
    env.equal({row["note_direct"] for row in rows_found}, {"-"}, "it is not in the trace")
    for row in rows_found:
        said = {name: row["note_" + name] for name in ("speed", "way") if row["note_" + name] != "-"}
        env.equal(json.loads(row["notes"]) if row["notes"] != "-" else {}, said, "all notes")
    spans = dump.Dump(env, squid.directory, options=["--format=otlp"]).text
    env.equal(spans.count('"squid.note.speed","value":{"stringValue":"low"}'), 4, "attributes of spans")
    groups = dump.table(env, squid.directory, "requests", "--group-by=note_speed", "--where=note_way=-")
    env.equal({row["note_speed"]: row["count"] for row in groups}, {"low": "4", "-": "4"}, "groups")


def off(env):
    found, _, squid = load(env, "off compress=off", count=4)
    env.equal({row["server"] for _, row in found.values()}, {"-"}, "servers")
    env.equal(dump.table(env, squid.directory, "servers"), [], "table of servers")
    env.check("moon" not in everything(squid, env), "the parent's name is in the trace")


class Tokens:
    """Random texts, which are searched for later, wherever they were sent: {text: where}."""

    def __init__(self, env):
        self.env, self.chance, self.sent = env, random.Random(36), {}

    def __call__(self, where):
        text = "".join(self.chance.choices("bcdfghjkmnpqrstvwxz2456789", k=16))
        self.sent[text] = where
        return text

    def headers(self, *names):
        return ["%s: %s" % (name, self("the header " + name)) for name in names]


def answers(token, n):
    """What an origin answers, whole."""
    lines = ["HTTP/1.1 %d %s" % ((200, 404, 500, 302)[n % 4], token("a reason phrase"))]
    lines += token.headers("Server", "X-Cache", "Content-Type", "Set-Cookie", "Via", "Warning", "Vary")
    lines += ['ETag: "%s"' % token("an ETag"), "Cache-Control: %s=1, max-age=100" % token("a directive"),
              "Location: http://%s.test/%s" % (token("a new host"), token("a new path")),
              "%s: 1" % token("the name of a header")]
    return "\r\n".join(lines) + "\r\n\r\n" + token("a body")


def odd_requests(client, token, origin):
    """Each part of a request holds a token of its own.  Squid refuses some of them."""
    for n in range(24):
        raw = urllib.parse.quote_plus(answers(token, n), safe="")
        host, path, query = token("a host"), token("a path"), token("a query")
        url = "http://%s.test:%d/raw=%s/%s?%s=%s" % (host, origin.port, raw, path, query, token("a value"))
        if n % 6 == 3:
            url = url.replace("http://", "http://%s:%s@" % (token("a user"), token("a password")))
        user = base64.b64encode(("%s:%s" % (token("a user's name"), token("a password"))).encode()).decode()
        headers = token.headers("User-Agent", "Referer", "Cookie", "Accept-Language", "X-Forwarded-For", "Via", "From",
                                "Authorization", "If-None-Match", "Range", "Cache-Control", "Pragma", "Expect-CT")
        headers += ["Proxy-Authorization: Basic " + user, "%s: 1" % token("the name of a header")]
        token.sent[user] = "credentials"
        # The one text of clients that the manual lists.
        method = ("GET", "HEAD", "POST", "UNKNOWNMETHOD", "PURGE", "OPTIONS")[n % 6]
        yield method, url, headers, token("a body").encode() if method == "POST" else b""


def odd(env):
    """names=configured: nothing that a client or an origin sent is in the trace, whole or in part."""
    token, origin, icap = Tokens(env), Origin(env), IcapServer(env)
    auth, acl, rewriter = Helper(env, "auth"), Helper(env, "acl"), Helper(env, "rewrite")
    squid = Squid(env, trace="names=configured compress=off", dns=origin.host, lines="""
auth_param basic program %s
acl authenticated proxy_auth REQUIRED
external_acl_type odd_acl ttl=0 %%SRC %%DST %%PATH %%{User-Agent}>h %s
acl odd external odd_acl
acl PURGE method PURGE
http_access allow authenticated odd
url_rewrite_program %s
""" % (auth.command, acl.command, rewriter.command) + icap.enabled() + icap.service("odd_req", "reqmod_precache") +
                  icap.service("odd_resp", "respmod_precache") +
                  "adaptation_access odd_req allow all\nadaptation_access odd_resp allow all\n").start()
    answered = 0
    with Client(squid.client_address(), 20) as client:
        for method, url, headers, body in odd_requests(client, token, origin):
            try:
                answered += client.request(url, token("a tag"), method, headers, body).status < 500
            except (Broken, OSError):
                client.close()
        for _ in range(4):
            client.tunnel("%s.test:%d" % (token("a tunnel's host"), origin.echo_port), token("a tag"))
            client.close()
            client.send(("%s %s\r\n\r\n" % (token("no request"), token("no request"))).encode())
            try:
                client.receive()
            except (Broken, OSError):
                pass
            client.close()
    squid.stop()
    env.check(answered >= 8, "only %d requests were answered" % answered)
    env.check(len(helper_lines(auth)) >= 8 and len(helper_lines(acl)) >= 8, "helpers were hardly asked")
    for name in ("waits", "services"):
        env.check(len(dump.table(env, squid.directory, name)) >= 3, "table %s has hardly a row" % name)
    text = everything(squid, env).lower()
    for known in ("odd_acl", "odd_req", "helper.py", "unknownmethod"):
        env.check(known in text, "%s is not there, so the search would find nothing" % known)
    for sent, where in token.sent.items():
        parts = {sent.lower()[at:at + 12] for at in range(len(sent) - 11)}
        found = [part for part in parts if part in text]
        env.check(not found, "%s is in the trace: %s" % (where, found[:1]))
    env.note("%d texts, none in %d bytes of tables and files" % (len(token.sent), len(text)))


def helper_lines(helper):
    with open(helper.log) as log:
        return log.read().split("\n")


NUMBER = re.compile("[0-9a-f]{16}")


def hosts(env, name, trace="", lines="", workers=1, again=None):
    """The names of the machine in the trace of a Squid that answers one request, and the warnings about them."""
    origin = Origin(env, "origin-" + name)
    squid = Squid(env, name, trace=trace, lines=lines, workers=workers).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("x"), "x")
    if again:
        squid.lines = again
        squid.reconfigure()
        wait_for(lambda: "a changed name of the host" in squid.log_text(), 20, "the other name to be noticed")
    said = squid.log_text()
    squid.stop()
    found = {row["host"] for row in dump.table(env, squid.directory, "loops", "--columns=host")}
    return found, [line for line in said.split("\n") if "host" in line and "WARNING: sqtrace" in line]


def machine(env):
    """The base of these configurations has visible_hostname e2e.test."""
    env.equal(hosts(env, "visible"), ({"e2e.test"}, []), "visible_hostname")
    env.equal(hosts(env, "unique", lines="unique_hostname one.e2e.test"), ({"one.e2e.test"}, []), "unique_hostname")
    env.equal(hosts(env, "given", "host=given.test", "unique_hostname one.e2e.test"), ({"given.test"}, []), "host=")
    found, said = hosts(env, "off", "names=off", "unique_hostname one.e2e.test")
    env.check(len(found) == 1 and NUMBER.fullmatch(min(found)) and not said, "names=off: %s %s" % (found, said))
    found, said = hosts(env, "unfit", lines="unique_hostname one+two")
    env.check(len(found) == 1 and NUMBER.fullmatch(min(found)), "a name with +: %s" % found)
    env.check(len(said) == 1 and "the host's name one+two: allowed is" in said[0], "which is said once: %s" % said)
    env.equal(hosts(env, "kids", lines="unique_hostname one-${process_number}.test", workers=2)[0],
              {"one-1.test", "one-2.test", "one-3.test"}, "each process of SMP has its own, if squid.conf says so")
    found, said = hosts(env, "later", lines="unique_hostname one.test", again="unique_hostname two.test")
    env.equal((found, len(said)), ({"one.test"}, 1), "another name waits for a restart: %s" % said)


TESTS = [
    ("the machine's name: host=, unique_hostname, visible_hostname", machine, 60),
    ("names=configured: a parent by its name, an origin by a number", first(configured), 60),
    ("names=servers: an origin by its address and port", first(servers), 40),
    ("names=off: none", first(off), 40),
    ("names=configured: nothing that clients and origins send", odd, 60),
]
