# SPDX-License-Identifier: GPL-2.0-or-later
"""Bytes that are more than was asked for, objects that are not kept, and tunnels that are slow or only idle.  See
reported_moved.py, and trouble_dns.py."""

from lib.tls import Certificates, FarEnds
from more_cousins import change
from plant_servers import way
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


def tls_tunnels(scene, inside, per_second=15):
    """Tunnels in which clients speak TLS with the origins; inside: of a number, what each asks for.  Returns certificates."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    tunnels(scene, per_second, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: dict(inside(n), tls=True)
    return certificates


# ---- troubles ----

def whole_films(scene):
    """One request in eight is for the last 20 KB of 2 MB.  No origin knows ranges, and bodies come at 3 MB/s."""
    for origin in scene.origins:
        origin.more["rate"] = 3000000

    def end(n, request):
        if n % 8 == 3:
            request[2:4] = "%s/size=2000000/film%d" % (scene.origins[n % 5].url, n), ["Range: bytes=-20000"]
    change(scene, end)


def small_limit(scene):
    """Squid keeps no object of more than 16 KB; half of what is asked for again and again is larger.  Origins of 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.conf += "maximum_object_size 16 KB\nmaximum_object_size_in_memory 16 KB\n"
    scene.traffic.size = lambda chance: chance.choice((6000, 24000, 30000))
    scene.traffic.repeats = 0.8


def late_handshakes(scene):
    """The third server takes 700 ms until it answers the hello of TLS, in tunnels that Squid does not look into."""
    certificates = tls_tunnels(scene, lambda n: {"inside": "/size=3000/t%d" % n})
    third, port = scene.origins[SLOW], scene.origins[SLOW].port
    del third.more["tls"]
    third.port = 8001

    def begin(scene):
        class Host:
            host, port = third.address, third.port
        FarEnds(scene.env, Host, certificates, "tls:700@%d" % port)
    scene.before.append(begin)


def thin_line(scene):
    """All servers are behind a line of 250 KB/s, and tunnels with TLS want more: 60 KB each, six a second."""
    way(scene, ms=5, rate=250000)
    tls_tunnels(scene, lambda n: {"inside": "/size=60000/t%d" % n, "whole": True}, 6)


# ---- nothing wrong ----

def large_pages(scene):
    """One request in fifty is for 3 MB of the third origin, whose bodies come at 1.5 MB/s: two seconds each."""
    scene.origins[SLOW].more["rate"] = 1500000

    def large(n, request):
        if n % 50 == 3:
            request[2] = "%s/size=3000000/film%d" % (scene.origins[SLOW].url, n)
    change(scene, large)


def polls(scene):
    """In one tunnel of five its client asks for news, and the server has some after three seconds."""
    tls_tunnels(scene, lambda n: {"inside": ("/size=300;hdr=3000/p%d" if n % 5 == SLOW else "/size=3000/t%d") % n})


def chats(scene):
    """Tunnels to one server stay open for five seconds, in which it says a little each half second; they speak TLS."""
    tls_tunnels(scene, lambda n: {"inside": "/size=1500;parts=10;gap=500/p%d" % n} if n % 5 == SLOW
                else {"inside": "/size=60000/t%d" % n, "whole": True})


def beside_download(scene):
    """Tunnels stay open for four seconds and idle, beside a large download through one."""
    tls_tunnels(scene, lambda n: {"inside": "/size=9000/t%d" % n, "hold": 4} if n % 40 else
                {"inside": "/size=20000000/d%d" % n, "whole": True})


def ranges_of_all(scene):
    """One request in eight is for all of an object of 2 MB, as a range, as players do; origins answer with 200."""
    def all_of(n, request):
        if n % 8 == 3:
            request[2:4] = "%s/size=2000000/film%d" % (scene.origins[n % 5].url, n), ["Range: bytes=0-"]
    change(scene, all_of)
