# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles with what servers, services and name servers answer, and with the ways to them.  See trouble_dns.py."""

import re

from lib.env import free_port
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.tls import Certificates, FarEnds
from more_machine import iptables
from plant_disks import from_disk
from plant_disks import slow as slow_disk
from plant_servers import many_hosts
from reported_services import clamav
from scene import Origin
from trouble_services import program
from trouble_tunnels import tunnels

SLOW = 2  # the third origin


def one_domain_fails(scene):
    """The name server has an address for each host but those of the third domain."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1]]
    made = scene.traffic.site
    scene.traffic.site = lambda n, chance: re.sub(r"o3\.test", "o3.example", made(n, chance))
    scene.conf += "negative_dns_ttl 1 seconds\n"


def moved_server(scene):
    """The third server moves at 8 s: nothing is at its old address any more, which Squid keeps for an hour, whatever
    the name server says by then."""
    scene.name_servers = [["127.7.7.53", 1]]
    scene.at(8, lambda scene: iptables("-A", "INPUT", "-d", scene.origins[SLOW].address, "-p", "tcp", "-j", "REJECT",
                                       "--reject-with", "tcp-reset"))


def pausing_name_server(scene):
    """For four seconds nothing gets through to the name server.  One new URL in three is of a new host."""
    scene.traffic.site = lambda n, chance: ("http://h%d.o%d.test:%d" % (n, 1 + n % 5, scene.origins[0].port)
                                            if n % 3 == 0 else scene.origins[n % 5].url)
    scene.name_servers = [["127.7.7.53", 1]]
    scene.at(8, lambda scene: iptables("-A", "INPUT", "-d", "127.7.7.53", "-j", "DROP"))
    scene.at(12, lambda scene: iptables("-D", "INPUT", "-d", "127.7.7.53", "-j", "DROP"))


def rate_limited(scene):
    """From the eighth second on the third origin answers 429 to all."""
    scene.origins[SLOW].more["answers"] = [429, 9, 3600]


def half_replies(scene):
    """From the eighth second on a service ends in the middle of each reply."""
    clamav(scene, IcapServer(scene.env))
    scene.conf = scene.conf.replace("reqmod_precache", "respmod_precache")
    scene.traffic.headers = lambda n, chance: [
        "X-Respmod: do=" + ("midway" if n > 8 * scene.traffic.per_second else "change")]


def answers_all(scene):
    """From the eighth second on a service answers each request itself, with a page of 3,000 bytes."""
    clamav(scene, IcapServer(scene.env))
    scene.traffic.headers = lambda n, chance: [
        "X-Reqmod: do=" + ("instead" if n > 8 * scene.traffic.per_second else "204")]


def large_cookies(scene):
    """One request in ten has cookies of 6 KB, and Squid may take headers of 4 KB."""
    scene.conf += "request_header_max_size 4 KB\n"
    scene.traffic.headers = lambda n, chance: ["Cookie: c=" + "x" * 6000] if n % 10 == 7 else []


def one_site_uncached(scene):
    """An old line in squid.conf lets nothing of the third origin be stored.  The origins take 100 ms."""
    for origin in scene.origins:
        origin.ms = 100
    scene.conf += "acl old dstdomain .o3.test\ncache deny old\n"
    scene.traffic.repeats = 0.85


# ---- ways ----

def lose(words, share):
    """Loses this share of the packets that these words of iptables(8) pick."""
    iptables("-A", "INPUT", "-p", "tcp", *words, "-m", "statistic", "--mode", "random", "--probability", str(share), "-j",
             "DROP")


def loss_at_one(scene):
    """Three packets in ten of the third origin are lost."""
    scene.before.append(lambda scene: lose(["-s", scene.origins[SLOW].address], 0.3))


def lossy_clients(scene):
    """One packet in twenty on the way to clients is lost."""
    scene.meanwhile.append(lambda scene: lose(["--sport", str(scene.squid.port)], 0.05))


def slow_proxy_behind(scene):
    """Tunnels go through a parent, which answers CONNECT after 1.2 s."""
    certificates, plain = Certificates(scene.env, "o1.test"), scene.origins[0]

    def begin(scene):
        class Host:
            host, port = plain.address, plain.port
        FarEnds(scene.env, Host, certificates, "proxy:1200@8100")
    scene.before.append(begin)
    scene.conf += ("cache_peer %s parent 8100 0 no-query no-digest no-netdb-exchange name=moon\nnever_direct allow all\n"
                   % plain.address)
    tunnels(scene, 15, 0, lambda n: "o%d.test" % (1 + n % 5))


# ---- helpers ----

def wrong_channels(scene):
    """concurrency= for a rewriter that knows no channels.  Squid 7.7 ends with an assertion."""
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 2 startup=2 concurrency=20\n" % program(
        scene, "channels", "import sys\nfor line in sys.stdin:\n    sys.stdout.write('ERR\\n')\n    sys.stdout.flush()\n")
    scene.traffic.options["once"] = True


def bump_acl(scene):
    """Whether a tunnel is bumped is asked of a helper, which takes 400 ms."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.port = free_port()
    helper = Helper(scene.env, "acl", 400)
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nsslproxy_cert_error allow all\n"
                   "external_acl_type banks ttl=0 negative_ttl=0 cache=0 children-max=40 children-startup=30 %%DST %s\n"
                   "acl no_bank external banks\nssl_bump bump no_bank\nssl_bump splice all\n"
                   "tls_outgoing_options flags=DONT_VERIFY_PEER\n" % (scene.port, certificates.ca, helper.command))
    tunnels(scene, 20, 0, lambda n: "o%d.test" % (1 + n % 5))
    inside = scene.traffic.more
    scene.traffic.more = lambda n: dict(inside(n), tls=True)


def adaptation_acl(scene):
    """Whether a service is asked is asked of a helper, which takes 300 ms; the service itself takes none."""
    helper = Helper(scene.env, "acl", 300)
    server = IcapServer(scene.env)
    scene.conf += ("external_acl_type scanned ttl=0 negative_ttl=0 cache=0 children-max=40 children-startup=30 %%URI %s\n"
                   "acl scanned_ok external scanned\n" % helper.command)
    scene.conf += ("icap_enable on\n" + server.service("clamav", "reqmod_precache", "bypass=0")
                   + "adaptation_access clamav allow scanned_ok\n")


# ---- neighbours and disks ----

def mute_sibling(scene):
    """Two siblings are asked by ICP; the second never answers."""
    scene.far["icp"] = [["127.0.1.21", 3130, 1], ["127.0.1.22", 3130, 3600000]]
    for number, (address, port, _) in enumerate(scene.far["icp"], 1):
        scene.conf += "cache_peer %s sibling 8000 %d no-digest no-netdb-exchange name=sibling%d\n" % (
            address, port, number)
    scene.conf += ("icp_port 3130\nicp_access allow all\nudp_incoming_address 127.0.0.1\nicp_query_timeout 1500\n"
                   "dead_peer_timeout 60 seconds\n")
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    scene.origins += [Origin(n) for n in (21, 22)]


def slow_opens(scene):
    """Opening a file of one cache_dir takes 90 ms: its directories are large."""
    from_disk(scene, ["aufs:one", "aufs:two"])
    slow_disk(scene, "open", "cache-aufs-two-", 90)
