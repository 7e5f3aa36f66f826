# SPDX-License-Identifier: GPL-2.0-or-later
"""Times by two clocks, on a machine that somebody holds up now and then.

Between two clocks that tell the same time stand a socket, the kernel and a processor that has other work, or that
the host of a virtual machine has lent to another one.  native/holdups.c says when that happened.  A difference is held
against the trace only as far as the machine was not held up meanwhile.  What is wrong in every row is wrong in the
calmest of them, too: their median is held against the trace, with no more excuse than half of these rows have."""

import bisect
import collections
import os
import time

from .env import median

MS = 1000000
AROUND = 5 * MS  # a hold-up this close to a moment may have moved it
CALMEST = 1 / 3  # of the rows: those whose moments the fewest hold-ups were near


def between_clocks():
    """Nanoseconds from the monotonic clock to the time of day: of some readings the one that nothing came between."""
    readings = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(5)]
    before, wall, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return wall - (before + after) // 2


class HoldUps:
    """When the processors were held up, since this object was made.  path: what native/holdups.c writes, or None."""

    def __init__(self, path=None):
        self.path = path
        self.offset = os.path.getsize(path) if path else 0
        self.spans = {}  # processor -> ([begin, ...], [end, ...]), in order of time
        self.wall = between_clocks()

    def read(self):
        if not self.path:
            return
        with open(self.path) as log:
            log.seek(self.offset)
            text = log.read()
        whole = text[:text.rfind("\n") + 1]
        self.offset += len(whole)
        for line in whole.split("\n"):
            words = line.split()
            if len(words) == 3:
                begins, ends = self.spans.setdefault(words[0], ([], []))
                begins.append(int(words[1]))
                ends.append(int(words[2]))

    def within(self, *windows):
        """Nanoseconds for which any processor was held up, counting each hold-up that touches any of the windows
        (begin, end), by the monotonic clock, whole and once."""
        self.read()
        found = set()
        for name, (begins, ends) in self.spans.items():
            for begin, end in windows:
                at = bisect.bisect_left(ends, begin)
                while at < len(begins) and begins[at] <= end:
                    found.add((name, at))
                    at += 1
        return sum(self.spans[name][1][at] - self.spans[name][0][at] for name, at in found)

    def around(self, *moments):
        """The same, near these moments by the monotonic clock."""
        return self.within(*((moment - AROUND, moment + AROUND) for moment in moments))

    def during(self, row):
        """The same, while a row lasted."""
        begin, end = self.ends(row)
        return self.within((begin - AROUND, end + AROUND))

    def share(self, begin, end):
        """Share of that time, by the monotonic clock, for which a processor was held up, in the mean of all."""
        self.read()
        held = sum(max(0, min(last, end) - max(first, begin)) for spans in self.spans.values()
                   for first, last in zip(*spans) if last > begin and first < end)
        return held / max(1, end - begin) / (os.cpu_count() or 1)

    def ends(self, row):
        """When a row began and ended, by the monotonic clock."""
        begin = row.wall_ns - self.wall
        return begin, begin + row.ns("total_ns")


class Agreement:
    """Differences between what the trace says and what another clock says of the same."""

    def __init__(self, env):
        self.env = env
        self.off = collections.defaultdict(list)  # what -> (the difference, how long the machine was held up, which)

    def add(self, what, which, got_ns, wanted_ns, *moments, parts=1):
        """moments: when the two clocks were read, by the monotonic clock.  parts: how many times one after the other
        it is a sum of; each of them may be off by the limit."""
        self.off[what].append((abs(got_ns - wanted_ns) / parts, self.env.held.around(*moments) / parts, which))

    def check(self, at_least=1, limit_ns=MS, share=0.99, middle_ns=MS):
        """Of each, that share (of less than 100 all but one in fifteen, two at most) agree within the limit, and so
        does the median of the calmest within middle_ns, if that is less."""
        self.env.check(self.off, "nothing to compare")
        for what, rows in self.off.items():
            self.env.check(len(rows) >= at_least, "%s: only %d of %d to compare" % (what, len(rows), at_least))
            calmest = sorted(rows, key=lambda row: row[1])[:max(5, int(len(rows) * CALMEST))]
            middle, excuse = (median([row[member] for row in calmest]) for member in (0, 1))
            unexplained = sorted(((off - held, off, which) for off, held, which in rows if off - held > limit_ns),
                                 reverse=True)
            self.env.note("%s: %d compared, median %.3f ms off, of the calmest %.3f ms where the machine was held up "
                          "for %.3f ms, %d off by more than %g ms, %d of these unexplained"
                          % (what, len(rows), median([row[0] for row in rows]) / MS, middle / MS, excuse / MS,
                             sum(off > limit_ns for off, _, _ in rows), limit_ns / MS, len(unexplained)))
            self.env.check(middle <= min(limit_ns, middle_ns) + excuse,
                           "%s: the median of the calmest is off by %.3f ms" % (what, middle / MS))
            self.env.check(len(unexplained) <= max(min(2, len(rows) // 15), len(rows) * (1 - share)),
                           "%s: %d of %d are off by more than %g ms: %s"
                           % (what, len(unexplained), len(rows), limit_ns / MS,
                              "; ".join("%.3f ms, %.3f of it unexplained, %s" % (off / MS, left / MS, which)
                                        for left, off, which in unexplained[:4])))
