# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of rings and segments, written from the layout in src/format/format.h alone.

It knows only what is needed to count: headers, frames and record numbers.
"""

import os
import struct
import zlib

from .env import Failure

RING_MAGIC = b"SQTRING\x1a"
SEGMENT_MAGIC = b"SQTRACE\x1a"
FRAME_MAGIC = 0x46545153
TEXT, BLOCK, END = 1, 2, 3
IDENTITY = struct.Struct("<16s16sIIIIQII3Q32s32s")  # 152 bytes
WRITER = struct.Struct("<8Q")
FLUSHER = struct.Struct("<5Q3Q")
BLOCK_HEADER = struct.Struct("<16sQIIQQ3Q3Q")  # 96 bytes
TOTALS = struct.Struct("<16sQQQQQII")


class Identity:
    def __init__(self, data):
        (self.ring_id, self.boot_id, self.clock, self.kid, self.kid_kind, self.pid, self.ticks_per_second,
         self.sampling, _, self.start_ticks, self.start_monotonic_ns, self.start_realtime_ns, version,
         service) = IDENTITY.unpack(data)
        self.version = version.split(b"\0")[0].decode()
        self.service = service.split(b"\0")[0].decode()


def is_whole(path):
    """Whether the ring is made: a process writes its pointer first and the ring's magic last."""
    with open(path, "rb") as file:
        return file.read(8) == RING_MAGIC


class Ring:
    """The header of a ring file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read(4096)
        if self.data[:8] != RING_MAGIC:
            raise Failure("%s is not a ring" % path)
        self.path = path
        (self.version, self.header_size, self.compatible, self.incompatible, self.capacity, self.text_offset,
         self.text_size, self.records_offset) = struct.unpack_from("<4I4Q", self.data, 8)
        self.identity = Identity(self.data[56:56 + 152])
        (self.head, self.lost, self.marks, self.lost_from, self.lost_open, self.text_used, self.high_water,
         self.closed) = WRITER.unpack_from(self.data, 1024)
        self.settle()
        (self.tail, self.heartbeat_ns, self.sequence, self.bytes, self.errors) = struct.unpack_from(
            "<5Q", self.data, 2048)

    def settle(self):
        """marks, lost_from and lost_open lag behind head by a step; the account of stretches is exact."""
        (episodes,) = struct.unpack_from("<Q", self.data, 1024 + 64)
        if episodes:
            at, since, base = struct.unpack_from("<3Q", self.data, 1024 + 72 + 24 * (episodes & 1))
            still_open = at == self.head and self.lost > base
            self.marks = episodes - 1 if at == self.head else episodes
            self.lost_from = since if still_open else 0
            self.lost_open = self.lost - base if still_open else 0

    @property
    def emitted(self):
        """Records handed to the runtime: LOST records are not among them."""
        return self.head - self.marks + self.lost


class Segment:
    """The frames of a segment whose CRCs hold.

    blocks   (first record number, count) in the order of the file
    totals   dict of the END frame, or None
    broken   bytes that belong to no intact frame
    """

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != SEGMENT_MAGIC:
            raise Failure("%s is not a segment" % path)
        self.version, self.header_size, self.compatible, self.incompatible, self.sequence = struct.unpack_from(
            "<4IQ", data, 8)
        self.identity = Identity(data[32:32 + 152])
        self.blocks = []
        self.frames = []  # (offset, type, size)
        self.totals = None
        self.broken = 0
        self.text = b""
        at = self.header_size
        while at < len(data):
            frame = self.frame(data, at)
            if frame is None:
                self.broken += 1
                at += 1
                continue
            kind, body = frame
            self.frames.append((at, kind, 16 + len(body)))
            if kind == BLOCK:
                block = BLOCK_HEADER.unpack_from(body)
                if block[0] != self.identity.ring_id:
                    raise Failure("%s: a block of another ring at offset %d" % (path, at))
                self.blocks.append((block[1], block[2]))
            elif kind == TEXT:
                self.text += body
            elif kind == END:
                totals = TOTALS.unpack_from(body)
                self.totals = dict(zip(("head", "lost", "marks", "lost_from", "lost_open", "clean"), totals[1:]))
            at += 16 + len(body)

    @staticmethod
    def frame(data, at):
        if at + 16 > len(data):
            return None
        magic, kind, flags, size, crc = struct.unpack_from("<IHHII", data, at)
        if magic != FRAME_MAGIC or size > 8 << 20 or at + 16 + size > len(data):
            return None
        body = data[at + 16:at + 16 + size]
        header = struct.pack("<IHHII", magic, kind, flags, size, 0)
        return (kind, body) if zlib.crc32(body, zlib.crc32(header)) == crc else None


class Numbers:
    """Record numbers of one ring id: what its segments hold and what its ring still has to give."""

    def __init__(self, identity):
        self.identity = identity
        self.ranges = []  # (first, end) of blocks
        self.totals = None
        self.ring = None
        self.paths = []

    def problems(self):
        """Lines that say which numbers are missing or double; empty if none."""
        found = []
        expected = 0
        for first, end in sorted(self.ranges):
            if first > expected:
                found.append("records %d to %d are in no segment" % (expected, first - 1))
            elif first < expected:
                found.append("records %d to %d are in two blocks" % (first, min(end, expected) - 1))
            expected = max(expected, end)
        if self.ring is not None:
            if expected < self.ring.tail:
                found.append("tail %d but segments end at %d" % (self.ring.tail, expected))
        elif self.totals is None:
            found.append("no ring and no totals; segments end at %d" % expected)
        elif self.totals["head"] != expected:
            found.append("head %d but segments end at %d" % (self.totals["head"], expected))
        return ["%s (kid %d)" % (text, self.identity.kid) for text in found]

    def account(self, name):
        """What the ring, or else the last totals, say; -1 if there is neither."""
        if self.ring is not None:
            return getattr(self.ring, name)
        return self.totals[name] if self.totals else -1

    @property
    def head(self):
        return self.account("head")

    @property
    def lost(self):
        return self.account("lost")

    @property
    def marks(self):
        return self.account("marks")

    @property
    def emitted(self):
        return self.head - self.marks + self.lost


def numbers(directory, rings=()):
    """{ring id: Numbers} of the segments of a directory and of rings (paths)."""
    found = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not name.endswith(".sqt") or os.path.getsize(path) == 0:  # killed before it wrote the header
            continue
        segment = Segment(path)
        entry = found.setdefault(segment.identity.ring_id, Numbers(segment.identity))
        entry.paths.append(segment.path)
        entry.ranges.extend((first, first + count) for first, count in segment.blocks)
        if segment.totals and (entry.totals is None or segment.totals["head"] >= entry.totals["head"]):
            entry.totals = segment.totals
    for path in rings:
        if os.path.exists(path):
            ring = Ring(path)
            found.setdefault(ring.identity.ring_id, Numbers(ring.identity)).ring = ring
    return found
