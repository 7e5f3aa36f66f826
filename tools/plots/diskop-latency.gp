# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=diskop-latency TRACE | gnuplot -c diskop-latency.gp diskop-latency.png

NAME = "diskop-latency"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"
# A curve goes on behind the rows of others.
set datafile missing NaN

# A plot for each kind of operation, with its own scale.
OPS = ""
do for [i=1:|$DATA|] {
    OP = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && OP ne "op" && !strstrt(OPS . " ", " " . OP . " ")) { OPS = OPS . " " . OP }
}
# A point alone is no curve, so it has no panel if others have more.
CURVED = ""
do for [i=1:words(OPS)] {
    if (int(sum [k=1:|$DATA|] ($DATA[k][1:1] ne "#" && word($DATA[k], 2) eq word(OPS, i))) > 1) { CURVED = CURVED . " " . word(OPS, i) }
}
if (words(CURVED) > 0) { OPS = CURVED }
WIDE = exists("NARROW") || words(OPS) < 2 ? 1 : 2
HIGH = (words(OPS) + WIDE - 1) / WIDE
PICTURE_HIGH = 40 + (exists("NARROW") ? 340 : 260) * HIGH
set terminal @TERMINAL
set output OUTPUT

STAGES = "enqueued dequeued io copy complete finished"
COLOURS = "#cc79a7 #d55e00 #0072b2 #f0e442 #009e73 #e69f00"
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max > 0 ? X_max * 1.04 : 1]
# Three or four tics have room.
if (X_max > 0) { set xtics round_step(X_max / 3, 10 ** floor(log10(X_max / 3))) }
set yrange [0:*]
of(op, c) = strcol("op") eq op ? column(c) : NaN
# The place of a column, and how many values of an operation are there.
place(c) = int(sum [k=1:words(HEADER)] (word(HEADER, k) eq c ? k : 0))
values(op, k) = int(sum [i=1:|$DATA|] (word($DATA[i], 2) eq op && word($DATA[i], k) ne "-"))

if (exists("UNTITLED")) { TITLE = "" }
set multiplot layout HIGH,WIDE title TITLE noenhanced
unset title
do for [p=1:words(OPS)] {
    OP = word(OPS, p)
    SEEN = ""
    do for [i=1:words(STAGES)] {
        if (values(OP, place(word(STAGES, i) . "_mean_ms")) > 0) { SEEN = SEEN . " " . i }
    }
    set title OP noenhanced
    set key @KEY noenhanced
    plot for [k=1:words(SEEN)] $DATA using "time_s":(of(OP, word(STAGES, int(word(SEEN, k))) . "_mean_ms")):(column("partial") == 1 ? 6 : 7) \
        with linespoints lw 1.6 ps 0.7 pt variable lc rgb word(COLOURS, int(word(SEEN, k))) title word(STAGES, int(word(SEEN, k)))
}
unset multiplot
