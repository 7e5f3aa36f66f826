# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of Squid's own and of what it asks, planted without a look at what `findings` says.  See blind_servers.py."""

import base64
import fcntl
import os
import threading
import time

from blind_icap import ConsideringServer
from lib.helper import Helper
from plant_disks import from_disk, slow
from reported_services import clamav
from trouble_services import program
from trouble_tunnels import tunnels

DIRECTORIES = """
import sys, time
for line in sys.stdin:
    time.sleep(1.2 if line.startswith("machine") else 0.002)
    sys.stdout.write("OK\\n")
    sys.stdout.flush()
"""


def slow_directory(scene):
    """One request in twelve is of a machine that logs in for the first time, which the helper asks a directory of its own
    about: 1.2 s.  20 people are asked about again every two seconds, in 2 ms.  Six children."""
    scene.conf += """
auth_param basic program %s
auth_param basic children 6 startup=6 idle=1 queue-size=5000
auth_param basic realm e2e
auth_param basic credentialsttl 2 seconds
acl known proxy_auth REQUIRED
http_access deny !known
""" % program(scene, "directories", DIRECTORIES)
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        (b"machine%d:secret" % n) if n % 12 == 5 else b"u%d:secret" % (n % 20)).decode()]


def pipe_log(scene):
    """A second access_log is a pipe of 4 KB, whose reader pauses for two seconds of seven."""
    path = scene.env.path("pipe")
    os.mkfifo(path)
    os.chmod(path, 0o666)
    scene.conf += "access_log stdio:%s logformat=squid\n" % path
    reader = os.open(path, os.O_RDWR)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)

    def read():
        begin = time.monotonic()
        while os.read(reader, 4096):
            while 5 <= (time.monotonic() - begin) % 7:
                time.sleep(0.01)
    scene.meanwhile.append(lambda scene: threading.Thread(target=read, daemon=True).start())


def options_again(scene):
    """squid -k reconfigure every four seconds, and a service that takes 1.2 s for its options, which Squid then wants
    again."""
    clamav(scene, ConsideringServer(scene.env))
    for when in (4, 8, 12, 16):
        scene.at(when, lambda scene: scene.squid.reconfigure())


def writes_before_reads(scene):
    """Writes to one cache_dir take three seconds, so that all threads of aufs wait there, and the reads of both
    cache_dirs behind them."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    slow(scene, "write", "cache-aufs-two-", 3000)
    path = scene.environment["SLOWDISK_IF"] = scene.env.path("slow")

    def begin(scene):
        with open(path, "w"):
            os.chmod(path, 0o666)
        os.chmod(scene.env.folder, 0o777)
    scene.before.append(begin)
    scene.at(scene.seconds - 2, lambda _: os.unlink(path))


def held_tunnels(scene):
    """A delay pool of 120 KB/s for tunnels, which want 180 KB/s; one request in two is a plain one, which it does not
    hold."""
    scene.conf += """
acl tunnel method CONNECT
delay_pools 1
delay_class 1 1
delay_access 1 allow tunnel
delay_parameters 1 120000/120000
"""
    tunnels(scene, 6, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: {"inside": "/size=60000/t%d" % n, "whole": True}
    made = scene.traffic.requests

    def mixed(seconds):
        requests = made(seconds)
        for n, request in enumerate(requests):
            if n % 2:
                request[1:3] = "GET", "http://%s/size=8000/n%d" % (scene.origins[n % 5].server, n)
                request[5] = {}
        return requests
    scene.traffic.requests = mixed


def overloaded_acl(scene):
    """A helper of 60 ms has two children and a queue of four, for 60 requests a second: Squid denies those for which there
    is no room."""
    helper = Helper(scene.env, "acl", 60)
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=2 children-startup=2 queue-size=4 "
                   "%%URI %s\nacl staff external group\nhttp_access deny !staff\n" % helper.command)


def few_open_files(scene):
    """max_open_disk_fds is 5, and eight downloads keep a file open each: Squid stores nothing beside them.  It keeps nothing
    in memory.  Origins of 400 ms."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    scene.conf += "max_open_disk_fds 5\n"
    for origin in scene.origins:
        origin.ms = 400
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [
        [n / 10, "GET", scene.origins[n % 5].url + "/size=3000000;gap=200;parts=100/download%d" % n, [], 0, {}]
        for n in range(8)] + [[due + 1] + rest for due, *rest in made(seconds - 1)]
