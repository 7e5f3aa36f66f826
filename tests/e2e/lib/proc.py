# SPDX-License-Identifier: GPL-2.0-or-later
"""What /proc says about processes."""

import glob
import os


def children(pid):
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path) as file:
                found.extend(int(word) for word in file.read().split())
        except OSError:
            pass
    return found


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read()
    except OSError:
        return b""


def alive(pid):
    """Whether pid runs (a zombie does not)."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def stopped(pid):
    """Whether pid stands still after SIGSTOP, which a busy machine takes a moment for."""
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def threads(pid):
    try:
        return len(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return 0


def listening():
    """TCP ports of IPv4 that something listens on now."""
    with open("/proc/net/tcp") as table:
        return {int(words[1].split(":")[1], 16) for words in map(str.split, table) if words[3] == "0A"}
