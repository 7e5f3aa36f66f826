# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace.conf, the file beside squid.conf: what a Squid with the hooks makes of it, and one without."""

import os
import re
import shutil
import socket
import tempfile
import time

from lib import dump
from lib.client import Client
from lib.env import Skip, run, wait_for, with_unpatched
from lib.origin import Origin
from lib.squid import Squid

WARNING = "WARNING: sqtrace: "


class Beside(Squid):
    """A Squid whose directive is in sqtrace.conf."""

    def __init__(self, env, name="squid", **options):
        super().__init__(env, name, plain=True, **options)
        os.makedirs(self.directory, exist_ok=True)
        self.give(self.directory)

    @property
    def file(self):
        return os.path.join(self.folder, "sqtrace.conf")

    def put(self, text=None, mode=0o644):
        """The text, or the directive alone; None in place of it removes the file."""
        content = "sqtrace_log %s\n" % self.directory if text is None else text
        with open(self.file + ".new", "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(self.file + ".new", mode)
        os.replace(self.file + ".new", self.file)
        return self

    def warnings(self):
        return [line for line in self.log_text().split("\n") if WARNING in line]

    def state(self):
        """The line of mgr:sqtrace; after a reconfiguration it may stand in a block of its kid's."""
        found = re.search("state: .*", self.manager("sqtrace")[1])
        return found.group() if found else "no state"


def request(squid, origin, name="x"):
    with Client(squid.client_address()) as client:
        return client.request(origin.url(name), name).status


def serves_untraced(env, squid, origin, what, expected):
    """Squid starts and serves, says so once, and does not trace."""
    squid.start()
    env.equal(request(squid, origin), 200, what + ": a request")
    env.equal(squid.state(), "state: off", what)
    said = squid.warnings()
    env.check(len(said) == 1 and expected in said[0] and said[0].endswith("; tracing is off"),
              "%s: expected one WARNING with %r: %s" % (what, expected, said))
    page = squid.manager("sqtrace")[1]
    env.check(expected in page, "%s: mgr:sqtrace does not say why: %s" % (what, page))
    env.equal(squid.stop(), 0, what + ": exit status")
    env.equal(dump.segments(squid.directory), [], what + ": segments")


def refused_by_parse(env, squid, what, expected):
    status, said = squid.parse()
    env.check(status != 0, what + ": squid -k parse accepts it")
    lines = [line for line in said.split("\n") if "FATAL" in line and expected in line]
    env.check(len(lines) == 1, "%s: no FATAL line with %r: %s" % (what, expected, said[-600:]))


def file_traces(env):
    """Comments, macros, lines that go on; and what a trace has of it."""
    origin = Origin(env)
    squid = Beside(env, dns=origin.host)
    squid.put("# a comment\r\n\n  sqtrace_log %s/${process_number} \\\n# in between\n  ring=1MB # the rest\n" % squid.directory)
    for kid in ("0", "1"):
        os.mkdir(os.path.join(squid.directory, kid))
        squid.give(os.path.join(squid.directory, kid))
    status, said = squid.parse()
    env.equal(status, 0, "squid -k parse: " + said[-300:])
    squid.start()
    env.equal(request(squid, origin), 200, "a request")
    env.equal(squid.state(), "state: tracing", "mgr:sqtrace")
    env.check("ring capacity (records): 32768\n" in squid.manager("sqtrace")[1], "the ring has not 1 MB")
    env.equal(squid.warnings(), [], "warnings")
    squid.stop()
    env.equal(len(dump.table(env, os.path.join(squid.directory, "1"), "requests")), 3, "rows: a request and two pages")
    squid.alone = True
    squid.start()
    env.equal(squid.state(), "state: tracing", "squid -N")
    squid.stop()
    env.check(dump.segments(os.path.join(squid.directory, "0")), "squid -N: no segment")


def bad_contents(env):
    origin = Origin(env)
    cases = [("a bad value", "\nsqtrace_log {dir} ring=0\n", ":2: sqtrace_log: ring=0 is too small"),
             ("no directory", "sqtrace_log\n", ":1: sqtrace_log: needs a directory"),
             ("a relative one", "sqtrace_log trace\n", ":1: sqtrace_log: trace: allowed is an absolute path"),
             ("include", "sqtrace_log {dir}\ninclude /etc/hosts\n", ":2: 'include' is not allowed"),
             ("if", "if true\nsqtrace_log {dir}\nendif\n", ":1: 'if' is not allowed"),
             ("an unknown word", "htpt_port 1\n", ":1: 'htpt_port' is not allowed"),
             ("twice", "sqtrace_log {dir}\nsqtrace_log {dir}\n", ":2: sqtrace_log is given twice, here and in line 1"),
             ("10 MB", "#" * 10_000_000, ": it is larger than 64 KB"),
             ("NULs", "sqtrace_log {dir}\n\0\0", ":2: it has a byte 0x00"),
             ("an escape sequence", "\x1b[2J", ":1: it has a byte 0x1b")]
    for number, (what, text, expected) in enumerate(cases):
        squid = Beside(env, "squid%d" % number, dns=origin.host)
        squid.put(text.replace("{dir}", squid.directory))
        refused_by_parse(env, squid, what, squid.file + expected)
        if number % 3 == 0:
            serves_untraced(env, squid, origin, what, squid.file + expected)
    quoted = "configuration_includes_quoted_values on"
    cases = [("an open quote", '"{dir}', "[invalid token]"), ("another file", 'parameters("/etc/hosts")', "no parenthesis"),
             ("a strange character", "{dir} host=a!b", "[invalid token]"), ("an escape", '"{dir}\\\\', "the backslash at the end")]
    for number, (what, words, expected) in enumerate(cases):
        squid = Beside(env, "quoted%d" % number, dns=origin.host, lines=quoted)
        squid.put("sqtrace_log %s\n" % words.replace("{dir}", squid.directory))
        refused_by_parse(env, squid, what, expected)
        serves_untraced(env, squid, origin, what, expected)
    squid = Beside(env, "quoted", dns=origin.host, lines=quoted)
    squid.put('sqtrace_log "%s" ring=1MB\n' % squid.directory).start()
    env.equal(squid.state(), "state: tracing", "a quoted directory")
    squid.stop()


def in_both(env):
    """Both places are named; with an include, its file."""
    origin = Origin(env)
    squid = Beside(env, dns=origin.host, trace="ring=1MB")
    squid.put("#\nsqtrace_log %s\n" % squid.directory)
    line = squid.text().split("\n").index("sqtrace_log %s ring=1MB" % squid.directory) + 1
    expected = "%s:2: sqtrace_log is given twice, here and at %s:%d" % (squid.file, squid.conf, line)
    refused_by_parse(env, squid, "both", expected)
    serves_untraced(env, squid, origin, "both", expected)
    os.unlink(squid.file)
    squid.start()
    env.equal(squid.state(), "state: tracing", "squid.conf alone")
    squid.stop()


def bad_files(env):
    """What is no regular file, or is another's, never stops or blocks Squid."""
    if os.geteuid() != 0:
        raise Skip("only root can give files away")
    origin = Origin(env)

    def link(squid):
        os.symlink(squid.put().file, squid.file + ".other")
        os.rename(squid.file, squid.file + ".real")
        os.symlink(squid.file + ".real", squid.file)

    def pipe(squid):
        os.mkfifo(squid.file)

    def folder(squid):
        os.mkdir(squid.file)

    def bound(squid):
        listener = socket.socket(socket.AF_UNIX)
        here = os.open(squid.folder, os.O_PATH)
        listener.bind("/proc/self/fd/%d/sqtrace.conf" % here)
        os.close(here)
        listener.close()

    def everybody(squid):
        squid.put(mode=0o666)

    def group(squid):
        squid.put(mode=0o664)
        os.chown(squid.file, 0, 12345)

    def stranger(squid):
        os.chown(squid.put().file, 12345, 0)

    def open_folder(squid):
        squid.put()
        os.chmod(squid.folder, 0o777)

    cases = [(link, "sqtrace.conf: it is a symbolic link"), (pipe, "sqtrace.conf: it is not a regular file"),
             (folder, "sqtrace.conf: it is not a regular file"), (bound, "sqtrace.conf: it is not a regular file"),
             (everybody, "sqtrace.conf: everybody may write to it (mode 0666)"),
             (group, "sqtrace.conf: group 12345 may write to it (mode 0664)"),
             (stranger, "sqtrace.conf: it belongs to uid 12345"),
             (open_folder, "/: everybody may write to it (mode 0777)")]
    for make, expected in cases:
        squid = Beside(env, make.__name__, dns=origin.host)
        make(squid)
        began = time.monotonic()
        refused_by_parse(env, squid, make.__name__, expected)
        env.check(time.monotonic() - began < 20, make.__name__ + ": squid -k parse hangs")
        serves_untraced(env, squid, origin, make.__name__, expected)
    squid = Beside(env, "unreadable", dns=origin.host, unprivileged=True)
    squid.put(mode=0o600)
    serves_untraced(env, squid, origin, "unreadable", "sqtrace.conf: Permission denied")
    squid = Beside(env, "harmless", dns=origin.host)
    os.chmod(squid.folder, 0o777)
    status, said = squid.parse()
    env.equal(status, 0, "a folder that is everybody's, without the file: " + said[-300:])


def reconfigured(env):
    """The file comes, changes, goes wrong, and goes."""
    origin = Origin(env)
    squid = Beside(env, dns=origin.host).start()
    env.equal(squid.state(), "state: off", "without the file")

    def becomes(state, what):
        before = squid.log_text().count("Reconfiguring")
        squid.reconfigure()
        wait_for(lambda: squid.log_text().count("Reconfiguring") > before, 20, "the signal: " + what)
        wait_for(lambda: squid.log_text().rsplit("Reconfiguring", 1)[1].count("Accepting HTTP") > 0, 20, what)
        wait_for(lambda: squid.state() == state, 10, "%s: %s" % (what, squid.state()))
        env.equal(request(squid, origin), 200, what + ": a request")
        return squid.log_text().rsplit("Reconfiguring", 1)[1]

    squid.put()
    becomes("state: tracing", "the file comes")
    groups = re.search("groups .*", squid.manager("sqtrace")[1]).group()
    squid.put("sqtrace_log %s events=client\n" % squid.directory)
    becomes("state: tracing", "it changes")
    env.check(groups not in squid.manager("sqtrace")[1], "the change is not there")
    squid.put("sqtrace_log %s events=cows\n" % squid.directory)
    said = becomes("state: off", "it goes wrong")
    env.equal(said.count(WARNING), 1, "warnings: " + said)
    env.check("%s:1: sqtrace_log: events=cows" % squid.file in said, said)
    squid.put()
    said = becomes("state: tracing", "it is right again")
    env.equal(said.count(WARNING), 0, "warnings: " + said)
    os.unlink(squid.file)
    said = becomes("state: off", "it goes")
    env.check("there is no sqtrace_log any more; tracing is off" in said, said)
    env.equal(squid.stop(), 0, "exit status")
    env.equal(len(squid.warnings()), 1, "warnings")


def several_processes(env):
    """Each process of an SMP Squid reads the file."""
    origin = Origin(env)
    squid = Beside(env, dns=origin.host, workers=2, dirs=["rock"], dir_mb=16)
    squid.put().start()
    env.equal(request(squid, origin), 200, "a request")
    wait_for(lambda: squid.log_text().count("sqtrace: tracing into") == 4, 20, "four processes to trace")
    squid.stop()
    env.equal([line for line in squid.warnings() if squid.file in line], [], "warnings")
    squid.put("sqtrace_log %s ring=1\n" % squid.directory).start()
    env.equal(request(squid, origin), 200, "a request after an error")
    wait_for(lambda: len(squid.warnings()) == 4, 20, "a WARNING of each process")
    squid.stop()


def relative_name(env):
    """squid.conf is named relative to the present folder."""
    squid = Beside(env)
    squid.put("sqtrace_log %s ring=1\n" % squid.directory)
    squid.write_conf()
    for words, place in ((["-f", "squid.conf"], "sqtrace.conf:1: "), (["-f", "./squid.conf"], "./sqtrace.conf:1: "),
                         (["-f", "../squid/squid.conf"], "../squid/sqtrace.conf:1: ")):
        done = run([squid.binary, "-n", squid.service, "-k", "parse"] + words, 60, cwd=squid.folder)
        env.check(done.returncode != 0 and "FATAL: " + place in done.stderr, "%s: %s" % (words, done.stderr[-400:]))
    link = env.path("elsewhere.conf")
    os.symlink(squid.conf, link)
    done = run([squid.binary, "-n", squid.service, "-k", "parse", "-f", link], 60)
    env.equal(done.returncode, 0, "a link's folder is that of the link, not of its target: " + done.stderr[-300:])
    squid.put("sqtrace_log %s/${service_name}\n" % squid.directory)
    status, said = squid.parse()
    env.equal(status, 0, "with a macro: " + said[-300:])


@with_unpatched
def without_hooks(env):
    """An unpatched Squid starts with the same folder, and the trace stays; back, the patched one traces again."""
    origin = Origin(env)
    squid = Beside(env, dns=origin.host)
    squid.put().start()
    env.equal(request(squid, origin), 200, "traced")
    squid.stop()
    rows = len(dump.table(env, squid.directory, "requests"))
    env.equal(rows, 1, "rows")
    patched, squid.prefix = squid.prefix, env.unpatched
    squid.state_directory()
    status, said = squid.parse()
    env.check(status == 0 and "sqtrace" not in said.replace(squid.folder, ""), "unpatched: " + said[-300:])
    squid.start()
    env.equal(request(squid, origin), 200, "unpatched")
    squid.stop()
    env.equal(len(dump.table(env, squid.directory, "requests")), rows, "rows after the unpatched one")
    squid.prefix = patched
    squid.start()
    env.equal(request(squid, origin), 200, "patched again")
    squid.stop()
    env.equal(len(dump.table(env, squid.directory, "requests")), rows + 1, "rows when it is back")


class Chrooted(Beside):
    """A Squid with the directive chroot.  Its root has everything under the names that it has outside, too; it is on a tmpfs,
    where a ring has to be."""

    def __init__(self, env, **options):
        self.root = tempfile.mkdtemp(prefix="sqtrace-root-", dir="/dev/shm")
        env.on_close(lambda: shutil.rmtree(self.root))
        os.chmod(self.root, 0o755)
        self.have(self.root, lambda inside: os.symlink(os.path.relpath(self.root, os.path.dirname(inside)), inside))
        os.makedirs(os.path.join(self.root, "dev/shm"), exist_ok=True)
        os.chmod(os.path.join(self.root, "dev/shm"), 0o1777)
        super().__init__(env, os.path.join(self.root, "squid"), alone=True, lines="chroot %s\n" % self.root, **options)
        self.service = "e2e%dchroot" % os.getpid()
        for folder in [os.path.join(prefix, part) for prefix in (env.squid, env.unpatched) for part in ("share", "etc", "libexec")]:
            self.have(folder, lambda inside, outside=folder: shutil.copytree(outside, inside))

    def have(self, path, make):
        """Makes what has that name inside, too."""
        inside = self.root + path
        os.makedirs(os.path.dirname(inside), exist_ok=True)
        if not os.path.lexists(inside):
            make(inside)

    def reconfigured(self):
        """Returns once it serves again."""
        before = self.log_text().count("Reconfiguring")
        self.reconfigure()
        wait_for(lambda: self.log_text().count("Reconfiguring") > before
                 and "Accepting HTTP" in self.log_text().rsplit("Reconfiguring", 1)[1], 20, "Squid to be reconfigured")
        return self.state()


@with_unpatched
def chrooted(env):
    """Started in a new root, Squid traces there, reads the file again when it is reconfigured, and is replaced and put back."""
    if os.geteuid() != 0:
        raise Skip("only root changes its root")
    origin = Origin(env)
    squid = Chrooted(env, dns=origin.host)
    squid.put().start()
    env.equal(os.path.realpath("/proc/%d/root" % squid.process.pid), os.path.realpath(squid.root), "Squid's root")
    env.equal(request(squid, origin), 200, "a request")
    env.equal(squid.state(), "state: tracing", "mgr:sqtrace")
    env.equal(squid.warnings(), [], "warnings")
    os.rename(squid.file, squid.file + ".away")
    env.equal(squid.reconfigured(), "state: off", "reconfigured without the file")
    os.rename(squid.file + ".away", squid.file)
    env.equal(squid.reconfigured(), "state: tracing", "the file is read inside")
    env.equal(squid.stop(), 0, "exit status")
    rows = len(dump.table(env, squid.directory, "requests"))
    env.check(rows >= 1, "rows: %d" % rows)
    patched, squid.prefix = squid.prefix, env.unpatched
    squid.state_directory()
    squid.start()
    env.equal(request(squid, origin), 200, "unpatched")
    squid.stop()
    env.equal(len(dump.table(env, squid.directory, "requests")), rows, "rows after the unpatched one")
    squid.prefix = patched
    squid.start()
    env.equal(request(squid, origin), 200, "patched again")
    squid.stop()
    env.equal(len(dump.table(env, squid.directory, "requests")), rows + 1, "rows when it is back")


TESTS = [
    ("sqtrace.conf: it traces", file_traces, 60),
    ("sqtrace.conf: what may not stand in it", bad_contents, 180),
    ("sqtrace.conf: the directive in both files", in_both, 60),
    ("sqtrace.conf: files and folders that are not trusted", bad_files, 180),
    ("sqtrace.conf: it comes, changes and goes", reconfigured, 90),
    ("sqtrace.conf: two workers, a disker, a coordinator", several_processes, 90),
    ("sqtrace.conf: relative names and links", relative_name, 60),
    ("sqtrace.conf: a Squid without the hooks starts", without_hooks, 90),
    ("sqtrace.conf: a Squid with chroot, replaced and put back", chrooted, 90),
]
