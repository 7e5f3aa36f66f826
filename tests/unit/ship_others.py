#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ship_others.py - sqtrace-ship in a folder where others may write, and beside traces that say they are another one.

As root, the folder belongs to user 65534, who puts links, pipes and forged states there.  Nothing is written outside of the
folder, nothing hangs, and what is not in the way is shipped.  Otherwise the same is done by the user who runs this.
"""
import glob
import os
import socket
import stat
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shipped  # noqa: E402
from pypi import available, enter  # noqa: E402
from shipped import SHIP, SOURCE, TOOLS, check, files, make_folder  # noqa: E402

FORGED = os.path.join(TOOLS, "tests/unit/make_forged")
NOW = ("--least-size=0", "--table=requests,losses")
NONE = "__HIVE_DEFAULT_PARTITION__"
NOBODY = 65534
ROOT = os.geteuid() == 0
SEEDS = {}


def segment(folder, name, seed=1, started=0, host="proxyA", sequence=0, first=0, requests=100, apart=1, last=0, boot=None):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".sqt")
    subprocess.run([FORGED, path, *(str(word) for word in (seed, started, host, sequence, first, requests, apart, last, *([boot] if boot else [])))], check=True)
    with open(path, "rb") as file:
        SEEDS[seed] = file.read()[32:48].hex()
    return folder


def run(*words):
    """Returns the status and what was said."""
    try:
        got = subprocess.run([SHIP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return got.returncode, got.stderr.decode()


def ship(out, *traces):
    return run(*traces, "--to=" + out, *NOW, *(make_folder(out) if "--make-folder" in subprocess.run([SHIP, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode() else ()))


def numbers(out, host="proxyA"):
    """The numbers of the records of the requests under the name of a host; none for a number that is too large for a row."""
    import pyarrow
    import pyarrow.parquet
    found = []
    for path, one in files(out).items():
        if one[0] == "requests" and one[2] == host:
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    raise pyarrow.ArrowInvalid(path)
                found += pyarrow.parquet.ParquetFile(path).read(columns=["row"]).column("row").to_pylist()
            except pyarrow.ArrowInvalid:
                found.append(-10 ** 6)  # somebody's file, which should not be there
    return sorted(row // 10 ** 6 for row in found if row is not None)


def requests(first, count):
    return [first + 10 * i + 7 for i in range(count)]


def as_other(function):
    """Calls it as user 65534, if this is root."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if ROOT:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            function()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0, "user 65534 could not do it"


class Place:
    """A folder of two rings, of which half is shipped, and which then belongs to the other user."""

    def __init__(self, scratch, name):
        self.scratch, self.out = os.path.join(scratch, name), os.path.join(scratch, name, "out")
        self.stage = os.path.join(self.out, ".sqtrace-ship")
        self.target = os.path.join(self.scratch, "target")
        self.trace = segment(os.path.join(self.scratch, "trace"), "a")
        segment(self.trace, "b", seed=2, host="proxyB")
        os.mkdir(self.target)
        os.chmod(self.target, 0o777)
        self.first = ship(self.out, self.trace)
        segment(self.trace, "c", sequence=1, first=1000)
        segment(self.trace, "d", seed=2, host="proxyB", sequence=1, first=1000)
        for folder, _, _ in os.walk(self.out):
            os.chown(folder, NOBODY if ROOT else -1, -1)

    def path(self, name, seed=1):
        return os.path.join(self.stage, name.replace("RING", SEEDS[seed]))

    def look(self, what, status, message, at_least=None):
        """Ships the other half: the ring that is in the way is said, the other one arrives, and nothing is elsewhere."""
        got, said = ship(self.out, self.trace)
        outside = [os.path.join(folder, name) for folder, _, names in os.walk(self.target) for name in names]
        good = got == status and message in said and not outside and numbers(self.out, "proxyB") == requests(0, 100) + requests(1000, 100)
        mine = numbers(self.out)
        good = good and mine == (requests(0, 100) if at_least is None else at_least)
        check(self.first[0] == 0 and good, what, self.first, got, said, outside, len(mine), len(numbers(self.out, "proxyB")))


def text_of(**words):
    return "".join("%s %s\n" % pair for pair in words.items())


def states(scratch):
    """States that sqtrace cannot have written."""
    up = "a/" + "../" * 4
    for name, mine, text in (
            ("host with slashes, of this user", True, "sqtrace-ship 1\n" + text_of(host=up + "target", shipped=1000, ticks=5, ended=0)),
            ("host with slashes, of another", False, "sqtrace-ship 1\n" + text_of(host=up + "target", shipped=1000, ticks=5, ended=0)),
            ("good, but of another", False, None)):
        place = Place(scratch, "state-" + str(abs(hash(name)) % 10 ** 6))
        if not mine and not ROOT:
            check(True, "a state: " + name, skip="takes root")
            continue
        if text is None:
            with open(place.path("RING")) as file:
                text = file.read()

        def plant(text=text, place=place):
            if os.path.exists(place.path("RING")):
                os.remove(place.path("RING"))
            with open(place.path("RING"), "w") as file:
                file.write(text)
            os.makedirs(os.path.join(place.out, "table=requests", "date=2023-11-14", "host=a"), exist_ok=True)
            with open(place.path("RING-000000000000-000000000005-0.requests.2023-11-14.sealed"), "w") as file:
                file.write("mine")
        plant() if mine else as_other(plant)
        place.look("a state is not believed: " + name, 1, SEEDS[1])
    for wrong in ("host a%2fb", "host a%41", "host a b", "host ", "shipped -5", "shipped 99999999999999999999", "shipped 18446744073709551615", "ended 2"):
        place = Place(scratch, "word-" + str(abs(hash(wrong)) % 10 ** 6))
        with open(place.path("RING")) as file:
            lines = [wrong + "\n" if line.split()[0] == wrong.split()[0] else line for line in file]
        with open(place.path("RING"), "w") as file:
            file.writelines(lines)
        place.look("a state is not believed: '%s'" % wrong, 1, "no state of a ring")


def socket_at(path):
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(os.path.dirname(path))
        one.bind(os.path.basename(path))


def strange(scratch):
    """Files that are none, under the names of the stage."""
    def replaced(path, make):
        if os.path.lexists(path):
            os.remove(path)
        make(path)
    sealed = "RING-000000000000-000000000005-0.requests.2026-11-26.sealed"
    kinds = {"pipe": os.mkfifo, "socket": socket_at, "link to a device": lambda path: os.symlink("/dev/zero", path),
             "link to a pipe": lambda path: (os.mkfifo(path + ".pipe"), os.symlink(path + ".pipe", path)),
             "folder": os.mkdir}
    both = requests(0, 100) + requests(1000, 100)
    for kind, make in kinds.items():
        for name, status, message, mine in (("RING", 1, SEEDS[1], None), ("RING.lock", 1, SEEDS[1] + ".lock", None),
                                            ("RING.new", 1 if kind == "folder" else 0, SEEDS[1] if kind == "folder" else "", None if kind == "folder" else both),
                                            (sealed, 1, "left alone", both)):
            place = Place(scratch, "%s-%s" % (kind.replace(" ", "-"), name.split("-")[0] + str(len(name))))
            as_other(lambda: replaced(place.path(name), make))
            place.look("%s as %s hangs and harms nothing" % (kind, name.replace(sealed, "sealed file")), status, message, mine)
    place = Place(scratch, "absent")
    absent = "ab" * 16

    def plant_absent():
        os.mkfifo(os.path.join(place.stage, absent))
        os.mkfifo(os.path.join(place.stage, absent + ".lock"))
    as_other(plant_absent)
    with open(os.path.join(place.stage, absent + "-000000000000-000000000005-0.requests.2026-11-26.sealed"), "w"):
        pass
    place.look("pipes as state and lock of a ring that is not in the trace", 1, absent, both)
    place = Place(scratch, "second-name")
    os.link(place.path("RING"), place.path("RING") + ".other")
    place.look("a state with a second name is not believed", 1, "hard links")


def folders(scratch):
    """Links instead of the folders in OUT."""
    day = "date=2023-11-14"
    for name in ("table=requests", "table=requests/" + day, "table=requests/%s/host=proxyA" % day):
        place = Place(scratch, "link-%d" % name.count("/"))

        def plant(name=name, place=place):
            path = os.path.join(place.out, name)
            os.rename(path, path + ".aside")
            os.symlink(place.target, path)
        as_other(plant)
        for _ in range(2):
            got, said = ship(place.out, place.trace)
        compacted, also = run("--compact", "--to=" + place.out, "--least-age=0", "--grace=0")
        outside = [one for _, _, names in os.walk(place.target) for one in names]
        check(got == 1 and "symbolic link" in said and name in said and compacted == 1 and "symbolic link" in also and not outside,
              "a link instead of %s is not followed, neither by --compact" % name, got, said, compacted, also, outside)
        os.remove(os.path.join(place.out, name))
        os.rename(os.path.join(place.out, name + ".aside"), os.path.join(place.out, name))
        got, said = ship(place.out, place.trace)
        check(got == 0 and numbers(place.out) == requests(0, 100) + requests(1000, 100), "without it, the next run ships the rest", got, said)
    place = Place(scratch, "link-stage")
    os.rename(place.stage, place.stage + ".aside")
    os.symlink(place.target, place.stage)
    got, said = ship(place.out, place.trace)
    check(got == 1 and "symbolic link" in said and os.listdir(place.target) == [], "a link instead of the stage is not followed", got, said)


def views(out):
    """Requests as the views count them, by host."""
    import sql_engines
    session = sql_engines.ENGINES["duckdb"]()
    text = subprocess.run([os.path.join(TOOLS, "sqtrace-dump"), "--ddl=duckdb", out], stdout=subprocess.PIPE, check=True).stdout.decode()
    for statement in sql_engines.statements(text):
        session.run(statement)
    return {row["host"]: row["n"] for row in session.rows("SELECT host, count(*) AS n FROM requests GROUP BY host")}


def two_traces(scratch):
    """Another host's trace says that it is this one's ring, and has a record with a number far ahead."""
    far = 4 * 10 ** 18
    for name, other in (("of another start and host", {"started": 5000, "host": "proxyB"}), ("of another host alone", {"host": "proxyB"}),
                        ("of another start alone", {"started": 5000})):
        out = os.path.join(scratch, "two-" + str(len(name)))
        mine, forged = out + "-mine", out + "-forged"
        segment(mine, "a")
        said = [ship(out, mine)]
        segment(forged, "a", requests=1, first=0, **other)
        segment(forged, "b", requests=1, sequence=1, first=far, last=1, **other)
        said.append(ship(out, forged))
        segment(mine, "b", sequence=1, first=1000, requests=200)
        said += [ship(out, mine), ship(out, forged), ship(out, mine)]
        host = other.get("host", "proxyA")
        wanted = requests(0, 100) + requests(1000, 200)
        got = numbers(out)
        wanted = wanted if host == "proxyB" else sorted(wanted + [7])
        check([one[0] for one in said] == [0, 1, 0, 1, 0] and got == wanted, "a forged trace %s is said, and all requests of this one arrive" % name, said, len(got))
        check(SEEDS[1] in said[1][1] and "another one" in said[1][1] and said[1][1].count("stands for") == 0, "the line names the ring", said[1][1])
        rings = {one[3] for one in files(out).values()}
        check(len(rings) == 2 and (host == "proxyA" or 7 in numbers(out, "proxyB")), "the other one is shipped under an id of its own", rings)
        if available("duckdb"):
            check(views(out)["proxyA"] >= 300, "views hide none of them", views(out))
        with_first = os.path.join(scratch, "first-" + str(len(name)))
        said = [ship(with_first, forged), ship(with_first, mine), ship(with_first, mine)]
        got = numbers(with_first)
        check([one[0] for one in said] == [0, 1, 1] and [n for n in requests(0, 100) + requests(1000, 200) if n not in got] == [],
              "also if the forged one came first", said, len(got))
        both = os.path.join(scratch, "both-" + str(len(name)))
        said = [ship(both, mine, forged), ship(both, mine, forged), ship(both, forged, mine)]
        got = numbers(both)
        if "started" not in other:  # it says all of this one but its host
            check([one[0] for one in said] == [1, 1, 1] and all("is of another host than other segments" in one[1] for one in said), "in one run over both directories it is said", said)
            continue
        check([one[0] for one in said] == [1, 1, 1] and [n for n in requests(0, 100) + requests(1000, 200) if got.count(n) != 1 + (n == 7 and host == "proxyA")] == []
              and len({one[3] for one in files(both).values()}) == 2, "in one run over both directories each row is there once", said, len(got))


def ahead(scratch):
    """A forged trace that says all that this one says of itself."""
    out, mine, forged = (os.path.join(scratch, "ahead" + name) for name in ("", "-mine", "-forged"))
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip().replace("-", "")
    segment(mine, "a", boot=boot)
    segment(forged, "a", requests=1, sequence=1, first=4 * 10 ** 18, last=1, boot=boot)
    said = [ship(out, mine), ship(out, forged)]
    segment(mine, "b", sequence=1, first=1000, requests=200, boot=boot)
    said.append(ship(out, mine))
    check([one[0] for one in said] == [0, 1, 0] and numbers(out) == requests(0, 100) + requests(1000, 200),
          "more records than ticks are those of another trace", said, len(numbers(out)))
    with open(os.path.join(out, ".sqtrace-ship", SEEDS[1])) as file:
        text = file.read()
    with open(os.path.join(out, ".sqtrace-ship", SEEDS[1]), "w") as file:
        file.write(text.replace("shipped 3000", "shipped 3900").replace("ended 0", "ended 1"))
    os.utime(os.path.join(out, ".sqtrace-ship", SEEDS[1]), (10 ** 9, 10 ** 9))
    got = ship(out, mine)
    check(got[0] == 1 and "says that 3900 records were shipped, but the trace ends at 3000" in got[1], "a state that is ahead of the trace is said", got)


def first_version(scratch):
    """A state that sqtrace-ship wrote before there was a second version."""
    out = os.path.join(scratch, "updated")
    trace = segment(os.path.join(scratch, "updated-trace"), "a")
    os.makedirs(os.path.join(out, ".sqtrace-ship"))
    with open(os.path.join(SOURCE, "tests/golden/ship-state-1")) as golden, open(os.path.join(out, ".sqtrace-ship", SEEDS[1]), "w") as state:
        state.write(golden.read())
    said = [ship(out, trace)]
    before = len(files(out))
    segment(trace, "b", sequence=1, first=1000)
    said.append(ship(out, trace))
    with open(os.path.join(out, ".sqtrace-ship", SEEDS[1])) as state:
        version = state.readline()
    check([one[0] for one in said] == [0, 0] and before == 0 and numbers(out) == requests(1000, 100) and version == "sqtrace-ship 2\n",
          "a state of version 1 counts, and becomes one of version 2", said, before, version)


def days(scratch):
    """Folders for days are bounded; none of a month is missing."""
    trace = segment(os.path.join(scratch, "days-trace"), "a", requests=3000, apart=86400, last=1)
    out = os.path.join(scratch, "days")
    got, said = ship(out, trace)
    dates = {name for name in (os.path.basename(path) for path in glob.glob(os.path.join(out, "table=requests", "date=*")))}
    check(got == 0 and len(dates) <= 65 and "date=" + NONE in dates and "2936 rows are in date=" + NONE in said, "3,000 days make no 3,000 folders", got, said, len(dates))
    count = len(numbers(out))
    check(count == 3000 and os.path.getsize(os.path.join(trace, "a.sqt")) < 100000, "no row is missing", count)
    status, said = run("--compact", "--to=" + out, "--least-age=0", "--grace=0")
    check(status == 0 and (not available("duckdb") or views(out) == {"proxyA": 3000}), "--compact and the views take them", status, said)
    month = segment(os.path.join(scratch, "month-trace"), "a", requests=35 * 24, apart=3600, last=1)
    out = os.path.join(scratch, "month")
    got, said = ship(out, month)
    dates = {os.path.basename(path) for path in glob.glob(os.path.join(out, "table=requests", "date=*"))}
    check(got == 0 and len(dates) >= 35 and "date=" + NONE not in dates, "a month that was not shipped has its days", got, said, len(dates))


def readers(scratch):
    """Who may read the trace may read what is shipped, and nobody else."""
    for mode, group in ((0o640, NOBODY), (0o600, NOBODY), (0o644, 0)):
        trace, out = os.path.join(scratch, "mode-%o-trace" % mode), os.path.join(scratch, "mode-%o" % mode)
        for n in range(2):
            segment(trace, "s%d" % n, sequence=n, first=1000 * n)
            for path in glob.glob(trace + "/*.sqt"):
                os.chown(path, -1, group if ROOT else -1)
                os.chmod(path, mode)
            got, said = ship(out, trace)
        found = {(stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_gid if ROOT else group) for path in files(out)}
        check(got == 0 and found == {(mode, group)}, "files get the mode %o and the group of the trace" % mode, got, said, found)
        before = len(files(out))
        status, said = run("--compact", "--to=" + out, "--least-age=0", "--grace=0")
        found = {(stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_gid if ROOT else group) for path in files(out)}
        check(status == 0 and len(files(out)) < before and found == {(mode, group)}, "and keep them when they are merged", status, said, found)
        private = {stat.S_IMODE(os.stat(path).st_mode) for path in glob.glob(os.path.join(out, ".sqtrace-ship", "*"))}
        check(private == {0o600}, "states and locks are private", private)
    trace, out = os.path.join(scratch, "mode-640-trace"), os.path.join(scratch, "mode-mixed")
    os.chmod(os.path.join(trace, "s0.sqt"), 0o600)
    ship(out, trace)
    found = {stat.S_IMODE(os.stat(path).st_mode) for path in files(out)}
    check(found == {0o600}, "one segment that is private makes its ring private", found)


def replaced(scratch):
    """--compact removes no file for one that another user made."""
    if not ROOT:
        return check(True, "a merged file of another user", skip="takes root")
    import pyarrow.parquet
    place = Place(scratch, "merged")
    ship(place.out, place.trace)
    mine = sorted(path for path, one in files(place.out).items() if one[0] == "requests" and one[2] == "proxyA")
    table = pyarrow.concat_tables([pyarrow.parquet.read_table(path) for path in mine])
    names = "".join(os.path.basename(path) + " " for path in mine)
    path = os.path.join(os.path.dirname(mine[0]), SEEDS[1] + "-000000000000-000000009999-1000000000.parquet")
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"sqtrace.merged": names.encode()}), path + ".made", compression="none")
    os.rename(path + ".made", path)
    os.chown(path, NOBODY, NOBODY)
    run("--compact", "--to=" + place.out, "--least-age=0", "--grace=0")
    return check(all(os.path.exists(one) for one in mine), "--compact removes no file because another user's says that it was merged")


def main():
    enter("pyarrow", "duckdb")
    if not available("pyarrow"):
        check(True, "shipping beside others", skip="pyarrow could not be installed")
        return shipped.plan()
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        for test in (states, strange, folders, two_traces, ahead, first_version, days, readers, replaced):
            test(scratch)
    return shipped.plan()


main()
