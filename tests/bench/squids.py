# SPDX-License-Identifier: GPL-2.0-or-later
"""The Squids that the benchmarks compare: unpatched, patched with tracing off, and patched with everything on."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
sys.dont_write_bytecode = True

from lib.env import Env, free_port, wait_for  # noqa: E402
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
        listen 127.0.0.1:{port};
        location / {{ add_header Cache-Control "max-age=3600"; return 200 "{body}"; }}
    }}
}}
"""


def nginx(env):
    """An origin that answers every URL with the same cachable body; returns its port."""
    port = free_port()
    conf = env.path("nginx.conf")
    with open(conf, "w") as out:
        out.write(NGINX.format(folder=env.folder, port=port, body="x" * BODY))
    process = subprocess.Popen([env.need_program("nginx"), "-c", conf, "-p", env.folder],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.on_close(lambda: (process.terminate(), process.wait(10)))
    wait_for(lambda: listening(port), 10, "nginx")
    return port


def listening(port):
    import socket
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


# name -> squid.conf lines, cache_dir types
WORKLOADS = {
    "memory-hit": ("cache_mem 64 MB\n", []),
    "disk-hit-ufs": ("cache_mem 0\nmemory_cache_mode disk\n", ["ufs"]),
    "disk-hit-aufs": ("cache_mem 0\nmemory_cache_mode disk\n", ["aufs"]),
    "disk-hit-diskd": ("cache_mem 0\nmemory_cache_mode disk\n", ["diskd"]),
    "miss": ("cache deny all\n", []),
}

# name -> (which prefix, directive)
VARIANTS = {
    "unpatched": ("unpatched", None),
    "unpatched again": ("unpatched", None),
    "patched, off": ("squid", None),
    "patched, on": ("squid", ""),
}


def variant(env, name, workload, **more):
    """A Squid of that variant for that workload, not started."""
    which, trace = VARIANTS[name]
    lines, dirs = WORKLOADS[workload]
    prefix = env.squid if which == "squid" else env.unpatched
    return Squid(env, name.replace(" ", "").replace(",", "-") + "-" + workload, prefix=prefix, trace=trace, dirs=dirs,
                 lines=lines, **more)


def environment(options):
    import tempfile
    folder = tempfile.mkdtemp(prefix="sqtrace-bench-")
    os.chmod(folder, 0o755)
    return Env(folder, options.squid, options.unpatched, options.tools, False)


def arguments(description):
    import argparse
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--squid", required=True, metavar="PREFIX", help="a patched Squid")
    parser.add_argument("--unpatched", required=True, metavar="PREFIX", help="its unpatched twin")
    parser.add_argument("--tools", required=True, metavar="BUILDDIR", help="where sqtrace-dump was built")
    parser.add_argument("--workload", action="append", choices=sorted(WORKLOADS), help="default: all")
    return parser
