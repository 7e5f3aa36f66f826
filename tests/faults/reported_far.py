# SPDX-License-Identifier: GPL-2.0-or-later
"""Reported troubles with servers, name servers, and the way to them.  reports.md has the reports; see trouble_dns.py."""

import subprocess

from lib.env import free_port
from lib.origin import Deaf
from lib.tls import Certificates
from plant_servers import many_hosts, way
from scene import Origin
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


# ---- name servers ----

def reverse_for_acl(scene):
    """Requests name addresses, an ACL dstdomain wants their names, and no name server answers."""
    scene.origins = [Origin(n) for n in range(1, 41)]
    scene.name_servers = [["127.7.7.53", None]]
    scene.traffic.site = lambda n, chance: "http://" + scene.origins[n % 40].server
    scene.conf += ("dns_timeout 4 seconds\nnegative_dns_ttl 2 seconds\nacl marketplace dstdomain .marketplace.test\n"
                   "http_access deny marketplace\n")


def short_ttl(scene):
    """Squid keeps names for 4 s, and the name server takes 2 s."""
    scene.name_servers = [["127.7.7.53", 2000, {"ttl": 1}]]
    scene.conf += "negative_dns_ttl 4 seconds\n"  # the least for which it keeps any


def server_failure(scene):
    """For ten seconds the name server can not resolve anything."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"broken": [6, 16]}]]
    scene.conf += "negative_dns_ttl 1 seconds\n"


def one_query_at_a_time(scene):
    """The name server answers one query at a time, 25 ms each, and each new URL is of a new host."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 25, {"serial": True}]]


# ---- servers ----

def silent_tunnels(scene):
    """The third server accepts tunnels, and says nothing in them.  Clients wait for 8 s."""
    scene.origins[SLOW].more["silent"] = True
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.options["timeout"] = 8


def refuses(scene):
    """Nothing listens at the third origin any more."""
    scene.traffic.site = lambda n, chance: "http://127.0.1.3:8003" if n % 5 == SLOW else scene.origins[n % 5].url


def unreachable(scene):
    """There is no route to the third origin's address."""
    scene.name_servers = [["127.7.7.53", 1, {"to": {"o3": "10.99.0.3"}}]]


def flood(scene):
    """The third origin answers one request at a time, and a client sends it 160 a second for five seconds."""
    scene.origins[SLOW].more["serial"] = True
    made = scene.traffic.requests

    def flooded(seconds):
        more = [[8 + n / 160, "GET", scene.origins[SLOW].url + "/size=2000;cc=no-store/f%d" % n, [], 0, {}]
                for n in range(800)]
        return sorted(made(seconds) + more, key=lambda request: request[0])
    scene.traffic.requests = flooded


def full_line(scene):
    """All origins are behind one line of 180 KB/s."""
    way(scene, ms=5, rate=180000)
    scene.traffic.per_second = 40
    scene.traffic.options["timeout"] = 30


def deaf_tunnels(scene):
    """Tunnels to one server are never connected."""
    deaf = Deaf(scene.env, "127.0.2.1", scene.origins[0].port)
    scene.name_servers = [["127.7.7.53", 1, {"to": {"o3": "127.0.2.1"}}]]
    scene.conf += "connect_timeout 3 seconds\nforward_timeout 5 seconds\n"
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    del deaf


def dead_ipv6(scene):
    """The third origin has an address of IPv6, too, which is known first, and at which nothing answers."""
    def begin(scene):
        subprocess.run(["ip", "addr", "add", "fd00::3/128", "dev", "lo", "nodad"], check=True)
        Deaf(scene.env, "fd00::3", scene.origins[0].port)
    scene.before.append(begin)
    scene.name_servers = [["127.7.7.53", 1, {"to": {"o3": "fd00::3"}, "later": {"A": 30}, "ttl": 1}]]
    scene.conf += "connect_timeout 5 seconds\nserver_persistent_connections off\nnegative_dns_ttl 1 seconds\n"


def no_parent(scene):
    """Both parents are dead, and nothing may go direct."""
    for name, port in (("moon", 8010), ("mars", 8011)):
        scene.conf += "cache_peer 127.0.1.2 parent %d 0 no-query no-digest no-netdb-exchange round-robin name=%s\n" % (
            port, name)
    scene.conf += "never_direct allow all\nconnect_timeout 2 seconds\n"
    scene.traffic.repeats = 0


# ---- what may be stored ----

def too_large(scene):
    """Most requests repeat one for 6 MB, and maximum_object_size is 4 MB."""
    scene.conf += "maximum_object_size 4 MB\n"
    for origin in scene.origins:
        origin.more["rate"] = 10000000
    scene.traffic.first = [scene.origins[n % 5].url + "/size=6000000/h%d" % n for n in range(5)]
    scene.traffic.per_second, scene.traffic.repeats = 5, 0.9


def bumped(scene):
    """Each tunnel is bumped, to a host of its own, for which Squid makes a certificate of RSA."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)], kind=["rsa:2048"])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.port = free_port()
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nssl_bump bump all\nsslproxy_cert_error allow all\n"
                   "tls_outgoing_options flags=DONT_VERIFY_PEER\n" % (scene.port, certificates.ca))
    tunnels(scene, 42, 0)
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), tls=True)
