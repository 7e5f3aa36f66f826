# SPDX-License-Identifier: GPL-2.0-or-later
"""told.py - what tests in Python share that wait and tell: lines of TAP, from any thread, and a wait for a condition."""

import os
import shutil
import signal
import sys
import threading
import time
import traceback

TELLS = threading.Lock()
told = 0


def check(good, name, *more, skip=""):
    """One case; more is told where it fails, and skip says why it was not tried."""
    global told
    with TELLS:
        told += 1
        print("%s %d - %s%s" % ("ok" if good else "not ok", told, name, " # SKIP " + skip if skip else ""), flush=True)
        for line in more if not good else ():
            print("# %s" % (line,), flush=True)
    return good


def plan():
    print("1..%d" % told)


def all_said(stream):
    """What a program has written into this file so far.  The program shares the file's position, which therefore stays."""
    return os.pread(stream.fileno(), os.fstat(stream.fileno()).st_size, 0).decode()


def broken(kind, error, where):
    """A test that ends early is a failed case, whose name says why."""
    check(False, "the test ends early: %s" % (error or kind.__name__), *"".join(
        traceback.format_exception(kind, error, where)).splitlines())
    plan()


sys.excepthook = broken


def until(condition, seconds, what):
    """What the condition gives once it is true; it is asked again and again, so many seconds at most."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("not within %d s: %s" % (seconds, what))


def copy_at_once(paths, folder, follower):
    """Copies files into a folder.  The process that follows it is stopped meanwhile, so it finds all of them, and whole."""
    follower.send_signal(signal.SIGSTOP)
    os.waitpid(follower.pid, os.WUNTRACED)
    try:
        for path in paths:
            shutil.copy(path, folder)
    finally:
        follower.send_signal(signal.SIGCONT)
