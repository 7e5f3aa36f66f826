#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""torture.py - memory ends: the first, second, third ... allocation of a run fails.

libsqtrace goes on without tracing, says so, and loses nothing that a trace has already. Programs end with status 1 and one
line. SQT_FULL=1 lets the first 1,000 allocations of each case fail, and then 200 at random; without it there are fewer.
SQT_TORTURE=WORD runs the cases whose names have it, and SQT_TORTURE_AT=N lets N fail alone and shows its callers.
"""
import os
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
import tortured  # noqa: E402
from shipped import SAMPLE, SOURCE, check, frames  # noqa: E402
from torture_cases import CASES  # noqa: E402

FULL = os.environ.get("SQT_FULL")


def cut(to, blocks):
    """The sample's beginning: so many blocks of each kid."""
    os.mkdir(to)
    for name in sorted(os.listdir(SAMPLE)):
        header, found = frames(os.path.join(SAMPLE, name))
        size = [i for i, one in enumerate(found) if one[0] == shipped.FRAME_BLOCK][:blocks][-1] + 1
        with open(os.path.join(to, name), "wb") as file:
            file.write(header + b"".join(one[1] for one in found[:size]))
        os.chmod(os.path.join(to, name), 0o600)


def report(case, runs, count, wrong):
    text = "%s: %d of %d allocations fail" % (case.name, runs, count)
    check(not wrong and runs, text, *["%d of them" % len(wrong)] + [line for one in wrong[:int(os.environ.get("SQT_TORTURE_SHOWN", "5"))] for line in one.splitlines()])


def main():
    seed = os.environ.get("SQT_SEED") or str(random.randrange(1 << 30))
    print("# SQT_SEED=" + seed)
    word = os.environ.get("SQT_TORTURE", "")
    cases = [case for case in CASES if re.search(word, case.name)]
    first, more = (1000, 200) if FULL else (0, 15)
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "trace")
        cut(trace, 2)
        if os.environ.get("SQT_TORTURE_AT"):
            os.environ["SQT_TORTURE_SHOW"] = "1"
            at = os.environ["SQT_TORTURE_AT"]
            for case in cases:
                run = case.run(scratch, trace, int(at.strip("+")), at.endswith("+"))
                print(case.name, run.status, run.out[-500:], run.err, sorted(run.left), sep="\n")
            return
        tortured.torture(cases, trace, first, more, seed, report)
    shipped.plan()


main()
