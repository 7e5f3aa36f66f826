# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold between the rows of `swaps` and `ios`, and whose they are."""

import collections

from . import dump, native

# What an event of the server or store side is of: {event: XACT, SIO ...}.
SERVER_AND_STORE = {name: of for name, group, of in native.events_with("ID") if group in ("SERVER", "STORE")}


def by_swap(env, squid):
    """(rows of swaps, {(kid, sio): rows of ios in the order of their indices})"""
    swaps = dump.table(env, squid.directory, "swaps")
    blocks = collections.defaultdict(list)
    for row in dump.table(env, squid.directory, "ios"):
        blocks[row["kid"], row["sio"]].append(row)
    for found in blocks.values():
        found.sort(key=lambda row: int(row["index"]))
    return swaps, blocks


def covered(blocks):
    """How many bytes from 0 on the blocks' union covers without a hole."""
    reached = 0
    for row in sorted(blocks, key=lambda row: int(row["offset_bytes"])):
        if int(row["offset_bytes"]) > reached:
            break
        reached = max(reached, int(row["offset_bytes"]) + int(row["size_bytes"]))
    return reached


def check_agreement(env, swaps, blocks):
    """`swaps` and `ios` say the same about each other."""
    keys = collections.Counter((row["kid"], row["sio"]) for row in swaps)
    env.check(max(keys.values()) == 1, "a store I/O has two rows in swaps")
    env.check(set(blocks) <= set(keys), "blocks of no swap: %s" % list(set(blocks) - set(keys))[:3])
    for row in swaps:
        found = blocks[row["kid"], row["sio"]]
        what = "swap %s (%s, %s)" % (row["sio"], row["direction"], row["store"])
        env.equal(row.ns("ios"), len(found), what + ": blocks")
        env.equal([int(block["index"]) for block in found],
                  list(range(int(found[0]["index"]), int(found[0]["index"]) + len(found))) if found else [],
                  what + ": indices")
        for block in found:
            env.equal((block["direction"], block["dir"], block["xid"]), (row["direction"], row["dir"], row["xid"]),
                      what + ": block's direction, dir and xid")
            env.equal(block.ns("queue_ns") + block.ns("service_ns") + block.ns("notice_ns"), block.ns("total_ns"),
                      what + ": phases of a block")
        env.equal(sum(int(block["size_bytes"]) for block in found), row.ns("size_bytes"), what + ": sum of its blocks")
        if row["direction"] == "out" and row["outcome"] == "complete":
            env.equal(row.ns("image_bytes"), row.ns("size_bytes"), what + ": stored image")
        if row["outcome"] != "unfinished":
            parts = ("open_ns", "first_io_ns", "rest_io_ns", "idle_ns", "close_ns")
            env.equal(sum(row.ns(part) for part in parts), row.ns("total_ns"), what + ": sum of its phases")
        env.equal(row["atomic"], "1" if len(found) == 1 else "0", what + ": atomic")


def check_owned(env, squid, least):
    """No record of a client request's server, DNS or store side has id 0, and each names a transaction with a row."""
    requests = {(row["kid"], row["xid"]) for row in dump.table(env, squid.directory, "requests")}
    events = [row for row in dump.table(env, squid.directory, "events") if row["event"] in SERVER_AND_STORE]
    opened = 0
    for row in events:
        what = "%s at %s" % (row["event"], row["time_s"])
        if row["event"] in ("SWAPIN_OPEN", "SWAPOUT_OPEN"):
            opened += 1
            env.check((row["kid"], row["arg"]) in requests, "%s is of transaction %s" % (what, row["arg"]))
            env.check(row["id"] not in ("0", "-"), what + " has id " + row["id"])
        elif SERVER_AND_STORE[row["event"]] == "SIO":
            env.check(row["id"] not in ("0", "-"), what + " has id " + row["id"])
        elif SERVER_AND_STORE[row["event"]] == "XACT":
            env.check((row["kid"], row["id"]) in requests, "%s is of transaction %s" % (what, row["id"]))
        if len(env.failures) > 20:
            break
    env.check(opened >= least, "only %d swaps were opened" % opened)
    return events


def check_hits_have_swapins(env, squid):
    """Every disk hit has a swap-in with its request's id."""
    requests = dump.table(env, squid.directory, "requests")
    ins = {(row["kid"], row["xid"]) for row in dump.table(env, squid.directory, "swaps") if row["direction"] == "in"}
    hits = [row for row in requests if row["class"] == "disk_hit"]
    env.check(hits, "no disk hit")
    missing = [row["xid"] for row in hits if (row["kid"], row["xid"]) not in ins]
    env.check(not missing, "%d of %d disk hits have no swap-in: %s" % (len(missing), len(hits), missing[:5]))
    return requests
