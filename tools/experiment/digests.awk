# SPDX-License-Identifier: GPL-2.0-or-later
#
# digests.awk - whether the costs of look-ups and of updates, each measured alone, add up to that of digests; with
# statistics.awk.  Reads values.tsv.
#
#   percent  of the intervals of confidence

FNR == 1 { next }
{
    value[$1, $2, $3] = $4
    round[$2] = 1
}

# Whether all that is compared was run.
function complete(    r) {
    for (r in round)
        if (!(("off", r, "cpu_us") in value && ("on", r, "cpu_us") in value && ("no-lookups", r, "cpu_us") in value && \
                ("no-updates", r, "cpu_us") in value))
            return 0
    return 1
}

# What a configuration takes more than `off`, in each round; with `minus`, less what that takes more.
function list_of(name, metric, minus,    r) {
    n = 0
    split("", list)
    for (r in round)
        list[++n] = value[name, r, metric] - value["off", r, metric] - (minus ? extra[r] : 0)
}

function show(words,    mean, half) {
    mean = mean_of(list, n)
    half = interval_of(list, n, percent)
    printf "%-44s %10.4g", words, mean
    if (n > 1)
        printf "    %.4g .. %.4g", mean - half, mean + half
    print ""
    return n > 1 && mean - half <= 0 && mean + half >= 0
}

function sum_up(metric, words,    r, agrees) {
    printf "\n%s, more than without digests; with its %d %% interval\n", words, percent
    list_of("no-updates", metric)
    show("look-ups alone")
    list_of("no-lookups", metric)
    show("updates alone")
    for (r in round)
        extra[r] = value["no-updates", r, metric] + value["no-lookups", r, metric] - 2 * value["off", r, metric]
    list_of("on", metric)
    show("the whole")
    list_of("on", metric, 1)
    agrees = show("the whole less the sum")
    if (n > 1)
        print "The sum of the separate costs " (agrees ? "agrees" : "does not agree") " with the whole."
}

END {
    if (!complete())
        exit
    sum_up("cpu_us", "CPU of a request, us")
    sum_up("p50_ms", "response time p50, ms")
}
