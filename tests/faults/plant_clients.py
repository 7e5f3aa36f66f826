# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults on the side of clients, and of what squid.conf does with them.  See plant_servers.py."""

import signal
import threading
import time

from lib.env import free_port
from lib.tls import Certificates


def slow_clients(scene):
    scene.traffic.size = lambda chance: chance.randrange(200000, 400000)
    scene.traffic.options["rate"] = 100000
    scene.traffic.per_second = 20
    with open("/proc/sys/net/ipv4/tcp_wmem", "w") as out:
        out.write("4096 16384 32768")


def delay_pool(scene):
    scene.conf += """
delay_pools 1
delay_class 1 1
delay_access 1 allow all
delay_parameters 1 200000/200000
"""
    return "delay pool 1"


def client_tls(scene):
    """A handshake for each request, with a key of 4,096 bits."""
    certificates = Certificates(scene.env, "proxy", kind=["rsa:4096"])
    port = free_port()
    scene.conf += "https_port 127.0.0.1:%d tls-cert=%s\n" % (port, certificates.server)
    scene.port = port
    scene.traffic.options.update(tls=True, once=True)
    return "https_port .*%d" % port


def reload(scene):
    """Three of four requests do not want what the cache has."""
    scene.traffic.headers = lambda n, chance: ["Cache-Control: no-cache"] if n % 4 else []


def vary(scene):
    """Each answer depends on a header of which there are many."""
    scene.traffic.words = lambda n: ";vary=User-Agent"
    scene.traffic.headers = lambda n, chance: ["User-Agent: browser/%d" % chance.randrange(500)]


def descriptors(scene):
    """Squid may have 140 descriptors, and 105 clients connect and say nothing for a second, again and again."""
    scene.conf += "max_filedescriptors 140\nrequest_start_timeout 1 second\n"
    scene.traffic.options.update(once=True, silent=105)
    return "http_port .*"


def stops(scene):
    """Stops Squid again and again, while it runs."""
    while not scene.loaded:
        scene.squid.signal(signal.SIGSTOP)
        time.sleep(0.3)
        scene.squid.signal(signal.SIGCONT)
        time.sleep(0.7)


def backlog(scene):
    """A backlog of 1, and Squid stops for 0.3 s of each second."""
    def begin(scene):
        with open("/proc/sys/net/core/somaxconn", "w") as out:
            out.write("1")
    scene.before.append(begin)
    scene.traffic.options["once"] = True
    scene.meanwhile.append(lambda scene: threading.Thread(target=stops, args=(scene,), daemon=True).start())
    return "http_port .*"
