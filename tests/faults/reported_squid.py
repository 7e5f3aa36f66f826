# SPDX-License-Identifier: GPL-2.0-or-later
"""Reported troubles of Squid's own processes, cache_dirs and logs.  reports.md has the reports; see trouble_dns.py."""

import glob
import os
import random
import signal
import time

from lib.small_disk import small_tmpfs
from plant_disks import from_disk


def names(scene, count):
    """A file of so many domains."""
    path, chance = scene.env.path("ut1"), random.Random(1)
    with open(path, "w") as out:
        for _ in range(count):
            out.write(".%s.%s\n" % ("".join(chance.choices("abcdefghijklmnop", k=10)),
                                    "".join(chance.choices("abcdefghij", k=3))))
    return path


def large_list_at_start(scene):
    """A restart, with a million domains in an ACL."""
    scene.conf += "acl ut1 dstdomain \"%s\"\nhttp_access deny ut1\n" % names(scene, 1000000)
    scene.traffic.options["once"] = True

    def restart(scene):
        scene.squid.signal(signal.SIGTERM)
        scene.squid.process.wait(60)
        scene.squid.start()
    scene.at(8, restart)


def bungled(scene):
    """squid -k reconfigure with a mistake in squid.conf.  Squid is started again 5 s later, without it."""
    scene.traffic.options["once"] = True

    def reconfigure(scene):
        right = scene.squid.lines
        scene.squid.lines += "acl ut1 dstdomains .test\n"
        scene.squid.reconfigure()
        scene.squid.process.wait(30)
        time.sleep(5)
        scene.squid.lines = right
        scene.squid.start()
    scene.at(8, reconfigure)


def crash(scene):
    """Squid is killed by a signal, and started again 4 s later."""
    scene.traffic.options["once"] = True

    def kill(scene):
        scene.squid.signal(signal.SIGSEGV)
        scene.squid.process.wait(30)
        time.sleep(4)
        leftover = os.path.join(scene.squid.folder, "squid.pid")
        if os.path.exists(leftover):
            os.unlink(leftover)
        scene.squid.start()
    scene.at(8, kill)


def full_log(scene):
    """The file system of access.log is full after some seconds."""
    path = scene.env.path("logs")
    small_tmpfs(scene.env, path, "60k", "0777")
    scene.conf += "access_log stdio:%s/full.log\n" % path
    scene.traffic.options["once"] = True


def lost_files(scene):
    """Somebody removes the files of one cache_dir."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    scene.traffic.repeats = 0.8
    for origin in scene.origins:
        origin.ms = 60

    def remove(scene):
        for path in glob.glob(os.path.join(scene.cache_dir("aufs:two"), "??", "??", "*")):
            os.unlink(path)
    for when in (4, 6, 8, 10, 12, 14, 16, 18):
        scene.at(when, remove)


def around(scene):
    """350 objects of 20 KB, one after the other, again and again."""
    made = scene.traffic.requests

    def requests(seconds):
        found = made(seconds)
        for n, request in enumerate(found):
            request[2] = scene.origins[n % 5].url + "/size=20000/r%d" % (n % 350)
        return found
    scene.traffic.requests = requests


def small_cache(scene):
    """Objects come again when the cache_dir has no room for them any more."""
    scene.dirs, scene.dir_mb = ["aufs:one"], 6
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\ncache_swap_low 80\ncache_swap_high 85\n"
    for origin in scene.origins:
        origin.ms = 60
    around(scene)


def dead_disker(scene):
    """The disker of a rock cache_dir stops for four seconds, twice."""
    scene.workers, scene.dirs = 2, ["rock"]
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\nmemory_cache_shared off\n"
    scene.traffic.repeats = 0.8

    def stop(scene):
        pids = scene.squid.disker_pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(4)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    for when in (5, 13):
        scene.at(when, stop)
