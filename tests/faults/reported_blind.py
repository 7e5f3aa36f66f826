# SPDX-License-Identifier: GPL-2.0-or-later
"""Troubles of kinds that operators have, planted blindly, and what table `findings` must say of each: reports.md has the
sentence that a person would want to read.

This table was committed before any of them was held against `findings`.  It must not be fitted to what `findings` says.
"""

import blind_servers as servers
import blind_services as services
from reported_more import status
from troubles import Trouble, fail, slow

BLIND = [Trouble("blind-" + name, plant, "-", *rest) for name, plant, *rest in (
    ("slow-certificate", servers.slow_certificate, r"127\.0\.1\.3:8000", r"TLS|handshake|certificate",
     "a fifth of the tunnels: 700 ms", slow(120, 700)),
    ("slow-directory", services.slow_directory, r"auth basic", r"busy|queue|children", "one in twelve: 1.2 s, others behind them",
     slow(100, 1200)),
    ("pipe-log", services.pipe_log, r"log", r"write|log", "all wait for a second, again and again", slow(30, 800)),
    ("tried-again", servers.tried_again, r"pluto", r"503|fail|again|retr|error", "a third of misses: 250 ms", slow(30, 250)),
    ("options-again", services.options_again, r"clamav|reconfigur", r"OPTIONS|options", "all: up to 1.2 s, four times",
     slow(80, 1000)),
    ("first-fails", servers.first_fails, r"127\.7\.7\.99", r"SERVFAIL|fail|error", "misses: 600 ms", slow(150, 590)),
    ("writes-before-reads", services.writes_before_reads, r"aufs.*cache-aufs-two|write on cache_dir 1 ", r"writ|thread|queue",
     "hits wait for seconds", slow(50, 500)),
    ("held-tunnels", services.held_tunnels, r"delay pool 1", r"delay|held|limit|KB/s", "tunnels take longer and longer",
     slow(300, 1500)),
    ("overloaded-acl", services.overloaded_acl, r"external_acl group|staff|group", r"queue|overload|busy|full|room",
     "half: 403", status("403", 200)),
    ("parent-without-name", servers.parent_without_name, r"moon|o11|127\.7\.7\.53", r"address|name|resolv|look-?up|DNS",
     "all misses: an error", fail(200)),
    ("heavy-tail", servers.heavy_tail, r"127\.0\.1\.3:8000", r"waiting for|slow|took|takes|answer", "some misses of one origin: 4 s",
     slow(30, 3000)),
    ("dropped-source", servers.dropped_source, r"127\.5\.5\.5|tcp_outgoing_address|127\.0\.1\.3:8000",
     r"connect|127\.5\.5\.5", "a fifth of misses: an error after 2 s", fail(60)),
    ("only-if-cached", servers.only_if_cached, r"only-if-cached|client|504", r"only-if-cached|504",
     "one in some: 504", status("504", 40)),
    ("few-open-files", services.few_open_files, r"max_open_disk_fds|cache_dir|aufs|cache|store",
     r"max_open_disk_fds|not stored|not kept|open|too many", "repeats are misses: 100 ms", slow(60, 100)),
)]
