# SPDX-License-Identifier: GPL-2.0-or-later
"""A third round of troubles: servers, parents and the cache.  reports.md has the reports; see trouble_dns.py."""

import urllib.parse

from more_cousins import change
from more_machine import iptables
from more_servers import third
from plant_servers import many_hosts, way
from scene import Origin
from trouble_services import program

SLOW = 2  # the third origin

OWN_IDS = """
import sys
for number, line in enumerate(sys.stdin):
    sys.stdout.write("OK store-id=http://cdn.internal/%d\\n" % number)
    sys.stdout.flush()
"""


def raw(reply):
    return ";raw=" + urllib.parse.quote(reply, safe="")


def two_lengths(scene):
    """The third origin sends two lengths with each reply, which do not agree."""
    third(scene, raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\nContent-Length: 600\r\n\r\n" + "x" * 600))


def own_ids(scene):
    """A Store-ID helper gives each request an ID of its own, so that nothing is ever found again.  Origins of 80 ms."""
    for origin in scene.origins:
        origin.ms = 80
    scene.conf += "store_id_program %s\nstore_id_children 1 startup=1\n" % program(scene, "ids", OWN_IDS)


def read_timeout(scene):
    """The third origin takes 4 s for a reply, and read_timeout is 2 s."""
    scene.conf += "read_timeout 2 seconds\n"
    scene.origins[SLOW].ms = 4000


def early_answer(scene):
    """The third origin closes its connection as soon as it has the header of an upload.  One request in three is one."""
    def upload(n, request):
        if n % 3 == 1:
            third_one = n % 15 in (1, 7)
            request[1:3] = "POST", scene.origins[SLOW if third_one else n % 2].url + "/size=100%s/p%d" % (
                ";unread=1" if third_one else "", n)
            request[4] = 200000
    change(scene, upload)


def limits_connections(scene):
    """The third origin takes three connections of a client, and resets each further one.  It takes 300 ms for a reply."""
    scene.origins[SLOW].ms = 300
    scene.traffic.repeats = 0.3
    address = scene.origins[SLOW].address
    scene.meanwhile.append(lambda _: iptables(
        "-A", "INPUT", "-d", address, "-p", "tcp", "--syn", "-m", "connlimit", "--connlimit-above", "3", "-j", "REJECT",
        "--reject-with", "tcp-reset"))


def carp_dead(scene):
    """One of three CARP parents is switched off after 4 s: nothing answers there any more."""
    parents = [Origin(n) for n in (11, 12, 13)]
    scene.origins += parents
    for parent, name in zip(parents, ("moon", "mars", "pluto")):
        scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange carp name=%s connect-timeout=2 "
                       "connect-fail-limit=1000\n" % (parent.address, parent.port, name))
    scene.conf += "never_direct allow all\nserver_persistent_connections off\n"
    scene.at(4, lambda _: iptables("-A", "INPUT", "-d", parents[1].address, "-p", "tcp", "--syn", "-j", "DROP"))


def servers_close(scene):
    """Servers that are 50 ms away, each way, close the connection after each reply."""
    way(scene, ms=50)
    scene.traffic.words = lambda n: ";close=1"


def with_authorization(scene):
    """Clients send credentials of a registry with each request, so that no reply may be stored.  Origins of 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.headers = lambda n, chance: ["Authorization: Bearer abcdef"]


def no_lifetime(scene):
    """No reply says how long it is fresh, or when it was made, as those of many applications.  Origins of 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.traffic.words = lambda n: ";cc=-"


def small_ipcache(scene):
    """Squid keeps the addresses of 8 hosts, and clients go to 60, whose names take 150 ms."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 150]]
    scene.conf += "ipcache_size 8\nserver_persistent_connections off\n"
    scene.traffic.site = lambda n, chance: "http://h%d.o%d.test:8000" % (chance.randrange(60), 1 + n % 5)
