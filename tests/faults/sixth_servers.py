# SPDX-License-Identifier: GPL-2.0-or-later
"""A sixth round of troubles: servers, parents and the cache.  reports.md has the reports; see trouble_dns.py."""

import subprocess

from more_cousins import change
from more_machine import iptables
from scene import Origin

SLOW = 2  # the third origin


def two_addresses(scene):
    """Half of what goes to servers leaves from 127.5.5.5, by chance."""
    scene.conf += "acl half random 0.5\ntcp_outgoing_address 127.5.5.5 half\ntcp_outgoing_address 127.5.5.6\n"


def banned_address(scene):
    """The same, and servers answer with 403 what comes from there, as if one site after another had banned it."""
    two_addresses(scene)
    for origin in scene.origins:
        origin.more["bans"] = "127.5.5.5"


def network_changed(scene):
    """In the eighth second a way to the servers changes: nothing comes through any more on connections that are open by
    then, and new ones are as before.  Until then forty clients at once ask for something every second."""
    scene.conf += "read_timeout 4 seconds\n"
    scene.traffic.options["timeout"] = 15
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.0005, "GET", scene.origins[n % 5].url + "/size=3000;cc=no-store/b%d-%d" % (second, n),
                          [], 0, {}] for second in range(2, 8) for n in range(40)], key=lambda request: request[0])

    def change_way(_):
        found = subprocess.run(["ss", "-Htn", "state", "established", "dport", "8000"], check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout
        for line in found.splitlines():
            iptables("-A", "INPUT", "-d", "127.0.1.0/24", "-p", "tcp", "--sport",
                     line.split()[2].rpartition(":")[2], "-j", "DROP")
    scene.at(8, change_way)


def expiring_page(scene, ms=250, serial=True):
    """A page that 60 clients a second ask for is fresh for six seconds.  Its server needs 250 ms for it, and serves one
    request at a time."""
    scene.origins[SLOW].ms = ms
    scene.origins[SLOW].more["serial"] = serial
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    scene.traffic.per_second = 30
    made, url = scene.traffic.requests, scene.origins[SLOW].url + "/size=8000;lm=1;cc=max-age=6/front"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[0.5 + n / 60, "GET", url, [], 0, {}] for n in range(60 * (seconds - 1))],
        key=lambda request: request[0])


def empty_unchanged(scene):
    """The third origin says 304 with Content-Length: 0 when Squid asks whether an object has changed."""
    scene.origins[SLOW].more["empty304"] = True
    scene.traffic.words = lambda n: ";lm=1;cc=max-age=2"
    scene.traffic.options["once"] = True
    scene.traffic.repeats = 0.85


def direct_first(scene, drop=True):
    """Squid may go direct, and prefers that to a parent.  A firewall drops what goes direct."""
    moon, servers = Origin(11), list(scene.origins)
    scene.conf += ("cache_peer %s parent %d 0 no-query no-digest no-netdb-exchange name=moon\nprefer_direct on\n"
                   "connect_timeout 2 seconds\n" % (moon.address, moon.port))
    scene.traffic.site = lambda n, chance: servers[n % 5].url
    scene.origins.append(moon)
    if drop:
        for origin in servers:
            scene.before.append(lambda _, address=origin.address: iptables("-A", "INPUT", "-d", address, "-j", "DROP"))


def missing_files(scene):
    """One request in four is for one of six files that the third origin does not have, which it says after 400 ms."""
    def missing(n, request):
        if n % 4 == 1:
            request[2] = scene.origins[SLOW].url + "/size=700;status=404;cc=-;hdr=390/dists/%d/InRelease" % (n // 4 % 6)
    change(scene, missing)


# ---- nothing wrong ----

def page_expires(scene):
    """The same as expiring_page, with a server that needs 5 ms and serves all at a time."""
    expiring_page(scene, 5, False)


def one_large(scene):
    """An object of 30 MB pushes smaller ones out of memory, of which there is 64 MB.  There is no disk."""
    scene.dirs = []
    scene.conf = scene.conf.replace("maximum_object_size_in_memory 512 KB", "maximum_object_size_in_memory 100 MB")
    scene.conf += "maximum_object_size 100 MB\n"
    scene.traffic.repeats = 0.85
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[9, "GET", scene.origins[SLOW].url + "/size=30000000/image", [], 0, {}]],
        key=lambda request: request[0])


def direct_works(scene):
    """The same as direct_first, without the firewall."""
    direct_first(scene, False)
