# SPDX-License-Identifier: GPL-2.0-or-later
#
# digests.awk - whether the costs of look-ups, of updates and of false hits, each measured alone, add up to that of
# digests; with statistics.awk.  Reads values.tsv.  Costs are in % of what there is without digests in the same round.
#
#   percent  of the intervals of confidence

BEGIN { compared = split("off on no-lookups no-updates no-false-hits", name, " ") }
FNR == 1 { next }
{
    value[$1, $2, $3] = $4
    if (!($2 in round))
        ++rounds
    round[$2] = 1
}

# Whether all that is compared was run.
function complete(    r, i) {
    for (r in round)
        for (i = 1; i <= compared; ++i)
            if (!((name[i], r, "cpu_us") in value))
                return 0
    return 1
}

# What the one takes more than the other, by round.
function take(cost, metric, more, less,    r) {
    for (r in round)
        cost[r] = 100 * (value[more, r, metric] - value[less, r, metric]) / value["off", r, metric]
}

# Says whether the interval holds 0.
function show(words, cost,    r, n, list, mean, half) {
    for (r in round)
        list[++n] = cost[r]
    mean = mean_of(list, n)
    half = interval_of(list, n, percent)
    printf "%-44s %10.4g", words, mean
    if (rounds > 1)
        printf "    %.4g .. %.4g", mean - half, mean + half
    print ""
    return rounds > 1 && mean - half <= 0 && mean + half >= 0
}

function sum_up(metric, words,    r, lookups, updates, false_hits, whole, rest, agrees) {
    take(lookups, metric, "no-updates", "off")
    take(updates, metric, "no-lookups", "off")
    take(false_hits, metric, "on", "no-false-hits")
    take(whole, metric, "on", "off")
    for (r in round)
        rest[r] = whole[r] - lookups[r] - updates[r] - false_hits[r]
    printf "\n%s, %% more than without digests in the same round; with its %d %% interval\n", words, percent
    show("look-ups alone", lookups)
    show("updates alone", updates)
    show("false hits alone", false_hits)
    show("the whole", whole)
    agrees = show("the whole less the sum", rest)
    if (rounds > 1)
        print "The sum of the separate costs " (agrees ? "agrees" : "does not agree") " with the whole."
}

END {
    if (!complete())
        exit
    sum_up("cpu_us", "CPU of a request")
    sum_up("p50_ms", "response time p50")
}
