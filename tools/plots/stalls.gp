# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=stalls TRACE | gnuplot -c stalls.gp stalls.png

NAME = "stalls"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# The work of a pass, and in it what took longest.
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max > 0 ? X_max * 1.02 : 1]
set yrange [0:*]
set key @KEY
what(i) = i < 3 ? word(strcol("stall"), 5) . " " . word(strcol("stall"), 6) : ""

plot $DATA using "time_s":"work_ms" with impulses lw 3 lc rgb "#56b4e9" title "work of the pass", \
     $DATA using "time_s":"longest_ms" with impulses lw 3 lc rgb "#d55e00" title "longest activity", \
     $DATA using "time_s":"work_ms" with points pt 7 ps 0.5 lc rgb "#0072b2" notitle
