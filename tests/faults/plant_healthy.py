# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs without a fault.  See plant_servers.py."""

from lib.env import free_port
from lib.icapd import IcapServer
from lib.tls import Certificates


def mixed(scene):
    """The scene as it is."""


def hits(scene):
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000/h%d" % n for n in range(20)]
    scene.traffic.repeats = 1


def misses(scene):
    scene.traffic.repeats = 0


def disk_hits(scene):
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\n"


def tls(scene):
    """TLS of clients, on kept connections."""
    certificates = Certificates(scene.env, "proxy")
    scene.port = free_port()
    scene.conf += "https_port 127.0.0.1:%d tls-cert=%s\n" % (scene.port, certificates.server)
    scene.traffic.options["tls"] = True


def smp(scene):
    scene.workers, scene.dirs = 2, []


def rock(scene):
    scene.dirs = ["rock"]
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\n"


def diskd(scene):
    """So many requests that diskd's answers are noticed soon."""
    scene.dirs = ["diskd"]
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\n"
    scene.traffic.per_second = 300
    scene.traffic.size = lambda chance: chance.randrange(500, 3500)


def icap(scene):
    """A service that takes 2 ms."""
    server = IcapServer(scene.env)
    scene.conf += server.enabled() + server.service("filter_wait2", "reqmod_precache", "bypass=0")
    scene.conf += "adaptation_access filter_wait2 allow all\n"


def uploads(scene):
    scene.traffic.method, scene.traffic.sends = "POST", 20000


def idle(scene):
    """Two requests a second."""
    scene.traffic.per_second = 2
