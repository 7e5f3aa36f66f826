# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles, of kinds that no other table has, and what table `findings` must say of each: reports.md has how they
were found.  Those without a report are ours.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import more_brief as brief
import more_clients as clients
import more_healthy as healthy
import more_last as last
import more_machine as machine
import more_servers as servers
import more_services as services
import more_squid as squid
from troubles import Trouble, fail, refused, slow

GITHUB = "https://github.com/"


def status(number, count):
    """So many got this status."""
    return lambda felt: felt.statuses[number] >= count


def cut(count):
    """So many bodies came in part."""
    return lambda felt: felt.ends["cut"] >= count


WHEN = r"\bfrom\b.*\bto\b|since|until|between"  # a sentence that says when

MORE = [Trouble(*row) for row in (
    ("connections-of-a-client", squid.connections_of_a_client, GITHUB + "squid-cache/squid/pull/2168",
     r"client_ip_max_connections|http_port|client",
     r"client_ip_max_connections|too many connections|connections? (was|were|is|are) (closed|dropped|refused)",
     "two of five connections are closed at once", refused(200)),
    ("denied-domain", squid.denied_domain, "https://www.fixwikihub.com/articles/fix-squid-proxy-access-denied",
     r"\bads\b|http_access|o3\.test|127\.0\.1\.3", r"den(y|ie)|403|not allow", "a fifth: 403", status("403", 60)),
    ("login-server-down", squid.login_server_down, GITHUB + "squid-cache/squid/pull/347", r"auth basic",
     r"407|BH|broken|fail|den(y|ie)|error", "all: 407", status("407", 200)),
    ("posts-on-kept", servers.posts_on_kept, "-", r"127\.0\.1\.3:8000|server_pconn_for_nonretriable",
     r"kept|idle|persistent|used again|server_pconn", "a fifth of the uploads: 502", fail(60)),
    ("no-length", servers.no_length, "-", r"127\.0\.1\.3:8000", r"bod(y|ies)|closes?\b|length|last byte",
     "a fifth: 2 s", slow(100, 2000)),
    ("outgoing-address", servers.outgoing_address, "-",
     r"tcp_outgoing_address|10\.9\.9\.9|127\.0\.1\.3:8000|o3\.test",
     r"outgoing|local address|\bbind|10\.9\.9\.9|[Cc]annot assign|EADDRNOTAVAIL", "a fifth of misses: 503", fail(60)),
    ("peer-limit", servers.peer_limit, "-", r"\bweb\b|127\.0\.1\.1:8000",
     r"max-conn|connection limit|limit|no (server|parent|peer)|not forward", "most misses: 503", fail(200)),
    ("cut-bodies", servers.cut_bodies, GITHUB + "squid-cache/squid/pull/909", r"127\.0\.1\.3:8000",
     r"\bcut|incomplete|truncat|before (its|the|their) end|too short|not (whole|complete)|part of (its|the|their) bod",
     "a fifth: a part of the body", cut(60)),
    # The second eight.
    ("reply-acl", services.reply_acl, "-", r"external_acl kind", r"answer|took|takes|wait", "all: 300 ms", slow(250,
     300)),
    ("own-parent", servers.own_parent, "http://proxy.ccu.edu.tw/squidfaq/FAQ-11.html", r"moon|itself|127\.0\.0\.1",
     r"loop|itself|this Squid", "all misses: 403", status("403", 200)),
    ("outage", servers.outage, "-", r"servers|line|network|link|\ball\b",
     r"all (five |5 |of )?(the )?servers|(five|5) servers|same time|every server|together|line|at once",
     "misses wait for up to 4 s, once", slow(50, 2500)),
    ("stampede", servers.stampede, GITHUB + "tempesta-tech/tempesta/issues/500",
     r"127\.0\.1\.3:8000|collapsed_forwarding",
     r"same (object|URL)|collapsed_forwarding|at once|one at a time|one request at a time|queue|in flight|expire",
     "40 clients every two seconds: up to 1.6 s", slow(100, 1000)),
    ("full-cache-disk", squid.full_cache_disk,
     "https://etutorials.org/Server+Administration/Squid.+The+definitive+guide/Chapter+7.+Disk+Cache+Basics/"
     "7.1+The+cache_dir+Directive/", r"cache_dir|aufs|disk", r"ENOSPC|no (room|space)|(is|was) full\b|shrink|space",
     "repeats are misses", slow(40, 60)),
    ("client-delay", squid.client_delay, "-", r"client_delay|delay.pool", r"delay|KB/s|limit",
     "all wait longer and longer", slow(200, 1000)),
    ("false-hits", servers.false_hits, "http://proxy.ccu.edu.tw/squidfaq/FAQ-11.html", r"sibling1",
     r"504|false hit|fail|again|retr|other (server|way)|had none", "misses: 200 ms more", slow(60, 200)),
    ("small-window", servers.small_window, "http://www.xenion.com.au/squid/docs/1.html",
     r"tcp_recv_bufsize|10\.77\.1\.|servers|network|line", r"window|buffer|tcp_recv_bufsize|KB/s|bod(y|ies)",
     "misses take seconds", slow(500, 2000)),
    # The third.
    ("digest-rebuild", squid.digest_rebuild, "-", r"[dD]igest", r"[dD]igest", "all, every six seconds", slow(10, 200)),
    ("helpers-load", services.helpers_load, "-", r"url_rewrite", r"rotat|\bstart|load(s|ing)? (its|their)", "all wait for 3 s, twice",
     slow(300, 2500)),
    ("slow-validator", services.slow_validator, "-", r"valid|crtv", r"queue|busy|wait|answer|took|takes|one at a time",
     "misses wait longer and longer", slow(120, 500)),
    ("slow-uploads", servers.slow_uploads, "-", r"127\.0\.1\.3:8000",
     r"upload|request bod|bod(y|ies) of (the |its )?requests|reads|sent|sending", "a fifth of the uploads: 1.5 s",
     slow(200, 1400)),
    ("collapsed-in-vain", squid.in_vain, GITHUB + "squid-cache/squid/pull/1927", r"collapsed|127\.0\.1\.",
     r"collapse|may not be (stored|shared)|leader|in vain", "four of five: 600 ms instead of 300", slow(450, 600)),
    ("bad-certificate", servers.bad_certificate, GITHUB + "squid-cache/squid/pull/1668",
     r"127\.0\.1\.3:8000|o3\.test", r"certificate|TLS|handshake|verif", "a fifth of misses: 503", fail(60)),
    ("kept-errors", servers.kept_errors, "-", r"negative_ttl|127\.0\.1\.3:8000",
     r"negative|cached|from the cache|kept|keeps", "a fifth: 503 for 10 s", fail(60)),
    ("worker-killed", squid.worker_killed, GITHUB + "FIWARE/data-space-connector/issues/82", r"worker|kid|process",
     r"died|crash|kill|ended|signal", "some requests of one worker are cut off", refused(15)),
    # The fourth.
    ("large-packets", servers.large_packets,
     "https://squidproxy.wordpress.com/2007/06/05/thinsg-to-look-at-if-websites-are-hanging/", r"10\.77\.1\.3:8000",
     r"MTU|large|bytes|no answer|answered none|waiting|g[ai]ve[ns]? up|went away", "large objects of one origin hang",
     lambda felt: felt.ends["given_up"] >= 40),
    ("truncated-answers", servers.truncated_answers, GITHUB + "znc/znc/issues/242", r"127\.7\.7\.53",
     r"TCP|truncat|answered none|no answer|fail", "misses wait, and fail", slow(500, 3000)),
    ("one-source", servers.one_source, "-", r"moon|mars|pluto|sourcehash",
     r"sourcehash|others|all (of )?(the )?(requests|misses)|queue|one at a time|in flight",
     "misses wait longer and longer", slow(500, 1000)),
    ("denying-parent", servers.denying_parent, "-", r"pluto", r"403|den(y|ie)|refus", "a third of misses: 403",
     status("403", 60)),
    ("large-scanned", services.large_scanned, "-", r"clamav", r"large|size|KB|bod(y|ies)|slow|takes|took|answer",
     "one miss in eight: 1.5 s", slow(50, 1500)),
    ("ftp-data", servers.ftp_data, "http://docs.endian.com/5.2/utm/proxy/ftp.html", r"127\.0\.0\.1:\d+",
     r"data|passive|connect", "files by FTP: an error after some seconds", fail(30)),
    ("swap-rate", squid.swap_rate, "-", r"rock", r"max-swap-rate|blocks a second|limit|queue|time-?d? ?-?out", "hits wait longer and longer",
     slow(100, 1000)),
    ("client-lifetime", squid.lifetime, "-", r"client_lifetime|http_port|client",
     r"client_lifetime|\bcut|lifetime|after 4", "a fifth: a part of the body", cut(20)),
    ("large-headers", servers.large_headers, "-", r"127\.0\.1\.3:8000|reply_header_max_size",
     r"header|too (big|large)", "a fifth: 502", fail(60)),
    ("user-from-many-addresses", squid.many_addresses, GITHUB + "pfsense/FreeBSD-ports/pull/891",
     r"shared|max_user_ip|http_access", r"den(y|ie)|40[37]|max_user_ip|refus", "a third: 403", status("403", 100)),
    # The fifth.
    ("dropped-idle", machine.dropped_idle, GITHUB + "encode/httpx/issues/2975", r"127\.0\.1\.3:8000",
     r"kept|idle|persistent|used again|reused", "requests of one origin hang",
     lambda felt: felt.ends["given_up"] >= 15),
    ("stale-origin-gone", machine.stale_origin_gone, "-", r"127\.0\.1\.3:8000", r"connect|no answer|time-?d? ?-?out",
     "a fifth: 2 s, and an old copy", slow(50, 1900)),
    ("names-at-reconfigure", machine.names_at_reconfigure, "-", r"reconfigur",
     r"DNS|resolv|look(s|ed|ing)?[- ]?up|host names?|name server", "nobody can connect for 5 s", refused(150)),
    ("abandoned", machine.abandoned, "-", r"quick_abort|servers|line|network",
     r"quick_abort|\bleft\b|nobody|abandon|gone|went away", "misses wait longer and longer", slow(200, 1500)),
    ("worker-stops", machine.worker_stops, "-", r"worker 1|kid 1|stopped|not running", r"stop|not run",
     "a part of the requests: up to 2 s", lambda felt: felt.p99 >= 1000),
    ("log-server-gone", machine.log_server_gone, "-", r"log|process|Squid|start|died", r"\blog|died|ended|FATAL",
     "Squid ends, and nobody can connect", refused(200)),
    ("dirty-rebuild", machine.dirty_rebuild, "http://www.squid-cache.org/mail-archive/squid-users/200901/0340.html",
     r"[rR]ebuild|aufs|cache_dir|index", r"[rR]ebuild|index|starts?\b|swap\.state", "all wait, for 24 s", slow(30, 60)),
    ("old-clients", machine.old_clients, "-", r"https_port", r"TLS|handshake", "nobody can connect any more",
     refused(200)),
    ("forgetful-service", services.forgetful_service, "-", r"clamav", r"OPTIONS|options", "most: 500, the others 1.5 s",
     fail(500)),
    ("redirects-all", services.redirects_all, "-", r"url_rewrite", r"302|redirect", "all: 302", status("302", 500)),
    ("only-posts", services.only_posts, "-", r"external_acl leaks", r"POST|answer|took|takes|wait",
     "one in ten: 700 ms", slow(50, 700)),
    ("large-uploads", squid.large_uploads, "-", r"request_body_max_size|client|http_access",
     r"413|too large|request_body_max_size|refus|den(y|ie)", "one in ten: 413", status("413", 60)),
    ("idle-tunnels", squid.idle_tunnels, GITHUB + "nextcloud/HaRP/pull/115", r"read_timeout|tunnel|CONNECT",
     r"read_timeout|idle|\bcut|closed after|3(\.\d+)? s", "all tunnels are closed", cut(100)),
    ("one-client", squid.one_client, "-", r"delay pool 1", r"delay|held", "one client of twenty: seconds",
     slow(50, 1000)),
    ("impatient", squid.impatient, "-", r"127\.0\.1\.3:8000", r"\bleft\b|went away|g[ai]ve[ns]? up|gone|wait",
     "a fifth of misses: given up", lambda felt: felt.ends["given_up"] >= 60),
    ("route-acl", services.route_acl, "-", r"external_acl route", r"answer|took|takes|wait", "misses: 300 ms",
     slow(100, 300)),
    # The sixth.
    ("untrusting-clients", clients.untrusting_clients, GITHUB + "andybalholm/redwood/issues/60",
     r"https?_port|client|bump|CONNECT", r"handshakes?.*(fail|ended|abort|reject)|trust|reject",
     "one tunnel in four: no handshake", lambda felt: felt.ends["silent"] >= 80),
    ("one-worker-rewriter", clients.one_worker_rewriter, "-", r"url_rewrite|worker 2|kid 2", r"\bworker|\bkid",
     "half of the requests: 500 ms", slow(100, 500)),
    ("failover", clients.failover, "-", r"moon|mars", r"refus|fail|dead|gone|instead",
     "misses: 300 ms since the failure", slow(50, 300)),
    ("ranges", clients.ranges, "-", r"range|127\.0\.1\.|servers|cache", r"\b[rR]ange|206|not stored|never stored",
     "all: 100 ms", slow(90, 100)),
    ("pipelined", clients.pipelined, "https://lists.debian.org/deity/2016/deity-201601/msg00080.html",
     r"client|pipelin|127\.0\.1\.3:8000|connection", r"pipelin|earlier|before (it|them)|same connection|behind",
     "hits wait 700 ms behind a miss", slow(50, 700)),
    ("one-site", clients.one_site, "-", r"external_acl sites", r"o3|127\.0\.1\.3|others?|fifth|\b(19|20|21) %",
     "a fifth: 700 ms", slow(100, 700)),
    # The seventh.
    ("one-domain-fails", last.one_domain_fails, "-", r"127\.7\.7\.53|o3|name",
     r"no address|not exist|NXDOMAIN|look-?up|name", "a fifth of misses: 503", fail(60)),
    ("moved-server", last.moved_server, "-", r"127\.0\.1\.3:8000", r"refuse|connect", "a fifth of misses: 503",
     fail(30)),
    ("pausing-name-server", last.pausing_name_server, "-", r"127\.7\.7\.53", r"\bfrom\b.*\bto\b|since|until|4(\.\d)? s",
     "some misses: 5 s, once", slow(20, 1000)),
    ("rate-limited", last.rate_limited, "-", r"127\.0\.1\.3:8000", r"429|refus|den(y|ie)", "a fifth of misses: 429",
     status("429", 30)),
    ("half-replies", last.half_replies, "-", r"clamav", r"\bcut|half|incomplete|truncat|fail|bod(y|ies)",
     "all: half of the body", cut(100)),
    ("answers-all", last.answers_all, "-", r"clamav", r"answers? (all|each|every)|itself|instead", "all: another page",
     lambda felt: felt.sizes["3000"] >= 500),
    ("large-cookies", last.large_cookies, "-", r"request_header_max_size|client", r"header|too (big|large)|4\d\d",
     "one in ten: an error", lambda felt: sum(felt.statuses[one] for one in ("400", "413", "414", "431")) >= 60),
    ("one-site-uncached", last.one_site_uncached, "-", r"127\.0\.1\.3:8000|cache|o3",
     r"not stored|never stored|no hits?|uncach|again|cache deny", "repeats of one site: 100 ms", slow(25, 100)),
    # The eighth.
    ("loss-at-one", last.loss_at_one, "-", r"127\.0\.1\.3:8000", r"lost|loss|retransmi",
     "a part of the misses of one origin: 200 ms or more", slow(8, 200)),
    ("lossy-clients", last.lossy_clients, "-", r"client", r"lost|loss|retransmi", "one in ten: 200 ms or more",
     slow(8, 200)),
    ("slow-proxy-behind", last.slow_proxy_behind, "-", r"moon", r"CONNECT|tunnel", "a tunnel opens after 1.2 s",
     slow(1100, 1200)),
    ("wrong-channels", last.wrong_channels, "-", r"url_rewrite|process|Squid|died|worker|kid",
     r"died|crash|assert|channel|concurrency", "Squid ends at the first request", refused(60)),
    ("bump-acl", last.bump_acl, "-", r"external_acl banks", r"took|takes|wait|answer", "each tunnel: 400 ms",
     slow(380, 400)),
    ("adaptation-acl", last.adaptation_acl, "-", r"external_acl scanned", r"took|takes|wait|answer", "all: 300 ms",
     slow(280, 300)),
    ("mute-sibling", last.mute_sibling, "-", r"sibling2", r"ICP|answers?", "misses: 1.5 s", slow(100, 1000)),
    ("slow-opens", last.slow_opens, "-", r"aufs.*cache-aufs-two", r"open|slow|disk|read", "hits of one cache_dir: 90 ms",
     slow(15, 85)),
    # The ninth: of six seconds of a minute, and three that hang.
    ("brief-service", brief.service, "-", r"clamav", WHEN, "all: 900 ms, for six seconds", slow(50, 850)),
    ("brief-acl", brief.acl, "-", r"external_acl group", WHEN, "all: 700 ms, for six seconds", slow(50, 690)),
    ("brief-queue", brief.queue, "-", r"url_rewrite", WHEN, "all wait up to 5 s, for ten seconds", slow(50, 1000)),
    ("brief-disk", brief.disk, "-", r"aufs.*cache-aufs-two", WHEN, "hits of one cache_dir: 250 ms, for six seconds",
     slow(10, 240)),
    ("brief-log", brief.log, "-", r"log", WHEN, "all wait, for six seconds", slow(10, 100)),
    ("brief-connect", brief.connect, "-", r"127\.0\.1\.3:8000", WHEN, "misses of one origin: seconds, for six seconds",
     lambda felt: sum(wait > 900 for wait in felt.waits) >= 10),
    ("hang-leader", brief.leader, "-", r"127\.0\.1\.3:8000", r"waiting|no answer|answers? none|answered none",
     "all that ask for one object hang", lambda felt: felt.ends["given_up"] >= 50),
    ("hang-options", brief.options, "-", r"clamav", r"OPTIONS|options|waiting|no answer|answers? none|answered none",
     "all hang", lambda felt: felt.ends["given_up"] >= 300),
    ("hang-greeting", brief.greeting, "-", r"127\.0\.0\.1:\d+", r"waiting|no answer|answers? none|answered none|FTP",
     "files by FTP hang", lambda felt: felt.ends["given_up"] >= 20),
)]

# Runs without a trouble: `findings` must say so, and clients must not be hurt.
MORE += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing",
                 lambda felt: felt.mean < 25 and not felt.errors) for name, plant in (
    ("denials", healthy.denials),
    ("challenges", healthy.challenges),
    ("redirects", healthy.redirects),
    ("kept-not-found", healthy.kept_not_found),
    ("collapsed", healthy.collapsed),
    ("quick-helpers", healthy.quick_helpers),
    ("a-large-upload", healthy.a_large_upload),
    ("health-checks", healthy.health_checks),
    ("siblings", healthy.siblings),
    ("restart-at-night", healthy.restart_at_night),
    ("scanner", healthy.scanner),
    ("ample-delay", healthy.ample_delay),
)]
