# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of further kinds with servers, name servers, neighbours and the ways to them.  reports.md has the reports; see
trouble_dns.py."""

import re

from lib.ftpd import FtpServer
from lib.tls import Certificates
from more_machine import iptables
from more_servers import third
from plant_servers import many_hosts, way
from scene import Origin
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


def marked(scene, mark, header, ask=lambda url: True):
    """Requests whose URL has this mark, and which are asked for, have this header field, too."""
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [
        [due, method, url, headers + ([header] if mark in url and ask(url) else []), *rest]
        for due, method, url, headers, *rest in made(seconds)]


def no_upgrade(scene):
    """Clients want WebSocket from the third origin.  Squid does not pass the offer on, so that the origin answers 426."""
    third(scene, ";status=426;cc=no-store")
    marked(scene, "//o3.", "Upgrade: websocket")


def small_buffers(_):
    """TCP keeps no more than 32 KB of a connection, at each end."""
    for name in ("tcp_wmem", "tcp_rmem"):
        with open("/proc/sys/net/ipv4/" + name, "w") as out:
            out.write("4096 16384 32768")


def hurried(scene):
    """The third origin closes a connection after 5 s of a body, and clients take 1.5 MB at 60 KB/s.  Little fits into the
    buffers on the way."""
    scene.before.append(small_buffers)
    scene.origins[SLOW].more["hurry"] = 5
    scene.traffic.per_second, scene.traffic.repeats = 4, 0
    scene.traffic.site = lambda n, chance: scene.origins[SLOW if n % 2 else 0].url
    scene.traffic.words = lambda n: ";cc=no-store"
    scene.traffic.size = lambda chance: 900000
    scene.traffic.options.update(rate=60000, timeout=40)


def never_unchanged(scene):
    """Servers say that a client must ask again each time, and then send the same 300 KB again."""
    for origin in scene.origins:
        origin.more["rate"] = 1500000
    words = ";lm=new;cc=max-age=0+must-revalidate"
    scene.traffic.first = [scene.origins[n % 5].url + "/size=300000%s/h%d" % (words, n) for n in range(20)]
    scene.traffic.per_second, scene.traffic.repeats = 20, 1


def no_cache(scene):
    """Replies of origins 100 ms away say no-cache, so that Squid asks about each, and each is unchanged."""
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000;lm=1;cc=no-cache/h%d" % n for n in range(40)]
    scene.traffic.repeats = 1


def far_tunnels(scene):
    """Tunnels to servers that are 100 ms away, each way."""
    way(scene, ms=100)
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))


def other_ciphers(scene):
    """All origins speak TLS, the third one only with a cipher that Squid may not use any more."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.origins[SLOW].more["cipher"] = "ECDHE-ECDSA-AES128-GCM-SHA256"
    scene.conf += "tls_outgoing_options cafile=%s cipher=ECDHE-ECDSA-AES256-GCM-SHA384\n" % (certificates.ca + ".crt")
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url.replace("http:", "https:")


def closed_sibling(scene):
    """A sibling answers each ICP query with a hit, and a firewall drops all connections to it."""
    sibling = Origin(21)
    scene.far["icp"] = [[sibling.address, 3130, 1, "hit"]]
    scene.conf += ("cache_peer %s sibling %d 3130 no-digest no-netdb-exchange name=sibling1 connect-timeout=2 "
                   "connect-fail-limit=1000\nserver_persistent_connections off\nicp_port 3130\nicp_access allow all\nudp_incoming_address 127.0.0.1\n"
                   % (sibling.address, sibling.port))
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    scene.origins.append(sibling)
    scene.at(2, lambda _: iptables("-A", "INPUT", "-d", sibling.address, "-p", "tcp", "--syn", "-j", "DROP"))


def lossy_names(scene):
    """Each fifth query to the name server is lost."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"loses": 5}]]


def lost_syns(scene):
    """The table of connections of a firewall is full, so that it drops three first packets in ten, to all servers."""
    scene.conf += "server_persistent_connections off\n"
    scene.meanwhile.append(lambda scene: [iptables(
        "-A", "INPUT", "-d", origin.address, "-p", "tcp", "--syn", "-m", "statistic", "--mode", "random",
        "--probability", "0.3", "-j", "DROP") for origin in scene.origins])


def failing_uploads(scene):
    """The third origin answers 500 to each upload; one request in three is one."""
    scene.origins[SLOW].more["uploads"] = 500
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [
        [due, "POST", url + "p%d" % n, headers, 3000, *rest] if n % 3 == 1 else [due, method, url, headers, sends, *rest]
        for n, (due, method, url, headers, sends, *rest) in enumerate(made(seconds))]


def new_for_uploads(scene):
    """Uploads go to servers that are 40 ms away, each way.  Squid sends none on a connection that was used before."""
    way(scene, ms=40)
    scene.traffic.method, scene.traffic.sends, scene.traffic.repeats = "POST", 2000, 0
    scene.traffic.per_second = 30


def slow_ftp(scene):
    """One request in six is for a file by FTP, of a server that takes 800 ms to let a user in."""
    server = FtpServer(scene.env)
    made = scene.traffic.new
    scene.traffic.new = lambda n, chance: (server.url("f%d" % n, user="hold800:x", size=3000) if n % 6 == 0
                                           else made(n, chance))
    scene.culprit = re.escape("%s:%d" % (server.host, server.port))
