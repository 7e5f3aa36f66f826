# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults beyond Squid: name servers, origins, parents, and the way to them.

Each function plants its fault in a scene, and returns a regular expression for all of the culprit that the finding must
name, or None if there is none.
"""

import os
import re

from lib.env import Skip
from lib.origin import Deaf
from lib.tls import Certificates, FarEnds
from scene import MS, Origin

SLOW = 2  # the origin, or parent, that is at fault: the third one


def named(scene, server):
    """A server as a trace with this names= has it."""
    return re.escape(server) if scene.names == "servers" else "origin-[0-9a-f]{8}"


# ---- name servers ----

def many_hosts(scene):
    """Each new URL is of a host that nobody has asked for yet."""
    scene.traffic.site = lambda n, chance: "http://h%d.o%d.test:%d" % (n, 1 + n % 5, scene.origins[0].port)


def slow_name_server(scene):
    many_hosts(scene)
    scene.name_servers = [["127.0.0.53", 200]]
    return r"name_server 127\.0\.0\.53(:53)?"


def dead_name_server(scene):
    many_hosts(scene)
    scene.name_servers = [["127.0.0.53", None], ["127.0.0.54", 0]]
    scene.conf += "dns_retransmit_interval 2 seconds\n"
    return r"name_server 127\.0\.0\.53(:53)?"


# ---- origins and parents ----

def slow_origin(scene):
    scene.origins[SLOW].ms = 500
    return named(scene, scene.origins[SLOW].server)


def slow_parent(scene):
    parents = [Origin(n) for n in (11, 12, 13)]
    parents[SLOW].ms = 400
    scene.origins += parents
    for parent, name in zip(parents, ("moon", "mars", "pluto")):
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange round-robin name=%s\n"
                       % (parent.address, parent.port, name))
    scene.conf += "never_direct allow all\n"
    return "pluto"


def closes_kept(scene):
    """The third origin closes each kept connection 100 ms after the next request on it, without an answer."""
    scene.traffic.words = lambda n: ";drop=%d" % (100 - MS) if n % 5 == SLOW else ""
    return named(scene, scene.origins[SLOW].server)


def together(scene, clients):
    """So many clients ask for each object at once."""
    made = scene.traffic.requests

    def requests(seconds):
        single = made(seconds)
        return [[single[k - k % clients][0], "GET", single[k - k % clients][2], [], 0] for k in range(len(single))]
    scene.traffic.requests = requests


def slow_leader(scene):
    """Five clients at once ask for each new object, and the origins take 300 ms."""
    scene.conf += "collapsed_forwarding on\n"
    for origin in scene.origins:
        origin.ms = 300
    scene.traffic.repeats = 0
    together(scene, 5)


# ---- the way ----

def way(scene, **settings):
    if not os.path.exists("/dev/net/tun"):
        raise Skip("needs /dev/net/tun")
    for origin in scene.origins:
        origin.network = "10.77.1.%d"
    scene.far["way"] = settings


def round_trip(scene):
    way(scene, ms=100)


def loss(scene):
    way(scene, ms=5, loss=0.08)


def one_address(scene):
    """A host has two addresses, one of which answers no SYN."""
    deaf = Deaf(scene.env, "127.0.2.1", scene.origins[0].port)
    scene.far["two"] = ["127.0.2.1", "127.0.1.1"]
    scene.traffic.site = lambda n, chance: ("http://h%d.two.test:%d" % (n, deaf.port) if n % 5 == 0
                                            else scene.origins[1 + n % 4].url)
    scene.conf += "connect_timeout 4 seconds\n"
    return named(scene, "127.0.2.1:%d" % deaf.port)


def origin_tls(scene):
    """Handshakes of 80 ms with each origin, and no kept connections."""
    certificates = Certificates(scene.env, *["o%d.test" % origin.n for origin in scene.origins])
    plain = scene.origins[0]

    def begin(scene):
        class Host:
            host, port = plain.address, plain.port
        ends = FarEnds(scene.env, Host, certificates, "tls:80")
        port = ends.ports["tls:80"]
        scene.traffic.site = lambda n, chance: "https://o1.test:%d" % port
        scene.culprit = named(scene, "%s:%d" % (plain.address, port))
    scene.before.append(begin)
    scene.conf += "tls_outgoing_options cafile=%s\nserver_persistent_connections off\n" % (certificates.ca + ".crt")
    os.chmod(scene.env.folder, 0o755)
