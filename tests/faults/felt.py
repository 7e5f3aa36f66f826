# SPDX-License-Identifier: GPL-2.0-or-later
"""What the clients of a run felt."""

import collections

from lib.env import quantile


class Felt:
    """From load.py's results.

    waits       ms of each request; headers: ms until its header came
    errors      requests with a status of 500 or more; unanswered: those without a status
    statuses    how many had each status, by its text; sizes: each number of bytes
    ends        how many ended in each way that load.py names
    """

    def __init__(self, path):
        with open(path) as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        self.waits = [float(row[1]) for row in rows]
        self.headers = [float(row[5]) for row in rows]
        self.unanswered = sum(row[2] == "0" for row in rows)
        self.errors = sum(int(row[2]) >= 500 for row in rows)
        self.statuses = collections.Counter(row[2] for row in rows)
        self.sizes = collections.Counter(row[3] for row in rows)
        self.ends = collections.Counter(row[4] for row in rows)
        self.requests = len(rows)
        self.mean, self.p99 = sum(self.waits) / len(rows), quantile(self.waits, 0.99)
        self.header_mean = sum(self.headers) / len(rows)

    def text(self):
        return ("clients waited %.1f ms in the mean, %.1f ms in the median, %.0f ms at p99, header after %.1f ms; "
                "of %d: %s") % (
            self.mean, quantile(self.waits, 0.5), self.p99, self.header_mean, self.requests,
            ", ".join(["%d %s" % (count, end) for end, count in sorted(self.ends.items())]
                      + ["%d with a status of 500 or more" % self.errors]))
