# SPDX-License-Identifier: GPL-2.0-or-later
"""What the oracles of tables and figures share: results, one run of sqtrace-dump, numbers to the last digit."""

import collections
import os
import subprocess

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ["SQT_SOURCE"]
MS = 1000000
SECOND = 1000 * MS
LEAST = 10  # values that a percentile or a share needs
number = 0


def check(holds, name, *why):
    global number
    number += 1
    print("%s %d - %s" % ("ok" if holds else "not ok", number, name), flush=True)
    for line in why if not holds else ():
        print("#", line)


def plan():
    print("1..%d" % number)


def dump(trace, *options):
    """Comments (lists by key) and rows (dicts by column) of one run."""
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--quiet", *options, trace], check=True,
                          stdout=subprocess.PIPE, timeout=120).stdout.decode()
    comments, table = collections.defaultdict(list), []
    for line in text.split("\n")[:-1]:
        if line.startswith("# "):
            key, value = line[2:].split(": ", 1)
            comments[key].append(value)
        else:
            table.append(line.split("\t"))
    return comments, [dict(zip(table[0], row)) for row in table[1:]], table[0]


def whole(text):
    """A number of any kind as an integer of its last digit; None if it is missing."""
    return None if text == "-" else int(text.replace(".", ""))


def fixed(value, decimals):
    if value is None:
        return "-"
    sign, value = ("-", -value) if value < 0 else ("", value)
    return "%s%d.%0*d" % (sign, value // 10**decimals, decimals, value % 10**decimals)


def ms(value):
    return fixed(value, 6)


def milli(value):
    return fixed(value, 3)


def median(values):
    values = sorted(values)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    return (low + high) // 2


def quantile(values, per_mille):
    return sorted(values)[max(-(-len(values) * per_mille // 1000), 1) - 1]


def share(part, of):
    return milli((part * 100000 + of // 2) // of if of >= LEAST else None)
