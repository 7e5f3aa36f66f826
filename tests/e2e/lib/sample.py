# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a trace can be doc/sample: it stands for all that people will ask it, and for nothing of this machine."""

import os
import re
import struct

from . import dump, site
from .env import run

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
LARGEST = 2000000  # bytes that a clone of the repository may pay for the sample
STORES = {"ufs", "aufs", "diskd", "rock"}
CLASSES = ("mem_hit", "disk_hit", "ims_hit", "negative_hit", "refresh_hit", "refresh_miss", "miss", "tunnel", "denied",
           "error")
WRONG_ONLY = {"diskops-lost", "losses", "clock_steps"}  # figures and tables of what goes wrong
FOREIGN = re.compile("/tmp|/work|/home|root|\\b127[.][0-9]+[.]")
TEXT_FRAME = 1


def judge(env, folder):
    """Notes each failure."""
    done = dump.Dump(env, folder, "requests", ["--strict"])
    rows = done.rows()
    classes = {name: sum(row["class"] == name for row in rows) for name in CLASSES}
    env.note("%s records, %d requests: %s" % (done.comments()["records"], len(rows), classes))
    for name, count in classes.items():
        env.check(count, "no request of class " + name)
    read = {row["store"] for row in dump.table(env, folder, "swaps") if row["direction"] == "in"}
    env.equal(read, STORES, "stores with swap-ins")
    judge_rows(env, folder)
    judge_servers(env, folder)
    judge_texts(env, folder)
    judge_size(env, folder)
    for test in ("dump_examples.sh", "traffic.py"):
        run_test(env, folder, test)


def judge_rows(env, folder):
    """Each table and figure has rows, but for what a good run cannot have."""
    listed = run([env.tool("sqtrace-dump"), "--list"]).stdout
    for kind, name in re.findall("^(table|figure) (\\S+)", listed, re.M):
        rows = dump.Dump(env, folder, options=["--quiet", "--%s=%s" % (kind, name)]).rows()
        env.check(rows or name in WRONG_ONLY, "nothing for the %s %s" % (kind, name))
        empty = [column for column in (rows[0] if rows else []) if all(row[column] == "-" for row in rows)]
        if empty:
            env.note("%s %s: no value in %s" % (kind, name, " ".join(empty)))


def judge_servers(env, folder):
    """They have names, and the far one stands out."""
    names = {row["server"] for row in dump.table(env, folder, "servers")}
    for name in (site.NEAR + ":80", site.NEAR + ":443", site.FAR + ":80", site.SIBLING_NAME, site.PARENT_NAME):
        env.check(name in names, "%s is not among the servers: %s" % (name, sorted(names)))
    found = [(row["cause"], row["culprit"]) for row in dump.table(env, folder, "findings")]
    env.check(("slow_server", site.FAR + ":80") in found, "the far origin is no finding: %s" % found)


def frames(path):
    """The payloads of a segment's text frames."""
    with open(path, "rb") as file:
        data = file.read()
    at, = struct.unpack_from("<I", data, 12)
    while at < len(data):
        _, kind, _, size, _ = struct.unpack_from("<IHHII", data, at)
        if kind == TEXT_FRAME:
            yield data[at + 16:at + 16 + size].decode("utf-8", "replace")
        at += 16 + size


def judge_texts(env, folder):
    """No text of the trace is of this machine."""
    foreign = re.compile("%s|\\b%s\\b" % (FOREIGN.pattern, re.escape(os.uname().nodename)))
    lines = {line for path in dump.segments(folder) for text in frames(path) for line in text.split("\n")}
    lines.update(dump.Dump(env, folder, "events").text.split("\n"))
    for line in sorted(lines):
        if not line.startswith("# trace:"):
            env.check(not foreign.search(line), "of this machine: " + line[:200])
    for line in sorted(lines):
        if line.startswith("def\t"):
            env.note(line)


def judge_size(env, folder):
    size = sum(os.path.getsize(path) for path in dump.segments(folder))
    env.note("%d bytes" % size)
    env.check(size <= LARGEST, "%d bytes: more than %d, so make it with fewer --seconds" % (size, LARGEST))


def run_test(env, folder, name):
    """A unit test that reads doc/sample, with this trace in its place."""
    path = os.path.join(SOURCE, "tests", "unit", name)
    done = run(["python3" if name.endswith(".py") else "sh", path], 600,
               env=dict(os.environ, SQT_SOURCE=os.path.abspath(SOURCE), SQT_TOOLS=env.tools, SQT_SAMPLE=folder))
    wrong = [line for line in done.stdout.split("\n") if line.startswith(("not ok", "#"))]
    env.check(done.returncode == 0 and not any(line.startswith("not") for line in wrong),
              "%s: %s %s" % (name, "; ".join(wrong), done.stderr[-500:]))
