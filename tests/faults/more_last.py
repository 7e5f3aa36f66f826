# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles with what servers, services and name servers answer.  See trouble_dns.py."""

import re

from lib.icapd import IcapServer
from more_machine import iptables
from plant_servers import many_hosts
from reported_services import clamav

SLOW = 2  # the third origin


def one_domain_fails(scene):
    """The name server has an address for each host but those of the third domain."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1]]
    made = scene.traffic.site
    scene.traffic.site = lambda n, chance: re.sub(r"o3\.test", "o3.example", made(n, chance))
    scene.conf += "negative_dns_ttl 1 seconds\n"


def moved_server(scene):
    """The third server moves at 8 s: nothing is at its old address any more, which Squid keeps for an hour, whatever
    the name server says by then."""
    scene.name_servers = [["127.7.7.53", 1]]
    scene.at(8, lambda scene: iptables("-A", "INPUT", "-d", scene.origins[SLOW].address, "-p", "tcp", "-j", "REJECT",
                                       "--reject-with", "tcp-reset"))


def pausing_name_server(scene):
    """For four seconds nothing gets through to the name server.  One new URL in three is of a new host."""
    scene.traffic.site = lambda n, chance: ("http://h%d.o%d.test:%d" % (n, 1 + n % 5, scene.origins[0].port)
                                            if n % 3 == 0 else scene.origins[n % 5].url)
    scene.name_servers = [["127.7.7.53", 1]]
    scene.at(8, lambda scene: iptables("-A", "INPUT", "-d", "127.7.7.53", "-j", "DROP"))
    scene.at(12, lambda scene: iptables("-D", "INPUT", "-d", "127.7.7.53", "-j", "DROP"))


def rate_limited(scene):
    """From the eighth second on the third origin answers 429 to all."""
    scene.origins[SLOW].more["answers"] = [429, 9, 3600]


def half_replies(scene):
    """From the eighth second on a service ends in the middle of each reply."""
    clamav(scene, IcapServer(scene.env))
    scene.conf = scene.conf.replace("reqmod_precache", "respmod_precache")
    scene.traffic.headers = lambda n, chance: [
        "X-Respmod: do=" + ("midway" if n > 8 * scene.traffic.per_second else "change")]


def answers_all(scene):
    """From the eighth second on a service answers each request itself, with a page of 3,000 bytes."""
    clamav(scene, IcapServer(scene.env))
    scene.traffic.headers = lambda n, chance: [
        "X-Reqmod: do=" + ("instead" if n > 8 * scene.traffic.per_second else "204")]


def large_cookies(scene):
    """One request in ten has cookies of 6 KB, and Squid may take headers of 4 KB."""
    scene.conf += "request_header_max_size 4 KB\n"
    scene.traffic.headers = lambda n, chance: ["Cookie: c=" + "x" * 6000] if n % 10 == 7 else []


def one_site_uncached(scene):
    """An old line in squid.conf lets nothing of the third origin be stored.  The origins take 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.conf += "acl old dstdomain .o3.test\ncache deny old\n"
    scene.traffic.repeats = 0.85
