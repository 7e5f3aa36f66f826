#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hostile_rings.py - rings and segments of somebody who wants to harm their readers, and every program over each.

They are sparse, announce gigabytes, get shorter or longer while they are read, and belong to another user if root runs the
test.  A program may refuse them.  It must not end by a signal, take long, take much memory or write much, reading a ring must
not give it pages of the tmpfs that it did not have, and the exporter answers meanwhile.  SQT_HOSTILE_LONG=1 is the long form:
all of them on a disk, too.
"""

import fcntl
import http.client
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from programs import LIMIT, MEBIBYTES, SECONDS, SECONDS_OF_RECORD, SOURCE, TOOLS, records_of  # noqa: E402
from sanitized import SANITIZED  # noqa: E402
from told import check, plan  # noqa: E402

GOLDEN = os.path.join(SOURCE, "tests/golden")
LONG = "SQT_HOSTILE_LONG" in os.environ
WRITTEN = 16 << 20
FOLLOWS = 3 if SANITIZED else 1.2  # seconds that a program which follows is watched
ANSWERS = 30 if SANITIZED else 3  # seconds within which the exporter answers, beside all others
NOBODY = 65534
MB, GB = 1 << 20, 1 << 30

# Offsets in a ring's header: sqtrace(5).
COMPATIBLE, CAPACITY, TEXT, TEXT_SIZE, RECORDS, HEAD, TEXT_USED, TAIL = 16, 24, 32, 40, 48, 1024, 1064, 2048
RING_HEADER = 4096
LOCKED = 1  # of COMPATIBLE: it lives while its owner locks it


def ring(path, size=None, edits=()):
    """A good ring, with other words in its header and another size of the file."""
    shutil.copyfile(os.path.join(GOLDEN, "died.ring"), path)
    with open(path, "r+b") as file:
        for offset, value in edits:
            os.pwrite(file.fileno(), struct.pack("<Q", value), offset)
        if size:
            file.truncate(size)


def large_text(path):
    ring(path, 3 * GB, [(TEXT_SIZE, GB), (TEXT_USED, GB), (TEXT, 2 * MB)])


def large_capacity(path, size):
    ring(path, size + 4 * MB, [(CAPACITY, size // 32), (RECORDS, 2 * MB), (HEAD, size // 32), (TAIL, 0)])


def text_in_a_hole(path):
    ring(path, 4 * MB, [(TEXT, 2 * MB), (TEXT_USED, 8192)])


def segment(path, size):
    shutil.copyfile(os.path.join(GOLDEN, "good.sqt"), path)
    os.truncate(path, size)


def frames(path, size):
    """Frames of 8 MB whose checksums are right, and which are holes."""
    most = 8 * MB
    shutil.copyfile(os.path.join(GOLDEN, "good.sqt"), path)
    head = struct.pack("<IHHI", 0x46545153, 77, 0, most)
    crc = zlib.crc32(bytes(most), zlib.crc32(head + bytes(4)))
    at = os.path.getsize(path)
    with open(path, "r+b") as file:
        while at < size:
            os.pwrite(file.fileno(), head + struct.pack("<I", crc), at)
            at += 16 + most
        file.truncate(at)


# name, file, what makes it, what dump says of it ("": it reads it)
KINDS = [
    ("a text area of 1 GB", "a.ring", large_text, "damaged ring"),
    ("records of 4 GB in a hole", "a.ring", lambda path: large_capacity(path, 4 * GB), "hole"),
    ("records of 16 GB", "a.ring", lambda path: large_capacity(path, 16 * GB), "damaged ring: the capacity"),
    ("text in a hole", "a.ring", text_in_a_hole, "hole"),
    ("a good ring of 16 GB", "a.ring", lambda path: ring(path, 16 * GB), ""),
    ("a segment with a hole of 4 GB behind it", "a.sqt", lambda path: segment(path, 4 * GB), ""),
    ("a segment with a hole of 16 GB behind it", "a.sqt", lambda path: segment(path, 16 * GB), ""),
    ("4 GB of frames in holes", "a.sqt", lambda path: frames(path, 4 * GB), ""),
]


def programs(trace, out):
    """(name, words, whether it follows)"""
    def tool(name):
        return os.path.join(TOOLS, "sqtrace-" + name)
    file = os.path.join(trace, os.listdir(trace)[0])
    return [
        ("dump", [tool("dump"), file, "--table=events"], False),
        ("dump of the directory", [tool("dump"), trace], False),
        ("dump --table=whatif", [tool("dump"), trace, "--table=whatif"], False),
        ("dump --table=whatif_minutes", [tool("dump"), trace, "--table=whatif_minutes"], False),
        ("dump --format=json", [tool("dump"), file, "--format=json"], False),
        ("dump --follow", [tool("dump"), trace, "--follow", "--table=events"], True),
        ("top --once", [tool("top"), trace, "--once"], False),
        ("exporter", [tool("exporter"), trace, "--listen=127.0.0.1:0"], True),
        ("ship", [tool("ship"), trace, "--to=" + os.path.join(out, "ship"), "--make-folder"], False),
        ("snapshot --last", [tool("snapshot"), trace, "--to=" + os.path.join(out, "last"), "--last=1h", "--total=10MB"], False),
        ("snapshot --when", [tool("snapshot"), trace, "--to=" + os.path.join(out, "when"), "--when=lost"], True),
        ("report", [tool("report"), trace, "-o", os.path.join(out, "report"), "--data=" + os.path.join(SOURCE, "tools")], False),
    ]


class Run:
    def __init__(self, name, words, follows, out):
        self.name, self.follows, self.stopped = name, follows, False
        self.output = tempfile.TemporaryFile(dir=out)
        environment = dict(os.environ, PATH="/nonexistent")  # a report draws no picture
        self.process = subprocess.Popen(words, stdout=self.output, stderr=self.output, env=environment, stdin=subprocess.DEVNULL)

    def asks(self, within):
        """What is wrong with how it serves."""
        deadline, said = time.monotonic() + within, None
        while not said and time.monotonic() < deadline:
            said = re.search(rb"serves http://[^ ]*:(\d+)/metrics", os.pread(self.output.fileno(), MB, 0))
            time.sleep(0.01)
        try:
            peer = http.client.HTTPConnection("127.0.0.1", int(said.group(1)), timeout=max(deadline - time.monotonic(), 0.1))
            peer.request("GET", "/healthz")
            peer.getresponse().read()
        except (AttributeError, OSError, http.client.HTTPException) as error:
            return ["%s: /healthz is not answered within %d s: %r" % (self.name, within, error)]
        return []

    def stop(self):
        self.stopped = True
        os.kill(self.process.pid, signal.SIGINT)  # it was not waited for

    def end(self, deadline, allowed):
        """What is wrong with it; allowed: seconds of processor time."""
        while True:
            pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                self.process.kill()
                self.process.wait()
                return ["%s: still runs" % self.name]
            time.sleep(0.01)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.output.seek(0)
        self.text = self.output.read(MB).decode(errors="replace")
        seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        problems = []
        if self.process.returncode not in (0, 1, 3) and not (self.stopped and self.process.returncode in (-signal.SIGINT, 130)):
            problems.append("%s: status %d: %s" % (self.name, self.process.returncode, self.text[-300:]))
        if seconds > allowed:
            problems.append("%s: took %.1f s of processor time, and not %.1f" % (self.name, seconds, allowed))
        if memory > MEBIBYTES and not SANITIZED:
            problems.append("%s: took %d MiB" % (self.name, memory))
        return problems


def place_name(folder):
    return "in shared memory" if folder.startswith("/dev/shm/") else "on a disk"


def written(folder):
    """Bytes on the disk."""
    return sum(os.lstat(os.path.join(where, name)).st_blocks * 512 for where, _, names in os.walk(folder) for name in names)


def run_all(trace, out, records=0):
    """Every program at once, over a trace of so many records.  Returns what is wrong, and what dump said."""
    runs = [Run(*one, out) for one in programs(trace, out)]
    problems = [problem for run in runs if run.name == "exporter" for problem in run.asks(ANSWERS)]
    time.sleep(FOLLOWS)
    problems += [problem for run in runs if run.name == "exporter" for problem in run.asks(ANSWERS)]
    for run in runs:
        if run.follows:
            run.stop()
    allowed = LIMIT if SANITIZED else SECONDS + SECONDS_OF_RECORD * records
    deadline = time.monotonic() + 30 + allowed
    problems += [problem for run in runs for problem in run.end(deadline, allowed)]
    return problems, getattr(runs[0], "text", "")


def give(path):
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def sparse(place, scratch):
    for name, file, make, said in KINDS:
        trace, out = (tempfile.mkdtemp(prefix="sqtrace-hostile-", dir=where) for where in (place, scratch))
        os.chmod(trace, 0o755)
        path = os.path.join(trace, file)
        make(path)
        give(path)
        give(trace)
        blocks = os.stat(path).st_blocks
        problems, text = run_all(trace, out, records_of(trace))
        if os.stat(path).st_blocks > blocks:
            problems.append("it takes %d KB more than before" % ((os.stat(path).st_blocks - blocks) // 2))
        if written(out) > WRITTEN:
            problems.append("%d MB were written" % (written(out) >> 20))
        if said not in text:
            problems.append("dump does not say %s: %s" % (said, text[-300:]))
        check(not problems, "%s, %s" % (name, place_name(place)), *problems)
        shutil.rmtree(trace)
        shutil.rmtree(out)


def given_ring(place, scratch):
    """A folder of somebody else with a good ring, a folder for what programs write, and the ring's path."""
    trace, out = (tempfile.mkdtemp(prefix="sqtrace-hostile-", dir=where) for where in (place, scratch))
    os.chmod(trace, 0o755)
    path = os.path.join(trace, "a.ring")
    ring(path, 8 * MB, [(COMPATIBLE, LOCKED)])
    give(path)
    give(trace)
    return trace, out, path


def rows_read(trace, path, whole, more):
    """Events of a segment to whose half somebody adds more while sqtrace-dump reads it."""
    with open(path, "wb") as file:
        file.write(whole[:len(whole) // 2])
        file.flush()
        words = [os.path.join(TOOLS, "sqtrace-dump"), trace, "--table=events", "--no-comments", "--no-header", "--quiet"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as dump:
            rows = dump.stdout.read(1).count(b"\n")  # it has begun, and waits for whoever reads the rest
            file.write(more)
            file.flush()
            rows += dump.stdout.read().count(b"\n")
        return rows if dump.returncode == 0 else "status %d after %d rows" % (dump.returncode, rows)


def growing(scratch):
    """A writer that is faster than any reader does not keep it: it reads what was there when it began."""
    trace = tempfile.mkdtemp(prefix="sqtrace-hostile-", dir=scratch)
    path = os.path.join(trace, "a.sqt")
    subprocess.run([os.path.join(TOOLS, "tests/unit/make_long"), path, "200000", "2000"], check=True)
    with open(path, "rb") as file:
        whole = file.read()
    for name, named in (("a segment", path), ("a directory", trace)):
        half, grown = rows_read(named, path, whole, b""), rows_read(named, path, whole, whole[len(whole) // 2:])
        check(grown == half and half > 50000, "%s that grows is read as far as it was" % name, (half, grown))


def cut_off_and_mend(path, whole):
    """As its owner, and without end."""
    if os.geteuid() == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)
    fd = os.open(path, os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    while True:
        for size in (100, 1500, 4096, 8192, 12288, 13000, len(whole)):
            os.ftruncate(fd, size)
            os.pwrite(fd, whole, 0)


def shrinking(place, scratch):
    trace, out, path = given_ring(place, scratch)
    with open(path, "rb") as file:
        whole = file.read()
    attacker = os.fork()
    if attacker == 0:
        try:
            cut_off_and_mend(path, whole)
        finally:
            os._exit(1)
    problems = []
    try:
        for _ in range(8 if LONG else 2):
            problems += run_all(trace, out)[0]
            shutil.rmtree(out)
            os.mkdir(out)
    finally:
        os.kill(attacker, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(attacker, 0)[1]):
            problems.append("nobody cut it off")
    check(not problems, "a ring that is cut off while it is read, %s" % place_name(place), *problems)
    shutil.rmtree(trace)
    shutil.rmtree(out)


def cut_and_leave(path, size, ready, go):
    """As its owner: the ring lives, and is cut off to that size once a byte comes."""
    if os.geteuid() == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)
    fd = os.open(path, os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    os.write(ready, b"x")
    os.read(go, 1)
    os.ftruncate(fd, size)
    os.write(ready, b"x")
    time.sleep(600)


def cut_once(size, place, scratch):
    """What follows a ring reads it again after it was cut off to that size."""
    trace, out, path = given_ring(place, scratch)
    ready, go = os.pipe(), os.pipe()
    owner = os.fork()
    if owner == 0:
        try:
            cut_and_leave(path, size, ready[1], go[0])
        finally:
            os._exit(1)
    os.close(ready[1])
    lives = os.read(ready[0], 1)
    runs = [Run(*one, out) for one in programs(trace, out) if one[2]]
    time.sleep(FOLLOWS)
    os.write(go[1], b"x")
    cut = os.read(ready[0], 1)
    time.sleep(FOLLOWS)
    for run in runs:
        run.stop()
    problems = [problem for run in runs for problem in run.end(time.monotonic() + 30, LIMIT)]
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    for one in (ready[0], *go):
        os.close(one)
    check(lives and cut and not problems, "a ring that is cut off to %d bytes while it is followed, %s" %
          (size, place_name(place)), *problems)
    shutil.rmtree(trace)
    shutil.rmtree(out)


def main():
    scratch, shared = (tempfile.mkdtemp(prefix="sqtrace-hostile-", dir=where) for where in (None, "/dev/shm"))
    os.chmod(scratch, 0o755)
    os.chmod(shared, 0o755)
    try:
        for place in (shared, scratch) if LONG else (shared,):
            sparse(place, scratch)
            shrinking(place, scratch)
            for size in (0, 100, RING_HEADER):
                cut_once(size, place, scratch)
        growing(scratch)
        if not LONG:
            shrinking(scratch, scratch)
    finally:
        shutil.rmtree(shared)
        shutil.rmtree(scratch)
    plan()


main()
