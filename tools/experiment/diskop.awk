# SPDX-License-Identifier: GPL-2.0-or-later
#
# diskop.awk - disk operations at full load and in the idle phase, of one run: time in each stage by kind of operation,
# operations in flight, and those that never came back.
#
# Reads the results of sqtrace-load and the table diskops; with columns.awk.  Prints "metric<TAB>value".
#
#   load_start  when the times of sqtrace-load begin, in seconds of the epoch
#   settle      how long a phase still sees what was asked for before it, s; but at most half of the phase

# ---- when the phases were, and what clients saw in them ----

file == 1 {
    phase = ($c["phase"] == "top1") ? "full" : ($c["phase"] == "idle") ? "idle" : ""
    if (phase && $c["class"] == "all") {
        begin = load_start + $c["begin_s"]
        until[phase] = begin + $c["duration_s"]
        from[phase] = begin + (2 * settle < $c["duration_s"] ? settle : $c["duration_s"] / 2)
    }
    if (phase && $c["class"] == "hit" && $c["mean_ms"] != "-")
        print phase "_hit_ms\t" $c["mean_ms"]
    next
}

# ---- operations ----

# Adds what is known of a stage.
function add(stage, ns) {
    if (ns != "-") {
        time[phase, $c["op"], stage] += ns
        known[phase, $c["op"], stage] = 1
    }
}

$c["result"] == "unfinished" { ++lost }
$c["result"] != "complete" { next }
{
    begin = start[file] + $c["time_s"]
    end = begin + $c["total_ns"] / 1e9
    for (phase in from) {
        if (begin < until[phase] && end > from[phase])
            flight[phase] += (end < until[phase] ? end : until[phase]) - (begin > from[phase] ? begin : from[phase])
        if (begin < from[phase] || begin >= until[phase])
            continue
        ++all[phase]
        ++count[phase, $c["op"]]
        add("queue", $c["enqueued_ns"])
        add("queue", $c["dequeued_ns"])
        add("io", $c["io_ns"])
        add("io", $c["copy_ns"])
        add("notice", $c["complete_ns"])
        add("serve", $c["finished_ns"])
    }
}

END {
    for (phase in from) {
        printf "%s_ops_s\t%.6g\n", phase, all[phase] / (until[phase] - from[phase])
        printf "%s_in_flight\t%.6g\n", phase, flight[phase] / (until[phase] - from[phase])
    }
    for (key in known) {
        split(key, part, SUBSEP)
        printf "%s_%s_%s_ms\t%.6f\n", part[1], part[2], part[3], time[key] / count[part[1], part[2]] / 1e6
    }
    printf "lost\t%d\n", lost
}
