# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles of what squid.conf allows and limits, and of Squid's own processes.  See trouble_dns.py."""

import base64
import os
import signal

from lib.small_disk import small_tmpfs
from plant_servers import together
from reported_squid import around
from trouble_services import program
from trouble_squid import make_dirs, many_entries
from trouble_tunnels import tunnels

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


def many_addresses(scene):
    """A user comes from many addresses, and may come from two."""
    scene.conf += """
auth_param basic program %s
auth_param basic children 5 startup=5 idle=1
auth_param basic realm e2e
authenticate_ip_ttl 30 seconds
acl known proxy_auth REQUIRED
acl shared max_user_ip -s 2
http_access deny !known
http_access deny shared
""" % program(scene, "login", LOGIN % scene.env.path("never"))
    scene.traffic.options.update(once=True, sources=40)
    scene.traffic.headers = lambda n, chance: ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n % 40 if n % 3 else 100)).decode()]


def client_delay(scene):
    """Each client may have 700 KB/s: client_delay_pools.  All clients are behind one address."""
    scene.conf += ("client_delay_pools 1\nclient_delay_initial_bucket_level 50\nclient_delay_access 1 allow all\n"
                   "client_delay_parameters 1 700000 700000\n")


def lifetime(scene):
    """One reply in five takes 6 s, and no client may be connected for longer than 4 s."""
    scene.conf += "client_lifetime 4 seconds\n"
    scene.origins[2].more["rate"] = 50000
    made = scene.traffic.new
    scene.traffic.new = lambda n, chance: (scene.origins[2].url + "/size=300000/n%d" % n if n % 5 == 2
                                           else made(n, chance))
    scene.traffic.options["once"] = True


def in_vain(scene):
    """collapsed_forwarding, for replies that may not be shared.  Five clients at once ask for each; 300 ms."""
    scene.conf += "collapsed_forwarding on\n"
    for origin in scene.origins:
        origin.ms = 300
    scene.traffic.words = lambda n: ";cc=private"
    scene.traffic.repeats = 0
    together(scene, 5)


def full_cache_disk(scene):
    """The file system of a cache_dir of 512 MB has room for 3 MB.  350 objects of 20 KB come in turn."""
    path = scene.env.path("disk")
    scene.dirs = []
    scene.conf += ("cache_dir aufs %s/cache 512 4 16\ncache_mem 0 MB\nmemory_cache_mode disk\n" % path)
    for origin in scene.origins:
        origin.ms = 60

    scene.before += [lambda scene: small_tmpfs(scene.env, path, "3m", "0777"), make_dirs]
    around(scene)


def digest_rebuild(scene):
    """A digest of 1.5 million entries is built again every six seconds, all at once."""
    many_entries(scene, 1500000)
    scene.conf += "digest_rebuild_period 6 seconds\ndigest_rebuild_chunk_percentage 100\n"


def swap_rate(scene):
    """A rock cache_dir may have ten swaps a second."""
    scene.workers, scene.dirs = 2, []
    scene.conf += ("cache_dir rock {folder}/rock 64 max-swap-rate=10\ncache_mem 0 MB\nmemory_cache_mode disk\n"
                   "memory_cache_shared off\n")
    scene.traffic.repeats = 0.8
    scene.traffic.size = lambda chance: chance.randrange(500, 3500)
    scene.traffic.options["timeout"] = 20
    scene.before.append(make_dirs)


def worker_killed(scene):
    """The kernel kills one of two workers every four seconds, for want of memory; the master starts it again."""
    scene.workers, scene.dirs = 2, []
    for origin in scene.origins:
        origin.ms = 600
    scene.traffic.repeats = 0
    scene.traffic.options["once"] = True
    for when in (5, 9, 13, 17):
        scene.at(when, lambda scene: os.kill(scene.squid.worker_pids()[0], signal.SIGKILL))


def large_uploads(scene):
    """One request in ten is an upload of 150 KB, and request_body_max_size is 100 KB."""
    scene.conf += "request_body_max_size 100 KB\n"
    made = scene.traffic.requests

    def mixed(seconds):
        return [[due, "POST", url + "p%d" % n, headers, 150000, *rest] if n % 10 == 7 else
                [due, method, url, headers, sends, *rest]
                for n, (due, method, url, headers, sends, *rest) in enumerate(made(seconds))]
    scene.traffic.requests = mixed


def idle_tunnels(scene):
    """Tunnels in which nobody says anything for three seconds are closed, and clients want them for eight."""
    scene.conf += "read_timeout 3 seconds\n"
    tunnels(scene, 10, 8, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), cut=True)


def one_client(scene):
    """A delay pool holds back one client of twenty: 10 KB/s."""
    scene.conf += ("acl guest src 127.3.0.7\ndelay_pools 1\ndelay_class 1 1\ndelay_access 1 allow guest\n"
                   "delay_parameters 1 10000/10000\n")
    scene.traffic.options.update(once=True, sources=20)


def impatient(scene):
    """The third origin takes 1.5 s, and clients wait for one."""
    scene.origins[2].ms = 1500
    scene.traffic.options["timeout"] = 1
