# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=held-back TRACE | gnuplot -c held-back.gp held-back.png

NAME = "held-back"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A line for each delay pool.
POOLS = ""
do for [i=1:|$DATA|] {
    POOL = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && POOL ne "pool" && !strstrt(POOLS . " ", " " . POOL . " ")) { POOLS = POOLS . " " . POOL }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max > 0 ? X_max * 1.02 : 1]
set yrange [0:*]
set key @KEY
set datafile missing NaN # other pools do not break a line
of(pool, c) = strcol("pool") eq pool ? column(c) : NaN

plot for [i=1:words(POOLS)] $DATA using "time_s":(of(word(POOLS, i), "held_mean_ms") / 1000) with linespoints lw 2 \
        pt 4 + i ps 0.8 lc rgb colour(word(POOLS, i), i) title "pool " . word(POOLS, i)
