#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""attach_cli.py - sqtrace-attach: what --check prints, and one line for each wrong word.  Attaches to nothing."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from squid_like import program  # noqa: E402

TOOLS = os.environ.get("SQT_TOOLS", os.path.join("build", "sqtrace"))
ATTACH = os.path.join(TOOLS, "sqtrace-attach")
NUMBER = 0


def check(good, name, *seen):
    global NUMBER
    NUMBER += 1
    print("%s %d - %s" % ("ok" if good else "not ok", NUMBER, name))
    if not good:
        for text in seen:
            print("# " + str(text).replace("\n", "\n# "))


def run(*words):
    return subprocess.run([ATTACH] + list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def refused(status, part, *words):
    got = run(*words)
    lines = got.stderr.splitlines()
    check(got.returncode == status and len(lines) == 1 and part in got.stderr and not got.stdout,
          "%s: %s" % (" ".join(words) or "nothing", part), got.returncode, got.stderr, got.stdout)


SHARES = "5", "0%", "101%", "2%x", "nan%"


def shares():
    """What is no share of a processor."""
    for share in SHARES:
        refused(2, "--most: %s is no share" % share, "--pid=1", "-o", "nowhere", "--most=" + share)


def checked(folder):
    path = program(folder)
    got = run("--check", path)
    rows = {line.split("\t")[1]: line.split("\t") for line in got.stdout.splitlines() if "\t" in line}
    check(got.returncode == 0 and "# Squid: 9.8.7-test" in got.stdout and "# program: " + path in got.stdout,
          "--check says which program and which Squid", got.stdout, got.stderr)
    check(rows.get("event") == ["stage", "event", "probe", "offset", "function"], "its rows have a header", got.stdout)
    check(rows["XACT"][2] == "emulated" and rows["LOG_REQUEST"][2] == "emulated" and rows["ACCEPTED"][2] == "single-stepped",
          "it says which probes are emulated", rows)
    check(int(rows["LOG_REQUEST"][3], 16) % 16 != 0 and rows["LOOKUP"][2:] == ["missing", "-", "-"],
          "a probe stands behind lea, and a function that is not there is missing", rows)
    stripped = os.path.join(folder, "stripped")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    check(run("--check", stripped).stdout.replace(stripped, path) == got.stdout, "a stripped program has its dynamic symbols")
    static = os.path.join(folder, "static")
    subprocess.run(["cc", "-w", "-static", "-s", "-o", static, os.path.join(folder, "squid-like.c")], check=True)
    refused(1, "no symbols", "--check", static)
    with open(path, "rb") as file:
        whole = bytearray(file.read())
    whole[18] = 183  # the machine
    other = os.path.join(folder, "other")
    with open(other, "wb") as file:
        file.write(whole)
    refused(1, "another architecture", "--check", other)


def called(folder, name, service, *words, program="squid-like", run=run):
    """What sqtrace-attach says while the program runs under another name and with that service name."""
    with subprocess.Popen([name, "-n", service], executable=os.path.join(folder, program)) as process:
        try:
            return run(*words, "--service=" + service, "-o", os.path.join(folder, "named"), "--for=1s")
        finally:
            process.kill()


# Stands before the C library.  With OWNED, a search sees programs of root where others are looked at afterwards, as if a process
# had begun to run another one meanwhile.  The words of process WAITS wait for whoever opens them, forever.
SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int stat(const char *path, struct stat *st)
{
    const int result = fstatat(AT_FDCWD, path, st, 0);
    if (result == 0 && getenv("OWNED") && strncmp(path, "/proc/", 6) == 0)
        st->st_uid = 0;
    return result;
}
int open(const char *path, int flags, ...)
{
    char words[64];
    va_list rest;
    va_start(rest, flags);
    const int mode = va_arg(rest, int);
    va_end(rest);
    snprintf(words, sizeof(words), "/proc/%s/cmdline", getenv("WAITS") ? getenv("WAITS") : "");
    while (strcmp(path, words) == 0)
        pause();
    return openat(AT_FDCWD, path, flags, mode);
}
"""


def foreign(folder):
    """A program of somebody else: its words are not read, and it is not taken for one of root's."""
    source, library = os.path.join(folder, "shim.c"), os.path.join(folder, "shim.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    path = os.path.join(folder, "squid-like")
    options = {**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
    os.chown(path, 65534, 65534)
    for name, owned in (("its words are read", {}), ("it is attached to", {"OWNED": "1"})):
        with subprocess.Popen(["squid", "-n", "attach-test"], executable=path) as process:
            words = owned or {"WAITS": str(process.pid)}
            try:
                got = subprocess.run([ATTACH, "--service=attach-test", "-o", os.path.join(folder, "foreign"), "--for=1s"],
                                     capture_output=True, text=True, timeout=20, check=False, env={**options, **words})
                said = got.stderr
            except subprocess.TimeoutExpired:
                said = "it waits"
            process.kill()
        check("belongs to neither root nor you; --pid=" in said, "a program of somebody else is refused before " + name, said)
    os.chown(path, 0, 0)


def names(folder):
    """Which processes are taken for Squid."""
    for name in "(squidGuard)", "squidGuard", "squid-1":
        got = called(folder, name, "attach-test")
        check(got.returncode == 1 and "no Squid runs here" in got.stderr, name + " is not Squid", got.returncode, got.stderr)
    for name in "squid", "/usr/sbin/squid", "(squid-1)", "(squid)":
        got = called(folder, name, "attach-test")
        check("no Squid runs here" not in got.stderr, name + " is Squid", got.returncode, got.stderr)
    for program in "other", "squidclient", "a-squid":
        shutil.copy(os.path.join(folder, "squid-like"), os.path.join(folder, program))
        got = called(folder, "squid", "attach-test", program=program)
        check(got.returncode == 1 and "no Squid runs here" in got.stderr, program + " that calls itself squid is not Squid",
              got.returncode, got.stderr)
    if os.geteuid() == 0:
        os.chown(os.path.join(folder, "squid-like"), 65534, 65534)
        got = called(folder, "squid", "attach-test")
        check(got.returncode == 1 and "belongs to neither root nor you; --pid=" in got.stderr,
              "a program of somebody else is not taken by its name", got.returncode, got.stderr)
        os.chown(os.path.join(folder, "squid-like"), 0, 0)
        os.chmod(folder, 0o755)
        shutil.copy(ATTACH, folder)
        got = called(folder, "squid", "attach-test", run=lambda *words: subprocess.run(
            [os.path.join(folder, "sqtrace-attach"), *words], capture_output=True, text=True, timeout=60, check=False, user=65534))
        check(got.returncode == 1 and "only root may see which program" in got.stderr, "nobody cannot see its program",
              got.returncode, got.stderr)


def namespace(folder):
    """In a container, the kernel's numbers of processes are not those that are seen."""
    new = "unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"
    if subprocess.run(new + ("true",), stderr=subprocess.DEVNULL, check=False).returncode != 0:
        check(True, "another namespace of processes # SKIP it cannot be made here")
        return
    out = os.path.join(folder, "contained")
    script = "%s x & sleep 0.5; exec %s --pid=$! -o %s --for=1s" % (os.path.join(folder, "squid-like"), os.path.abspath(ATTACH), out)
    got = subprocess.run(new + ("sh", "-c", script), capture_output=True, text=True, timeout=60, check=False)
    check(got.returncode == 1 and got.stderr.count("\n") == 1 and "--pid=host" in got.stderr, "another namespace is refused",
          got.returncode, got.stderr)
    check(not os.path.exists(out), "and no folder is left")


def no_tracefs(folder):
    """Where tracefs is not mounted, as in most containers, the line says how to mount it."""
    new = "unshare", "--mount", "--propagation", "private"
    hide = "".join("[ ! -d %s ] || mount -t tmpfs none %s || exit 9; " % (place, place)
                   for place in ("/sys/kernel/debug", "/sys/kernel/tracing"))
    script = hide + "%s x & sleep 0.5; exec %s --pid=$! -o %s --for=1s" % (
        os.path.join(folder, "squid-like"), os.path.abspath(ATTACH), os.path.join(folder, "no-tracefs"))
    got = subprocess.run(new + ("sh", "-c", script), capture_output=True, text=True, timeout=60, check=False)
    if os.geteuid() != 0 or got.returncode == 9 or "unshare" in got.stderr or "cannot load" in got.stderr:
        check(True, "no tracefs # SKIP no namespace can be made here, or no program loaded into the kernel")
        return
    if "--pid=host" in got.stderr:
        check(True, "no tracefs # SKIP processes have other numbers here than in the kernel, which is said first")
        return
    check(got.returncode == 1 and got.stderr.count("\n") == 1 and "mount -t tracefs" in got.stderr, "no tracefs",
          got.returncode, got.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        checked(folder)
        names(folder)
        if os.geteuid() == 0:
            foreign(folder)
        namespace(folder)
        no_tracefs(folder)
        refused(1, "not an ELF file", "--check", "/etc/passwd")
        refused(1, "No such file", "--check", os.path.join(folder, "none"))
        refused(1, "it is not Squid", "--check", "/bin/sh")
        refused(2, "--pid=PID or --service=NAME", "-o", folder)
        refused(2, "-o DIR", "--pid=1")
        refused(2, "exclude each other", "--pid=1", "--service=squid", "-o", folder)
        refused(2, "expected a number", "--pid=first", "-o", folder)
        refused(2, "no process", "--pid=99999999", "-o", folder)
        refused(2, "unexpected argument", "--pid=1", "-o", folder, "more")
        refused(2, "leave out -o", "--check", "-o", folder)
        refused(2, "unknown option", "--more=2%")
        shares()
        out = os.path.join(folder, "trace")
        refused(1, "no Squid runs here", "--service=no-such-service", "-o", out)
        check(not os.path.exists(out), "and no folder is left")
    print("1..%d" % NUMBER)
    return 0


sys.exit(main())
