# SPDX-License-Identifier: GPL-2.0-or-later
"""A fourth round of troubles: servers, names, parents and the cache.  reports.md has the reports; see trouble_dns.py."""

import glob
import os

from lib.env import free_port
from lib.origin import Deaf
from lib.tls import Certificates
from more_cousins import change
from more_machine import iptables
from plant_disks import from_disk
from scene import Origin
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


# ---- tunnels ----

def one_host(n):
    return "o%d.test" % (1 + n % 5)


def slow_tunnels(scene):
    """What the third server sends through tunnels comes at 20 KB/s: 60 KB each."""
    scene.origins[SLOW].more["rate"] = 20000
    tunnels(scene, 15, 0, one_host)
    scene.traffic.more = lambda n: {"hold": 0, "whole": True, "inside": "/size=60000/t%d" % n}


def slammed(scene):
    """The third server, or a firewall before it, closes each tunnel when the client has said something."""
    tunnels(scene, 15, 0, one_host)
    scene.traffic.more = lambda n: {"hold": 0, "inside": "/size=3000%s/t%d" % (";unread=1" if n % 5 == SLOW else "", n)}


def dead_address(scene):
    """One tunnel in five is to hosts of two addresses, at the first of which nothing answers."""
    Deaf(scene.env, "127.0.2.1", scene.origins[0].port)
    scene.far["two"] = ["127.0.2.1", scene.origins[SLOW].address]
    scene.conf += "connect_timeout 2 seconds\n"
    tunnels(scene, 15, 0, lambda n: "h%d.two.test" % n if n % 5 == SLOW else one_host(n))


# ---- parents ----

def parent_login(scene):
    """A parent wants a login for tunnels, which one request in three is, and for nothing else."""
    moon = Origin(11)
    moon.more["connect"] = 407
    scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon\nnever_direct allow all\n"
                   % (moon.address, moon.port))
    scene.origins.append(moon)

    def tunnel(n, request):
        if n % 3 == 1:
            request[1:3] = "CONNECT", "%s:%d" % (one_host(n), moon.port)
            request[5:] = [{"hold": 0, "inside": "/size=3000/t%d" % n}]
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    change(scene, tunnel)


def posts_go_direct(scene):
    """A parent is asked for what may be a hit.  Uploads, one request in three, go direct, which a firewall drops."""
    moon, servers = Origin(11), list(scene.origins)
    scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon\nconnect_timeout 2 seconds\n"
                   "forward_timeout 4 seconds\n" % (moon.address, moon.port))
    scene.traffic.site = lambda n, chance: servers[n % 5].url
    scene.origins.append(moon)

    def upload(n, request):
        if n % 3 == 1:
            request[1:5] = "POST", request[2] + "p%d" % n, [], 300
    change(scene, upload)
    scene.meanwhile.append(lambda _: [iptables("-A", "INPUT", "-d", one.address, "-p", "tcp", "--syn", "-j", "DROP")
                                      for one in servers])


# ---- servers ----

def dns_filter(scene):
    """The name server is a filter, which says 0.0.0.0 for the third domain."""
    scene.name_servers = [["127.7.7.53", 1, {"to": {"o3": "0.0.0.0"}}]]


def wants_certificate(scene):
    """All origins speak TLS, and the third one wants a certificate of Squid, which has none.  With TLS 1.3 it says so after the
    handshake."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.origins[SLOW].more["asks"] = certificates.ca + ".crt"
    scene.conf += "tls_outgoing_options cafile=%s\n" % (certificates.ca + ".crt")
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url.replace("http:", "https:")


def refused_uploads(scene, every=3):
    """The third origin answers 413 to each upload; one request in three is one."""
    scene.origins[SLOW].more["uploads"] = 413

    def upload(n, request):
        if n % every == 1:
            request[1:3], request[4] = ("POST", request[2] + "p%d" % n), 3000
    change(scene, upload)


def wrong_clock(scene):
    """The clock of the third origin is two hours behind, so that its replies, good for an hour, are old when they come.  The
    origins take 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.origins[SLOW].more["clock"] = -7200
    scene.traffic.repeats = 0.85


# ---- the cache ----

def truncated_files(scene):
    """Something cuts the files of one cache_dir to 6 KB."""
    from_disk(scene, ["aufs:one", "aufs:two"], (20000, 30000))
    scene.traffic.repeats = 0.8

    def cut(scene):
        for path in glob.glob(os.path.join(scene.cache_dir("aufs:two"), "??", "??", "*")):
            os.truncate(path, min(6000, os.path.getsize(path)))
    for when in (4, 6, 8, 10, 12, 14, 16, 18):
        scene.at(when, cut)


def purging(scene, ms, pages, every):
    """Origins of so many ms have 40 pages, and so many of them are purged, every so many seconds."""
    scene.conf += "acl purge method PURGE\nhttp_access allow purge\n"
    for origin in scene.origins:
        origin.ms = ms
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000/h%d" % n for n in range(40)]
    scene.traffic.repeats = 1
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.001, "PURGE", scene.traffic.first[(second + n) % 40], [], 0, {}]
                         for second in range(2, seconds, every) for n in range(pages)], key=lambda request: request[0])


def purges(scene):
    """An application purges all of its 40 pages each second.  Origins of 100 ms."""
    purging(scene, 100, 40, 1)


def own_caches(scene):
    """Four workers have a memory of their own each, and none sees what the others have.  150 objects of origins of 100 ms."""
    scene.workers, scene.dirs, scene.port = 4, [], free_port()
    scene.conf += "memory_cache_shared off\nhttp_port 127.0.0.1:%d worker-queues\n" % scene.port
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.options["once"] = True
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000/h%d" % n for n in range(150)]
    scene.traffic.repeats = 1


def address_of_worker(scene):
    """Each of two workers sends from an address of its own, and the machine has that of the first one only."""
    scene.workers, scene.dirs, scene.port = 2, [], free_port()
    scene.conf += ("http_port 127.0.0.1:%d worker-queues\nif ${process_number} = 2\ntcp_outgoing_address 10.9.9.9\nendif\n"
                   % scene.port)
    scene.traffic.options["once"] = True


# ---- nothing wrong ----

def few_purges(scene):
    """An application purges one of its 40 pages every two seconds."""
    purging(scene, 30, 1, 2)


def few_refused_uploads(scene):
    """The same as refused_uploads, of one request in forty: users try with large files."""
    refused_uploads(scene, 40)
