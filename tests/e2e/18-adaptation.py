# SPDX-License-Identifier: GPL-2.0-or-later
"""ICAP services: `adapt` is what the service says that it took, rows and lines agree whatever the service does."""

import collections
import os
import random
import subprocess
import time

from lib import access, dump, rows
from lib.client import Broken, Client, at_once
from lib.clocks import MS, Agreement
from lib.dump import seconds_ns
from lib.env import first, free_port, listens, wait_for
from lib.icapd import INSTEAD_SIZE, IcapServer
from lib.origin import Origin
from lib.squid import Squid


# Which service gets a message is said by the request's header X-Through.
CONF = """
icap_enable on
icap_service_failure_limit -1
icap_preview_enable on
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


def services(icap):
    lines = ""
    for short, point in (("req", "reqmod_precache"), ("resp", "respmod_precache")):
        for name in ("", "_bypass", "_preview", "_full"):
            lines += icap.service(short + name, point, "bypass=%d" % (name == "_bypass"))
    return lines


class Scene:
    """An origin, an ICAP service and a Squid between them."""

    def __init__(self, env, lines=""):
        self.env = env
        self.origin = Origin(env)
        self.icap = IcapServer(env)
        self.squid = Squid(env, trace="", dns=self.origin.host, lines=services(self.icap) + CONF + lines).start()

    def ask(self, client, tag, reqmod=None, respmod=None, through=None, post=b"", status=200, answer=None, **want):
        """One request; answer: bytes of the reply's body, if it is not the origin's."""
        headers = ["%s: %s" % item for item in (("X-Reqmod", reqmod), ("X-Respmod", respmod), ("X-Through", through))
                   if item[1]]
        response = client.request(self.origin.url(tag, **want), tag, "POST" if post else "GET", headers, post)
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


# ---- the time of a chain ----

KNOWN = [
    # name, arguments of ask(): what the services wait and do, which of them
    ("reqmod-204", {"reqmod": "wait=30"}),
    ("reqmod-change", {"reqmod": "wait=40;do=change"}),
    ("reqmod-post", {"reqmod": "wait=30;do=change", "post": b"p" * 5000}),
    ("reqmod-full", {"reqmod": "wait=20", "through": "full", "expect": "change"}),
    ("instead", {"reqmod": "wait=20;body=30;do=instead", "answer": INSTEAD_SIZE}),
    ("respmod-204", {"respmod": "wait=30"}),
    ("respmod-change", {"respmod": "wait=20;body=40;do=change"}),
    ("respmod-preview", {"respmod": "wait=30;do=change", "through": "preview", "size": 5000}),
    ("respmod-chain", {"respmod": "wait=20;do=change", "through": "chain"}),
    ("both", {"reqmod": "wait=20;do=change", "respmod": "wait=30;do=change"}),
    ("neither", {}),
]


def known_waits(env):
    """One at a time: the difference between adapt_ns and the service's own clock."""
    scene = Scene(env)
    rounds = 40 if env.full else 20
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for n in range(rounds):
            for name, want in KNOWN:
                arguments = {key: value for key, value in want.items() if key != "expect"}
                if want.get("through") == "full":  # it allows no 204
                    arguments["reqmod"] += ";do=change"
                scene.ask(client, "%s.%d" % (name, n), **arguments)
    entries = scene.icap.entries()
    pairs = scene.stop()
    rows.check_one_at_a_time(env, pairs)
    found = {line.xtag: row for line, row in pairs}
    off = Agreement(env)
    for name, want in KNOWN:
        for n in range(rounds):
            tag = "%s.%d" % (name, n)
            row = found[tag]
            if name == "neither":
                env.equal(row["adapt_ns"], "-", tag + ": adapt_ns")
                continue
            moments = [entry[key] for entry in entries.get(tag, ()) for key in ("began_ns", "done_ns")]
            off.add("adapt_ns", tag, row.ns("adapt_ns"), took(entries, tag), *moments)
            rows.check_no_other(env, row, ("adapt_ns",), tag)
    off.check(rounds * (len(KNOWN) - 1))
    check_services(env, scene, found)
    check_order(env, scene.squid)


def check_order(env, squid):
    """A request is forwarded after its REQMOD chain has ended."""
    ends, forwards = ({row["id"]: seconds_ns(row["time_s"])
                       for row in dump.table(env, squid.directory, "events", "--where=event == " + which)}
                      for which in ("ADAPT_END and aux == 0", "FORWARD_BEGIN"))
    both = set(ends) & set(forwards)
    late = [xid for xid in both if ends[xid] > forwards[xid]]
    env.check(both and not late, "%d of %d requests were forwarded before their chain ended" % (len(late), len(both)))


def check_services(env, scene, found):
    """The services that were asked are named, in the order of the chain."""
    asked = collections.defaultdict(list)
    for row in dump.table(env, scene.squid.directory, "events", "--where=event == ADAPT_SERVICE"):
        asked[row["id"]].append((row["arg"], row["aux"]))
    for tag, wanted in (("both.0", ["req", "resp"]), ("respmod-chain.0", ["resp", "resp_full"]),
                        ("respmod-preview.0", ["resp_preview"]), ("neither.0", [])):
        env.equal([name for name, _ in asked.get(found[tag]["xid"], [])], wanted, tag + ": services")
    env.equal([step for _, step in asked[found["respmod-chain.0"]["xid"]]], ["1", "2"], "steps of a chain")


def slow_origin(env):
    """A slow origin under a slow RESPMOD service: each has its own stage."""
    scene = Scene(env)
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for n in range(5):
            scene.ask(client, "slow%d" % n, respmod="wait=120;do=change", hdr=60, body=90, size=4000)
    entries = scene.icap.entries()
    origin = scene.origin.entries()
    found = {line.xtag: row for line, row in scene.stop()}
    for n in range(5):
        row, served = found["slow%d" % n], origin["slow%d" % n]
        service, = entries["slow%d" % n]
        for stage, wanted in (("server_wait_ns", served["header_sent"] - served["received"]),
                              ("server_reply_ns", served["body_sent"] - served["header_sent"]),
                              ("adapt_ns", service["done_ns"] - service["received_ns"])):
            rows.check_stage(env, row, stage, wanted, 2 * MS, "slow%d" % n)


# ---- what goes wrong ----

TROUBLE = [
    # name, arguments, the answer's status
    ("error", {"reqmod": "wait=50;do=error"}, 500),
    ("error-resp", {"respmod": "wait=50;do=error"}, 500),
    ("error-bypass", {"reqmod": "wait=50;do=error", "through": "bypass"}, 200),
    ("error-resp-bypass", {"respmod": "wait=50;do=error", "through": "bypass"}, 500),  # Squid keeps no body then
    ("vanish", {"reqmod": "wait=50;do=vanish"}, 500),
    ("vanish-resp", {"respmod": "wait=50;do=vanish"}, 500),
    ("vanish-bypass", {"reqmod": "wait=50;do=vanish", "through": "bypass"}, 200),
    ("vanish-resp-bypass", {"respmod": "wait=50;do=vanish", "through": "bypass"}, 200),
]


def trouble(env):
    """Errors, bypasses and services that vanish: the time until then is adapt, and the chain is closed."""
    scene = Scene(env, "icap_io_timeout 2 seconds\n")
    with Client(scene.squid.client_address()) as client:
        scene.warm(client)
        for name, want, status in TROUBLE:
            for n in range(3):
                scene.ask(client, "%s.%d" % (name, n), status=status, **want)
        for n in range(3):
            try:
                client.request(scene.origin.url("midway.%d" % n, size=6000), "midway.%d" % n,
                               headers=["X-Respmod: wait=50;body=60;do=midway"])
                env.check(False, "a response that breaks off in the middle came whole")
            except (Broken, ConnectionError):
                client.close()
        for n, kind in enumerate(("Reqmod", "Respmod")):
            client.send(client.head("GET", scene.origin.url("left.%d" % n), "left.%d" % n, ["X-%s: do=never" % kind]))
            time.sleep(0.2)
            client.close()
    time.sleep(3)  # until what was left behind has timed out
    entries = scene.icap.entries()
    found = {line.xtag: row for line, row in scene.stop()}
    for name, want, status in TROUBLE + [("midway", {}, 200)]:
        for n in range(3):
            tag = "%s.%d" % (name, n)
            wanted = took(entries, tag)
            env.check(wanted, tag + ": no service was asked")
            rows.check_stage(env, found[tag], "adapt_ns", wanted, 3 * MS, tag)
            if status == 500:
                env.equal(found[tag]["outcome"], "error", tag + ": outcome")
    for n in range(2):
        row = found["left.%d" % n]
        env.check(row["outcome"] == "aborted" and 190 * MS <= row.ns("adapt_ns") <= 260 * MS + env.held.during(row),
                  "left.%d: %s, adapt_ns is %.3f ms" % (n, row["outcome"], row.ns("adapt_ns") / MS))


# ---- many at once ----

def many(env):
    """Everything mixed, 20 at a time: rows and lines agree."""
    scene = Scene(env)
    count = 4000 if env.full else 1200

    def work(n):
        random_ = random.Random(n)
        client = Client(scene.squid.client_address())
        for k in range(count // 20):
            name, want, *_ = random_.choice(KNOWN + TROUBLE)
            headers = ["X-%s: %s" % (key.capitalize(), want[key].replace("wait=", "wait=1;was="))
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
    statuses = collections.Counter(line.status for line, _ in pairs)
    env.note("statuses: %s" % dict(statuses))
    env.check(sum(1 for _, row in pairs if row["adapt_ns"] != "-") > count / 2, "few requests were adapted")


# ---- a real one ----

C_ICAP_CONF = """
PidFile {folder}/c-icap.pid
CommandsSocket {folder}/c-icap.ctl
Port 127.0.0.1:{port}
StartServers 1
MaxServers 4
ThreadsPerChild 10
TmpDir {folder}
DebugLevel 1
ModulesDir {modules}
ServicesDir {modules}
LoadMagicFile /etc/c-icap/c-icap.magic
ServerLog {folder}/server.log
LogFormat e2e "%im %is %iu"
AccessLog {folder}/access.log e2e
Service echo srv_echo.so
"""


def c_icap(env):
    """Debian's c-icap with its echo service: rows and lines agree, adapt_ns is the time that Squid's own access log
    has for the services, and both logs have as many adaptations."""
    program = env.need_program("c-icap")
    folder = env.path("c-icap")
    os.makedirs(folder)
    port = free_port()
    modules = [path for path in ("/usr/lib/x86_64-linux-gnu/c_icap", "/usr/lib/c_icap",
                                 "/usr/lib/aarch64-linux-gnu/c_icap") if os.path.isdir(path)]
    env.require(modules, "c-icap's modules are nowhere")
    with open(os.path.join(folder, "c-icap.conf"), "w") as out:
        out.write(C_ICAP_CONF.format(folder=folder, port=port, modules=modules[0]))
    server = subprocess.Popen([program, "-N", "-D", "-f", os.path.join(folder, "c-icap.conf")], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=open(os.path.join(folder, "out"), "w"),
                              stderr=subprocess.STDOUT)

    def stop():
        server.terminate()
        server.wait(20)
    env.on_close(stop)
    wait_for(lambda: listens(port), 20, "c-icap to listen")
    origin = Origin(env)
    squid = Squid(env, trace="", dns=origin.host, lines="""
icap_enable on
icap_preview_enable on
icap_service_failure_limit -1
icap_service req reqmod_precache icap://127.0.0.1:{port}/echo
icap_service resp respmod_precache icap://127.0.0.1:{port}/echo
adaptation_access req allow all
adaptation_access resp allow all
logformat adapt %master_xaction %adapt::sum_trs
access_log stdio:{{folder}}/adapt.log logformat=adapt
""".format(port=port)).start()
    count = 1000 if env.full else 200
    with Client(squid.client_address()) as client:
        for n in range(count):
            kind = n % 4
            size = (0, 300, 5000, 200000)[n // 4 % 4]
            body = b"p" * size if kind == 3 else b""
            response = client.request(origin.url("c%d" % n, size=size, **({"hdr": 5} if kind == 1 else {})), "c%d" % n,
                                      "POST" if body else "GET", body=body)
            env.check(response.status == 200 and response.body_size == size, "c%d: %d, %d bytes" % (n, response.status,
                                                                                              response.body_size))
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    rows.check_order(env, requests)
    rows.check_unaccounted(env, requests, alone=True)
    rows.check_one_at_a_time(env, pairs)
    check_pairs(env, squid)
    env.equal(len(pairs), count, "rows")
    stop()
    with open(os.path.join(folder, "access.log")) as log:
        served = collections.Counter(line.split()[0] for line in log)
    begun = collections.Counter(row["aux"] for row in dump.table(env, squid.directory, "events",
                                                                 "--where=event == ADAPT_BEGIN"))
    env.equal((begun["0"], begun["1"]), (served["REQMOD"], served["RESPMOD"]), "chains, and what c-icap logged")


TESTS = [
    ("ICAP services that wait a known time", first(known_waits), 120),
    ("a slow origin under a slow RESPMOD service", first(slow_origin), 40),
    ("ICAP services that fail, vanish or are left", first(trouble), 60),
    ("ICAP, 20 at a time", many, 90),
    ("a real c-icap", first(c_icap), 60),
]
