# SPDX-License-Identifier: GPL-2.0-or-later
"""tortured.py - runs in which an allocation fails, and what is right then.

tests/torture/failing.c counts the allocations of a run, and lets number N fail, or N and all after it. A run may end as it
does with memory. Else it ends with status 1 and one line that says there is no memory, and leaves no file that is not whole
under its final name.
"""
import concurrent.futures
import os
import queue
import random
import re
import shutil
import struct
import subprocess
import tempfile

TOOLS = os.environ["SQT_TOOLS"]
SOURCE = os.environ.get("SQT_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LIBRARY = os.path.join(TOOLS, "tests", "torture", "failing.so")
FORM = "6Q"  # struct failing
NO_MEMORY = re.compile("out of memory|[Cc]annot allocate memory|no memory|Resource temporarily unavailable|std::bad_alloc")
FOUND = re.compile(r"AddressSanitizer|LeakSanitizer|UndefinedBehaviorSanitizer|runtime error:|stack smashing|corrupt|double free|assertion|Assertion")
LIMIT = 60  # seconds


class Run:
    """One run: how it ended, what it printed and left, how many allocations it made, and how many of them failed."""

    def __init__(self, status, out, err, count, failed, left):
        self.status, self.out, self.err, self.count, self.failed, self.left = status, out, err, count, failed, left


class Failing:
    """The file that a run maps, and the environment that makes it."""

    def __init__(self, path, at, lasting=False, armed=True):
        self.path = path
        with open(path, "wb") as file:
            file.write(struct.pack(FORM, at, lasting, armed, bool(os.environ.get("SQT_TORTURE_SHOW")), 0, 0))

    def environment(self):
        sanitizers = {name: os.environ.get(name, "") + ":" + more for name, more in (
            ("ASAN_OPTIONS", "verify_asan_link_order=0:exitcode=99:allocator_may_return_null=1"), ("UBSAN_OPTIONS", "print_stacktrace=1"))}
        return dict(os.environ, LD_PRELOAD=LIBRARY, SQT_FAILING=self.path, TZ="UTC", **sanitizers)

    def counts(self):
        with open(self.path, "rb") as file:
            return struct.unpack(FORM, file.read())[4:]


def tree(folder):
    """path -> bytes of all files below a folder"""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                # A merged file has the second in its name.
                found[re.sub(r"-\d{10}\.parquet$", ".parquet", os.path.relpath(path, folder))] = file.read().replace(folder.encode(), b".")
    return found


def start(words, where, at, lasting=False, armed=True, stderr=subprocess.PIPE):
    failing = Failing(os.path.join(where, "failing"), at, lasting, armed)
    return failing, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=failing.environment(), cwd=where)


def end(failing, process, out):
    """Waits for a run's end."""
    try:
        printed, said = process.communicate(timeout=LIMIT)
        status = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        printed, said = process.communicate()
        status = "it hangs"
    where = os.path.dirname(failing.path)
    return Run(status, printed.replace(where.encode(), b"."), (said or b"").decode(errors="replace").replace(where, "."), *failing.counts(), tree(out))


class Case:
    """A program and its options, which may be some processes. {trace} and {out} stand for the trace and for a folder that is new for each run."""

    processes = 1

    def __init__(self, name, *words, crew=False, status=0, prepare=None):
        self.name, self.words, self.crew, self.status, self.prepare = name, words, crew, status, prepare

    def run(self, where, trace, at, lasting=False):
        out = os.path.join(where, "out")
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out, 0o700)
        if self.prepare:
            self.prepare(out)
        words = [word.replace("{trace}", trace).replace("{out}", out) for word in self.words]
        before = tree(out)
        run = self.go(words, where, out, at, lasting)
        run.before = before
        return run

    def go(self, words, where, out, at, lasting):
        return end(*start([os.path.join(TOOLS, words[0]), *words[1:]], where, at, lasting), out)

    def finals(self, left):
        """The files that others take for whole: a name with .part says that it is not."""
        return {name: data for name, data in left.items() if ".part" not in name}

    def same(self, run, whole):
        """What differs from a run that had memory."""
        wrong = []
        if run.out != whole.out:
            wrong.append("%d bytes were printed, not %d" % (len(run.out), len(whole.out)))
        one, other = self.finals(run.left), self.finals(whole.left)
        if one != other:
            wrong.append("files differ: %s" % [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)][:3])
        if run.err.splitlines() != whole.err.splitlines():
            wrong.append("it said something else")
        return wrong

    def gave_up(self, run, whole):
        """What is wrong with a run that ended for want of memory."""
        lines = [line for line in run.err.splitlines() if line not in whole.err.splitlines()]
        wrong = [] if 1 <= len(lines) <= self.processes and all(map(NO_MEMORY.search, lines)) else ["not one line about memory, but %d" % len(lines)]
        finals = {name for name, data in self.finals(run.left).items() if run.before.get(name) != data}
        return wrong + (["it left %s" % sorted(finals)[:3]] if finals else [])

    def judge(self, run, whole):
        if FOUND.search(run.err):
            return ["a finding"]
        if run.status == whole.status:
            return self.same(run, whole)
        if run.status == 1 and run.failed:
            return self.gave_up(run, whole)
        return ["status %s" % run.status]


def unavoidable():
    """Rows of unavoidable.tsv: (pattern of cases, pattern of what was said, why)"""
    with open(os.path.join(SOURCE, "tests", "torture", "unavoidable.tsv")) as file:
        return [tuple(line.rstrip("\n").split("\t")) for line in file if line.strip() and not line.startswith("#")]


def is_listed(case, run, listed):
    return any(re.fullmatch(name, case.name) and re.search(said, run.err + "\nstatus %s\n" % run.status) for name, said, _ in listed)


def plan(count, first, more, draw):
    """Which allocations fail: the first ones one by one, and then some at random; of these every second time all after
    it, too, and always if that one has failed alone already."""
    chosen = [(at, False) for at in range(1, min(count, first) + 1)]
    for i in range(more if count else 0):
        at = draw.randint(1, count)
        chosen.append((at, i % 2 == 0 or at <= first))
    return chosen


def torture(cases, trace, first, more, seed, report, one_each=1):
    """Runs each case with each failure. report(case, runs, allocations, wrong) is called for each case."""
    processors = sorted(os.sched_getaffinity(0))
    listed = unavoidable()
    with tempfile.TemporaryDirectory() as scratch:
        places = queue.Queue()
        for number in processors:
            os.mkdir(os.path.join(scratch, str(number)))
            places.put(number)

        def once(case, at, lasting):
            number = places.get()
            try:
                # With one processor a program has one thread, and its allocations have an order.
                os.sched_setaffinity(0, processors if case.crew else [number])
                return at, lasting, case.run(os.path.join(scratch, str(number)), trace, at, lasting)
            finally:
                places.put(number)

        with concurrent.futures.ThreadPoolExecutor(len(processors)) as pool:
            for case in cases:
                draw = random.Random("%s %s" % (seed, case.name))
                _, _, whole = pool.submit(once, case, 0, False).result()
                wrong = case.judge(whole, pool.submit(once, case, 0, False).result()[2])
                if whole.status != case.status or wrong:
                    report(case, 0, whole.count, ["with memory: status %s, %s %s" % (whole.status, wrong, whole.err[:500])])
                    continue
                chosen = plan(whole.count, first, more, draw)[::one_each]
                for at, lasting, run in pool.map(lambda one, case=case: once(case, *one), chosen):
                    found = case.judge(run, whole)
                    if found and not is_listed(case, run, listed):
                        wrong.append("%s %d%s fails: %s, status %s: %s" % (
                            "allocation", at, " and all after it" if lasting else "", "; ".join(found), run.status, run.err[-2500:].strip()))
                report(case, len(chosen), whole.count, wrong)
