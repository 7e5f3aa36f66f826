# SPDX-License-Identifier: GPL-2.0-or-later
"""Squids with cache digests, and when a peer can fetch one.

A Squid without cache_dir never makes a digest (7.7 begins once the directories are read), so each has one that takes
nothing: objects are in memory only.  Squid fetches a digest once somebody needs it, at once the first time and then
not for five minutes.  So the peer is filled first, and has written its digest, before the one that asks sees its first
request.
"""

import re

from .client import Client
from .env import run, wait_for
from .squid import Squid

PERIOD = 2    # s, between rebuilds, and between rewrites

# Each look-up, and each step of the own digest, has a line in cache.log at these levels.
LINES = """
visible_hostname {name}.e2e.test
hostname_aliases {address} e2e.test
digest_generation {generation}
cache_dir ufs {{folder}}/cache 10 4 16 max-size=1
digest_rebuild_period {period} seconds
digest_rewrite_period {period} seconds
digest_swapout_chunk_size 64 bytes
digest_rebuild_chunk_percentage {chunk}
debug_options ALL,1 15,5 71,6 72,3
logformat way %master_xaction %Sh %<tt %<pt %<st %<sh %{{X-Tag}}>h %ru
access_log stdio:{{folder}}/way.log logformat=way
"""


def digester(env, origin, name, generation="on", chunk=10, lines="", trace="", address="127.0.0.1", **options):
    return Squid(env, name, trace=trace, dns=origin.host, address=address, lines=LINES.format(
        name=name, generation=generation, period=PERIOD, chunk=chunk, address=address) + lines, **options)


def start(*squids):
    for squid in squids:
        squid.write_conf()
        squid.env.require(run(squid.command("-z", squid.mode), env=squid.environ()).returncode == 0, "squid -z")
        squid.start()


def peer(squid, kind="sibling", options=""):
    """Its line in the squid.conf of another one."""
    return "cache_peer %s %s %d 0 no-query no-netdb-exchange name=%s %s\n" \
        % (squid.address, kind, squid.port, squid.name, options)


def said(squid, pattern):
    """What cache.log says so."""
    return re.findall(pattern, squid.log_text())


def fetch_all(squid, urls):
    with Client(squid.client_address()) as client:
        for tag, url in urls:
            status = client.request(url, tag).status
            squid.env.equal(status, 200, tag)


def wait_for_digest(squid, entries):
    """The digest that peers can fetch has so many entries."""
    def rewritten():
        return len(said(squid, "storeDigestRewriteFinish: digest expires"))

    wait_for(lambda: int(re.search(r"added: (\d+)", squid.manager("store_digest")[1]).group(1)) >= entries, 5 * PERIOD,
             "%d entries in the digest of %s" % (entries, squid.name), 0.2)
    before = rewritten()
    wait_for(lambda: rewritten() >= before + 2, 5 * PERIOD, "the digest of %s to be written" % squid.name, 0.2)
