# SPDX-License-Identifier: GPL-2.0-or-later
"""The Squids that the benchmarks compare: unpatched, patched with tracing off, on, and on with the account of system
calls; and unpatched under the programs that give the like account."""

import os
import re
import shutil
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
sys.dont_write_bytecode = True

from lib.client import Client  # noqa: E402
from lib.env import Env, free_port, wait_for  # noqa: E402
from lib.helper import Helper  # noqa: E402
from lib.icapd import IcapServer  # noqa: E402
from lib.linking import can_shuffle, link_in_order  # noqa: E402
from lib.squid import Squid  # noqa: E402

BODY = 1000

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.err crit;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000;
    client_body_temp_path {folder}/nginx; proxy_temp_path {folder}/nginx; fastcgi_temp_path {folder}/nginx;
    uwsgi_temp_path {folder}/nginx; scgi_temp_path {folder}/nginx;
    server {{
        listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl;
        ssl_certificate {pem}; ssl_certificate_key {pem};
        location / {{ add_header Cache-Control "max-age=3600"; return 200 "{body}"; }}
    }}
}}
"""


class Origin:
    """An origin that answers every URL with the same cachable body, over HTTP and TLS."""

    def __init__(self, env):
        self.port, self.tls_port = free_port(), free_port()
        conf = env.path("nginx.conf")
        with open(conf, "w") as out:
            out.write(NGINX.format(folder=env.folder, port=self.port, tls_port=self.tls_port, pem=certificate(env),
                                   body="x" * BODY))
        process = subprocess.Popen([env.need_program("nginx"), "-c", conf, "-p", env.folder],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        env.on_close(lambda: (process.terminate(), process.wait(10)))
        wait_for(lambda: listening(self.port), 10, "nginx")

    def url(self, workload):
        if WORKLOADS[workload].origin_tls:
            return "https://127.0.0.1:%d/" % self.tls_port
        return "http://127.0.0.1:%d/" % self.port


def certificate(env):
    """A key and a certificate for 127.0.0.1 in one file."""
    pem, key = env.path("pem"), env.path("key")
    if not os.path.exists(pem):
        subprocess.run([env.need_program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", pem], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(pem, "a") as out, open(key) as more:
            out.write(more.read())
    return pem


def listening(port):
    import socket
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Workload:
    """lines: of squid.conf; tls: the client speaks TLS to Squid; origin_tls: Squid speaks TLS to the origin;
    fresh: each request has a URL of its own; service: starts what Squid asks, and has further lines of squid.conf."""

    def __init__(self, lines, dirs=(), tls=False, origin_tls=False, fresh=False, workers=1, service=lambda env: ""):
        self.lines, self.dirs, self.tls, self.origin_tls = lines, list(dirs), tls, origin_tls
        self.fresh, self.workers, self.service = fresh, workers, service


def rewriter(env):
    return "url_rewrite_program %s\nurl_rewrite_children 1 startup=1 concurrency=0\n" % Helper(env, "rewrite").command


def icap(env):
    server = IcapServer(env)
    return (server.enabled() + server.service("req", "reqmod_precache") + server.service("resp", "respmod_precache") +
            "adaptation_access req allow all\nadaptation_access resp allow all\n")


MEMORY = "cache_mem 64 MB\n"
DISK = "cache_mem 0\nmemory_cache_mode disk\n"
MISS = "cache deny all\n"
WORKLOADS = {
    "memory-hit": Workload(MEMORY),
    "memory-hit-tls": Workload(MEMORY, tls=True),
    "memory-hit-2": Workload(MEMORY, workers=2),
    "disk-hit-ufs": Workload(DISK, ["ufs"]),
    "disk-hit-aufs": Workload(DISK, ["aufs"]),
    "disk-hit-diskd": Workload(DISK, ["diskd"]),
    "disk-hit-rock": Workload(DISK, ["rock"]),
    "disk-hit-rock-2": Workload(DISK, ["rock"], workers=2),
    "miss": Workload(MISS, fresh=True),
    "miss-tls": Workload(MISS + "tls_outgoing_options flags=DONT_VERIFY_PEER\n", fresh=True, origin_tls=True),
    "miss-2": Workload(MISS, fresh=True, workers=2),
    "miss-rewriter": Workload(MISS, fresh=True, service=rewriter),
    "miss-icap": Workload(MISS, fresh=True, service=icap),
}

# name -> (which prefix, directive)
VARIANTS = {
    "unpatched": ("unpatched", None),
    "unpatched again": ("unpatched", None),
    "patched, off": ("squid", None),
    "patched, on": ("squid", ""),
}
# With --calls: the account of system calls.
CALLS = {"with calls": ("squid", "events=client,server,store,diskop,loop,digest,sample,syscall")}
# The header field traceparent is looked for in requests without it, sent and not looked for, sent and recorded; and the same
# where Squid sends a span of its own on.
CONTEXT = {"with context": ("squid", "trace_context=on"), "forward": ("squid", "trace_context=forward"), "field sent": ("squid", ""),
           "context sent": ("squid", "trace_context=on"), "forward, context sent": ("squid", "trace_context=forward")}
# Notes that squid.conf makes and sqtrace_log does not name, and one, two and eight that it names.
NOTES = {"notes made": ("squid", ""), "1 note": ("squid", "note=n1"), "2 notes": ("squid", "note=n1,n2"),
         "8 notes": ("squid", "note=n1,n2,n3,n4,n5,n6,n7,n8"), "note missing": ("squid", "note=n9")}
NOTE_LINES = "".join("note n%d value%d all\n" % (n, n) for n in range(1, 9))
TRACEPARENT = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
# And who else gives one of an unpatched Squid: name -> what is started beside it.
OBSERVERS = {
    "strace": ("strace", "-f", "-ttt", "-T", "-yy", "-s", "0", "-o", "{out}", "-p", "{pid}"),
    "perf trace": ("perf", "trace", "-o", "{out}", "-p", "{pid}"),
}


def observers():
    """Names of those that are installed; of another one a line says that it is left out."""
    found = []
    for name, words in OBSERVERS.items():
        if shutil.which(words[0]):
            found.append(name)
        else:
            print("# left out: %s: no program %s" % (name, words[0]), flush=True)
    return found


def observe(env, name, squid):
    """Starts what looks at that Squid, if something does."""
    if name not in OBSERVERS:
        return
    words = [word.format(out=env.path(squid.name + ".calls"), pid=squid.process.pid) for word in OBSERVERS[name]]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.on_close(lambda: (process.terminate(), process.wait(10)))


def prefix_of(env, name):
    """Where the Squid of that variant is installed."""
    return env.squid if VARIANTS.get(name, ["unpatched"])[0] == "squid" else env.unpatched


def programs(env, orders, first=1):
    """{prefix: programs of that Squid}, so many, linked in other orders, of which first is the number of the first one.
    None among them is the installed one.  Those of an earlier call are gone."""
    if not orders:
        return {env.squid: [None], env.unpatched: [None]}
    numbers = range(first, first + orders)
    print("# linking, orders %d to %d" % (numbers[0], numbers[-1]), file=sys.stderr, flush=True)
    found, links = {}, []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for letter, prefix in zip("pu", (env.squid, env.unpatched)):
            found[prefix] = [env.path("squid-%s%d" % (letter, slot)) for slot in range(orders)]
            for program in filter(os.path.exists, found[prefix]):
                os.unlink(program)
            links += [pool.submit(link_in_order, prefix, *which) for which in zip(found[prefix], numbers)]
    for link in links:
        link.result()
    return found


def variant(env, name, workload, **more):
    """A Squid of that variant for that workload, not started; its tls_port is 0 without TLS."""
    trace = VARIANTS.get(name, (None, None))[1]
    work = WORKLOADS[workload]
    lines, tls_port = work.lines + work.service(env), 0
    if work.tls:
        tls_port = free_port()
        lines += "https_port 127.0.0.1:%d tls-cert=%s\n" % (tls_port, certificate(env))
    dirs = [kind for kind in work.dirs if kind != "rock"]
    if "rock" in work.dirs:
        lines += "cache_dir rock {folder}/cache-rock 64\n"
    lines += NOTE_LINES if name in NOTES else ""
    letter = "abcdefghijklmnopqrst"[[*VARIANTS, *OBSERVERS].index(name)]  # a service's name is short
    number = "%d%s" % (list(WORKLOADS).index(workload), letter)
    squid = Squid(env, number, prefix=prefix_of(env, name), trace=trace, dirs=dirs, lines=lines, workers=work.workers,
                  **more)
    squid.tls_port = tls_port
    squid.rock = os.path.join(squid.folder, "cache-rock") if "rock" in work.dirs else None
    return squid


def make_dirs(squid):
    """squid -z, for what Squid.start() does not know."""
    if squid.rock and not os.path.isdir(squid.rock):
        squid.write_conf()
        os.mkdir(squid.rock)
        squid.give(squid.rock)
        subprocess.run(squid.command("-z", squid.mode), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


SCRIPT = """
local n = 0
local id = "%s"
local fresh = %s
local url = "%s"
request = function()
  n = n + 1
  return wrk.format("GET", url .. (fresh and (id .. '-' .. n) or ('o' .. (n %% 50))))
end
"""


def wrk(env, squid, origin, workload, seconds, salt):
    """Starts to drive a Squid, as hard as it goes, for answered().  salt: of fresh URLs."""
    work = WORKLOADS[workload]
    path = env.path("wrk-%s.lua" % squid.name)
    with open(path, "w") as out:
        out.write(SCRIPT % (salt, "true" if work.fresh else "false", origin.url(workload)))
    target = "https://127.0.0.1:%d/" % squid.tls_port if work.tls else "http://127.0.0.1:%d/" % squid.port
    connections = 16 * work.workers ** 2  # enough for each worker, however they are shared out
    load = subprocess.Popen([env.need_program("wrk"), "-t1", "-c%d" % connections, "-d%ds" % seconds, "-s", path, target],
                            stdout=subprocess.PIPE, universal_newlines=True)
    env.on_close(load.kill)
    return load


def answered(load, squid):
    """(requests, requests a second) of what wrk() started, when that is done; ends the program if one failed."""
    text = load.communicate()[0]
    requests = int(re.search(r"(\d+) requests in", text).group(1))
    if not requests or "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit("%s: %s" % (squid.name, text))
    return requests, float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1))


class TlsClient(Client):
    def open(self):
        if self.socket is None:
            super().open()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        return self.socket


def client(squid):
    """A connection to squid as the workload wants it."""
    if squid.tls_port:
        return TlsClient(("127.0.0.1", squid.tls_port), 120)
    return Client(squid.client_address(), 120)


def environment(options):
    """Where the Squids live; options.orders becomes 0, and a line says so, where no other order can be linked."""
    import tempfile
    if options.orders and not can_shuffle():
        print("# the installed programs alone: there is no ld.lld to link others", flush=True)
        options.orders = 0
    folder = tempfile.mkdtemp(prefix="sqtrace-bench-")
    os.chmod(folder, 0o755)
    return Env(folder, options.squid, options.unpatched, options.tools, False, None)


def arguments(description, **orders):
    """orders: default and help of --orders, if it takes them"""
    import argparse
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--squid", required=True, type=os.path.abspath, metavar="PREFIX", help="a patched Squid")
    parser.add_argument("--unpatched", required=True, type=os.path.abspath, metavar="PREFIX",
                        help="its unpatched twin")
    parser.add_argument("--tools", required=True, type=os.path.abspath, metavar="BUILDDIR",
                        help="where sqtrace-dump was built")
    parser.add_argument("--workload", action="append", choices=list(WORKLOADS), help="default: all")
    if orders:
        parser.add_argument("--orders", type=int, **orders)
    else:
        parser.set_defaults(orders=0)
    return parser
