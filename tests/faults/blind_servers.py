# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles with servers, name servers and parents, planted without a look at what `findings` says.  See reports.md, and
trouble_dns.py."""

import subprocess

from lib.env import free_port
from lib.tls import Certificates, FarEnds
from more_cousins import change
from plant_servers import many_hosts
from scene import Origin
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


def slow_certificate(scene):
    """Tunnels are bumped, and the third server takes 700 ms before it sends its certificate.  No connection to it is kept."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    third, port = scene.origins[SLOW], scene.origins[SLOW].port
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    del third.more["tls"]
    third.port = 8001

    def begin(scene):
        class Host:
            host, port = third.address, third.port
        FarEnds(scene.env, Host, certificates, "tls:700@%d" % port)
    scene.before.append(begin)
    scene.port = free_port()
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nssl_bump bump all\ntls_outgoing_options cafile=%s\n"
                   "server_persistent_connections off\n"
                   % (scene.port, certificates.ca, certificates.ca + ".crt"))
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), tls=True)


def parents(scene, names):
    """Round-robin parents for all misses.  Returns them."""
    found = [Origin(11 + n) for n in range(len(names))]
    scene.origins += found
    for parent, name in zip(found, names):
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange round-robin name=%s\n"
                       % (parent.address, parent.port, name))
    scene.conf += "never_direct allow all\n"
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    return found


def tried_again(scene):
    """One of three parents answers 503 to all, after 250 ms.  Squid asks another one then (retry_on_error), so that clients
    get what they want."""
    scene.conf += "retry_on_error on\n"
    third = parents(scene, ("moon", "mars", "pluto"))[2]
    third.ms = 250
    third.more["answers"] = [503, 0, 1e9]


def first_fails(scene):
    """The first of two name servers answers SERVFAIL to all, after 600 ms."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.99", 600, {"broken": [0, 1e9]}], ["127.7.7.53", 1]]


def parent_without_name(scene):
    """Nothing resolves while Squid starts, so that the only parent, which has a name, has no address for an hour."""
    scene.name_servers = [["127.7.7.53", 1, {"broken": [0, 3]}]]
    scene.origins.append(Origin(11))
    scene.conf += ("cache_peer moon.o11.test parent %d 0 no-query no-digest no-netdb-exchange name=moon\n"
                   "never_direct allow all\n" % scene.origins[-1].port)
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url


def heavy_tail(scene):
    """One new object in six of the third origin takes four seconds."""
    scene.traffic.words = lambda n: ";hdr=4000" if n % 30 == SLOW else ""


def dropped_source(scene):
    """Connections to one domain leave from an address of its own, and nothing that is sent back to that one arrives."""
    scene.conf += ("acl app dstdomain .o3.test\ntcp_outgoing_address 127.5.5.5 app\nconnect_timeout 2 seconds\n")

    def drop(_):
        for words in ("add pref 10 from %s to 127.5.5.5 blackhole" % scene.origins[SLOW].address,
                      "add pref 100 lookup local", "del pref 0"):
            subprocess.run(["ip", "rule"] + words.split(), check=True)
    scene.before.append(drop)


def only_if_cached(scene):
    """One client in five wants only what the cache has: it believes that this Squid is its sibling."""
    def sibling(n, request):
        if n % 5 == 3:
            request[3] = request[3] + ["Cache-Control: only-if-cached"]
    change(scene, sibling)
