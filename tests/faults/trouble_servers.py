# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles with servers and neighbours, and with how Squid uses them.  See trouble_dns.py."""

from lib.tls import Certificates
from plant_servers import way
from scene import Origin

SLOW = 2  # the third origin


def slow_body(scene):
    """The third origin sends its header at once, and its body at 20 KB/s."""
    scene.origins[SLOW].more["rate"] = 20000


def nothing_kept(scene):
    """A TLS parent 20 ms away, and no connection is used twice, on either side."""
    certificates = Certificates(scene.env, "10.77.1.11")
    way(scene, ms=10)
    parent = Origin(11, "10.77.1.%d")
    parent.more["tls"] = certificates.server
    scene.origins.append(parent)
    scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon tls tls-cafile=%s\n"
                   "never_direct allow all\nclient_persistent_connections off\nserver_persistent_connections off\n"
                   % (parent.address, parent.port, certificates.ca + ".crt"))
    scene.traffic.repeats = 0
    scene.traffic.options["once"] = True


def revalidates(scene):
    """What 100 ms away origins say is fresh for 2 s, and never changes."""
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.words = lambda n: ";lm=1;cc=max-age=2"
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000;lm=1;cc=max-age=2/h%d" % n for n in range(40)]
    scene.traffic.repeats = 1


def whole_for_ranges(scene):
    """Ranges of 1 MB near the end of 30 MB that may not be stored, and range_offset_limit none."""
    scene.conf += "range_offset_limit none\nquick_abort_min 0 KB\nquick_abort_max 0 KB\n"
    for origin in scene.origins:
        origin.more["rate"] = 3000000
    scene.traffic.per_second, scene.traffic.repeats = 0.7, 0
    scene.traffic.size = lambda chance: 30000000
    scene.traffic.words = lambda n: ";cc=no-store"
    scene.traffic.headers = lambda n, chance: ["Range: bytes=28000000-28999999"]


def no_ports(scene):
    """200 local ports for connections that Squid closes first."""
    def begin(scene):
        for name, value in (("ip_local_port_range", "40000 40199"), ("tcp_tw_reuse", "0")):
            with open("/proc/sys/net/ipv4/" + name, "w") as out:
                out.write(value)
    scene.before.append(begin)
    scene.origins[0].more["linger"] = 1
    scene.conf += "server_persistent_connections off\n"
    scene.traffic.per_second, scene.traffic.repeats = 40, 0
    scene.traffic.site = lambda n, chance: scene.origins[0].url


def no_continue(scene):
    """Uploads that expect 100 Continue, which the third origin never sends."""
    for origin in scene.origins:
        origin.more["mute"] = origin is scene.origins[SLOW]
    scene.traffic.method, scene.traffic.sends = "POST", 20000
    scene.traffic.headers = lambda n, chance: ["Expect: 100-continue"]
    scene.traffic.words = lambda n: ";cc=no-store"


def late_sibling(scene):
    """Three siblings are asked by ICP; none has anything, and the second says so after 400 ms."""
    scene.far["icp"] = [["127.0.1.%d" % n, 3130, 400 if n == 22 else 1] for n in (21, 22, 23)]
    for number, (address, port, _) in enumerate(scene.far["icp"], 1):
        scene.conf += "cache_peer %s sibling 8000 %d no-digest no-netdb-exchange name=sibling%d\n" % (
            address, port, number)
    scene.conf += "icp_port 3130\nicp_access allow all\nudp_incoming_address 127.0.0.1\nicp_query_timeout 2000\n"
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    scene.origins += [Origin(n) for n in (21, 22, 23)]  # Squid asks no sibling to which it can not connect
    scene.traffic.repeats = 0


def all_close_kept(scene):
    """All origins close each kept connection 90 ms after the next request on it, without an answer."""
    scene.traffic.words = lambda n: ";drop=90"
    scene.traffic.repeats = 0


def now_and_then(scene):
    """The third origin is slow for two seconds of ten."""
    scene.origins[SLOW].more["at"] = [10, 2, 800]
    scene.seconds = max(scene.seconds, 40)


def ten_bad_seconds(scene):
    """The third origin is slow once, for ten seconds of a minute."""
    scene.origins[SLOW].more["at"] = [40, 10, 800]
    scene.seconds = max(scene.seconds, 60)
