# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs without a fault.  See plant_servers.py."""

import subprocess
import sys

from lib.env import free_port
from lib.icapd import IcapServer
from lib.tls import Certificates
from trouble_squid import many_entries


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


def not_found(scene):
    """One answer in twenty is a 404."""
    scene.traffic.words = lambda n: ";status=404" if n % 20 == 7 else ""


def leave_early(scene):
    """One client in ten goes away after 1,000 bytes, and Squid gives up what nobody wants."""
    scene.conf += "quick_abort_min 0 KB\nquick_abort_max 0 KB\nread_ahead_gap 1 KB\n"
    for origin in scene.origins:
        origin.more["rate"] = 5000000
    scene.traffic.size = lambda chance: chance.randrange(2000, 100000)
    scene.traffic.more = lambda n: {"leave": 1000} if n % 10 == 3 else {}


def long_tunnels(scene):
    """Clients open tunnels that stay open for 15 s, beside other requests."""
    made, port = scene.traffic.requests, scene.origins[0].port

    def mixed(seconds):
        requests = made(seconds)
        for n, request in enumerate(requests):
            if n % 10 == 3:
                request[1:] = ["CONNECT", "o%d.test:%d" % (1 + n % 5, port), [], 0, {"hold": 15}]
        return requests
    scene.traffic.requests = mixed


def rotation(scene):
    """squid -k rotate, which takes 50 ms."""
    many_entries(scene, 420000)
    for when in (5, 12):
        scene.at(when, lambda scene: scene.squid.rotate())


def reconfiguration(scene):
    """squid -k reconfigure while nobody asks for anything."""
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [[due + (2 if due > 8 else 0)] + rest for due, *rest in made(seconds)]
    scene.at(9.2, lambda scene: scene.squid.reconfigure())


def night(scene):
    """A request every five seconds."""
    scene.traffic.per_second = 0.2
    scene.seconds = max(60, scene.seconds)


def busy_machine(scene):
    """Another program computes for a while, and Squid goes before it."""
    def begin(scene):
        loop = subprocess.Popen([sys.executable, "-c", "import os, time\nos.sched_setscheduler(0, os.SCHED_OTHER, "
                                 "os.sched_param(0))\nos.nice(10)\nend = time.time() + 8\n"
                                 "while time.time() < end:\n    pass"])
        scene.env.on_close(loop.wait)
        scene.env.on_close(loop.kill)
    for _ in range(2):
        scene.at(6, begin)


def large_objects(scene):
    """The third origin has only objects of 1 MB."""
    made = scene.traffic.new
    scene.traffic.new = lambda n, chance: (scene.origins[2].url + "/size=1000000/n%d" % n if n % 5 == 2
                                           else made(n, chance))
