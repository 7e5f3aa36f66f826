# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=syscall-trend TRACE | gnuplot -c syscall-trend.gp syscall-trend.png

NAME = "syscall-trend"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"
# A curve goes on behind the rows of others.
set datafile missing NaN

# A line for each class.
CLASSES = ""
do for [i=1:|$DATA|] {
    CLASS = word($DATA[i], 3)
    if ($DATA[i][1:1] ne "#" && CLASS ne "name" && !strstrt(CLASSES . " ", " " . CLASS . " ")) { CLASSES = CLASSES . " " . CLASS }
}
stats $DATA using "time_s" name "X" nooutput
stats $DATA using "mean_ms" name "Y" nooutput
set xrange [0:X_max > 0 ? X_max * 1.04 : 10]
if (Y_min > 0 && Y_max / Y_min > 30) { set logscale y } else { set yrange [0:*] }
set key @KEY noenhanced
of(c) = strcol("name") eq c ? column("mean_ms") : NaN

plot for [i=1:words(CLASSES)] $DATA using "time_s":(of(word(CLASSES, i))) with linespoints lw 2 pt 4 + i ps 0.9 \
    lc rgb colour(word(CLASSES, i), i) title word(CLASSES, i)
