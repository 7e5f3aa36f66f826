# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-experiment: its tables, what it says of where the time went, and what it leaves behind."""

import glob
import os
import re
import signal
import subprocess
import time

from lib import dump
from lib.env import first, long_form, run, wait_for

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools",
                       "sqtrace-experiment")


def command(env, name, *options, folder="results"):
    return [PROGRAM, name, "--squid=" + env.squid, "--tools=" + env.tools, "--folder=" + env.path(folder), *options]


def need_disks(env):
    env.need_root("loop devices and mounts")
    env.tool("slow-disk")
    env.need_program("mkfs.ext4")


def surroundings(env):
    os.makedirs(env.path("tmp"), exist_ok=True)
    return dict(os.environ, TMPDIR=env.path("tmp"))


def tables(env, name, *options):
    """Runs the experiment; returns what it prints."""
    return finish(env, command(env, name, *options))


def finish(env, words):
    done = run(words, seconds=300, env=surroundings(env))
    env.require(done.returncode == 0, "ended with %d: %s" % (done.returncode, done.stderr[-500:]))
    env.note(done.stdout)
    return done.stdout


def left_behind(env):
    """What of ours is there beside files: processes, mounts, loop devices, control groups."""
    place = env.path("tmp")
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as file:
                words = file.read().replace("\0", " ")
        except OSError:
            continue
        if env.path("") in words:
            found.append("process: " + words[:100])
    with open("/proc/mounts") as file:
        found += ["mount: " + line.strip() for line in file if place in line]
    for path in glob.glob("/sys/block/loop*/loop/backing_file"):
        with open(path) as file:
            backing = file.read().strip()
        if place in backing:
            found.append("loop device on " + backing)
    found += ["file: " + name for name in os.listdir(place)]
    for kind in ("memory", ""):
        found += glob.glob("/sys/fs/cgroup/%s/sqtrace-experiment-*" % kind)
    return found


def row(text, label):
    """Values of the first row with that label, without their variation."""
    for line in text.split("\n"):
        if line.strip().startswith(label.strip()):
            return [float(word) for word in re.sub(r"\([^)]*\)", "", line.strip()[len(label.strip()):]).split() if word != "-"]
    return []


def disk_arms(env):
    need_disks(env)
    text = tables(env, "disk-arms", "--stores=aufs", "--rounds=1", "--scale=0.3", "--clients=8", "--wait=100")
    env.check("Table 1: aufs" in text and "Table 2: aufs" in text, "two tables")
    waited = row(text, "what the client waited")
    env.equal(len(waited), 3, "columns of disk-arms-why")
    latency = row(text, "First phase latency (s)"), row(text, "Second phase latency (s)")
    for i, value in enumerate(waited):
        # Both phases have as many requests.
        env.check(abs((latency[0][i] + latency[1][i]) * 500 - value) < 10 + 0.02 * value,
                  "the client waited %s ms, its latencies are %s and %s s" % (value, latency[0][i], latency[1][i]))
    for i, value in enumerate(row(text, "in Squid")):
        stages = sum(row(text, "  " + name)[i] if len(row(text, "  " + name)) > i else 0 for name in STAGES)
        env.check(abs(stages - value) < 0.01 * value + 1, "stages add up to %s, not to %s" % (stages, value))
    hits = row(text, "Hit Ratio")
    env.check(len(hits) == 2 and hits[0] == hits[1] and 20 < hits[0] < 70, "hit ratios: %s" % hits)
    for name in ("index.html", "tables.txt", "values.tsv", "report-aufs/index.html"):
        env.check(os.path.getsize(env.path("results", name)) > 500, name + " is there")
    env.equal(left_behind(env), [], "left behind")


# iostat's columns; the counters that they come from, and how much of these is one of those, for a second.
IOSTAT = {"r/s": ("reads", 1), "w/s": ("writes", 1), "rkB/s": ("read_bytes", 1024), "wkB/s": ("written_bytes", 1024),
          "aqu-sz": ("queue_ms", 1000), "%util": ("busy_ms", 10)}


def as_iostat(env):
    """What the trace samples of a disk is what iostat counts beside it; two arms have half of the queue each."""
    need_disks(env)
    env.need_program("iostat")
    text = tables(env, "disk-arms", "--stores=aufs", "--rounds=1", "--clients=20")
    for name, disks in (("1-aufs-one", ("loop",)), ("1-aufs-two", ("loop", "loop"))):
        folder = env.path("results", "runs", name)
        seen = {}
        with open(os.path.join(folder, "iostat.txt")) as file:
            begin = end = float(file.readline().split()[-1])
            for line in file:
                words = line.split()
                if words[:2] == ["#", "until"]:
                    seconds, end = float(words[2]) - end, float(words[2])
                elif words and words[0] == "Device":
                    head = words
                elif words and words[0].startswith("loop"):
                    for column in IOSTAT:
                        grew = float(words[head.index(column)]) * seconds
                        seen[words[0], column] = seen.get((words[0], column), 0) + grew
        env.equal(len(seen), len(IOSTAT) * len(disks), "what iostat says of %s" % name)
        sampled = {}
        for row_ in dump.table(env, os.path.join(folder, "trace"), "samples"):
            if row_["source"].startswith("disk "):
                sampled.setdefault((row_["source"][5:], row_["name"]), []).append((row_.wall_ns / 1e9, int(row_["value"])))
        for (device, column), total in seen.items():
            value, unit = IOSTAT[column]
            # The disks are at rest for more than a second at both ends, so a sample of that time has what iostat has.
            points = sampled[device, value]
            grew = ([v for t, v in points if t <= end][-1] - [v for t, v in points if t >= begin][0]) / unit
            env.note("%s %s %s: sampled %g, iostat %g" % (name, device, column, grew, total))
            env.check(grew > 0 and abs(total - grew) <= 0.02 * grew, "%s of %s: samples say %g, iostat %g"
                      % (column, name, grew, total))
    with open(env.path("results", "values.tsv")) as file:
        values = {(line.split("\t")[0], line.split("\t")[2]): float(line.split("\t")[3]) for line in file
                  if "queue" in line}
    one = values["aufs-one", "disk2_queue"]
    # Which of the two a swap-out goes to is Squid's choice, so one may have more of it.
    two = [values["aufs-two", "disk%s_queue" % disk] for disk in "12"]
    env.note("queue: one disk %g, two %g and %g" % (one, *two))
    env.check(sum(two) / 2 < 0.65 * one, "one disk has a queue of %g, two have %g and %g" % (one, *two))
    env.check(len(row(text, "Disk 1 - busy (%)")) == 1 and len(row(text, "Disk 2 - busy (%)")) == 2, "rows of disks")


def cache_fill(env):
    """Calls that read rise tenfold where the cache outgrows memory, and far less where it fits: those take microseconds, so
    on a busy machine they rise, too."""
    need_disks(env)
    text = tables(env, "cache-fill", "--rounds=1", "--scale=0.6")
    for name in ("open-read", "read-disk"):
        found = re.search(name + r", all in the cache against the first step: ([0-9.]+) times .*memory,\n([0-9.]+) times",
                          text)
        if env.check(found, "a sentence about " + name):
            env.check(float(found.group(1)) >= 10, "%s: %s times in little memory" % (name, found.group(1)))
            env.check(float(found.group(2)) < min(5, float(found.group(1)) / 5),
                      "%s: %s times in little memory, %s in the control" % (name, *found.groups()))
    env.equal(left_behind(env), [], "left behind")


def diskop(env):
    """A disker does one operation at a time, so at full load they wait for it many times as long as they take; threads
    of aufs take them from the queue at once.  The means are those that the trace's rows have."""
    need_disks(env)
    text = tables(env, "diskop", "--stores=aufs,rock", "--rounds=1", "--scale=0.3", "--service=30")
    full, idle, worst, lost = (text.split("Table %d" % number)[1] for number in range(1, 5))
    waited, took = row(full, "read: in a queue"), row(full, "read: being done")
    env.check(waited[1] > 3 * took[1] > 1, "rock: a read waits %g ms and takes %g" % (waited[1], took[1]))
    env.check(waited[0] < 0.2 * took[0], "aufs: a read waits %g ms and takes %g" % (waited[0], took[0]))
    env.check(row(worst, "read: in a queue")[1] > 3 * took[1], "rock: the batch that waited longest")
    env.check(0 < row(full, "close: being done")[0] < 1, "aufs: a close takes %s ms" % row(full, "close: being done"))
    for label in ("operations a second", "in flight, in the mean"):
        env.check(row(full, label)[1] > row(idle, label)[1] > 0,
                  "%s: %s and %s" % (label, row(full, label), row(idle, label)))
    env.equal(row(lost, "never came back"), [0, 0], "lost operations")
    for column, store in enumerate(("aufs", "rock")):
        folder = env.path("results", "runs", "1-" + store)
        with open(os.path.join(folder, "load.tsv")) as file:
            lines = file.read().split("\n")
        comment, = (line for line in lines if line.startswith("# start:"))
        lines = [line.split("\t") for line in lines if not line.startswith("#")]
        phase, = (dict(zip(lines[0], line)) for line in lines if line[:2] == ["top1", "all"])
        start = float(re.search(r"\((.*)\)", comment).group(1)) + float(phase["begin_s"])
        end = start + float(phase["duration_s"])
        reads = [operation for operation in dump.table(env, os.path.join(folder, "trace"), "diskops")
                 if operation["op"] == "read" and start + 1 <= operation.wall_ns / 1e9 < end]
        for label, columns in (("in a queue", ("enqueued_ns", "dequeued_ns")), ("being done", ("io_ns", "copy_ns"))):
            mean = sum(operation.ns(name) or 0 for operation in reads for name in columns) / len(reads) / 1e6
            shown = row(full, "read: " + label)[column]
            env.check(abs(shown - mean) < 0.01 * mean + 0.01,
                      "%s, read %s: %g ms, the rows say %g" % (store, label, shown, mean))
    env.equal(left_behind(env), [], "left behind")


def digests(env):
    """As many look-ups as requests that miss, and hits that make responses faster than a slow origin."""
    text = tables(env, "digests", "--rounds=1", "--scale=0.5", "--rate=40", "--wait=200",
                  "--only=on,no-lookups,no-updates,no-false-hits,on-idle,hits-off,hits-on")
    with open(env.path("results", "values.tsv")) as file:
        values = {tuple(line.split("\t")[:3]): float(line.split("\t")[3]) for line in list(file)[1:]}
    for name in ("on", "no-lookups", "no-updates", "no-false-hits", "on-idle", "hits-on"):
        with open(env.path("results", "runs", "1-" + name, "load.tsv")) as file:
            lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
        load, = (dict(zip(lines[0], line)) for line in lines if line[:2] == ["urls", "all"])
        count, responses = values[name, "1", "lookup"], int(load["responses"])
        env.check(responses <= count <= responses + int(load["retries"]),
                  "%s: %d look-ups, %d responses, %s retries" % (name, count, responses, load["retries"]))
    env.equal(values["no-lookups", "1", "lookup_none"], values["no-lookups", "1", "lookup"], "look-ups that are none")
    env.check(("no-updates", "1", "update_us") not in values and values["no-lookups", "1", "update_us"] > 0,
              "updates")
    false = {name: values.get((name, "1", "hit_false"), 0) for name in ("on", "no-updates", "no-false-hits")}
    env.check(false["on"] > max(1, false["no-false-hits"]) and false["no-updates"] == 0 and false["no-false-hits"] <= 1,
              "false hits: %s" % false)
    hits = values["hits-on", "1", "hit_hit"]
    env.check(hits > 100, "%d hits of 150" % hits)
    fast, slow = values["hits-on", "1", "p50_ms"], values["hits-off", "1", "p50_ms"]
    env.check(fast < slow / 2 and slow >= 200, "where digests hit the median is %g ms, else %g ms" % (fast, slow))
    env.check(re.search(r"^1, digests on, both busy +95 +[0-9.]+ \(-", text, re.M), "what was published, and what is now")
    env.equal(left_behind(env), [], "left behind")


def digests_a_a(env):
    """No digests twice: the tables say that there is no difference, in at least 19 of 20 trials, at 99 %."""
    trials = 20 if env.full else 1
    found = {}
    for _ in range(trials):
        text = tables(env, "digests", "--fresh", "--only=off,off-again", "--rounds=4", "--scale=0.5", "--rate=200")
        for words in ("response time p50, ms", "CPU of a request, us", "passes of the loop for a request"):
            line = re.search("\n%s\n(?:.*\n)*?(off-again .*)" % re.escape(words), text).group(1)
            env.check(re.search(r"\d+\.\d+ \.\. \d+\.\d+  (no difference|more|less)$", line), line)
            found.setdefault(words, []).append(line)
    for words, lines in found.items():
        print("# %s:\n#     %s" % (words, "\n#     ".join(lines)))
        same = sum(line.endswith("  no difference") for line in lines)
        env.check(same >= trials - trials // 20, "%s: no difference in %d of %d trials" % (words, same, trials))


STAGES = ("server wait", "proxy reply", "swap in first", "swap in rest", "swap in open", "reply wait", "request send",
          "peer select", "lookup", "connect", "server reply", "unaccounted", "access", "dns")


def slow_origin(env):
    need_disks(env)
    text = tables(env, "disk-arms", "--stores=aufs", "--rounds=1", "--scale=0.2", "--clients=5", "--wait=1500")
    for name in ("aufs-one", "aufs-two", "none"):
        env.check(name + ": the disk's share of the clients' time is under 5 %" in text, name)


def slow_disk(env):
    need_disks(env)
    text = tables(env, "disk-arms", "--stores=ufs", "--rounds=1", "--scale=2", "--clients=10", "--wait=1")
    env.check("ufs-one: the disk's share of the clients' time is over 50 %" in text, "one disk")
    env.check("none: the disk's share of the clients' time is under 5 %" in text, "no caching")


def begin(env, words, load):
    """The experiment as a process, when its load has run for a second; load is the pattern of its files."""
    now = time.time()
    with open(env.path("out"), "a") as out:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=surroundings(env),
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    env.on_close(process.kill)
    wait_for(lambda: any(os.path.getmtime(path) > now for path in glob.glob(load)), 100, load)
    time.sleep(1)
    return process


def each_interrupted(env):
    """Of each experiment a run is killed; the next one undoes what that left, and is interrupted; the one after that,
    of the shortest of them, goes on to the end."""
    need_disks(env)
    env.require(env.unpatched, "needs --unpatched=PREFIX")
    for name in ("cache-fill", "diskop", "digests", "overhead"):
        more = ["--unpatched=" + env.unpatched] if name == "overhead" else []
        words = command(env, name, "--rounds=1", *more, folder=name)
        load = env.path(name, "runs", "*", "load*.txt")
        process = begin(env, words, load)
        process.kill()
        process.wait(30)
        busy = left_behind(env)
        env.check(busy, name + ", killed, leaves things behind")
        env.check(name != "cache-fill" or any(line.startswith("/sys/fs/cgroup") for line in busy),
                  "a control group is there: %s" % busy)
        process = begin(env, words, load)
        process.send_signal(signal.SIGINT)
        env.equal(process.wait(30), 128 + signal.SIGINT, name + ": status")
        env.equal(left_behind(env), [], name + ": left behind")
    finish(env, words)
    env.check(os.path.getsize(env.path(name, "index.html")) > 500, name + ": a report")
    env.equal(left_behind(env), [], name + ": left behind at the end")


def interrupted(env):
    """Interrupted, hung up and killed in the middle of runs; each goes on where the one before was."""
    need_disks(env)
    words = command(env, "disk-arms", "--stores=aufs", "--rounds=1", "--scale=0.3", "--clients=8", "--wait=400")
    runs = ("1-none", "1-aufs-one", "1-aufs-two")
    ends = {}
    for current, number in zip(runs[1:] + runs[2:], (signal.SIGINT, signal.SIGKILL, signal.SIGTERM)):
        process = begin(env, words, env.path("results", "runs", current, "load.txt"))
        busy = left_behind(env)
        env.check(any("slow-disk" in line for line in busy) and any("mount" in line for line in busy)
                  and any("loop" in line for line in busy), "while it runs there is %s" % busy)
        process.send_signal(number)
        status = process.wait(30)
        if number == signal.SIGKILL:
            env.check(left_behind(env), "killed, it leaves things behind")
        else:
            env.equal(status, 128 + number, "status")
            env.equal(left_behind(env), [], "left behind after signal %d" % number)
        env.check(not os.path.exists(env.path("results", "runs", current, "done")), current + " is not done")
        for name in runs[:runs.index(current)]:
            ends.setdefault(name, os.path.getmtime(env.path("results", "runs", name, "done")))
        if number == signal.SIGINT:
            # The same run again, to its end or until it is killed.
            other = subprocess.run(words[:-1] + ["--wait=401"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, universal_newlines=True, env=surroundings(env))
            env.check(other.returncode == 1 and "has runs with other options (wait=400)" in other.stderr,
                      "other options: %s" % other.stderr)
    text = tables(env, "disk-arms", *words[5:])
    env.check("Table 1" in text, "the end")
    env.equal(left_behind(env), [], "left behind at the end")
    for name, end in ends.items():
        env.equal(os.path.getmtime(env.path("results", "runs", name, "done")), end, name + " was kept")


# They look at what the experiments do, of which one Squid can tell: the one that has its twin beside it.
NEEDS = "--unpatched"
ALONE = True  # and at what an experiment leaves behind on the machine

TESTS = [
    ("disk-arms: tables of one round", disk_arms, 200),
    ("disk-arms: samples and iostat, one arm and two", long_form(first(as_iostat)), 250),
    ("disk-arms: a slow origin, under 5 % is disk", long_form(slow_origin), 300),
    ("disk-arms: a slow disk, over 50 % is disk", long_form(slow_disk), 300),
    ("cache-fill: tenfold in little memory, not where all fits", first(cache_fill), 320),
    ("diskop: where reads wait at full load", diskop, 200),
    ("digests: look-ups are counted, hits are faster than a slow origin", digests, 400),
    ("digests: none against none, no difference", long_form(digests_a_a), 1800),
    ("an experiment that is interrupted leaves nothing and goes on", interrupted, 300),
    ("the other experiments, killed and interrupted, leave nothing", long_form(each_interrupted), 500),
]
