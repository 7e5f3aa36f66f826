# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of Squid's own: what it does that stops it, and what its machine does to it.  See trouble_dns.py."""

import os
import random
import struct
import subprocess
import sys
import time

from lib.env import Failure, Skip

MEMORY = "/sys/fs/cgroup/memory"


def make_dirs(scene):
    """squid -z, before Squid starts."""
    scene.squid.write_conf()
    subprocess.run(scene.squid.command("-z", scene.squid.mode), check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def many_entries(scene, entries):
    """So many objects in the index of one cache_dir when Squid starts."""
    scene.dirs, scene.dir_mb = ["aufs:one"], max(512, 4 * entries // 1000 * 4)

    def begin(scene):
        path = os.path.join(scene.cache_dir("aufs:one"), "swap.state")
        make_dirs(scene)
        write_swap_state(path, entries)
        scene.squid.give(path)
    scene.before.append(begin)


def large_rotation(scene):
    """squid -k rotate three times, with 4 million entries in the swap.state of one cache_dir.  Without a digest: to build that
    of so many entries stops Squid for longer than a rotation."""
    scene.conf += "digest_generation off\n"
    many_entries(scene, 4000000)
    for when in (6, 11, 16):
        scene.at(when, lambda scene: scene.squid.rotate())


def checksum(*words):
    """SwapChecksum24 of 32-bit numbers."""
    total = sum(words)
    while total >> 24:
        total = (total & 0xFFFFFF) + (total >> 24)
    return (~total & 0xFFFFFF).to_bytes(3, "little")


def write_swap_state(path, entries):
    """Entries of 1,000 bytes, all of files that are not there, as Squid's ufs writes them."""
    now, chance, size = int(time.time()), random.Random(1), 1000
    with open(path, "wb") as out:
        out.write(struct.pack("<B3sii60x", 3, checksum(2, 72), 2, 72))
        entry = struct.Struct("<B3siqqqqQHH16s4x")
        for number in range(entries):
            out.write(entry.pack(1, checksum(number, size), number, now, now, now + 36000, -1, size, 1, 0,
                                 chance.randbytes(16)))


def reconfigures(scene):
    """squid -k reconfigure every 12 s, with 300,000 names in an ACL."""
    path, chance = scene.env.path("ut1"), random.Random(1)
    with open(path, "w") as out:
        for _ in range(300000):
            out.write(".%s.%s\n" % ("".join(chance.choices("abcdefghijklmnop", k=10)),
                                    "".join(chance.choices("abcdefghij", k=3))))
    scene.conf += "acl ut1 dstdomain \"%s\"\nhttp_access deny ut1\n" % path
    scene.traffic.options["once"] = True
    scene.seconds = max(scene.seconds, 36)
    for when in (6, 18, 30):
        scene.at(when, lambda scene: scene.squid.reconfigure())


def debugging(scene):
    """debug_options ALL,9, and 30 clients that ask without a pause beside those of the scene: however quick the machine is,
    what Squid writes takes most of its time."""
    scene.conf += "debug_options ALL,9\n"
    scene.traffic.options["crowd"] = [30, scene.seconds, [
        "http://%s/size=8000/page%d" % (scene.origins[n % 5].server, n) for n in range(50)]]


def swapping(scene):
    """From the sixth second on Squid may have an eighth of the memory that it has, and the rest is swapped to a file."""
    group, swap = os.path.join(MEMORY, "sqtrace-fault-%d" % os.getpid()), scene.env.path("swap")
    if not os.path.exists(os.path.join(MEMORY, "memory.limit_in_bytes")):
        raise Skip("needs the control groups at " + MEMORY)

    def tell(folder, name, value):
        with open(os.path.join(folder, name), "w") as out:
            out.write(str(value))

    def begin(scene):
        for words in (["fallocate", "-l", "512M", swap], ["chmod", "600", swap], ["mkswap", "-q", swap]):
            subprocess.run(words, check=True)
        if subprocess.run(["swapon", swap], check=False).returncode:
            raise Skip("may not swap to a file")
        scene.env.on_close(lambda: subprocess.run(["swapoff", swap], check=True))
        os.mkdir(group)
        scene.env.on_close(lambda: os.rmdir(group))
        tell(group, "cgroup.procs", os.getpid())  # what Squid has from its start on counts

    def limit(scene):
        with open(os.path.join(group, "memory.usage_in_bytes")) as file:
            rest = int(file.read()) // 8
        for _ in range(20):  # it may take some tries until so much is swapped
            try:
                return tell(group, "memory.limit_in_bytes", rest)
            except OSError:
                time.sleep(0.1)
        raise Failure("Squid's memory could not be limited")
    scene.before.append(begin)
    scene.meanwhile.append(lambda scene: tell(MEMORY, "cgroup.procs", os.getpid()))
    scene.dirs = []  # what the kernel keeps of files would go first
    scene.conf += "cache_mem 200 MB\n"
    scene.traffic.first = [scene.origins[n % 5].url + "/size=300000/h%d" % n for n in range(200)]
    scene.traffic.repeats = 1
    scene.at(6, limit)


def busy_acl(scene):
    """A list of 60,000 regular expressions takes most of the time that there is: 60 clients ask without a pause, each
    time on a new connection, beside those of the scene."""
    path, chance = scene.env.path("badurls"), random.Random(1)
    with open(path, "w") as out:
        for _ in range(60000):
            out.write("[a-z.]+%s[0-9]+.*%s$\n" % tuple("".join(chance.choices("abcdefghijklmnop", k=8)) for _ in "ab"))
    scene.conf += "acl badurls urlpath_regex \"%s\"\nhttp_access deny badurls\n" % path
    scene.traffic.options["once"] = True
    scene.traffic.per_second = 20
    scene.traffic.options["crowd"] = [60, scene.seconds, [
        "http://%s/size=8000/some.path.of.a.site.with.pictures/page%d" % (scene.origins[n % 5].server, n)
        for n in range(50)]]


def busy_neighbour(scene):
    """Eight loops of equal weight on Squid's processor, which leave it less than it needs."""
    scene.goes_first = False
    scene.traffic.per_second = 450
    scene.traffic.options["once"] = True

    def begin(scene):
        pid = scene.squid.process.pid
        for task in os.listdir("/proc/%d/task" % pid):
            os.sched_setaffinity(int(task), {0})
        for _ in range(8):
            loop = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
            scene.env.on_close(loop.wait)
            scene.env.on_close(loop.kill)
    scene.meanwhile.append(begin)
