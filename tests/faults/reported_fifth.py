# SPDX-License-Identifier: GPL-2.0-or-later
"""A fifth round of troubles, and what table `findings` must say of each: reports.md has how they were found.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import fifth_clients as clients
import fifth_servers as servers
from reported_more import GITHUB, status
from reported_third import DENIED
from troubles import Trouble, fail, refused, slow

FIFTH = [Trouble(*row) for row in (
    ("no-ranges", servers.no_ranges, GITHUB + "clearlinux/swupd-client/issues/40", r"127\.0\.1\.3:8000",
     r"[Rr]ange.*(ignore|whole|all of|200)|(ignore|whole|all of|no) .*[Rr]ange", "one request in fifty: 2 s", slow(25, 1500)),
    ("bad-names", clients.bad_names, GITHUB + "MikeChongCan/scylla/issues/56",
     r"client|check_hostnames|allow_underscore|http_port|[Hh]ost|URL", r"\bURL|host ?name|400|understand|invalid|not valid",
     "a fifth: 400", status("400", 60)),
    ("closing-time", clients.closing_time, GITHUB + "diladele/websafety/issues/1018", r"\bclosed\b|http_access",
     r"(" + DENIED + r").*since|since.*(" + DENIED + r")", "all: 403, since then", status("403", 300)),
    ("mute-address", servers.mute_address, GITHUB + "psf/requests/issues/5884", r"127\.0\.2\.1|two\.test",
     r"answer|silent|read_timeout|time.?out|nothing", "a fifth of the misses: 3 s", slow(150, 2900)),
    ("no-proxy-header", clients.no_proxy_header, GITHUB + "boynux/squid-exporter/issues/52",
     r"http_port|PROXY|require-proxy-header|client", r"PROXY|require-proxy-header", "a fifth: closed at once", refused(60)),
    ("forbidden", servers.forbidden, GITHUB + "theforeman/foreman-documentation/pull/797", r"127\.0\.1\.3:8000|o3\.test",
     r"EACCES|[Pp]ermission|not allowed|forb[ai]d", "a fifth of misses: 503", fail(60)),
    ("kept-redirects", servers.kept_redirects, GITHUB + "JGoutin/ansible_home/issues/69", r"[sS]tore.?[iI][dD]",
     r"301|[Rr]edirect", "all that follow are redirected again", status("301", 250)),
    ("large-fail", clients.large_fail, GITHUB + "netom/pyicap/issues/30", r"clamav",
     r"\blarge|(more than|above|over|from) \S+ KB|KB (or|and) more|longer", "a third of the misses: 500", fail(100)),
    ("too-small", servers.too_small, GITHUB + "squid-cache/squid/pull/875",
     r"cache_dir|aufs|size", r"min-size|minimum_object_size|smaller than|small objects|too small to|(not|never) (stored|kept)",
     "repeats are misses: 100 ms", slow(70, 100)),
    ("plain-to-tls", clients.plain_to_tls, GITHUB + "psf/requests/issues/5384", r"https_port|client|TLS",
     r"TLS.*(HTTP|plain|clear)|(HTTP|plain|clear).*TLS", "a fifth: no answer", refused(60)),
)]

# Runs without a trouble: `findings` must say so, and clients must not be hurt.
FIFTH += [Trouble("calm-" + name, plant, "-", r"^-$", r"No cause stands out", "nothing",
                  lambda felt: felt.mean < 25 and not felt.errors) for name, plant in (
    ("few-bad-names", clients.few_bad_names),
    ("port-checks", clients.port_checks),
    ("small-ranges", servers.small_ranges),
    ("redirect-hits", servers.redirect_hits),
)]
