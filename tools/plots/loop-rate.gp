# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=loop-rate TRACE | gnuplot -c loop-rate.gp loop-rate.png

NAME = "loop-rate"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Passes to the left, with room for a number that stands on its point; to the right the share of time that the loop waits.
stats $DATA using "time_s" name "X" nooutput
HALF = X_records > 1 ? (X_max - X_min) / (X_records - 1) / 2 : 0.5
set xrange [X_min - HALF > 0 ? X_min - HALF : 0 : X_max + HALF]
stats $DATA using "passes_per_s" name "Y" nooutput
set yrange [0:Y_max > 0 ? Y_max * 1.25 : 1]
set y2range [0:100]
set y2tics
set y2label "time in which it waits (%)"
set border 11
set key @KEY

plot $DATA using "time_s":"passes_per_s" with linespoints lw 2 pt 7 ps 0.7 lc rgb "#0072b2" title "passes", \
     $DATA using "time_s":"waiting_pct" axes x1y2 with linespoints lw 2 pt 5 ps 0.7 lc rgb "#009e73" title "waiting (right)", \
     $DATA using "time_s":"passes_per_s":(sprintf("%.3g", column("longest_ms"))) with labels rotate by 90 left \
         offset 0,0.6 font ",9" tc rgb "#d55e00" title "number: longest work, ms"
