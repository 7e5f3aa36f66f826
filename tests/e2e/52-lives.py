# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to connections, to the children of helpers and to Squid itself, as those who caused it know it."""

import os
import re
import time

from lib import dump
from lib.clocks import MS
from lib.client import Client
from lib.env import free_port, wait_for
from lib.origin import Origin
from lib.squid import Squid

SECRET = "swordfish"

# A process closes its files before it is dead, and Squid asks for its status when it sees that.  So another process keeps
# the pipes open for a moment longer.
REWRITER = """#!/usr/bin/env python3
import os, sys, time
end, held = os.pipe()
if os.fork() == 0:
    os.close(held)
    os.read(end, 1)
    time.sleep(0.3)
    os._exit(0)
for line in sys.stdin:
    if "die" in line:
        sys.exit(3)
    print("ERR", flush=True)
"""


def incidents(env, squid, incident):
    return dump.table(env, squid.directory, "incidents", "--where=incident == " + incident)


def connections(env):
    """A server that refuses, a parent that is dead, and what came on a connection that closed."""
    origin, closed, dead = Origin(env), free_port(), free_port()
    squid = Squid(env, trace=" names=servers", lines="""
server_persistent_connections off
cache_peer 127.0.0.1 parent %d 0 no-query no-digest no-netdb-exchange name=moon connect-timeout=1 connect-fail-limit=1
acl to_moon urlpath_regex moon
cache_peer_access moon allow to_moon
cache_peer_access moon deny all
never_direct allow to_moon
""" % dead).start()
    with Client(squid.client_address()) as client:
        env.equal(client.request("http://127.0.0.1:%d/" % closed, "refused").status, 503, "a server that refuses")
        for n in range(3):
            client.request(origin.url("moon%d" % n), "moon%d" % n)
            time.sleep(1.3)  # Squid tries a dead parent once in each whole second at most
        env.equal(client.request(origin.url("large", size=200000), "large").status, 200, "an object of 200,000 bytes")
    squid.stop()
    rows = dump.table(env, squid.directory, "connections", "--where=outcome == error")
    refused = [row for row in rows if row["server"].endswith(":%d" % closed)]
    env.equal({(row["error"], row["ip_version"]) for row in refused}, {("ECONNREFUSED", "4")}, "why its connection failed")
    probes = incidents(env, squid, "peer_probed")
    env.equal({(row["name"], row["result"]) for row in probes[1:]}, {("moon", "ECONNREFUSED")}, "tries of the dead parent")
    closes = dump.table(env, squid.directory, "closes", "--where=received_bytes > 100000")
    if env.equal(len(closes), 1, "connections that closed after a large object"):
        row = closes[0]
        env.check(200000 <= row.number("received_bytes") <= 201000, "bytes that came: %s" % row["received_bytes"])
        env.check(0 < row.ns("least_rtt_ns") <= row.ns("rtt_ns") * 2, "round trips: %s" % row)
        env.equal((row["sent_again"], row["out_of_order"]), ("0", "0"), "segments that loopback lost")
        env.check(row.ns("open_ns") > 0, "how long it was open")


def idle_connections(env):
    """Connections to servers on which nothing comes for a second, and who closes them."""
    origin = Origin(env)
    squid = Squid(env, trace=" names=servers", lines="server_idle_pconn_timeout 2 seconds\n").start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("left", left=1300), "left")
        time.sleep(2)
        client.request(origin.url("kept"), "kept")
        time.sleep(4.5)
        client.request(origin.url("at-once", close=1), "at-once")
    squid.stop()
    closes = {row["closed_by"]: row for row in dump.table(env, squid.directory, "closes")}
    if env.equal(set(closes), {"server", "squid", "-"}, "who closed the three connections"):
        env.check(1300 * MS <= closes["server"].ns("idle_ns") < 2000 * MS, "how long the server kept it: %s" % closes["server"])
        env.check(2000 * MS <= closes["squid"].ns("idle_ns") < 4500 * MS, "how long Squid kept it: %s" % closes["squid"])
        env.equal(closes["-"]["idle_ns"], "-", "one that was not idle")


def children(env):
    """Children of a rewriter that end by themselves, with a status."""
    origin = Origin(env)
    program = os.path.join(env.path("helper"), "rewrite.py")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    with open(program, "w") as out:
        out.write(REWRITER)
    os.chmod(program, 0o755)
    squid = Squid(env, trace="", lines="""
url_rewrite_program %s
url_rewrite_children 4 startup=2 idle=1
""" % program).start()
    with Client(squid.client_address()) as client:
        client.request(origin.url("first"), "first")
        client.request(origin.url("die"), "die")
        client.request(origin.url("second"), "second")
    time.sleep(1)
    text = squid.log_text()
    squid.stop()
    died, started = incidents(env, squid, "child_died"), incidents(env, squid, "child_started")
    env.check(died and {row["name"] for row in died} == {"url_rewrite rewrite.py"}, "whose children died: %s" % died)
    env.equal({row["result"] for row in died}, {"exit 3"}, "how they ended")
    env.equal(len(died), len(re.findall(r"redirector #\w+ exited", text)), "children that died, as cache.log has them")
    env.check(started and {row["name"] for row in started} == {"url_rewrite rewrite.py"}, "children that started")


def mistakes(env):
    """A line of squid.conf that Squid can not read ends it; the trace has the place of the line, and not what it says."""
    squid = Squid(env, trace="", lines="").start()
    squid.lines += "acl %s dstdomains .test\n" % SECRET
    squid.reconfigure()
    squid.process.wait(30)
    rows = incidents(env, squid, "fatal")
    if env.equal(len(rows), 1, "why Squid ended"):
        env.check(re.match(r"Bungled .*squid\.conf line \d+$", rows[0]["name"]), rows[0]["name"])
    for name in os.listdir(squid.directory):
        with open(os.path.join(squid.directory, name), "rb") as file:
            env.check(SECRET.encode() not in file.read(), "%s has what squid.conf says" % name)


def work(env):
    """A long list is read at the start and at a reconfiguration; indexes are rebuilt and written; a service is not there."""
    values, closed = env.path("values"), free_port()
    with open(values, "w") as out:
        out.write("".join(".n%d.test\n" % n for n in range(1500)))
    origin = Origin(env)
    icap = """
icap_enable on
icap_service_failure_limit 1
icap_service scanner respmod_precache icap://127.0.0.1:%d/x bypass=on
adaptation_access scanner allow all
""" % closed
    squid = Squid(env, trace="", dirs=["ufs"], lines="acl long_list dstdomain -n \"%s\"\nhttp_access deny long_list\n" % values)
    squid.start()
    with Client(squid.client_address()) as client:
        for n in range(5):
            client.request(origin.url("stored%d" % n), "s%d" % n)
    squid.lines += icap
    squid.reconfigure()
    wait_for(lambda: squid.log_text().count("Accepting HTTP Socket connections") == 2, 30, "the port to be open again")
    with Client(squid.client_address()) as client:
        client.request(origin.url("adapted"), "adapted")
    squid.rotate()
    time.sleep(1.5)  # cache.log's lines are sampled once a second
    squid.stop()
    rows = incidents(env, squid, "list_read")
    env.equal([(row["name"], row["count"]) for row in rows], [("long_list", "1500")] * 2, "the list")
    env.check(all(row.ns("took_ns") > 0 for row in rows), "how long it took to read it")
    env.check(any(row["name"].startswith("ufs ") for row in incidents(env, squid, "dir_rebuilt")), "an index is rebuilt")
    env.equal([row["name"] for row in incidents(env, squid, "service")][:1], ["scanner"], "a service that is not there")
    written = re.findall(r"Wrote (\d+) entries", squid.log_text())
    env.check(written and int(written[0]) >= 5, "entries that Squid wrote: %s" % written)
    env.equal([row["count"] for row in incidents(env, squid, "swap_logs_written")], written, "entries that are written")
    lines = dump.table(env, squid.directory, "samples", "--where=name == cache_log_lines")
    env.check(lines and 0 < lines[-1].number("value") <= squid.log_text().count("\n"), "lines of cache.log")


TESTS = [
    ("why connections fail, and what TCP knew when they closed", connections, 60),
    ("who closes idle server connections", idle_connections, 40),
    ("children of a helper die", children, 60),
    ("a mistake in squid.conf ends Squid", mistakes, 60),
    ("long lists, indexes of cache_dirs, a service that is not there", work, 90),
]
