#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Table findings, computed anew: for the first three findings of each trace, harm and share (within 1 %), since and until
(within 100 ms), from other printed tables and from what sqtrace-tables(7) says of the causes.

usage: findings_oracle.py [TRACE...]   only these, and what differs
"""

import os
import re
import subprocess
import sys
import tempfile

import findings_apart
import findings_flow
import findings_looks
import findings_rules
from findings_trace import MS, Trace, number
from oracle import SOURCE, TOOLS, check, plan

CAUSES = {**findings_rules.CAUSES, **findings_looks.CAUSES, **findings_apart.CAUSES,
          **findings_flow.CAUSES}
FIRST = 3
MODELS = ("model_again", "model_causes", "model_episodes", "model_failures", "model_findings", "model_flow",
          "model_line", "model_listeners", "model_resources", "model_standstill", "model_waste", "model_why",
          "model_kinds", "model_alike", "model_apart")
MAKERS = {"dump_traces": ("story", "crossed.sqt", "held.sqt", "busy.sqt", "cut.sqt"),
          "figure_traces": ("mixed.sqt", "cut.sqt", "lossy.sqt", "kids", "killed", "step.sqt", "moved.sqt")}
GOLDEN = ("died.ring", "gap", "good-zlib.sqt", "good-zstd.sqt", "kids", "old-stamps.sqt")
seen = set()


def read(finding, column):
    text = finding.get(column, "-")
    if column in ("cause", "culprit", "pattern") or text == "-":
        return text
    return number(text) / 1000 if column == "share_pct" else number(text)


def agrees(column, got, want):
    """Harm and share within 1 %, times within 100 ms."""
    if got == want:
        return True
    if isinstance(got, str) or isinstance(want, str):
        return False
    least, most = want if isinstance(want, tuple) else (want, want)
    if column in ("time_s", "until_s"):
        return least - 100 * MS <= got <= most + 100 * MS
    smallest = 0.001 if column == "share_pct" else 2000 if column == "waiting_s" else 0
    return least * 0.99 - smallest <= got <= most * 1.01 + smallest


def differences(trace, finding):
    if finding["cause"] not in CAUSES:
        return []
    want = CAUSES[finding["cause"]](trace, finding)
    return ["%s %s: %s is %s, not %s" % (finding["cause"], finding["culprit"], column, finding.get(column), value)
            for column, value in want.items() if not agrees(column, read(finding, column), value)]


def said_otherwise(finding):
    """Numbers of its sentence that a column contradicts."""
    sentence, share = finding["sentence"], finding["share_pct"]
    requests, failed = int(finding["requests"]), int(finding["failures"])
    for pattern, column in ((r"^(\d+) % of the time of requests is", None if share == "-" else float(share)),
                            (r"take (\d+) % of the time of requests", None if share == "-" else float(share)),
                            (r"(?:for each|ms each|s each) of (\d+)(?: requests|\.)", requests),
                            (r"\. (\d+) requests waited for that", requests - failed)):
        said = re.search(pattern, sentence)
        if said and column is not None and abs(int(said[1]) - column) > 0.6:
            yield "%s: %s, but it says %s" % (finding["cause"], column, said[1])
    said = re.search(r"(\d+) of (\d+) requests \((?:[\d.]+) %\)", sentence)
    if said and not int(said[1]) <= requests or said and int(said[1]) > int(said[2]):
        yield "%s: %d requests, but it says %s" % (finding["cause"], requests, said[0])


def impossible(trace):
    """What cannot be, whatever the causes are."""
    claimed = 0
    for f in trace.findings:
        waiting, requests, felt = number(f["waiting_s"]), int(f["requests"]), trace.felt
        if not 0 <= number(f["time_s"]) <= number(f["until_s"]) <= trace.length:
            yield "%s: from %s to %s of a trace of %d ns" % (f["cause"], f["time_s"], f["until_s"], trace.length)
        if f["harm"] == "standstill" or f["cause"] in ("one_worker", "backlog_full", "silent_tunnels", "pipelined",
                                                          "slow_headers", "not_accepted", "undelivered", "lost_to_clients", "held_tunnels",
                                                          "late_tunnels", "slow_tunnel_uploads", "slow_tunnels"):
            continue  # a standstill counts what kept connections waited, too, a tunnel is open for longer, who comes behind
            # another one, sends its header slowly or is not accepted waits before its time begins, and a reply that is
            # lost is waited for after its end
        if waiting > felt * 1.001 or requests > len(trace.requests) or int(f["failures"]) > requests or \
                f["share_pct"] != "-" and float(f["share_pct"]) > 100:
            yield "%s: more than all requests" % f["cause"]
        if f["share_pct"] != "-" and f["cause"] not in ("healthy",) and \
                abs(float(f["share_pct"]) - 100 * waiting / felt) > 0.002:
            yield "%s: %s s are no %s %%" % (f["cause"], f["waiting_s"], f["share_pct"])
        if claimed and f["harm"] == "waiting" and claimed + waiting / 2 > felt * 1.001:
            yield "%s: at least half of its waiting is that of findings before it" % f["cause"]
        claimed += waiting if f["culprit"] != "-" and f["harm"] == "waiting" else 0


def declared():
    """All causes that there are, each of which has a name of its own."""
    names = []
    for table, word in (("findings.def", "SQT_FINDING"), ("looks.def", "SQT_LOOK_CAUSE")):
        with open(os.path.join(SOURCE, "src", "figure", "finding", table)) as text:
            names += re.findall(r"^%s\((\w+), " % word, text.read(), re.MULTILINE)
    twice = sorted({name for name in names if names.count(name) > 1})
    check(not twice, "no cause has the name of another one", *twice)
    return set(names)


def judge(name, path):
    trace = Trace(path)
    wrong = [line for finding in trace.findings[:FIRST] for line in differences(trace, finding)]
    wrong += [line for finding in trace.findings for line in said_otherwise(finding)] + list(impossible(trace))
    seen.update(f["cause"] for f in trace.findings[:FIRST])
    check(not wrong, "%s: %s" % (name, ", ".join(f["cause"] for f in trace.findings[:FIRST])), *wrong)


def made(work):
    """(name, trace) of all that tests of findings make, and of other traces of this tree."""
    for test in MODELS:
        folder = os.path.join(work, test)
        os.mkdir(folder)
        subprocess.run([os.path.join(TOOLS, "tests/unit", test)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=dict(os.environ, SQT_MODEL_TRACES=folder), timeout=300)
        for name in sorted(os.listdir(folder)):
            subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--strict", "--table=losses", os.path.join(folder, name)],
                           check=True, stdout=subprocess.DEVNULL, timeout=60)
            yield test + " " + name, os.path.join(folder, name)
    for maker, names in MAKERS.items():
        folder = os.path.join(work, maker)
        subprocess.run([os.path.join(TOOLS, "tests/unit", maker), folder], check=True, timeout=60)
        yield from ((name, os.path.join(folder, name)) for name in names)
    yield "sample", os.path.join(SOURCE, "doc", "sample")
    yield from (("golden " + name, os.path.join(SOURCE, "tests", "golden", name)) for name in GOLDEN)


def main():
    if sys.argv[1:]:
        for path in sys.argv[1:]:
            judge(path, path)
    else:
        with tempfile.TemporaryDirectory() as work:
            for name, path in made(work):
                judge(name, path)
        print("# no trace of these causes:", ", ".join(sorted(CAUSES.keys() - seen)) or "none")
    causes = declared()
    check(len(causes & CAUSES.keys()) > 70, "causes are computed: %d" % len(causes & CAUSES.keys()))
    for cause in sorted((causes | seen) - CAUSES.keys()):
        print("# not computed:", cause)
    plan()


if __name__ == "__main__":
    sys.exit(main())
