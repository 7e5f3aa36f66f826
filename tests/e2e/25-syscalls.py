# SPDX-License-Identifier: GPL-2.0-or-later
"""The account of system calls: the same counts as strace, by thread and class."""

import calendar
import collections
import os
import re
import subprocess
import time

from lib import dump, load
from lib.env import wait_for
from lib.origin import Origin
from lib.squid import Squid

# The kernel's name to the class, where they differ; those that no wrapper sees are "": the C library makes them for
# itself (memory, locks, signals of threads), or nothing that Squid calls directly does.
CLASS = {"accept4": "accept", "epoll_pwait": "epoll_wait", "fdatasync": "fsync", "fallocate": "ftruncate",
         "getpeername": "getsockname", "clock_nanosleep": "nanosleep", "pread64": "read", "pwrite64": "write",
         "renameat": "rename", "renameat2": "rename", "pselect6": "select", "socketpair": "socket",
         "newfstatat": "stat", "fstat": "stat", "lstat": "stat", "statfs": "stat", "unlinkat": "unlink",
         "pipe2": "pipe", "dup2": "dup"}
UNSEEN = {"mmap", "munmap", "brk", "mprotect", "madvise", "futex", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn",
          "getpid", "gettid", "getrandom", "sched_getaffinity", "clone", "clone3", "exit", "set_robust_list", "rseq",
          "getrusage", "restart_syscall", "tgkill", "geteuid", "setresuid", "sched_yield", "getdents64"}
LINE = re.compile(r"(\d+) +(\d+\.\d+) (?:<\.\.\. )?(\w+)(?:\(| resumed)(.*)$")


def what(text):
    """What the first descriptor of a call is."""
    path = re.match(r"\d+<(.*?)>[,)]", text)
    if not path:
        return "other"
    if path.group(1).startswith("pipe:"):
        return "pipe"
    return "disk" if path.group(1).startswith("/") and not path.group(1).startswith(("/dev/", "/proc/")) else "other"


def straced(path, pid, since, until):
    """{class: count} of calls of a thread that began in that time, and how many there were."""
    found = collections.Counter()
    directories = set()  # open ones: opendir() and closedir() of the C library open, look at and close them
    for line in open(path, errors="replace"):
        match = LINE.match(line)
        if not match or int(match.group(1)) != pid or not since <= float(match.group(2)) < until:
            continue
        name, rest = match.group(3), match.group(4)
        if "<... " in line.split(name)[0] or name in UNSEEN:
            continue  # it is counted where it began
        if '"/etc/localtime"' in rest:
            continue  # the C library looks at it when it turns a time into text
        if "O_DIRECTORY" in rest:
            directories.add(re.search(r"= (\d+)<", rest).group(1))
            continue
        number = re.match(r"\d+", rest)
        if number and number.group() in directories:
            if name == "close":
                directories.remove(number.group())
            continue
        if name in ("open", "openat", "creat"):
            name = "open-write" if name == "creat" or "O_WRONLY" in rest or "O_RDWR" in rest else "open-read"
        elif CLASS.get(name, name) in ("read", "write"):
            kind = what(rest)
            if "cache.log>" in rest:
                continue  # stdio
            name = CLASS.get(name, name) + {"disk": "-disk", "pipe": "-pipe"}.get(kind, "")
        found[CLASS.get(name, name)] += 1
    return found


def wall(text):
    whole, part = re.match(r"(\d+-\d+-\d+T\d+:\d+:\d+)(\.\d+)?Z", text).groups()
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(part or 0)


def quiet_moment(passes, busy):
    """The middle of the first pass of at least 0.3 s that did nothing but wait."""
    return next(at + width / 2 for at, width in passes if width > 0.3 and at not in busy)


def compared(env, kind, requests):
    env.need_program("strace")
    origin = Origin(env)
    squid = Squid(env, trace="events=client,server,store,loop,syscall", dirs=[kind], dns=origin.host, alone=True,
                  lines=load.CONF).start()
    pid = squid.process.pid
    path = env.path("strace")
    strace = subprocess.Popen(["strace", "-f", "-ttt", "-T", "-yy", "-s", "0", "-o", path, "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(path) and "epoll_wait" in open(path, errors="replace").read(), 20, "strace")
        time.sleep(3)
        traffic = load.Mixed(env, squid, origin, seed=25)
        traffic.warm()
        traffic.run(requests, 10)
        time.sleep(4)
    finally:
        strace.terminate()
        strace.wait(20)
    squid.stop()
    table = dump.Dump(env, squid.directory, table="syscalls", options=["--group=1ns"])
    start = wall(table.comments()["start"])
    rows = [row for row in table.rows() if row["thread"] == "main"]
    windows = sorted({(start + float(row["time_s"]), float(row["window_s"])) for row in rows})
    lines = [line for line in open(path, errors="replace") if LINE.match(line)]
    first, last = (float(LINE.match(line).group(2)) for line in (lines[0], lines[-1]))
    busy = {start + float(row["time_s"]) for row in rows if row["name"] not in ("misc", "epoll_wait")}
    since = quiet_moment([w for w in windows if first < w[0]], busy)
    until = quiet_moment([w for w in reversed(windows) if w[0] + w[1] < last], busy)
    ours = collections.Counter()
    for row in rows:
        # A window is a pass: its wait, then its work.
        begin = start + float(row["time_s"])
        if since <= begin < until and row["name"] != "misc":
            ours[row["name"]] += int(row["count"])
    theirs = straced(path, pid, since, until)
    env.note("%d calls in %.1f s: %s" % (sum(theirs.values()), until - since, dict(theirs)))
    for name in sorted(set(ours) | set(theirs)):
        env.check(ours[name] == theirs[name], "%s: %d calls, strace says %d" % (name, ours[name], theirs[name]))
    check_sums(env, rows)


def check_sums(env, rows):
    """Classes and misc add up to the window; misc is counted once more than there are calls."""
    windows = collections.defaultdict(list)
    for row in rows:
        windows[row["time_s"]].append(row)
    for at, own in windows.items():
        total = sum(round(float(row["total_s"]) * 1e9) for row in own)
        env.check(abs(total - round(float(own[0]["window_s"]) * 1e9)) < 1000, "the window at %s does not add up" % at)
        calls = sum(int(row["count"]) for row in own if row["name"] != "misc")
        misc = [row for row in own if row["name"] == "misc"]
        env.check(len(misc) == 1 and int(misc[0]["count"]) == calls + 1, "misc of the window at %s" % at)
        env.check(float(misc[0]["total_s"]) >= 0, "misc is below zero at %s" % at)


TESTS = [
    ("system calls as strace counts them: ufs", lambda env: compared(env, "ufs", 3000), 180),
]
