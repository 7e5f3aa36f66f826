# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=loop-rate TRACE | gnuplot -c loop-rate.gp loop-rate.png

NAME = "loop-rate"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Passes to the left, to the right the share of time that the loop waits, and where its longest work was.
stats $DATA using "time_s" name "X" nooutput
HALF = X_records > 1 ? (X_max - X_min) / (X_records - 1) / 2 : 0.5
set xrange [X_min - HALF > 0 ? X_min - HALF : 0 : X_max + HALF]
stats $DATA using "passes_per_s" name "Y" nooutput
if (exists("NARROW")) { set xtics four(X_max - X_min + 2 * HALF) }
set yrange [0:Y_max > 0 ? Y_max * 1.25 : 1]
set y2range [0:100]
set y2tics
set y2label "time in which it waits (%)"
set border 11
set key @KEY

place(c) = int(sum [k=1:words(HEADER)] (word(HEADER, k) eq c ? k : 0))
AT = 0
WORK = 0
do for [i=1:|$DATA|] {
    CELL = $DATA[i][1:1] eq "#" ? "-" : word($DATA[i], place("longest_ms"))
    if (CELL ne "-" && CELL ne "longest_ms") { if (CELL + 0 > WORK) { WORK = CELL + 0; AT = word($DATA[i], 1) + 0 } }
}
SIDE = AT > (X_min + X_max) / 2 ? "right offset -0.5,0" : "left offset 0.5,0"
if (WORK > 0) {
    set arrow 1 from AT, graph 0 to AT, graph 0.93 nohead lw 1.3 dt 3 lc rgb "#d55e00"
    set label 1 sprintf("longest work: %.3g ms", WORK) at AT, graph 0.9 font ",11" tc rgb "#d55e00" @SIDE
}

plot $DATA using "time_s":"passes_per_s" with linespoints lw 2 pt 7 ps 0.7 lc rgb "#0072b2" title "passes", \
     $DATA using "time_s":"waiting_pct" axes x1y2 with linespoints lw 2 pt 5 ps 0.7 lc rgb "#009e73" title "waiting (right)"
