# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of Squid's own time: it computes, is blocked, or does not run.  See plant_servers.py."""

import os
import random
import subprocess
import sys

from lib.env import Skip, free_port

GROUPS = "/sys/fs/cgroup/cpu"


def regexes(scene):
    """An ACL of 60,000 regular expressions."""
    path, chance = scene.env.path("regexes"), random.Random(1)
    with open(path, "w") as out:
        for _ in range(60000):
            out.write("[a-z.]+%s[0-9]+.*%s$\n" % tuple("".join(chance.choices("abcdefghijklmnop", k=8)) for _ in "ab"))
    scene.conf += "acl long_list urlpath_regex \"%s\"\nhttp_access deny long_list\n" % path
    return ".*long_list.*"


def log_writes(scene):
    """Each line of access.log takes 12 ms."""
    scene.preload.append("slowdisk")
    scene.environment.update(SLOWDISK_PATH="access-", SLOWDISK_CALL="write", SLOWDISK_MS="12")
    return ".*write to a log"


def tasks(scene):
    """Squid's main thread and flusher, and all the others."""
    pid = scene.squid.process.pid
    return [int(name) for name in os.listdir("/proc/%d/task" % pid)]


def quota(scene):
    """A control group gives Squid 4 ms of each 100 ms."""
    scene.goes_first = False
    group = os.path.join(GROUPS, "sqtrace-fault-%d" % os.getpid())

    if not os.path.isdir(GROUPS):
        raise Skip("needs the control groups at " + GROUPS)

    def begin(scene):
        os.mkdir(group)
        scene.env.on_close(lambda: os.rmdir(group))
        for name, value in (("cpu.cfs_period_us", 100000), ("cpu.cfs_quota_us", 4000)):
            with open(os.path.join(group, name), "w") as out:
                out.write(str(value))
        with open(os.path.join(group, "cgroup.procs"), "w") as out:
            out.write(str(scene.squid.process.pid))
    scene.meanwhile.append(begin)
    return "throttled.*|its control group.*"


def busy_core(scene):
    """Squid shares a processor with eight loops of equal weight."""
    scene.goes_first = False

    def begin(scene):
        for task in tasks(scene):
            os.sched_setaffinity(task, {0})
        for _ in range(8):
            loop = subprocess.Popen(["taskset", "-c", "0", sys.executable, "-c", "while True: pass"])
            scene.env.on_close(loop.wait)
            scene.env.on_close(loop.kill)
    scene.meanwhile.append(begin)
    return ".*processor.*"


def one_worker(scene):
    """Two workers, one of which has a port of its own: all clients use that one, 30 of them without a pause."""
    scene.goes_first, scene.workers, scene.port = False, 2, free_port()
    scene.conf += "if ${process_number} = 1\nhttp_port 127.0.0.1:%d\nendif\n" % scene.port

    def begin(scene):
        urls = scene.env.path("urls")
        with open(urls, "w") as out:
            out.write("".join("http://%s/size=8000/w%d\n" % (scene.origins[n % 5].server, n) for n in range(50)))
        load = subprocess.Popen([scene.env.tool("sqtrace-load"), "--quiet", "--proxy=127.0.0.1:%d" % scene.port,
                                 "--urls=" + urls, "--clients=30", "--requests=0", "--duration=%d" % scene.seconds,
                                 "--output=" + scene.env.path("busy.tsv")])
        scene.env.on_close(load.wait)
        scene.env.on_close(load.kill)
    scene.meanwhile.append(begin)
    return "worker 1"
