# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=syscalls TRACE | gnuplot -c syscalls.gp syscalls.png

NAME = "syscalls"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# What the main thread's time goes to while it does not wait, in each window the calls on top of each other: the MOST
# with the largest part, and the others together.  Several kids stand side by side.
WAITS = " epoll_wait poll select "
MOST = 11
of_main(line) = line[1:1] ne "#" && word(line, 3) eq "main" && !strstrt(WAITS, " " . word(line, 4) . " ")
KIDS = " "
CLASSES = " "
array TOTAL[1000] # by the place of its class in CLASSES
do for [i=1:|$DATA|] {
    LINE = $DATA[i]
    if (of_main(LINE)) {
        if (!strstrt(KIDS, " " . word(LINE, 2) . " ")) { KIDS = KIDS . word(LINE, 2) . " " }
        AT = strstrt(CLASSES, " " . word(LINE, 4) . " ")
        if (!AT) {
            AT = strlen(CLASSES)
            CLASSES = CLASSES . word(LINE, 4) . " "
            TOTAL[AT] = 0.0
        }
        TOTAL[AT] = TOTAL[AT] + real(word(LINE, 5))
    }
}
if (words(CLASSES) < 1) {
    print "there are no rows: nothing to draw"
    exit status 1
}
LARGE = " "
do for [n=1:(words(CLASSES) > MOST + 1 ? MOST : words(CLASSES))] {
    LARGEST = ""
    do for [c in CLASSES] {
        if (!strstrt(LARGE, " " . c . " ")) {
            if (LARGEST eq "") { LARGEST = c }
            if (TOTAL[strstrt(CLASSES, " " . c . " ")] > TOTAL[strstrt(CLASSES, " " . LARGEST . " ")]) { LARGEST = c }
        }
    }
    LARGE = LARGE . LARGEST . " "
}
HIGH = 0.0
REST = 0.0
FROM = ""
set print $STACK
do for [i=1:|$DATA|+1] {
    LINE = i > |$DATA| ? "" : $DATA[i]
    if (FROM ne "" && (LINE eq "" || word(LINE, 1) . word(LINE, 2) ne FROM)) {
        print sprintf("%.9f\t%.9f\tothers\t%.9f\t%.9f", LEFT, RIGHT, HIGH, HIGH + REST)
        HIGH = 0.0
        REST = 0.0
        FROM = ""
    }
    if (LINE ne "" && of_main(LINE)) {
        FROM = word(LINE, 1) . word(LINE, 2)
        WINDOW = real(word(LINE, 10))
        SHARE = 100 * real(word(LINE, 5)) / WINDOW
        KID = words(KIDS[1:strstrt(KIDS, " " . word(LINE, 2) . " ")])
        LEFT = real(word(LINE, 1)) + WINDOW * KID / words(KIDS)
        RIGHT = LEFT + WINDOW / words(KIDS)
        if (strstrt(LARGE, " " . word(LINE, 4) . " ")) {
            print sprintf("%.9f\t%.9f\t%s\t%.9f\t%.9f", LEFT, RIGHT, word(LINE, 4), HIGH, HIGH + SHARE)
            HIGH = HIGH + SHARE
        } else {
            REST = REST + SHARE
        }
    }
}
unset print
set key noautotitle
stats $STACK using 2 name "X" nooutput
set xrange [0:X_max]
set yrange [0:*]
set style fill solid noborder
set key @KEY noenhanced
PALETTE = "#cccccc #0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #f0e442 #8c564b #9467bd #bcbd22 #7f7f7f"
NAMES = words(CLASSES) > words(LARGE) ? LARGE . "others" : LARGE
of(c, k) = strcol(3) eq c ? column(k) : NaN

plot for [i=words(NAMES):1:-1] $STACK using 1:(of(word(NAMES, i), 4)):1:2:(of(word(NAMES, i), 4)):\
    (of(word(NAMES, i), 5)) \
    with boxxyerror lc rgb word(PALETTE, i) title word(NAMES, i) . (word(NAMES, i) eq "misc" ? " (no call)" : ""), \
    keyentry with dots lc rgb "#ffffffff" title words(KIDS) > 1 ? "side by side: kids" . KIDS : ""
