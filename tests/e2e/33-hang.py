# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace's disk hangs: Squid's main thread goes on, and no record is lost."""

import glob
import os
import subprocess
import threading
import time

from lib import dump, native, ring
from lib.client import Client
from lib.env import Skip, first, run, wait_for
from lib.origin import Origin
from lib.squid import Squid


class Watch:
    """Asks Squid for a cached object every 20 ms, on one connection, and notes when each answer came."""

    def __init__(self, squid, url):
        self.squid, self.url = squid, url
        self.answers, self.ending = [time.monotonic()], False
        self.thread = threading.Thread(target=self.body, daemon=True)
        self.thread.start()

    def body(self):
        while not self.ending:
            try:
                with Client(self.squid.client_address(), 30) as client:
                    while not self.ending:
                        client.request(self.url, "w")
                        self.answers.append(time.monotonic())
                        time.sleep(0.02)
            except Exception:  # Squid closes its listening sockets for a moment while it is reconfigured
                time.sleep(0.02)

    def longest(self, since):
        """Seconds of the longest time without an answer after that moment, up to now."""
        times = [since] + [t for t in self.answers if t > since] + [time.monotonic()]
        return max(b - a for a, b in zip(times, times[1:]))

    def stop(self):
        self.ending = True
        self.thread.join(30)


def reload_(env, squid, watch, trace, what):
    """Reconfigures.  Returns the longest time without an answer."""
    squid.trace = trace
    done = squid.log_text().count("Accepting HTTP Socket")
    begin = time.monotonic()
    squid.reconfigure()
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket") > done, 60, "the reconfiguration " + what)
    time.sleep(0.5)
    longest = watch.longest(begin)
    env.note("%s: %.3f s without an answer" % (what, longest))
    return longest


def rotate(env, squid, watch):
    """Rotates.  Returns the longest time without an answer."""
    since, done = time.monotonic(), squid.log_text().count("logfileRotate")
    squid.rotate()
    wait_for(lambda: squid.log_text().count("logfileRotate") > done, 60, "the rotation")
    time.sleep(1)
    longest = watch.longest(since)
    env.note("rotated: %.3f s without an answer" % longest)
    return longest


def check_whole(env, squid, heads):
    """Every record of each ring, once."""
    found = ring.numbers(squid.directory, squid.rings())
    for ring_id in heads:
        env.check(ring_id in found, "a ring's trace is nowhere")
    for entry in found.values():
        for problem in entry.problems():
            env.check(False, problem)
    rows = len(dump.Dump(env, squid.directory, "events").rows())
    env.equal(rows, sum(entry.head for entry in found.values()), "rows of events against heads")


def mount_hanging(env, directory, flag):
    """A file system at `directory` that answers nothing while `flag` is there."""
    env.need_root("mounts a file system")
    env.need_program("pkg-config")
    if not os.path.exists("/dev/fuse") or run(["pkg-config", "--exists", "fuse3"]).returncode:
        raise Skip("needs FUSE and libfuse3-dev")
    program, folder = env.path("hangfs"), env.path("behind")
    words = run(["pkg-config", "--cflags", "--libs", "fuse3"]).stdout.split()
    native.compile_(["-o", program, os.path.join(native.SOURCE, "hangfs.c")] + words)
    os.mkdir(folder)
    os.makedirs(directory)
    device = os.stat(directory).st_dev
    process = subprocess.Popen([program, directory, folder, flag])

    def end():
        if os.path.exists(flag):
            os.unlink(flag)
        run(["umount", "-l", directory])
        process.wait(20)
    env.on_close(end)
    wait_for(lambda: os.stat(directory).st_dev != device or process.poll() is not None, 10, "the file system")
    if process.poll() is not None:
        raise Skip("cannot mount with FUSE")
    return folder


def hang(env):
    """Removed, given again, rotated and shut down while write() hangs."""
    origin = Origin(env)
    flag = env.path("hang")
    squid = Squid(env, trace="", dns=origin.host, preload=native.preload(env, "hangwrite"), alone=True,
                  environment={"SQT_HANG": flag}, lines="cache_mem 16 MB\nacl again urlpath_regex ^/again/")
    squid.start()
    url = origin.url("o1")
    watch = Watch(squid, url)
    # What a reconfiguration takes anyway.
    usual = max(reload_(env, squid, watch, words, "a reconfiguration (%s)" % words) for words in ("", "keep=1GB"))
    before = ring.Ring(squid.rings()[0]).identity.ring_id
    begin = time.monotonic()
    open(flag, "w").close()
    time.sleep(1)
    took = {}
    took["without the directive"] = reload_(env, squid, watch, None, "without the directive")
    env.check("left the flusher behind" in squid.log_text(), "cache.log does not say that the flusher was left behind")
    env.check("traces left behind: 1" in squid.manager("sqtrace")[1], "mgr:sqtrace does not count what was left behind")
    took["with it again"] = reload_(env, squid, watch, "", "with it again")
    page = squid.manager("sqtrace")[1]
    env.check("state: tracing" in page, "the second trace did not begin: " + page)
    rings = squid.rings()
    env.equal(len(rings), 2, "rings")
    heads = {ring.Ring(path).identity.ring_id for path in rings}
    env.check(before in heads, "the first trace's ring is gone")
    took["rotated"] = rotate(env, squid, watch)
    for what, seconds in took.items():
        env.check(seconds < usual + 1, "%s: Squid did not answer for %.3f s; without a disk that hangs for %.3f s at most"
                  % (what, seconds, usual))
    if env.full:
        time.sleep(max(0, 60 - (time.monotonic() - begin)))
    watch.stop()
    since = time.monotonic()
    squid.signal(15)
    squid.process.wait(30)
    took["shut down"] = time.monotonic() - since
    env.note("shut down: %.3f s" % took["shut down"])
    env.equal(squid.process.returncode, 0, "Squid's exit status")
    squid.process = None
    env.check(took["shut down"] < 3, "the shutdown took %.3f s" % took["shut down"])
    os.unlink(flag)
    env.equal(len(squid.rings()), 2, "rings after the shutdown")
    squid.trace = ""
    squid.start()
    wait_for(lambda: not set(rings) & set(squid.rings()), 30, "the next start to adopt both rings")
    squid.stop()
    check_whole(env, squid, heads)


def over(env):
    """The hang is over before Squid ends: the flusher that was left behind writes the rest itself."""
    origin = Origin(env)
    flag = env.path("hang")
    squid = Squid(env, trace="", dns=origin.host, preload=native.preload(env, "hangwrite"), alone=True,
                  environment={"SQT_HANG": flag})
    squid.start()
    watch = Watch(squid, origin.url("o1"))
    time.sleep(0.5)
    open(flag, "w").close()
    time.sleep(0.5)
    reload_(env, squid, watch, None, "without the directive")
    reload_(env, squid, watch, "", "with it again")
    heads = {ring.Ring(path).identity.ring_id for path in squid.rings()}
    env.equal(len(heads), 2, "rings")
    os.unlink(flag)
    wait_for(lambda: "has written the rest" in squid.log_text(), 10, "the first flusher to end")
    watch.stop()
    squid.stop()
    env.equal(squid.rings(), [], "rings after the stop")
    check_whole(env, squid, heads)


def uninterruptible(env):
    """The same where the system calls sleep uninterruptibly: neither setresuid() nor the end of Squid waits for them."""
    origin = Origin(env)
    flag, directory = env.path("hang"), env.path("slow")
    folder = mount_hanging(env, directory, flag)
    squid = Squid(env, trace="", dns=origin.host, directory=directory)
    squid.give(folder)
    squid.start()
    watch = Watch(squid, origin.url("o1"))
    usual = max(reload_(env, squid, watch, words, "a reconfiguration (%s)" % words) for words in ("", "keep=1GB"))
    rings = squid.rings()
    heads = {ring.Ring(path).identity.ring_id for path in rings}
    open(flag, "w").close()
    time.sleep(1)
    hanging = [pid for pid in squid.processes() if status(pid)[0] == "sqtrace-disk"]
    env.equal(len(hanging), 1, "disk processes")
    begin = time.monotonic()
    took = {"rotated": rotate(env, squid, watch), "reconfigured": reload_(env, squid, watch, "", "reconfigured"),
            "without the directive": reload_(env, squid, watch, None, "without the directive"),
            "with it again": reload_(env, squid, watch, "", "with it again")}
    env.check("does not answer; tracing begins when it does" in squid.log_text(), "cache.log does not say that the "
              "directory does not answer")
    for what, seconds in took.items():
        env.check(seconds < usual + 1, "%s: Squid did not answer for %.3f s; without a disk that hangs for %.3f s at most"
                  % (what, seconds, usual))
    env.note("all four took %.1f s" % (time.monotonic() - begin))
    watch.stop()
    since = time.monotonic()
    squid.signal(15)
    squid.process.wait(60)
    env.note("shut down: %.3f s" % (time.monotonic() - since))
    env.check(time.monotonic() - since < 5, "the shutdown took %.3f s" % (time.monotonic() - since))
    squid.process = None
    env.equal([status(pid)[1] for pid in hanging], ["D"], "the disk process's state after Squid's end")
    os.unlink(flag)
    squid.trace = ""
    squid.start()
    wait_for(lambda: not set(rings) & set(squid.rings()), 30, "the next start to adopt the ring")
    squid.stop()
    check_whole(env, squid, heads)


# Each request of a file system that sqtrace makes, and one that only a start beside leftovers makes.
REQUESTS = "readdir getattr open create write rename unlink chmod truncate flush release read".split()


def one_call(env):
    """Only one kind of call hangs, in each moment: no thread of Squid makes one, so Squid goes on and ends."""
    origin = Origin(env)
    flag, directory = env.path("hang"), env.path("slow")
    folder = mount_hanging(env, directory, flag)
    squid = Squid(env, trace="", dns=origin.host, directory=directory)
    squid.give(folder)
    squid.start()
    watch = Watch(squid, origin.url("o1"))
    usual = max(reload_(env, squid, watch, words, "a reconfiguration") for words in (None, ""))
    for request in REQUESTS if env.full else REQUESTS[:3]:
        with open(flag, "w") as file:
            file.write(request)
        took = {"rotated": rotate(env, squid, watch),
                "without the directive": reload_(env, squid, watch, None, request + ": without the directive"),
                "with it again": reload_(env, squid, watch, "", request + ": with it again")}
        for what, seconds in took.items():
            env.check(seconds < usual + 1, "%s hangs, %s: Squid did not answer for %.3f s; otherwise for %.3f s at most"
                      % (request, what, seconds, usual))
        stuck = sleepers(squid)
        env.check(not stuck, "%s hangs: threads of Squid sleep uninterruptibly: %s" % (request, stuck))
        os.unlink(flag)
        wait_for(lambda: "state: tracing" in squid.manager("sqtrace")[1] and
                 "traces left behind: 0" in squid.manager("sqtrace")[1], 30, "the trace to begin after " + request)
    with open(flag, "w") as file:
        file.write("readdir")
    reload_(env, squid, watch, None, "without the directive")
    reload_(env, squid, watch, "", "with it again")
    watch.stop()
    since = time.monotonic()
    squid.signal(15)
    squid.process.wait(60)
    env.note("shut down: %.3f s" % (time.monotonic() - since))
    env.check(time.monotonic() - since < 5, "the shutdown took %.3f s" % (time.monotonic() - since))
    squid.process = None
    os.unlink(flag)


def sleepers(squid):
    """(process, thread) of each thread of Squid in an uninterruptible sleep; the disk process is none of them."""
    found = []
    for pid in squid.processes():
        if status(pid)[0] == "sqtrace-disk":
            continue
        for path in glob.glob("/proc/%d/task/[0-9]*/stat" % pid):
            try:
                with open(path) as file:
                    letter = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if letter == "D":
                found.append((pid, int(path.split("/")[4])))
    return found


def status(pid):
    """(name, letter of the state) of a process; empty if it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            return name, rest.split()[0]
    except OSError:
        return "", ""


TESTS = [
    ("a disk that hangs until Squid has ended", first(hang), 150),
    ("a disk that hangs for a while", first(over), 90),
    ("a disk that hangs uninterruptibly", first(uninterruptible), 150),
    ("one kind of call that hangs uninterruptibly", first(one_call), 150),
]
