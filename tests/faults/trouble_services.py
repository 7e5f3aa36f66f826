# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles with ICAP services and helpers.  See trouble_dns.py."""

import os
import shutil
import sys

from lib.icapd import IcapServer

SILENT = """
import sys
for line in sys.stdin:
    sys.stdout.write(line.split(" ")[0] + " ERR\\n")
"""


def program(scene, name, text):
    """The command of a helper, for squid.conf.  Python shall not flush by itself, whatever the environment says: -E."""
    path = scene.env.path(name + ".py")
    with open(path, "w") as out:
        out.write(text)
    os.chmod(path, 0o644)
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    return "%s -E -S %s" % (python, path)


def silent_rewriter(scene):
    """A rewriter that does not flush its answers.  Two requests a second."""
    scene.conf += ("url_rewrite_program %s\nurl_rewrite_children 1 startup=1 concurrency=100\n"
                   % program(scene, "helper", SILENT))
    scene.traffic.per_second = 2
    scene.traffic.options["timeout"] = 25
    scene.live = scene.seconds - 0.5


def whole_body(scene):
    """A service that answers when it has the whole reply; bodies of 10 MB come at 2 MB/s."""
    server = IcapServer(scene.env)
    scene.conf += server.enabled() + server.service("clamav", "respmod_precache", "bypass=0")
    scene.conf += "adaptation_access clamav allow all\n"
    for origin in scene.origins:
        origin.more["rate"] = 2000000
    scene.traffic.per_second, scene.traffic.repeats = 1, 0
    scene.traffic.size = lambda chance: 10000000
    scene.traffic.words = lambda n: ";cc=no-store"
    scene.traffic.headers = lambda n, chance: ["X-Respmod: do=change;wait=100"]


def suspended(scene):
    """A service that may not be bypassed is gone for 2 s, and Squid does not ask it for 20 s."""
    server = IcapServer(scene.env)
    scene.conf += ("icap_enable on\nicap_service_failure_limit 10\nicap_service_revival_delay 20\n"
                   + server.service("clamav", "reqmod_precache", "bypass=0") + "adaptation_access clamav allow all\n")
    scene.seconds = max(scene.seconds, 36)
    scene.at(6, lambda scene: server.stop())
    scene.at(8, lambda scene: IcapServer(scene.env, port=server.port))
