# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles that begin with a step, and two at once.  See trouble_dns.py."""

import time

import more_last
import more_squid
from lib.env import free_port
from lib.icapd import IcapServer
from more_machine import iptables
from reported_services import clamav
from scene import Origin


def port_gone(scene):
    """squid -k reconfigure, without the http_port that clients use."""
    scene.port = free_port()
    line = "http_port 127.0.0.1:%d\n" % scene.port
    scene.conf += line
    scene.traffic.options["once"] = True

    def reconfigure(scene):
        scene.squid.lines = scene.squid.lines.replace(line, "")
        scene.squid.reconfigure()
    scene.at(8, reconfigure)


def parent_gone(scene):
    """squid -k reconfigure, without the cache_peer that has all misses; nothing may go direct."""
    parent = Origin(11)
    scene.origins.append(parent)
    line = "cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon\n" % (parent.address, parent.port)
    scene.conf += line + "never_direct allow all\n"

    def reconfigure(scene):
        scene.squid.lines = scene.squid.lines.replace(line, "")
        scene.squid.reconfigure()
    scene.at(8, reconfigure)


def flapping_parent(scene):
    """The only parent refuses connections for a second of each four."""
    parent = Origin(11)
    scene.origins.append(parent)
    scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon\nnever_direct allow all\n"
                   "server_persistent_connections off\n" % (parent.address, parent.port))
    words = ["INPUT", "-d", parent.address, "-p", "tcp", "-j", "REJECT", "--reject-with", "tcp-reset"]

    def flap(_):
        iptables("-A", *words)
        time.sleep(1)
        iptables("-D", *words)
    for when in (3, 7, 11, 15):
        scene.at(when, flap)


def tls_to_http_port(scene):
    """Half of the clients speak TLS with an http_port, which knows none and waits for the rest: from the eighth second on.  They
    give up after five seconds."""
    scene.traffic.options["timeout"] = 5
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [
        [due, "TLS", url, [], 0, {}] if due >= 8 and n % 2 else [due, method, url, *rest]
        for n, (due, method, url, *rest) in enumerate(made(seconds))]


def denied_and_slow(scene):
    """Two at once: a domain that is denied since 8 s, and the fourth origin, which takes 400 ms."""
    more_squid.denied_domain(scene)
    scene.origins[3].ms = 400


def limited_and_scanned(scene):
    """Two at once: the third origin answers 429 since 9 s, and a service takes 150 ms for each request."""
    clamav(scene, IcapServer(scene.env))
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: wait=150"]
    more_last.rate_limited(scene)
