# SPDX-License-Identifier: GPL-2.0-or-later
"""FTP servers behind ftp:// URLs: the stages are what the server's clock says, rows and lines agree."""

import collections
import ftplib
import io
import os
import pwd
import random
import signal
import socket
import subprocess
import threading
import time

from lib import access, dump, rows, timeouts, versions
from lib.client import Broken, Client, at_once
from lib.clocks import MS, Agreement
from lib.env import first, free_port, listens, wait_for
from lib.ftpd import FtpServer
from lib.squid import Squid

CONF = "cache deny all\n"


def ask(squid, *words, **more):
    """One request on a connection of its own: Squid closes it after some of its own replies."""
    with Client(squid.client_address()) as client:
        return client.request(*words, **more)


def finish(env, squid):
    """{X-Tag: row} after a clean stop, all promises about the rows checked."""
    squid.stop()
    requests = dump.table(env, squid.directory, "requests")
    pairs = rows.join(env, access.read(squid), requests)
    rows.check_fields(env, pairs)
    rows.check_sums(env, requests)
    rows.check_order(env, requests)
    rows.check_outcomes(env, pairs)
    env.equal(dump.table(env, squid.directory, "losses"), [], "losses")
    return pairs


def check_row(off, tag, row, stages):
    """Each stage lasted from one moment of the server's clock to another, and no other stage was long."""
    for stage, (begin, end) in stages.items():
        off.add(stage, tag, row.ns(stage), end - begin, begin, end)
    rows.check_no_other(off.env, row, stages, tag)


KNOWN = [
    # name, what the server holds; a user who is held, too
    ("plain", {}, ""),
    ("login", {}, "hold40:pw"),
    ("send", {"send": 40}, ""),
    ("wait", {"wait": 50}, ""),
    ("body", {"body": 60, "size": 5000}, ""),
    ("done", {"done": 40}, ""),
    ("all", {"send": 20, "wait": 30, "body": 40, "done": 20, "size": 70000}, "hold20:pw"),
]


def known_waits(env):
    """One at a time: login and commands are request_send, RETR to first byte server_wait, the rest server_reply."""
    server = FtpServer(env)
    squid = Squid(env, trace="", lines=CONF).start()
    rounds = 20 if env.full else 6
    with Client(squid.client_address()) as client:
        for n in range(rounds):
            for name, want, user in KNOWN:
                tag = "%s.%d" % (name, n)
                response = client.request(server.url(tag, user, **want), tag)
                env.equal((response.status, response.body_size), (200, want.get("size", 100)), tag + ": answer")
        time.sleep(0.2)  # a client that leaves ends its transaction before the server has said good-bye
    entries = server.entries()
    pairs = finish(env, squid)
    rows.check_one_at_a_time(env, pairs)
    rows.check_unaccounted(env, [row for _, row in pairs], alone=True)
    found = {line.xtag: row for line, row in pairs}
    off = Agreement(env)
    end = "done_ns" if versions.waits_for_goodbye(squid.version()) else "last_ns"
    for n in range(rounds):
        for name, want, _ in KNOWN:
            tag = "%s.%d" % (name, n)
            served, = entries[server.name(tag, **want)]
            check_row(off, tag, found[tag], {"request_send_ns": (served["greeted_ns"], served["asked_ns"]),
                                             "server_wait_ns": (served["asked_ns"], served["first_ns"]),
                                             "server_reply_ns": (served["first_ns"], served[end])})
            env.check(found[tag]["reply_wait_ns"] != "-", tag + ": no reply_wait")
    off.check(rounds * len(KNOWN))
    connections = dump.table(env, squid.directory, "connections")
    kinds = collections.Counter((row["peer_kind"], row["outcome"]) for row in connections)
    env.equal(dict(kinds), {("direct", "complete"): len(KNOWN) * rounds, ("FTP data", "complete"): len(KNOWN) * rounds},
              "connections")


def other_ways(env):
    """Listings, uploads, HEAD, files that are not there, broken transfers, clients that leave."""
    server = FtpServer(env)
    squid = Squid(env, trace="", lines=CONF).start()
    listing = ask(squid, "ftp://127.0.0.1:%d/folder/" % server.port, "listing")
    env.equal(listing.status, 200, "listing")
    env.check(listing.body_size > 500, "the listing has %d bytes" % listing.body_size)
    env.equal(ask(squid, server.url("put"), "put", "PUT", body=b"u" * 30000).status, 202, "PUT over a file that is there")
    env.equal(ask(squid, "ftp://127.0.0.1:%d/folder/;type=d" % server.port, "names").status, 200, "a list of names")
    env.equal(ask(squid, server.url("login", "wrong:pw"), "login").status, 403, "a user who is not let in")
    env.equal(ask(squid, server.url("head"), "head", "HEAD").status, 200, "HEAD")
    env.equal(ask(squid, server.url("gone", gone=1), "gone").status, 404, "a file that is not there")
    env.equal(ask(squid, "ftp://127.0.0.1:1/x", "refused").status, 503, "no server")
    with Client(squid.client_address()) as client:
        client.send(client.head("PUT", server.url("slow-put"), "slow-put", ["Content-Length: 10"]))
        time.sleep(0.15)
        client.send(b"0123456789")
        env.check(client.receive("PUT").status in (201, 202), "a slow PUT")
    try:
        broken = ask(squid, server.url("broken", abort=1, size=90000), "broken")
        env.check(broken.body_size < 90000, "a broken transfer came whole")
    except (Broken, ConnectionError):
        pass
    for tag, want in (("left", {"wait": 3000}), ("deaf", {"deaf": 1})):
        with Client(squid.client_address()) as client:
            client.send(client.head("GET", server.url(tag, **want), tag))
            time.sleep(0.2)
    time.sleep(0.2)
    found = {line.xtag: row for line, row in finish(env, squid)}
    for tag in ("listing", "names", "put", "gone", "login", "refused", "slow-put", "head"):
        env.check(found[tag]["reply_wait_ns"] != "-", tag + ": no reply_wait")
    for tag in ("listing", "names"):
        env.check(found[tag].ns("server_wait_ns") > 0, tag + ": no server_wait")
    for tag in ("listing", "names", "broken", "head"):
        env.check(found[tag]["server_reply_ns"] != "-", tag + ": no server_reply")
    env.check(found["put"].ns("server_wait_ns") > 0, "put: no server_wait")
    rows.check_stage(env, found["slow-put"], "client_body_ns", 135 * MS, 35 * MS, "slow-put")
    env.check(found["left"].ns("server_wait_ns") > 150 * MS, "left: " + rows.brief(found["left"]))
    env.equal(found["left"]["outcome"], "aborted", "left: outcome")
    data = [row["outcome"] for row in dump.table(env, squid.directory, "connections")
            if row["xid"] == found["deaf"]["xid"] and row["peer_kind"] == "FTP data"]
    env.equal(data, ["aborted"], "deaf: outcomes of the data connection")
    env.check(found["deaf"].ns("request_send_ns") > 150 * MS, "deaf: " + rows.brief(found["deaf"]))
    env.equal(found["deaf"]["outcome"], "aborted", "deaf: outcome")


# ---- clients that speak FTP themselves ----

def closing_server():
    """A listener that closes its first connection at once."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
    return listener


def native_clients(env):
    """FTP clients on an ftp_port: each command is a transaction."""
    server = FtpServer(env)
    port = free_port()
    squid = Squid(env, trace="", lines=CONF + "ftp_port 127.0.0.1:%d\n" % port).start()
    wait_for(lambda: listens(port), 10, "the FTP port")
    with ftplib.FTP() as client:
        client.connect("127.0.0.1", port, 20)
        client.login("anonymous@127.0.0.1:%d" % server.port, "pw")
        for n in range(5):
            got = []
            client.retrbinary("RETR " + server.name("n%d" % n, wait=40, body=50, size=5000), got.append)
            env.equal(sum(map(len, got)), 5000, "bytes of n%d" % n)
        client.storbinary("STOR up.bin", io.BytesIO(b"u" * 3000))
        lines = []
        client.retrlines("LIST folder", lines.append)
        env.equal(len(lines), 5, "lines of a listing")
        try:
            client.retrbinary("RETR gone=1,x.bin", got.append)
            env.check(False, "a file that is not there was sent")
        except ftplib.error_perm:
            pass
        try:
            client.quit()
        except (OSError, EOFError):
            pass  # Squid closes at once
    with ftplib.FTP() as client, closing_server() as closing:
        client.connect("127.0.0.1", port, 20)
        try:
            client.login("anonymous@127.0.0.1:%d" % closing.getsockname()[1], "pw")
            env.check(False, "a server that closes at once took a login")
        except (ftplib.Error, OSError, EOFError) as error:
            env.note("a server that closes at once: %r" % error)
    time.sleep(1.2)  # the backlog is sampled once a second
    entries = server.entries()
    pairs = finish(env, squid)
    downloads = [row for line, row in sorted(pairs, key=lambda pair: pair[0].xid or 0) if line.sent > 5000]
    env.equal(len(downloads), 5, "lines of downloads")
    off = Agreement(env)
    for n, row in enumerate(downloads):
        name = server.name("n%d" % n, wait=40, body=50, size=5000)
        served, = entries[name]
        check_row(off, name, row, {"server_wait_ns": (served["asked_ns"], served["first_ns"]),
                                   "server_reply_ns": (served["first_ns"], served["done_ns"])})
    off.check(len(downloads), 2 * MS)
    env.check(len(pairs) > 15, "only %d commands" % len(pairs))
    data = [row["outcome"] for row in dump.table(env, squid.directory, "connections") if row["peer_kind"] == "FTP data"]
    env.check(len(data) >= 7 and set(data) == {"complete"}, "data connections: %s" % data)
    ports = {row["listener"]: row for row in dump.table(env, squid.directory, "listeners")}
    row = ports.get("ftp_port 127.0.0.1:%d" % port)
    env.check(row and row["backlog_limit"] != "-", "the backlog of the ftp_port in table listeners: %s" % ports)


# ---- a real one ----

VSFTPD_CONF = """
listen=YES
listen_address=127.0.0.1
listen_port={port}
background=NO
anonymous_enable=YES
anon_root={root}
anon_upload_enable=YES
write_enable=YES
no_anon_password=YES
local_enable=NO
xferlog_enable=YES
xferlog_file={folder}/xfer.log
vsftpd_log_file={folder}/vsftpd.log
dual_log_enable=YES
secure_chroot_dir={empty}
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
pasv_address=127.0.0.1
max_per_ip=0
"""


class Vsftpd:
    """Debian's vsftpd on an unprivileged port, with files of known sizes."""

    SIZES = {"empty.bin": 0, "small.bin": 100, "middle.bin": 30000, "large.bin": 3000000}

    def __init__(self, env):
        env.need_root("vsftpd changes its root directory")
        program = env.need_program("vsftpd")
        self.folder = env.path("vsftpd")
        root, empty = os.path.join(self.folder, "root"), os.path.join(self.folder, "empty")
        upload = os.path.join(root, "upload")
        for path in (self.folder, root, empty, upload):
            os.mkdir(path)
            os.chmod(path, 0o755)
        account = pwd.getpwnam("ftp")
        os.chown(upload, account.pw_uid, account.pw_gid)
        for name, size in self.SIZES.items():
            with open(os.path.join(root, name), "wb") as file:
                file.write(b"v" * size)
        self.port = free_port()
        conf = os.path.join(self.folder, "vsftpd.conf")
        with open(conf, "w") as out:
            out.write(VSFTPD_CONF.format(port=self.port, root=root, folder=self.folder, empty=empty))
        self.process = subprocess.Popen([program, conf], stdin=subprocess.DEVNULL,
                                        stdout=open(os.path.join(self.folder, "out"), "w"), stderr=subprocess.STDOUT)
        env.on_close(self.stop)
        wait_for(lambda: listens(self.port), 20, "vsftpd to listen")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def url(self, name):
        return "ftp://127.0.0.1:%d/%s" % (self.port, name)

    def transfers(self):
        with open(os.path.join(self.folder, "xfer.log")) as log:
            return sum(1 for line in log if line.split()[-1] == "c")


def real_server(env):
    """vsftpd, one at a time and 10 at a time: rows and lines agree, each transfer has its data connection."""
    server = Vsftpd(env)
    squid = Squid(env, trace="", lines=CONF).start()

    def work(count, seed):
        random_ = random.Random(seed)
        for n in range(count):
            kind = random_.randrange(10)
            name = random_.choice(sorted(server.SIZES))
            tag = "v%d-%d" % (seed, n)
            if kind == 0:
                env.equal(ask(squid, server.url(""), tag).status, 200, "listing")
            elif kind == 1:
                response = ask(squid, server.url("upload/%s.bin" % tag), tag, "PUT", body=b"p" * 5000)
                env.check(response.status in (201, 202), "PUT: %d" % response.status)
            elif kind == 2:
                env.equal(ask(squid, server.url("gone.bin"), tag).status, 404, "a file that is not there")
            elif kind == 3:
                env.equal(ask(squid, server.url("small.bin"), tag, "HEAD").status, 200, "HEAD")
            elif kind == 4 and seed:
                with Client(squid.client_address()) as client:
                    client.send(client.head("GET", server.url("large.bin"), tag))
                    client.fill()
            else:
                response = ask(squid, server.url(name), tag)
                env.equal((response.status, response.body_size), (200, server.SIZES[name]), tag + " " + name)
    work(200 if env.full else 60, 0)
    at_once(10, lambda n: work(30 if env.full else 12, n + 1))
    pairs = finish(env, squid)
    rows.check_one_at_a_time(env, [pair for pair in pairs if pair[0].xtag.startswith("v0-")])
    rows.check_unaccounted(env, [row for _, row in pairs])
    whole = [row for line, row in pairs if line.method in ("GET", "PUT") and row["outcome"] == "complete"
             and line.status in (200, 201, 202)]
    for row in whole:
        stages = [row[name + "_ns"] for name in ("request_send", "server_wait", "reply_wait", "proxy_reply")]
        env.check("-" not in stages, "stages are missing: " + rows.brief(row))
    data = {row["xid"] for row in dump.table(env, squid.directory, "connections")
            if (row["peer_kind"], row["outcome"]) == ("FTP data", "complete")}
    env.check({row["xid"] for row in whole} <= data, "transfers without a data connection")
    env.check(server.transfers() > 20, "vsftpd logged only %d transfers" % server.transfers())


def held_back(env):
    """A delay pool: what it holds back is not the server's time."""
    server = FtpServer(env)
    squid = Squid(env, trace="", lines=CONF + """
delay_pools 1
delay_class 1 1
delay_parameters 1 40000/20000
delay_access 1 allow all
""").start()
    took = ask(squid, server.url("slowed", size=90000), "slowed").seconds * 1e9
    env.check(took > 1000 * MS, "the pool held nothing back: %.0f ms" % (took / MS))
    row = {line.xtag: row for line, row in finish(env, squid)}["slowed"]
    served, = server.entries()[server.name("slowed", size=90000)]
    late = env.held.during(row)
    servers = served["done_ns"] - served["asked_ns"]
    env.check(row.ns("server_wait_ns") + row.ns("server_reply_ns") < servers + 50 * MS + late,
              "the server's stages are " + rows.brief(row))
    env.check(row.ns("held_back_ns") + row.ns("reply_wait_ns") + row.ns("proxy_reply_ns") > took - 200 * MS - late, "held back %.0f ms: %s"
              % (took / MS, rows.brief(row)))


# ---- whois and gopher, which have gateways, too ----

TIMEOUT_S = 2  # of Squid, for servers


def line_server(env, times, wait, rest):
    """Answers each query after wait seconds, and again after rest; notes its clock in times."""
    listener = socket.create_server(("127.0.0.1", 0))
    env.on_close(listener.close)

    def serve():
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            with client:
                query = client.makefile("rb").readline().decode().strip()
                asked = time.monotonic_ns()
                time.sleep(wait)
                first = time.monotonic_ns()
                client.sendall(b"first line\r\n")
                time.sleep(rest)
                client.sendall(b"second line\r\n")
                times[query] = (asked, first, time.monotonic_ns())
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def gateways(env):
    """Servers that answer a line of text with text: one that waits a known time, and one that is not there."""
    times = {}
    port = line_server(env, times, 0.05, 0.06)
    silent = socket.create_server(("127.0.0.1", 0))
    env.on_close(silent.close)
    squid = Squid(env, trace="", lines=CONF + "read_timeout %d seconds\n" % TIMEOUT_S).start()
    schemes = versions.gateways(squid.version())
    asked_for = ["%s%d" % (scheme, n) for scheme in schemes for n in range(8)]
    with Client(squid.client_address()) as client:
        for tag in asked_for:
            scheme = tag[:-1]
            response = client.request("%s://127.0.0.1:%d%s%s" % (scheme, port, schemes[scheme], tag), tag)
            env.equal((response.status, response.body_size), (200, 25), tag)
        for scheme, path in schemes.items():
            refused = client.request("%s://127.0.0.1:1%sx" % (scheme, path), scheme)
            env.equal(refused.status, 503, "no server: " + scheme)
        if "gopher" in schemes:  # a page that asks for search words: Squid makes it once it is connected
            env.equal(client.request("gopher://127.0.0.1:%d/7x" % port, "search").status, 200, "search")
            url = "gopher://127.0.0.1:%d/0x" % silent.getsockname()[1]
            try:
                client.request(url, "silent")  # its time is up when Squid has already begun the reply
                env.check(False, "a server that says nothing has a whole reply")
            except Broken:
                pass
    found = {line.xtag: row for line, row in finish(env, squid)}
    off = Agreement(env)
    for tag in asked_for:
        asked, first, last = times[tag]
        check_row(off, tag, found[tag], {"server_wait_ns": (asked, first), "server_reply_ns": (first, last)})
        env.check(found[tag]["reply_wait_ns"] != "-", tag + ": no reply_wait")
    off.check(8 * len(schemes), 2 * MS)
    if "gopher" in schemes:
        env.check(found["search"]["reply_wait_ns"] != "-" and found["search"]["server_wait_ns"] == "-",
                  "the server was asked for a search page: " + rows.brief(found["search"]))
        env.check(found["silent"].ns("server_wait_ns") >= timeouts.least_ns(TIMEOUT_S), "silent: " + rows.brief(found["silent"]))


def whois_at_the_end(env):
    """A whois server that says nothing while Squid shuts down: its gateway gives up without an error of its own, so
    FwdState makes one."""
    listener = socket.create_server(("127.0.0.1", 0))
    env.on_close(listener.close)
    squid = Squid(env, trace="", lines=CONF + "read_timeout %d seconds\nshutdown_lifetime 6 seconds\n" % TIMEOUT_S).start()
    with Client(squid.client_address()) as client:
        client.send(client.head("GET", "whois://127.0.0.1:%d/silent" % listener.getsockname()[1], "silent"))
        time.sleep(0.3)
        squid.signal(signal.SIGTERM)
        env.equal(client.receive().status, 503, "silent")
    row = {line.xtag: row for line, row in finish(env, squid)}["silent"]
    env.check(row.ns("server_wait_ns") >= timeouts.least_ns(TIMEOUT_S) and row["reply_wait_ns"] != "-", "silent: " + rows.brief(row))


TESTS = [
    ("an FTP server that waits a known time", first(known_waits), 90),
    ("listings, uploads and what goes wrong", first(other_ways), 40),
    ("clients that speak FTP themselves", first(native_clients), 60),
    ("a real vsftpd", first(real_server), 90),
    ("a delay pool", first(held_back), 40),
    ("whois and gopher servers that wait a known time", first(gateways), 40),
    ("a whois server that is silent while Squid shuts down", whois_at_the_end, 40),
]
