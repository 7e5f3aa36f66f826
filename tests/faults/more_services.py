# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles with ICAP services and helpers.  reports.md has the reports; see trouble_dns.py."""

from lib.env import free_port
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.tls import Certificates
from more_icap import ForgetfulServer
from reported_services import clamav
from trouble_services import program

VALIDATES = """
import os, re, time
text = b""
while True:
    piece = os.read(0, 65536)
    if not piece:
        break
    text += piece
    question = re.match(rb"\\s*(\\d+) cert_validate (\\d+) ", text)
    if question and len(text) >= question.end() + int(question.group(2)):
        text = text[question.end() + int(question.group(2)):]
        time.sleep(0.15)
        os.write(1, question.group(1) + b" OK 0 \\1")
"""

LOADS = """
import os, sys, time
if os.path.exists(%r):
    time.sleep(3)
for line in sys.stdin:
    sys.stdout.write("ERR\\n")
    sys.stdout.flush()
"""


REDIRECTS = """
import os, sys
for line in sys.stdin:
    sys.stdout.write("OK status=302 url=\\"http://licence.test/\\"\\n" if os.path.exists(%r) else "ERR\\n")
    sys.stdout.flush()
"""


def external_acl(scene, name, rule):
    """A rule that asks a helper of 300 ms."""
    helper = Helper(scene.env, "acl", 300)
    scene.conf += ("external_acl_type %s ttl=0 negative_ttl=0 cache=0 children-max=40 children-startup=30 %%URI %s\n"
                   "acl %s_ok external %s\n%s\n" % (name, helper.command, name, name, rule))


def reply_acl(scene):
    """Each reply waits for a helper, in http_reply_access."""
    external_acl(scene, "kind", "http_reply_access deny !kind_ok")


def route_acl(scene):
    """Each miss waits for a helper that says whether it may go to its origin, in always_direct."""
    external_acl(scene, "route", "always_direct allow route_ok")


def slow_validator(scene):
    """One validator of certificates, which takes 150 ms for each new connection to an origin.  Squid starts it only if it
    has a port that bumps."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.conf += ("tls_outgoing_options cafile=%s\nserver_persistent_connections off\n"
                   "sslcrtvalidator_program cache=0 ttl=0 %s\n"
                   "sslcrtvalidator_children 1 startup=1 idle=1 concurrency=1 queue-size=5000\n"
                   "http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on\nssl_bump splice all\n"
                   % (certificates.ca + ".crt", program(scene, "validator", VALIDATES), free_port(), certificates.ca))
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url.replace("http:", "https:")
    scene.traffic.per_second = 15


def helpers_load(scene):
    """squid -k rotate starts the children of a rewriter again, and each needs three seconds to load its list."""
    path = scene.env.path("large")
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=4 queue-size=5000\n" % program(
        scene, "loads", LOADS % path)

    def rotate(scene):
        with open(path, "w"):
            scene.squid.rotate()
    for when in (6, 13):
        scene.at(when, rotate)


def large_scanned(scene):
    """A service scans each reply: one of 300 KB, of which there is one in eight, for 1.5 s, others for 2 ms."""
    clamav(scene, IcapServer(scene.env), "bypass=0")
    scene.conf = scene.conf.replace("reqmod_precache", "respmod_precache")
    made = scene.traffic.requests

    def scanned(seconds):
        return [[due, method, url, ["X-Respmod: do=change;wait=%d" % (1500 if "size=300000;" in url else 2)], *rest]
                for due, method, url, _, *rest in made(seconds)]
    scene.traffic.new = lambda n, chance: "%s/size=%d;cc=max-age=3600/n%d" % (
        scene.origins[n % 5].url, 300000 if n % 8 == 3 else chance.randrange(2000, 20000), n)
    scene.traffic.requests = scanned


def forgetful_service(scene):
    """Squid asks a service for its options all the time, which take 1.5 s."""
    clamav(scene, ForgetfulServer(scene.env))


def redirects_all(scene):
    """From the eighth second on a rewriter redirects all to a page on its licence."""
    path = scene.env.path("expired")
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=1\n" % program(
        scene, "licence", REDIRECTS % path)

    def expire(_):
        with open(path, "w"):
            pass
    scene.at(8, expire)


def only_posts(scene):
    """One request in ten is an upload, and a helper looks for 700 ms at each of those."""
    helper = Helper(scene.env, "acl", 700)
    scene.conf += ("external_acl_type leaks ttl=0 negative_ttl=0 cache=0 children-max=20 children-startup=10 %%URI %s\n"
                   "acl uploads method POST\nacl leaks_ok external leaks\nhttp_access deny uploads !leaks_ok\n"
                   % helper.command)
    made = scene.traffic.requests

    def mixed(seconds):
        return [[due, "POST", url + "p%d" % n, headers, 3000, *rest] if n % 10 == 7 else
                [due, method, url, headers, sends, *rest]
                for n, (due, method, url, headers, sends, *rest) in enumerate(made(seconds))]
    scene.traffic.requests = mixed
