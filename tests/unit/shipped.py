# SPDX-License-Identifier: GPL-2.0-or-later
"""shipped.py - what the tests of sqtrace-ship share: a trace that grows, and the rows that were shipped."""
import glob
import os
import re
import struct
import subprocess
import sys
import zlib

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ.get("SQT_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SHIP = os.path.join(TOOLS, "sqtrace-ship")
SAMPLE = os.path.join(SOURCE, "doc", "sample")
FRAME_BLOCK, FRAME_TEXT = 2, 1
NAME = re.compile(r"table=([a-z_]+)/date=([^/]+)/host=([^/]+)/([0-9a-f]{32})-(\d{12,})-(\d{12,})-(\d+)\.parquet$")
done = 0


def check(good, text, *notes, skip=""):
    global done
    done += 1
    print("%s %d - %s%s" % ("ok" if good else "not ok", done, text, " # SKIP " + skip if skip else ""), flush=True)
    for note in notes if not good else ():
        print("# %s" % (note,))
    return good


def plan():
    print("1..%d" % done)


def make_folder(out):
    """The option that the first run needs."""
    return () if os.path.isdir(os.path.join(out, ".sqtrace-ship")) else ("--make-folder",)


def ship(trace, out, *options, before=(), status=0):
    """Runs sqtrace-ship, and returns what it said if its status is not the expected one."""
    got = subprocess.run([*before, SHIP, trace, "--to=" + out, *make_folder(out), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         check=False)
    return "" if got.returncode == status else "status %d: %s" % (got.returncode, got.stderr.decode())


def files(out):
    """The published files: path -> (table, date, host, ring, first, end)"""
    found = {}
    for path in glob.glob(os.path.join(out, "table=*", "*", "*", "*.parquet")):
        match = NAME.search(path)
        found[path] = (*match.groups()[:4], int(match.group(5)), int(match.group(6)))
    return found


def rows(out):
    """table -> sorted rows, each as the texts of its cells; without findings, which are of batches: ship_findings.py"""
    import pyarrow.parquet
    tables = {}
    for path, (table, *_) in files(out).items():
        for row in [] if table == "finding_minutes" else pyarrow.parquet.ParquetFile(path).read().to_pylist():
            tables.setdefault(table, []).append(tuple((name, str(value)) for name, value in row.items()))
    return {table: sorted(found) for table, found in tables.items()}


def differences(one, other):
    """Up to three rows that only one of two outputs has."""
    found = ["tables: %s, %s" % (sorted(one), sorted(other))] if one.keys() != other.keys() else []
    for table in one.keys() & other.keys():
        if one[table] != other[table]:
            apart = sorted(set(one[table]) ^ set(other[table])) or ["a row that is there twice"]
            found.append("%s: %d and %d rows; %s" % (table, len(one[table]), len(other[table]), apart[:3]))
    return found


# ---- traces ----

def frames(path):
    """The header of a segment, and its frames: (type, bytes, first record, records, time of the last)."""
    with open(path, "rb") as file:
        data = file.read()
    at = struct.unpack_from("<I", data, 12)[0]
    header, found, last = data[:at], [], 0
    while at < len(data):
        kind, size = struct.unpack_from("<4xH2xI", data, at)
        first = count = 0
        if kind == FRAME_BLOCK:
            first, count, last = struct.unpack_from("<QI12xQ", data, at + 32)
        found.append((kind, data[at:at + 16 + size], first, count, last))
        at += 16 + size
    return header, found


def with_sequence(header, number):
    """The header of another segment of the ring."""
    changed = bytearray(header)
    struct.pack_into("<Q", changed, 24, number)
    struct.pack_into("<I", changed, len(changed) - 4, 0)
    struct.pack_into("<I", changed, len(changed) - 4, zlib.crc32(changed))
    return bytes(changed)


def text_frame(text):
    """A frame of definitions."""
    data = text.encode()
    head = struct.pack("<4sHHII", b"SQTF", FRAME_TEXT, 0, len(data), 0)
    return head[:12] + struct.pack("<I", zlib.crc32(head + data)) + data


def growth(trace):
    """The pieces of a trace in the order in which flushers wrote them: (name of the segment, bytes)."""
    pieces = []
    for path in sorted(glob.glob(os.path.join(trace, "*.sqt"))):
        header, found = frames(path)
        name = os.path.basename(path)
        pieces += [(last, name, i, data) for i, (_, data, _, _, last) in enumerate([(0, header, 0, 0, 0), *found])]
    return [(name, data) for _, name, _, data in sorted(pieces)]


def grow(folder, pieces):
    os.makedirs(folder, exist_ok=True)
    for name, data in pieces:
        with open(os.path.join(folder, name), "ab") as file:
            file.write(data)


def keys(tables):
    """The same with nothing but the numbers of the rows, of those that a record ended."""
    return {table: sorted((row["ring"], row["row"]) for row in map(dict, found) if row["row"] != "None") for table, found in tables.items()}


if __name__ == "__main__":
    # shipped.py cells|keys ONE OTHER: prints how two outputs differ, for tests without pyarrow of their own
    ONE, OTHER = rows(sys.argv[2]), rows(sys.argv[3])
    print("\n".join(differences(ONE, OTHER) if sys.argv[1] == "cells" else differences(keys(ONE), keys(OTHER))))
    print("%d rows of %d tables" % (sum(map(len, ONE.values())), len(ONE)))
