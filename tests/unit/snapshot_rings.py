#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""snapshot_rings.py - the copy of a ring in a snapshot: its losses, its damage, and a disk that takes no more."""
import errno
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import refused  # noqa: E402
from told import check, plan  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
SNAPSHOT, DUMP = os.path.join(TOOLS, "sqtrace-snapshot"), os.path.join(TOOLS, "sqtrace-dump")
GOLDEN = os.path.join(SOURCE, "tests/golden/died.ring")
# Offsets in a ring's header: sqtrace(5).
CAPACITY, RECORDS, HEAD, LOSS_AT, LOSS_FROM, LOST_UNTIL, TAIL = 24, 48, 1024, 1096, 1104, 1144, 2048
RATE = 3 * 10 ** 9  # ticks a second, of that ring


def ring(folder, name="a.ring", **words):
    """The golden ring of a dead process, with other words; a name is an offset of this file."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    shutil.copyfile(GOLDEN, path)
    with open(path, "r+b") as file:
        for word, value in words.items():
            os.pwrite(file.fileno(), struct.pack("<Q", value), globals()[word])
    return path


def word(path, offset):
    with open(path, "rb") as file:
        return struct.unpack("<Q", os.pread(file.fileno(), 8, offset))[0]


def take(trace, out, **more):
    return subprocess.run([SNAPSHOT, trace, "--to=" + out, "--since=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def rows(trace, table):
    got = subprocess.run([DUMP, "--quiet", "--no-comments", "--table=" + table, trace], stdout=subprocess.PIPE, text=True, check=False)
    return got.stdout.splitlines()


def made(out):
    names = [name for name in os.listdir(out) if name.startswith("snapshot-")] if os.path.isdir(out) else []
    return os.path.join(out, names[0]) if len(names) == 1 else ""


def losses(scratch):
    """Records that were dropped and of which no record speaks yet: the copy says from when until when."""
    trace, out = os.path.join(scratch, "losses"), os.path.join(scratch, "losses-out")
    path = ring(trace)
    ring(trace, LOST_UNTIL=word(path, LOSS_FROM) + RATE // 2)
    got = take(trace, out)
    whole, copy = rows(trace, "losses"), rows(made(out), "losses")
    seconds = [float(cell) for cell in whole[-1].split("\t")[:2]]
    check(got.returncode == 0 and len(whole) == 2 and 0.49 < seconds[1] - seconds[0] < 0.51 and copy == whole,
          "the end of a loss is that of the ring", got.stdout, whole, copy)
    check(rows(made(out), "events") == rows(trace, "events"), "and so are its records")


def full(scratch):
    """A user's quota is not called --total, and neither is a full disk."""
    trace = os.path.join(scratch, "full")
    ring(trace)
    if refused.known():
        check(True, "a disk that takes no more", skip=refused.known())
        return
    for error in (errno.EDQUOT, errno.ENOSPC):
        for name, folder in (("a ring", trace), ("a segment", os.path.join(SOURCE, "tests/golden/good.sqt"))):
            if name == "a segment":
                os.makedirs(os.path.join(scratch, "segment"), exist_ok=True)
                folder = os.path.dirname(shutil.copy(folder, os.path.join(scratch, "segment")))
            for limit in ((), ("--total=1GB",)):
                out = os.path.join(scratch, "full-out-%d-%d-%s" % (error, len(limit), name[2:]))
                got = subprocess.run([SNAPSHOT, folder, "--to=" + out, "--since=0", *limit], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     check=False, preexec_fn=refused.calls(("pwrite64", error)))
                check(got.returncode == 1 and os.strerror(error) in got.stdout and "--total" not in got.stdout and os.listdir(out) == [],
                      "%s, %s%s: that is said, and nothing is left" % (os.strerror(error), name, " with --total" if limit else ""), got.stdout, os.listdir(out))
    out = os.path.join(scratch, "total-out")
    got = subprocess.run([SNAPSHOT, trace, "--to=" + out, "--since=0", "--total=2KB"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check(got.returncode == 1 and "more than --total allows" in got.stdout and os.listdir(out) == [], "but what --total refuses is", got.stdout)


def cut_off(scratch):
    """A ring that gets shorter while it is copied is said to be damaged."""
    trace, out = os.path.join(scratch, "cut"), os.path.join(scratch, "cut-out")
    count = 1 << 21
    path = ring(trace, CAPACITY=count, RECORDS=1 << 20, HEAD=count, LOSS_AT=0)
    with open(GOLDEN, "rb") as file:
        record = file.read()[word(GOLDEN, RECORDS) + 32 * 40:][:32]
    with open(path, "r+b") as file:
        file.seek(1 << 20)
        file.write(record * count)
    copy = os.path.join(out, ".sqtrace-snapshot", "a.ring")
    with subprocess.Popen([SNAPSHOT, trace, "--to=" + out, "--since=0"], stderr=subprocess.PIPE, text=True) as child:
        while child.poll() is None and not (os.path.exists(copy) and os.stat(copy).st_blocks):
            pass
        child.send_signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        copied = os.stat(copy).st_blocks * 512
        os.truncate(path, (1 << 20) + (copied + (32 << 20)) // 2)
        child.send_signal(signal.SIGCONT)
        said = child.stderr.read()
    check(0 < copied < 32 << 20 and "damaged ring: it was cut off while it was read" in said, "a ring that gets shorter while it is copied is said", copied, said)
    check(child.returncode == 1 and os.listdir(out) == [], "and there is no snapshot, as the trace has nothing else", child.returncode, os.listdir(out))


def main():
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as scratch:
        for case in (losses, full, cut_off):
            case(scratch)
    plan()


main()
