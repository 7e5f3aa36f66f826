# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles that people had with Squid, most of them as they reported them, and what table `findings` must say of each.

They were written down before sqtrace looked for them, so that a rule can not be made for one of them only.
"""

import collections
import re

import trouble_dns as dns
import trouble_servers as servers
import trouble_services as services
import trouble_squid as squid
import trouble_tunnels as tunnels

# name     what `run` calls it
# plant    the function that plants it; its doc string says how
# report   the number or the address of the report
# culprit  a regular expression that the first finding's culprit must contain
# words    one that its sentence must contain
# felt     what clients felt when it was first planted
# hurts    whether clients were hurt, a function of scene.Felt: a run in which they were not proves nothing
Row = collections.namedtuple("Row", "name plant report culprit words felt hurts")


# Those that `run --short --troubles` plants.
SHORT = {"slow-body", "tunnels-slow-names", "silent-rewriter", "no-ports", "revalidations", "late-sibling", "no-continue",
         "all-close-kept", "slow-domain", "log-in-at-once"}


class Trouble(Row):
    place = 1

    @property
    def short(self):
        return self.name in SHORT

    @property
    def causes(self):
        return [self.culprit]

    @property
    def late(self):
        return self.felt

    def told(self, findings, _, place):
        """None if one of the first findings names it, else what is wrong."""
        for row in findings[:place]:
            if re.search(self.culprit, row["culprit"], re.I) and re.search(self.words, row["sentence"], re.I):
                return None
        return "'%s' with '%s' is not among the first %d" % (self.culprit, self.words, place)


def slow(mean, p99):
    """Clients waited so many ms."""
    return lambda felt: felt.mean >= mean and felt.p99 >= p99


def fail(errors):
    """So many got an error of Squid's."""
    return lambda felt: felt.errors >= errors


def refused(count):
    """So many could not connect, or got no answer."""
    return lambda felt: felt.ends["refused"] + felt.ends["closed"] >= count


TROUBLES = [Trouble(*row) for row in (
    ("slow-body", servers.slow_body, "a5", r"127\.0\.1\.3:8000", r"20 KB/s|bod(y|ies)",
     "76 ms, 1.3 s at p99", slow(50, 1000)),
    ("tunnels-slow-names", tunnels.slow_names, "1", r"127\.7\.7\.53", r"tunnel|CONNECT",
     "a tunnel opens after 502 ms", slow(450, 500)),
    ("tunnels-slow-names-mixed", tunnels.slow_names_mixed, "1", r"127\.7\.7\.53", r"tunnel|CONNECT",
     "a tunnel opens after 502 ms", slow(350, 500)),
    ("silent-rewriter", services.silent_rewriter, "3", r"url_rewrite", r"answered none|no answer|never answer|waiting",
     "all that ask hang", lambda felt: felt.ends["given_up"] >= 30),
    ("service-suspended", services.suspended, "16", r"clamav", r"suspend|fail|error",
     "1,453 of 2,160 get an error", fail(800)),
    ("reconfigure-acl", squid.reconfigures, "20", r"reconfigur", r"ut1|reconfigur",
     "301 of 2,160 refused", refused(40)),
    ("restart-tunnels", tunnels.slow_restart, "39", r"shutdown|restart|stop", r"shutdown_lifetime|tunnel",
     "263 of 643 refused", refused(180)),
    ("no-ports", servers.no_ports, "30", r"127\.0\.1\.1:8000", r"local port|EADDRNOTAVAIL",
     "600 of 800 get 503", fail(400)),
    ("revalidations", servers.revalidates, "27", r"127\.0\.1\.|revalidat|server",
     r"expired|revalidat|unchanged|not modified|304",
     "37 ms, 104 ms at p99", slow(20, 100)),
    ("range-offset", servers.whole_for_ranges, "28", r"range|127\.0\.1\.", r"range_offset_limit|range|fetched",
     "9.7 s for 1 MB", slow(8000, 9000)),
    ("no-aaaa", dns.no_aaaa, "7", r"inside|127\.7\.7\.53", r"AAAA", "11 s, 16 s at p99", slow(2000, 7000)),
    ("reverse-lookups", dns.reverse, "10", r"127\.7\.7\.53|%>A", r"reverse|PTR|%>A", "2.4 s, 35 s at p99", slow(400,
     3000)),
    ("nothing-kept", servers.nothing_kept, "12", r"moon|persistent",
     r"persistent_connections|never used twice|new connection",
     "94 ms, 108 ms at p99", slow(60, 70)),
    ("whole-body", services.whole_body, "15", r"clamav", r"whole|complete|held|first byte",
     "header after 5.2 s", lambda felt: felt.header_mean >= 4000),
    ("late-sibling", servers.late_sibling, "40", r"sibling2", r"ICP|answers? late|choosing",
     "413 ms, 414 ms at p99", slow(300, 400)),
    ("slow-domain", dns.one_domain, "a10", r"o3\.test|127\.0\.1\.3:8000", r"look-?up|name server|domain",
     "78 ms, 815 ms at p99", slow(60, 700)),
    ("log-in-at-once", tunnels.log_in_at_once, "2", r"auth basic", r"busy|children|queue",
     "a tunnel opens after 2.3 s, 8.7 s at p99", slow(2000, 7000)),
    ("large-rotation", squid.large_rotation, "19", r"rotat", r"swap\.state|rotat", "45 ms, 954 ms at p99", slow(30,
     500)),
    ("debug-all", squid.debugging, "22", r"cache\.log|debug", r"cache\.log", "61 ms, 204 ms at p99", slow(60, 200)),
    ("swapping", squid.swapping, "36", r"memory|swap|page fault", r"page fault|swap", "16 ms, 199 ms at p99", slow(9,
     100)),
    ("no-continue", servers.no_continue, "38", r"127\.0\.1\.3:8000", r"100[- ]Continue",
     "a fifth of the POSTs: 1.0 s more",
     lambda felt: felt.p99 >= 1000),
    ("first-name-server-dead", dns.first_dead, "-", r"127\.7\.7\.99", r"answer", "2.9 s, 7.9 s at p99", slow(500,
     3500)),
    ("busy-acl", squid.busy_acl, "-", r"badurls", r"acl|comput", "1.0 s, 1.3 s at p99", slow(300, 500)),
    ("all-close-kept", servers.all_close_kept, "-", r"127\.0\.1\.|\b(all|servers)\b|server_idle_pconn_timeout",
     r"kept|close|idle",
     "114 ms, 116 ms at p99", slow(60, 80)),
    ("slow-now-and-then", servers.now_and_then, "-", r"127\.0\.1\.3:8000", r"again|every|recurr|times|of each|of 10 s",
     "misses of one origin: 800 ms for two seconds of ten", slow(10, 500)),
    ("ten-bad-seconds", servers.ten_bad_seconds, "-", r"127\.0\.1\.3:8000", r"from|until|since|between|10 s",
     "misses of one origin: 800 ms for ten seconds of a minute", slow(10, 500)),
    ("busy-neighbour", squid.busy_neighbour, "-", r"processor|not running", r"processor", "7.2 s, 12 s at p99",
     slow(500, 1000)),
)]
