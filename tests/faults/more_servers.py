# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles with servers, and with how Squid goes to them.  reports.md has the reports; see trouble_dns.py."""

import urllib.parse

from lib.env import free_port

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
