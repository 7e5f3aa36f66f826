# SPDX-License-Identifier: GPL-2.0-or-later
"""sqtrace-top beside a Squid in which requests hang in ten known ways: where each is, on whom it waits, for how long."""

import collections
import datetime
import os
import signal
import socket
import time

from lib import dump, native
from lib.client import Client
from lib.env import first, run, wait_for
from lib.helper import Helper
from lib.icapd import IcapServer
from lib.nameserver import NameServer
from lib.origin import Origin
from lib.squid import Squid

MS = 1000000
EACH = 5  # requests of each kind
HANG = 60000  # ms
LARGE = 30000000  # bytes, more than the buffers between Squid and a client that reads nothing

CONF = """
cache_mem 0 MB
memory_cache_mode disk
collapsed_forwarding on
dns_retransmit_interval 300 milliseconds
dns_timeout 2 minutes
cache_peer {parent.host} parent {parent.port} 0 no-query no-digest no-netdb-exchange name=upstream
acl by_parent urlpath_regex parent-
cache_peer_access upstream allow by_parent
never_direct allow by_parent
always_direct allow !by_parent
auth_param basic program {auth.command}
auth_param basic children 20 startup=20
acl known proxy_auth REQUIRED
acl for_known urlpath_regex auth-
http_access deny for_known !known
http_access allow for_known
url_rewrite_program {rewrite.command}
url_rewrite_children 1 startup=1 concurrency=100
acl rewritten urlpath_regex rewrite-
url_rewrite_access allow rewritten
url_rewrite_access deny all
acl adapted urlpath_regex icap-
adaptation_access scanner allow adapted
delay_pools 1
delay_class 1 1
delay_parameters 1 1000/1000
acl slowed urlpath_regex pool-
delay_access 1 allow slowed
delay_access 1 deny all
"""


def top(env, squid, *options):
    """(rows, now in ns since 1970) of what sqtrace-top prints of a table."""
    done = run([env.tool("sqtrace-top"), "--once", "--format=tsv"] + list(options) + [squid.directory], 30)
    env.require(done.returncode == 0, "sqtrace-top: status %d: %s" % (done.returncode, done.stderr))
    env.equal(done.stderr, "", "what sqtrace-top said")
    lines = [line for line in done.stdout.split("\n") if line]
    comments = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    stamp, _, part = comments["now"].partition(".")
    whole = datetime.datetime.fromisoformat(stamp + part[9:])
    return [dump.Row(zip(table[0], values)) for values in table[1:]], int(whole.timestamp()) * 10**9 + int(part[:9])


class Hanging:
    """Requests that were sent, and when: {kind: [ns since 1970]}."""

    def __init__(self, env, squid):
        self.env, self.squid, self.sent = env, squid, collections.defaultdict(list)

    def send(self, kind, url, headers=(), receive_buffer=None):
        client = Client(self.squid.client_address())
        self.env.on_close(client.close)
        if receive_buffer:
            client.socket = socket.socket()
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            client.socket.connect(self.squid.client_address())
        client.open()
        self.sent[kind].append(time.time_ns())
        client.send(Client.head("GET", url, kind, headers))
        time.sleep(0.02)


def basic(user):
    import base64
    return "Proxy-Authorization: Basic " + base64.b64encode((user + ":secret").encode()).decode()


def hang_all(env, squid, origin, parent):
    """50 requests, and one that others follow."""
    hanging = Hanging(env, squid)
    for n in range(EACH):
        hanging.send("disk", origin.url("disk-%d" % n, size=11000))
        hanging.send("origin", origin.url("origin-%d" % n, hdr=HANG))
        hanging.send("parent", parent.url("parent-%d" % n, hdr=HANG))
        hanging.send("dns", origin.url("dns-%d" % n, host="amute-%d.test" % n))
        hanging.send("icap", origin.url("icap-%d" % n), ["X-Reqmod: do=never"])
        hanging.send("rewrite", origin.url("rewrite-mute-%d" % n))
        hanging.send("auth", origin.url("auth-%d" % n), [basic("mute-%d" % n)])
        hanging.send("client", origin.url("client-%d" % n, size=LARGE), receive_buffer=4096)
        hanging.send("pool", origin.url("pool-%d" % n, size=200000))
        hanging.send("follower" if n else "leader", origin.url("leader", hdr=HANG))
    hanging.send("follower", origin.url("leader", hdr=HANG))
    return hanging


def check_group(env, kind, rows, sent, now):
    """As many as were sent, and each as old."""
    if not env.equal(len(rows), len(sent), "requests that hang: " + kind):
        return
    ages = sorted(row.ns("age_ns") for row in rows)
    for got, wanted in zip(ages, sorted(now - at for at in sent)):
        env.check(abs(got - wanted) < 50 * MS, "%s: a request is %.3f s old, wanted %.3f" % (kind, got / 1e9, wanted / 1e9))
    env.note("%s: ages %s" % (kind, ["%.3f" % (age / 1e9) for age in ages]))


@first
def hung(env):
    origin, parent = Origin(env), Origin(env, "parent", host="127.9.9.9")
    if not origin.has_names:
        env.need_root("name servers listen on port 53 of loopback addresses")
    names, icap = NameServer(env, "a", origin.host), IcapServer(env)
    auth, rewrite = Helper(env, "auth"), Helper(env, "channel")
    slow = env.path("slow")
    squid = Squid(env, trace="names=servers", dirs=["aufs"], dns=names.address, alone=True,
                  preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-aufs-", "SLOWDISK_MS": "12000", "SLOWDISK_IF": slow},
                  lines=CONF.format(parent=parent, auth=auth, rewrite=rewrite) + icap.enabled() +
                  icap.service("scanner", "reqmod_precache").replace("/scanner/", "/req/")).start()
    with Client(squid.client_address()) as client:
        for n in range(EACH):
            client.request(origin.url("disk-%d" % n, size=11000), "fill")
    time.sleep(0.5)
    open(slow, "w").close()
    hanging = hang_all(env, squid, origin, parent)
    time.sleep(1)  # the queries to the name server have been sent again
    rows, now = top(env, squid, "--table=requests")
    text = run([env.tool("sqtrace-top"), "--once", squid.directory], 30).stdout
    env.note("\n" + text)
    server = "%s:%d" % (origin.host, origin.port)
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["stage"], row["on"], row["whom"]].append(row)
    disk = "aufs " + squid.dir_path("aufs")
    wanted = {("swap_in_first", "cache_dir", disk): ["disk"],
              ("server_wait", "server", server): ["origin", "leader"],
              ("server_wait", "server", "upstream"): ["parent"],
              ("dns", "name_server", names.address): ["dns"],
              ("adapt", "adaptation", "scanner"): ["icap"],
              ("redirect", "url_rewrite", "helper.py"): ["rewrite"],
              ("helper", "auth", "basic"): ["auth"],
              ("proxy_reply", "client", "-"): ["client"],
              ("held_back", "delay_pool", "1"): ["pool"]}
    for key, kinds in wanted.items():
        check_group(env, " and ".join(kinds), groups.pop(key, []), sum((hanging.sent[kind] for kind in kinds), []), now)
    leaders = [row["xid"] for row in rows if row["whom"] == server]
    followers = [row for key, found in groups.items() if key[:2] == ("collapsed_wait", "request") for row in found]
    check_group(env, "follower", followers, hanging.sent["follower"], now)
    for row in followers:
        leader, _, state = row["whom"].partition(" ")
        env.check(leader in leaders, "a follower waits for " + row["whom"])
        env.equal(state, "(server_wait %s)" % server, "what the leader waits for")
    env.equal(len(rows), sum(map(len, hanging.sent.values())), "requests in flight: %s" % dict(
        (key, len(found)) for key, found in groups.items()))
    check_filter(env, squid, server, hanging)
    check_one(env, squid, [row for row in rows if row["on"] == "adaptation"][0])
    os.unlink(slow)


def check_filter(env, squid, server, hanging):
    """Only what matches is listed; the table of waits counts who waits for whom."""
    rows, _ = top(env, squid, "--table=requests", "--where=server == %s and server_wait_ns > 100ms" % server)
    env.equal(len(rows), len(hanging.sent["origin"]) + len(hanging.sent["leader"]), "requests that match")
    waits = {(row["on"], row["whom"]): row for row in top(env, squid, "--table=waits")[0]}
    env.equal(waits["adaptation", "scanner"]["waiting"], str(EACH), "requests that wait for the ICAP service")
    env.equal(waits["server", "upstream"]["waiting"], str(EACH), "requests that wait for the parent")


def check_one(env, squid, row):
    done = run([env.tool("sqtrace-top"), "--once", "--xid=" + row["xid"], squid.directory], 30)
    env.equal(done.returncode, 0, "status of --xid")
    lines = done.stdout.rstrip("\n").split("\n")
    env.check("request %s" % row["xid"] in lines[0] and "in flight" in lines[0], "head of a request: " + lines[0])
    env.check(any(line.startswith("adapt ") and line.endswith("#") for line in lines), "stages of a request: %s" % lines)


# ---- the event loop ----

def stopped(env):
    """A process that does not run is said to be silent, and one whose loop is blocked to be blocked."""
    origin = Origin(env)
    slow = env.path("slow")
    squid = Squid(env, trace="", dirs=["ufs"], dns=origin.host, alone=True, preload=native.preload(env, "slowdisk"),
                  environment={"SLOWDISK_PATH": "cache-ufs-", "SLOWDISK_MS": "4000", "SLOWDISK_IF": slow},
                  lines="cache_mem 0 MB\nmemory_cache_mode disk\n").start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("o", size=11000), "fill")
    loop, = top(env, squid, "--table=loops")[0]
    env.check(loop["state"] in ("waits", "works"), "a Squid that has nothing to do: " + loop["state"])
    open(slow, "w").close()
    with Client(squid.client_address()) as client:
        client.send(Client.head("GET", origin.url("o", size=11000), "hit"))
        time.sleep(1.5)
        loop, = top(env, squid, "--table=loops")[0]
        os.unlink(slow)
        env.equal(loop["state"], "blocked", "while the main thread reads a slow disk")
        env.check(1400 * MS < loop.ns("since_ns") < 2500 * MS, "blocked for %s ns" % loop["since_ns"])
        env.equal(loop["last_event"], "SWAPIN_READ", "the last event")
    wait_for(lambda: top(env, squid, "--table=loops")[0][0]["state"] == "waits", 20, "the loop goes on")
    pid = squid.kids()[0] if squid.kids() else squid.processes()[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        loop, = top(env, squid, "--table=loops")[0]
        env.equal(loop["state"], "silent", "a process that is stopped")
        env.check(1300 * MS < loop.ns("since_ns") < 3000 * MS, "silent for %s ns" % loop["since_ns"])
    finally:
        os.kill(pid, signal.SIGCONT)
    squid.stop()
    rows, _ = top(env, squid, "--table=loops")
    env.equal(rows, [], "loops of a Squid that has ended")


TESTS = [
    ("50 requests that hang in ten ways: stage, culprit and age of each", hung, 90),
    ("a loop that is blocked, a process that is stopped", stopped, 90),
]
