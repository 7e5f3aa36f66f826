# SPDX-License-Identifier: GPL-2.0-or-later
"""A fifth round of troubles: servers and the cache.  reports.md has the reports; see trouble_dns.py."""

import subprocess

from more_cousins import change
from scene import Origin
from trouble_services import program
from trouble_squid import make_dirs

SLOW = 2  # the third origin

MIRRORS = """
import sys
for line in sys.stdin:
    url = line.split(" ")[0]
    found = ".o1.test" in url or ".o2.test" in url
    sys.stdout.write("OK store-id=http://mirrors.internal/%s\\n" % url.rsplit("/", 1)[1] if found else "ERR\\n")
    sys.stdout.flush()
"""


def no_ranges(scene, size=3000000, rate=1500000):
    """One request in ten is for the end of a file of 3 MB.  The third origin knows no ranges: it sends all of the file."""
    scene.origins[SLOW].more["rate"] = rate

    def end(n, request):
        if n % 10 == 3:
            which = n // 10 % 5
            words = "size=%d" % size if which == SLOW else "size=20000;status=206"
            request[2] = "%s/%s/film%d" % (scene.origins[which].url, words, n)
            request[3] = ["Range: bytes=%d-%d" % (size - 20000, size - 1)]
    change(scene, end)


def mute_address(scene):
    """One new host in five has two addresses.  At the first one something takes connections, and never answers."""
    mute = Origin(1, "127.0.2.%d")
    mute.more["silent"] = True
    scene.origins.append(mute)
    scene.far["two"] = [mute.address, scene.origins[SLOW].address]
    scene.conf += "read_timeout 3 seconds\n"
    scene.traffic.site = lambda n, chance: ("http://h%d.two.test:8000" % n if n % 5 == SLOW else scene.origins[n % 5].url)


def forbidden(scene):
    """A rule of this machine forbids Squid to connect to the third origin: connect() fails with EACCES."""
    scene.before.append(lambda _: subprocess.run(
        ["ip", "route", "replace", "prohibit", scene.origins[SLOW].address + "/32", "table", "local"], check=True))


def kept_redirects(scene):
    """The first origin redirects to the second, which has the same files.  A Store-ID helper has one ID for both, so that
    whoever follows gets the redirect again, of the cache.  Every fourth request is for one of them."""
    scene.conf += "store_id_program %s\nstore_id_children 8 startup=8\n" % program(scene, "mirrors", MIRRORS)
    scene.traffic.site = lambda n, chance: scene.origins[2 + n % 3].url
    made = scene.traffic.requests

    def follows(due, n):
        return [[due, "GET", "http://a.o1.test:8000/size=0;status=301/f%d" % n, [], 0, {}]] + [
            [due + 0.21 * again, "GET", "http://b.o2.test:8000/size=9000/f%d" % n, [], 0, {}] for again in (1, 2, 3)]
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [request for n in range(5 * (seconds - 2)) for request in follows(1 + n / 5, n)],
        key=lambda request: request[0])


def too_small(scene):
    """The only cache_dir takes what has 32 KB and more, and nothing stays in memory.  Origins of 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.dirs = []
    scene.conf += "cache_dir aufs {folder}/large 512 4 16 min-size=32768\ncache_mem 0 MB\nmemory_cache_mode disk\n"
    scene.before.append(make_dirs)
    scene.traffic.repeats = 0.85


# ---- nothing wrong ----

def small_ranges(scene):
    """The same as no_ranges, of files of 60 KB that come at once."""
    no_ranges(scene, 60000, 50000000)


def redirect_hits(scene):
    """One hit in five is a redirect of the first origin, which says for an hour that it has moved."""
    scene.traffic.site = lambda n, chance: scene.origins[1 + n % 4].url

    def moved(n, request):
        if n % 5 == 3:
            request[2] = scene.origins[0].url + "/size=0;status=301/page%d" % (n % 7)
    change(scene, moved)
