# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults of what Squid asks before it answers: ICAP services, helpers, ACLs.  See plant_servers.py."""

import base64

from lib.helper import Helper
from lib.icapd import IcapServer

SLOW = 200  # ms
MANY = "children-max=40 children-startup=30 children-idle=1"


def slow_icap(scene):
    """Each request goes through two services, one of which is slow."""
    server = IcapServer(scene.env)
    scene.conf += server.enabled()
    for name in ("filter_wait2", "scanner_wait%d" % SLOW):
        scene.conf += server.service(name, "reqmod_precache", "bypass=0")
    scene.conf += ("adaptation_service_chain both filter_wait2 scanner_wait%d\n" % SLOW
                   + "adaptation_access both allow all\n")
    return "adaptation scanner_wait%d" % SLOW


def rewriter(scene, milliseconds, children):
    helper = Helper(scene.env, "rewrite", milliseconds)
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children %s\n" % (helper.command, children)
    return "url_rewrite .*"


def slow_rewriter(scene):
    return rewriter(scene, SLOW, "40 startup=30 idle=1")


def one_rewriter(scene):
    """One child of 17.5 ms, for 60 requests a second."""
    return rewriter(scene, 18, "1 startup=1 queue-size=5000")


def external_acl(scene, milliseconds, children):
    helper = Helper(scene.env, "acl", milliseconds)
    scene.conf += ("external_acl_type lookup ttl=0 negative_ttl=0 cache=0 %s %%URI %s\n" % (children, helper.command)
                   + "acl looked external lookup\nhttp_access deny !looked\n")
    return "external_acl lookup"


def slow_acl(scene):
    return external_acl(scene, SLOW, MANY)


def one_acl(scene):
    return external_acl(scene, 18, "children-max=1 children-startup=1 queue-size=5000")


def slow_auth(scene):
    """Each fifth request is of a user that Squid does not know yet."""
    helper = Helper(scene.env, "auth", 300)
    scene.conf += """
auth_param basic program %s
auth_param basic children 40 startup=30 idle=1
auth_param basic realm e2e
acl known proxy_auth REQUIRED
http_access deny !known
""" % helper.command
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n if n % 5 == 0 else 0)).decode()]
    return "auth [Bb]asic"
