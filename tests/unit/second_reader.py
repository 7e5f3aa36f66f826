#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""second_reader.py - a reader that was made from sqtrace(5) alone reads what sqtrace-dump reads, cell by cell.

The reader is doc/read-sqtrace.py.  It refuses a segment whose header is damaged, where
sqtrace-dump goes by the blocks; and it makes no record of its own that says what is missing.
"""
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib
from importlib.machinery import SourceFileLoader

sys.dont_write_bytecode = True
TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
GOLDEN = os.path.join(SOURCE, "tests", "golden")
READER = os.path.join(SOURCE, "doc", "read-sqtrace.py")
PAGE = os.path.join(SOURCE, "doc", "sqtrace.5")
second = SourceFileLoader("second", READER).load_module()
DAMAGED = "2"  # enum sqt_loss_reason
LINE_NS = 1  # sqtrace-dump computes with the line's slope, the reader with the whole line
done = 0


def check(good, text, *comments):
    global done
    done += 1
    print("%s %d - %s" % ("ok" if good else "not ok", done, text))
    for comment in comments if not good else ():
        print("# %s" % (comment,))


def first_rows(path):
    """What sqtrace-dump prints: event and fields, times in ns from the first record on."""
    out = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", "--no-comments", "--table=events", path],
                         stdout=subprocess.PIPE, check=False).stdout.decode()
    rows = [line.split("\t") for line in out.splitlines()[1:]]
    return [[ns_of(row[0]), *row[1:]] for row in rows if row[2] != "LOST" or row[5] != DAMAGED]


def ns_of(text):
    sign = -1 if text.startswith("-") else 1
    seconds, _, rest = text.lstrip("-").partition(".")
    return sign * (int(seconds) * 10 ** 9 + int(rest))


def second_rows(path):
    out = io.StringIO()
    try:
        second.read(path, out)
    except second.Damaged as damage:
        return [], str(damage)
    rows = [line.split("\t") for line in out.getvalue().splitlines()]
    return [[int(row[2]), row[0], *row[3:]] for row in rows], None


def same(ours, theirs, begin):
    if abs(ours[0] - (theirs[0] - begin)) > LINE_NS or ours[1:3] != theirs[1:3]:
        return False
    for shown, value in zip(ours[3:], theirs[3:]):
        if shown == value or (shown, value) == ("0", "-"):  # a field that the writer did not have yet is 0
            continue
        if not re.fullmatch(r"-?\d+\.\d{9}", shown) or abs(ns_of(shown) - (int(value) - begin)) > LINE_NS:
            return False
    return True


def compare(path, least):
    ours, (theirs, damage) = first_rows(path), second_rows(path)
    name = os.path.relpath(path, SOURCE)
    begin = theirs[0][0] if theirs else 0
    differ = [(a, b) for a, b in zip(ours, theirs) if not same(a, b, begin)]
    check(len(ours) == len(theirs) >= least and not differ and (damage is None) == bool(theirs),
          "%s: %d records, all cells alike" % (name, len(theirs)), damage, (len(ours), len(theirs)), *differ[:3])


def kinds_of_page():
    """The kinds of definitions that sqtrace(5) lists are those of the format."""
    with open(PAGE, encoding="utf-8") as page:
        listed = re.search(r"^The kinds are:\n.*?\n\.fi", page.read(), re.M | re.S).group(0)
    with open(os.path.join(SOURCE, "src", "format", "format.h"), encoding="utf-8") as header:
        enum = re.search(r"^enum sqt_def \{.*?^};", header.read(), re.M | re.S).group(0)
    wanted = {int(number) for number in re.findall(r"SQT_DEF_\w+ =\s+(\d+)", enum)}
    found = {int(number) for number in re.findall(r"^(\d+)\t", listed, re.M)}
    check(found == wanted and wanted, "the page lists each kind of definition", sorted(found ^ wanted))
    check(set(second.TEXTS.values()) <= wanted, "the reader knows no other")


def damaged():
    """A changed byte in a frame whose CRC was made anew is a line, and nothing else."""
    with open(os.path.join(GOLDEN, "good-zlib.sqt"), "rb") as file:
        data = file.read()
    random.seed(1)
    places = [(at, len(payload)) for at, _, _, payload in second.frames(data, second.Header(data).size)]
    found, lines = [], 0
    with tempfile.NamedTemporaryFile(suffix=".sqt") as changed:
        for _ in range(400):
            at, size = random.choice(places)
            copy = bytearray(data)
            copy[at + 16 + random.randrange(min(size, 400))] ^= 1 << random.randrange(8)
            copy[at + 12:at + 16] = zlib.crc32(copy[at + 16:at + 16 + size], zlib.crc32(copy[at:at + 12] + bytes(4))).to_bytes(4, "little")
            changed.seek(0)
            changed.write(copy)
            changed.flush()
            try:
                second.read(changed.name, io.StringIO())
            except second.Damaged:
                lines += 1
            except Exception as error:  # pylint: disable=broad-except # any other is the fault that is looked for
                found.append((at, repr(error)))
    check(not found and lines > 20, "400 changed frames: %d are refused, none ends the reader" % lines, *found[:3])


def main():
    damaged()
    for kid in range(3):
        compare(os.path.join(SOURCE, "doc", "sample", "kid-%d.sqt" % kid), 1000)
    for name in ("good", "good-zlib", "good-zstd", "old-stamps", "flipped", "truncated", "future", "newer",
                 "newer-features", "gzip", "empty", "text"):
        compare(os.path.join(GOLDEN, name + ".sqt"), 0)
    kinds_of_page()
    got = subprocess.run([sys.executable, "-B", READER, os.path.join(GOLDEN, "newer.sqt"), os.path.join(GOLDEN, "none.sqt")],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = got.stderr.decode().splitlines()
    check(got.returncode == 1 and len(said) == 2 and "version 2" in said[0] and "none.sqt" in said[1],
          "what cannot be read has a line each", got)
    print("1..%d" % done)


main()
