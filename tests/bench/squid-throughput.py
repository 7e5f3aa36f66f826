#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Squid's throughput with tracing, as a paired ratio to an unpatched Squid, interleaved.

All variants run side by side, idle but for the one that is driven.  A round drives each for some seconds, in an order
that turns; the ratio is taken within the round.  Printed: the median ratio, its 95 % interval (order statistics of the
median), and beside it the ratio of an unpatched Squid to itself: the noise.
"""

import math
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from squids import VARIANTS, WORKLOADS, arguments, environment, nginx, variant  # noqa: E402
from lib.env import median  # noqa: E402

SCRIPT = """
local n = 0
local id = "%s"
request = function()
  n = n + 1
  return wrk.format("GET", "http://127.0.0.1:%d/" .. (%s))
end
"""


def drive(env, squid, origin, workload, seconds, salt):
    """Requests per second through squid."""
    path = env.path("wrk.lua")
    with open(path, "w") as out:
        out.write(SCRIPT % (salt, origin, "id .. '-' .. n" if workload == "miss" else "'o' .. (n % 50)"))
    text = subprocess.run([env.need_program("wrk"), "-t1", "-c16", "-d%gs" % seconds, "-s", path,
                           "http://127.0.0.1:%d/" % squid.port], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit("%s: %s" % (squid.name, text))
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))


def interval(values):
    """95 % interval of the median by order statistics."""
    values = sorted(values)
    n = len(values)
    k = max(0, int(n / 2 - 0.98 * math.sqrt(n)))
    return values[k], values[n - 1 - k]


def main():
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    env = environment(options)
    try:
        origin = nginx(env)
        print("%-16s %-16s %10s %8s   %s" % ("workload", "Squid", "requests/s", "ratio", "95 % interval"))
        for workload in options.workload or WORKLOADS:
            squids = {name: variant(env, name, workload).start() for name in VARIANTS}
            rates = {name: [] for name in VARIANTS}
            names = list(VARIANTS)
            for name in names:
                drive(env, squids[name], origin, workload, 2, "warm")
            for turn in range(options.rounds):
                for name in names[turn % len(names):] + names[:turn % len(names)]:
                    rates[name].append(drive(env, squids[name], origin, workload, options.seconds, "r%d" % turn))
                    time.sleep(0.2)
            for name in names:
                ratios = [a / b for a, b in zip(rates[name], rates["unpatched"])]
                low, high = interval(ratios)
                print("%-16s %-16s %10.0f %8.4f   %.4f .. %.4f" % (workload, name, median(rates[name]), median(ratios),
                                                                   low, high), flush=True)
            for squid in squids.values():
                squid.stop()
    finally:
        env.close()


if __name__ == "__main__":
    main()
