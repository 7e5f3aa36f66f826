# SPDX-License-Identifier: GPL-2.0-or-later
#
# paired.awk - ratios of configurations to one of them, each within its round; with statistics.awk.  Reads values.tsv.
# The mean ratio is the geometric one, and its interval that of the mean of logarithms: so it is the same, turned over,
# whichever of two is the base, and of two that are alike it is 1.
#
#   metric, words    which value, and how it is called
#   names            configurations, in the order of their rows
#   base             the one that the others are divided by
#   percent          of the intervals of confidence

FNR == 1 { next }
$3 == metric && $4 != "-" {
    value[$1, $2] = $4
    round[$2] = 1
}

function show(name,    r, n, list, ratio, half, mean) {
    n = 0
    split("", list)
    split("", ratio)
    for (r in round)
        if (value[name, r] > 0 && value[base, r] > 0) {
            list[++n] = value[name, r]
            ratio[n] = log(value[name, r] / value[base, r])
        }
    printf "%-18s %17s", name, with_cv(list, n)
    if (name != base && n > 1) {
        mean = mean_of(ratio, n)
        half = interval_of(ratio, n, percent)
        printf "    %.4f  %.4f .. %.4f  %s", exp(mean), exp(mean - half), exp(mean + half), \
            (mean - half <= 0 && mean + half >= 0) ? "no difference" : (mean > 0) ? "more" : "less"
    }
    print ""
}

END {
    printf "%s\n%-18s %17s    %-6s  %d %% interval\n", words, "", "", "ratio", percent
    count = split(names, name, " ")
    show(base)
    for (i = 1; i <= count; ++i)
        show(name[i])
}
