# SPDX-License-Identifier: GPL-2.0-or-later
"""A seventh round of troubles: clients, rules and names.  reports.md has the reports; see trouble_dns.py."""

from lib.env import free_port
from lib.tls import Certificates
from more_cousins import change
from plant_servers import many_hosts, way
from trouble_services import program
from trouble_tunnels import tunnels

SLOW = 2  # the third origin

SESSIONS = """
import os, sys
known = set()
for line in sys.stdin:
    client = line.strip()
    new = client not in known or os.path.exists(%r)
    known.add(client)
    sys.stdout.write("ERR\\n" if new else "OK\\n")
    sys.stdout.flush()
"""


def no_length_sent(scene, every=5):
    """One request in five is a POST without a body, of an old client that does not say so: HTTP/1.0, no Content-Length."""
    def post(n, request):
        if n % every == 3:
            request[1], request[5] = "POST", {"old": True}
    change(scene, post)


def peeking(scene, ends):
    """Squid peeks into all tunnels, and ends those to a name that ends so."""
    certificates = Certificates(scene.env, *["o%d.test" % n for n in range(1, 6)])
    for origin in scene.origins:
        origin.more["tls"] = certificates.server
    scene.port = free_port()
    scene.conf += ("http_port 127.0.0.1:%d ssl-bump tls-cert=%s generate-host-certificates=on "
                   "dynamic_cert_mem_cache_size=4MB\nacl first at_step SslBump1\nacl banned ssl::server_name %s\n"
                   "ssl_bump peek first\nssl_bump terminate banned\nssl_bump splice all\n"
                   "sslproxy_cert_error allow all\ntls_outgoing_options flags=DONT_VERIFY_PEER\n"
                   % (scene.port, certificates.ca, ends))


def terminated(scene):
    """The list of names that Squid ends tunnels to has one too many: a fifth of the tunnels."""
    peeking(scene, ".o3.test")
    tunnels(scene, 20, 0, lambda n: "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: {"tls": True, "inside": "/size=3000/t%d" % n}


def tunnel_names(scene):
    """From the eighth second on the name server says nothing of one host of five.  All that clients want are tunnels."""
    scene.name_servers = [["127.7.7.53", 1, {"ttl": 2, "stops": {"o3": 8}}]]
    scene.conf += "dns_timeout 3 seconds\nnegative_dns_ttl 4 seconds\n"
    tunnels(scene, 20, 0, lambda n: "o%d.test" % (1 + n % 5))


def split_horizon(scene):
    """The first name server knows the hosts, and one query in three to it is lost.  The second one knows none of them."""
    many_hosts(scene)
    scene.name_servers = [["127.7.7.53", 1, {"loses": 3}], ["127.7.7.99", 1, {"unknown": True}]]
    scene.conf += "dns_retransmit_interval 2 seconds\n"


def signed_urls(scene, ms=100):
    """Whoever asks for an object has a URL of his own for it, with a signature behind the question mark."""
    for origin in scene.origins:
        origin.ms = ms
    scene.traffic.repeats = 0.85

    def sign(n, request):
        request[2] += "?signature=%d" % (n * 7919)
    change(scene, sign)


def downloads(scene, rate, size, pieces):
    """All servers are behind one line.  In the fourth second a client begins to load so many large files at once."""
    way(scene, ms=5, rate=rate)
    scene.traffic.per_second = 40
    scene.traffic.options["timeout"] = 60
    made = scene.traffic.requests
    scene.traffic.requests = lambda seconds: sorted(
        made(seconds) + [[4, "GET", scene.origins[n % 5].url + "/size=%d;cc=no-store/image%d" % (size, n), [], 0, {}]
                         for n in range(pieces)], key=lambda request: request[0])


def hog(scene):
    """The line takes 500 KB/s, and the twelve large files are of 800 KB."""
    downloads(scene, 500000, 800000, 12)


def splash(scene, forgets=True):
    """Who is new is redirected to a page once, which a helper remembers.  From the eighth second on it remembers nobody."""
    path = scene.env.path("forgets")
    scene.conf += ("external_acl_type session ttl=0 negative_ttl=0 cache=0 children-max=1 children-startup=1 "
                   "concurrency=0 %%SRC %s\nacl known external session\nacl page dstdomain portal.o5.test\n"
                   "deny_info 302:http://portal.o5.test:8000/size=900/splash known\nhttp_access deny !page !known\n"
                   % program(scene, "session", SESSIONS % path))
    scene.traffic.options.update(once=True, sources=20)

    def forget(_):
        with open(path, "w"):
            pass
    if forgets:
        scene.at(8, forget)


# ---- nothing wrong ----

def terminated_ads(scene):
    """The same as terminated, of one tunnel in forty, to an advertiser."""
    peeking(scene, "ads.o3.test")
    tunnels(scene, 20, 0, lambda n: "ads.o3.test" if n % 40 == 7 else "o%d.test" % (1 + n % 5))
    scene.traffic.more = lambda n: {"tls": True, "inside": "/size=3000/t%d" % n}


def quick_signed_urls(scene):
    """The same as signed_urls, of origins of 10 ms."""
    signed_urls(scene, 10)


def download_beside(scene):
    """The same as hog, of one file of 2 MB, and a line that takes 20 MB/s."""
    downloads(scene, 20000000, 2000000, 1)


def splash_once(scene):
    """The same as splash, with a helper that remembers."""
    splash(scene, False)
