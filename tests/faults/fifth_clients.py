# SPDX-License-Identifier: GPL-2.0-or-later
"""A fifth round of troubles: clients, rules and services.  reports.md has the reports; see trouble_dns.py."""

import re
import time

from lib.env import free_port
from lib.icapd import IcapServer
from lib.tls import Certificates
from more_cousins import change
from reported_services import clamav

SLOW = 2  # the third origin


def bad_names(scene, every=5):
    """One request in five is to a host with an underscore in its name, and check_hostnames allows none."""
    scene.conf += "check_hostnames on\nallow_underscore off\n"

    def underscore(n, request):
        if n % every == 3:
            request[2] = "http://my_shop.o%d.test:8000/size=900/u%d" % (1 + n % 4, n)
    change(scene, underscore)


def closing_time(scene):
    """An ACL says until when the proxy is open: the first full minute that is twelve seconds away.  Then all are denied."""
    closes = 60 * (int(time.time() + 12) // 60 + 1)
    scene.seconds = int(closes - time.time()) + 15
    scene.conf += "acl closed time %s-%s\nhttp_access deny closed\n" % (
        time.strftime("%H:%M", time.localtime(closes)),
        "23:59" if time.localtime(closes).tm_hour else "01:59")


def load_balancer(scene, bare):
    """Clients come through a load balancer, which says who they are in a header of the PROXY protocol.  bare: whether the
    connection of this request has none."""
    scene.port = free_port()
    scene.conf += "http_port 127.0.0.1:%d require-proxy-header\nproxy_protocol_access allow all\n" % scene.port
    scene.traffic.options["once"] = True
    scene.traffic.more = lambda n: {} if bare(n) else {"proxied": "127.3.0.%d" % (1 + n % 20)}


def no_proxy_header(scene):
    """One request in five goes past the load balancer, so that it has no header of the PROXY protocol."""
    load_balancer(scene, lambda n: n % 5 == 3)


def plain_to_tls(scene):
    """The port speaks TLS, and one client in five says its request in clear text."""
    certificates = Certificates(scene.env, "proxy")
    scene.port = free_port()
    scene.conf += "https_port 127.0.0.1:%d tls-cert=%s\n" % (scene.port, certificates.server)
    scene.traffic.options.update(tls=True, once=True)
    scene.traffic.more = lambda n: {"plain": True} if n % 5 == 3 else {}


def large_fail(scene):
    """A service closes its connection when a reply has more than 20,000 bytes, which two of five have."""
    clamav(scene, IcapServer(scene.env))
    scene.conf = scene.conf.replace("reqmod_precache", "respmod_precache")

    def vanish(_, request):
        if int(re.search(r"size=(\d+)", request[2]).group(1)) > 20000:
            request[3] = ["X-Respmod: do=vanish"]
    change(scene, vanish)


# ---- nothing wrong ----

def few_bad_names(scene):
    """The same as bad_names, of one request in forty."""
    bad_names(scene, 40)


def port_checks(scene):
    """A monitor looks every second whether a port of the PROXY protocol answers: it says GET, without the header."""
    load_balancer(scene, lambda n: n % 60 == 30)
