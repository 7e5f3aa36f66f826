# SPDX-License-Identifier: GPL-2.0-or-later
#
# common.gp - what all plots share.  Each loads it with
#   NAME     of the figure
#   OUTPUT   file to draw: SVG or PDF if its name says so, else PNG; NAME.png if empty
#   INPUT    what to read, made by sqtrace-dump; the standard input if empty or "-"

if (OUTPUT eq "") { OUTPUT = NAME . ".png" }
if (INPUT eq "" || INPUT eq "-") { INPUT = "/dev/stdin" }

if (strlen(OUTPUT) > 4 && OUTPUT[strlen(OUTPUT)-3:] eq ".svg") {
    set terminal svg size 1100,600 dynamic background rgb "white" font "sans,13"
} else { if (strlen(OUTPUT) > 4 && OUTPUT[strlen(OUTPUT)-3:] eq ".pdf") {
    set terminal pdfcairo size 22cm,12cm font "sans,11"
} else {
    set terminal pngcairo size 1100,600 font "sans,11"
} }
set output OUTPUT

# The standard input can be read only once, so its lines go to $DATA first.
set datafile separator "\001"
set table $DATA
plot INPUT using (stringcolumn(1)) with table
unset table
if (|$DATA| < 2) {
    print "there are no rows: nothing to draw"
    exit status 1
}

set datafile separator "\t"
set datafile missing "-"
set key autotitle columnhead
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
