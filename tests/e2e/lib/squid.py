# SPDX-License-Identifier: GPL-2.0-or-later
"""A Squid on loopback: its configuration, start, signals, end."""

import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess

from . import versions
from .env import Failure, Skip, free_port, run, wait_for
from .proc import alive, children, command_line
from .witness import Witness

# One unconditional log for each kid; columns as access.py names them.
LOGFORMAT = ("%ts.%03tu %master_xaction %rm %Ss %>Hs %<st %.3tr %request_attempts %{X-Tag}>h %err_code %ru")

BASE = """
http_port {address}:{port}
workers {workers}
visible_hostname e2e.test
cache_effective_user {user}
pid_filename {folder}/squid.pid
cache_log {folder}/cache.log
coredump_dir {folder}
logformat e2e {logformat}
access_log stdio:{folder}/access-${{process_number}}.log logformat=e2e
buffered_logs off
logfile_rotate 0
strip_query_terms off
cache_store_log none
hosts_file {folder}/hosts
dns_nameservers {dns}
shutdown_lifetime 0 seconds
acl refused urlpath_regex ^/refused/
http_access deny refused
"""


class Squid:
    """A Squid of its own in env.folder/name.

    prefix   where it is installed; default the patched one
    lines    more squid.conf lines; {dir} is the trace directory, {folder} this Squid's folder
    trace    None: no directive; else the directive's words after the directory ("" is fine)
    dirs     cache_dir types, for example ["ufs", "aufs"]; each kid gets its own directories, but all share "rock".
             Two of one type have a word after the type: ["aufs:one", "aufs:two"]
    alone    one process without a master (squid -N).  A preloaded library needs that: the kids that a master starts
             run with another effective user than real one, and the loader then ignores LD_PRELOAD.
    unprivileged  the master, too, runs as Squid's effective user.  Its kids then take a preloaded library.
    plain    the installed program; else, of the patched Squid, the one that is linked with the witness
    program  this one, made of the same objects
    address, port  where clients connect; default a free port of loopback
    """

    def __init__(self, env, name="squid", prefix=None, lines="", trace=None, dirs=(), workers=1, dns="127.0.0.1",
                 dir_mb=512, preload=None, user=None, directory=None, environment=None, alone=False, unprivileged=False,
                 plain=False, program=None, address="127.0.0.1", port=None):
        self.env = env
        env.squids += 1
        self.prefix = prefix or env.squid
        self.program = program
        self.plain = plain or program or not env.witness or self.prefix != env.squid
        self.folder = env.path(name)
        self.name = name
        self.lines = lines
        self.trace = trace
        self.dirs = list(dirs)
        self.workers = workers
        self.dns = dns
        self.dir_mb = dir_mb
        self.preload = preload
        self.environment = environment or {}
        self.alone = alone
        self.unprivileged = unprivileged
        self.address, self.port = address, port or free_port()
        self.user = user or effective_user()
        self.directory = directory or os.path.join(self.folder, "trace")
        self.service = "e2e%d%s" % (os.getpid(), re.sub("[^a-z0-9]", "", name.lower()))
        self.process = None
        self.log_mark = 0
        os.makedirs(self.folder, exist_ok=True)
        if trace is not None and directory is None:
            os.makedirs(self.directory, exist_ok=True)
            self.give(self.directory)
        self.give(self.folder)
        with open(os.path.join(self.folder, "hosts"), "w") as hosts:
            hosts.write("127.0.0.1 localhost\n")
        env.on_close(self.kill_all)
        self.state_directory()
        self.witness = None
        if not self.plain:
            self.witness = Witness(os.path.join(self.folder, "witness"))
            env.witnesses.append(self.witness)

    # ---- configuration ----

    @property
    def binary(self):
        if not self.plain:
            return self.env.witness
        return self.program or os.path.join(self.prefix, "sbin", "squid")

    def version(self):
        """What squid -v says."""
        return re.match("Squid Cache: Version (\\S+)", run([self.binary, "-v"], 20).stdout).group(1)

    @property
    def conf(self):
        return os.path.join(self.folder, "squid.conf")

    @property
    def cache_log(self):
        return os.path.join(self.folder, "cache.log")

    def give(self, path):
        """Makes path belong to Squid's effective user."""
        if os.geteuid() == 0:
            account = pwd.getpwnam(self.user)
            os.chown(path, account.pw_uid, account.pw_gid)

    def state_directory(self):
        """The directory of SMP sockets is fixed when Squid is built; it must belong to the effective user."""
        path = os.path.join(self.prefix, "var", "run", "squid")
        if os.geteuid() == 0:
            os.makedirs(path, exist_ok=True)
            self.give(path)

    def dir_path(self, kind, kid=None):
        if kind == "rock":
            return os.path.join(self.folder, "cache-rock")
        kid = kid or (0 if self.alone else 1)
        return os.path.join(self.folder, "cache-%s-%d" % (kind.replace(":", "-"), kid))

    def text(self):
        """What squid.conf holds."""
        lines = BASE.format(address=self.address, port=self.port, workers=self.workers, user=self.user,
                            folder=self.folder, dns=self.dns,
                            logformat=versions.logformat(self.version(), LOGFORMAT))
        if self.workers > 1 and set(self.dirs) - {"rock"}:
            lines += "memory_cache_shared off\n"  # Squid 7.7 asserts with ufs directories and shared memory
        for kind in self.dirs:
            if kind == "rock":
                lines += "cache_dir rock %s %d\ndebug_options ALL,1 47,2\n" % (self.dir_path(kind), self.dir_mb)
            else:
                lines += "cache_dir %s %s/cache-%s-${process_number} %d 4 16\n" % (
                    kind.split(":")[0], self.folder, kind.replace(":", "-"), self.dir_mb)
        if self.trace is not None:
            lines += "sqtrace_log %s %s\n" % (self.directory, self.trace)
        return lines + self.lines.replace("{folder}", self.folder).replace("{dir}", self.directory) \
            + "\nhttp_access allow all\n"

    def write_conf(self):
        """The file is never seen half written: Squid may still be reading it for an earlier signal."""
        with open(self.conf + ".new", "w") as out:
            out.write(self.text())
        os.replace(self.conf + ".new", self.conf)

    def environ(self):
        environ = dict(os.environ)
        environ.update(self.environment)
        if self.witness:
            environ["SQT_WITNESS"] = self.witness.path
        if self.preload:
            environ["LD_PRELOAD"] = self.preload
        return environ

    def credentials(self):
        """For subprocess: the user that it starts as."""
        if not self.unprivileged or os.geteuid() != 0:
            return {}
        account = pwd.getpwnam(self.user)
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    @property
    def mode(self):
        return "-N" if self.alone else "--foreground"

    def command(self, *words):
        return [self.binary, "-n", self.service, "-f", self.conf] + list(words)

    def parse(self):
        """squid -k parse: (exit status, all it says)."""
        self.write_conf()
        done = run(self.command("-k", "parse"), 60)
        return done.returncode, done.stdout + done.stderr

    # ---- life ----

    def start(self, ready=True, seconds=60):
        self.write_conf()
        if self.dirs and not os.path.isdir(self.dir_path(self.dirs[0])):
            done = run(self.command("-z", self.mode), 120, env=self.environ(), **self.credentials())
            for kind in self.dirs:
                for kid in [0] if self.alone else range(1, self.workers + 1):
                    if not os.path.isdir(self.dir_path(kind, kid)):
                        raise Failure("squid -z did not make %s: %s" % (self.dir_path(kind, kid), done.stderr[-500:]))
        self.log_mark = self.log_size()
        with open(os.path.join(self.folder, "squid.out"), "ab") as out:
            self.process = subprocess.Popen(self.command(self.mode), stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL, env=self.environ(), cwd=self.folder,
                                            **self.credentials())
        if ready:
            self.wait_ready(seconds)
        return self

    def log_size(self):
        return os.path.getsize(self.cache_log) if os.path.exists(self.cache_log) else 0

    def log_text(self):
        """cache.log since the last start."""
        if not os.path.exists(self.cache_log):
            return ""
        with open(self.cache_log, "rb") as log:
            log.seek(self.log_mark)
            return log.read().decode("utf-8", "replace")

    def wait_ready(self, seconds=60):
        def ready():
            if self.process.poll() is not None:
                raise Failure("Squid ended at its start with status %s; cache.log: %s"
                              % (self.process.returncode, self.log_text()[-1500:]))
            text = self.log_text()
            if text.count("Accepting HTTP Socket connections") < self.workers:
                return False
            if self.dirs == ["rock"]:  # each process opens the file, the workers through the disker; one reads it
                opened = text.count("Rock cache_dir[0] limits")
                return opened >= (1 if self.alone else self.workers + 1) and "Completed Validation Procedure" in text
            return not self.dirs or text.count("Completed Validation Procedure") >= self.workers
        wait_for(ready, seconds, "Squid to be ready (%s)" % self.cache_log)

    def kids(self):
        """Pids of the kids: {pid: kid number}; those that the master forked."""
        kids = {}
        if self.process is None or self.process.poll() is not None:
            return kids
        for pid in children(self.process.pid):
            match = re.search(rb"--kid\0[^\0]*-(\d+)\0|\(squid-[a-z]*-?(\d+)\)", command_line(pid) + b"\0")
            if match:
                kids[pid] = int(match.group(1) or match.group(2))
        return kids

    def worker_pids(self):
        """Pids of the workers, by kid number."""
        return [pid for pid, kid in sorted(self.kids().items(), key=lambda item: item[1]) if kid <= self.workers]

    def disker_pids(self):
        """Pids of the processes that do the I/O of rock stores."""
        return [pid for pid in self.kids() if b"(squid-disk-" in command_line(pid)]

    def processes(self):
        """Every process of this Squid: the master, kids, and their helpers (diskd, unlinkd)."""
        if self.process is None or self.process.poll() is not None:
            return []
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            queue.extend(children(pid))
        return found

    def signal(self, number):
        os.kill(self.process.pid, number)

    def rotate(self):
        self.signal(signal.SIGUSR1)

    def reconfigure(self):
        self.write_conf()
        self.signal(signal.SIGHUP)

    def stop(self, seconds=60):
        """A clean stop, as squid -k shutdown does it."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise Failure("Squid did not stop within %d s" % seconds)
        status, self.process = self.process.returncode, None
        bounded = self.trace is not None and re.search(r"\b(keep|total|age|mode)=(?!off)", self.trace)
        if self.witness and self.trace is not None and not bounded and os.path.isdir(self.directory):
            self.witness.check(self.env, self.directory, "after a clean stop", self.rings())
        return status

    def kill_all(self):
        """SIGKILL to every process of this Squid, the master first so that it revives nobody."""
        pids = self.processes()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process is not None:
            self.process.wait(20)
            self.process = None
        for pid in pids:
            wait_for(lambda: not alive(pid), 20, "process %d to be gone" % pid)
        # What a killed Squid leaves behind; the rings of its trace are the next start's business.
        for leftover in [os.path.join(self.folder, "squid.pid")] + glob.glob("/dev/shm/%s-*.shm" % self.service):
            try:
                os.unlink(leftover)
            except FileNotFoundError:
                pass
        return pids

    # ---- looking at it ----

    def client_address(self):
        return (self.address, self.port)

    def access_logs(self):
        """{kid: path of its access log}"""
        logs = {}
        for path in glob.glob(os.path.join(self.folder, "access-*.log*")):
            logs.setdefault(int(re.search(r"access-(\d+)\.log", path).group(1)), []).append(path)
        return logs

    def rings(self):
        """Rings of this Squid's trace directory, found by the notes beside its segments."""
        return ring_notes(self.directory)

    def forget_cache(self):
        for path in glob.glob(os.path.join(self.folder, "cache-*-*")) + glob.glob(self.dir_path("rock")):
            shutil.rmtree(path)

    def get(self, url, headers="", seconds=30):
        """One request on a connection of its own; returns everything that came."""
        with socket.create_connection(self.client_address(), seconds) as s:
            s.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n" % (url, headers)).encode())
            data = b""
            while True:
                piece = s.recv(1 << 16)
                if not piece:
                    return data
                data += piece

    def manager(self, page):
        """The text of a cache-manager page."""
        answer = self.get("http://e2e.test:%d/squid-internal-mgr/%s" % (self.port, page))
        head, _, body = answer.partition(b"\r\n\r\n")
        if b"chunked" in head.lower():
            text = b""
            while body:
                line, _, body = body.partition(b"\r\n")
                size = int(line, 16)
                if not size:
                    break
                text += body[:size]
                body = body[size + 2:]
            body = text
        return head.decode("latin-1"), body.decode("latin-1")


def ring_notes(directory):
    """Paths of the rings that the small files in a trace directory name."""
    rings = []
    for path in sorted(glob.glob(os.path.join(directory, "*"))):
        if os.path.isfile(path) and os.path.getsize(path) < 4096 and not path.endswith(".sqt"):
            with open(path, "rb") as note:
                for match in re.findall(rb"(/[^\s\0]*\.ring)", note.read()):
                    rings.append(match.decode())
    return rings


def effective_user():
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    for name in ("proxy", "nobody"):
        try:
            pwd.getpwnam(name)
            return name
        except KeyError:
            continue
    raise Skip("neither user proxy nor nobody exists")
