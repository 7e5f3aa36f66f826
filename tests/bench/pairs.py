# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that are compared run at the same time and share one processor, so what else the machine does meets them
alike; clients, origins and the rest are on the other processors."""

import math
import os


def apart():
    """Leaves one processor alone, this process and what it starts to the others.  Returns its number."""
    processors = os.sched_getaffinity(0)
    if len(processors) < 2:
        raise SystemExit("this needs two processors: one for what is compared, and one for all else")
    os.sched_setaffinity(0, processors - {min(processors)})
    return min(processors)


def interval(values):
    """95 % interval of the median by order statistics."""
    values = sorted(values)
    n = len(values)
    k = max(0, int(n / 2 - 0.98 * math.sqrt(n)))
    return values[k], values[n - 1 - k]
