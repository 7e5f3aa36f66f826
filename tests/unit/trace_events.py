# SPDX-License-Identifier: GPL-2.0-or-later
"""A checker of JSON in the Trace Event Format, by its published description.  It knows nothing of sqtrace."""

import bisect
import collections
import json

NUMBERS = (int, float)
COLOURS = set("""thread_state_uninterruptible thread_state_iowait thread_state_running thread_state_runnable
    thread_state_sleeping thread_state_unknown background_memory_dump light_memory_dump detailed_memory_dump
    vsync_highlight_color generic_work good bad terrible black grey white yellow olive rail_response rail_animation
    rail_idle rail_load startup heap_dump_stack_frame heap_dump_object_type heap_dump_child_node_arrow cq_build_running
    cq_build_passed cq_build_failed cq_build_abandoned cq_build_attempt_runnig cq_build_attempt_passed
    cq_build_attempt_failed""".split())
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index",
            "thread_sort_index": "sort_index", "process_labels": "labels"}


def ns(text):
    """A decimal number, as an integer of its last decimal: microseconds or seconds as nanoseconds."""
    return int(text.replace(".", ""))


def load(text):
    """The JSON with its times as integers of nanoseconds."""
    return json.loads(text, parse_float=ns)


def thread(event):
    return event["pid"], event["tid"]


def wrong_members(event):
    """What an event lacks, or has and must not."""
    phase = event.get("ph")
    if phase not in tuple("XBEbenisftCM"):
        return "an unknown phase: %s" % event
    if "pid" not in event or not isinstance(event.get("name"), str) and phase != "E":
        return "no process or no name: %s" % event
    if phase != "M" and not isinstance(event.get("ts"), NUMBERS):
        return "no time: %s" % event
    if phase in "XBEisft" and "tid" not in event:
        return "no thread: %s" % event
    if phase == "X" and not (isinstance(event.get("dur"), NUMBERS) and event["dur"] >= 0):
        return "no duration, or one below 0: %s" % event
    if phase in "bensft" and not ("id" in event and "cat" in event):
        return "no id or no category: %s" % event
    if phase == "i" and event.get("s", "t") not in ("t", "p", "g"):
        return "an unknown scope: %s" % event
    if phase == "M" and METADATA.get(event["name"]) not in event.get("args", {}):
        return "unknown metadata: %s" % event
    if event.get("cname", "good") not in COLOURS:
        return "an unknown colour: %s" % event
    return None


def wrong_counter(event):
    values = event.get("args", {}).values()
    if not values or not all(isinstance(value, NUMBERS) for value in values):
        return "a counter without numbers: %s" % event
    return "a counter below 0: %s" % event if min(values) < 0 else None


def slices_of(events):
    """{(pid, tid): [(begin, end, event)]} of complete events and of begins with their ends, and what has no end."""
    found, stacks, wrong = collections.defaultdict(list), collections.defaultdict(list), []
    for event in events:
        if event["ph"] == "X":
            found[thread(event)].append((event["ts"], event["ts"] + event["dur"], event))
        elif event["ph"] == "B":
            stacks[thread(event)].append(event)
        elif event["ph"] == "E":
            if not stacks[thread(event)]:
                wrong.append("an end without its begin: %s" % event)
                continue
            begin = stacks[thread(event)].pop()
            if event.get("name", begin["name"]) != begin["name"] or event["ts"] < begin["ts"]:
                wrong.append("%s does not end %s" % (event, begin))
            found[thread(event)].append((begin["ts"], event["ts"], begin))
    return found, wrong + ["never ended: %s" % event for stack in stacks.values() for event in stack]


def wrong_nesting(slices):
    """Slices of a thread lie within each other or behind each other.  Also sorts them: the outer one comes first."""
    slices.sort(key=lambda s: (s[0], -s[1]))
    wrong, stack = [], []
    for begin, end, event in slices:
        while stack and stack[-1][1] <= begin:
            stack.pop()
        if stack and end > stack[-1][1]:
            wrong.append("%s overlaps %s" % (event, stack[-1][2]))
        stack.append((begin, end, event))
    return wrong


def wrong_async(events):
    stacks, wrong = collections.defaultdict(list), []
    for event in events:
        if event["ph"] not in "be":
            continue
        stack = stacks[event["pid"], event["cat"], event["id"]]
        if event["ph"] == "b":
            stack.append(event)
        elif not stack or stack[-1]["name"] != event["name"] or stack[-1]["ts"] > event["ts"]:
            wrong.append("an end without its begin: %s" % event)
        else:
            stack.pop()
    return wrong + ["never ended: %s" % event for stack in stacks.values() for event in stack]


class Enclosing:
    """The slices that enclose a moment of a thread, the outermost first; of threads whose slices nest."""

    def __init__(self, slices):
        self.slices, self.begins, self.parents = slices, {}, {}
        for key, those in slices.items():
            self.begins[key] = [begin for begin, _, _ in those]
            parents, stack = [], []
            for i, (begin, _, _) in enumerate(those):
                while stack and those[stack[-1]][1] <= begin:
                    stack.pop()
                parents.append(stack[-1] if stack else None)
                stack.append(i)
            self.parents[key] = parents

    def __call__(self, key, at):
        found, i = [], bisect.bisect_right(self.begins.get(key, []), at) - 1
        while i is not None and i >= 0:
            begin, end, event = self.slices[key][i]
            if begin <= at < end:
                found.insert(0, event)
            i = self.parents[key][i]
        return found


def flows_of(events, enclosing):
    """[(slices that enclose the start, those that enclose the end)] of all flows, and what is wrong with them."""
    ends, flows, wrong = collections.defaultdict(lambda: {"s": [], "t": [], "f": []}), [], []
    for event in events:
        if event["ph"] in "stf":
            ends[event["cat"], event["name"], event["id"]][event["ph"]].append(event)
    for key, found in ends.items():
        if len(found["s"]) != 1 or len(found["f"]) != 1:
            wrong.append("flow %s has %d starts and %d ends" % (key, len(found["s"]), len(found["f"])))
            continue
        start, end = found["s"][0], found["f"][0]
        if start["ts"] > end["ts"]:
            wrong.append("flow %s ends before it starts" % (key,))
        if end.get("bp") != "e":
            wrong.append("flow %s ends at the next slice, not at the one around it" % (key,))
        flows.append((enclosing(thread(start), start["ts"]), enclosing(thread(end), end["ts"])))
        if not flows[-1][0] or not flows[-1][1]:
            wrong.append("flow %s has an end on no slice: %s, %s" % (key, start, end))
    return flows, wrong


class Checked:
    """What was found in a trace: `problems` as texts, `slices` by thread, and `flows`."""

    def __init__(self, events):
        self.problems = [wrong for wrong in map(wrong_members, events) if wrong]
        self.slices, self.flows = {}, []
        if self.problems:
            return
        self.problems += [w for w in (wrong_counter(event) for event in events if event["ph"] == "C") if w]
        self.slices, wrong = slices_of(events)
        self.problems += wrong + wrong_async(events)
        for slices in self.slices.values():
            self.problems += wrong_nesting(slices)
        self.flows, wrong = flows_of(events, Enclosing(self.slices))
        self.problems += wrong
