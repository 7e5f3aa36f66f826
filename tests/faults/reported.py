# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles from public reports, and what table `findings` must say of each: reports.md has how they were found.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import reported_far as far
import reported_services as services
import reported_squid as squid
from troubles import Trouble, fail, refused, slow

GITHUB = "https://github.com/"

REPORTED = [Trouble(*row) for row in (
    ("silent-tunnels", far.silent_tunnels, GITHUB + "pypi/support/issues/404", r"127\.0\.1\.3:8000|o3\.test",
     r"tunnel|CONNECT|no(t a| )byte|first byte|silent|answer", "a fifth of the tunnels: nothing comes back",
     lambda felt: felt.ends["silent"] >= 40),
    ("reverse-for-acl", far.reverse_for_acl, GITHUB + "langgenius/dify/issues/17811", r"127\.7\.7\.53|marketplace",
     r"PTR|reverse|answered none|no answer|never", "requests wait 4 s", slow(500, 3500)),
    ("short-ttl", far.short_ttl, GITHUB + "langgenius/dify/issues/19104", r"127\.7\.7\.53", r"name server|look-?up",
     "misses wait 2 s every few seconds", slow(100, 1500)),
    ("origin-refuses", far.refuses, GITHUB + "cvmfs/cvmfs/pull/2773", r"127\.0\.1\.3:8003",
     r"refuse|fail|error|connect",
     "a fifth of misses: 503", fail(60)),
    ("flood", far.flood, GITHUB + "canonical/snapcraft.io/issues/292", r"127\.0\.1\.3:8000",
     r"queue|at once|arriv|more requests|burst|waiting",
     "misses of one origin: up to 3 s", slow(200, 1500)),
    ("server-failure", far.server_failure, GITHUB + "banksean/sand/issues/117", r"127\.7\.7\.53",
     r"SERVFAIL|fail|error|not resolve",
     "half of the misses: 503", fail(150)),
    ("bumped", far.bumped, GITHUB + "measurement-factory/squid/pull/108",
     r"certificate|bump|https?_port|computing|.*Bump.*",
     r"certificate|handshake|TLS", "each tunnel waits for a certificate", slow(100, 200)),
    ("unreachable", far.unreachable, GITHUB + "diladele/squid-windows/issues/107", r"10\.99\.0\.3:8000|o3\.test",
     r"unreachable|no route|ENETUNREACH|fail|connect", "a fifth of misses: 503", fail(60)),
    ("full-line", far.full_line, "https://wiki.squid-cache.org/KnowledgeBase/PerformanceAnalysis",
     r"line|link|network|all servers|servers",
     r"sum|line|together|KB/s|MB/s|bytes", "misses wait longer and longer", slow(500, 2000)),
    ("one-query-at-a-time", far.one_query_at_a_time, "https://wiki.squid-cache.org/SquidFaq/SystemWeirdnesses",
     r"127\.7\.7\.53", r"queue|one at a time|at once|slower|wait", "misses wait longer and longer", slow(200, 500)),
    ("service-hangs", services.hangs, GITHUB + "opnsense/core/issues/6567", r"clamav",
     r"answered none|no answer|waiting|never answer",
     "all hang from the eighth second on", lambda felt: felt.ends["given_up"] >= 400),
    ("helpers-compute", services.computing_helpers, GITHUB + "diladele/squid-windows/issues/111",
     r"external_acl group|group",
     r"processor|comput|busy|at once|slower|queue", "all wait", slow(500, 1000)),
    ("large-list-at-start", squid.large_list_at_start, GITHUB + "opnsense/plugins/issues/4392", r"start|ut1",
     r"start|ut1|nobody|read", "nobody can connect while Squid starts", refused(40)),
    ("bungled", squid.bungled, GITHUB + "opnsense/core/issues/4519",
     r"reconfigur|configuration|squid\.conf|stop|start|died|process",
     r"reconfigur|configuration|ended|died|nobody", "nobody can connect for 6 s", refused(200)),
    ("crash", squid.crash, GITHUB + "c-rack/squid-ecap-gzip/issues/2", r"process|died|crash|kid|start|Squid",
     r"died|crash|killed|ended|signal|nobody", "nobody can connect for 5 s", refused(150)),
    ("helpers-die", services.dying_helpers, GITHUB + "dyne/dowse/issues/1", r"url_rewrite", r"die|died|end|exit|crash",
     "Squid ends, and nobody can connect", refused(100)),
    ("deaf-tunnels", far.deaf_tunnels,
     "https://ramesh-sahoo.medium.com/squid-proxy-server-has-stopped-handling-connection-"
     "resulting-in-none-503-0-connect-errors-55477316850a", r"127\.0\.2\.1:8000|o3\.test", r"connect|tunnel",
     "a fifth of the tunnels: 503 after 3 s", fail(40)),
    ("lost-files", squid.lost_files, "http://www.creative.net.au/talks/2002-04-03-sage-au-squid/mgp00030.txt",
     r"aufs.*cache-aufs-two", r"swap ?fail|miss|open|not there|gone|became|fail", "hits of one cache_dir become misses",
     slow(15, 60)),
    ("small-cache", squid.small_cache, GITHUB + "ros-infrastructure/buildfarm_deployment/issues/114",
     r"cache_dir|aufs|cache",
     r"small|room|replaced|evict|removed", "repeats are misses", slow(40, 60)),
    ("too-large", far.too_large, GITHUB + "sameersbn/docker-bind/issues/46",
     r"maximum_object_size|127\.0\.1\.|large|size",
     r"maximum_object_size|too large|not stored|again", "repeats of a large object take 0.6 s", slow(300, 500)),
    ("few-connections", services.few_connections, GITHUB + "darold/squidclamav/issues/47", r"clamav",
     r"connection|queue|busy|Max-Connections|at once|full",
     "all wait longer and longer", slow(500, 1000)),
    ("service-not-there", services.not_there, GITHUB + "opnsense/plugins/issues/633", r"clamav", r"fail|error|404|500",
     "all get an error page", fail(400)),
    ("full-log", squid.full_log, GITHUB + "sameersbn/docker-squid/issues/9", r"log|full\.log",
     r"space|full|write|ended|died|ENOSPC",
     "Squid ends, and nobody can connect", refused(200)),
    ("dead-ipv6", far.dead_ipv6, GITHUB + "squid-cache/squid/pull/386", r"fd00::3|IPv6", r"IPv6|connect|address",
     "misses of one origin: 250 ms", slow(15, 200)),
    ("stopped-disker", squid.dead_disker, GITHUB + "squid-cache/squid/pull/1012", r"disker|rock", r"disker|rock|disk",
     "hits wait up to 4 s", slow(50, 1000)),
    ("no-parent", far.no_parent, GITHUB + "openstreetmap/openstreetmap-website/issues/1661",
     r"moon|mars|parent|never_direct",
     r"parent|connect|fail|error|refuse|never_direct", "all misses: 503", fail(500)),
)]
