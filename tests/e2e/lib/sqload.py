# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs sqtrace-load and reads its results."""

import os
import re
import subprocess

from .dump import seconds_ns
from .env import Failure


class Load:
    """One run.  result[phase, class] is a row of the results, rows the row of each request if rows is set."""

    def __init__(self, env, *options, seconds=60, status=0, rows=False, name="load"):
        self.output = env.path(name + ".tsv")
        self.rows_path = env.path(name + "-rows.tsv")
        command = [env.tool("sqtrace-load"), "--output=" + self.output] + list(options)
        if rows:
            command.append("--rows=" + self.rows_path)
        env.note(" ".join(command))
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                                  stdin=subprocess.DEVNULL, universal_newlines=True)
        except subprocess.TimeoutExpired:
            raise Failure("%s did not end within %d s" % (" ".join(command), seconds))
        self.text, self.errors, self.status = done.stdout, done.stderr, done.returncode
        env.note(self.text + self.errors)
        if status is not None and self.status != status:
            raise Failure("%s: status %d, not %d: %s" % (" ".join(command), self.status, status, self.errors[-500:]))
        self.comments, self.result = {}, {}
        if os.path.exists(self.output):
            for row in self.read(self.output):
                self.result[row["phase"], row["class"]] = row

    @property
    def start_ns(self):
        """When the run began, in ns since 1970."""
        return seconds_ns(re.search(r"\((.*)\)", self.comments["start"]).group(1))

    def read(self, path):
        header = None
        with open(path) as file:
            for line in file:
                if line.startswith("#"):
                    key, _, value = line[1:].partition(":")
                    self.comments[key.strip()] = value.strip()
                elif header is None:
                    header = line.rstrip("\n").split("\t")
                else:
                    yield dict(zip(header, line.rstrip("\n").split("\t")))

    def rows(self):
        return list(self.read(self.rows_path))

    def sum(self, column):
        """Of a count, over all phases."""
        return sum(int(row[column]) for (_, kind), row in self.result.items() if kind == "all")


class Origin:
    """sqtrace-load --origin as a process of its own."""

    def __init__(self, env, *options):
        self.process = subprocess.Popen([env.tool("sqtrace-load"), "--origin"] + list(options), stdout=subprocess.PIPE,
                                        stderr=open(env.path("load-origin.err"), "w"), stdin=subprocess.DEVNULL,
                                        universal_newlines=True)
        env.on_close(self.stop)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failure("sqtrace-load --origin did not start: see load-origin.err")
        self.authority = self.url.split("//")[1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
