# SPDX-License-Identifier: GPL-2.0-or-later
"""The account of system calls: the same counts as strace, by thread and class, for every store and over TLS.

Both accounts are cut where a pass of the event loop begins that does nothing, after another one that did nothing: such
passes stand for marker calls, which Squid would have to be made to make, and nothing is under way in any thread of
Squid's then.  The flusher's thread is left out: it writes when it likes, across these cuts, and what it calls is not
told in the pass in which it called.  sqtrace-dump's own reading of strace's file is compared over the whole file, with
all threads.
"""

import collections
import os
import re
import subprocess
import time

from lib import dump, load
from lib.client import Client, at_once
from lib.env import free_port, wait_for
from lib.origin import Origin
from lib.proc import listening
from lib.squid import Squid
from lib.tls import Certificates, FarEnds, secure

NAME = "secure.test"

# The kernel's name to the class, where they differ; and those that no wrapper sees: the C library makes them for itself
# (memory, locks, signals of threads), or nothing that Squid calls directly does, or the trace itself does (timer_settime).
CLASS = {"accept4": "accept", "epoll_pwait": "epoll_wait", "fdatasync": "fsync", "fallocate": "ftruncate",
         "getpeername": "getsockname", "clock_nanosleep": "nanosleep", "pread64": "read", "pwrite64": "write",
         "renameat": "rename", "renameat2": "rename", "pselect6": "select", "socketpair": "socket",
         "newfstatat": "stat", "fstat": "stat", "lstat": "stat", "statfs": "stat", "unlinkat": "unlink",
         "pipe2": "pipe", "dup2": "dup", "dup3": "dup", "statx": "stat", "fstatfs": "stat",
         "ppoll": "poll"}
UNSEEN = {"mmap", "munmap", "brk", "mprotect", "madvise", "futex", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn",
          "getpid", "gettid", "getrandom", "sched_getaffinity", "clone", "clone3", "exit", "set_robust_list", "rseq",
          "getrusage", "restart_syscall", "sched_get_priority_max", "sched_get_priority_min", "sched_setscheduler",
           "tgkill", "timer_settime", "geteuid", "setresuid", "sched_yield", "getdents64"}
LINE = re.compile(r"(\d+) +(\d+\.\d+) (?:<\.\.\. )?(\w+)(?:\(| resumed)(.*)$")


def what(text):
    """What the first descriptor of a call is."""
    path = re.match(r"\d+<(.*?)>[,)]", text)
    if not path:
        return "other"
    if path.group(1).startswith("pipe:"):
        return "pipe"
    return "disk" if path.group(1).startswith("/") and not path.group(1).startswith(("/dev/", "/proc/")) else "other"


def class_of(name, rest):
    """The class of a call, by its arguments."""
    if name in ("open", "openat", "creat"):
        return "open-write" if name == "creat" or "O_WRONLY" in rest or "O_RDWR" in rest else "open-read"
    name = CLASS.get(name, name)
    return name + {"disk": "-disk", "pipe": "-pipe"}.get(what(rest), "") if name in ("read", "write") else name


def all_ended(lines):
    """{class: count} of a thread's calls whose end strace has seen, whoever made them."""
    found, begun = collections.Counter(), None
    for match in lines:
        name, rest = match.group(3), match.group(4)
        ended = re.search(r"<\d+\.\d+>$", rest)
        if match.group(0)[match.start(3) - 5:match.start(3)] == "<... ":
            if ended and begun:
                found[begun] += 1
            begun = None
        elif ended:
            found[class_of(name, rest)] += 1
        elif rest.endswith("<unfinished ...>"):
            begun = class_of(name, rest)
    return found


def straced(lines, since, until):
    """{class: count} of calls of a thread, from its lines, that began in that time."""
    found = collections.Counter()
    # Open directories, and what says how many processors there are: the C library opens, reads and closes them.
    directories, opening = set(), False
    for match in lines:
        if not since <= float(match.group(2)) < until:
            continue
        name, rest = match.group(3), match.group(4)
        if match.group(0)[match.start(3) - 5:match.start(3)] == "<... ":
            if opening and name in ("open", "openat"):
                directories.update(re.findall(r"= (\d+)<", rest))
                opening = False
            continue  # it is counted where it began
        if name in UNSEEN:
            continue
        if '"/etc/localtime"' in rest:
            continue  # the C library looks at it when it turns a time into text
        if "O_DIRECTORY" in rest or '"/sys/devices/system/cpu/' in rest:
            opened = re.findall(r"= (\d+)<", rest)
            directories.update(opened)
            opening = not opened
            continue
        number = re.match(r"\d+", rest)
        if number and number.group() in directories:
            if name == "close":
                directories.remove(number.group())
            continue
        if "cache.log>" in rest and CLASS.get(name, name) in ("read", "write"):
            continue  # stdio
        found[class_of(name, rest)] += 1
    return found


IDLE = {"misc", "epoll_wait", "msgrcv"}  # calls of a pass that did nothing; an idle one looks for answers of diskd


def idle_passes(windows, busy):
    """When those passes begin that do nothing, nor did the one before them, for 1 ms each.

    Not longer: a Squid at rest may do its two things of each second a few milliseconds apart.
    """
    return [at for (before, width_before), (at, width) in zip(windows, windows[1:])
            if min(width, width_before) > 0.001 and at not in busy and before not in busy]


class Straced:
    """strace of some processes of a Squid, and what must agree with it."""

    def __init__(self, env, squid, pids):
        self.env, self.squid = env, squid
        self.path = env.path("strace")
        words = [word for pid in pids for word in ("-p", str(pid))]
        self.strace = subprocess.Popen(["strace", "-f", "-ttt", "-T", "-yy", "-s", "0", "-o", self.path] + words,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env.on_close(self.end)
        wait_for(lambda: os.path.exists(self.path) and all(self.waits(pid) for pid in pids), 20, "strace")
        time.sleep(3)

    def waits(self, pid):
        """Whether strace has seen that process wait for descriptors."""
        return any(line.startswith("%d " % pid) and "epoll_wait" in line for line in open(self.path, errors="replace"))

    def end(self):
        if self.strace:
            self.strace.terminate()
            self.strace.wait(20)
            self.strace = None

    def check(self, kids, least):
        """Compares {kid: pid}, each thread; there must be that many calls."""
        table = dump.Dump(self.env, self.squid.directory, table="syscalls", options=["--group=1ns"])
        start = table.start_ns / 1e9
        rows = table.rows()
        check_sums(self.env, [row for row in rows if row["thread"] == "main"])
        self.lines = collections.defaultdict(list)
        for line in open(self.path, errors="replace"):
            match = LINE.match(line)
            if match:
                self.lines[int(match.group(1))].append(match)
        calls = sum(self.check_process(start, [row for row in rows if int(row["kid"]) == kid], pid)
                    for kid, pid in kids.items())
        self.env.check(calls >= least, "only %d calls were compared" % calls)
        self.check_reader()

    def check_reader(self):
        """The table that sqtrace-dump makes of strace's file has as many calls of each class and thread."""
        theirs = collections.Counter()
        for row in dump.Dump(self.env, self.path, "syscalls", ["--from=strace", "--group=1h"]).rows():
            if row["name"] != "misc":
                theirs[int(row["thread"].split()[1]), row["name"]] += int(row["count"])
        ours = {(tid, name): count for tid, lines in self.lines.items() for name, count in all_ended(lines).items()}
        self.env.note("%d calls of %d threads are in strace's file" % (sum(ours.values()), len(self.lines)))
        for which in sorted(set(ours) | set(theirs)):
            self.env.check(ours.get(which) == theirs[which], "--from=strace, thread %d, %s: %d calls, not %s"
                           % (which + (theirs[which], ours.get(which))))

    def check_process(self, start, rows, pid):
        main = [row for row in rows if row["thread"] == "main"]
        windows = sorted({(start + float(row["time_s"]), float(row["window_s"])) for row in main})
        waits = [float(match.group(2)) for match in self.lines[pid] if " epoll_wait(" in match.group(0)]
        busy = {start + float(row["time_s"]) for row in rows if row["thread"] != "flusher" and row["name"] not in IDLE}
        # Each pass begins with its wait: that is where both accounts are cut.
        idle = [at for at in idle_passes(windows, busy) if waits[0] + 1 < at < waits[-1] - 0.1]
        since, until = idle[0], idle[-1]
        # Strace looks at its clock a little after a call's wrapper did, and before it lets the call go on.
        begin, end = (next(at for at in waits if at > moment - 0.0005) for moment in (since, until))
        self.env.check(max(begin - since, end - until) < 0.02, "strace saw no wait begin then")
        # Threads by the kernel's number.  The flusher works when it likes, across the ends of passes.
        ours = collections.defaultdict(collections.Counter)
        for row in rows:
            # A window is a pass: its wait, then its work.
            if since <= start + float(row["time_s"]) < until and row["name"] != "misc" and row["thread"] != "flusher":
                tid = pid if row["thread"] == "main" else int(row["thread"].split()[1])
                ours[tid][row["name"]] += int(row["count"])
        calls = 0
        for tid in sorted(ours):
            theirs = straced(self.lines[tid], begin, end)
            calls += sum(theirs.values())
            self.env.note("thread %d: %d calls in %.1f s: %s"
                          % (tid, sum(theirs.values()), until - since, dict(theirs)))
            for name in sorted(set(ours[tid]) | set(theirs)):
                self.env.check(ours[tid][name] == theirs[name], "thread %d: %s: %d calls, strace says %d"
                               % (tid, name, ours[tid][name], theirs[name]))
        return calls


GROUPS = "events=client,server,store,loop,syscall"


def by_store(env, kind):
    """Mixed requests; of rock the disker's calls, too."""
    env.need_program("strace")
    origin = Origin(env)
    alone = kind != "rock"
    squid = Squid(env, trace=GROUPS, dirs=[kind], dns=origin.host, alone=alone, dir_mb=64, lines=load.CONF).start()
    kids = {0: squid.process.pid} if alone else {kid: pid for pid, kid in squid.kids().items()
                                                 if pid in squid.worker_pids() + squid.disker_pids()}
    traced = Straced(env, squid, list(kids.values()))
    traffic = load.Mixed(env, squid, origin, seed=25)
    traffic.warm()
    traffic.run(15000 if env.full else 1200, 10)
    time.sleep(4)
    traced.end()
    squid.stop()
    traced.check(kids, 100000 if env.full else 10000)
    if kind == "aufs":
        threads = {row["thread"] for row in dump.table(env, squid.directory, "syscalls", "--group=1h")}
        env.check(len(threads - {"main", "flusher"}) >= 2, "threads: %s" % threads)


TLS_CONF = """
https_port 127.0.0.1:{port} tls-cert={certificate}
tls_outgoing_options cafile={ca}.crt
"""


def over_tls(env):
    """Clients and servers that speak TLS: its library calls through Squid's own functions, so nothing is unseen."""
    env.need_program("strace")
    origin = Origin(env)
    certificates = Certificates(env, NAME, "127.0.0.1")
    far = FarEnds(env, origin, certificates, "tls:0")
    port = free_port()
    squid = Squid(env, trace=GROUPS, dns=origin.host, alone=True, lines=TLS_CONF.format(
        port=port, certificate=certificates.server, ca=certificates.ca))
    with open(os.path.join(squid.folder, "hosts"), "a") as hosts:
        hosts.write("%s %s\n" % (origin.host, NAME))
    squid.start()
    wait_for(lambda: port in listening(), 20, "Squid to listen")
    pid = squid.process.pid
    traced = Straced(env, squid, [pid])

    def work(n):
        for k in range(600 if env.full else 40):
            with Client(("127.0.0.1", port)) as client:
                secure(client, certificates.context(), "127.0.0.1")
                for turn in range(5):
                    path = "/" + origin.url("t%d-%d-%d" % (n, k, turn), size=5000).split("/", 3)[3]
                    response = client.request("https://%s:%d%s" % (NAME, far.ports["tls:0"], path))
                    env.equal((response.status, response.body_size), (200, 5000), "answer")
    at_once(4, work)
    time.sleep(4)
    traced.end()
    squid.stop()
    traced.check({0: pid}, 100000 if env.full else 10000)


def check_sums(env, rows):
    """Classes and misc add up to the window; misc is counted once more than there are calls."""
    windows = collections.defaultdict(list)
    for row in rows:
        windows[row["kid"], row["time_s"]].append(row)
    for at, own in windows.items():
        total = sum(round(float(row["total_s"]) * 1e9) for row in own)
        env.check(abs(total - round(float(own[0]["window_s"]) * 1e9)) < 1000,
                  "the window at %s does not add up" % (at,))
        calls = sum(int(row["count"]) for row in own if row["name"] != "misc")
        misc = [row for row in own if row["name"] == "misc"]
        env.check(len(misc) == 1 and int(misc[0]["count"]) == calls + 1, "misc of the window at %s" % (at,))
        env.check(float(misc[0]["total_s"]) >= 0, "misc is below zero at %s" % (at,))


TESTS = [("system calls as strace counts them: " + kind, lambda env, kind=kind: by_store(env, kind), 400)
         for kind in ("ufs", "aufs", "diskd", "rock")] + [
    ("system calls as strace counts them: TLS", over_tls, 400),
]
