# SPDX-License-Identifier: GPL-2.0-or-later
"""A sixth round of troubles, and what table `findings` must say of each: reports.md has how they were found.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import sixth_clients as clients
import sixth_servers as servers
from reported_more import GITHUB, status
from reported_third import DENIED
from troubles import Trouble, fail, slow

SIXTH = [Trouble(*row) for row in (
    ("banned-address", servers.banned_address, GITHUB + "piratebayproxy/UnblockedPiratebayClean/issues/16",
     r"127\.5\.5\.5|tcp_outgoing_address|servers|127\.0\.1\.", r"403", "a fifth: 403", status("403", 200)),
    ("watched", clients.watched, "https://serverdevworker.com/14935402f4", r"external_acl group|reconfigur",
     r"reconfigur", "40 clients wait after each", slow(50, 390)),
    ("passwords-tried", clients.passwords_tried, GITHUB + "diladele/websafety/issues/302", r"auth basic",
     r"ERR|wrong|fail|refus|den(y|ie)|407", "all that log in wait for seconds", slow(300, 1000)),
    ("scan-timeout", clients.scan_timeout, GITHUB + "owncloud/files_antivirus/issues/443", r"clamav",
     r"time.?out|timed out|within 2|after 2", "a third of the misses: 500 after 2 s", fail(100)),
    ("network-changed", servers.network_changed, GITHUB + "psf/requests/issues/5737",
     r"servers|network|line|127\.0\.1\.|kept|pconn", r"\bkept|idle|persistent|used (again|before)|pconn",
     "thirty requests: 504 after 4 s", fail(20)),
    ("expiring-page", servers.expiring_page, GITHUB + "bbc/flashheart/pull/37",
     r"127\.0\.1\.3:8000|collapsed_forwarding|revalid", r"at once|same (object|URL|page)|one (object|URL|page)|collapsed",
     "all that ask while it is asked for: up to 4 s", slow(40, 1500)),
    ("linklocal-name", clients.linklocal_name, GITHUB + "webhooksite/webhook.site/issues/84",
     r"linklocal|http_access|127\.0\.1\.3|o3\.test", DENIED, "a fifth: 403, from then on", status("403", 80)),
    ("clock-step", clients.clock_step, GITHUB + "QubesOS/qubes-issues/issues/443", r"clock|time",
     r"clock|time of day|2 h|7,?200 s|forward", "what waits then fails", lambda felt: felt.errors + felt.unanswered >= 4),
    ("asked-each-time", clients.asked_each_time, GITHUB + "pfsense/FreeBSD-ports/pull/913", r"external_acl group",
     r"\bttl|again|same|each time|kept|keep|cache", "all: 60 ms", slow(55, 60)),
    ("empty-unchanged", servers.empty_unchanged, GITHUB + "squid-cache/squid/pull/378", r"127\.0\.1\.3:8000",
     r"304|Content-Length|empty|no body|0 bytes|without a body", "a tenth: nothing in them",
     lambda felt: felt.sizes["0"] >= 60),
    ("direct-first", servers.direct_first, GITHUB + "squid-cache/squid/pull/315", r"servers|127\.0\.1\.\d|direct|network|line",
     r"\bdirect\b|never_direct|prefer_direct", "misses: 2 s, then by the parent", slow(400, 1990)),
    ("missing-files", servers.missing_files, GITHUB + "uyuni-project/uyuni/issues/2241", r"127\.0\.1\.3:8000|negative_ttl",
     r"404|not found|negative_ttl|not (there|stored|kept)", "a fourth: 400 ms", slow(90, 390)),
)]

# Runs without a trouble: `findings` must say so, and clients must not be hurt.
SIXTH += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing",
                  lambda felt: felt.mean < 25 and not felt.errors) for name, plant in (
    ("two-addresses", servers.two_addresses),
    ("few-wrong-passwords", clients.few_wrong_passwords),
    ("reconfigured-twice", clients.reconfigured_twice),
    ("page-expires", servers.page_expires),
    ("one-large", servers.one_large),
    ("direct-works", servers.direct_works),
)]
