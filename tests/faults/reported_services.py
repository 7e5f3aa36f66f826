# SPDX-License-Identifier: GPL-2.0-or-later
"""Reported troubles with ICAP services and helpers.  reports.md has the reports; see trouble_dns.py."""

from lib.icapd import IcapServer
from trouble_services import program

COMPUTES = """
import sys, time
for line in sys.stdin:
    end = time.process_time() + 0.06
    while time.process_time() < end:
        pass
    sys.stdout.write("OK\\n")
    sys.stdout.flush()
"""

DIES = """
import os, sys
for line in sys.stdin:
    if os.path.exists(%r):
        sys.exit(1)
    sys.stdout.write("ERR\\n")
    sys.stdout.flush()
"""


def clamav(scene, server, words="bypass=0", name="clamav"):
    scene.conf += ("icap_enable on\nicap_service_failure_limit -1\n"
                   + server.service(name, "reqmod_precache", words) + "adaptation_access %s allow all\n" % name)


def hangs(scene):
    """From the eighth second on the service takes requests, and answers none."""
    server = IcapServer(scene.env)
    clamav(scene, server)
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: do=never"] if n > 8 * scene.traffic.per_second else []
    scene.traffic.options["timeout"] = 20
    scene.live = scene.seconds - 0.5


def few_connections(scene):
    """The service takes two connections, 40 ms for each request, and Squid waits for one of them."""
    server = IcapServer(scene.env)
    clamav(scene, server, "bypass=0 max-conn=2 on-overload=wait", "clamav_wait40")


def not_there(scene):
    """The scanner behind the service is off, so that the service answers 404 from the eighth second on."""
    server = IcapServer(scene.env)
    clamav(scene, server)
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: do=error"] if n > 8 * scene.traffic.per_second else []


def computing_helpers(scene):
    """Eight helpers of an external ACL compute for 60 ms for each request, on two processors that they share."""
    scene.goes_first = False
    scene.conf += ("external_acl_type group ttl=0 negative_ttl=0 cache=0 children-max=8 children-startup=8 %%URI %s\n"
                   "acl staff external group\nhttp_access deny !staff\n" % program(scene, "group", COMPUTES))
    scene.traffic.per_second = 36
    scene.traffic.options["timeout"] = 40


def dying_helpers(scene):
    """From the eighth second on each child of a rewriter ends at its first question."""
    path = scene.env.path("broken")
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=1\n" % program(
        scene, "rewrite", DIES % path)
    scene.traffic.options["once"] = True

    def broken(_):
        with open(path, "w"):
            pass
    scene.at(8, broken)
