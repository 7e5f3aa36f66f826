# SPDX-License-Identifier: GPL-2.0-or-later
"""A plausible site for the sample: its addresses, its servers and its squid.conf, in namespaces of its own.

In there /var/spool/squid is the folder of the work, and loopback has addresses of the ranges for documentation
(RFC 5737).  So a trace has no path and no address of the machine that made it.
"""

import os
import subprocess
import sys

from . import digests
from .helper import Helper
from .icapd import IcapServer
from .origin import Origin
from .tls import Certificates, FarEnds

HOME = "/var/spool/squid"
MARK = "SQTRACE_SITE"  # the environment's variable that names the folder of the work, inside the namespaces

WORKERS, ROCK, SIBLING, PARENT, ICAP, NAMES = ("198.51.100.%d" % n for n in (10, 11, 20, 30, 40, 53))
NEAR, FAR, GONE = "192.0.2.10", "203.0.113.20", "203.0.113.99"
SIBLING_NAME, PARENT_NAME = "sibling.example.net", "parent.example.net"
PROXY_PORT = 3128
SHARED = 60  # objects that the sibling has

CONF = """
icap_enable on
icap_service_failure_limit -1
icap_service antivirus respmod_precache icap://{icap.host}:{icap.port}/resp/mod bypass=on
acl scanned req_header X-Respmod .
adaptation_access antivirus allow scanned
url_rewrite_program {rewriter}
url_rewrite_children 4 startup=1 idle=1
acl moved urlpath_regex moved
url_rewrite_access allow moved
external_acl_type quota ttl=0 negative_ttl=0 children-max=4 children-startup=1 %URI {acl}
acl metered urlpath_regex metered
acl within_quota external quota
http_access deny metered !within_quota
acl pooled urlpath_regex pooled
delay_pools 1
delay_class 1 1
delay_parameters 1 60000/60000
delay_access 1 allow pooled
delay_access 1 deny all
acl by_parent urlpath_regex by-parent
cache_peer {parent.host} parent {parent.port} 0 no-query no-digest no-netdb-exchange name={parent_name}
cache_peer_access {parent_name} allow by_parent
never_direct allow by_parent
tls_outgoing_options cafile={certificates.ca}.crt
"""


def enter(folder, prefix):
    """Makes the folder, and goes on in mount and network namespaces of its own: this program runs once more there."""
    if os.environ.get(MARK) == folder:
        set_up(folder, prefix)
        return
    if os.geteuid() != 0:
        sys.exit("needs root: namespaces, and port 53")
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    os.environ[MARK] = folder
    os.execvp("unshare", ["unshare", "--mount", "--net", sys.executable] + sys.argv)


def set_up(folder, prefix):
    def call(*words):
        subprocess.run(words, check=True)
    call("ip", "link", "set", "lo", "up")
    for address in (WORKERS, ROCK, SIBLING, PARENT, ICAP, NAMES, NEAR, FAR, GONE):
        call("ip", "address", "add", address + "/32", "dev", "lo")
    call("mount", "-t", "tmpfs", "-o", "mode=755", "none", os.path.dirname(HOME))
    os.mkdir(HOME)
    call("mount", "--bind", folder, HOME)
    for shared in ("/dev/shm", os.path.join(prefix, "var", "run")):  # other Squids have names there
        call("mount", "-t", "tmpfs", "none", shared)


class Site:
    """The servers, each at its address; the sibling is a Squid that is not traced."""

    def __init__(self, env):
        self.near = Origin(env, "near", NEAR, port=80, echo_port=8443)
        self.far = Origin(env, "far", FAR, port=80)
        self.names = Origin(env, "names", NAMES, named=NEAR)
        self.parent = Origin(env, "parent", PARENT, port=PROXY_PORT)
        self.certificates = Certificates(env, NEAR, WORKERS, ROCK)
        FarEnds(env, self.near, self.certificates, "tls:15@443")
        self.icap = IcapServer(env, ICAP, 1344)
        self.rewriter, self.acl = Helper(env, "rewrite"), Helper(env, "acl")
        self.sibling = digests.digester(env, self.near, SIBLING_NAME, trace=None, alone=True, address=SIBLING,
                                        port=PROXY_PORT)

    def start_sibling(self):
        """With the shared objects, and a digest of them."""
        digests.start(self.sibling)
        digests.fetch_all(self.sibling, [("fill", self.shared_url(n)) for n in range(SHARED)])
        digests.wait_for_digest(self.sibling, SHARED)

    def shared_url(self, n):
        return self.near.url("shared%d" % n, size=1000 + 500 * n)

    def conf(self):
        return CONF.format(icap=self.icap, rewriter=self.rewriter.command, acl=self.acl.command, parent=self.parent,
                           parent_name=PARENT_NAME, certificates=self.certificates) \
            + digests.peer(self.sibling, options="proxy-only") \
            + "cache_peer_access %s deny by_parent\n" % SIBLING_NAME
