# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=diskop-share TRACE | gnuplot -c diskop-share.gp diskop-share.png

NAME = "diskop-share"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A bar for each kind of operation and cache_dir.
PARTS = "queue service notice serve"
PART_COLOURS = "#d55e00 #0072b2 #009e73 #e69f00"
upto(i) = sum [k=1:i] column(word(PARTS, k) . "_pct")
set style fill solid noborder
set yrange [0:100]
set xrange [-0.6:ROWS - 0.4]
set boxwidth 0.8
set xtics scale 0 rotate by exists("NARROW") ? -90 : -40 noenhanced
set key @KEY
if (exists("NARROW")) { set xtics font ",11" }
what(i) = sprintf("%s %s", strcol("dir"), strcol("op"))

plot for [i=4:1:-1] $DATA using 0:(upto(i)):xtic(what(0)) with boxes lc rgb word(PART_COLOURS, i) title word(PARTS, i)
