# SPDX-License-Identifier: GPL-2.0-or-later
#
# compare.awk - a column for each configuration, a row for each metric; with statistics.awk.  Reads values.tsv, then the
# table of rows.
#
#   wanted   which table of the rows
#   names    configurations, in the order of their columns

FNR == 1 { ++file; header = 0; columns = split(names, column, " ") }
/^#/ { next }
!header {
    header = 1
    for (i = 1; i <= NF; ++i)
        c[file, $i] = i
    next
}
file == 1 {
    key = $1 SUBSEP $3
    if ($4 != "-")
        value[key, ++count[key]] = $4
    next
}
$c[2, "table"] == wanted {
    if (!any++) {
        printf "%-26s", ""
        for (i = 1; i <= columns; ++i)
            printf " %17s", column[i]
        print ""
    }
    printf "%-26s", $c[2, "label"]
    for (i = 1; i <= columns; ++i) {
        key = column[i] SUBSEP $c[2, "metric"]
        split("", list)
        for (k = 1; k <= count[key]; ++k)
            list[k] = value[key, k]
        printf " %17s", with_cv(list, count[key] + 0)
    }
    print ""
}
