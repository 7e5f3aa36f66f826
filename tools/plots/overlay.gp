# SPDX-License-Identifier: GPL-2.0-or-later
#
# overlay.gp - a figure of several traces: a panel for each curve, a line for each trace.  sqtrace-report writes the
# scripts that load it, with
#   NAME     of the figure; the series of a trace is NAME.LABEL.tsv
#   OUTPUT   file to draw, as SVG
#   TITLE, XLABEL, YLABEL, X (a column), XLOG (1: logarithmic)
#   LABELS   of the traces, and their PLACES among all, from 1, for a trace without rows is left out
#   COLUMNS  to draw, and CURVES, how they are called

COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #8c564b #7f7f7f"

N = words(COLUMNS)
ACROSS = exists("NARROW") ? 1 : N < 4 ? N : N == 4 ? 2 : 3
DOWN = (N + ACROSS - 1) / ACROSS
WIDE = exists("NARROW") ? 400 : N == 1 ? 760 : 1180
# The key stands above all panels, in as many rows as it needs: the places of its entries, in pixels, and their rows.
KEY_X = ""
KEY_ROW = ""
KEY_ROWS = 1
AT = 50
do for [l in LABELS] {
    LENGTH = 60 + 8 * strlen(l)
    if (AT > 50 && AT + LENGTH > WIDE) { KEY_ROWS = KEY_ROWS + 1; AT = 50 }
    KEY_X = KEY_X . sprintf("%d ", AT)
    KEY_ROW = KEY_ROW . sprintf("%d ", KEY_ROWS)
    AT = AT + LENGTH
}
KEY_HIGH = 18 * KEY_ROWS
TITLED = !exists("UNTITLED")
TOP = (TITLED ? 40.0 : 14.0) + KEY_HIGH
ROOM = exists("NARROW") ? 270 : N == 1 ? 390 : 310 # of a panel
HIGH = TOP + DOWN * ROOM
set terminal svg noenhanced size WIDE,HIGH dynamic background rgb "white" font "sans,13"
set output OUTPUT

set datafile separator "\t"
set datafile missing "-"
# Where the locale has no UTF-8, gnuplot would warn of a degree sign that nobody draws.
LOCALE = system("echo \"${LC_ALL:-${LC_CTYPE:-$LANG}}\"")
if (strstrt(LOCALE, "UTF") || strstrt(LOCALE, "utf")) { set encoding utf8 }
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
set yrange [0:*]
LEAST = 1e300
MOST = 0
do for [l in LABELS] {
    stats NAME . "." . l . ".tsv" using (column(X) > 0 ? column(X) : NaN) name "T" nooutput
    if (T_records) {
        LEAST = T_min < LEAST ? T_min : LEAST
        MOST = T_max > MOST ? T_max : MOST
    }
}
if (MOST == 0) { MOST = 1; LEAST = 0.1 }
if (XLOG) {
    set logscale x
    set xrange [LEAST / 1.05:MOST * 1.05]
    set format x strstrt(X, "_bytes") ? "%.0s%c" : "%g"
    set xlabel strstrt(X, "_bytes") ? XLABEL . ", k is 1000" : XLABEL
} else {
    # Five ticks, so that their numbers do not meet.
    RAW = MOST / 4.0
    TEN = 10.0 ** floor(log10(RAW))
    STEP = (RAW / TEN < 1.5 ? 1 : RAW / TEN < 3.5 ? 2 : RAW / TEN < 7.5 ? 5 : 10) * TEN
    set xtics STEP
    set xrange [0:MOST * 1.02]
    set xlabel XLABEL
}

set multiplot
if (TITLED) { set label 1000 TITLE at screen 0.5, screen 1 - 18.0 / HIGH center }
unset key
do for [i=1:N] {
    # Pixels around the panel: numbers and label to the left, below, and its title above.
    LEFT = WIDE * ((i - 1) % ACROSS) / ACROSS
    UP = TOP + ROOM * ((i - 1) / ACROSS)
    set lmargin at screen (LEFT + 112.0) / WIDE
    set rmargin at screen (LEFT + WIDE / ACROSS - 24.0) / WIDE
    set tmargin at screen 1 - (UP + 26.0) / HIGH
    set bmargin at screen 1 - (UP + ROOM - 72.0) / HIGH
    set title word(CURVES, i) offset 0,-0.4
    if (i == 1) {
        do for [k=1:words(LABELS)] {
            FROM = int(word(KEY_X, k))
            BELOW = TOP - KEY_HIGH + 18.0 * (int(word(KEY_ROW, k)) - 1)
            set arrow k from screen 1.0 * FROM / WIDE, screen 1 - BELOW / HIGH \
                to screen (FROM + 30.0) / WIDE, screen 1 - BELOW / HIGH nohead lw 2 lc rgb word(COLOURS, int(word(PLACES, k)))
            set label k word(LABELS, k) at screen (FROM + 36.0) / WIDE, screen 1 - BELOW / HIGH
        }
    } else {
        unset arrow
        unset label
    }
    set ylabel i % ACROSS == 1 || ACROSS == 1 ? YLABEL : ""
    plot for [k=1:words(LABELS)] NAME . "." . word(LABELS, k) . ".tsv" using X:word(COLUMNS, i) \
        with lines lw 2 lc rgb word(COLOURS, int(word(PLACES, k)))
}
unset multiplot
