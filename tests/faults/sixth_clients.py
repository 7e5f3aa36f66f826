# SPDX-License-Identifier: GPL-2.0-or-later
"""A sixth round of troubles: logins, rules, services and Squid's machine.  reports.md has the reports; see trouble_dns.py."""

import base64
import re

from lib.icapd import IcapServer
from more_cousins import change
from reported_services import clamav
from trouble_services import program

LOGIN = """
import sys, time
for line in sys.stdin:
    time.sleep(%f)
    sys.stdout.write("ERR\\n" if line.startswith("try") else "OK\\n")
    sys.stdout.flush()
"""

GROUP = """
import sys, time
for line in sys.stdin:
    time.sleep(%f)
    sys.stdout.write("OK\\n")
    sys.stdout.flush()
"""


def basic(name, password):
    return "Proxy-Authorization: Basic " + base64.b64encode(("%s:%s" % (name, password)).encode()).decode()


def watched(scene, helper_s=0.4, children=40, times=(3, 5.5, 8, 10.5, 13, 15.5, 18)):
    """A script reconfigures Squid whenever a list has changed.  Squid then forgets what a helper has said of each of 40
    clients, which it keeps for an hour."""
    scene.conf += ("external_acl_type group ttl=3600 negative_ttl=3600 children-max=%d children-startup=%d %%SRC %s\n"
                   "acl staff external group\nhttp_access deny !staff\n"
                   % (children, children, program(scene, "group", GROUP % helper_s)))
    scene.traffic.options.update(once=True, sources=40)
    for when in times:
        scene.at(when, lambda scene: scene.squid.reconfigure())


def asked_each_time(scene):
    """A helper says in 60 ms to which group a client belongs.  It is asked of the same 20 clients for each request, because
    Squid may not keep what it says."""
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 children-max=40 children-startup=30 %%SRC %s\n"
                   "acl staff external group\nhttp_access deny !staff\n" % program(scene, "group", GROUP % 0.06))
    scene.traffic.options.update(once=True, sources=20)


def passwords_tried(scene, tries=90, helper_s=0.05):
    """Something tries so many passwords a second, each of another user.  A helper needs 50 ms for each, and has four
    children.  The 20 users of the proxy log in again every two seconds."""
    scene.conf += """
auth_param basic program %s
auth_param basic children 4 startup=4 idle=1
auth_param basic realm e2e
auth_param basic credentialsttl 2 seconds
acl known proxy_auth REQUIRED
http_access deny !known
""" % program(scene, "login", LOGIN % helper_s)
    scene.traffic.per_second = 40
    scene.traffic.headers = lambda n, chance: [basic("u%d" % (n % 20), "secret")]
    made, url = scene.traffic.requests, scene.origins[0].url + "/size=900/admin"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[2 + n / tries, "GET", url, [basic("try%d" % n, "1234")], 0, {}]
                         for n in range(tries * (seconds - 3))], key=lambda request: request[0])


def scan_timeout(scene):
    """A service scans each reply.  Those of more than 20,000 bytes, two of five, take longer than icap_io_timeout."""
    clamav(scene, IcapServer(scene.env))
    scene.conf = scene.conf.replace("reqmod_precache", "respmod_precache") + "icap_io_timeout 2 seconds\n"

    def scanned(_, request):
        size = int(re.search(r"size=(\d+)", request[2]).group(1))
        request[3] = ["X-Respmod: do=204;wait=%d" % (6000 if size > 20000 else 5)]
    change(scene, scanned)


def clock_step(scene):
    """The machine's time of day is set forward by two hours, which ends what waits by then.  All origins take 400 ms."""
    path = scene.env.path("step")
    scene.preload.append("wallstep")
    scene.environment.update(WALLSTEP_IF=path, WALLSTEP_S="7200")
    for origin in scene.origins:
        origin.ms = 400

    def step(_):
        with open(path, "w"):
            pass
    scene.at(10, step)


def linklocal_name(scene):
    """From the eighth second on one host of five has an address of IPv6 more, one of link-local.  A rule denies what leads
    to such an address."""
    scene.name_servers = [["127.7.7.53", 1, {"ttl": 2, "since": {"o3": [8, "fe80::2d8:61ff:fea8:bb96"]}}]]
    scene.conf += "acl linklocal dst fe80::/10\nhttp_access deny linklocal\nnegative_dns_ttl 1 second\n"
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url


# ---- nothing wrong ----

def few_wrong_passwords(scene):
    """One login a second has a wrong password.  The helper needs a millisecond."""
    passwords_tried(scene, 1, 0.001)


def reconfigured_twice(scene):
    """The same as watched, twice, with four children that need 2 ms."""
    watched(scene, 0.002, 4, (7, 14))
