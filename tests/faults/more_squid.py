# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles of what squid.conf allows and limits, and of Squid's own processes.  See trouble_dns.py."""

import base64

from trouble_services import program

LOGIN = """
import os, sys
for line in sys.stdin:
    sys.stdout.write("BH message=\\"cannot contact LDAP server\\"\\n" if os.path.exists(%r) else "OK\\n")
    sys.stdout.flush()
"""


def connections_of_a_client(scene):
    """A client may have 20 connections.  All clients are behind one address, and ask for 40 objects at once."""
    scene.conf += "client_ip_max_connections 20\n"
    for origin in scene.origins:
        origin.ms = 150
    scene.traffic.options["once"] = True
    scene.traffic.repeats = 0
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: [[n // 40 * 40 / 60 + n % 40 * 0.0005] + rest
                                              for n, (_, *rest) in enumerate(made(seconds))]


def denied_domain(scene):
    """squid -k reconfigure, with a new list of advertisers in which a domain is that is none."""
    path = scene.env.path("ads")

    def update(scene):
        with open(path, "w") as out:
            out.write(".advertisers.test\n.o3.test\n")
        scene.squid.reconfigure()
    with open(path, "w") as out:
        out.write(".advertisers.test\n")
    scene.conf += "acl ads dstdomain \"%s\"\nhttp_access deny ads\n" % path
    scene.at(8, update)


def login_server_down(scene):
    """From the eighth second on a helper of basic authentication can not reach its LDAP server."""
    path = scene.env.path("down")
    scene.conf += """
auth_param basic program %s
auth_param basic children 5 startup=5 idle=1
auth_param basic realm e2e
auth_param basic credentialsttl 2 seconds
acl known proxy_auth REQUIRED
http_access deny !known
""" % program(scene, "login", LOGIN % path)
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n % 8)).decode()]

    def down(_):
        with open(path, "w"):
            pass
    scene.at(8, down)
