# SPDX-License-Identifier: GPL-2.0-or-later
#
# why.awk - where the clients' time went, of one run: by stage of their requests, and how much of it was disk.
#
# Reads tables diskops, swaps and requests of a trace, and the rows of sqtrace-load, whose times begin at load_start,
# in seconds of the epoch; with columns.awk.  Prints "metric<TAB>value".
#
# Disk is what requests spend in swap-ins of their own, and what clients wait while Squid's main thread is in an operation
# on a file for somebody else: where operations run in the main thread (ufs, rock without diskers), nobody goes on.

# ---- operations in the main thread ----

file == 1 && $c["seq"] == "-" && $c["io_ns"] != "-" {
    ++ops
    begin[ops] = $c["time_s"] + ($c["enqueued_ns"] + $c["dequeued_ns"]) / 1e9
    length_of[ops] = $c["io_ns"] / 1e9
    sum[ops] = sum[ops - 1] + length_of[ops]
    by_dir[$c["dir"]] += length_of[ops]
    by_sio[$c["kid"], $c["sio"]] += length_of[ops]
    next
}

# Seconds that the main thread was in such operations until then.
function held_until(t,    low, high, middle, part) {
    low = 0
    high = ops
    while (low < high) {
        middle = int((low + high + 1) / 2)
        if (begin[middle] <= t)
            low = middle
        else
            high = middle - 1
    }
    if (!low)
        return 0
    part = t - begin[low]
    return sum[low - 1] + (part < length_of[low] ? part : length_of[low])
}

# ---- whose swap-in it was ----

file == 2 && $c["direction"] == "in" {
    dir_of[$c["kid"], $c["xid"]] = $c["dir"]
    own += by_sio[$c["kid"], $c["sio"]]
    next
}

# ---- requests ----

file == 3 && $c["outcome"] == "complete" {
    ++requests
    total += $c["total_ns"]
    stage_time["client_connect_ns"] += $c["client_connect_ns"]
    for (i = 1; i <= fields; ++i)
        if (i > c["client_connect_ns"] && i < c["total_ns"])
            stage_time[head[i]] += $i
    disk = $c["swap_in_open_ns"] + $c["swap_in_first_ns"] + $c["swap_in_rest_ns"]
    swap_in += disk
    if (($c["kid"], $c["xid"]) in dir_of)
        swap_in_of[dir_of[$c["kid"], $c["xid"]]] += disk
    next
}

# ---- what clients saw ----

file == 4 && $c["total_ns"] != "-" {
    ++responses
    client += $c["total_ns"]
    at = $c["time_s"] + (load_start - start[1])
    held += (held_until(at + $c["total_ns"] / 1e9) - held_until(at)) * 1e9
    next
}

function print_value(name, ns) {
    printf "why_%s\t%.6f\n", name, ns / responses / 1e6
}

END {
    if (!responses || !requests)
        exit 0
    print_value("client_ms", client)
    print_value("squid_ms", total)
    for (name in stage_time) {
        key = name
        sub(/_ns$/, "_ms", key)
        print_value(key, stage_time[name])
    }
    held -= own * 1e9
    if (held < 0)
        held = 0
    for (dir in swap_in_of)
        print_value("swap_in_dir" dir "_ms", swap_in_of[dir])
    for (dir in by_dir)
        print_value("held_dir" dir "_ms", ops ? held * by_dir[dir] / sum[ops] : 0)
    print_value("held_ms", held)
    printf "why_disk_pct\t%.4f\n", 100 * (swap_in + held) / client
}
