# SPDX-License-Identifier: GPL-2.0-or-later
"""Damaged traces: one clear line each, and everything readable is still decoded."""

import bisect
import itertools
import os
import random
import re
import struct
import subprocess
import time
import zlib

from lib import dump, native, ring
from lib.env import run
from lib.squid import ring_notes

UNITS = 100000


def make_trace(env, name="whole", limit=UNITS, words=("compress=on", "ring=1MB")):
    """A trace of numbered records in several blocks, one for each quarter of the ring at most; path of its one segment."""
    directory = env.path(name)
    os.mkdir(directory)
    counters = env.path("counters")
    with open(counters, "wb") as file:
        file.write(b"\0" * 4096)
    program = env.path("writer") if os.path.exists(env.path("writer")) else native.writer(env)
    done = run([program, counters, "2000", "20000", str(limit), directory] + list(words), 60)
    env.require(done.returncode == 0, "the writer failed: " + done.stderr)
    segments = dump.segments(directory)
    env.require(len(segments) == 1, "segments: %s" % segments)
    return segments[0]


def numbers_in(result):
    return [int(number) for number in re.findall(r"\t(?:CLIENT_READ|XACT_END)\t(\d+)\t", result.text)]


def check_complaint(env, result, path, what, lines=None):
    """One line about the file, with an offset unless it is not a trace at all."""
    said = [line for line in result.errors.split("\n") if line]
    about = [line for line in said if os.path.basename(path) in line]
    env.check(about, "%s: no line names the file: %s" % (what, said[:3]))
    env.check(len(said) <= (lines or 2), "%s: %d lines: %s" % (what, len(said), said[:5]))
    env.check(all("offset" in line or "not a trace" in line for line in about[:1]),
              "%s: no offset: %s" % (what, about[:2]))


def decode(env, path, *options):
    return dump.Dump(env, path, "events", options, seconds=60, fail=False)


def truncated(env):
    whole = make_trace(env)
    size = os.path.getsize(whole)
    segment = ring.Segment(whole)
    frames = segment.frames
    blocks = [frame for frame in frames if frame[1] == ring.BLOCK]
    env.require(len(blocks) >= 5, "only %d blocks" % len(blocks))
    everything = numbers_in(decode(env, whole))
    # After which record each number is whole, and how many records are not the writer's.
    whole_after = list(itertools.accumulate(1 if number % 4 else 3 for number in everything))
    others = sum(count for _, count in segment.blocks) - whole_after[-1]
    env.equal(everything, list(range(1, UNITS + 1)), "numbers of the whole trace")
    cut = env.path("cut.sqt")
    randoms = random.Random(1)
    for length in [1, 8, 100, 191, 192, 193, size - 1, size - 64] + [randoms.randrange(200, size) for _ in range(25)]:
        with open(whole, "rb") as source, open(cut, "wb") as target:
            target.write(source.read(length))
        result = decode(env, cut)
        intact = [b for b in blocks if b[0] + b[2] <= length]
        if length >= 192 and intact:
            kept = numbers_in(result)
            env.equal(result.status, 0, "status, cut at %d" % length)
            env.check(kept == everything[:len(kept)] and len(kept) > 0, "cut at %d: wrong numbers" % length)
            records = sum(count for _, count in segment.blocks[:len(intact)])
            env.check(bisect.bisect(whole_after, records - others) <= len(kept) <= bisect.bisect(whole_after, records),
                      "cut at %d: %d numbers from %d records in %d intact blocks" % (length, len(kept), records,
                                                                                    len(intact)))
        if length not in [frame[0] for frame in frames]:
            check_complaint(env, result, cut, "cut at %d" % length)
            strict = decode(env, cut, "--strict").status
            env.check(strict == (1 if result.status else 3), "cut at %d: status %d with --strict" % (length, strict))


def flipped(env):
    whole = make_trace(env)
    with open(whole, "rb") as file:
        data = file.read()
    blocks = [frame for frame in ring.Segment(whole).frames if frame[1] == ring.BLOCK]
    bad = env.path("flipped.sqt")
    randoms = random.Random(2)
    for turn in range(40):
        at = randoms.randrange(len(data)) if turn else 20
        damaged = bytearray(data)
        damaged[at] ^= 1 << randoms.randrange(8)
        with open(bad, "wb") as file:
            file.write(damaged)
        result = decode(env, bad)
        env.check(result.status in (0, 1), "bit flipped at %d: status %d" % (at, result.status))
        check_complaint(env, result, bad, "bit flipped at %d" % at)
        if at >= 192:
            hit = [b for b in blocks if b[0] <= at < b[0] + b[2]]
            kept = numbers_in(result)
            env.check(kept == sorted(set(kept)), "bit flipped at %d: doubles or disorder" % at)
            env.check(len(kept) >= UNITS * (len(blocks) - len(hit)) // len(blocks) * 0.6,
                      "bit flipped at %d: only %d of %d left" % (at, len(kept), UNITS))
            env.equal(decode(env, bad, "--strict").status, 3, "bit flipped at %d: status with --strict" % at)
        if len(env.failures) > 10:
            break


def foreign(env):
    """Empty, foreign, newer: a line and status 1; beside a good trace the good one is decoded."""
    whole = make_trace(env)
    with open(whole, "rb") as file:
        data = file.read()
    header = bytearray(data[:192])

    def with_header(change):
        changed = bytearray(header)
        change(changed)
        changed[188:192] = b"\0\0\0\0"
        struct.pack_into("<I", changed, 188, zlib.crc32(bytes(changed)))
        return bytes(changed) + data[192:]
    cases = {
        "empty": b"", "text": b"not a trace\n" * 50, "zeros": b"\0" * 5000,
        "random": bytes(random.Random(3).randrange(256) for _ in range(5000)),
        "gzip": b"\x1f\x8b\x08" + b"\0" * 300,
        "newer version": with_header(lambda h: struct.pack_into("<I", h, 8, 99)),
        "unknown incompatible flag": with_header(lambda h: struct.pack_into("<I", h, 20, 1 << 20)),
    }
    for name, content in cases.items():
        path = env.path(name.replace(" ", "-") + ".sqt")
        with open(path, "wb") as file:
            file.write(content)
        result = decode(env, path)
        said = [line for line in result.errors.split("\n") if line]
        env.equal(result.status, 1, name + ": status")
        env.check(len(said) == 1 and os.path.basename(path) in said[0], "%s: %s" % (name, said))
        both = decode(env, [path, whole])
        env.equal(both.status, 0, name + " beside a good trace: status")
        env.equal(len(numbers_in(both)), UNITS, name + " beside a good trace: numbers")
    path = env.path("huge.sqt")
    with open(path, "wb") as file:
        file.write(with_header(lambda h: struct.pack_into("<I", h, 12, 0x7fffffff)))
    result = decode(env, path)
    env.equal((result.status, len(numbers_in(result))), (0, UNITS), "a header that says that it is huge")
    check_complaint(env, result, path, "a header that says that it is huge")
    unknown = with_header(lambda h: struct.pack_into("<I", h, 16, 1 << 20))
    path = env.path("compatible.sqt")
    with open(path, "wb") as file:
        file.write(unknown)
    result = decode(env, path)
    env.equal((result.status, len(numbers_in(result))), (0, UNITS), "an unknown compatible flag")


def places(env):
    """Missing files, empty directories, a directory without traces, nothing at all."""
    os.mkdir(env.path("empty"))
    os.mkdir(env.path("other"))
    with open(env.path("other", "notes.txt"), "w") as file:
        file.write("hello\n")
    for name in ("missing", "empty", "other"):
        result = decode(env, env.path(name))
        said = [line for line in result.errors.split("\n") if line]
        env.equal(result.status, 1, name + ": status")
        env.check(len(said) == 1 and env.path(name) in said[0], "%s: %s" % (name, said))
    result = decode(env, [])
    env.equal(result.status, 2, "no trace at all: status")
    for options in (["--table=cows"], ["--nonsense"], ["--columns=cows"], ["--where=cows == 1"], ["--figure=cows"],
                    ["--where=tag =="], ["--since=later"]):
        result = dump.Dump(env, env.path("empty"), None, options, fail=False)
        env.equal(result.status, 2, "%s: status" % options)
        env.check(0 < len([line for line in result.errors.split("\n") if line]) <= 2,
                  "%s: %s" % (options, result.errors))


def pipes(env):
    """A trace from a pipe, whole and cut; a reader of the output that goes away."""
    whole = make_trace(env)
    with open(whole, "rb") as file:
        data = file.read()
    for length, status in ((len(data), 0), (len(data) - 100, 3)):
        done = subprocess.run([env.tool("sqtrace-dump"), "--table=events", "--strict", "-"], input=data[:length],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        env.equal(done.returncode, status, "%d bytes from a pipe: %s" % (length, done.stderr[-200:]))
        env.check(done.stdout.count(b"CLIENT_READ") >= UNITS // 2, "%d bytes from a pipe: %d rows"
                  % (length, done.stdout.count(b"CLIENT_READ")))
    done = run(["sh", "-c", '"$0" --table=events "$1" | head -n 5 >/dev/null', env.tool("sqtrace-dump"), whole])
    env.equal(done.stderr, "", "what a broken pipe makes it say")


def growing(env):
    """A trace that is still written: decodes, and never complains about its end."""
    directory = env.path("growing")
    os.mkdir(directory)
    with open(env.path("counters"), "wb") as file:
        file.write(b"\0" * 4096)
    program = native.writer(env)
    process = subprocess.Popen([program, env.path("counters"), "50", "1000", "0", directory],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        process.stdout.readline()
        last = 0
        for turn in range(10):
            time.sleep(0.15)
            result = decode(env, directory)
            numbers = numbers_in(result)
            env.equal((result.status, result.errors), (0, ""), "a growing trace")
            env.check(numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= last,
                      "a growing trace: %d numbers after %d" % (len(numbers), last))
            last = len(numbers)
        notes = ring_notes(directory)
        live = decode(env, notes)
        env.check(live.status == 0 and numbers_in(live), "a live ring alone: status %d: %s"
                  % (live.status, live.errors))
        segment = dump.segments(directory)
        alone = decode(env, segment)
        env.check(alone.status == 0, "a segment without its ring: status %d: %s" % (alone.status, alone.errors))
    finally:
        process.kill()
        process.wait()


def torn_ring(env):
    """Left-over rings with nonsense in them are refused or read as far as they make sense, and never crash it."""
    directory = env.path("torn")
    os.mkdir(directory)
    with open(env.path("counters"), "wb") as file:
        file.write(b"\0" * 4096)
    program = native.writer(env)
    process = subprocess.Popen([program, env.path("counters"), "500", "500", "0", directory, "ring=1MB"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    time.sleep(0.3)
    process.kill()
    process.wait()
    path = ring_notes(directory)[0]
    try:
        with open(path, "rb") as file:
            data = file.read()
        randoms = random.Random(4)
        copy = env.path("copy.ring")
        for turn in range(60):
            damaged = bytearray(data)
            if turn < 30:
                at = randoms.randrange(300) if turn % 2 else 1024 + randoms.randrange(120)
                damaged[at] ^= 1 << randoms.randrange(8)
            elif turn < 45:
                damaged = damaged[:randoms.randrange(len(data))]
            else:
                for _ in range(500):
                    damaged[4096 + randoms.randrange(len(data) - 4096)] = randoms.randrange(256)
            with open(copy, "wb") as file:
                file.write(damaged)
            result = decode(env, copy)
            env.check(result.status in (0, 1), "torn ring %d: status %d" % (turn, result.status))
            env.check(len(result.errors.split("\n")) < 8, "torn ring %d: %s" % (turn, result.errors[:400]))
    finally:
        os.unlink(path)


TESTS = [
    ("truncated traces", truncated, 90),
    ("flipped bits", flipped, 90),
    ("empty, foreign and newer traces", foreign, 60),
    ("missing traces and wrong options", places, 30),
    ("pipes", pipes, 60),
    ("a growing trace", growing, 60),
    ("torn rings", torn_ring, 60),
]
