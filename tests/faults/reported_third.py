# SPDX-License-Identifier: GPL-2.0-or-later
"""A third round of troubles, and what table `findings` must say of each: reports.md has how they were found.  Those without
a report are ours.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import third_clients as clients
import third_servers as servers
from reported_more import GITHUB, status
from troubles import Trouble, fail, slow

DENIED = r"den(y|ie)|403|not allow"

THIRD = [Trouble(*row) for row in (
    ("two-lengths", servers.two_lengths, GITHUB + "axios/axios/issues/5078", r"127\.0\.1\.3:8000",
     r"502|not (valid|understood)|invalid|malformed|HTTP", "a fifth of misses: 502", fail(60)),
    ("own-ids", servers.own_ids,
     "https://docs.google.com/document/pub?id=1YGxb0WzQvszbPeKrhBkACsypDw3J-bU0c-O8ezFhm68",
     r"[sS]tore.?[iI][dD]|cache", r"[sS]tore.?[iI][dD]|miss|hit|found|stored|again", "repeats are misses: 80 ms",
     slow(70, 80)),
    ("read-timeout", servers.read_timeout, GITHUB + "langgenius/dify/issues/41011", r"127\.0\.1\.3:8000|read_timeout",
     r"read_timeout|no answer|not answer|answered none|time.?out|504|gave up", "a fifth of misses: 504 after 2 s",
     fail(60)),
    ("denied-port", clients.denied_port, GITHUB + "github/gh-aw-firewall/issues/189", r"SSL_ports|http_access|:8443", DENIED,
     "a fifth of the tunnels: 403", status("403", 60)),
    ("half-closing", clients.half_closing, GITHUB + "envoyproxy/envoy/issues/2066", r"client|half_closed|http_port",
     r"half|closed|left|before", "a fifth: no answer", lambda felt: felt.ends["closed"] >= 60),
    ("bypassed-service", clients.bypassed_service, GITHUB + "VEY-OSS/vey/issues/66", r"clamav",
     r"connect|answer|bypass|fail|wait", "all: 2 s", slow(300, 1900)),
    ("clients-mtu", clients.clients_mtu, "https://www.tacuns.net/learn/network-troubleshooting/module-2",
     r"client|127\.3\.0", r"\bread|take|stop|stall|stand|lost|send|left|gave up|part of", "a fifth of the clients hang",
     lambda felt: felt.ends["given_up"] >= 60),
    ("with-authorization", servers.with_authorization, GITHUB + "virtuald/docker-registry-cache/issues/1",
     r"[aA]uthoriz|cache|127\.0\.1\.|servers|client", r"[aA]uthoriz|credential|log|not (be )?stored|public", "repeats are misses: 100 ms",
     slow(90, 100)),
    ("no-lifetime", servers.no_lifetime, GITHUB + "canonical/ubuntu-server-documentation/issues/353",
     r"refresh_pattern|cache|127\.0\.1\.|servers", r"fresh|expire|stored|lifetime|again|revalid", "repeats are misses: 100 ms",
     slow(90, 100)),
    ("limits-connections", servers.limits_connections, GITHUB + "dev-sec/chef-nginx-hardening/issues/11",
     r"127\.0\.1\.3:8000", r"refus|reset|connect|503", "some misses of one origin: 503", fail(20)),
    ("early-answer", servers.early_answer, GITHUB + "gwsystems/sledge-serverless-framework/pull/389", r"127\.0\.1\.3:8000",
     r"clos|reset|fail|502|error|read", "two uploads of five: 502", fail(60)),
    ("large-replies", clients.large_replies, "-", r"reply_body_max_size|http_reply_access|large|size",
     r"reply_body_max_size|too large|larger|den(y|ie)|403|cut", "a sixth: 403", status("403", 100)),
    ("groups-down", clients.groups_down, "-", r"external_acl group|staff|group", DENIED + r"|BH|broken|fail|error", "all: 403",
     status("403", 400)),
    ("carp-dead", servers.carp_dead, "-", r"mars|127\.0\.1\.12", r"connect|answer|reach|fail", "a third of misses: 2 s",
     slow(100, 1900)),
    ("servers-close", servers.servers_close, "-", r"servers|10\.77\.1|network|line",
     r"new connection|clos|connect|kept|round trip|away", "all misses: 200 ms", slow(70, 200)),
    ("tiring-helpers", clients.tiring_helpers, "-", r"url_rewrite", r"start|end|die|exit|child|answer|wait", "all wait, ever more",
     slow(100, 500)),
    ("one-child", clients.one_child, "-", r"external_acl group|group", r"answer|took|takes|wait|child", "one in some: 1 s",
     slow(30, 990)),
    ("slow-senders", clients.slow_senders, "-", r"client", r"send|upload|body|bodies", "one upload in seven: 2 s",
     slow(250, 1990)),
    ("small-ipcache", servers.small_ipcache, "-", r"127\.7\.7\.53|ipcache_size", r"ipcache|again|look|answer|name",
     "most misses: 150 ms", slow(40, 150)),
)]
