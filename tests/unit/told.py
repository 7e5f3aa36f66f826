# SPDX-License-Identifier: GPL-2.0-or-later
"""told.py - what tests in Python share that wait and tell: lines of TAP, from any thread, and a wait for a condition."""

import threading
import time

TELLS = threading.Lock()
told = 0


def check(good, name, *more):
    global told
    with TELLS:
        told += 1
        print("%s %d - %s" % ("ok" if good else "not ok", told, name), flush=True)
        for line in more if not good else ():
            print("# %s" % (line,), flush=True)


def plan():
    print("1..%d" % told)


def until(condition, seconds, what):
    """What the condition gives once it is true; it is asked again and again, so many seconds at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("not within %d s: %s" % (seconds, what))
