# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles with servers, and with how Squid goes to them.  reports.md has the reports; see trouble_dns.py."""

import os
import re
import signal
import urllib.parse

from lib.child import Process
from lib.env import free_port
from lib.ftpd import FtpServer
from lib.tls import Certificates
from plant_servers import many_hosts, way
from scene import Origin

HERE = os.path.dirname(os.path.abspath(__file__))

SLOW = 2  # the third origin


def third(scene, words):
    """These words in URLs of the third origin."""
    scene.traffic.words = lambda n: words if n % 5 == SLOW else ""


def cut_bodies(scene):
    """The third origin closes its connections after 1,000 bytes of a body."""
    third(scene, ";abort=1000")


def no_length(scene):
    """Replies of the third origin have no length, and it closes the connection 2 s after the last byte."""
    reply = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + "x" * 500
    third(scene, ";raw=" + urllib.parse.quote(reply, safe=""))
    scene.origins[SLOW].more["linger"] = 2
    scene.traffic.headers = lambda n, chance: ["Connection: close"]


def posts_on_kept(scene):
    """Uploads may go on kept connections, and the third origin closes those when the next request comes."""
    scene.conf += "server_pconn_for_nonretriable allow all\n"
    scene.traffic.method, scene.traffic.sends, scene.traffic.repeats = "POST", 2000, 0
    third(scene, ";drop=5")


def outgoing_address(scene):
    """Connections to one domain leave from an address that the machine does not have."""
    scene.conf += "acl bank dstdomain .o3.test\ntcp_outgoing_address 10.9.9.9 bank\n"


def peer_limit(scene):
    """A reverse proxy may have four connections to its only server, which takes 100 ms."""
    scene.port = free_port()
    scene.origins[0].ms = 100
    scene.conf += ("http_port 127.0.0.1:%d accel vhost defaultsite=o1.test\n"
                   "cache_peer 127.0.1.1 parent %d 0 no-query no-digest no-netdb-exchange originserver name=web "
                   "max-conn=4\nnever_direct allow all\n" % (scene.port, scene.origins[0].port))
    scene.traffic.site = lambda n, chance: scene.origins[0].url
    scene.traffic.repeats = 0


def false_hits(scene):
    """A sibling answers each ICP query with a hit, and each request with a 504 after 200 ms: it has nothing."""
    sibling = Origin(21)
    sibling.ms, sibling.more["answers"] = 200, [504, 0, 3600]
    scene.far["icp"] = [[sibling.address, 3130, 1, "hit"]]
    scene.conf += ("cache_peer %s sibling %d 3130 no-digest no-netdb-exchange name=sibling1\nicp_port 3130\n"
                   "icp_access allow all\nudp_incoming_address 127.0.0.1\n" % (sibling.address, sibling.port))
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    scene.origins.append(sibling)


def outage(scene):
    """All origins stop for four seconds."""
    made, ends = scene.process, {}

    def process(settings, name):
        ends[name] = made(settings, name)
        return ends[name]
    scene.process = process
    scene.at(8, lambda scene: os.kill(ends["origins"].process.pid, signal.SIGSTOP))
    scene.at(12, lambda scene: os.kill(ends["origins"].process.pid, signal.SIGCONT))


def stampede(scene):
    """Every two seconds 40 clients at once ask for one object, which is fresh for a second, of an origin that answers one
    request at a time."""
    scene.origins[SLOW].more["serial"] = True
    scene.origins[SLOW].ms = 40
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    made, url = scene.traffic.requests, scene.origins[SLOW].url + "/size=8000;cc=max-age=1/news"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.0005, "GET", url, [], 0, {}] for second in range(2, seconds, 2)
                         for n in range(40)], key=lambda request: request[0])


def slow_uploads(scene):
    """The third origin reads uploads of 300 KB at 200 KB/s; the others as fast as they come."""
    third_one = scene.origins.pop(SLOW)

    def begin(scene):
        with open("/proc/sys/net/ipv4/tcp_wmem", "w") as out:
            out.write("4096 16384 32768")
        Process(scene.env, os.path.join(HERE, "more_ends.py"), [third_one.address, str(third_one.port), "200000"],
                "slow-uploads")
    scene.before.append(begin)
    scene.traffic.site = lambda n, chance: (third_one if n % 5 == SLOW else scene.origins[n % 4]).url
    scene.traffic.method, scene.traffic.sends, scene.traffic.per_second = "POST", 300000, 10
    scene.traffic.words = lambda n: ";cc=no-store"
    scene.traffic.repeats = 0


def ftp_data(scene):
    """One request in six is for a file by FTP, and a firewall lets no data connection through."""
    server = FtpServer(scene.env)
    made = scene.traffic.new
    scene.traffic.new = lambda n, chance: server.url("f%d" % n, size=3000, deaf=1) if n % 6 == 0 else made(n, chance)
    scene.conf += "connect_timeout 3 seconds\nforward_timeout 6 seconds\n"
    scene.culprit = re.escape("%s:%d" % (server.host, server.port))


def bad_certificate(scene):
    """All origins speak TLS, and the certificate of the third one is for another name."""
    certificates = Certificates(scene.env, "o1.test", "o2.test", "o4.test", "o5.test", "old.o3.test")
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.conf += "tls_outgoing_options cafile=%s\n" % (certificates.ca + ".crt")
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url.replace("http:", "https:")


def own_parent(scene):
    """The parent for all misses is this Squid itself."""
    def begin(scene):
        scene.squid.lines += ("cache_peer 127.0.0.1 parent %d 0 no-query no-digest no-netdb-exchange name=moon\n"
                              "never_direct allow all\n" % scene.squid.port)
    scene.before.append(begin)


def denying_parent(scene):
    """One of three parents in turn answers 403 to all, because it does not know this Squid any more."""
    parents = [Origin(n) for n in (11, 12, 13)]
    parents[SLOW].more["answers"] = [403, 8, 3600]
    scene.origins += parents
    for parent, name in zip(parents, ("moon", "mars", "pluto")):
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange round-robin name=%s\n"
                       % (parent.address, parent.port, name))
    scene.conf += "never_direct allow all\n"


def one_source(scene):
    """Parents are chosen by the client's address, and all clients are behind one.  Each parent answers one at a time."""
    parents = [Origin(n) for n in (11, 12, 13)]
    for parent, name in zip(parents, ("moon", "mars", "pluto")):
        parent.more["serial"], parent.ms = True, 20
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange sourcehash name=%s\n"
                       % (parent.address, parent.port, name))
    scene.origins += parents
    scene.conf += "never_direct allow all\n"
    scene.traffic.repeats = 0


def kept_errors(scene):
    """For a second the third origin answers 503, and Squid keeps that for 10 s.  Objects are fresh for two seconds."""
    scene.origins[SLOW].more["answers"] = [503, 9, 10.5]
    scene.conf += "negative_ttl 10 seconds\n"
    scene.traffic.words = lambda n: ";cc=max-age=2"
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000;cc=max-age=2/h%d" % n for n in range(40)]
    scene.traffic.repeats = 1


def large_headers(scene):
    """Headers of the third origin are of 6 KB, and Squid may take 4 KB."""
    scene.conf += "reply_header_max_size 4 KB\n"
    third(scene, ";etag=" + "x" * 6000)


def large_packets(scene):
    """Packets of more than 1,200 bytes do not come through from the third origin, and no ICMP says so."""
    way(scene, ms=5, largest={"10.77.1.3": 1200})
    scene.traffic.size = lambda chance: chance.choice((300, 500, 6000))
    scene.traffic.options["timeout"] = 6


def small_window(scene):
    """All origins are 50 ms away, and tcp_recv_bufsize is 4 KB."""
    way(scene, ms=50)
    scene.conf += "tcp_recv_bufsize 4 KB\n"
    scene.traffic.size = lambda chance: chance.randrange(50000, 150000)
    scene.traffic.per_second = 20


def truncated_answers(scene):
    """Answers of the name server are truncated, and it can not be asked by TCP."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"truncated": True}]]
    scene.conf += "dns_timeout 8 seconds\n"
