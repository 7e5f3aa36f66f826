# SPDX-License-Identifier: GPL-2.0-or-later
"""The surroundings of one test: its folder, its options, its notes, and how it fails."""

import functools
import os
import random
import shutil
import socket
import subprocess
import sys
import time


UNIT = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "unit")


class Failure(Exception):
    """Something that the test names is not so."""


class Skip(Exception):
    """The test cannot run here; the text says why."""


class Env:
    """One test's folder and the programs under test.

    squid, unpatched  prefixes of installed Squids (unpatched may be None)
    tools             build directory with sqtrace-dump and libsqtrace.a
    full              whether the long form of a test is asked for
    held              when the machine held its processors up (clocks.HoldUps)
    witness           the patched Squid's program that counts for itself (lib/witness.py)
    fired             what the tests before this one fired: {test's name: lib.witness.Fired}
    coverage          where the list of what is fired is to be written, or None
    others            prefixes of patched Squids of other versions
    """

    def __init__(self, folder, squid, unpatched, tools, full, held=None, witness=None, fired=None, coverage=None,
                 others=()):
        self.folder = folder
        self.squid = squid
        self.unpatched = unpatched
        self.tools = tools
        self.full = full
        self.held = held
        self.witness = witness
        self.witnesses = []
        self.fired = fired or {}
        self.coverage = coverage
        self.others = list(others)
        self.failures = []
        self.left_out = []
        self.squids = 0  # that the test started
        self.closers = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def note(self, text):
        """One line in the test's own log."""
        print("%8.3f %s" % (time.monotonic() % 100000, text))
        sys.stdout.flush()

    def check(self, condition, text):
        """Notes a failure and goes on, so that one run shows all that is wrong."""
        if not condition:
            self.failures.append(text)
            self.note("FAILED: " + text)
        return bool(condition)

    def equal(self, got, wanted, text):
        return self.check(got == wanted, "%s: got %r, wanted %r" % (text, got, wanted))

    def leave_out(self, text):
        """A part of the test that cannot run here, and why; `run` says so beside its result."""
        self.left_out.append(text)
        self.note("left out: " + text)

    def require(self, condition, text):
        if not condition:
            raise Failure(text)

    def on_close(self, function):
        self.closers.append(function)

    def close(self):
        """Ends what the test started, last first."""
        while self.closers:
            closer = self.closers.pop()
            try:
                closer()
            except Exception as error:  # the test's verdict stands whatever the cleaning meets
                self.note("while cleaning up: %r" % (error,))

    def finish(self):
        if self.failures:
            raise Failure("; ".join(self.failures[:5])
                          + ("; and %d more" % (len(self.failures) - 5) if len(self.failures) > 5 else ""))

    def tool(self, name):
        path = os.path.join(self.tools, name)
        if not os.path.exists(path):
            raise Skip("no %s in the build directory" % name)
        return path

    def need_root(self, why):
        if os.geteuid() != 0:
            raise Skip("needs root: " + why)

    def need_program(self, name):
        path = shutil.which(name)
        if not path:
            raise Skip("needs the program " + name)
        return path

    def python_with(self, *packages):
        """A Python with these packages of PyPI, as the unit tests have it, or None where they cannot be had."""
        os.environ.setdefault("SQT_VENVS", self.tools)
        sys.path.insert(0, UNIT)
        from pypi import python_with  # pylint: disable=import-outside-toplevel,import-error
        return python_with(*packages)


def free_port(kind=socket.SOCK_STREAM):
    """A port that nothing uses now, below those that connections are given, so that none of another process takes it
    while Squid has closed it for a moment."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        given = int(file.read().split()[0])
    while True:
        port = random.SystemRandom().randrange(given // 3, given)
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind(("", port))
                return port
            except OSError:
                continue


def free_udp_port():
    return free_port(socket.SOCK_DGRAM)


def listens(port):
    """Whether something accepts TCP connections at that port of loopback."""
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition, seconds, what, pause=0.02):
    """Polls until condition() is true; returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("waited %g s in vain for %s" % (seconds, what))
        time.sleep(pause)


def run(args, seconds=60, **options):
    """A command with a time limit; returns its CompletedProcess with text output."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("universal_newlines", True)
    options.setdefault("errors", "replace")
    try:
        return subprocess.run(args, timeout=seconds, **options)
    except subprocess.TimeoutExpired:
        raise Failure("%s did not end within %d s" % (" ".join(map(str, args))[:200], seconds))


def idle_share(seconds):
    """Share of the processors' time that nothing used, over so many seconds from now."""
    def read():
        with open("/proc/stat") as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        return numbers[3] + numbers[4], sum(numbers)
    idle, total = read()
    time.sleep(seconds)
    idle_now, total_now = read()
    return (idle_now - idle) / max(1, total_now - total)


def wait_for_quiet(env, seconds=30):
    """For tests that look at times: waits until the machine does little else; goes on after so long anyway."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        idle = idle_share(1)
        if idle > 0.85:
            return
    env.note("the machine is busy (%.0f %% idle): times may be off" % (idle * 100))


def go_first(env):
    """For tests that look at times: what this test starts from now on goes before other work on the machine, or, where
    that is not permitted, begins when there is little of it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        wait_for_quiet(env)


def first(function):
    """The test, going before other work: a Squid that waits for a processor has time that no stage explains.  No more such
    tests run at a time than there are processors: they would wait for each other."""
    @functools.wraps(function)
    def test(env):
        go_first(env)
        function(env)
    test.first = True
    return test


def alone(function):
    """The test, with no other test beside it: even one that goes before other work shares the disk and the caches."""
    @functools.wraps(function)
    def test(env):
        function(env)
    test.alone = True
    return test


def with_unpatched(function):
    """The test, which needs an unpatched Squid."""
    @functools.wraps(function)
    def test(env):
        if env.unpatched is None:
            raise Skip("there is no --unpatched=PREFIX")
        function(env)
    test.needs = "--unpatched"
    return test


def unpatched_too(function):
    """The test, which takes an unpatched Squid if there is one: it runs once without and once with it."""
    function.unpatched_too = True
    return function


def long_form(function):
    """The test, which runs only with --full, or where it is named: it takes a minute, and others show most of it."""
    function.long_form = True
    return function


def median(values):
    values = sorted(values)
    if not values:
        raise Failure("a median of nothing")
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def quantile(values, q):
    """The smallest value that at least the share q of the values do not exceed."""
    values = sorted(values)
    if not values:
        raise Failure("a quantile of nothing")
    index = int(len(values) * q)
    return values[min(index, len(values) - 1)]
