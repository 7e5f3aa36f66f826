# SPDX-License-Identifier: GPL-2.0-or-later
#
# cache-fill.awk - system calls and passes of the loop while one load ran, from the tables syscalls (of a second each) and
# loops; with columns.awk.  Prints "metric<TAB>value".
#
#   from, until  when the load began and ended, in seconds of the epoch
#   step         becomes the end of the metrics' names

{ at = $c["time_s"] + start[file] }
# Windows that lie in the load's time wholly.
file == 1 && $c["thread"] == "main" && at >= from && at + $c["window_s"] <= until {
    time[$c["name"]] += $c["total_s"]
    calls[$c["name"]] += $c["count"]
    all += $c["total_s"]
    next
}
file == 2 && at >= from && at < until {
    ++passes
    work += $c["work_ns"]
}

function mean_of_calls(name, metric) {
    if (calls[name])
        printf "%s_%s\t%.6g\n", metric, step, time[name] / calls[name] * 1e6
}

END {
    mean_of_calls("open-read", "open_read_us")
    mean_of_calls("read-disk", "read_disk_us")
    if (all)
        printf "disk_pct_%s\t%.6g\n", step, 100 * (time["open-read"] + time["read-disk"] + time["open-write"] + \
            time["write-disk"] + time["close"]) / all
    if (passes) {
        printf "passes_s_%s\t%.6g\n", step, passes / (until - from)
        printf "pass_ms_%s\t%.6g\n", step, work / passes / 1e6
    }
}
