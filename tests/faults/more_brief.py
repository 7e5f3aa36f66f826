# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles that last for six seconds of a minute, and three in which requests hang.  See trouble_dns.py."""

import os
import socket

from lib.icapd import IcapServer
from more_icap import ForgetfulServer
from more_machine import iptables
from plant_disks import from_disk, slow
from reported_services import clamav
from trouble_services import program

BEGIN, END, SECONDS = 20, 26, 60
SLOW = 2  # the third origin

WAITS = """
import os, sys, time
for line in sys.stdin:
    time.sleep(%s if os.path.exists(%r) else 0.001)
    sys.stdout.write("OK\\n")
    sys.stdout.flush()
"""


def brief(scene):
    """The path of a file that is there for six seconds."""
    path = scene.env.path("now")
    os.chmod(scene.env.folder, 0o777)
    scene.seconds = max(scene.seconds, SECONDS)

    def make(_):
        with open(path, "w"):
            os.chmod(path, 0o666)
    scene.at(BEGIN, make)
    scene.at(END, lambda _: os.unlink(path))
    return path


def service(scene):
    """A service takes 900 ms."""
    clamav(scene, IcapServer(scene.env))
    scene.seconds = max(scene.seconds, SECONDS)
    begin, end = BEGIN * scene.traffic.per_second, END * scene.traffic.per_second
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: wait=900"] if begin <= n < end else []


def acl(scene):
    """A helper of an external ACL takes 700 ms."""
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=60 children-startup=50 %%URI %s\n"
                   "acl staff external group\nhttp_access deny !staff\n"
                   % program(scene, "group", WAITS % (0.7, brief(scene))))


def queue(scene):
    """The only child of a rewriter takes 30 ms instead of one, for 60 requests a second."""
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 1 startup=1 queue-size=5000\n" % program(
        scene, "rewrite", (WAITS % (0.03, brief(scene))).replace("OK", "ERR"))


def disk(scene):
    """Reads of one cache_dir take 250 ms."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    slow(scene, "read", "cache-aufs-two-", 250)
    scene.environment["SLOWDISK_IF"] = brief(scene)


def log(scene):
    """Each line of access.log takes 25 ms."""
    slow(scene, "write", "access-", 25)
    scene.environment["SLOWDISK_IF"] = brief(scene)


def connect(scene):
    """A firewall drops the first packets of connections to the third origin."""
    scene.conf += "server_persistent_connections off\n"
    scene.seconds = max(scene.seconds, SECONDS)
    words = ["INPUT", "-d", scene.origins[SLOW].address, "-p", "tcp", "--syn", "-j", "DROP"]
    scene.at(BEGIN, lambda _: iptables("-A", *words))
    scene.at(END, lambda _: iptables("-D", *words))


# ---- hangs ----

def hang(scene):
    """Clients give up after 8 s, and the living trace is asked before."""
    scene.traffic.options["timeout"] = 8
    scene.seconds, scene.live = 18, 15


def leader(scene):
    """The third origin does not answer any more, and all clients ask for one object of it, collapsed into one request."""
    hang(scene)
    scene.conf += "collapsed_forwarding on\n"
    scene.origins[SLOW].more["silent"] = True
    scene.traffic.site = lambda n, chance: scene.origins[(0, 1, 3, 4)[n % 4]].url
    made, url = scene.traffic.requests, scene.origins[SLOW].url + "/size=3000/news"
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[10 + n / 20, "GET", url, [], 0, {}] for n in range(20 * (seconds - 10))],
        key=lambda request: request[0])


def options(scene):
    """A service never says what it can do."""
    hang(scene)
    clamav(scene, ForgetfulServer(scene.env), name="clamav_mute")


def greeting(scene):
    """An FTP server takes connections, and says nothing.  One request in six is for a file of it."""
    hang(scene)
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    scene.env.on_close(listener.close)
    made, port = scene.traffic.new, listener.getsockname()[1]
    scene.traffic.new = lambda n, chance: ("ftp://127.0.0.1:%d/f%d" % (port, n) if n % 6 == 0 and n > 100
                                           else made(n, chance))
