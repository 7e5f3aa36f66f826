# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's scheduler says of one thread: an instance of tracefs with sched_switch and sched_wakeup."""

import os
import re

from .env import Skip, run

PLACE = "/sys/kernel/tracing"
FIRST = "pid:[%d]" % 0xEFFFFFFC  # the kernel's own number of its first namespace of processes
LINE = re.compile(r"\s(\d+)\.(\d+): (sched_\w+): (.*)")


class Scheduler:
    """Records from now on.  spans(): [(from, until, state)] in ns of CLOCK_MONOTONIC; state: running, queued (it waits for
    a processor), asleep or stopped."""

    def __init__(self, env, pid):
        env.need_root("tracefs")
        if os.readlink("/proc/self/ns/pid") != FIRST:
            raise Skip("processes have other numbers here than in the kernel's trace")
        if not os.path.isdir(PLACE + "/instances"):
            run(["mount", "-t", "tracefs", "tracefs", PLACE], 10)
        self.pid = pid
        self.place = "%s/instances/sqtrace-%d" % (PLACE, pid)
        try:
            os.mkdir(self.place)
        except OSError as error:
            raise Skip("no instance of tracefs can be made: %s" % error)
        env.on_close(self.close)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", "16384")
        self.write("events/sched/sched_switch/filter", "prev_pid == %d || next_pid == %d" % (pid, pid))
        for name in ("sched_waking", "sched_wakeup"):
            self.write("events/sched/%s/filter" % name, "pid == %d" % pid)
        for name in ("sched_switch", "sched_wakeup"):
            self.write("events/sched/%s/enable" % name, "1")
        self.write("tracing_on", "1")

    def write(self, name, text):
        with open(os.path.join(self.place, name), "w") as file:
            file.write(text)

    def close(self):
        try:
            os.rmdir(self.place)
        except OSError:
            pass

    def spans(self):
        self.write("tracing_on", "0")
        with open(self.place + "/trace") as file:
            text = file.read()
        spans, since, state = [], None, None
        for line in text.split("\n"):
            found = LINE.search(line)
            if not found:
                continue
            at = int(found.group(1)) * 1000000000 + int((found.group(2) + "000000000")[:9])
            event, text = found.group(3), found.group(4)
            new = self.state_after(event, text, state)
            if state == "queued" and event == "sched_switch" and not self.begins(text):
                # There was a switch to it that the trace has not: see 38-loop-time.py.  It has run, but not all that time.
                state = "running"
            if new == state:
                continue
            if since is not None:
                spans.append((since, at, state))
            since, state = at, new
        return spans

    def begins(self, text):
        return re.search(r"next_pid=%d\b" % self.pid, text)

    def state_after(self, event, text, state):
        if event != "sched_switch":
            return "queued" if state in ("asleep", "stopped") else state
        if self.begins(text):
            return "running"
        left = re.search(r"prev_state=(\S+)", text).group(1)
        return "queued" if left.startswith("R") else "stopped" if left[0] in "Tt" else "asleep"


def total(spans, state, begin, end):
    """Nanoseconds of that state between two moments."""
    return sum(max(0, min(until, end) - max(since, begin)) for since, until, which in spans if which == state)
