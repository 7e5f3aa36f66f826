# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of further kinds, and what table `findings` must say of each: reports.md has how they were found.  Those without
a report are ours.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import kinds_clients as clients
import kinds_servers as servers
from reported_more import GITHUB, cut, status
from troubles import Trouble, fail, refused, slow

KINDS = [Trouble(*row) for row in (
    ("forged-host", clients.forged_host, GITHUB + "opnsense/core/issues/6070", r"host_verify_strict|client|http_port|o1\.test",
     r"409|Host|conflict", "a fifth: 409", status("409", 150)),
    ("no-upgrade", servers.no_upgrade, GITHUB + "diladele/websafety/issues/2314",
     r"127\.0\.1\.3:8000|http_upgrade_request_protocols", r"426|[uU]pgrade", "a fifth of misses: 426", status("426", 60)),
    ("slow-readers-cut", servers.hurried, "http://lists.squid-cache.org/pipermail/squid-users/2015-April/002979.html",
     r"127\.0\.1\.3:8000|client", r"\bcut|incomplete|truncat|before (its|the|their) end|part of", "half: a part of the body",
     cut(20)),
    ("never-unchanged", servers.never_unchanged, GITHUB + "squid-cache/squid/pull/1196",
     r"127\.0\.1\.|revalidat|servers?\b|refresh", r"expired|revalidat|again|modified|fresh", "all: 200 ms", slow(150, 180)),
    ("no-cache", servers.no_cache, "http://lists.squid-cache.org/pipermail/squid-users/2015-October/006197.html",
     r"127\.0\.1\.|revalidat|servers?\b|refresh", r"revalidat|unchanged|not modified|304|expired", "all: 100 ms",
     slow(90, 100)),
    ("far-tunnels", servers.far_tunnels, "https://serverdevworker.com/773436ba8", r"10\.77\.1|servers|network|line",
     r"connect|round trip|away|far", "a tunnel opens after 200 ms", slow(190, 200)),
    ("other-ciphers", servers.other_ciphers, GITHUB + "rustybird/qubes-updates-cache/issues/1",
     r"127\.0\.1\.3:8000|o3\.test", r"TLS|handshake|cipher", "a fifth of misses: 503", fail(60)),
    ("closed-sibling", servers.closed_sibling, "http://docs.gorlovka.net/DocSquid/FAQ-11.html", r"sibling1",
     r"connect", "misses: 2 s", slow(300, 1900)),
    ("small-accept-queue", clients.small_accept_queue,
     "https://how2.sh/posts/how-to-diagnose-syn-backlog-overflows-on-linux", r"http_port|port|listen",
     r"queue|backlog|accept|overflow|somaxconn", "200 clients every two seconds: up to 3 s", slow(100, 900)),
    ("lost-nat", clients.lost_nat, GITHUB + "squid-cache/squid/pull/837", r"http_port|intercept|reconfigur|port|client",
     r"NAT|intercept|port|nobody|no request|closed", "nobody gets an answer any more", refused(400)),
    ("new-for-uploads", servers.new_for_uploads, GITHUB + "squid-cache/squid/pull/60",
     r"10\.77\.1|servers|POST|server_pconn_for_nonretriable", r"connect|server_pconn|kept", "each upload: 170 ms",
     slow(150, 160)),
    ("slow-ftp", servers.slow_ftp, GITHUB + "diladele/squid-windows/issues/33", r"127\.0\.0\.1:\d+|FTP|ftp",
     r"wait|took|takes|slow|answer|FTP", "files by FTP: 800 ms", slow(40, 790)),
    ("lossy-names", servers.lossy_names, "-", r"127\.7\.7\.53", r"lost|loss|again|retr|not answer|no answer|unanswered|without",
     "a fifth of misses: 5 s", slow(250, 4900)),
    ("lost-syns", servers.lost_syns, "-", r"servers|127\.0\.1\.|network|line", r"connect|SYN|lost|retransmi",
     "three misses in ten: 1 s", slow(80, 1000)),
    ("failing-uploads", servers.failing_uploads, "-", r"127\.0\.1\.3:8000", r"500|error|fail", "a fifth of the uploads: 500",
     fail(60)),
    ("slow-requests", clients.slow_requests, "-", r"client|http_port", r"header|request|client|send", "a fifth: 1.5 s",
     slow(250, 1490)),
    ("short-credentials", clients.short_credentials, "-", r"auth basic", r"credentialsttl|again|took|takes|wait|answer",
     "one in three: 150 ms", slow(30, 150)),
    ("vanishing-service", clients.vanishing_service, "-", r"clamav", r"fail|clos|error|500|no answer", "a fifth: 500",
     fail(100)),
    ("read-only-cache", clients.read_only_cache, "-", r"cache_dir|aufs|disk|cache", r"EACCES|[pP]ermission|read-only|write|fail|stored|error",
     "repeats are misses", slow(35, 60)),
)]
