#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dump_drafts.py - what --output leaves under a name: the whole output, or what was there before.

The other cases are in dump_cli.sh, and those without memory in torture.py.
"""
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import refused  # noqa: E402
from told import check, plan, until  # noqa: E402

TOOLS, SOURCE = os.environ["SQT_TOOLS"], os.environ["SQT_SOURCE"]
DUMP, MAKE = os.path.join(TOOLS, "sqtrace-dump"), os.path.join(TOOLS, "tests/unit/make_hostile")
TRACE = os.path.join(SOURCE, "tests/golden/good.sqt")
ROOT = os.geteuid() == 0
NOBODY = 65534


def dump(*words, trace=TRACE, **more):
    return subprocess.run([DUMP, "--quiet", *words, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


def other_group():
    """A group that files may get, other than that of new ones; None: there is none."""
    mine = [NOBODY] if ROOT else [group for group in os.getgroups() if group != os.getegid()]
    return mine[0] if mine else None


# ---- who may read it ----

def replaced(scratch):
    """A file that is replaced keeps its mode and its group."""
    path, group = os.path.join(scratch, "replaced"), other_group()
    if group is None:
        check(True, "a file that is replaced keeps its group", skip="this user is in one group only")
        return
    with open(path, "w", encoding="ascii") as file:
        file.write("before\n")
    os.chown(path, -1, group)
    os.chmod(path, 0o640)
    number = os.stat(path).st_ino
    got, now = dump("--output=" + path), os.stat(path)
    check(got.returncode == 0 and (now.st_gid, stat.S_IMODE(now.st_mode)) == (group, 0o640) and now.st_ino != number and now.st_size > 100,
          "a file that is replaced keeps its group and its mode", got.stdout, now)


def refused_group(scratch):
    """If a new file cannot get the group, the old one is written to: nobody loses a file that he could read."""
    path, group = os.path.join(scratch, "refused-group"), other_group()
    if group is None or refused.known():
        check(True, "a file whose group a new one cannot get", skip=refused.known() or "this user is in one group only")
        return
    with open(path, "w", encoding="ascii") as file:
        file.write("before\n")
    os.chown(path, -1, group)
    number = os.stat(path).st_ino
    got, now = dump("--output=" + path, preexec_fn=refused.calls(("fchown", errno.EPERM))), os.stat(path)
    check(got.returncode == 0 and now.st_gid == group and now.st_ino == number and now.st_size > 100 and os.listdir(scratch).count("refused-group") == 1
          and not [name for name in os.listdir(scratch) if ".part-" in name], "a file whose group a new one cannot get is written in its place", got.stdout, now)


def setgid(scratch):
    """A folder in a folder that gives its group to what is made in it gives it, too."""
    folder, group = os.path.join(scratch, "shared"), other_group()
    os.mkdir(folder)
    if group is not None:
        os.chown(folder, -1, group)
    os.chmod(folder, 0o2775)
    if not os.stat(folder).st_mode & stat.S_ISGID:
        check(True, "the bit of a folder that gives its group", skip="this user cannot set it")
        return
    made = os.path.join(folder, "ctf")
    got = dump("--format=ctf", "--output=" + made)
    inner = {os.stat(os.path.join(made, name)).st_gid for name in os.listdir(made)}
    check(got.returncode == 0 and os.stat(made).st_mode & stat.S_ISGID and inner == {os.stat(folder).st_gid},
          "a new folder keeps the group of the one it is in, and gives it to its files", got.stdout, oct(os.stat(made).st_mode), inner)


# ---- its name ----

def without_flags(scratch):
    """NFS and others know no RENAME_NOREPLACE: a folder gets its name all the same, and replaces nothing."""
    if refused.known():
        check(True, "a file system that knows no RENAME_NOREPLACE", skip=refused.known())
        return
    for error in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        made = os.path.join(scratch, "flagless-%d" % error)
        got = dump("--format=ctf", "--output=" + made, preexec_fn=refused.calls(("renameat2", error)))
        check(got.returncode == 0 and len(os.listdir(made)) > 1, "a folder gets its name where the file system knows no flags: %s" % os.strerror(error), got.stdout)
    made = os.path.join(scratch, "flagless-io")
    got = dump("--format=ctf", "--output=" + made, preexec_fn=refused.calls(("renameat2", errno.EIO)))
    check(got.returncode == 1 and "Input/output error" in got.stdout and not [name for name in os.listdir(scratch) if "flagless-io" in name],
          "another error is one, and leaves nothing", got.stdout, os.listdir(scratch))


def mounted(scratch):
    """A file that is mounted there cannot be replaced: it is written to."""
    path, other = os.path.join(scratch, "mounted"), os.path.join(scratch, "other")
    script = 'mount --bind "$1" "$2" && exec "$3" --quiet --output="$2" "$4"'
    for one in (path, other):
        with open(one, "w", encoding="ascii") as file:
            file.write("before\n" * 10000)
    can = subprocess.run(["unshare", "-m", "mount", "--bind", other, path], stderr=subprocess.DEVNULL, check=False).returncode == 0 if ROOT else False
    if not can:
        check(True, "a file that is mounted on another one", skip="takes the right to mount")
        return
    got = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", other, path, DUMP, TRACE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    with open(other, encoding="ascii") as file:
        text = file.read()
    check(got.returncode == 0 and text == dump().stdout, "a file that is mounted there gets the output", got.stdout, text[:80])


# ---- who is interrupted ----

def interrupted(scratch):
    """A signal while a file is being written leaves what was there before."""
    trace = os.path.join(scratch, "large.sqt")
    subprocess.run([MAKE, "one-id", "1", trace], check=True)
    subprocess.run([MAKE, "one-id", str(os.path.getsize(trace) + 200000), trace], check=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        folder = os.path.join(scratch, "interrupted-%d" % number)
        path = os.path.join(folder, "events")
        os.mkdir(folder)
        with open(path, "w", encoding="ascii") as file:
            file.write("before\n")
        words = [DUMP, "--quiet", "--table=events", "--output=" + path, trace]
        # A shell has what it starts in the background ignore SIGINT.
        with subprocess.Popen(words, stderr=subprocess.PIPE, preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL)) as child:
            half = until(lambda: [one.name for one in os.scandir(folder) if ".part-" in one.name and one.stat().st_size], 60, "it is being written")
            child.send_signal(number)
            said = child.stderr.read()
        with open(path, encoding="ascii") as file:
            text = file.read()
        check(half and child.returncode == -number and os.listdir(folder) == ["events"] and text == "before\n",
              "%s while a file is being written leaves what was there" % signal.Signals(number).name, child.returncode, os.listdir(folder), said, text[:80])


def ignored(scratch):
    """A signal that the caller ignores, as nohup has it, ends nothing."""
    trace, folder = os.path.join(scratch, "large.sqt"), os.path.join(scratch, "ignored")
    path = os.path.join(folder, "events")
    os.mkdir(folder)
    words = [DUMP, "--quiet", "--table=events", "--until=1s", "--output=" + path, trace]
    with subprocess.Popen(words, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as child:
        until(lambda: os.listdir(folder), 60, "it is being written")
        child.send_signal(signal.SIGHUP)
        time.sleep(0.1)
        running = child.poll() is None
        if running:
            child.terminate()
    check(child.returncode in (0, -signal.SIGTERM) and (running or os.listdir(folder) == ["events"]), "SIGHUP that is ignored stays ignored", child.returncode)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for case in (replaced, refused_group, setgid, without_flags, mounted, interrupted, ignored):
            case(scratch)
    plan()


main()
