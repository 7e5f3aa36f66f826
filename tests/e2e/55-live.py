# SPDX-License-Identifier: GPL-2.0-or-later
"""Fifty requests that hang in ten ways, while they do: every program says how many they are, how old, and who is at fault."""

import base64
import os
import re
import signal
import socket
import subprocess
import time

from lib import dump
from lib.client import Client
from lib.env import free_port, run, wait_for
from lib.exporter import Exporter
from lib.icapd import IcapServer
from lib.native import preload
from lib.origin import Origin
from lib.squid import Squid

EACH = 5
WITHIN_S = 5
SLACK_S = 0.5  # Squid takes a request up some time after it was sent
STOPPED, READING, COMPUTING = 2, 3, 4  # workers whose main thread is held; the others' requests are at the first one
NAME_SERVER = "127.77.7.53"
# What hangs, and how it is called; None: by its address.  Workers that are held are called by what holds them.
CULPRITS = {"an origin that says nothing": None, "a body that stops": None, "a name server": "name_server " + NAME_SERVER,
            "an external ACL": "external_acl group", "an authenticator": "auth basic", "an ICAP service": "adaptation scanner",
            "a TLS handshake": None, "a process that is stopped": "not running",
            "a read of a disk": "read on cache_dir 0 (ufs)", "an ACL that computes": "acl heavy"}

CONF = """
cache_mem 0 MB
memory_cache_mode disk
dns_retransmit_interval 1 second
external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=1 children-startup=1 queue-size=500 %%URI /bin/sleep 1000
auth_param basic program /bin/sleep 1000
auth_param basic children 1 startup=1 idle=1 queue-size=500
auth_param basic realm e2e
acl of_group urlpath_regex ^/x/group
acl of_user urlpath_regex ^/x/user
acl of_scanner urlpath_regex ^/x/scanner
acl of_heavy urlpath_regex ^/heavy
acl heavy urlpath_regex ^/heavy(.*)(.*)(.*)(.*)\\1\\2\\3\\4y$
acl staff external group
acl known proxy_auth REQUIRED
http_access deny of_group !staff
http_access deny of_user !known
http_access deny of_heavy heavy
icap_enable on
icap_service_failure_limit -1
%(service)sadaptation_access scanner allow of_scanner
adaptation_access scanner deny all
"""
PORT = "if ${process_number} = %d\nhttp_port 127.0.0.1:%d\nendif\n"


class Scene:
    """A Squid of four workers, each with a port of its own, and whom its requests wait for."""

    def __init__(self, env):
        env.need_root("its name server has port 53")
        self.env = env
        self.origin, self.bodies = Origin(env), Origin(env, "bodies", host="127.0.0.7")
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.create_server(("127.0.0.8", 0))]
        self.sockets[0].bind((NAME_SERVER, 53))
        self.tls = "127.0.0.8:%d" % self.sockets[1].getsockname()[1]
        self.ports = [free_port() for _ in range(4)]
        service = IcapServer(env)
        lines = "".join(PORT % (n + 1, port) for n, port in enumerate(self.ports))
        self.flag = env.path("slow")
        self.squid = Squid(env, trace="names=servers", dirs=["ufs"], workers=4, dns=NAME_SERVER, unprivileged=True,
                           lines=lines + CONF % {"service": service.service("scanner", "reqmod_precache", "bypass=0")},
                           preload=preload(env, "slowdisk"), environment={
                               "SLOWDISK_PATH": "cache-ufs-%d" % READING, "SLOWDISK_MS": "60000", "SLOWDISK_IF": self.flag})
        self.squid.start()
        wait_for(lambda: self.squid.log_text().count("Accepting HTTP Socket") == 8 and
                 self.squid.log_text().count("sqtrace: tracing into") >= 4, 20, "both ports of each worker, and their traces")
        self.begun = []

    def culprits(self):
        """{way to hang: name of the culprit}"""
        servers = {"an origin that says nothing": "%s:%d" % (self.origin.host, self.origin.port),
                   "a body that stops": "%s:%d" % (self.bodies.host, self.bodies.port), "a TLS handshake": self.tls}
        return dict(CULPRITS, **servers)

    def before(self):
        """What is known of before: an object on the disk, and a body that ended."""
        for worker, url in ((READING, self.origin.url("kept", size=2000)), (1, self.bodies.url("ends", size=2000))):
            with Client(("127.0.0.1", self.ports[worker - 1])) as client:
                client.request(url, "before")

    def send(self, worker, url, *fields):
        """A request of which no answer is waited for."""
        client = Client(("127.0.0.1", self.ports[worker - 1]))
        self.env.on_close(client.close)
        client.send(Client.head("GET", url, "h%d" % len(self.begun), fields))
        self.begun.append(time.time())

    def many(self, worker, url, count=EACH, fields=lambda n: ()):
        for n in range(count):
            self.send(worker, url % n, *fields(n))

    def silent(self, name, **more):
        return self.origin.url(name, hdr=100000, cc="no-store", **more)

    def hang(self):
        plain = self.origin.url("%s") + "%%d"
        self.many(1, self.silent("silent%d"))
        self.many(1, self.bodies.url("body%d", size=30000, parts=30, gap=100000))
        self.many(1, "http://n%d.nowhere.test/x/name")
        self.many(1, plain % "group")
        self.many(1, plain % "user", fields=lambda n: [
            "Proxy-Authorization: Basic " + base64.b64encode(b"u%d:secret" % n).decode()])
        self.many(1, plain % "scanner", fields=lambda n: ["X-Reqmod: do=never"])
        self.many(1, "https://" + self.tls + "/x/tls%d")
        for worker in (STOPPED, READING, COMPUTING):
            self.many(worker, self.silent("held%d" % worker + "-%d"), EACH - (worker != STOPPED))
        time.sleep(0.3)  # they are at the server
        os.kill(self.squid.worker_pids()[STOPPED - 1], signal.SIGSTOP)
        with open(self.flag, "w", encoding="ascii"):
            pass
        self.send(READING, self.origin.url("kept", size=2000))
        self.send(COMPUTING, "http://%s:%d/heavy%s" % (self.origin.host, self.origin.port, "x" * 600))
        return time.time()


def top(env, directory, table):
    done = run([env.tool("sqtrace-top"), "--once", "--table=" + table, "--format=tsv", directory], 30)
    header, *rows = [line.split("\t") for line in done.stdout.splitlines() if not line.startswith("#")]
    return [dict(zip(header, row)) for row in rows]


def told(env, scene, exporter):
    """{program: (number, seconds of the oldest)}, as each says now; checks that each age is that of the oldest request."""
    directory, found = scene.squid.directory, {}

    def of_exporter():
        return (sum(exporter.values("sqtrace_requests_in_flight").values()),
                max(exporter.values("sqtrace_oldest_request_seconds").values()))

    def of_page():
        page = exporter.page()
        return page["totals"][0]["in_flight"], max(int(row["age_ns"]) for row in page["requests"]) / 1e9

    def of_top():
        rows = top(env, directory, "requests")
        return len(rows), max(int(row["age_ns"]) for row in rows) / 1e9

    def of_dump():
        """What --fail-if prints: 'FAILED count() > 0 ...: 50 of 50 rows', and '...: 3.12 s of 50 rows'."""
        text = run([env.tool("sqtrace-dump"), "--quiet", "--since=-1s", "--fail-if=count() > 0 where outcome == unfinished",
                    "--fail-if=max(total_ns) > 0 where outcome == unfinished", directory], 30).stdout
        count, age = re.findall(r"^FAILED [^:]*: ([0-9.]+)(?: s)? of", text, re.M)
        return int(count), float(age)
    for name, function in (("exporter", of_exporter), ("page", of_page), ("top", of_top), ("--fail-if", of_dump)):
        before = time.time() - scene.begun[0]
        found[name] = number, age = function()
        after = time.time() - scene.begun[0]
        env.equal(number, len(scene.begun), name + ": how many hang")
        env.check(before - SLACK_S < age < after + SLACK_S, "%s: the oldest is %.2f s old, not %.2f to %.2f s" % (
            name, age, before, after))
    return found


def culprits(env, scene, rows):
    """Ways to hang that those findings do not name, with all of their requests."""
    named = {(row["culprit"], int(row["requests"])) for row in rows}
    return [way for way, name in scene.culprits().items() if (name, EACH) not in named]


def wait_for_culprits(env, scene, exporter, began):
    """Each program names all ten."""
    def of_page():
        return exporter.page()["findings"]

    def of_top():
        return top(env, scene.squid.directory, "findings")

    def of_dump():
        return dump.table(env, scene.squid.directory, "findings")
    for name, function in (("page", of_page), ("top", of_top), ("findings", of_dump)):
        missing = culprits(env, scene, function())
        while missing and time.time() < began + WITHIN_S:
            time.sleep(0.2)
            missing = culprits(env, scene, function())
        env.equal(missing, [], name + ": what is not named")
        env.note("%s names all ten after %.1f s" % (name, time.time() - began))


def fifty(env):
    scene = Scene(env)
    exporter = Exporter(env, scene.squid.directory)
    scene.before()
    exporter.page()  # findings are made while somebody looks
    watching = subprocess.Popen([env.tool("sqtrace-snapshot"), "--when=total_ns > 2s", "--after=2s", "--to=" + env.path("made"),
                                 scene.squid.directory], stderr=subprocess.PIPE, text=True)
    env.on_close(watching.kill)
    env.check("watching" in watching.stderr.readline(), "sqtrace-snapshot watches")
    began = scene.hang()
    time.sleep(2)
    found = told(env, scene, exporter)
    env.note("number and age after %.1f s: %s" % (time.time() - began, found))
    wait_for_culprits(env, scene, exporter, began)
    waiting = {(row["on"], row["whom"]) for row in exporter.page()["requests"]}
    env.check(len(waiting) >= 7, "the page's requests wait for: %s" % sorted(waiting, key=str))
    env.check("(and %d more)" % (len(scene.begun) - 1) in watching.stderr.readline(), "--when: how many hang")
    scene.squid.kill_all()


TESTS = [
    ("live: fifty requests that hang in ten ways", fifty, 60),
]
