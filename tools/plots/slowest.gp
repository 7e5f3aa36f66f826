# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=slowest TRACE | gnuplot -c slowest.gp slowest.png

NAME = "slowest"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

load FOLDER . "stage-colours.gp"
N = words(STAGES)
array SEEN[N]
do for [i=1:N] { SEEN[i] = 0 }
do for [k=1:|$DATA|] { do for [i=1:N] { if ($DATA[k][1:1] ne "#" && word($DATA[k], 9) eq word(STAGES, i)) { SEEN[i] = 1 } } }
stats $DATA using "rank" name "R" nooutput
set style fill solid noborder
set xrange [0.4:R_max + 0.6]
set yrange [0:*]
set xtics 1, exists("NARROW") ? 2 : 1 scale 0
set key @KEY
low(s) = strcol("stage") eq s ? column("upto_ms") - column("stage_ms") : NaN
high(s) = strcol("stage") eq s ? column("upto_ms") : NaN

plot for [i=N:1:-1] $DATA using (SEEN[i] ? column("rank") : NaN):(low(word(STAGES, i))):(column("rank") - 0.4):(column("rank") + 0.4):(low(word(STAGES, i))):(high(word(STAGES, i))) \
    with boxxyerror lc rgb word(STAGE_COLOURS, i) title SEEN[i] ? spaced(word(STAGES, i)) : ""
