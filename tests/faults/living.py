# SPDX-License-Identifier: GPL-2.0-or-later
"""What the trace of a living Squid says of requests that hang, and whether it is exact.

sqtrace-dump and sqtrace-top are asked while requests hang.  Once the trace is complete, its table `requests` says which
requests were open at that time, and since when.
"""

import datetime
import time

from lib import dump
from lib.dump import seconds_ns
from lib.env import run

MS = 1000000
INSTANT = 10 * MS  # rings are read and the clock is, one after the other
AGE = 50 * MS


class Answer:
    """program    which was asked
    rows          of table findings, with the columns that both programs have
    now           the time that ages are of, in ns since 1970
    begun, ended  when the program began and ended
    """

    def __init__(self, program, rows, now, begun, ended):
        self.program, self.rows, self.now, self.begun, self.ended = program, rows, now, begun, ended

    def age(self):
        """How long the oldest request of the first finding has been waiting, ns."""
        first = self.rows[0]
        if "since_ns" in first:
            return int(first["since_ns"])
        return seconds_ns(first["until_s"]) - seconds_ns(first["time_s"])


def ask_dump(scene):
    begun = time.time_ns()
    asked = dump.Dump(scene.env, scene.directory, "findings")
    rows = asked.rows()
    return Answer("sqtrace-dump", rows, asked.start_ns + seconds_ns(rows[0]["until_s"]), begun, time.time_ns())


def ask_top(scene):
    begun = time.time_ns()
    done = run([scene.env.tool("sqtrace-top"), "--once", "--table=findings", "--format=tsv", scene.directory], 30)
    ended = time.time_ns()
    lines = done.stdout.splitlines()
    now = next(line.split(": ", 1)[1] for line in lines if line.startswith("# now: "))
    whole, _, rest = now.partition(".")
    seconds = datetime.datetime.fromisoformat(whole + rest[9:]).timestamp()
    header, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return Answer("sqtrace-top", [dict(zip(header, row)) for row in rows], int(seconds) * 1000 * MS + int(rest[:9]),
                  begun, ended)


def ask_screen(scene):
    """What sqtrace-top --once shows, without line breaks."""
    shown = run([scene.env.tool("sqtrace-top"), "--once", scene.directory], 30).stdout
    return " ".join(shown.split())


def wrong(answer, requests):
    """What of the number and the age in the first finding is wrong; "": nothing."""
    def is_open(row, now):
        return row.wall_ns <= now < row.wall_ns + row.ns("total_ns")

    if not answer.rows:
        return answer.program + " has no finding"
    now, first = answer.now, answer.rows[0]
    counts = {sum(is_open(row, now + shift) for row in requests) for shift in range(-INSTANT, INSTANT + 1, MS)}
    oldest = min((row.wall_ns for row in requests if is_open(row, now)), default=now)
    found = []
    if not answer.begun - INSTANT <= now <= answer.ended + INSTANT:
        found.append("its now is %.0f ms after it was asked" % ((now - answer.begun) / MS))
    if int(first["requests"]) not in counts:
        found.append("%s requests, not %s" % (first["requests"], sorted(counts)))
    if counts != {0} and abs(answer.age() - (now - oldest)) > AGE:
        found.append("the oldest has waited for %.0f ms, not %.0f" % (answer.age() / MS, (now - oldest) / MS))
    return answer.program + ": " + ", ".join(found) if found else ""
