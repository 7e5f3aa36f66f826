# SPDX-License-Identifier: GPL-2.0-or-later
"""A seventh round of troubles, and what table `findings` must say of each: reports.md has how they were found.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import seventh_clients as clients
import seventh_servers as servers
from reported_more import GITHUB, status
from troubles import Trouble, fail, slow

SEVENTH = [Trouble(*row) for row in (
    ("no-length-sent", clients.no_length_sent, GITHUB + "nategood/httpful/pull/81", r"client|http_port|POST|request",
     r"411|length", "a fifth: 411", status("411", 200)),
    ("wrong-peer", servers.wrong_peer, GITHUB + "pfsense/FreeBSD-ports/pull/839", r"web1|web2|servers|cache_peer|127\.0\.1\.1[12]",
     r"404", "half of the misses: 404", status("404", 200)),
    ("terminated", clients.terminated, GITHUB + "nearform/aws-proxy-pattern/issues/1",
     r"ssl_bump|banned|http_port|o3\.test|127\.0\.1\.3", r"terminat|ssl_bump|\b(ends|ended|close[sd]?) ", "a fifth of the tunnels: closed",
     lambda felt: felt.ends["silent"] + felt.ends["closed"] >= 60),
    ("tries-in-vain", servers.tries_in_vain, GITHUB + "squid-cache/squid/pull/277",
     r"127\.0\.2\.1|127\.0\.1\.3|two\.test|servers", r"clos.*(answer|tr(y|ies)|again)|(answer|tr(y|ies)).*clos",
     "a fifth of the misses: 502 after 2 s", fail(60)),
    ("tunnel-names", clients.tunnel_names, GITHUB + "datacurve-ai/pier/issues/15", r"127\.7\.7\.53|negative_dns_ttl|o3",
     r"look-?up|answer|\bname", "a fifth of the tunnels: 503 since then", fail(30)),
    ("split-horizon", clients.split_horizon, GITHUB + "moby/moby/pull/45565", r"127\.7\.7\.(99|53)|name servers",
     r"NXDOMAIN|(not|no|un).{0,20}(exist|know)|differ|contradict", "a third of the new hosts: 503 after 2 s", fail(60)),
    ("signed-urls", clients.signed_urls, GITHUB + "marcransome/pond/pull/92", r"cache|URL|servers|127\.0\.1\.",
     r"\bonce\b|twice|again|URL.*(own|differ|new|never)|(own|differ|new|never).*URL|no hit", "all: 100 ms", slow(95, 100)),
    ("hog", clients.hog, GITHUB + "igrigorik/node-spdyproxy/issues/24", r"line|network|servers|client|127\.0\.1\.|10\.77",
     r"large|download|\d MB\b.*(of|each|large)|few|most of (the|its|all) bytes", "misses: a second and more, while it lasts",
     slow(150, 1000)),
    ("logged-in", servers.logged_in, GITHUB + "mysociety/alaveteli/issues/522", r"servers|127\.0\.1\.",
     r"\bstor(ed|e|able)|private|\bkept\b|logged|[cC]ookie", "a fourth: 600 ms", slow(140, 595)),
    ("splash", clients.splash, GITHUB + "weimarnetz/weimarnetz/issues/11",
     r"session|known|http_access|deny_info", r"302|redirect|den(y|ie)", "all: 302, since then", status("302", 400)),
)]

# Runs without a trouble: `findings` must say so, and clients must not be hurt.
SEVENTH += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing",
                    lambda felt: felt.mean < 60 and not felt.errors) for name, plant in (
    ("equal-peers", servers.equal_peers),
    ("terminated-ads", clients.terminated_ads),
    ("quick-signed-urls", clients.quick_signed_urls),
    ("download-beside", clients.download_beside),
    ("splash-once", clients.splash_once),
)]
