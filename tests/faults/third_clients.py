# SPDX-License-Identifier: GPL-2.0-or-later
"""A third round of troubles: clients, helpers, services and rules.  reports.md has the reports; see trouble_dns.py."""

from lib.icapd import IcapServer
from more_cousins import change
from more_machine import iptables
from reported_services import clamav
from trouble_services import program
from trouble_tunnels import tunnels

SLOW = 2  # the third origin

GROUPS = """
import os, sys
for line in sys.stdin:
    sys.stdout.write("BH message=\\"cannot contact LDAP server\\"\\n" if os.path.exists(%r) else "OK\\n")
    sys.stdout.flush()
"""

TIRES = """
import sys, time
time.sleep(0.8)
for number, line in enumerate(sys.stdin):
    sys.stdout.write("ERR\\n")
    sys.stdout.flush()
    if number == 5:
        break
"""

ONE_IN_FOUR = """
import fcntl, sys, time
with open(%r, "a+") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write("x")
    file.flush()
    slow = file.tell() %% 4 == 1
for line in sys.stdin:
    time.sleep(1.0 if slow else 0.03)
    sys.stdout.write("OK\\n")
    sys.stdout.flush()
"""


def half_closing(scene):
    """One client in five ends its side of the connection after its request.  Origins of 300 ms."""
    scene.traffic.options["once"] = True
    for origin in scene.origins:
        origin.ms = 300
    scene.traffic.more = lambda n: {"half": True} if n % 5 == 3 else {}


def slow_senders(scene):
    """One client in seven takes 2 s to send an upload of 40 KB; the others upload at once."""
    scene.traffic.options["once"] = True
    scene.traffic.method, scene.traffic.sends, scene.traffic.repeats = "POST", 40000, 0
    scene.traffic.more = lambda n: {"pace": 2.0} if n % 7 == 3 else {}


def clients_mtu(scene):
    """One client in five is behind a VPN, on whose way to the client packets above 1,400 bytes are lost.  They give up
    after 6 s.  They are lost when they arrive: a rule in OUTPUT has TCP take them for not yet sent."""
    scene.traffic.options.update(once=True, sources=5, timeout=6)
    scene.before.append(lambda _: iptables("-A", "INPUT", "-d", "127.3.0.4", "-p", "tcp", "-m", "length", "--length",
                                           "1400:65535", "-j", "DROP"))


def denied_port(scene):
    """One tunnel in five is to a port that is not in the list of those that tunnels may be to."""
    scene.conf += "acl SSL_ports port 8000\nhttp_access deny CONNECT !SSL_ports\n"
    tunnels(scene, 30, 0)

    def other(n, request):
        if n % 5 == 3:
            request[2] = request[2].replace(":8000", ":8443")
    change(scene, other)


def large_replies(scene):
    """reply_body_max_size, which somebody has set to 25 KB; replies have 2 to 30 KB."""
    scene.conf += "reply_body_max_size 25 KB\n"


def groups_down(scene):
    """From the eighth second on a helper of groups can not reach its LDAP server."""
    path = scene.env.path("down")
    scene.conf += ("external_acl_type group ttl=2 negative_ttl=2 children-max=5 children-startup=5 %%SRC %s\n"
                   "acl staff external group\nhttp_access deny !staff\n" % program(scene, "groups", GROUPS % path))

    def down(_):
        with open(path, "w"):
            pass
    scene.at(8, down)


def tiring_helpers(scene):
    """A rewriter ends after 6 answers, and takes 800 ms to start."""
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=1\n" % program(scene, "tires", TIRES)


def one_child(scene):
    """One of four children of a helper takes a second for each answer: its LDAP server is another one."""
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=4 children-startup=4 "
                   "%%URI %s\nacl staff external group\nhttp_access deny !staff\n"
                   % program(scene, "group", ONE_IN_FOUR % scene.env.path("count")))
    scene.before.append(lambda scene: scene.squid.give(scene.env.path("count")))
    with open(scene.env.path("count"), "w"):
        pass


def bypassed_service(scene):
    """From the sixth second on nothing gets through to a service that may be bypassed.  Squid waits two seconds for it."""
    server = IcapServer(scene.env)
    clamav(scene, server, "bypass=1")
    scene.conf += "icap_connect_timeout 2 seconds\nicap_io_timeout 2 seconds\nicap_persistent_connections off\n"
    scene.at(6, lambda _: iptables("-A", "INPUT", "-p", "tcp", "--dport", str(server.port), "-j", "DROP"))
