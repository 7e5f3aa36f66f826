# SPDX-License-Identifier: GPL-2.0-or-later
"""What a native access.log of a run says alone, beside what the trace says: `run --log`."""

import os
import re

from lib import dump

NAME = "native.log"
CONF = "access_log stdio:{folder}/%s logformat=squid\n" % NAME
NO_CAUSE = ("none_seen", "too_few")  # causes that name nothing
HEADER = "fault\tverdict\tlog\ttrace\tlog_sentence\n"


def prepare(scene):
    """Before the scene runs: Squid writes a native log, too."""
    scene.conf += CONF


def path(scene):
    return os.path.join(scene.squid.folder, NAME)


def ask(scene):
    """The rows of table findings of the log alone."""
    return dump.table(scene.env, [], "findings", "--access-log=" + path(scene), "--log-format=squid")


def verdict(faults, culprits, trace, log):
    """How the log's first finding stands to what was planted and to the trace's first: `planted` if it names the culprit,
    `same` if it names the trace's, `unnamed` if it says what was wrong and names nobody, `nothing` if it finds nothing, else
    `other`.  Only `other` may contradict."""
    if not log or log[0]["cause"] in NO_CAUSE:
        return "nothing"
    named = log[0]["culprit"]
    if named == "-":
        return "unnamed"
    wanted = [one.culprit if hasattr(one, "culprit") else re.escape(culprit)
              for one, culprit in zip(faults, culprits) if hasattr(one, "culprit") or culprit]
    names = (named, named + ":8000")  # a log has no port of a server
    if any(re.search(pattern, name, re.I) for pattern in wanted for name in names):
        return "planted"
    return "same" if trace and trace[0]["culprit"] in names else "other"


def line(name, told, trace, log):
    """A line of log.tsv."""
    first = [" ".join((rows[0]["cause"], rows[0]["culprit"])) if rows else "-" for rows in (log, trace)]
    return "\t".join([name, told] + first + [log[0]["sentence"] if log else "-"])
