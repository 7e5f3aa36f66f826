# SPDX-License-Identifier: GPL-2.0-or-later
"""Directories that Squid cannot use for its trace: one clear line each, and it goes on serving."""

import os
import time

from lib import dump, ring
from lib.client import Client
from lib.env import run, wait_for
from lib.origin import Origin
from lib.small_disk import fill, small_tmpfs
from lib.squid import Squid, ring_notes


def serves(env, squid, origin, what):
    """Squid runs and answers, whatever became of its trace."""
    with Client(squid.client_address()) as client:
        env.equal(client.request(origin.url("x"), "x").status, 200, what + ": a request")


def complaints(squid):
    return [line for line in squid.log_text().split("\n")
            if "sqtrace" in line and ("WARNING" in line or "ERROR" in line)]


def bad_directories(env):
    origin = Origin(env)
    made = {}
    made["missing"] = env.path("no", "such", "directory")
    made["a file"] = env.path("file")
    open(made["a file"], "w").close()
    made["unwritable"] = env.path("unwritable")
    os.mkdir(made["unwritable"], 0o755)  # root's, not Squid's
    made["dangling link"] = env.path("dangling")
    os.symlink("/nowhere/at/all", made["dangling link"])
    made["writable by all"] = env.path("shared")
    os.mkdir(made["writable by all"])
    os.chmod(made["writable by all"], 0o1777)
    made["key readable by all"] = env.path("known")
    os.mkdir(made["key readable by all"])
    key = os.path.join(made["key readable by all"], "sqtrace.key")
    with open(key, "wb") as file:
        file.write(b"0123456789abcdef")
    os.chmod(key, 0o644)
    for number, (what, directory) in enumerate(made.items()):
        squid = Squid(env, "squid%d" % number, trace="", directory=directory, dns=origin.host)
        if what in ("writable by all", "key readable by all"):
            squid.give(directory)
            squid.give(key)
        squid.start()
        serves(env, squid, origin, what)
        lines = complaints(squid)
        env.check(len(lines) == 1 and directory in lines[0], "%s: cache.log says %s" % (what, lines))
        env.check("off" in squid.manager("sqtrace")[1], what + ": mgr:sqtrace does not say off")
        env.equal(squid.stop(), 0, what + ": exit status")
    if os.geteuid() != 0:
        return
    target = env.path("target")
    os.mkdir(target)
    link = env.path("link")
    os.symlink(target, link)
    squid = Squid(env, "linked", trace="", directory=link, dns=origin.host)
    squid.give(target)
    squid.start()
    serves(env, squid, origin, "a link to a directory")
    squid.stop()
    env.equal(complaints(squid), [], "a link to a directory")
    env.check(dump.segments(target), "no segment behind the link")


def full_directory(env):
    """No room from the start: Squid serves, says so once, and the trace begins when there is room."""
    directory = env.path("full")
    small_tmpfs(env, directory, "1M")
    filler = fill(directory)
    origin = Origin(env)
    squid = Squid(env, trace="", directory=directory, dns=origin.host)
    squid.give(directory)
    squid.start()
    serves(env, squid, origin, "a full directory")
    wait_for(lambda: complaints(squid), 10, "a line about the full directory")
    lines = complaints(squid)
    env.check(len(lines) == 1 and directory in lines[0], "a full directory: cache.log says %s" % lines)
    os.unlink(filler)
    time.sleep(3)
    serves(env, squid, origin, "room again")
    squid.stop()
    if "off" not in lines[0]:
        env.equal(len(dump.table(env, directory, "requests")), 2, "rows of requests")


def symlink_in_the_way(env):
    """Names that are taken, by links too, are never followed."""
    origin = Origin(env)
    precious = env.path("precious")
    with open(precious, "w") as file:
        file.write("precious\n")
    os.chmod(precious, 0o666)
    # plain: a second count would take the links for segments
    squid = Squid(env, trace="", dns=origin.host, plain=True).start()
    serves(env, squid, origin, "first")
    squid.stop()
    names = os.listdir(squid.directory)
    for name in names:
        path = os.path.join(squid.directory, name)
        os.unlink(path)
        os.symlink(precious, path)
    squid.start()
    serves(env, squid, origin, "links in the way")
    squid.rotate()
    time.sleep(0.5)
    squid.stop()
    with open(precious) as file:
        env.equal(file.read(), "precious\n", "the file that the links lead to")


def bad_ringdir(env):
    origin = Origin(env)
    disk = env.path("disk")
    os.mkdir(disk)
    cases = {"not tmpfs": disk, "missing": env.path("nowhere"), "not a directory": "/dev/null"}
    if os.geteuid() == 0:
        small = env.path("smallshm")
        small_tmpfs(env, small, "20M", "1777")
        cases["too small for three rings"] = small
        kind = run(["stat", "-f", "-c", "%T", disk]).stdout.strip()
        if kind == "tmpfs":
            del cases["not tmpfs"]
    for number, (what, ringdir) in enumerate(cases.items()):
        squid = Squid(env, "squid%d" % number, trace="ring=8MB ringdir=" + ringdir, dns=origin.host)
        if os.path.isdir(ringdir) and what != "too small for three rings":
            squid.give(ringdir)
        squid.start()
        serves(env, squid, origin, what)
        lines = complaints(squid)
        env.check(len(lines) == 1 and ringdir in lines[0], "ringdir %s: cache.log says %s" % (what, lines))
        env.equal(squid.stop(), 0, what + ": exit status")
        if os.path.isdir(ringdir):
            env.equal(os.listdir(ringdir), [], "ringdir %s: files" % what)


def two_squids(env):
    """Two Squids on one directory: neither harms the other, and both are decoded."""
    origin = Origin(env)
    shared = env.path("shared")
    os.mkdir(shared)
    squids = [Squid(env, name, trace="segment=1MB keep=2MB", directory=shared, dns=origin.host)
              for name in ("one", "two")]
    squids[0].give(shared)
    for squid in squids:
        squid.start()
    for turn in range(3):
        for squid in squids:
            with Client(squid.client_address()) as client:
                for n in range(50):
                    client.request(origin.url("o%d" % n), squid.name)
            squid.rotate()
        time.sleep(0.3)
    env.equal(len(ring_notes(shared)), 2, "rings of two running Squids")
    squids[0].kill_all()
    squids[0].start()  # its left-over ring is its own business; the other's live ring is not
    wait_for(lambda: len(ring_notes(shared)) == 2, 10, "two rings after one Squid was killed and started again")
    with Client(squids[0].client_address()) as client:
        for n in range(50):
            client.request(origin.url("o%d" % n), "again")
    with Client(squids[1].client_address()) as client:
        for n in range(50):
            client.request(origin.url("o%d" % n), "again")
    for squid in squids:
        env.equal(complaints(squid), [], "complaints of " + squid.name)
        env.equal(squid.stop(), 0, "exit status of " + squid.name)
    found = ring.numbers(shared)
    env.equal(len(found), 3, "ring ids")
    for entry in found.values():
        env.equal(entry.problems(), [], "record numbers")
    env.equal(len(dump.table(env, shared, "requests")), 400, "rows of requests")


TESTS = [
    ("impossible trace directories", bad_directories, 90),
    ("a trace directory that is full from the start", full_directory, 60),
    ("links in the way of files", symlink_in_the_way, 60),
    ("impossible ring directories", bad_ringdir, 90),
    ("two Squids on one directory", two_squids, 90),
]
