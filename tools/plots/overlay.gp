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
HIGH = 50 + DOWN * (exists("NARROW") ? 250 : N == 1 ? 380 : 300)
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
    set format x "%.0s%c"
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

if (exists("UNTITLED")) { TITLE = " " }
set multiplot layout DOWN,ACROSS title TITLE
do for [i=1:N] {
    set title word(CURVES, i)
    if (i == 1) {
        set key at screen (exists("UNTITLED") ? 0.5 : 0.98), screen 1 - 14.0 / HIGH right horizontal
        set key noautotitle
    } else {
        unset key
    }
    set ylabel i % ACROSS == 1 || ACROSS == 1 ? YLABEL : ""
    plot for [k=1:words(LABELS)] NAME . "." . word(LABELS, k) . ".tsv" using X:word(COLUMNS, i) \
        with lines lw 2 lc rgb word(COLOURS, int(word(PLACES, k))) title word(LABELS, k)
}
unset multiplot
