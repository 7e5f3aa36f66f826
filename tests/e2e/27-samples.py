# SPDX-License-Identifier: GPL-2.0-or-later
"""Resource samples: what the kernel, iostat and the cache manager say, at the time that they name."""

import bisect
import collections
import json
import os
import re
import subprocess
import threading
import time

from lib import dump, load, native
from lib.client import Client, at_once
from lib.env import Skip, run, wait_for
from lib.origin import Origin
from lib.squid import Squid

S = 10**9
DISK_ONLY = "cache_mem 0 MB\nmemory_cache_mode disk\n"


class Samples:
    """The table of a trace: {(kid, source, name): [(wall time in ns, value)]}"""

    def __init__(self, env, squid):
        self.values = collections.defaultdict(list)
        for row in dump.table(env, squid.directory, "samples"):
            self.values[row["kid"], row["source"], row["name"]].append((row.wall_ns, int(row["value"])))

    def series(self, source, name, kid="0"):
        return self.values.get((kid, source, name), [])

    def sources(self):
        return {(kid, source) for kid, source, _ in self.values}

    def names(self, source, kid="0"):
        return {name for own_kid, own_source, name in self.values if (own_kid, own_source) == (kid, source)}


# ---- another one who looks ----

def process_now(pid):
    """{name: value} of a process, from files that the sampler does not read."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    tick = 1000000 // os.sysconf("SC_CLK_TCK")
    found = {"cpu_user_us": int(fields[11]) * tick, "cpu_system_us": int(fields[12]) * tick,
             "minor_faults": int(fields[7]), "major_faults": int(fields[9]), "voluntary_switches": 0,
             "involuntary_switches": 0}
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as file:
            for line in file:
                if line.startswith("voluntary_ctxt"):
                    found["voluntary_switches"] += int(line.split()[1])
                elif line.startswith("nonvoluntary_ctxt"):
                    found["involuntary_switches"] += int(line.split()[1])
    return found


def gauges_now(pid):
    with open("/proc/%d/status" % pid) as file:
        rss = int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024
    return {"descriptors": len(os.listdir("/proc/%d/fd" % pid)), "rss_bytes": rss}


def machine_now():
    with open("/proc/stat") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    tick = 1000 // os.sysconf("SC_CLK_TCK")
    found = {"cpu_user_ms": (user + nice) * tick, "cpu_system_ms": (system + irq + softirq) * tick,
             "cpu_idle_ms": idle * tick, "cpu_iowait_ms": iowait * tick, "cpu_steal_ms": steal * tick}
    with open("/proc/vmstat") as file:
        lines = dict(line.split() for line in file)
    found.update(paged_in_kb=int(lines["pgpgin"]), paged_out_kb=int(lines["pgpgout"]),
                 swapped_in_pages=int(lines["pswpin"]), swapped_out_pages=int(lines["pswpout"]))
    with open("/proc/net/netstat") as file:
        names, values = [line.split() for line in file if line.startswith("TcpExt:")]
    found.update(listen_overflows=int(values[names.index("ListenOverflows")]),
                 listen_drops=int(values[names.index("ListenDrops")]))
    return found


class Witness:
    """Reads all of that every 20 ms."""

    def __init__(self, env, pid):
        self.pid = pid
        self.times, self.readings = [], []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        env.on_close(self.end)

    def run(self):
        while not self.ended.wait(0.02):
            before = time.time_ns()
            try:
                reading = {"process": process_now(self.pid), "gauges": gauges_now(self.pid), "machine": machine_now()}
            except (FileNotFoundError, ProcessLookupError):
                return
            self.times.append((before + time.time_ns()) // 2)
            self.readings.append(reading)

    def end(self):
        self.ended.set()
        self.thread.join()

    def around(self, source, name, at):
        """What it was at most before, and at least after, that moment."""
        i = bisect.bisect(self.times, at)
        return self.readings[max(i - 2, 0)][source][name], self.readings[min(i + 1, len(self.times) - 1)][source][name]


# Ticks of the kernel's account of processor time, for each processor; a context switch or fault of the reading itself.
SLACK = {"cpu_user_us": 20000, "cpu_system_us": 20000}
MACHINE_SLACK_MS = 20 * (os.cpu_count() or 1)


def check_counter(env, witness, samples, source, name):
    """Over the run: what the samples say it grew by, and what the witness saw at those moments."""
    series = [(at, value) for at, value in samples.series(source, name) if witness.times[2] < at < witness.times[-3]]
    if not env.check(len(series) >= 5, "%s %s: only %d samples" % (source, name, len(series))):
        return 0
    (first_at, first), (last_at, last) = series[0], series[-1]
    begin, end = witness.around(source, name, first_at), witness.around(source, name, last_at)
    least, most = end[0] - begin[1], end[1] - begin[0]
    grown = last - first
    slack = MACHINE_SLACK_MS if name.startswith("cpu_") and source == "machine" else SLACK.get(name, 2)
    env.note("%s %s: grew by %d; seen beside it: %d to %d" % (source, name, grown, least, most))
    env.check(least * 0.98 - slack <= grown <= most * 1.02 + slack,
              "%s %s grew by %d, seen beside it: %d to %d" % (source, name, grown, least, most))
    return grown


def check_gauge(env, witness, samples, name, share):
    """Each sample is what the witness saw just before and after it, give or take that share, where it saw one thing."""
    wrong, seen = [], 0
    for at, value in samples.series("process", name):
        if witness.times[2] < at < witness.times[-3]:
            i = bisect.bisect(witness.times, at)
            around = [reading["gauges"][name] for reading in witness.readings[max(i - 3, 0):i + 3]]
            if max(around) > min(around) * (1 + share):
                continue  # connections come and go faster than the witness looks
            seen += 1
            if not max(around) * (1 - share) <= value <= min(around) * (1 + share):
                wrong.append((value, around))
    env.note("%s: %d samples agree" % (name, seen - len(wrong)))
    env.check(seen >= 3 and not wrong, "%s: %d of %d samples differ: %s" % (name, len(wrong), seen, wrong[:3]))


def check_pace(env, series, what):
    """A second apart, but for times when the machine was held up."""
    for (before, _), (at, _) in zip(series, series[1:]):
        held = env.held.within((before, at)) if env.held else 0
        env.check(abs(at - before - S) < 0.1 * S + held, "%s: %.3f s between two samples" % (what, (at - before) / 1e9))


def processes(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs"], dns=origin.host, lines=load.CONF, alone=True).start()
    witness = Witness(env, squid.process.pid)
    time.sleep(1)
    traffic = load.Mixed(env, squid, origin, seed=27, weights={"memory_hit": 10, "disk_hit": 4, "miss": 1})
    traffic.warm()
    traffic.run(6000, 8)
    time.sleep(3)
    witness.end()
    squid.stop()
    samples = Samples(env, squid)
    grown = {name: check_counter(env, witness, samples, "process", name) for name in process_now(os.getpid())}
    env.check(grown["cpu_user_us"] + grown["cpu_system_us"] > 300000, "the process did nothing: %s" % grown)
    env.check(grown["voluntary_switches"] > 500 and grown["minor_faults"] > 0, "it never waited: %s" % grown)
    for name in machine_now():
        check_counter(env, witness, samples, "machine", name)
    env.equal(samples.names("process"), set(process_now(os.getpid())) | {"descriptors", "rss_bytes"}, "of the process")
    env.equal(samples.names("machine"), set(machine_now()), "of the machine")
    for name, share in (("descriptors", 0), ("rss_bytes", 0.02)):
        check_gauge(env, witness, samples, name, share)
    check_pace(env, samples.series("process", "rss_bytes"), "the process")


# ---- disks ----

def loop_device(env, squid, kind):
    """A file system on a loop device where the cache_dir will be; the device's name."""
    env.need_root("mounts a file system on a loop device")
    for program in ("losetup", "mkfs.ext4", "iostat"):
        env.need_program(program)
    image, place = env.path("disk.img"), squid.dir_path(kind)
    with open(image, "wb") as out:
        out.truncate(256 << 20)
    done = run(["losetup", "-f", "--show", image])
    if done.returncode:
        raise Skip("no loop device: " + done.stderr.strip())
    device = done.stdout.strip()
    env.on_close(lambda: run(["losetup", "-d", device]))
    os.makedirs(place)
    for command in (["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device], ["mount", device, place]):
        done = run(command)
        if done.returncode:
            raise Skip("%s: %s" % (" ".join(command), done.stderr.strip()))
    env.on_close(lambda: run(["umount", "-l", place]))
    squid.give(place)
    squid.write_conf()
    run(squid.command("-z", squid.mode), 120, env=squid.environ())
    return os.path.basename(device)


def settle(place):
    """Writes what is to be written, and forgets what was read."""
    run(["sync", "-f", place])
    for folder, _, names in os.walk(place):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_now(device):
    with open("/proc/diskstats") as file:
        fields = next(line.split() for line in file if line.split()[2] == device)
    reads, _, sectors_read, read_ms, writes, _, written, write_ms, _, busy_ms, queue_ms = map(int, fields[3:14])
    return {"reads": reads, "read_bytes": 512 * sectors_read, "read_ms": read_ms, "writes": writes,
            "written_bytes": 512 * written, "write_ms": write_ms, "busy_ms": busy_ms, "queue_ms": queue_ms}


def disks(env):
    """Nothing goes to the disk at the begin and at the end, so totals over the run must agree."""
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs"], dns=origin.host, lines=DISK_ONLY, alone=True)
    device = loop_device(env, squid, "aufs")
    place = squid.dir_path("aufs")
    squid.start()
    time.sleep(2)
    settle(place)
    time.sleep(1.5)
    seconds = 14
    iostat = subprocess.Popen(["iostat", "-x", "-d", "-k", "-y", "-o", "JSON", device, "1", str(seconds)],
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    env.on_close(lambda: iostat.poll() is None and iostat.kill())
    began, begin = time.time_ns(), disk_now(device)
    time.sleep(1)
    with Client(squid.client_address()) as client:
        for n in range(150):
            client.request(origin.url("o%d" % n, size=30000 + 1000 * n), "fill%d" % n)
        time.sleep(1)
        settle(place)
        for n in range(150):
            client.request(origin.url("o%d" % n, size=30000 + 1000 * n), "hit%d" % n)
    settle(place)
    reports = json.loads(iostat.communicate(timeout=60)[0].decode())["sysstat"]["hosts"][0]["statistics"]
    end, ended = disk_now(device), time.time_ns()
    time.sleep(1.2)
    with open("/proc/diskstats") as file:
        env.note([line.strip() for line in file if " %s " % device in line])
    squid.stop()
    samples = Samples(env, squid)
    source = "disk " + device
    env.equal({found for _, found in samples.sources() if found.startswith("disk")}, {source}, "disks that are sampled")
    grown = {}
    for name in begin:
        series = samples.series(source, name)
        first = [value for at, value in series if at < began]
        last = [value for at, value in series if at > ended]
        if env.check(first and last, "%s: no sample before or after the run" % name):
            grown[name] = last[0] - first[-1]
            env.check(abs(grown[name] - (end[name] - begin[name])) <= 0.02 * (end[name] - begin[name]) + 2,
                      "%s grew by %d, in /proc/diskstats by %d" % (name, grown[name], end[name] - begin[name]))
    env.check(grown["reads"] > 300 and grown["writes"] > 20, "hardly anything went to the disk: %s" % grown)
    # iostat's rates are of intervals of a second and some milliseconds.
    rows = [next(iter(report["disk"])) for report in reports]
    width = (ended - began) / 1e9 / len(rows)
    for column, wanted in (("r/s", grown["reads"]), ("w/s", grown["writes"]), ("rkB/s", grown["read_bytes"] / 1024),
                           ("wkB/s", grown["written_bytes"] / 1024), ("util", grown["busy_ms"] / 10),
                           ("aqu-sz", grown["queue_ms"] / 1000)):
        total = sum(row[column] for row in rows)
        env.note("iostat: %s %.2f in all (times %.4f s); samples %.2f" % (column, total, width, wanted))
        env.check(abs(total - wanted) <= 0.02 * wanted + 0.01 * len(rows), "iostat's %s adds up to %.2f, samples to %.2f"
                  % (column, total, wanted))
    number = str(os.stat("/dev/" + device).st_rdev)
    env.equal({str(value) for _, value in samples.series("cache_dir 0", "device")}, {number}, "the cache_dir's device")
    # The figure says the same in the words of iostat.
    figure = dump.Dump(env, squid.directory, options=["--figure=disks", "--group=1h"]).rows()
    written = sum(float(row["written_kb_per_s"]) for row in figure)
    env.check(figure and all(row["disk"] == device for row in figure) and written > 0, "the figure: %s" % figure[:2])


def without_a_device(env):
    """A cache_dir on a tmpfs says so once."""
    env.need_root("mounts a small tmpfs")
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["ufs"], dns=origin.host, lines=DISK_ONLY, alone=True)
    place = squid.dir_path("ufs")
    os.makedirs(place)
    done = run(["mount", "-t", "tmpfs", "-o", "size=64M", "none", place])
    if done.returncode:
        raise Skip("cannot mount a tmpfs: " + done.stderr.strip())
    env.on_close(lambda: run(["umount", "-l", place]))
    squid.give(place)
    squid.write_conf()
    run(squid.command("-z", squid.mode), 120, env=squid.environ())
    squid.start()
    time.sleep(3.5)
    squid.stop()
    with open(squid.cache_log) as file:
        said = [line for line in file if "is on no block device (tmpfs)" in line]
    env.check(len(said) == 1 and place in said[0], "cache.log: %s" % said)
    samples = Samples(env, squid)
    env.equal([source for _, source in samples.sources() if source.startswith("disk")], [], "disks")
    env.equal({value for _, value in samples.series("cache_dir 0", "device")}, {0}, "its device")


# ---- what Squid knows ----

def number_in(pattern, text):
    return float(re.search(pattern, text).group(1))


def caches(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["aufs", "ufs"], dns=origin.host, lines=load.CONF, alone=True).start()
    traffic = load.Mixed(env, squid, origin, seed=270)
    traffic.warm()
    traffic.run(300, 4)
    time.sleep(2.5)  # files that are to go are gone
    info, dirs = squid.manager("info")[1], squid.manager("storedir")[1]
    asked = time.time_ns()
    time.sleep(2.2)
    squid.stop()
    samples = Samples(env, squid)

    def after(source, name):
        series = [value for at, value in samples.series(source, name) if at > asked]
        return series[0] if env.check(series, "no sample of %s %s" % (source, name)) else -1

    found = re.findall(r"Store Directory #(\d).*?\nMaximum Size: (\d+) KB\nCurrent Size: ([\d.]+) KB", dirs, re.S) or \
        re.findall(r"Store Directory #(\d).*?Maximum Size: (\d+) KB.*?Current Size: ([\d.]+) KB", dirs, re.S)
    env.equal([number for number, _, _ in found], ["0", "1"], "cache_dirs of mgr:storedir")
    total = 0
    for number, limit, size in found:
        source = "cache_dir " + number
        got, got_limit = after(source, "bytes"), after(source, "limit_bytes")
        total += got
        env.check(abs(got / 1024 - float(size)) < 0.01 and float(size) > 50, "%s: %d bytes, mgr:storedir says %s KB"
                  % (source, got, size))
        env.equal(got_limit, int(limit) * 1024, source + ": limit")
    env.equal(after("squid", "disk_bytes"), total, "all cache_dirs together")
    objects = int(number_in(r"(\d+) on-disk objects", info))
    env.equal(after("squid", "disk_objects"), objects, "objects on disk, as mgr:info counts them")
    env.equal(after("cache_dir 0", "objects") + after("cache_dir 1", "objects"), objects, "objects of the cache_dirs")
    memory = number_in(r"Storage Mem size:\s+(\d+) KB", info)
    env.check(abs(after("squid", "memory_bytes") / 1024 - memory) <= 16 and memory > 20,
              "memory %d bytes, mgr:info says %d KB" % (after("squid", "memory_bytes"), memory))
    env.check(abs(after("squid", "memory_objects") - number_in(r"(\d+) Hot Object Cache Items", info)) <= 2,
              "objects in memory %d: %s" % (after("squid", "memory_objects"), info))
    env.check(abs(after("squid", "entries") - number_in(r"(\d+) StoreEntries\n", info)) <= 3,
              "entries %d: %s" % (after("squid", "entries"), info))
    env.equal(after("squid", "aufs_queue"), 0, "the queue of aufs, idle")
    figure = dump.Dump(env, squid.directory, options=["--figure=cache-fill"]).rows()
    env.check(figure and 0 < int(figure[-1]["disk_bytes"]) <= total * 1.02, "cache-fill: %s" % figure[-1:])


def aufs_queue(env):
    """Opens that take 3 s are in the queue meanwhile."""
    origin = Origin(env)
    slow = env.path("slow")
    squid = Squid(env, trace="", dirs=["aufs"], dns=origin.host, lines=DISK_ONLY, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-aufs-", "SLOWDISK_MS": "3000", "SLOWDISK_CALL": "open",
                               "SLOWDISK_IF": slow}).start()
    with Client(squid.client_address()) as client:
        for n in range(5):
            client.request(origin.url("o%d" % n, size=9000), "fill%d" % n)
    time.sleep(0.5)
    open(slow, "w").close()

    def hit(n):
        with Client(squid.client_address()) as client:
            client.request(origin.url("o%d" % n, size=9000), "hit%d" % n)
    at_once(5, hit)
    os.unlink(slow)
    time.sleep(1.5)
    squid.stop()
    queue = [value for _, value in Samples(env, squid).series("squid", "aufs_queue")]
    env.note("queue of aufs: %s" % queue)
    env.check(max(queue) == 5 and queue[-1] == 0, "the queue of aufs: %s" % queue)


def stalled(env):
    """While the loop stands still for 4 s, samples go on, and name their own time."""
    origin = Origin(env)
    once = env.path("once")
    squid = Squid(env, trace="", dirs=["ufs"], dns=origin.host, lines=DISK_ONLY, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-ufs-", "SLOWDISK_MS": "4000", "SLOWDISK_CALL": "open",
                               "SLOWDISK_ONCE": once}).start()
    os.chmod(os.path.dirname(once), 0o777)
    open(once, "w").close()
    with Client(squid.client_address()) as client:
        client.request(origin.url("o", size=9000), "fill")
        client.request(origin.url("o", size=9000), "hit")
    env.check(not os.path.exists(once), "no call was slow")
    time.sleep(1.5)
    squid.stop()
    samples = Samples(env, squid)
    told = [at for at, _ in samples.series("squid", "entries")]
    env.check(max(b - a for a, b in zip(told, told[1:])) > 3.5 * S, "the loop did not stand still")
    check_pace(env, samples.series("process", "cpu_user_us"), "the process of a stalled loop")
    late = [row for row in dump.table(env, squid.directory, "events", "--where=event == SAMPLE")
            if float(row["time_s"]) - float(row["arg"]) > 2]
    env.check(late, "nothing was told late")


# ---- who samples, and when nobody does ----

def kids(env):
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["rock"], dir_mb=64, dns=origin.host, workers=2,
                  lines="memory_cache_shared on\ncache_mem 16 MB\n").start()
    with Client(squid.client_address()) as client:
        for n in range(30):
            client.request(origin.url("o%d" % n, size=9000), "fill%d" % n)
    time.sleep(3)
    squid.stop()
    samples = Samples(env, squid)
    sources = samples.sources()
    env.equal({kid for kid, source in sources if source == "process"}, {"1", "2", "3", "4"}, "kids: 2 workers, disker, coordinator")
    env.equal({kid for kid, source in sources if source == "machine"}, {"1"}, "who samples the machine")
    env.equal({kid for kid, source in sources if source == "cache_dir 0"}, {"3"}, "who tells a shared cache_dir")
    last = {kid: samples.series("squid", "disk_objects", kid)[-1][1] for kid in "1234"}
    # Rock keeps one object of those whose keys have the same place.
    stored = len({row["filen"] for row in dump.table(env, squid.directory, "swaps")})
    env.check(stored >= 25, "%d places in the store" % stored)
    env.check(last["3"] == stored and last["1"] == last["2"] == last["4"] == 0,
              "objects on disk by kid: %s, in %d places" % (last, stored))
    memory = {kid: samples.series("squid", "memory_objects", kid)[-1][1] for kid in "1234"}
    # So does shared memory.
    env.check(memory["1"] >= 25 and not any(memory[kid] for kid in "234"), "objects in shared memory by kid: %s" % memory)


def opened_by(env, squid, seconds):
    """Paths in /proc and /sys that Squid opens."""
    path = env.path("strace")
    with subprocess.Popen(["strace", "-f", "-e", "trace=open,openat,readlink,stat,newfstatat", "-o", path, "-p",
                           str(squid.process.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as strace:
        wait_for(lambda: os.path.exists(path), 20, "strace")
        time.sleep(seconds)
        strace.terminate()
    with open(path) as file:
        return set(re.findall(r'"(/(?:proc|sys)/[^"]*)"', file.read()))


def off(env):
    env.need_program("strace")
    for words, on in (("events=client,server,store,diskop,digest", False), ("events=loop", False), ("", True)):
        squid = Squid(env, name="on" if on else "loop" if "loop" in words else "off", trace=words, dirs=["ufs"], alone=True, plain=True).start()
        time.sleep(0.5)
        opened = opened_by(env, squid, 3)
        time.sleep(1.2)
        squid.stop()
        samples = Samples(env, squid).values
        env.note("sqtrace_log %s: %d values; opened %s" % (words, len(samples), sorted(opened)))
        env.equal(bool(samples), on, "samples with sqtrace_log " + words)
        env.equal({"/proc/stat", "/proc/vmstat", "/proc/self/statm"} <= opened, on, "reads /proc with sqtrace_log " + words)
        if "loop" in words:  # table loop_time tells throttling
            opened = {path for path in opened if "cgroup" not in path}
        env.check(on or not opened, "%s: without samples it opens %s" % (words, sorted(opened)))


TESTS = [
    ("samples: of the process and the machine, as the kernel counts", processes, 90),
    ("samples: of a disk, as iostat and /proc/diskstats have it", disks, 90),
    ("samples: a cache_dir without a block device says so once", without_a_device, 40),
    ("samples: of the caches, as the cache manager says", caches, 60),
    ("samples: the queue of aufs", aufs_queue, 40),
    ("samples: a loop that stands still", stalled, 40),
    ("samples: which kid samples what", kids, 60),
    ("samples: without the group there are none, and nothing is read", off, 60),
]
