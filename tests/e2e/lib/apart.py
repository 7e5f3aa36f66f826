# SPDX-License-Identifier: GPL-2.0-or-later
"""A test in a process and a folder of its own: what ends all that it started, and what watches the machine meanwhile."""

import glob
import os
import signal
import subprocess
import time

from .native import SOURCE, compile_
from .squid import ring_notes

MARK = "SQTRACE_E2E_FOLDER"  # the environment's variable that names the folder


def end_marked(folder):
    """Ends every process that the test left behind: those whose environment names its folder."""
    wanted = ("%s=%s" % (MARK, folder)).encode()
    for attempt in range(3):
        found = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = int(path.split("/")[2])
            try:
                with open(path, "rb") as file:
                    if wanted in file.read().split(b"\0") and pid != os.getpid():
                        found.append(pid)
            except OSError:
                continue
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not found:
            break
        time.sleep(0.2)


def remove_rings(folder):
    """Rings of killed writers, which small files in their trace directories name."""
    for path, _, files in os.walk(folder):
        for ring in ring_notes(path) if any(name.endswith(".ring") for name in files) else ():
            try:
                os.unlink(ring)
            except OSError:
                pass


def start_holdups(top):
    """Begins to watch when the machine is held up; returns (the process, the file that it writes)."""
    program, path = os.path.join(top, "holdups"), os.path.join(top, "holdups.log")
    compile_([os.path.join(SOURCE, "holdups.c"), "-o", program, "-lpthread"])
    with open(path, "w") as log:
        return subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=log), path
