# SPDX-License-Identifier: GPL-2.0-or-later
"""A Squid whose messages are adapted by a service that does what the request says, and what must hold for its trace.

A service is lib/icapd.py's IcapServer or lib/ecap.py's EcapAdapter.  Which of its names in squid.conf gets a message is
said by the request's header X-Through.
"""

import collections
import random
import re
import time

from . import access, dump, rows, versions
from .client import Broken, Client, at_once
from .clocks import Agreement
from .dump import seconds_ns
from .origin import Origin
from .squid import Squid

CONF = """
request_header_access Cache-Control allow all
acl bypass req_header X-Through bypass
acl preview req_header X-Through preview
acl full req_header X-Through full
acl chain req_header X-Through chain
acl adapted_request req_header X-Reqmod .
acl adapted_response req_header X-Respmod .
adaptation_service_chain req_chain req req_full
adaptation_service_chain resp_chain resp resp_full
""" + "".join("adaptation_access %s_%s allow adapted_%s %s\n" % (short, through, message, through)
              for through in ("chain", "bypass", "preview", "full")
              for short, message in (("req", "request"), ("resp", "response"))) + """
adaptation_access req allow adapted_request
adaptation_access resp allow adapted_response
"""


def services(service):
    lines = service.enabled()
    for short, point in (("req", "reqmod_precache"), ("resp", "respmod_precache")):
        for name in ("", "_bypass", "_preview", "_full"):
            lines += service.service(short + name, point, "bypass=%d" % (name == "_bypass"))
    return lines


class Scene:
    """An origin, a service and a Squid between them."""

    def __init__(self, env, service, lines=""):
        self.env = env
        self.origin = Origin(env)
        self.service = service
        self.squid = Squid(env, trace="", dns=self.origin.host, lines=services(service) + CONF + lines).start()

    def ask(self, client, tag, reqmod=None, respmod=None, through=None, post=b"", status=200, answer=None, **want):
        """One request; answer: bytes of the reply's body, if it is not the origin's."""
        headers = ["%s: %s" % item for item in (("X-Reqmod", reqmod), ("X-Respmod", respmod), ("X-Through", through))
                   if item[1]]
        response = client.request(self.origin.url(tag, **want), tag, "POST" if post else "GET", headers, post)
        if answer and not versions.keeps_after_own_answer(self.squid.version()):
            client.close()
        size = answer or want.get("size", 100)
        self.env.check(response.status == status and (status != 200 or response.body_size == size),
                       "%s: status %d, %d bytes" % (tag, response.status, response.body_size))
        return response

    def warm(self, client):
        """Squid asks each service for its options, and the connections are there."""
        for n, through in enumerate((None, "bypass", "preview", "full", "chain")):
            self.ask(client, "warm%d" % n, "do=204", "do=204", through)

    def stop(self):
        """[(line, row)] after a clean stop, all promises about them checked."""
        self.squid.stop()
        requests = dump.table(self.env, self.squid.directory, "requests")
        pairs = rows.join(self.env, access.read(self.squid), requests)
        rows.check_fields(self.env, pairs)
        rows.check_sums(self.env, requests)
        rows.check_order(self.env, requests)
        self.env.equal(dump.table(self.env, self.squid.directory, "losses"), [], "losses")
        check_pairs(self.env, self.squid)
        return pairs


def check_pairs(env, squid):
    """Each chain that begins also ends, and asks as many services as it should."""
    count = collections.Counter()
    for name in ("ADAPT_BEGIN", "ADAPT_END"):
        for row in dump.table(env, squid.directory, "events", "--where=event == " + name):
            count[name, row["id"], row["aux"]] += 1
    uneven = [key[1:] for key in count if count["ADAPT_BEGIN", key[1], key[2]] != count["ADAPT_END", key[1], key[2]]]
    env.check(not uneven, "%d chains begin without end or the reverse: %s" % (len(uneven), uneven[:5]))


def took(entries, tag):
    """What the services say that they took for a request, by their own clock, in ns."""
    return sum(entry["done_ns"] - entry["began_ns"] for entry in entries.get(tag, ()))


def check_known(env, scene, known, rounds):
    """One at a time: the difference between adapt_ns and the service's own clock.

    known    [(name, arguments of Scene.ask)]
    returns  {tag: row}, a tag is a name and the number of the round
    """
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for n in range(rounds):
            for name, want in known:
                scene.ask(client, "%s.%d" % (name, n), **want)
    pairs = scene.stop()
    entries = scene.service.entries()
    rows.check_one_at_a_time(env, pairs)
    found = {line.xtag: row for line, row in pairs}
    off = Agreement(env)
    for name, want in known:
        for n in range(rounds):
            tag = "%s.%d" % (name, n)
            row = found[tag]
            if name == "neither":
                env.equal(row["adapt_ns"], "-", tag + ": adapt_ns")
                continue
            asked = entries.get(tag, ())
            off.add("adapt_ns", tag, row.ns("adapt_ns"), took(entries, tag),
                    *[entry[key] for entry in asked for key in ("began_ns", "done_ns")], parts=max(1, len(asked)))
            rows.check_no_other(env, row, ("adapt_ns",), tag)
    off.check(rounds * (len(known) - 1))
    check_order(env, scene.squid)
    return found


def check_order(env, squid):
    """A request is forwarded after its REQMOD chain has ended."""
    ends, forwards = ({row["id"]: seconds_ns(row["time_s"])
                       for row in dump.table(env, squid.directory, "events", "--where=event == " + which)}
                      for which in ("ADAPT_END and aux == 0", "FORWARD_BEGIN"))
    both = set(ends) & set(forwards)
    late = [xid for xid in both if ends[xid] > forwards[xid]]
    env.check(both and not late, "%d of %d requests were forwarded before their chain ended" % (len(late), len(both)))


def check_services(env, scene, found, wanted):
    """The services that were asked are named, in the order of the chain.  wanted: {tag: [(name, step of its chain)]}"""
    asked = collections.defaultdict(list)
    for row in dump.table(env, scene.squid.directory, "events", "--where=event == ADAPT_SERVICE"):
        asked[row["id"]].append((row["arg"], int(row["aux"])))
    for tag, services_ in wanted.items():
        env.equal(asked[found[tag]["xid"]], services_, tag + ": services")


def check_many(env, scene, choices):
    """Requests drawn from choices, [(name, arguments of Scene.ask, ...)], whose services wait 1 ms: rows and lines
    agree.  Some clients leave at once."""
    count = 4000 if env.full else 1200

    def work(n):
        random_ = random.Random(n)
        client = Client(scene.squid.client_address())
        for k in range(count // 20):
            name, want, *_ = random_.choice(choices)
            headers = ["X-%s: %s" % (key.capitalize(), re.sub("(wait|stall)=", r"\1=1;was=", want[key]))
                       for key in ("reqmod", "respmod") if key in want]
            headers += ["X-Through: " + want["through"]] if "through" in want else []
            url = scene.origin.url("%s-%d-%d" % (name, n, k % 7), size=random_.choice((100, 3000, 90000)))
            body = want.get("post", b"")
            try:
                if random_.random() < 0.05:
                    client.send(client.head("GET", url, "gone", headers))
                    time.sleep(random_.random() * 0.01)
                    client.close()
                else:
                    client.request(url, name, "POST" if body else "GET", headers, body)
            except (Broken, ConnectionError):
                client.close()
        client.close()
    at_once(20, work)
    pairs = scene.stop()
    env.check(len(pairs) > count * 0.95, "only %d lines" % len(pairs))
    env.note("statuses: %s" % dict(collections.Counter(line.status for line, _ in pairs)))
    env.check(sum(1 for _, row in pairs if row["adapt_ns"] != "-") > count / 2, "few requests were adapted")
