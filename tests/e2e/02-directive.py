# SPDX-License-Identifier: GPL-2.0-or-later
"""What squid -k parse says about sqtrace_log."""

import os

from lib import versions
from lib.env import run, with_unpatched
from lib.squid import Squid

# Words that are refused, and what the message must name.
BAD = [
    ("ring=0", "0"), ("ring=-1", "-1"), ("ring=12cows", "12cows"), ("ring=", "ring"), ("ring=9999999TB", "9999999TB"),
    ("ring=99999999999999999999999", "99999999999999999999999"),
    ("segment=0", "0"),
    ("segment=-5MB", "-5MB"), ("segment=x", "x"), ("segment=1e9", "1e9"),
    ("keep=0", "0"), ("keep=-1", "-1"),
    ("total=0", "0"), ("total=all", "all"), ("total=1MB segment=2MB", "segment=2MB"), ("reserve=-1", "-1"),
    ("age=1", "age=1"), ("age=5s", "5s"), ("every=0s", "0s"), ("every=1month", "1month"),
    ("keep=lots", "lots"), ("keep=99999999999999999999999", "99999999999999999999999"),
    ("events=client,cows", "cows"), ("events=", "events"), ("events=,", "events"),
    ("compress=maybe", "maybe"), ("compress=", "compress"),
    ("ringdir=relative/path", "relative/path"), ("ringdir=", "ringdir"),
    ("colour=red", "colour"), ("nonsense", "nonsense"),
]

GOOD = ["", "ring=1MB", "ring=64MB segment=10MB keep=100MB", "events=client,server,store,loop", "events=syscall",
        "compress=off", "compress=on ringdir=/dev/shm", "compress=zlib", "compress=zstd", "ring=1048576",
        "total=20GB reserve=1GB age=30d every=1h", "total=off reserve=off"]


def complaints(squid, text):
    """Lines about the directive; Squid itself adds where it stands ("Bungled ...")."""
    words = ("FATAL", versions.refusal(squid.version()))
    return [line for line in text.split("\n") if "sqtrace_log" in line and any(word in line for word in words)
            and "Bungled" not in line]


def good_values(env):
    for number, words in enumerate(GOOD):
        squid = Squid(env, "good%d" % number, trace=words)
        status, said = squid.parse()
        env.equal(status, 0, "squid -k parse with %r: %s" % (words, said[-300:]))
        env.check(not complaints(squid, said), "%r is complained about: %s" % (words, complaints(squid, said)))


def bad_values(env):
    for number, (words, name) in enumerate(BAD):
        squid = Squid(env, "bad%d" % number, trace=words)
        status, said = squid.parse()
        lines = complaints(squid, said)
        env.check(status != 0, "squid -k parse accepts sqtrace_log with %r" % words)
        env.check(len(lines) >= 1 and name in lines[0],
                  "%r: no line names sqtrace_log and %r: %s" % (words, name, said[-400:]))
        env.check(len(set(lines)) <= 1, "%r: more than one line: %s" % (words, lines))
        env.check("assert" not in said and "terminate" not in said, "%r: %s" % (words, said[-300:]))


def bad_directories(env):
    """A missing or relative DIRECTORY stops the parser, too."""
    squid = Squid(env, "none", trace=None, lines="sqtrace_log")
    status, said = squid.parse()
    env.check(status != 0, "sqtrace_log without a directory is accepted")
    squid = Squid(env, "relative", trace=None, lines="sqtrace_log trace/here")
    status, said = squid.parse()
    env.check(status != 0 and "trace/here" in said, "a relative directory is accepted: " + said[-300:])
    squid = Squid(env, "long", trace=None, lines="sqtrace_log /" + "x" * 300)
    status, said = squid.parse()
    env.check(status != 0, "a directory of 300 characters is accepted")


def said_of_stock(env, prefix):
    """What `squid -k parse` says of the configuration that comes with that Squid, and that file's text."""
    path = os.path.join(prefix, "etc", "squid.conf.default")
    done = run([os.path.join(prefix, "sbin", "squid"), "-k", "parse", "-f", path], 60)
    env.equal(done.returncode, 0, "%s: squid -k parse of its stock configuration" % prefix)
    with open(path) as conf:
        return ([line.split("|", 1)[-1].replace(prefix, "PREFIX") for line in done.stderr.split("\n")],
                conf.read().replace(prefix, "PREFIX"))


@with_unpatched
def stock_unchanged(env):
    """The configuration that comes with Squid says the same patched and unpatched."""
    (said, text), (said_unpatched, text_unpatched) = said_of_stock(env, env.squid), said_of_stock(env, env.unpatched)
    differ = set(said) ^ set(said_unpatched)
    env.check(not differ, "-k parse says something else: %s" % sorted(differ)[:4])
    env.check(text == text_unpatched, "the stock configurations differ")


def stock_configuration(env):
    """The configuration that comes with Squid parses, and the directive is documented."""
    said_of_stock(env, env.squid)
    with open(os.path.join(env.squid, "etc", "squid.conf.documented")) as conf:
        env.check("sqtrace_log" in conf.read(), "squid.conf.documented does not document sqtrace_log")


TESTS = [
    ("stock configuration parses", stock_configuration, 60),
    ("stock configuration is unchanged", stock_unchanged, 60),
    ("good values of sqtrace_log", good_values, 60),
    ("bad values of sqtrace_log: one line that names the value", bad_values, 90),
    ("bad directories of sqtrace_log", bad_directories, 60),
]
