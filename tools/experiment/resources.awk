# SPDX-License-Identifier: GPL-2.0-or-later
#
# resources.awk - use of disks and machine while the load ran, from the table samples; with columns.awk.  Prints
# "metric<TAB>value".
#
#   from, until  when the load began and ended, in seconds of the epoch
#   disks        numbers of the disks in the tables, in the order of their cache_dirs

$c["name"] == "device" {
    device[$c["source"]] = $c["value"]
    next
}
{
    at = $c["time_s"] + start[file]
    key = $c["source"] SUBSEP $c["name"]
    if (at < from || at > until)
        next
    if (!(key in first)) {
        first[key] = $c["value"]
        begin[key] = at
    }
    last[key] = $c["value"]
    end[key] = at
}

function grew(source, name) { return last[source, name] - first[source, name] }
function seconds(source, name) { return end[source, name] - begin[source, name] }

# Growth of a counter a second; nothing if there are fewer than two samples.
function rate(source, name, factor, metric,    time) {
    time = seconds(source, name)
    if (time > 0)
        printf "%s\t%.6g\n", metric, grew(source, name) * factor / time
}

function disk_rows(source, metric,    operations, time) {
    rate(source, "reads", 1, metric "reads_s")
    rate(source, "writes", 1, metric "writes_s")
    rate(source, "read_bytes", 1 / 1024, metric "read_kb_s")
    rate(source, "written_bytes", 1 / 1024, metric "written_kb_s")
    rate(source, "busy_ms", 0.1, metric "busy_pct")
    rate(source, "queue_ms", 0.001, metric "queue")
    operations = grew(source, "reads") + grew(source, "writes")
    if (operations)
        printf "%ssvc_t\t%.6g\n", metric, (grew(source, "read_ms") + grew(source, "write_ms")) / operations
    # One is at the disk whenever it is busy; the others wait.
    time = seconds(source, "busy_ms")
    if (time > 0)
        printf "%swait\t%.6g\n", metric, (grew(source, "queue_ms") - grew(source, "busy_ms")) / time / 1000
}

END {
    for (n = split(disks, number, " "); n > 0; --n)
        for (source in device)
            if (source ~ /^disk / && device[source] == device["cache_dir " (n - 1)])
                disk_rows(source, "disk" number[n] "_")
    split("idle user system iowait steal", kind, " ")
    for (i = 1; i <= 5; ++i)
        cpu += grew("machine", "cpu_" kind[i] "_ms")
    if (cpu > 0) {
        printf "cpu_idle_pct\t%.6g\n", 100 * (grew("machine", "cpu_idle_ms") + grew("machine", "cpu_iowait_ms")) / cpu
        printf "cpu_user_pct\t%.6g\n", 100 * grew("machine", "cpu_user_ms") / cpu
        printf "cpu_system_pct\t%.6g\n", 100 * grew("machine", "cpu_system_ms") / cpu
    }
    rate("machine", "paged_in_kb", 1, "page_in_s")
    rate("machine", "paged_out_kb", 1, "page_out_s")
}
