#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ring_orders.py - every interleaving of the ring's model, a kill at every instant, every mistake that it must find.

All orders in which the steps of ring_model.py can follow one another are tried, in small worlds and, with SQT_FULL=1,
in larger ones; no record may be lost, doubled or torn, no unit split, and the account of losses must be exact.  Then one
order at a time is turned round, as if the code had its two stores the wrong way: each of MISTAKES must be found out, each
of FREE must be harmless.  The code is searched for each step's line, in the same order.
"""

import copy
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import ring_model as model  # noqa: E402

SOURCE = os.environ.get("SQT_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

WRITER, FLUSHER, TAKEOVER, READER = range(4)


class Scenario:
    """A small world: units is what the writer emits.  whole: its start and its end are part of it."""

    def __init__(self, name, units, capacity, whole=False, reader=None, kills=0, failures=0, block=2, segment=2,
                 naps=False, recorder=False):
        self.name, self.whole, self.capacity, self.block, self.segment = name, whole, capacity, block, segment
        self.kills, self.failures, self.cut, self.trust, self.naps = kills, failures, True, None, naps
        self.recorder = recorder
        self.first = "two" if reader is model.READING else 0
        self.sizes = [n for n, _ in units]
        writer = model.writer(units)
        self.programs = [model.BEGINNING + writer + model.ENDING if whole else writer, model.FLUSHING,
                         model.TAKING_OVER] + ([reader] if reader else [])
        self.bounds = [sum(n for n, _ in units[:i]) for i in range(len(units) + 1)]

    def moved(self, names, behind):
        """The same with the steps of these names put behind the next step `behind`."""
        other = copy.copy(self)
        other.programs = [move(program, names, behind) for program in self.programs]
        return other

    def trusting(self, what):
        """The same with a reader that does not ask for this."""
        other = copy.copy(self)
        other.trust = what
        return other

    def uncut(self):
        other = copy.copy(self)
        other.cut = False
        return other


def move(program, names, behind):
    steps, held = [], []
    for step in program:
        if step.name in names:
            held.append(step)
            continue
        steps.append(step)
        if step.name == behind:
            steps += held
            held = []
    assert not held, "no %s after %s" % (behind, names)
    return steps


LOSSES = Scenario("losses and a kill", [(1, None)] * 6, 2, kills=1, block=1)
UNITS = Scenario("units, a full disk and two kills", [(1, None), (2, "d"), (1, None)], 4, kills=2, failures=1)
WHOLE = Scenario("from start to end, and two kills", [(1, None), (1, "d")], 2, whole=True, kills=2, segment=1)
READ = Scenario("a reader of a ring that goes round", [(1, None)] * 3, 2, reader=model.READING, segment=1)
READ_LOSSES = Scenario("a reader and losses", [(1, None)] * 4, 2, reader=model.READING, segment=4)
READ_KILLED = Scenario("a reader and a kill", [(1, None), (1, "d")], 2, reader=model.READING, kills=1)
READ_WHOLE = Scenario("a reader from start to end, and a kill", [(1, None)], 2, whole=True, reader=model.READING, kills=1)
BUSY = Scenario("a reader of a head that never rests", [(1, None), (1, "d"), (1, None)], 2, reader=model.READING_BRACKETED, segment=1)
BUSY_LOSSES = Scenario("its account of losses", [(1, None)] * 4, 2, reader=model.READING_ACCOUNT, segment=4)
NAPS = Scenario("a flusher that only a signal wakes", [(1, None)] * 8 + [(2, None)] * 4, 8, block=8, segment=100, naps=True)
NAPS_WHOLE = Scenario("the same from start to end", [(1, None), (2, None)], 4, whole=True, block=4, segment=100, naps=True)
RECORDER = Scenario("a flight recorder that is killed", [(1, None), (2, None), (1, "d"), (2, None), (1, None)], 4, kills=2, block=4, segment=100,
                    recorder=True)
RECORDER_READ = Scenario("a reader of a flight recorder", [(1, None), (2, None), (1, None), (2, None)], 4, reader=model.READING, recorder=True)
RECORDER_BUSY = Scenario("the same, whose head never rests", [(1, None)] * 3 + [(2, None)], 4, reader=model.READING_BRACKETED, recorder=True)
# These take most of the time: without SQT_FULL they are smaller, and the mistakes are looked for in the whole ones.
READ_LOSSES_SMALL = Scenario("a reader and a loss", [(1, None)] * 3, 2, reader=model.READING, segment=4)
BUSY_SMALL = Scenario("a reader of a head that rests once", [(1, None), (1, "d")], 2, reader=model.READING_BRACKETED, segment=1)
BUSY_LOSSES_SMALL = Scenario("its account of a loss", [(1, None)] * 3, 2, reader=model.READING_ACCOUNT, segment=4)
LARGE = [READ_LOSSES, BUSY, BUSY_LOSSES] if os.environ.get("SQT_FULL") else [READ_LOSSES_SMALL, BUSY_SMALL, BUSY_LOSSES_SMALL]
SCENARIOS = [RECORDER, RECORDER_READ, RECORDER_BUSY, LOSSES, UNITS, WHOLE, READ, READ_KILLED, READ_WHOLE, NAPS, NAPS_WHOLE] + LARGE


class Process:
    """A program with the place of each name."""

    def __init__(self, steps):
        self.steps = steps
        self.at = {step.name: i for i, step in enumerate(steps)}


def successors(state, processes):
    """All states that one step, or a kill, leads to."""
    for index, process in enumerate(processes):
        if index <= FLUSHER and not state.alive:
            continue
        pc = state.pc[index]
        while pc < len(process.steps) and process.steps[pc].when and not process.steps[pc].when(state):
            pc += 1
        if pc >= len(process.steps):
            continue
        new = state.clone()
        result = process.steps[pc].do(new)
        if result is False:
            continue
        outcomes = result if isinstance(result, list) else [(new, result)]
        for outcome in outcomes:
            after, where = outcome if isinstance(outcome, tuple) else (outcome, None)
            next_pc = pc + 1 if where is None else process.at[where]
            while next_pc < len(process.steps) and process.steps[next_pc].private:
                if not process.steps[next_pc].when or process.steps[next_pc].when(after):
                    process.steps[next_pc].do(after)
                next_pc += 1
            after.pc = after.pc[:index] + (next_pc,) + after.pc[index + 1:]
            model.watch(after)
            yield process.steps[pc].name, after
    if state.kills:
        new = state.clone()
        if state.alive:
            new.kills, new.alive, new.f_file = state.kills - 1, False, None
            yield "kill", new
        elif state.pc[TAKEOVER] and process_runs(state, processes[TAKEOVER]):
            new.kills, new.t_draft = state.kills - 1, None
            new.pc = new.pc[:TAKEOVER] + (0,) + new.pc[TAKEOVER + 1:]
            yield "kill of the take-over", new


def process_runs(state, process):
    return process.steps[state.pc[TAKEOVER]].name not in ("check", "done")


def explore(scenario, taken=None):
    """(states, what is broken or None, the way there).  The names of all steps that were taken go into `taken`."""
    processes = [Process(program) for program in scenario.programs]
    start = model.State(scenario)
    seen = {start.key()}
    waiting = [(start, None)]
    while waiting:
        state, way = waiting.pop()
        steps = successors(state, processes)
        moved = False
        while True:
            try:
                name, after = next(steps, (None, None))
            except model.Broken as broken:
                return len(seen), str(broken), path(way)
            if after is None:
                break
            moved = True
            if taken is not None:
                taken.add(name)
            key = after.key()
            if key not in seen:
                seen.add(key)
                waiting.append((after, (name, way)))
        if not moved and state.alive and state.pc[WRITER] < len(scenario.programs[WRITER]):
            return len(seen), "asleep", path(way)
    return len(seen), None, []


def path(way):
    names = []
    while way:
        names.append(way[0])
        way = way[1]
    return names[::-1]


# (these steps, put behind this one, in this scenario, are found by this)
MISTAKES = [
    (["pointer"], "ring", WHOLE, "left behind"),
    (["header"], "magic", READ_WHOLE, "header not there"),
    (["define"], "text used", UNITS, "undefined"),
    (["text used"], "publish", UNITS, "undefined"),
    (["word 0 of 0"], "publish", UNITS, "torn"),
    (["word 1 of 0"], "publish", UNITS, "torn"),
    (["loss at"], "stretch", LOSSES, "wrong account"),
    (["loss base"], "stretch", LOSSES, "wrong account"),
    (["stretch"], "lost", LOSSES, "wrong account"),
    (["LOST, word 0"], "publish", LOSSES, "torn"),
    (["LOST, word 1"], "publish", LOSSES, "torn"),
    (["wait"], "remove ring", WHOLE, "lost"),
    (["remove ring"], "remove pointer", WHOLE, "left behind"),
    (["head", "count"], "text", WHOLE, "undefined"),
    (["sequence"], "tail", UNITS, "lost"),
    (["text"], "rest", UNITS, "undefined"),
    (["pack", "half", "rest"], "tail", READ, "lost"),
    (["rest"], "tail", UNITS, "lost"),
    (["rename"], "unlink ring", UNITS, "lost"),
    (["unlink ring"], "unlink pointer", UNITS, "left behind"),
    (["find ring", "first reading", "second reading"], "list", READ_KILLED, "lost"),
    (["load text"], "take", READ_KILLED, "undefined"),
    (["lie down"], "look again", NAPS_WHOLE, "asleep"),
    (["closed"], "signal", NAPS_WHOLE, "asleep"),
    (["overwrite"], "word 0 of 0", RECORDER_READ, "torn"),
    (["overwrite"], "publish", RECORDER, "torn"),
]

# (what a reader does not ask for, in this scenario, is found by this)
TRUST = [
    ("a second reading", READ_LOSSES, "impossible ring"),
    ("a second reading of the tail", READ, "torn"),
    ("the tail", READ, "torn"),
    ("the head's halves", BUSY, "impossible ring"),
    ("the episodes", BUSY_LOSSES, "wrong account"),
    ("a later reading of the lost", BUSY_LOSSES, "wrong account"),
    ("a later reading of the text", BUSY, "undefined"),
]

# The same, but harmless: these two may come in any order.
FREE = [
    (["word 0 of 0"], "word 1 of 0", UNITS),
    (["LOST, word 0"], "LOST, word 1", LOSSES),
    (["loss at"], "loss base", LOSSES),
    (["sequence"], "create", UNITS),  # as long as the file is empty
]


# ---- the model beside the code ----

def body(file, function):
    """The text of a function in a source file."""
    with open(os.path.join(SOURCE, file)) as source:
        found = re.search(r"^%s\(.*?^}" % function, source.read(), re.M | re.S)
    return found.group(0) if found else ""


def strangers(steps):
    """Steps whose line is not in the code, or not after that of the step before it in the same function."""
    reached = {}
    for step in steps:
        for file, function, text in step.places:
            at = body(file, function).find(text, reached.get((file, function), 0))
            if at < 0:
                yield "%s: %s(): %s" % (file, function, text)
            reached[file, function] = max(at, 0)


# ---- the test ----

class Report:
    def __init__(self):
        self.count, self.failed = 0, 0

    def line(self, good, text, *comments):
        self.count += 1
        self.failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, text), flush=True)
        for comment in comments if not good else ():
            print("#   %s" % comment)


def main():
    report, taken = Report(), set()
    programs = [model.BEGINNING + model.emission(0, 1, "d") + model.ENDING, model.FLUSHING, model.TAKING_OVER,
                model.READING, model.READING_BRACKETED]
    for name, steps in zip(("writer", "flusher", "take-over", "reader", "reader of a busy ring"), programs):
        unknown = list(strangers(steps))
        report.line(not unknown, "the code does the %s's steps in the model's order" % name, *unknown)
    for scenario in SCENARIOS:
        states, broken, way = explore(scenario, taken)
        report.line(not broken, "%s: %d states, nothing broken" % (scenario.name, states), broken, " > ".join(way))
    idle = {step.name for steps in programs for step in steps if not step.private} - taken - {"done", "end"}
    report.line(not idle, "every step is taken somewhere", ", ".join(sorted(idle)))
    for names, behind, scenario, finding in MISTAKES:
        _, broken, _ = explore(scenario.moved(names, behind))
        report.line(broken == finding, "%s only after %s: %s" % (" and ".join(names), behind, finding), broken)
    for what, scenario, finding in TRUST:
        _, broken, _ = explore(scenario.trusting(what))
        report.line(broken == finding, "a reader that does not ask for %s: %s" % (what, finding), broken)
    _, broken, _ = explore(UNITS.uncut())
    report.line(broken == "torn file", "a frame that did not fit is not cut off: torn file", broken)
    for names, behind, scenario in FREE:
        _, broken, _ = explore(scenario.moved(names, behind))
        report.line(not broken, "%s only after %s: harmless" % (" and ".join(names), behind), broken)
    print("1..%d" % report.count)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
