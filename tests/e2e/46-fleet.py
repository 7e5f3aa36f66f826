# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-experiment fleet: the engines name the proxy with the slow disk, and none where no disk is slow."""

import glob
import os

from lib.env import Skip, alone, run

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools",
                       "sqtrace-experiment")


CAUSES = ("cache_dirs", "disk_slow", "disk_queue", "disk_opens", "memory_small")  # what findings may say of a slow disk


def experiment(env, folder, *options):
    os.makedirs(env.path("tmp"), exist_ok=True)
    done = run([PROGRAM, "fleet", "--squid=" + env.squid, "--tools=" + env.tools, "--folder=" + env.path(folder),
                *options], seconds=150, env=dict(os.environ, TMPDIR=env.path("tmp")))
    env.note(done.stdout + done.stderr)
    return done


def need(env):
    env.need_root("loop devices and mounts")
    env.tool("slow-disk")
    env.tool("sqtrace-ship")
    env.need_program("mkfs.ext4")


def first_row(path):
    with open(path) as file:
        head, *rows = [line.rstrip("\n").split("\t") for line in file]
    return dict(zip(head, rows[0])) if rows else {}


def ill_host(env):
    """Shipped and asked; asked again without an engine, which needs no further run."""
    need(env)
    ill = "proxy-2.berlin.example"
    python = env.python_with("duckdb", "chdb")
    if not python:
        env.leave_out("no engine is asked, because duckdb or chdb cannot be installed from PyPI")
    options = ["--scale=0.4", "--ill=" + ill] + (["--python=" + python, "--engines=duckdb,clickhouse"] if python else [])
    done = experiment(env, "ill", *options)
    env.equal(done.returncode, 0, "status")
    for table in ("requests", "swaps", "ios", "finding_minutes"):
        hosts = {os.path.basename(path) for path in glob.glob(env.path("ill", "runs", "shipped", "table=" + table, "*", "host=*"))}
        env.equal(len(hosts), 4, "hosts that shipped " + table)
    for name in ("duckdb", "clickhouse") if python else ():
        row = first_row(env.path("ill", "ill-host-%s.tsv" % name))
        env.equal(row.get("host"), ill, name)
        env.check(row.get("cause") in CAUSES, "%s: the cause is one of its disk: %s" % (name, row))
        env.check("%s names the ill host and its cause first: %s, %s." % (name, ill, row.get("cause")) in done.stdout,
                  name + " is told")
    env.check(os.path.getsize(env.path("ill", "index.html")) > 500, "a report")
    done = experiment(env, "ill", "--scale=0.4", "--ill=" + ill, "--python=" + env.path("no-python"))
    env.equal(done.returncode, 0, "status without an engine")
    env.check("No engine was asked." in done.stdout and "duckdb fleet.db <" in done.stdout and
              done.stdout.count("no-python is missing") == 3, "says what is missing, and what to run")
    env.check(not glob.glob(env.path("ill", "ill-host-*")), "no answer of an earlier run is there")


def nobody_ill(env):
    """All disks are fast, so the first row cannot be the host that is said to be ill."""
    need(env)
    python = env.python_with("duckdb")
    if not python:
        raise Skip("duckdb cannot be installed from PyPI")
    done = experiment(env, "well", "--scale=0.2", "--service=0.2", "--ill=proxy-2.berlin.example", "--python=" + python, "--engines=duckdb")
    env.equal(done.returncode, 3, "status")
    env.check("duckdb does not name the ill host and its cause first: " in done.stdout and
              "not found by: duckdb" in done.stdout, "says that it was not found")


TESTS = [
    ("fleet: DuckDB and ClickHouse name the proxy with the slow disk, and why", ill_host, 150),
    ("fleet: without a slow disk nobody is named, and the status says so", alone(nobody_ill), 100),
]
