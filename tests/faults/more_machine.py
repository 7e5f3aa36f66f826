# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles of Squid's machine: its network, its processes and what reads its logs.  See trouble_dns.py."""

import ctypes
import os
import signal
import socket
import subprocess
import threading
import time

from lib.env import Failure, free_port
from lib.tls import Certificates
from plant_servers import way
from trouble_squid import make_dirs

CLONE_NEWNS = 0x20000
SLOW = 2  # the third origin


def iptables(*words):
    subprocess.run(["iptables"] + list(words), check=True)


def dropped_idle(scene):
    """A firewall forgets connections to the third origin that were idle for three seconds, and drops what comes on them.
    Ten requests at once go there every four seconds."""
    address, url = scene.origins[SLOW].address, scene.origins[SLOW].url
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    scene.traffic.options["timeout"] = 5
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + n * 0.0005, "GET", url + "/size=3000;cc=no-store/i%d-%d" % (second, n), [], 0, {}]
                         for second in range(2, seconds, 4) for n in range(10)], key=lambda request: request[0])

    def forget(_):
        found = subprocess.run(["ss", "-Htn", "state", "established", "dst", address], check=True,
                               stdout=subprocess.PIPE, universal_newlines=True).stdout
        for line in found.splitlines():
            iptables("-A", "INPUT", "-d", address, "-p", "tcp", "--sport", line.split()[2].rpartition(":")[2], "-j", "DROP")
    for when in range(5, 20, 4):
        scene.at(when, forget)


def stale_origin_gone(scene):
    """From the sixth second on nothing gets through to the third origin, whose objects are fresh for two seconds."""
    scene.conf += "connect_timeout 2 seconds\nserver_persistent_connections off\n"
    scene.traffic.words = lambda n: ";lm=1;cc=max-age=2"
    scene.traffic.first = [scene.origins[n % 5].url + "/size=8000;lm=1;cc=max-age=2/h%d" % n for n in range(40)]
    scene.traffic.repeats = 1
    scene.at(6, lambda scene: iptables("-A", "INPUT", "-d", scene.origins[SLOW].address, "-j", "DROP"))


def names_at_reconfigure(scene):
    """squid -k reconfigure, with three hosts in an ACL.  The machine's name server takes 1.8 s for each."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise Failure("no mount namespace")
    path = scene.env.path("resolv.conf")
    with open(path, "w") as out:
        out.write("nameserver 127.7.7.99\noptions timeout:5 attempts:1\n")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "--bind", path, "/etc/resolv.conf"], check=True)
    scene.name_servers = [["127.7.7.53", 1], ["127.7.7.99", 1800]]
    scene.traffic.options["once"] = True

    def reconfigure(scene):
        scene.squid.lines += "acl partners dst a.o11.test b.o12.test c.o13.test\nhttp_access allow partners\n"
        scene.squid.reconfigure()
    scene.at(8, reconfigure)


def abandoned(scene):
    """A line of 400 KB/s.  Each second a client leaves a download of 600 KB after 1,000 bytes, and Squid goes on with it."""
    way(scene, ms=5, rate=400000)
    scene.conf += "quick_abort_min -1 KB\n"
    scene.traffic.per_second = 20
    made, url = scene.traffic.requests, scene.origins[0].url
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second + 0.5, "GET", url + "/size=600000/d%d" % second, [], 0, {"leave": 1000}]
                         for second in range(2, seconds)], key=lambda request: request[0])


def worker_stops(scene):
    """Something stops one of two workers for two seconds of each five."""
    scene.workers, scene.dirs = 2, []
    for origin in scene.origins:
        origin.ms = 300

    def stop(scene):
        pid = scene.squid.worker_pids()[0]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(pid, signal.SIGCONT)
    for when in (4, 9, 14):
        scene.at(when, stop)


def log_server_gone(scene):
    """access_log goes to a server, which is gone from the eighth second on."""
    listener = socket.create_server(("127.0.0.1", 0))
    scene.conf += "access_log tcp:127.0.0.1:%d buffer-size=16KB logformat=e2e\n" % listener.getsockname()[1]
    scene.traffic.options["once"] = True
    taken = []

    def take():
        while True:
            taken.append(listener.accept()[0])
            threading.Thread(target=read, args=(taken[-1],), daemon=True).start()

    def read(sock):
        while sock.recv(65536):
            pass

    def gone(_):
        for sock in [listener] + taken:
            sock.shutdown(socket.SHUT_RDWR)
            sock.close()
    threading.Thread(target=take, daemon=True).start()
    scene.at(8, gone)


def dirty_rebuild(scene):
    """A cache_dir has no swap.state, so that Squid reads its files when it starts: 600 of them, 40 ms each."""
    scene.dirs = ["aufs:one"]
    scene.preload.append("slowdisk")
    scene.environment.update(SLOWDISK_PATH="cache-aufs-one-", SLOWDISK_CALL="read", SLOWDISK_MS="40")

    def begin(scene):
        make_dirs(scene)
        top = scene.cache_dir("aufs:one")
        for number in range(600):
            path = os.path.join(top, "%02X" % (number // 256 % 4), "%02X" % (number // 16 % 16), "%08X" % number)
            with open(path, "wb") as out:
                out.write(b"x" * 2000)
            scene.squid.give(path)
        scene.squid.wait_ready = lambda seconds=60: wait_port(scene)
    scene.before.append(begin)


def wait_port(scene):
    """Waits until Squid accepts connections, rebuilding or not."""
    for _ in range(300):
        if "Accepting HTTP Socket connections" in scene.squid.log_text():
            return
        time.sleep(0.1)
    raise Failure("Squid is not ready")


def old_clients(scene):
    """squid -k reconfigure, with TLS 1.3 at least.  Clients know TLS 1.2."""
    certificates = Certificates(scene.env, "proxy")
    scene.port = free_port()
    scene.conf += "https_port 127.0.0.1:%d tls-cert=%s\n" % (scene.port, certificates.server)
    scene.traffic.options.update(tls="1.2", once=True)

    def harden(scene):
        scene.squid.lines = scene.squid.lines.replace("tls-cert=", "tls-min-version=1.3 tls-cert=")
        scene.squid.reconfigure()
    scene.at(8, harden)
