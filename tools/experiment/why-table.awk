# SPDX-License-Identifier: GPL-2.0-or-later
#
# why-table.awk - disk-arms-why, from values.tsv; with statistics.awk.
#
#   names    configurations, in the order of their columns

function row(label, metric, indent,    i, k, list, any) {
    for (i = 1; i <= columns; ++i)
        any += count[column[i], metric]
    if (!any)
        return
    printf "%-26s", label
    for (i = 1; i <= columns; ++i) {
        split("", list)
        for (k = 1; k <= count[column[i], metric]; ++k)
            list[k] = value[column[i], metric, k]
        printf " %17s", with_cv(list, count[column[i], metric] + 0)
    }
    print ""
}

function mean_value(name, metric,    k, list) {
    for (k = 1; k <= count[name, metric]; ++k)
        list[k] = value[name, metric, k]
    return mean_of(list, count[name, metric] + 0)
}

BEGIN { columns = split(names, column, " ") }
FNR == 1 { next }
$3 ~ /^why_/ {
    if (!(($1, $3) in count) && !($3 in known)) {
        known[$3] = 1
        metrics[++metric_count] = $3
    }
    value[$1, $3, ++count[$1, $3]] = $4
}
END {
    printf "%-26s", ""
    for (i = 1; i <= columns; ++i)
        printf " %17s", column[i]
    print ""
    row("what the client waited", "why_client_ms")
    row("in Squid", "why_squid_ms")
    # Stages, where the most time is first.
    for (k = 1; k <= metric_count; ++k)
        if (metrics[k] !~ /_dir|_pct$|why_(client|squid|held)_ms$/)
            for (i = 1; i <= columns; ++i)
                most[metrics[k]] += mean_value(column[i], metrics[k])
    for (;;) {
        best = ""
        for (name in most)
            if (best == "" || most[name] > most[best])
                best = name
        if (best == "" || most[best] < 0.001)
            break
        label = best
        sub(/^why_/, "", label)
        sub(/_ms$/, "", label)
        gsub(/_/, " ", label)
        row("  " label, best)
        delete most[best]
    }
    for (k = 1; k <= metric_count; ++k)
        if (metrics[k] ~ /swap_in_dir/) {
            label = metrics[k]
            gsub(/[^0-9]/, "", label)
            row("swap-ins, cache_dir " label, metrics[k])
        }
    for (k = 1; k <= metric_count; ++k)
        if (metrics[k] ~ /held_dir/) {
            label = metrics[k]
            gsub(/[^0-9]/, "", label)
            row("loop held, cache_dir " label, metrics[k])
        }
    row("disk, % of the time", "why_disk_pct")
    for (i = 1; i <= columns; ++i)
        if (mean_value(column[i], "why_client_ms")) {
            share = mean_value(column[i], "why_disk_pct")
            words = (share < 5) ? "under 5 %" : (share > 50) ? "over 50 %" : "between 5 % and 50 %"
            printf "%s: the disk's share of the clients' time is %s: %.1f %%.\n", column[i], words, share
        }
}
