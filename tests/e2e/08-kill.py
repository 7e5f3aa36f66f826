# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL at random moments: nothing committed is lost, nothing is decoded twice, the next start is clean."""

import mmap
import os
import random
import signal
import struct
import subprocess
import threading
import time

from lib import dump, native, ring, versions
from lib.client import Background, Client
from lib.env import Failure, wait_for
from lib.origin import Origin
from lib.proc import alive
from lib.squid import Squid, ring_notes

# What the writer writes: each unit begins with one of UNITS, and an XACT_END is followed by both PARTS.
UNITS = ("CLIENT_READ", "XACT_END")
PARTS = ("PART_XACT_SIZES", "PART_XACT_FLAGS")


class Writer:
    """native/writer.c as a process, and the counters that it keeps in shared memory."""

    def __init__(self, env, program, directory, words=(), burst=200, pause_us=500, limit=0, preload=None):
        self.path = env.path("counters")
        with open(self.path, "wb") as file:
            file.write(b"\0" * 4096)
        self.file = open(self.path, "r+b")
        self.memory = mmap.mmap(self.file.fileno(), 4096)
        # Of the default groups, libsqtrace emits samples itself, which the writer cannot count.
        self.process = subprocess.Popen([program, self.path, str(burst), str(pause_us), str(limit), directory,
                                         "events=client"] + list(words), stdout=subprocess.PIPE, stderr=open(env.path("writer.err"), "a"),
                                        env=dict(os.environ, LD_PRELOAD=preload) if preload else None)
        if self.process.stdout.readline() != b"started\n":
            raise Failure("the writer did not start: " + open(env.path("writer.err")).read()[-500:])

    def counters(self):
        """(records begun, records done, units begun, units done)"""
        return struct.unpack_from("<4Q", self.memory, 0)

    def end(self):
        """A clean end."""
        self.process.terminate()
        self.process.wait(20)

    def kill(self):
        self.process.kill()
        self.process.wait(10)


class Reader:
    """sqtrace-dump of the directory, over and over, in a thread; its runs must never crash or print a double."""

    def __init__(self, env, directory, check=None):
        self.env, self.directory, self.check = env, directory, check
        self.runs, self.ending = 0, False
        self.thread = threading.Thread(target=self.body, daemon=True)
        self.thread.start()

    def body(self):
        while not self.ending:
            try:
                result = dump.Dump(self.env, self.directory, "events", fail=False)
                self.env.check(result.status in (0, 1), "a reader beside the writer: status %d: %s"
                               % (result.status, result.errors[-300:]))
                if self.check and result.status == 0:
                    self.check(result)
                self.runs += 1
            except Failure as failure:
                self.env.check(False, "a reader beside the writer: %s" % failure)

    def stop(self):
        self.ending = True
        self.thread.join(120)


def unit_numbers(rows):
    return [int(row["id"]) for row in rows if row["event"] in UNITS]


def check_decoded(env, directory, writers, what):
    """What is decoded plus what is lost equals what the writers' own counters say; no number twice."""
    result = dump.Dump(env, directory, "events")
    rows = [row for row in result.rows() if row["event"] in UNITS + PARTS]
    lost = sum(int(row["records"]) for row in dump.table(env, directory, "losses"))
    begun = sum(counters[0] for counters in writers)
    done = sum(counters[1] for counters in writers)
    env.check(done <= len(rows) + lost <= begun, "%s: %d decoded + %d lost, but %d begun and %d done"
              % (what, len(rows), lost, begun, done))
    numbers = unit_numbers(rows)
    if len(writers) == 1:
        env.check(len(set(numbers)) == len(numbers), "%s: %d units decoded twice" % (what, len(numbers)
                                                                                    - len(set(numbers))))
        env.check(numbers == sorted(numbers), "%s: units out of order" % what)
        missing = writers[0][3] - len([n for n in set(numbers) if n <= writers[0][3]])
        env.check(bool(missing) == bool(lost), "%s: %d units are missing, %d records lost" % (what, missing, lost))
    units = [row for row in rows if row["event"] == "XACT_END"]
    parts = [row for row in rows if row["event"] in PARTS]
    env.check(len(parts) == 2 * len(units), "%s: %d units of three have %d parts" % (what, len(units), len(parts)))
    return len(rows), lost


def kill_writer(env):
    """The runtime alone, with a counter of its own."""
    program, slow = native.writer(env), native.preload(env, "slowflush")
    rounds = 100 if env.full else 20
    randoms = random.Random(6)
    lossy = 0
    for turn in range(rounds):
        directory = env.path("trace%d" % turn)
        os.mkdir(directory)
        small = turn % 2
        writer = Writer(env, program, directory, ["ring=1MB"] if small else ["ring=32MB"],
                        burst=40000 if small else 50, pause_us=100000 if small else 1000,
                        preload=slow if turn % 4 >= 2 else None)
        reader = Reader(env, directory) if turn % 3 == 0 else None
        time.sleep(randoms.uniform(0.01, 0.4))
        writer.kill()
        if reader:
            reader.stop()
            env.check(reader.runs > 0, "the reader never ran")
        notes = ring_notes(directory)
        env.require(len(notes) == 1 and os.path.exists(notes[0]), "round %d: rings %s" % (turn, notes))
        header = ring.Ring(notes[0])
        counters = writer.counters()
        env.check(counters[1] <= header.emitted - 1 <= counters[0],
                  "round %d: the ring's header has emitted %d with START, the counter says %d to %d"
                  % (turn, header.emitted, counters[1], counters[0]))
        for problem in sum((found.problems() for found in ring.numbers(directory, notes).values()), []):
            env.check(False, "round %d: %s" % (turn, problem))
        decoded, lost = check_decoded(env, directory, [counters], "round %d, the ring left over" % turn)
        lossy += lost > 0
        # The next start makes the left-over ring a segment.
        again = Writer(env, program, directory, ["ring=1MB"], burst=10, pause_us=1000)
        wait_for(lambda: notes[0] not in ring_notes(directory), 10, "the next start to take up the left-over ring")
        again.end()
        env.check(not os.path.exists(notes[0]), "round %d: the ring is still there after the next start" % turn)
        env.equal(ring_notes(directory), [], "round %d: notes of rings" % turn)
        check_decoded(env, directory, [counters, again.counters()], "round %d, after the next start" % turn)
        for found in ring.numbers(directory).values():
            for problem in found.problems():
                env.check(False, "round %d, after the next start: %s" % (turn, problem))
        if env.failures:
            break
    env.note("%d of %d rounds lost records" % (lossy, rounds))
    env.check(lossy > 0, "no round lost a record: the small ring never overflowed")


def hold(rings):
    """Opens rings that are made, so that their headers can be read after the files are gone."""
    return [open(path, "rb") for path in made(rings)]


def made(rings):
    """Without those that a process was about to make when it was killed."""
    return [path for path in rings if os.path.exists(path) and ring.is_whole(path)]


def heads(files):
    """{ring id: (head, lost, marks)} of held rings."""
    found = {}
    for file in files:
        header = ring.Ring("/proc/self/fd/%d" % file.fileno())
        found[header.identity.ring_id] = header
    return found


def kill_squid(env):
    """A real Squid under load: all of its processes, or one worker while a reader runs."""
    rounds = 100 if env.full else 20
    randoms = random.Random(7)
    origin = Origin(env)
    squid = Squid(env, trace="", dirs=["ufs"], workers=2, dns=origin.host, lines="cache_mem 16 MB")
    for turn in range(rounds):
        squid.directory = os.path.join(squid.folder, "trace%d" % turn)
        os.mkdir(squid.directory)
        squid.give(squid.directory)
        squid.start()
        wait_for(lambda: len(made(squid.rings())) >= 2, 30, "two rings")

        def work(n):
            with Client(squid.client_address(), 5) as client:
                for k in range(10):
                    client.request(origin.url("o%d" % (k * n % 50), size=5000 + n), "k")
        traffic = Background(env, 4, work)
        wait_for(lambda: traffic.total > 4, 20, "traffic")
        one = turn % 2 and versions.revives_killed_kids(squid.version())
        reader = Reader(env, squid.directory) if one else None
        time.sleep(randoms.uniform(0.05, 0.6))
        held = hold(squid.rings())
        if one:
            workers = squid.worker_pids()
            victim = workers[turn // 2 % len(workers)]
            os.kill(victim, signal.SIGKILL)
            wait_for(lambda: not alive(victim), 10, "the worker to die")
            dead = {key: value for key, value in heads(held).items() if value.identity.pid == victim}
            env.require(len(dead) == 1, "round %d: no ring of the killed worker" % turn)
            wait_for(lambda: victim not in squid.kids() and len(squid.worker_pids()) == 2, 30, "the new worker")
            gone = [file.name for file in held if ring.Ring("/proc/self/fd/%d" % file.fileno()).identity.pid == victim]
            wait_for(lambda: not os.path.exists(gone[0]), 10, "the new worker to take up the ring of the killed one")
            reader.stop()
            traffic.stop()
            squid.stop()
            env.equal(squid.rings(), [], "round %d: rings after the clean stop" % turn)
        else:
            squid.kill_all()
            traffic.stop()
            dead = heads(held)
            check_whole(env, squid.directory, made(squid.rings()), dead, "round %d, rings left over" % turn)
            squid.start()
            wait_for(lambda: not [file.name for file in held if os.path.exists(file.name)], 10,
                     "the next start to take up the rings")
            squid.stop()
        env.check(not [path for path in (file.name for file in held) if os.path.exists(path)],
                  "round %d: rings are still there" % turn)
        check_whole(env, squid.directory, [], dead, "round %d, after the next start" % turn)
        check_witness(env, squid, dead, "round %d" % turn)
        for file in held:
            file.close()
        if env.failures:
            break


def check_whole(env, directory, rings, dead, what):
    """Every record number of every ring id once, up to the heads that the dead writers' rings show."""
    found = ring.numbers(directory, rings)
    for ring_id, header in dead.items():
        if env.check(ring_id in found, "%s: a killed ring is nowhere" % what):
            env.equal((found[ring_id].head, found[ring_id].lost), (header.head, header.lost), what + ": head and lost")
    for entry in found.values():
        for problem in entry.problems():
            env.check(False, "%s: %s" % (what, problem))
    decoded = len(dump.Dump(env, directory, "events").rows())
    env.equal(decoded, sum(entry.head for entry in found.values()), what + ": rows of events against heads")
    lost = sum(int(row["records"]) for row in dump.table(env, directory, "losses"))
    env.equal(lost, sum(entry.lost for entry in found.values()), what + ": losses against headers")


def check_witness(env, squid, dead, what):
    """What the killed processes counted for themselves is what their rings and the decoded trace account for."""
    counted = squid.witness.processes()
    for header in dead.values():
        pid = header.identity.pid
        if env.check(pid in counted, "%s: the witness knows nothing of process %d" % (what, pid)):
            begun, done = counted[pid]
            env.check(done <= header.emitted <= begun, "%s: process %d emitted %d to %d records, its "
                      "ring says %d" % (what, pid, done, begun, header.emitted))
    env.check(sum(done for _, done in counted.values()) > 1000, "%s: hardly anything was emitted" % what)
    squid.witness.check(env, squid.directory, what)


TESTS = [
    ("SIGKILL to a writer that counts for itself", kill_writer, 150),
    ("SIGKILL to Squid under load", kill_squid, 240),
]
