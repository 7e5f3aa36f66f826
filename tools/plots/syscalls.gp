# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=syscalls TRACE | gnuplot -c syscalls.gp syscalls.png

NAME = "syscalls"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Shares of the main thread's calls, each on top of those above it in the same window.
CLASSES = ""
TIME = ""
HIGH = 0.0
set print $STACK
print "time\twindow\tclass\tlow\thigh"
do for [i=1:|$DATA|] {
    LINE = $DATA[i]
    if (LINE[1:1] ne "#" && word(LINE, 3) eq "main") {
        CLASS = word(LINE, 4)
        if (!strstrt(CLASSES . " ", " " . CLASS . " ")) { CLASSES = CLASSES . " " . CLASS }
        LOW = word(LINE, 1) eq TIME ? HIGH : 0.0
        HIGH = LOW + real(word(LINE, 6))
        TIME = word(LINE, 1)
        print sprintf("%s\t%s\t%s\t%.9f\t%.9f", TIME, word(LINE, 10), CLASS, LOW, HIGH)
    }
}
unset print
N = words(CLASSES)
if (N < 1) {
    print "there are no rows: nothing to draw"
    exit status 1
}
stats $STACK using ($1 + $2) name "X" nooutput
set xrange [0:X_max]
set yrange [0:100]
set style fill solid noborder
set key @KEY noenhanced
PALETTE = "#cccccc #0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #f0e442 #8c564b #9467bd #7f7f7f #bcbd22 #2ca02c #d62728"
of(c, k) = strcol(3) eq c ? column(k) : NaN

plot for [i=1:N] $STACK using ($1):(of(word(CLASSES, i), 4)):($1):($1 + $2):(of(word(CLASSES, i), 4)):(of(word(CLASSES, i), 5)) \
    with boxxyerror lc rgb word(PALETTE, (i - 1) % words(PALETTE) + 1) title word(CLASSES, i)
