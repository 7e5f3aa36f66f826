# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=diskops-in-flight TRACE | gnuplot -c diskops-in-flight.gp diskops-in-flight.png

NAME = "diskops-in-flight"
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
set yrange [0:*]
set key @KEY noenhanced
of(dir, c) = strcol("dir") eq dir ? column(c) : NaN

plot for [i=1:words(DIRS)] $DATA using "time_s":(of(word(DIRS, i), "in_flight_mean")) with linespoints lw 2 pt 4 + i ps 0.8 \
        lc rgb colour(word(DIRS, i), i) title word(DIRS, i) . ", mean", \
     $DATA using "time_s":(of("all", "in_flight_max")) with lines dt 2 lw 1.3 lc rgb "#888888" title "all, most"
