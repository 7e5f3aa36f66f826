# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of a forward proxy: tunnels.  See trouble_dns.py."""

import base64
import signal

from lib.helper import Helper


def tunnels(scene, per_second, hold, host=lambda n: "h%d.o%d.test" % (n, 1 + n % 5)):
    """Clients open tunnels only, and close them after so many seconds."""
    traffic, port = scene.traffic, scene.origins[0].port
    traffic.method, traffic.per_second, traffic.repeats = "CONNECT", per_second, 0
    traffic.new = lambda n, chance: "%s:%d" % (host(n), port)
    traffic.more = lambda n: {"hold": hold, "inside": "/size=3000/t%d" % n}


def slow_names(scene):
    """Each tunnel leads to a new host, and the name server takes 500 ms."""
    scene.name_servers = [["127.7.7.53", 500]]
    tunnels(scene, 20, 2)


def slow_names_mixed(scene):
    """The same, and 15 % of the requests are plain ones that need no name server."""
    slow_names(scene)
    made = scene.traffic.requests

    def mixed(seconds):
        requests = made(seconds)
        for n, request in enumerate(requests):
            if n % 7 == 3:
                request[1:3] = "GET", "http://%s/size=8000/n%d" % (scene.origins[n % 5].server, n)
        return requests
    scene.traffic.requests = mixed


def log_in_at_once(scene):
    """60 clients open a tunnel at once, each with credentials of its own; again 10 s later.  Two helpers, 300 ms."""
    helper = Helper(scene.env, "auth", 300)
    scene.conf += """
auth_param basic program %s
auth_param basic children 2 startup=2 idle=1 queue-size=500
auth_param basic realm e2e
acl known proxy_auth REQUIRED
http_access deny !known
""" % helper.command
    tunnels(scene, 6, 1, lambda n: "o%d.test" % (1 + n % 5))
    made = scene.traffic.requests
    scene.traffic.headers = lambda n, chance: [
        "Proxy-Authorization: Basic " + base64.b64encode(b"u%d:secret" % (n % 60)).decode()]

    def waves(seconds):
        requests = made(seconds)
        for n, request in enumerate(requests):
            request[0] = n // 60 * 10 + n % 60 * 0.005
        return requests
    scene.traffic.requests = waves


def slow_restart(scene):
    """A restart while three tunnels are open, and shutdown_lifetime is 12 s."""
    scene.conf += "shutdown_lifetime 12 seconds\n"
    scene.traffic.per_second = 20
    scene.traffic.options["once"] = True
    made = scene.traffic.requests

    def with_tunnels(seconds):
        return [[0.1 * n, "CONNECT", "o1.test:%d" % scene.origins[0].port, [], 0, {"hold": 40}] for n in range(3)] + [
            [due + 0.5] + rest for due, *rest in made(seconds)]
    scene.traffic.requests = with_tunnels

    def restart(scene):
        scene.squid.signal(signal.SIGTERM)
        scene.squid.process.wait(60)
        scene.squid.start()
    scene.seconds = max(scene.seconds, 32)
    scene.at(10, restart)
