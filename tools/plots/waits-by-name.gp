# SPDX-License-Identifier: GPL-2.0-or-later
#
# waits-by-name.gp - what server-waits.gp and service-waits.gp have in common: a line for each text of column OF.

load FOLDER . "common.gp"

NAMES = ""
do for [i=1:|$DATA|] {
    ONE = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && ONE ne OF && !strstrt(NAMES . " ", " " . ONE . " ")) { NAMES = NAMES . " " . ONE }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max > 0 ? X_max * 1.02 : 1]
set yrange [0:*]
set key @KEY noenhanced
set datafile missing NaN # others do not break a line
of(name, c) = strcol(OF) eq name ? column(c) : NaN

plot for [i=1:words(NAMES)] $DATA using "time_s":(of(word(NAMES, i), "mean_ms")) with linespoints lw 2 \
        pt 4 + i ps 0.8 lc rgb colour(word(NAMES, i), i) title word(NAMES, i)
