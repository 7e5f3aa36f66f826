# SPDX-License-Identifier: GPL-2.0-or-later
#
# columns.awk - comes before a program that reads TSV files with a header row.  For that,
#
#   file              is the number of the file
#   $c["name"]        the column of that name
#   head[1..fields]   the names, in their order
#   start[file]       when the times in it begin, in seconds of the epoch, where a comment says so

FNR == 1 { ++file; seen = 0 }
/^# start:/ {
    start[file] = $0
    sub(/^.*\(/, "", start[file])
    sub(/\).*$/, "", start[file])
    next
}
/^#/ { next }
!seen {
    seen = 1
    split("", c)
    fields = NF
    for (i = 1; i <= NF; ++i) {
        c[$i] = i
        head[i] = $i
    }
    next
}
