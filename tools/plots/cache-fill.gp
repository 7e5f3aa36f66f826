# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=cache-fill TRACE | gnuplot -c cache-fill.gp cache-fill.png

NAME = "cache-fill"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Hit ratios to the left, what is stored to the right; the last curve, which cannot be seen, is for a trace without
# samples: gnuplot would not draw without a value to the right.
stats $DATA using "time_s" name "X" nooutput
HALF = X_records > 1 ? (X_max - X_min) / (X_records - 1) / 2 : 0.5
set xrange [X_min - HALF > 0 ? X_min - HALF : 0 : X_max + HALF]
set yrange [0:100]
set y2range [0:*]
set y2tics
set y2label "stored (MB)" offset 1,0
set border 11
set key @KEY
mb(c) = column(c) / 1e6

plot $DATA using "time_s":"dhr_pct" with linespoints lw 2 pt 7 ps 0.7 lc rgb colour("dhr", 1) title "hits of requests", \
     $DATA using "time_s":"bhr_pct" with linespoints lw 2 pt 5 ps 0.7 lc rgb colour("bhr", 2) title "hits of bytes", \
     $DATA using "time_s":(mb("disk_bytes")) axes x1y2 with lines lw 2 lc rgb "#009e73" title "on disk (right)", \
     $DATA using "time_s":(mb("memory_bytes")) axes x1y2 with lines lw 2 dt 2 lc rgb "#cc79a7" title "in memory (right)", \
     $DATA using "time_s":(1) axes x1y2 with dots lc rgb "#ffffffff" notitle
