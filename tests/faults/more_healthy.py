# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs in which nothing is wrong, though each has a little of what a trouble of reported_more.py has much of."""

import base64
import signal
import socket
import ssl
import time

from lib.env import free_port
from lib.helper import Helper
from lib.tls import Certificates
from more_services import REDIRECTS
from plant_servers import together
from scene import Origin
from trouble_services import program


def every(scene, many, change):
    """Each so-manieth request is changed."""
    made = scene.traffic.requests

    def requests(seconds):
        found = made(seconds)
        for n, request in enumerate(found):
            if n % many == many // 2:
                change(n, request)
        return found
    scene.traffic.requests = requests


def denials(scene):
    """A filter denies one request in twenty: advertisers, as on any day."""
    scene.conf += "acl ads dstdomain .ads.test\nhttp_access deny ads\n"

    def change(n, request):
        request[2] = "http://a%d.ads.test/size=2000/banner" % (n % 7)
    every(scene, 20, change)


def challenges(scene):
    """The first request of a client has no password, and is challenged: one in thirty."""
    helper = Helper(scene.env, "auth", 1)
    scene.conf += ("auth_param basic program %s\nauth_param basic children 5 startup=5 idle=1\nauth_param basic realm e2e\n"
                   "acl known proxy_auth REQUIRED\nhttp_access deny !known\n" % helper.command)
    scene.traffic.headers = lambda n, chance: [] if n % 30 == 0 else ["Proxy-Authorization: Basic " + base64.b64encode(
        b"u%d:secret" % (n % 8)).decode()]


def redirects(scene):
    """A rewriter sends one request in twenty to https."""
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=1\n" % program(
        scene, "https", REDIRECTS.replace("os.path.exists(%r)", "'/plain' in line"))

    def change(n, request):
        request[2] = scene.origins[n % 5].url + "/size=2000/plain%d" % n
    every(scene, 20, change)


def kept_not_found(scene):
    """Browsers ask for icons that are not there, again and again, and negative_ttl keeps that."""
    scene.conf += "negative_ttl 10 seconds\n"

    def change(n, request):
        request[2] = scene.origins[n % 5].url + "/size=300;status=404;cc=-/favicon.ico"
    every(scene, 20, change)


def collapsed(scene):
    """Five clients at once ask for each object, which may be shared."""
    scene.conf += "collapsed_forwarding on\n"
    scene.traffic.repeats = 0
    together(scene, 5)


def quick_helpers(scene):
    """squid -k rotate starts helpers again, which are there at once."""
    helper = Helper(scene.env, "rewrite", 1)
    scene.conf += "url_rewrite_program %s\nurl_rewrite_children 4 startup=4 idle=4\n" % helper.command
    for when in (6, 13):
        scene.at(when, lambda scene: scene.squid.rotate())


def a_large_upload(scene):
    """One request in a hundred is an upload that is too large."""
    scene.conf += "request_body_max_size 100 KB\n"

    def change(_, request):
        request[1], request[2], request[4] = "POST", request[2] + "p", 150000
    every(scene, 100, change)


def health_checks(scene):
    """A load balancer connects five times a second, and says nothing."""
    def check(scene):
        while not scene.loaded:
            socket.create_connection(scene.squid.client_address(), 5).close()
            time.sleep(0.2)
    scene.at(0.1, check)


def siblings(scene):
    """Two siblings say by ICP that they have nothing, after a millisecond."""
    scene.far["icp"] = [["127.0.1.%d" % n, 3130, 1] for n in (21, 22)]
    for number, (address, port, _) in enumerate(scene.far["icp"], 1):
        scene.conf += "cache_peer %s sibling 8000 %d no-digest no-netdb-exchange name=sibling%d\n" % (
            address, port, number)
    scene.conf += "icp_port 3130\nicp_access allow all\nudp_incoming_address 127.0.0.1\n"
    scene.traffic.site = lambda n, chance: scene.origins[n % 5].url
    scene.origins += [Origin(n) for n in (21, 22)]


def restart_at_night(scene):
    """Squid is stopped and started again while nobody asks for anything."""
    made = scene.traffic.requests
    scene.traffic.options["once"] = True
    scene.traffic.requests = lambda seconds: [[due + (4 if due > 8 else 0)] + rest for due, *rest in made(seconds)]

    def restart(scene):
        scene.squid.signal(signal.SIGTERM)
        scene.squid.process.wait(30)
        scene.squid.start()
    scene.at(9, restart)


def scanner(scene):
    """Something tries an old TLS on an https_port now and then."""
    certificates = Certificates(scene.env, "proxy")
    scene.port = free_port()
    scene.conf += "https_port 127.0.0.1:%d tls-min-version=1.3 tls-cert=%s\n" % (scene.port, certificates.server)
    scene.traffic.options["tls"] = True

    def scan(scene):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        while not scene.loaded:
            try:
                with socket.create_connection(("127.0.0.1", scene.port), 5) as sock:
                    context.wrap_socket(sock).close()
            except OSError:
                pass
            time.sleep(1)
    scene.at(0.5, scan)


def ample_delay(scene):
    """client_delay_pools that give 100 MB/s."""
    scene.conf += ("client_delay_pools 1\nclient_delay_initial_bucket_level 100\nclient_delay_access 1 allow all\n"
                   "client_delay_parameters 1 100000000 100000000\n")
