# SPDX-License-Identifier: GPL-2.0-or-later
"""total= and reserve= hold at every moment of what would be weeks: three kids write many times what a small disk holds."""

import os
import re
import signal
import subprocess
import threading
import time

from lib import dump, native
from lib.small_disk import small_tmpfs

MB = 1 << 20
DISK, TOTAL, RESERVE, SEGMENT = 64, 16, 12, 1  # MB
# A block has at most 65,536 records of some 8 bytes each, uncompressed.
BLOCK = 65536 * 9
GRACE_S = 2  # after somebody else took room: a flusher looks at its disk some times a second
NAME = re.compile(r"e2e\.(\d+)\.(\w+)\.(\w+)\.(\d+)\.sqt$")


class Kid:
    def __init__(self, env, program, kid, directory, words):
        counters = env.path("counters.%d" % kid)
        with open(counters, "wb") as file:
            file.write(b"\0" * 4096)
        self.start = lambda: subprocess.Popen(
            [program, counters, "400", "1500", "0", directory, "events=client", *words], stdout=subprocess.PIPE,
            stderr=open(env.path("kid.%d.err" % kid), "a"), env=dict(os.environ, WRITER_KID=str(kid)))
        self.process = None
        self.run()
        env.on_close(lambda: self.process.kill())

    def run(self):
        self.process = self.start()
        assert self.process.stdout.readline() == b"started\n"

    def kill(self):
        self.process.kill()
        self.process.wait(10)


class Watch(threading.Thread):
    """Looks at the directory again and again: its size, what is free, and in which order segments go."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.ending = directory, False
        self.most, self.least, self.looks, self.gone = 0, 1 << 60, 0, []
        self.first = {}   # {(kid, run): the moment when it was seen first}
        self.there = set()
        self.excused = 0  # until then others took room

    def look(self):
        size, now = 0, set()
        for entry in os.scandir(self.directory):
            match = NAME.match(entry.name)
            if match:
                try:
                    size += entry.stat().st_blocks * 512
                except FileNotFoundError:
                    continue
                kid, began, random, sequence = match.groups()
                self.first.setdefault((kid, began + random), len(self.first))
                now.add((kid, self.first[kid, began + random], int(sequence)))
        of = os.statvfs(self.directory)
        return size, of.f_bavail * of.f_frsize, now

    def run(self):
        while not self.ending:
            size, free, now = self.look()
            self.looks += 1
            self.most = max(self.most, size)
            if time.monotonic() > self.excused:
                self.least = min(self.least, free)
            for old in self.there - now:
                older = [other for other in now if other[0] == old[0] and other[1:] < old[1:]]
                self.gone.append((old, older))
            self.there = now
            time.sleep(0.01)


def give_wrong_times(directory):
    """Of each kid's segments a third are of 1970 and a third of 2040, as after a clock that was wrong."""
    for name in sorted(filter(NAME.match, os.listdir(directory))):
        sequence = int(NAME.match(name).group(4))
        if sequence % 3:
            wrong = (0, 2208988800, 1000)[sequence % 3]
            try:
                os.utime(os.path.join(directory, name), (wrong, wrong))
            except FileNotFoundError:
                pass


def weeks(env):
    directory = env.path("small")
    small_tmpfs(env, directory, "%dM" % DISK)
    program = native.writer(env)
    words = ["ring=4MB", "segment=%dMB" % SEGMENT, "total=%dMB" % TOTAL, "reserve=%dMB" % RESERVE, "compress=off"]
    kids = [Kid(env, program, number, directory, words) for number in (1, 2, 3)]
    watch = Watch(directory)
    watch.start()
    seconds = 60 if env.full else 6
    time.sleep(seconds)
    full = watch.most
    # Somebody else takes so much that only the reserve bounds the trace.
    watch.excused = time.monotonic() + GRACE_S
    with open(os.path.join(directory, "somebody"), "wb") as file:
        file.write(b"x" * (DISK - RESERVE - TOTAL // 2) * MB)
    time.sleep(GRACE_S + seconds / 2)
    size, free, _ = watch.look()
    env.note("beside somebody else: %.1f MB, %.1f MB are free" % (size / MB, free / MB))
    env.check(size < (TOTAL // 2) * MB + 3 * BLOCK, "beside somebody else the trace has %.1f MB" % (size / MB))
    os.unlink(os.path.join(directory, "somebody"))
    time.sleep(seconds / 2)
    kids[1].kill()
    give_wrong_times(directory)
    kids[1].run()
    time.sleep(seconds)
    for kid in kids:
        kid.process.send_signal(signal.SIGTERM)
    for kid in kids:
        env.equal(kid.process.wait(20), 0, "status of a kid")
    watch.ending = True
    watch.join()

    env.note("%d looks, at most %.2f MB, at least %.2f MB free, %d segments went" % (
        watch.looks, watch.most / MB, watch.least / MB, len(watch.gone)))
    env.check(full > 0.7 * TOTAL * MB, "the limit was never met: %.1f MB" % (full / MB))
    env.check(watch.most <= TOTAL * MB + 3 * BLOCK, "the trace had %.2f MB with total=%dMB" % (watch.most / MB, TOTAL))
    env.check(watch.least >= RESERVE * MB - 3 * BLOCK, "only %.2f MB were free with reserve=%dMB" % (watch.least / MB, RESERVE))
    env.check(len(watch.gone) > 2 * TOTAL, "only %d segments went" % len(watch.gone))
    wrong = [(old, older[:3]) for old, older in watch.gone if older]
    env.equal(wrong[:3], [], "segments that went before older ones of their kid")
    for row in dump.table(env, directory, "losses"):
        env.check("damage" not in row["reason"], "what is left is damaged: %s" % row)


def forgotten(env):
    """An installation without limits: a tenth of its file system, as the manual says."""
    directory = env.path("small")
    small_tmpfs(env, directory, "%dM" % DISK)
    kid = Kid(env, native.writer(env), 1, directory, ["compress=off"])
    watch = Watch(directory)
    watch.start()
    time.sleep(30 if env.full else 6)
    kid.process.send_signal(signal.SIGTERM)
    env.equal(kid.process.wait(20), 0, "status")
    watch.ending = True
    watch.join()
    env.note("at most %.2f MB of %d MB, %d segments went" % (watch.most / MB, DISK, len(watch.gone)))
    env.check(watch.gone, "no segment went")
    env.check(0.04 * DISK * MB < watch.most <= 0.1 * DISK * MB + BLOCK, "the trace had %.2f MB" % (watch.most / MB))


TESTS = [
    ("limits: what would be weeks", weeks, 400),
    ("limits: an installation that is forgotten", forgotten, 120),
]
