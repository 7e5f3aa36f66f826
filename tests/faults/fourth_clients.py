# SPDX-License-Identifier: GPL-2.0-or-later
"""A fourth round of troubles: clients, helpers, services, rules and limits.  reports.md has the reports; see
trouble_dns.py."""

import os

from lib.env import Skip, free_port
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.tls import Certificates
from kinds_servers import small_buffers
from more_cousins import change
from reported_services import clamav
from trouble_services import program
from trouble_tunnels import tunnels

PIDS = "/sys/fs/cgroup/pids"
SLOW = 2  # the third origin

GROUPS = """
import os, sys
for line in sys.stdin:
    sys.stdout.write("ERR\\n" if os.path.exists(%r) else "OK\\n")
    sys.stdout.flush()
"""


def slow_reader(scene):
    """Every four seconds a client that takes 150 KB/s asks for a new object of 2 MB, and then eight quick ones do.  Squid
    reads no more from the server than the slowest of them takes.  Little fits into the buffers on the way."""
    scene.before.append(small_buffers)
    scene.dirs = []
    scene.conf += "maximum_object_size_in_memory 4 MB\n"
    scene.traffic.per_second = 20
    made = scene.traffic.requests

    def film(second):
        url = scene.origins[second % 5].url + "/size=2000000/film%d" % second
        return [[second, "GET", url, [], 0, {"rate": 150000}]] + [
            [second + 0.4 + n * 0.01, "GET", url, [], 0, {}] for n in range(8)]
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [request for second in range(2, seconds - 3, 4) for request in film(second)],
        key=lambda request: request[0])


def greeting_tunnels(scene):
    """Squid peeks into tunnels.  One in five is to a server that speaks first, as those of mail do, so that its client says
    no TLS hello: Squid waits for one, and does not connect.  Clients wait for 8 s."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for n, origin in enumerate(scene.origins):
        origin.more.update({"greets": "220 mail"} if n == SLOW else {"tls": certificates.server})
    scene.port = free_port()
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nacl first at_step SslBump1\nssl_bump peek first\nssl_bump splice all\n"
                   "sslproxy_cert_error allow all\ntls_outgoing_options flags=DONT_VERIFY_PEER\n"
                   % (scene.port, certificates.ca))
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: {"listens": True} if n % 5 == SLOW else {"tls": True, "inside": "/size=3000/t%d" % n}
    scene.traffic.options["timeout"] = 8


def hasty(scene):
    """request_timeout is a second, and one client in five takes two to send its header."""
    scene.conf += "request_timeout 1 seconds\n"
    scene.traffic.options["once"] = True
    scene.traffic.more = lambda n: {"header": 2} if n % 5 == 3 else {}


def shared_address(scene):
    """All clients have one address, which is that of a NAT, and an old rule denies who has more than ten connections.  Origins
    of 400 ms."""
    scene.conf += "acl many maxconn 10\nhttp_access deny many\n"
    for origin in scene.origins:
        origin.ms = 400
    scene.traffic.options["once"] = True


def kept_denial(scene):
    """For two seconds a helper of groups finds nobody, and Squid keeps that for an hour, but a good answer for a second."""
    path = scene.env.path("nobody")
    scene.conf += ("external_acl_type group ttl=1 negative_ttl=3600 children-max=5 children-startup=5 %%SRC %s\n"
                   "acl staff external group\nhttp_access deny !staff\n" % program(scene, "groups", GROUPS % path))
    scene.traffic.options.update(once=True, sources=10)

    def nobody(_):
        with open(path, "w"):
            pass
    scene.at(8, nobody)
    scene.at(10, lambda _: os.unlink(path))


def no_more_children(scene):
    """A rewriter of 60 ms may have 20 children, and two are started.  The container's limit of processes lets Squid start no
    more, until the twentieth second.  No cache_dir: one of type aufs would have no threads either."""
    scene.dirs = []
    group = os.path.join(PIDS, "sqtrace-fault-%d" % os.getpid())
    if not os.path.exists(os.path.join(PIDS, "cgroup.procs")):
        raise Skip("needs the control groups at " + PIDS)
    helper = Helper(scene.env, "rewrite", 60)
    scene.conf += ("url_rewrite_program %s\nurl_rewrite_children 20 startup=2 idle=1 queue-size=5000\n" % helper.command)

    def tell(folder, name, value):
        with open(os.path.join(folder, name), "w") as out:
            out.write(str(value))

    def begin(scene):
        os.mkdir(group)
        scene.env.on_close(lambda: os.rmdir(group))
        tell(group, "cgroup.procs", os.getpid())  # what is started from now on belongs to it

    def limit(scene):
        tell(PIDS, "cgroup.procs", os.getpid())
        with open(os.path.join(group, "pids.current")) as file:
            tell(group, "pids.max", file.read().strip())
    scene.before.append(begin)
    scene.meanwhile.append(limit)
    scene.at(20, lambda _: tell(group, "pids.max", "max"))


def uploads_hang(scene):
    """A service answers none of the uploads, which one request in four is, and all others.  Clients wait for 8 s."""
    clamav(scene, IcapServer(scene.env))
    scene.traffic.options["timeout"] = 8

    def upload(n, request):
        if n % 4 == 1:
            request[1:5] = "POST", request[2] + "p%d" % n, ["X-Reqmod: do=never"], 3000
    change(scene, upload)


# ---- nothing wrong ----

def preconnects(scene):
    """One tunnel in five is one that a browser opens beforehand, all to one server, and closes unused."""
    tunnels(scene, 30, 0, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: {"unused": True} if n % 5 == SLOW else inside(n)


def push(scene):
    """Tunnels to one server stay open for five seconds, in which it says a little each second, as chats do."""
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), inside="/size=1500;parts=6;gap=1000/p%d" % n) if n % 5 == SLOW else inside(n)


def idle_tunnels(scene):
    """Tunnels to one server stay open for three seconds more when 60 KB have come, as a client does that may go on."""
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: {"hold": 3 if n % 5 == SLOW else 0, "whole": True, "inside": "/size=60000/t%d" % n}
