# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of cache_dirs.  See plant_servers.py."""

import re

NO_MEMORY = "cache_mem 0 MB\nmemory_cache_mode disk\n"


def from_disk(scene, kinds, sizes=(500, 3500)):
    """Hits are read from cache_dirs of these types; objects of the default sizes take one read."""
    scene.dirs = kinds
    scene.conf += NO_MEMORY
    scene.traffic.size = lambda chance: chance.randrange(*sizes)


def slow(scene, call, path, milliseconds):
    scene.preload.append("slowdisk")
    scene.environment.update(SLOWDISK_PATH=path, SLOWDISK_CALL=call, SLOWDISK_MS=str(milliseconds))


def named(kind, which=""):
    """A cache_dir as findings name it."""
    return "%s:\\d+ .*/cache-%s-\\d+" % (kind, re.escape("%s-%s" % (kind, which) if which else kind))


def blocked(call, number):
    """A disk call of the main thread as findings name it."""
    return "%s on cache_dir %d \\(ufs\\)" % (call, number)


def aufs_reads(scene):
    from_disk(scene, ["aufs:one", "aufs:two"])
    slow(scene, "read", "cache-aufs-two-", 80)
    return named("aufs", "two")


def ufs_reads(scene):
    from_disk(scene, ["ufs:one", "ufs:two"])
    slow(scene, "read", "cache-ufs-two-", 40)
    return blocked("read", 1) + "|" + named("ufs", "two")


def aufs_threads(scene):
    """One thread for all cache_dirs, and reads of 32 ms."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    scene.preload.append("fewthreads")
    slow(scene, "read", "cache-aufs-", 32)
    return named("aufs", "(one|two)").replace("\\(", "(").replace("\\|", "|").replace("\\)", ")")


def diskd_poll(scene):
    from_disk(scene, ["diskd"], (20000, 30000))
    return named("diskd")


def small_memory(scene):
    """Disks of 5 ms, and memory for a seventh of the objects."""
    slow(scene, "read", "cache-aufs-", 5)
    scene.conf += "cache_mem 1 MB\n"


def unlinks(scene):
    """Two of three requests replace an object, whose file goes: more than unlinkd can do in 80 ms each, so that Squid
    waits for it, up to 100 ms a file, once 20 are due."""
    from_disk(scene, ["ufs:one", "ufs:two"])
    slow(scene, "unlink", "cache-ufs-", 80)
    scene.traffic.headers = lambda n, chance: ["Cache-Control: no-cache"] if n % 3 else []
    return "unlink on cache_dir [01] \\(ufs\\)"


def swap_outs(scene):
    """Large misses, and writes of 4 ms to one cache_dir."""
    from_disk(scene, ["ufs:one", "ufs:two"], (40000, 80000))
    slow(scene, "write", "cache-ufs-two-", 4)
    return blocked("write", 1)
