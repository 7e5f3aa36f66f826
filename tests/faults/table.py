# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults, and what table `findings` must say of each."""

import collections
import re

import plant_clients as clients
import plant_disks as disks
import plant_healthy as healthy
import plant_loop as loop
import plant_servers as servers
import plant_services as services

# name    what `run` calls it
# plant   the function that plants it, and returns the culprit; its doc string says how
# causes  names of rules, one of which the finding must have
# place   1: the first finding.  2: the first or second, as the fault adds less than 20 % to what clients wait in the mean
# late    what it makes later for clients
# short   whether it is one of the ten that tools/check runs each time
Row = collections.namedtuple("Row", "name plant causes place late short")


class Fault(Row):
    def told(self, findings, culprit, place):
        """None if one of the first findings says what was planted, else what is wrong."""
        for row in findings[:place]:
            if row["cause"] in self.causes and (culprit is None or re.fullmatch(culprit, row["culprit"])):
                return None
        return "%s of %s is not among the first %d" % ("|".join(self.causes), culprit, place)

    @staticmethod
    def hurts(_):
        """Whether clients felt it: it is not looked at."""
        return True


FAULTS = [Fault(*row) for row in (
    # name, plant, causes, place, late, short
    ("name-server-slow", servers.slow_name_server, ["slow_name_server"], 1, "misses of new hosts, 200 ms", True),
    ("name-server-dead", servers.dead_name_server, ["slow_name_server", "no_answer"], 1, "misses of new hosts, 2 s", False),
    ("origin-slow", servers.slow_origin, ["slow_server"], 1, "a fifth of misses, 500 ms", True),
    ("parent-slow", servers.slow_parent, ["slow_server"], 1, "a third of misses, 400 ms", True),
    ("origin-closes-kept", servers.closes_kept, ["closed_connections"], 1, "a fifth of misses, 100 ms", False),
    ("leader-slow", servers.slow_leader, ["slow_leader", "collapsed"], 1, "all, 300 ms", False),
    ("round-trip", servers.round_trip, ["far_servers"], 1, "misses, 200 ms, 400 ms on a new connection", False),
    ("loss", servers.loss, ["lost_packets"], 1, "misses, when a packet is lost", False),
    ("origin-address-dead", servers.one_address, ["connect_server"], 1, "a fifth of misses, 250 ms or more", True),
    ("origin-tls", servers.origin_tls, ["tls_server"], 1, "misses, 80 ms", False),
    ("icap-slow", services.slow_icap, ["slow_service"], 1, "all, 200 ms", True),
    ("rewriter-slow", services.slow_rewriter, ["slow_rewriter"], 1, "all, 200 ms", True),
    ("rewriter-queue", services.one_rewriter, ["rewriter_queue"], 1, "all, ever more", False),
    ("acl-slow", services.slow_acl, ["slow_helper"], 1, "all, 200 ms", False),
    ("acl-queue", services.one_acl, ["helper_queue"], 1, "all, ever more", False),
    ("auth-slow", services.slow_auth, ["slow_helper"], 1, "a fifth, 300 ms", False),
    ("aufs-reads", disks.aufs_reads, ["disk_slow"], 1, "hits of one cache_dir, 80 ms", True),
    ("ufs-reads", disks.ufs_reads, ["loop_blocked", "disk_slow"], 1, "all, as each hit of one cache_dir holds the loop for 40 ms", False),
    ("aufs-threads", disks.aufs_threads, ["disk_queue"], 1, "hits, ever more", False),
    ("diskd-poll", disks.diskd_poll, ["diskd_poll"], 1, "hits, up to 10 ms for each block", True),
    ("memory-small", disks.small_memory, ["memory_small"], 1, "hits, 5 ms for each block", False),
    ("unlinks", disks.unlinks, ["loop_blocked"], 2, "all, as a replaced object holds the loop for up to 100 ms", False),
    ("swap-outs", disks.swap_outs, ["loop_blocked"], 1, "all, as each block written holds the loop for 4 ms", False),
    ("regexes", loop.regexes, ["loop_computing"], 1, "all", False),
    ("log-writes", loop.log_writes, ["loop_blocked"], 1, "all, as each request holds the loop for 12 ms", False),
    ("quota", loop.quota, ["not_running"], 1, "all", False),
    ("busy-core", loop.busy_core, ["not_running"], 1, "all", False),
    ("one-worker", loop.one_worker, ["one_worker"], 1, "all", False),
    ("clients-slow", clients.slow_clients, ["slow_clients"], 1, "all, as long as the client takes", True),
    ("delay-pool", clients.delay_pool, ["delay_pool"], 1, "misses, ever more", False),
    ("client-tls", clients.client_tls, ["client_tls"], 1, "all, a handshake", False),
    ("clients-reload", clients.reload, ["reloads"], 1, "three of four repeats, 10 ms", False),
    ("vary", clients.vary, ["vary"], 1, "most repeats, 10 ms", False),
    ("descriptors", clients.descriptors, ["descriptors"], 1, "all", False),
    ("backlog", clients.backlog, ["backlog_full"], 1, "all", False),
)]

# Two faults at once: both are among the first three findings.
PAIRS = [(one, other) for one, other in (
    ("name-server-slow", "aufs-reads"),
    ("origin-slow", "rewriter-slow"),
    ("origin-slow", "aufs-reads"),
    ("parent-slow", "icap-slow"),
    ("rewriter-slow", "acl-slow"),
    ("icap-slow", "aufs-reads"),
    ("name-server-slow", "origin-slow"),
    ("origin-tls", "rewriter-slow"),
    ("acl-slow", "origin-address-dead"),
    ("regexes", "origin-slow"),
)]

HEALTHY = [Fault("healthy-" + name, plant, ["healthy"], 1, "nothing", name == "mixed") for name, plant in (
    ("mixed", healthy.mixed),
    ("hits", healthy.hits),
    ("misses", healthy.misses),
    ("disk-hits", healthy.disk_hits),
    ("tls", healthy.tls),
    ("smp", healthy.smp),
    ("rock", healthy.rock),
    ("diskd", healthy.diskd),
    ("icap", healthy.icap),
    ("uploads", healthy.uploads),
    ("idle", healthy.idle),
    ("not-found", healthy.not_found),
    ("leave-early", healthy.leave_early),
    ("long-tunnels", healthy.long_tunnels),
    ("rotation", healthy.rotation),
    ("reconfiguration", healthy.reconfiguration),
    ("night", healthy.night),
    ("busy-machine", healthy.busy_machine),
    ("large-objects", healthy.large_objects),
)]
