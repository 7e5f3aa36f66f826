# SPDX-License-Identifier: GPL-2.0-or-later
"""A seventh round of troubles: servers, parents and the cache.  reports.md has the reports; see trouble_dns.py."""

from more_cousins import change
from scene import Origin

SLOW = 2  # the third origin


def two_peers(scene, lacks):
    """Squid stands before two servers, and asks them in turn.  lacks: what each of them does not have."""
    for name, n, text in (("web1", 11, lacks[0]), ("web2", 12, lacks[1])):
        peer = Origin(n)
        if text:
            peer.more["lacks"] = text
        scene.origins.append(peer)
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange originserver round-robin name=%s\n"
                       % (peer.address, peer.port, name))
    servers = list(scene.origins[:5])
    scene.conf += "never_direct allow all\n"
    scene.traffic.site = lambda n, chance: servers[n % 5].url
    made = scene.traffic.new
    scene.traffic.new = lambda n, chance: made(n, chance) + chance.choice(("-shop", "-wiki"))


def wrong_peer(scene):
    """One server has the shop and the other one the wiki, and no rule says so."""
    two_peers(scene, ("-wiki", "-shop"))


def tries_in_vain(scene):
    """One new host in five has two addresses, and both close the connection after a second, without an answer."""
    other = Origin(1, "127.0.2.%d")
    scene.origins.append(other)
    for origin in (other, scene.origins[SLOW]):
        origin.more["closes"] = 1
    scene.far["two"] = [other.address, scene.origins[SLOW].address]
    scene.traffic.site = lambda n, chance: ("http://h%d.two.test:8000" % n if n % 5 == SLOW else scene.origins[n % 5].url)


def logged_in(scene):
    """One client in four is logged in, which is a cookie.  Its page is made for it, in 600 ms, and may not be stored."""
    def own(n, request):
        if n % 4 == 1:
            request[2] = request[2].replace("/size=", "/hdr=590;cc=private;size=") + "-own"
            request[3] = ["Cookie: session=%d" % n]
    change(scene, own)


# ---- nothing wrong ----

def equal_peers(scene):
    """The same as wrong_peer, with two servers that have both.  One request in forty is for a page that neither has."""
    two_peers(scene, (None, None))

    def missing(n, request):
        if n % 40 == 7:
            request[2] = request[2].replace("/size=", "/status=404;cc=-;size=")
    change(scene, missing)
