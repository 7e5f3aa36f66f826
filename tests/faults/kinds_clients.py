# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of further kinds with clients, services, disks and Squid's configuration.  See kinds_servers.py."""

import base64
import os
import subprocess

from lib.env import free_port
from lib.helper import Helper
from lib.icapd import IcapServer
from more_machine import iptables
from reported_services import clamav
from reported_squid import around


def forged_host(scene):
    """Connections are intercepted, and host_verify_strict is on.  Clients believe that a host, which has one request in
    five, has the first origin's address; for Squid's name server it has another one."""
    scene.conf += "host_verify_strict on\n"
    scene.name_servers = [["127.7.7.53", 1]]
    scene.traffic.site = lambda n, chance: scene.origins[2 if n % 5 == 2 else 0].url
    port, scene.address, scene.port = free_port(), scene.origins[0].address, scene.origins[0].port
    scene.conf += "http_port 127.0.0.1:%d intercept\n" % port
    scene.before.append(lambda scene: iptables("-t", "nat", "-A", "OUTPUT", "-p", "tcp", "-d", scene.address, "-m",
                                               "owner", "--uid-owner", "0", "-j", "REDIRECT", "--to-ports", str(port)))


def small_accept_queue(scene):
    """A listening socket may have a queue of 4, and every two seconds 200 clients connect at once."""
    def begin(_):
        with open("/proc/sys/net/core/somaxconn", "w") as out:
            out.write("4")
    scene.before.append(begin)
    scene.traffic.options["once"] = True
    made, url = scene.traffic.requests, scene.origins[0].url + "/size=3000/page"
    scene.traffic.first = [url]
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[second, "GET", url, [], 0, {}] for second in range(3, seconds, 2) for _ in range(200)],
        key=lambda request: request[0])


def slow_requests(scene):
    """One client in five sends its header in ten pieces, over 1.5 s."""
    scene.traffic.options["once"] = True
    scene.traffic.more = lambda n: {"header": 1.5} if n % 5 == 3 else {}


def lost_nat(scene):
    """squid -k reconfigure makes the http_port one for intercepted connections, and clients go on as before."""
    scene.traffic.options["once"] = True

    def reconfigure(scene):
        scene.squid.write_conf()
        with open(scene.squid.conf) as file:
            lines = file.read().split("\n")
        with open(scene.squid.conf, "w") as out:
            out.write("\n".join(line + " intercept" if line.startswith("http_port ") else line for line in lines))
        subprocess.run(scene.squid.command("-k", "reconfigure"), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    scene.at(8, reconfigure)


def short_credentials(scene):
    """Squid believes each of 20 users for a second; then it asks a helper again, which takes 150 ms."""
    helper = Helper(scene.env, "auth", 150)
    scene.conf += """
auth_param basic program %s
auth_param basic children 40 startup=30 idle=1
auth_param basic realm e2e
auth_param basic credentialsttl 1 second
acl known proxy_auth REQUIRED
http_access deny !known
""" % helper.command
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n % 20)).decode()]


def vanishing_service(scene):
    """A service closes its connection instead of an answer, for one request in five."""
    clamav(scene, IcapServer(scene.env))
    scene.traffic.headers = lambda n, chance: ["X-Reqmod: do=vanish"] if n % 5 == 3 else []


def read_only_cache(scene):
    """After 3 s Squid may write no more into the only cache_dir: somebody has changed whose its folders are.  Squid keeps
    nothing in memory."""
    scene.dirs = ["aufs:one"]
    scene.conf += "cache_mem 0 MB\nmemory_cache_mode disk\n"
    for origin in scene.origins:
        origin.ms = 60
    around(scene)

    def take(scene):
        for folder, _, _ in os.walk(scene.cache_dir("aufs:one")):
            os.chown(folder, 0, 0)
            os.chmod(folder, 0o555)
    scene.at(3, take)
