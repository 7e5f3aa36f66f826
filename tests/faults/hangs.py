# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten ways in which requests hang, and what the living trace must say of each while they do.

From the tenth second on nothing of what is asked for comes back; sqtrace-dump and sqtrace-top are asked less than five
seconds later.  Three of them hold Squid's main thread: a signal that stops it, a disk call that does not return, an ACL
that computes.
"""

import base64
import os
import re
import signal

import living
import plant_disks
from lib import dump
from lib.icapd import IcapServer
from lib.tls import Certificates, FarEnds
from reported_services import clamav
from trouble_services import program
from troubles import Trouble

BEGIN, ASK = 10, 14.6
MUTE = """
import sys
for number, line in enumerate(sys.stdin):
    if number < %d:
        sys.stdout.write("OK\\n")
        sys.stdout.flush()
"""


def hang(scene, timeout=8):
    """Clients give up after so long, and the trace is asked before."""
    scene.traffic.options["timeout"] = timeout
    scene.traffic.options["once"] = True
    scene.seconds, scene.live = 18, ASK


def late(scene, url):
    """From the tenth second on requests are for new URLs of this kind."""
    made = scene.traffic.requests

    def requests(seconds):
        return [[due, method, url(n) if due >= BEGIN else old, *rest]
                for n, (due, method, old, *rest) in enumerate(made(seconds))]
    scene.traffic.requests = requests


def mute(scene, answers):
    """The command of a helper that answers so many questions."""
    return program(scene, "mute", MUTE % answers)


def origin(scene):
    """The third origin answers no more."""
    hang(scene)
    scene.origins[2].more["silent"] = True
    scene.traffic.site = lambda n, chance: scene.origins[n % 2].url
    late(scene, lambda n: scene.origins[2].url + "/size=3000/late%d" % n)


def body_stops(scene):
    """Bodies of the third origin stop after 1,000 bytes."""
    hang(scene)
    late(scene, lambda n: scene.origins[2].url + "/size=30000;parts=30;gap=60000/late%d" % n)


def name_server(scene):
    """The name server does not answer for the names that are asked for."""
    hang(scene)
    scene.name_servers = [["127.7.7.53", 1, {"slow": {"o3": 60000}}]]
    scene.traffic.site = lambda n, chance: scene.origins[n % 2].url
    late(scene, lambda n: "http://h%d.o3.test:8000/size=3000/late%d" % (n, n))


def external_acl(scene):
    """A helper of an external ACL answers no more."""
    hang(scene)
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=1 children-startup=1 "
                   "queue-size=5000 %%URI %s\nacl staff external group\nhttp_access deny !staff\n" % mute(scene,
     BEGIN * scene.traffic.per_second))


def authenticator(scene):
    """A helper of basic authentication answers no more; each fifth request is of a new user."""
    hang(scene)
    scene.conf += """
auth_param basic program %s
auth_param basic children 1 startup=1 idle=1 queue-size=5000
auth_param basic realm e2e
acl known proxy_auth REQUIRED
http_access deny !known
""" % mute(scene, BEGIN * scene.traffic.per_second // 5)
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n // 5)).decode()]


def service(scene):
    """An ICAP service answers no more."""
    hang(scene)
    clamav(scene, IcapServer(scene.env))
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: do=never"] if n >= BEGIN * scene.traffic.per_second else []


def handshake(scene):
    """A server accepts connections, and never answers a ClientHello."""
    hang(scene)
    plain = scene.origins[0]
    certificates = Certificates(scene.env, "o1.test")

    def begin(scene):
        class Host:
            host, port = plain.address, plain.port
        FarEnds(scene.env, Host, certificates, "silent@8443")
    scene.before.append(begin)
    late(scene, lambda n: "https://o1.test:8443/size=3000/late%d" % n)


def stopped(scene):
    """Something stops Squid."""
    hang(scene)
    scene.at(BEGIN, lambda scene: scene.squid.signal(signal.SIGSTOP))
    scene.at(ASK + 2, lambda scene: scene.squid.signal(signal.SIGCONT))


def disk_call(scene):
    """A read of one cache_dir does not return for six seconds."""
    hang(scene)
    plant_disks.from_disk(scene, ["ufs:one", "ufs:two"])
    plant_disks.slow(scene, "read", "cache-ufs-two-", 7000)
    path = scene.env.path("slow")
    scene.environment["SLOWDISK_ONCE"] = path

    def begin(scene):
        with open(path, "w"):
            os.chmod(path, 0o666)
        os.chmod(scene.env.folder, 0o777)
    scene.at(BEGIN, begin)


def computing_acl(scene):
    """A regular expression that computes for seconds on URLs of some kind."""
    hang(scene)
    scene.conf += "acl heavy urlpath_regex ^/(.*)(.*)(.*)\\1\\2\\3y$\nhttp_access deny heavy\n"
    late(scene, lambda n: scene.origins[0].url + "/" + "x" * 100)


def given_up(felt):
    """Clients went away, or waited for all of the time that the main thread was held."""
    return felt.ends["given_up"] >= 50 or felt.p99 >= 5000


class Hang(Trouble):
    """Culprit and words are those of the first finding of both programs, and stand on the screen."""

    def wrong(self, scene):
        """What the living trace did not say, or said wrongly; "": nothing."""
        requests = dump.table(scene.env, scene.directory, "requests")
        top = self.told(scene.answers[1].rows, None, 1)
        found = [living.wrong(answer, requests) for answer in scene.answers]
        found += ["sqtrace-top: " + top] if top else []
        found += ["not on the screen: " + scene.screen[:1000]] if not re.search(self.culprit, scene.screen) else []
        return "; ".join(filter(None, found))


HANGS = [Hang(*row) for row in (
    ("hang-origin", origin, "-", r"127\.0\.1\.3:8000", r"waiting|no answer|answered none", "all hang", given_up),
    ("hang-body", body_stops, "-", r"127\.0\.1\.3:8000", r"bod(y|ies)|stop", "all hang", given_up),
    ("hang-name-server", name_server, "-", r"127\.7\.7\.53", r"waiting|no answer|answered none", "all hang", given_up),
    ("hang-external-acl", external_acl, "-", r"external_acl group", r"waiting|no answer|answered none", "all hang",
     given_up),
    ("hang-authenticator", authenticator, "-", r"auth basic", r"waiting|no answer|answered none", "new users hang",
     given_up),
    ("hang-service", service, "-", r"clamav", r"waiting|no answer|answered none", "all hang", given_up),
    ("hang-handshake", handshake, "-", r"(127\.0\.1\.1|o1\.test):8443", r"TLS|handshake|waiting", "all hang", given_up),
    ("hang-stopped", stopped, "-", r"stopped|not running|Squid|processor|signal", r"stop|not run", "all hang",
     given_up),
    ("hang-disk", disk_call, "-", r"read on cache_dir 1|ufs.*cache-ufs-two", r"read|disk|block", "all hang", given_up),
    ("hang-acl", computing_acl, "-", r"heavy", r"comput|acl", "all hang", given_up),
)]
