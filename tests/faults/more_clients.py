# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles that only some clients have, some workers, or some requests.  See trouble_dns.py."""

from lib.env import free_port
from lib.helper import Helper
from lib.tls import Certificates
from more_machine import iptables
from scene import Origin
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


def untrusting_clients(scene):
    """Tunnels are bumped, and one client in four does not trust Squid's certificates."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.port = free_port()
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nssl_bump bump all\nsslproxy_cert_error allow all\n"
                   "tls_outgoing_options flags=DONT_VERIFY_PEER\n" % (scene.port, certificates.ca))
    tunnels(scene, 20, 0, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), tls="verify" if n % 4 == 3 else True)


def one_worker_rewriter(scene):
    """Only the second of two workers has a rewriter, which takes 500 ms."""
    helper = Helper(scene.env, "rewrite", 500)
    scene.workers, scene.dirs = 2, []
    scene.conf += ("if ${process_number} = 2\nurl_rewrite_program %s\nurl_rewrite_children 60 startup=40 idle=1\nendif\n"
                   % helper.command)
    scene.traffic.options["once"] = True


def failover(scene):
    """From the eighth second on the first parent refuses connections, and the second one, 300 ms away, has all misses."""
    parents = [Origin(n) for n in (11, 12)]
    parents[1].ms = 300
    scene.origins += parents
    for parent, words in zip(parents, ("name=moon default", "name=mars")):
        scene.conf += "cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange %s\n" % (
            parent.address, parent.port, words)
    scene.conf += "never_direct allow all\n"
    scene.at(8, lambda scene: iptables("-A", "INPUT", "-d", parents[0].address, "-p", "tcp", "-j", "REJECT",
                                       "--reject-with", "tcp-reset"))


def ranges(scene):
    """Clients ask for ranges of 20 objects, again and again.  Squid does not store ranges; the origins take 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.first = [scene.origins[n % 5].url + "/size=100000;status=206/h%d" % n for n in range(20)]
    scene.traffic.repeats = 1
    scene.traffic.headers = lambda n, chance: ["Range: bytes=0-99999"]


def pipelined(scene):
    """Twice a second a client sends five requests at once on one connection.  The first one takes 700 ms, the others are
    hits."""
    scene.origins[SLOW].ms = 700
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    scene.traffic.first = [scene.origins[0].url + "/size=2000/h%d" % n for n in range(8)]
    made, slow = scene.traffic.requests, scene.origins[SLOW].url
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[2 + n / 2, "GET", slow + "/size=2000/p%d" % n, [], 0, {"then": scene.traffic.first[:4]}]
                         for n in range(2 * seconds - 4)], key=lambda request: request[0])


def one_site(scene):
    """A helper of an external ACL takes 700 ms for URLs of the third origin, and a millisecond for others."""
    helper = Helper(scene.env, "acl", 1)
    scene.conf += ("external_acl_type sites ttl=0 negative_ttl=0 cache=0 children-max=40 children-startup=30 %%URI %s\n"
                   "acl sites_ok external sites\nhttp_access deny !sites_ok\n" % helper.command)
    scene.traffic.words = lambda n: ";x=wait700" if n % 5 == SLOW else ""
