# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles with name servers.  Each function plants its trouble in a scene; troubles.py says what must be found."""

from plant_servers import many_hosts

SLOW = 3  # the origin, and the domain, that is at fault


def one_domain(scene):
    """The name server asks others for names, and those of the third origin take 800 ms."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"slow": {"o%d" % SLOW: 800}}]]


def no_aaaa(scene):
    """A firewall drops queries for AAAA, and an ACL dst needs both answers."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"drop": ["AAAA"]}]]
    scene.conf += """
dns_timeout 8 seconds
dns_retransmit_interval 4 seconds
acl inside dst 10.0.0.0/8
http_access deny inside
"""


def reverse(scene):
    """access_log wants the clients' names, and the name server answers one query at a time, 20 ms each."""
    scene.traffic.site = lambda n, chance: ("http://h%d.o%d.test:%d" % (n, 1 + n % 5, scene.origins[0].port)
                                            if n % 4 == 0 else scene.origins[n % 5].url)
    scene.name_servers = [["127.7.7.53", 20, {"serial": True}]]
    scene.traffic.options.update(once=True, sources=20000)
    scene.conf += "logformat names %ts %>A %ru\naccess_log stdio:{folder}/names.log logformat=names\n"


def first_dead(scene):
    """The first of two name servers never answers."""
    scene.traffic.site = lambda n, chance: ("http://h%d.o%d.test:%d" % (n, 1 + n % 5, scene.origins[0].port)
                                            if n % 2 == 0 else scene.origins[n % 5].url)
    scene.name_servers = [["127.7.7.99", None], ["127.7.7.53", 1]]
    scene.conf += "dns_retransmit_interval 4 seconds\n"
