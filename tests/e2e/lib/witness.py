# SPDX-License-Identifier: GPL-2.0-or-later
"""A second count of what a Squid emits, kept by native/witness.c, and the lines of Squid's source that emitted it."""

import collections
import json
import os
import re
import struct

from . import linking, native, ring
from .env import Failure, run

EVENTS, SLOTS, STACKS, DEPTH = 256, 1024, 8192, 5
HEAD = struct.Struct("<QQ%dQ" % EVENTS)
SIZE = HEAD.size + 24 * SLOTS + 8 * STACKS * DEPTH
LOST = 1  # its number in events.def
MAGIC = struct.unpack("<Q", b"QWITNESS")[0]


def link(prefix, folder):
    """Links the installed Squid's objects once more, with the witness; returns the program's path."""
    program, extra = (os.path.join(folder, name) for name in ("squid", "witness.o"))
    native.compile_(["-I", os.path.join(native.TOP, "src"), "-c", "-o", extra,
                     os.path.join(native.SOURCE, "witness.c")])
    linking.link(prefix, program, [extra] + ["-Wl,--wrap=sqt_emit" + which for which in
                                             ("", "_too", "_unit", "_pair", "_pair_at")])
    return program


class Witness:
    """The counts of one Squid's processes, in a file that they map."""

    def __init__(self, path):
        self.path = path
        self.lost_records = 0  # LOST, which the ring makes itself, as check() found them
        with open(path, "wb") as out:
            out.write(b"\0" * SIZE)
        os.chmod(path, 0o666)  # kids open it after they dropped privileges

    def read(self):
        with open(self.path, "rb") as file:
            data = file.read()
        _, overflow, *_ = HEAD.unpack_from(data)
        if overflow:
            raise Failure("the witness had no room %d times, for a process or a stack" % overflow)
        return data

    def events(self):
        """{event number: records}"""
        magic, _, *events = HEAD.unpack_from(self.read())
        return {number: count for number, count in enumerate(events) if count} if magic == MAGIC else {}

    def processes(self):
        """{pid: (records begun, records done)}, of the newest process where a busy machine gave a pid twice."""
        found = {}
        for pid, begun, done in struct.iter_unpack("<3Q", self.read()[HEAD.size:HEAD.size + 24 * SLOTS]):
            if pid:
                found[pid] = (begun, done)
        return found

    def stacks(self):
        """Return addresses of the callers of the emitter, innermost first, relative to the program."""
        data = self.read()[HEAD.size + 24 * SLOTS:]
        return [stack for stack in struct.iter_unpack("<%dQ" % DEPTH, data) if stack[0]]

    def check(self, env, directory, what, rings=()):
        """What each process counted is what its segments and rings account for, if they are there."""
        emitted = collections.Counter()
        for entry in ring.numbers(directory, rings).values():
            emitted[entry.identity.pid] += entry.emitted
            self.lost_records += entry.marks
        counted = {pid: counts for pid, counts in self.processes().items() if pid in emitted}
        env.check(counted or not emitted, "%s: the witness knows none of the processes that traced" % what)
        for pid, (begun, done) in counted.items():
            env.check(done <= emitted[pid] <= begun, "%s: process %d emitted %d to %d records, its trace accounts for "
                      "%d" % (what, pid, done, begun, emitted[pid]))


class Fired:
    """What one test's Squids emitted: events, {number: records}, and the stacks that it came from.

    skipped  whether the test did not do all it does, because something was not there for it
    """

    def __init__(self, events, stacks):
        self.events = events
        self.stacks = stacks
        self.skipped = False

    @classmethod
    def of(cls, witnesses):
        events, stacks = collections.Counter(), set()
        for witness in witnesses:
            if os.path.exists(witness.path):
                events.update(witness.events())
                events[LOST] += witness.lost_records
                stacks.update(witness.stacks())
        return cls(+events, stacks)

    def save(self, path):
        with open(path, "w") as out:
            json.dump([sorted(self.events.items()), sorted(self.stacks)], out)

    @classmethod
    def load(cls, path):
        with open(path) as file:
            events, stacks = json.load(file)
        return cls(dict(events), {tuple(stack) for stack in stacks})


class Sites:
    """The lines of Squid's source on which a hook stands.

    wanted     what the series adds, which sqtrace-build composed: {(file, text): how often}
    lines      where that is in the tree that was built: {(file, line number): text}
    functions  the line before it that begins a function: {(file, line number): text}
    """

    def __init__(self, prefix):
        place = os.path.dirname(linking.build_directory(prefix))
        self.tree = os.path.join(place, "src")
        self.wanted = collections.Counter()
        self.lines, self.functions = {}, {}
        series = os.path.join(place, "series")
        with open(os.path.join(series, "series")) as names:
            for name in names.read().split():
                self.take_patch(os.path.join(series, name))
        for path in sorted({path for path, _ in self.wanted}):
            with open(os.path.join(self.tree, path), errors="replace") as source:
                function = ""
                for number, line in enumerate(source, 1):
                    if re.match(r"\w.*\(", line):
                        function = line.strip()
                    if (path, line.strip()) in self.wanted:
                        self.lines[path, number] = line.strip()
                        self.functions[path, number] = function

    def take_patch(self, path):
        with open(path) as patch:
            for line in patch:
                if line.startswith("+++ "):
                    file = line.split()[1].split("/", 1)[1]
                elif re.match(r"\+.*\bSqtrace::\w+[<(]", line):
                    self.wanted[file, line[1:].strip()] += 1

    def missing(self):
        """Hooks that the series adds and the tree that was built does not have."""
        there = collections.Counter((path, text) for (path, _), text in self.lines.items())
        return ["%s: %s" % key for key in (self.wanted - there)]

    def of_stacks(self, program, stacks):
        """{stack: (file, line number) of the hook that it passed through, or None}"""
        addresses = sorted({address - 1 for stack in stacks for address in stack if address})
        done = run(["addr2line", "-a", "-i", "-e", program], 600, input="".join("%#x\n" % a for a in addresses))
        places, current = {}, None
        for line in done.stdout.split("\n"):
            if re.fullmatch(r"0x[0-9a-f]+", line):
                current = places.setdefault(int(line, 16), [])
            elif current is not None and ":" in line:
                path, number = line.split(" (")[0].rsplit(":", 1)
                inside = re.search(r"/src/(src/.*)$", os.path.normpath(path))  # ccache keeps others' paths
                if inside and number.isdigit():
                    current.append((inside.group(1), int(number)))
        found = {}
        for stack in stacks:
            found[stack] = next((place for address in stack for place in places.get(address - 1, ())
                                 if place in self.lines), None)
        return found
