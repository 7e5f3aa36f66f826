# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of several Squid versions, read by one reader: the same columns, the same figures, one report."""

import collections
import os
import re

from lib import dump, load, native
from lib.env import Skip, run
from lib.origin import Origin
from lib.squid import Squid

NEEDS = "--other"
REQUESTS = 400


def record(env, prefixes):
    """{label: trace directory}; each Squid serves the same requests, one at a time.  The first is kid 0, the others are
    kid 1, as after an upgrade."""
    traces = {}
    origin = Origin(env)
    for number, prefix in enumerate(prefixes):
        squid = Squid(env, "squid%d" % number, prefix=prefix, trace="", dirs=["ufs", "aufs", "diskd"],
                      dns=origin.host, lines=load.CONF, plain=True, alone=number == 0).start()
        label = "squid-" + squid.version().replace(".", "-")
        env.require(label not in traces, "two Squids of one version: " + label)
        traffic = load.Mixed(env, squid, origin, seed=32)
        traffic.warm()
        traffic.run(REQUESTS, 1)
        env.check(not traffic.odd, "%s: unexpected answers: %s" % (label, traffic.odd[:5]))
        squid.stop()
        traces[label] = squid.directory
    return traces


def filled_columns(env, directory):
    """{class: columns of `requests` that have a value in one of its complete rows}"""
    found = collections.defaultdict(set)
    for row in dump.table(env, directory, "requests", "--where=outcome == complete"):
        found[row["class"]].update(name for name, value in row.items() if value != "-")
    return found


def filled_figures(env, directory, figures):
    """{"figures": those that have rows}"""
    return {"figures": {name for name in figures if dump.Dump(
        env, directory, options=["--quiet", "--figure=" + name]).rows()}}


def check_same(env, found):
    """found: {label: {key: set}}; the sets of each key are the same under every label."""
    first, *others = found
    for label in others:
        for key in sorted(set(found[first]) | set(found[label])):
            here, there = (found[which].get(key, set()) for which in (first, label))
            env.check(here == there, "%s: only %s has %s, only %s has %s"
                      % (key, first, sorted(here - there), label, sorted(there - here)))
    env.note(str({key: len(value) for key, value in found[first].items()}))


def check_mixed(env, traces):
    """Segments of all kids in one directory: each request has its row there."""
    mixed = env.path("mixed")
    os.mkdir(mixed)
    for path in sum(map(dump.segments, traces.values()), []):
        os.link(path, os.path.join(mixed, os.path.basename(path)))
    apart = [(row["kid"], row["xid"], row["total_ns"]) for directory in traces.values()
             for row in dump.table(env, directory, "requests")]
    together = [(row["kid"], row["xid"], row["total_ns"]) for row in dump.table(env, mixed, "requests", "--strict")]
    env.equal(sorted(together), sorted(apart), "rows of all traces at once")
    env.equal({kid for kid, _, _ in together}, {"0", "1"}, "kids")


def check_report(env, traces, figures):
    """One report of all: of each figure a series for each version, with the same columns."""
    folder = env.path("report")
    done = run([env.tool("sqtrace-report"), "--quiet", "--data=" + os.path.join(native.TOP, "tools"), "-o", folder]
               + ["%s=%s" % item for item in traces.items()], 300)
    env.equal((done.returncode, done.stderr), (0, ""), "sqtrace-report")
    for name in figures:
        heads = set()
        for label in traces:
            with open(os.path.join(folder, "figures", "%s.%s.tsv" % (name, label))) as series:
                heads.add(next(line for line in series if not line.startswith("#")))
        env.equal(len(heads), 1, "different heads of the figure " + name)


def compared(env):
    if not env.others:
        raise Skip("needs --other=PREFIX, a patched Squid of another version")
    traces = record(env, [env.squid] + env.others)
    figures = re.findall("^figure (\\S+)", run([env.tool("sqtrace-dump"), "--list"]).stdout, re.M)
    check_same(env, {label: filled_columns(env, directory) for label, directory in traces.items()})
    check_same(env, {label: filled_figures(env, directory, figures) for label, directory in traces.items()})
    check_mixed(env, traces)
    check_report(env, traces, figures)


TESTS = [
    ("one reader for several versions", compared, 300),
]
