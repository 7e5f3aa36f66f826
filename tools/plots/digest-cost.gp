# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=digest-cost TRACE | gnuplot -c digest-cost.gp digest-cost.png

NAME = "digest-cost"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

PARTS = "p50 p95 p99"
PART_COLOURS = "#0072b2 #e69f00 #d55e00"
of(i) = column(word(PARTS, i) . "_ms")
set style fill solid noborder
set yrange [0:*]
set xrange [0.4:3.6]
set boxwidth 0.6
set xtics scale 0

plot for [i=1:3] $DATA using (i):(of(i)):xtic(word(PARTS, i)) with boxes lc rgb word(PART_COLOURS, i) notitle, \
     for [i=1:3] $DATA using (i):(of(i)):(sprintf(of(i) < 1000 ? "%.4g" : "%.0f", of(i))) with labels offset 0,0.7 font ",9" notitle
