# SPDX-License-Identifier: GPL-2.0-or-later
"""torture_cases.py - what torture.py tortures: libsqtrace in a process that traces, and each program.

The unit tests themselves are not run: they assert success. libsqtrace has a program of its own (tests/torture), because
Squid is its only program. The reader's code is reached through the programs that end when it has no memory.
"""
import os
import shutil
import subprocess

from tortured import NO_MEMORY, TOOLS, Case, end, start

DUMP = os.path.join(TOOLS, "sqtrace-dump")


class Library(Case):
    """libsqtrace: what it took is in the trace, once, and what it could not do it said."""

    def go(self, words, where, out, at, lasting):
        ringdir = os.path.join("/dev/shm", "sqtrace-torture-%d-%s" % (os.getpid(), os.path.basename(where)))
        shutil.rmtree(ringdir, ignore_errors=True)
        os.mkdir(ringdir, 0o700)
        run = end(*start([os.path.join(TOOLS, words[0]), out, ringdir], where, at, lasting, armed=False), out)
        run.rings = os.listdir(ringdir)
        got = subprocess.run([DUMP, "--table=events", "--format=tsv", "--columns=event,id", "--where=event == CLIENT_READ", "--no-header", "--no-comments", "--quiet",
                              "--strict", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        run.read = got.returncode, sorted(got.stdout.decode(errors="replace").splitlines())
        shutil.rmtree(ringdir)
        return run

    def same(self, run, whole):
        lines = run.out.decode().splitlines()
        taken = []
        for line in lines:
            if line.startswith("emitted"):
                taken += ["CLIENT_READ\t%d" % number for number in range(*map(int, line.split()[1:]))]
        wrong = []
        if run.read[0] != 0 or run.read[1] != sorted(taken):
            wrong.append("status %d, %d records are in the trace and not %d: %s" % (
                run.read[0], len(run.read[1]), len(taken), sorted(set(run.read[1]) ^ set(taken))[:5]))
        said = [line for line in lines if line.startswith("said 0 ")]
        off = "said 9 off" in lines
        if off and (len(said) != 1 or not NO_MEMORY.search(said[0])):
            wrong.append("tracing is off, and not one line says why")
        if any(not NO_MEMORY.search(line) for line in said):
            wrong.append("a WARNING is not about memory")
        if run.err:
            wrong.append("something is on the standard error")
        left = [name for name in run.left if not name.endswith(".sqt") and name != "sqtrace.key"] + run.rings
        return wrong + (["it left %s" % left] if left else []) + (["\n".join(lines)] if wrong or left else [])


class Ship(Case):
    """sqtrace-ship: each file that is there is whole, and the next run ships the rest."""

    def finals(self, left):
        return {name: data for name, data in left.items() if "/.sqtrace-ship/" not in name}

    def gave_up(self, run, whole):
        finals = self.finals(whole.left)
        left = self.finals(run.left)
        run.left = {name: data for name, data in left.items() if finals.get(name) != data}
        return super().gave_up(run, whole)


CASES = [
    Library("libsqtrace", "tests/torture/torture_trace"),
    Case("dump requests", "sqtrace-dump", "{trace}"),
    Case("dump with two threads", "sqtrace-dump", "{trace}", "--figure=hit-stages", crew=True),
    Case("dump table", "sqtrace-dump", "{trace}", "--format=table", "--sort=-total_ns", "--where=total_ns > 1ms"),
    Case("dump group-by", "sqtrace-dump", "{trace}", "--group-by=class", "--of=total_ns"),
    Case("dump chrome", "sqtrace-dump", "{trace}", "--format=chrome"),
    Case("dump otlp", "sqtrace-dump", "{trace}", "--format=otlp"),
    Case("dump ctf", "sqtrace-dump", "{trace}", "--format=ctf", "--output={out}/ctf"),
    Case("dump parquet", "sqtrace-dump", "{trace}", "--format=parquet", "--output={out}/parquet"),
    Case("dump to a file", "sqtrace-dump", "{trace}", "--table=events", "--output={out}/events.tsv"),
    Ship("ship", "sqtrace-ship", "{trace}", "--to={out}/shipped", "--least-size=0"),
    Case("report", "sqtrace-report", "{trace}", "--output={out}/report", "--data=" + os.path.join(os.environ.get("SQT_SOURCE", "."), "tools"), "--quiet", "--figures=hit-stages"),
    Case("top", "sqtrace-top", "{trace}", "--once"),
    Case("snapshot", "sqtrace-snapshot", "{trace}", "--to={out}/snapshots", "--since=0"),
]
