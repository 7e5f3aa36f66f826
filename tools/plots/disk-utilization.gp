# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=disk-utilization TRACE | gnuplot -c disk-utilization.gp disk-utilization.png

NAME = "disk-utilization"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A line for each cache_dir, and one for all of them.
DIRS = ""
do for [i=1:|$DATA|] {
    DIR = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && DIR ne "dir" && !strstrt(DIRS . " ", " " . DIR . " ")) { DIRS = DIRS . " " . DIR }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max * 1.02]
stats $DATA using "all_pct" name "Y" nooutput
set yrange [0:Y_max > 40 ? 100 : Y_max > 0 ? Y_max * 1.1 : 1]
set key @KEY
of(dir, c) = strcol("dir") eq dir ? column(c) : NaN

plot for [i=1:words(DIRS)] $DATA using "time_s":(of(word(DIRS, i), "all_pct")) with linespoints lw 2 pt 4 + i ps 0.8 \
        lc rgb colour(word(DIRS, i), i) title word(DIRS, i), \
     $DATA using "time_s":(of("all", "in_pct")) with lines dt 2 lw 1.3 lc rgb "#888888" title "all, in", \
     $DATA using "time_s":(of("all", "out_pct")) with lines dt 4 lw 1.3 lc rgb "#bbbbbb" title "all, out"
