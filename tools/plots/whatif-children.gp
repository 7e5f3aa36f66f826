# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=whatif-children TRACE | gnuplot -c whatif-children.gp whatif-children.png

NAME = "whatif-children"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

stats $DATA using (column("children")) name "X" nooutput
set logscale x 2
set xrange [X_min / 1.2 : X_max * 1.2]
set yrange [0:*]
set key @KEY

plot $DATA using "children":"mean_ms" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0072b2" title "mean", \
     $DATA using "children":"p99_ms" with linespoints lw 2 pt 7 ps 0.5 dt 2 lc rgb "#0072b2" title "99th percentile", \
     $DATA using "children":"now_ms" with points pt 6 ps 2 lw 2 lc rgb "#d55e00" title "now"
