# SPDX-License-Identifier: GPL-2.0-or-later
"""A fourth round of troubles, and what table `findings` must say of each: reports.md has how they were found.  Those without
a report are ours.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import fourth_clients as clients
import fourth_servers as servers
from reported_more import GITHUB, cut, status
from reported_third import DENIED
from troubles import Trouble, fail, slow

FOURTH = [Trouble(*row) for row in (
    # Clients and their network.
    ("slow-reader", clients.slow_reader, GITHUB + "measurement-factory/squid/pull/90", r"client|read_ahead_gap",
     r"read_ahead_gap|slow(est)? (client|reader|one)|takes? (it|them) slowly|client.*slow", "all that join: 13 s",
     slow(500, 5000)),
    ("greeting-tunnels", clients.greeting_tunnels, GITHUB + "ra-at-diladele-com/qlproxy_external/issues/726",
     r"ssl.?bump|http_port|client|o3\.test|127\.0\.1\.3", r"TLS|hello|handshake|bump|speak|said nothing|sent nothing",
     "a fifth of the tunnels hang", lambda felt: felt.ends["given_up"] + felt.ends["silent"] >= 40),
    ("request-timeout", clients.hasty, "-", r"client|request_timeout|http_port",
     r"request_timeout|header|whole request|pieces|408", "a fifth: no answer",
     lambda felt: felt.ends["closed"] + felt.statuses["408"] >= 60),
    # Limits and rules.
    ("shared-address", clients.shared_address, "https://www.cyberciti.biz/tips/howto-limit-squid-proxy-number-web-connections.html",
     r"\bmany\b|http_access|client|maxconn", DENIED + r"|maxconn|connections", "a part: 403", status("403", 60)),
    ("kept-denial", clients.kept_denial, "-", r"external_acl group|staff|group|negative_ttl|http_access", DENIED,
     "all: 403, since then", status("403", 300)),
    ("no-more-children", clients.no_more_children, "https://www.oreilly.com/library/view/squid-the-definitive/0596001622/re198.html",
     r"url_rewrite", r"\bstart|fork|no more (children|of them)|none more", "all wait longer and longer", slow(500, 3000)),
    # Adaptation.
    ("uploads-hang", clients.uploads_hang, GITHUB + "squid-cache/squid/pull/414", r"clamav",
     r"POST|upload|waiting|answered none|no answer|never answer", "all uploads hang",
     lambda felt: felt.ends["given_up"] >= 100),
    # Tunnels.
    ("slow-tunnels", servers.slow_tunnels, GITHUB + "hiddify/hiddify-app/issues/772", r"127\.0\.1\.3:8000|o3\.test",
     r"KB/s|slow|bytes", "a fifth of the tunnels: 3 s", slow(300, 2500)),
    ("slammed-tunnels", servers.slammed, GITHUB + "chobits/ngx_http_proxy_connect_module/issues/281",
     r"127\.0\.1\.3:8000|o3\.test", r"tunnel|CONNECT|nothing|closed|no byte", "a fifth of the tunnels: nothing",
     lambda felt: felt.ends["silent"] >= 40),
    ("dead-address-tunnels", servers.dead_address, "-", r"127\.0\.2\.1|two\.test", r"connect|answer|reach",
     "a fifth of the tunnels: 2 s", slow(250, 1900)),
    # Parents.
    ("parent-login", servers.parent_login, GITHUB + "silarsis/docker-proxy/issues/11", r"moon", r"407|login|refus|den(y|ie)",
     "all tunnels: 407", lambda felt: felt.statuses["407"] + felt.errors >= 100),
    ("posts-go-direct", servers.posts_go_direct, "https://www.urking.top/read/squid-the-definitive-guide-duane-wessels-06a1d7/90.html",
     r"127\.0\.1\.[1-5]|servers|direct|nonhierarchical", r"direct|nonhierarchical|POST", "all uploads: 503", fail(200)),
    # Names and servers.
    ("dns-filter", servers.dns_filter, GITHUB + "snail007/goproxy/issues/430", r"0\.0\.0\.0:8000|127\.7\.7\.53",
     r"0\.0\.0\.0|refuse", "a fifth of misses: 503", fail(60)),
    ("wants-certificate", servers.wants_certificate, "-", r"127\.0\.1\.3:8000|o3\.test",
     r"certificate|TLS|clos|no answer|without an answer", "a fifth of misses: 502", fail(60)),
    ("refused-uploads", servers.refused_uploads, GITHUB + "goharbor/harbor/issues/3270", r"127\.0\.1\.3:8000",
     r"413|refus|POST|upload", "a fifth of the uploads: 413", status("413", 60)),
    ("wrong-clock", servers.wrong_clock, "-", r"127\.0\.1\.3:8000", r"clock|Date|old when|stale|fresh|not stored|again",
     "repeats of one site: 100 ms", slow(25, 100)),
    # The cache, and workers.
    ("truncated-files", servers.truncated_files, GITHUB + "apache/trafficserver/issues/1960", r"aufs.*cache-aufs-two",
     r"\bcut|incomplete|truncat|part of|before the end|short", "hits of one cache_dir: a part of the body", cut(40)),
    ("purges", servers.purges, GITHUB + "tempesta-tech/tempesta/issues/501", r"PURGE|[pP]urge|cache|client", r"PURGE|[pP]urge",
     "half of the repeats are misses: 100 ms", slow(25, 100)),
    ("own-caches", servers.own_caches, GITHUB + "squid-cache/squid/pull/369", r"worker|memory_cache_shared|cache",
     r"\bworker|shared", "a third of the repeats are misses: 100 ms", slow(30, 100)),
    ("address-of-worker", servers.address_of_worker, "-", r"worker 2|kid 2|10\.9\.9\.9|tcp_outgoing_address",
     r"\bworker|\bkid", "a half of the misses of one worker: 503", fail(60)),
)]

# Runs without a trouble: `findings` must say so, and clients must not be hurt.
FOURTH += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing",
                   lambda felt: felt.mean < 25 and not felt.errors) for name, plant in (
    ("preconnects", clients.preconnects),
    ("push", clients.push),
    ("idle-tunnels", clients.idle_tunnels),
    ("few-purges", servers.few_purges),
    ("few-refused-uploads", servers.few_refused_uploads),
)]
