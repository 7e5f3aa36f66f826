# SPDX-License-Identifier: GPL-2.0-or-later
"""More troubles, of kinds that no other table has, and what table `findings` must say of each: reports.md has how they
were found.  Those without a report are ours.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import more_servers as servers
import more_squid as squid
from troubles import Trouble, fail, refused, slow

GITHUB = "https://github.com/"


def status(number, count):
    """So many got this status."""
    return lambda felt: felt.statuses[number] >= count


def cut(count):
    """So many bodies came in part."""
    return lambda felt: felt.ends["cut"] >= count


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
)]
