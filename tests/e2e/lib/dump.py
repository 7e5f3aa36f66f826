# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs sqtrace-dump and reads its TSV."""

import os
import re
import subprocess

from .env import Failure


class Row(dict):
    """A row by column name.  row["x"]: text; row.number("x"): an integer, None where it is "-".

    start_ns  where the trace's own time begins, in ns since 1970
    """
    __slots__ = ("start_ns",)

    def number(self, name):
        value = self[name]
        return None if value == "-" else int(value)

    def ns(self, name):
        """Nanoseconds of a column; 0 where it is "-"."""
        value = self[name]
        return 0 if value == "-" else int(value)

    @property
    def begin_ns(self):
        return seconds_ns(self["time_s"])

    @property
    def wall_ns(self):
        """When the row began, in ns since 1970."""
        return self.start_ns + self.begin_ns


def seconds_ns(text):
    """Seconds with up to nine decimals, as whole nanoseconds."""
    sign = -1 if text.startswith("-") else 1
    whole, _, part = text.lstrip("-").partition(".")
    return sign * (int(whole) * 1000000000 + int((part + "000000000")[:9]))


class Dump:
    """What one run of sqtrace-dump printed."""

    def __init__(self, env, traces, table=None, options=(), seconds=300, fail=True):
        if isinstance(traces, str):
            traces = [traces]
        command = [env.tool("sqtrace-dump")] + (["--table=" + table] if table else []) + list(options) + list(traces)
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failure("%s did not end within %d s" % (" ".join(command), seconds))
        self.command = command
        self.status = done.returncode
        self.errors = done.stderr.decode("utf-8", "replace")
        self.text = done.stdout.decode("utf-8", "replace")
        if fail and self.status:
            raise Failure("%s: status %d: %s" % (" ".join(command), self.status, self.errors[-600:]))

    def comments(self):
        """The "# key: value" lines, which stand before the header and after the rows."""
        found = {}
        for line in self.text.split("\n"):
            if line.startswith("#"):
                key, _, value = line[1:].partition(":")
                found[key.strip()] = value.strip()
        return found

    @property
    def start_ns(self):
        """Where the trace's own time begins, in ns since 1970; 0 if it is not said."""
        start = re.search(r"\((\d+\.\d+)\)", self.comments().get("start", ""))
        return seconds_ns(start.group(1)) if start else 0

    def rows(self):
        header, rows = None, []
        start_ns = self.start_ns
        for line in self.text.split("\n"):
            if not line or line.startswith("#"):
                continue
            values = line.split("\t")
            if header is None:
                header = values
            elif len(values) != len(header):
                raise Failure("%s: a row of %d columns under a header of %d: %s"
                              % (" ".join(self.command), len(values), len(header), line[:300]))
            else:
                rows.append(Row(zip(header, values)))
                rows[-1].start_ns = start_ns
        return rows


def table(env, traces, name, *options, seconds=300):
    """The rows of a table of a whole, undamaged trace."""
    dump = Dump(env, traces, name, options, seconds)
    return dump.rows()


def segments(directory):
    """Segment files of a trace directory."""
    return sorted(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".sqt"))
