# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles that look like those of another cause, and runs without one that look like a trouble.  See trouble_dns.py."""

import re
import urllib.parse

from plant_servers import together

SLOW = 2  # the third origin


def words_of_third(scene, words):
    scene.traffic.words = lambda n: words if n % 5 == SLOW else ""


def change(scene, function):
    """Each request is changed by function(number, request)."""
    made = scene.traffic.requests

    def requests(seconds):
        found = made(seconds)
        for n, request in enumerate(found):
            function(n, request)
        return found
    scene.traffic.requests = requests


# ---- troubles ----

def denied_replies(scene):
    """squid -k reconfigure, with a rule on replies that denies those of 20 KB and more: two of five."""
    def reconfigure(scene):
        scene.squid.lines += "acl large rep_header Content-Length ^2....$\nhttp_reply_access deny large\n"
        scene.squid.reconfigure()
    scene.at(8, reconfigure)


def gone_site(scene):
    """From the eighth second on the third origin knows none of its pages: 404."""
    scene.origins[SLOW].more["answers"] = [404, 9, 3600]


def captive(scene):
    """From the eighth second on the third origin redirects all to a login page."""
    scene.origins[SLOW].more["answers"] = [302, 9, 3600]


def cut_large(scene):
    """Something on the way cuts replies of all origins after 20,000 bytes."""
    made = scene.traffic.new

    def new(n, chance):
        url = made(n, chance)
        size = int(re.search(r"size=(\d+)", url).group(1))
        return url.replace("/size=", "/abort=20000;size=") if size > 20000 else url
    scene.traffic.new = new


def own_pages(scene):
    """Every two seconds 40 clients ask for their own page at one URL, which may not be stored, of an origin that answers
    one request at a time, in 40 ms."""
    scene.origins[SLOW].more["serial"] = True
    scene.origins[SLOW].ms = 40
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    made, url = scene.traffic.requests, scene.origins[SLOW].url + "/size=8000;cc=private/inbox"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.0005, "GET", url, ["Cookie: user=%d" % n], 0, {}]
                         for second in range(2, seconds, 2) for n in range(40)], key=lambda request: request[0])


def no_hits_sent(scene):
    """An old line in squid.conf lets no hit of the third origin be sent.  The origins take 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.conf += "acl old dstdomain .o3.test\nsend_hit deny old\n"
    scene.traffic.repeats = 0.85


def pausing_bodies(scene):
    """Bodies of the third origin pause for three seconds, and read_timeout is two."""
    scene.conf += "read_timeout 2 seconds\n"
    words_of_third(scene, ";parts=2;gap=3000")


def late_ends(scene):
    """No reply has a length, and all origins close their connections 700 ms after the last byte."""
    reply = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + "x" * 500
    scene.traffic.words = lambda n: ";raw=" + urllib.parse.quote(reply, safe="")
    for origin in scene.origins:
        origin.more["linger"] = 0.7
    scene.traffic.headers = lambda n, chance: ["Connection: close"]


def kept_dns_failure(scene):
    """The name server fails for a second and a half, and Squid keeps that for seven seconds, as long as it keeps names."""
    scene.name_servers = [["127.7.7.53", 1, {"broken": [6.5, 8], "ttl": 7}]]
    scene.conf += "positive_dns_ttl 7 seconds\nnegative_dns_ttl 7 seconds\nserver_persistent_connections off\n"


def growing(scene):
    """The third origin is slower with each request, whatever else it does: 10 ms more each time."""
    scene.traffic.words = lambda n: ";hdr=%d" % (10 * (n // 5)) if n % 5 == SLOW else ""


def slow_news(scene):
    """Every two seconds 40 clients at once ask for one object, which takes 800 ms however many ask for it."""
    scene.origins[SLOW].ms = 800
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    made, url = scene.traffic.requests, scene.origins[SLOW].url + "/size=8000;cc=max-age=1/news"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.0005, "GET", url, [], 0, {}] for second in range(2, seconds, 2)
                         for n in range(40)], key=lambda request: request[0])


# ---- nothing wrong ----

def dead_links(scene):
    """One request in forty is for a page of an old site, which has none of them."""
    def dead(n, request):
        if n % 40 == 7:
            request[2] = "http://h%d.o5.test:8000/size=300;status=404;cc=no-store/old%d" % (5, n)
    scene.traffic.site = lambda n, chance: scene.origins[n % 4].url
    change(scene, dead)


def unauthorized(scene):
    """One request in forty is for a service that wants a password of programs that have none."""
    def wants(n, request):
        if n % 40 == 7:
            request[2] = scene.origins[4].url + "/size=300;status=401;cc=no-store/api%d" % n
    scene.traffic.site = lambda n, chance: scene.origins[n % 4].url
    change(scene, wants)


def few_ranges(scene):
    """One request in thirty is for a part of a film."""
    def part(n, request):
        if n % 30 == 7:
            request[2:4] = scene.origins[n % 5].url + "/size=100000;status=206/film", ["Range: bytes=0-99999"]
    change(scene, part)


def twins(scene):
    """Each new object is asked for by three clients at once."""
    together(scene, 3)


def new_filter(scene):
    """squid -k reconfigure, with a list of advertisers that denies one request in forty from then on."""
    path = scene.env.path("ads")

    def update(scene):
        with open(path, "w") as out:
            out.write(".none.test\n.ads.o1.test\n")
        scene.squid.reconfigure()
    with open(path, "w") as out:
        out.write(".none.test\n")
    scene.conf += "acl ads dstdomain \"%s\"\nhttp_access deny ads\n" % path
    scene.at(8, update)

    def banner(n, request):
        if n % 40 == 7:
            request[2] = "http://x.ads.o1.test:8000/size=900/b%d" % n
    change(scene, banner)


def old_server(scene):
    """Replies of the third origin have no length, and end when it closes the connection: at once, as in HTTP/1.0."""
    reply = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + "x" * 2000
    words_of_third(scene, ";raw=" + urllib.parse.quote(reply, safe=""))
    scene.traffic.headers = lambda n, chance: ["Connection: close"]
