# SPDX-License-Identifier: GPL-2.0-or-later
"""A small file system, and one without room."""

import os

from .env import Skip, run


def small_tmpfs(env, path, size, mode="0755"):
    """Mounts it on a new folder; size as mount(8) has it."""
    env.need_root("mounts a small tmpfs")
    os.mkdir(path)
    done = run(["mount", "-t", "tmpfs", "-o", "mode=%s,size=%s" % (mode, size), "none", path])
    if done.returncode:
        raise Skip("cannot mount a tmpfs: " + done.stderr.strip())
    env.on_close(lambda: run(["umount", "-l", path]))


def fill(path):
    """Takes all room of a file system; returns the file that does."""
    name = os.path.join(path, "filler")
    with open(name, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
        try:
            while True:
                file.write(b"\0" * 512)
        except OSError:
            pass
    return name
