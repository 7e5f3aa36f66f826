#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""read-sqtrace.py - a small reader of sqtrace's segments, to copy from when you write another.

It is made from sqtrace(5) alone, and shares no code with sqtrace.  It prints a line for each record: kid, number, time in
nanoseconds on CLOCK_MONOTONIC, event, id, arg, aux.  It reads segments, not rings, and joins nothing: sqtrace-dump does.
"""
import ctypes
import re
import struct
import sys
import zlib

# Which kind of definition gives the text for which kind of field.  Bit 31 of such a field is a flag.
TEXTS = {"tag": 2, "method": 3, "peer_kind": 4, "activity": 5, "peer": 6, "service": 7, "call": 8, "thread": 9, "sample": 11,
         "server": 12, "waited": 13, "acl": 15, "ending": 17}
# A field of these kinds is near to the last of its kind in its column, of every other near to that of its event.
SHARED = ("xact", "conn", "sio")
WORD = (1 << 64) - 1


class Damaged(Exception):
    """What the file has cannot be right; the text says where and what."""


class Header:
    """The 192 bytes at a segment's start."""

    def __init__(self, data):
        if data[:8] != b"SQTRACE\x1a":
            raise Damaged("offset 0: no segment of sqtrace")
        if len(data) < 192:
            raise Damaged("offset %d: the header ends here" % len(data))
        version, self.size, _, incompatible, self.sequence = struct.unpack_from("<4IQ", data, 8)
        if version != 1 or incompatible & ~1:
            raise Damaged("offset 8: version %d, flags %x: newer than this reader" % (version, incompatible))
        if self.size < 192 or zlib.crc32(data[:188] + bytes(4)) != struct.unpack_from("<I", data, 188)[0]:
            raise Damaged("offset 0: the header's CRC does not hold")
        self.ring, self.boot = data[32:48], data[48:64]
        self.clock, self.kid, self.kind, self.pid, self.rate = struct.unpack_from("<4IQ", data, 64)
        self.version, self.service = (data[at:at + 32].split(b"\0")[0].decode("utf-8", "replace") for at in (120, 152))


def frames(data, at):
    """(offset, type, flags, payload) of each frame whose CRC holds.  Where one does not, the next that does is looked for."""
    while True:
        at = data.find(b"SQTF", at)
        if at < 0 or at + 16 > len(data):
            return
        _, kind, flags, size, crc = struct.unpack_from("<4sHHII", data, at)
        payload = data[at + 16:at + 16 + size]
        if len(payload) == size and zlib.crc32(payload, zlib.crc32(data[at:at + 12] + bytes(4))) == crc:
            yield at, kind, flags, payload
            at += 16 + size
        else:
            at += 1


def unescaped(field):
    return re.sub(r"\\(.)", lambda match: {"t": "\t", "n": "\n"}.get(match.group(1), match.group(1)), field)


class Words:
    """What the text frames say: the writer's events, and the texts that numbers stand for."""

    def __init__(self):
        self.events, self.texts = {}, {}

    def take(self, payload):
        for line in payload.decode("utf-8", "replace").split("\n"):
            fields = [unescaped(field) for field in line.split("\t")]
            if not (len(fields) >= 4 and fields[1].isdecimal()):
                continue
            if fields[0] == "event" and len(fields) >= 7:
                self.events[int(fields[1])] = fields[2], fields[4:7]
            elif fields[0] == "def" and fields[2].isdecimal():
                self.texts[int(fields[1]), int(fields[2])] = fields[3]

    def shown(self, kind, value, block):
        """A field as text."""
        if kind in TEXTS:
            return self.texts.get((TEXTS[kind], value & 0x7fffffff), str(value))
        if kind == "time":
            value = block.monotonic_ns(value)
        if kind in ("object", "context_id"):
            return "%016x" % value
        if kind == "xact" and value >> 63:
            return "u%d" % (value & WORD >> 1)
        return "-" if kind == "none" else str(value)


def from_zstd(data, size):
    room = ctypes.create_string_buffer(size)
    used = ctypes.CDLL("libzstd.so.1").ZSTD_decompress(room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return room.raw[:used] if 0 <= used <= size else b""


def varints(column):
    value = shift = 0
    for byte in column:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value & WORD
            value = shift = 0
    if shift:
        raise Damaged("a number has no end")


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def columns(packed):
    """The six columns."""
    at = 0
    for _ in range(6):
        size, = struct.unpack_from("<I", packed, at)
        if at + 4 + size > len(packed):
            raise Damaged("a column has no end")
        yield packed[at + 4:at + 4 + size]
        at += 4 + size


class Block:
    """A block's head, and its records: (number, ticks, event, flags, (id, arg, aux))."""

    def __init__(self, payload, flags, words):
        if len(payload) < 96:
            raise Damaged("a block of %d bytes; 96 at least" % len(payload))
        self.ring = payload[:16]
        (self.first, self.count, self.size, self.begin, self.end, *anchors) = struct.unpack_from("<QIIQQ6Q", payload, 16)
        self.from_ticks, self.from_ns, self.from_real, self.to_ticks, self.to_ns, self.to_real = anchors
        if self.count > 65536 or self.size > 64 * (self.count + 1):
            raise Damaged("a block of %d records in %d bytes" % (self.count, self.size))
        self.packed = payload[96:]
        if flags & 4:
            self.packed = from_zstd(self.packed, self.size)
        elif flags & 1:
            self.packed = zlib.decompressobj().decompress(self.packed, self.size + 1)
        if len(self.packed) != self.size:
            raise Damaged("%d bytes of packed records; %d expected" % (len(self.packed), self.size))
        self.words = words

    def monotonic_ns(self, ticks):
        """On the straight line through the anchors."""
        span = self.to_ticks - self.from_ticks
        return self.from_ns + ((ticks - self.from_ticks) * (self.to_ns - self.from_ns) // span if span else 0)

    def records(self):
        events, runs, times, *fields = columns(self.packed)
        flags = b"".join(bytes([runs[i]]) * (runs[i + 1] + 1) for i in range(0, len(runs), 2))
        times, fields = list(varints(times)), [list(varints(column)) for column in fields]
        if {len(column) for column in (events, flags, times, *fields)} != {self.count}:
            raise Damaged("the columns differ in length")
        last = [{} for _ in fields]  # of each field: of a kind that is shared by its name, else by the event
        ticks = self.begin
        for i, event in enumerate(events):
            ticks += times[i]
            kinds = self.words.events.get(event, (None, ("event",) * 3))[1]
            values = []
            for field, kind in enumerate(kinds):
                key = kind if kind in SHARED else event
                expected = {"none": 0, "time": ticks}.get(kind, last[field].get(key, 0))
                values.append(expected + unzigzag(fields[field][i]) & WORD)
                last[field][key] = values[-1]
            yield self.first + i, ticks, event, flags[i], values


def read(path, out):
    """Prints the records of a segment; returns its last frame's account if it was closed."""
    with open(path, "rb") as file:
        data = file.read()
    header, words, end = Header(data), Words(), None
    for at, kind, flags, payload in frames(data, header.size):
        if kind == 1:
            words.take(payload)
        elif kind == 2:
            try:
                block = Block(payload, flags, words)
                for number, ticks, event, _, values in block.records():
                    name, kinds = words.events.get(event, ("event_%d" % event, ("event",) * 3))
                    shown = (words.shown(kind, value, block) for kind, value in zip(kinds, values))
                    print(header.kid, number, block.monotonic_ns(ticks), name, *shown, sep="\t", file=out)
            except (Damaged, zlib.error, struct.error, ValueError, IndexError) as damage:
                raise Damaged("offset %d: %s" % (at, damage)) from damage
        elif kind == 3 and len(payload) >= 64:
            end = dict(zip(("records", "dropped", "marks"), struct.unpack_from("<3Q", payload, 16)))
    return end


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__ + "\nusage: read-sqtrace.py SEGMENT...")
        return 0 if paths[:1] == ["--help"] else 2
    print("kid", "number", "monotonic_ns", "event", "id", "arg", "aux", sep="\t")
    status = 0
    for path in paths:
        try:
            read(path, sys.stdout)
        except (Damaged, OSError) as error:
            print("read-sqtrace.py: %s: %s" % (path, error), file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
