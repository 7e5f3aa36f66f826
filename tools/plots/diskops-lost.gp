# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=diskops-lost TRACE | gnuplot -c diskops-lost.gp diskops-lost.png

NAME = "diskops-lost"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A line for each, from where it was asked for to the end of the trace.
stats $DATA using "time_s" name "X" nooutput
set xrange [0:*]
set yrange [-0.5:X_records - 0.5] reverse
set ytics 1
unset key
what(i) = sprintf("%s on %s", strcol("op"), strcol("dir"))
set format y ""

plot $DATA using "time_s":0:"waited_s":(0) with vectors nohead lw 3 lc rgb "#d55e00", \
     $DATA using "time_s":0 with points pt 7 ps 1 lc rgb "#d55e00", \
     $DATA using "time_s":0:(what(0)) with labels left offset 0.5,0.8 noenhanced
