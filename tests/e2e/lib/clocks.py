# SPDX-License-Identifier: GPL-2.0-or-later
"""Times by two clocks, on a machine that somebody holds up now and then.

Between two clocks that tell the same time stand a socket, the kernel and a processor that has other work, or that
the host of a virtual machine has lent to another one.  native/holdups.c says when that happened.  A difference is held
against the trace only as far as the machine was not held up meanwhile; and the median of many is held against it
as it is, so that a machine that is held up all the time excuses nothing that is wrong in every row."""

import bisect
import collections
import os
import time

from .env import median

MS = 1000000
AROUND = 5 * MS  # a hold-up this close to a moment may have moved it


class HoldUps:
    """When the processors were held up, since this object was made.  path: what native/holdups.c writes, or None."""

    def __init__(self, path=None):
        self.path = path
        self.offset = os.path.getsize(path) if path else 0
        self.spans = {}  # processor -> ([begin, ...], [end, ...]), in order of time
        self.wall = time.time_ns() - time.monotonic_ns()

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

    def ends(self, row):
        """When a row began and ended, by the monotonic clock."""
        begin = row.wall_ns - self.wall
        return begin, begin + row.ns("total_ns")


class Agreement:
    """Differences between what the trace says and what another clock says of the same."""

    def __init__(self, env):
        self.env = env
        self.off = collections.defaultdict(list)  # what -> (what no hold-up explains, the difference, of which)

    def add(self, what, which, got_ns, wanted_ns, *moments):
        """moments: when the two clocks were read, by the monotonic clock."""
        off = abs(got_ns - wanted_ns)
        self.off[what].append((max(0, off - self.env.held.around(*moments)), off, which))

    def check(self, at_least=1, limit_ns=MS, share=0.99):
        """Of each, that share (of less than 100 all but one in fifteen, two at most) agree within the limit, and so does the median."""
        self.env.check(self.off, "nothing to compare")
        for what, off in self.off.items():
            raw = median([difference for _, difference, _ in off])
            wrong = sorted((one for one in off if one[0] > limit_ns), key=lambda one: -one[0])
            self.env.note("%s: %d compared, median %.3f ms off, %d off by more than %g ms, %d of these unexplained"
                          % (what, len(off), raw / MS, sum(one[1] > limit_ns for one in off), limit_ns / MS, len(wrong)))
            self.env.check(len(off) >= at_least, "%s: only %d of %d to compare" % (what, len(off), at_least))
            self.env.check(raw <= limit_ns, "%s: the median is off by %.3f ms" % (what, raw / MS))
            self.env.check(len(wrong) <= max(min(2, len(off) // 15), len(off) * (1 - share)), "%s: %d of %d are off by more than %g ms: %s"
                           % (what, len(wrong), len(off), limit_ns / MS,
                              "; ".join("%.3f ms, %.3f of it unexplained, %s" % (difference / MS, left / MS, which)
                                        for left, difference, which in wrong[:4])))
