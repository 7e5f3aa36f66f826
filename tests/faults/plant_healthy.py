# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs without a fault.  See plant_servers.py."""


def mixed(scene):
    """The scene as it is."""


def hits(scene):
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000/h%d" % n for n in range(20)]
    scene.traffic.repeats = 1


def misses(scene):
    scene.traffic.repeats = 0


def disk_hits(scene):
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\n"


def idle(scene):
    """Two requests a second."""
    scene.traffic.per_second = 2
