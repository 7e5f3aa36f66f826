# SPDX-License-Identifier: GPL-2.0-or-later
#
# overlay.gp - a figure of several traces: a panel for each curve, a line for each trace.  sqtrace-report writes the
# scripts that load it, with
#   NAME     of the figure; the series of a trace is NAME.LABEL.tsv
#   OUTPUT   file to draw, as SVG
#   TITLE, XLABEL, YLABEL, X (a column), XLOG (1: logarithmic)
#   LABELS   of the traces
#   COLUMNS  to draw, and CURVES, how they are called

COLOURS = "#0072b2 #d55e00 #009e73 #cc79a7 #56b4e9 #e69f00 #8c564b #7f7f7f"

N = words(COLUMNS)
ACROSS = exists("NARROW") ? 1 : N == 1 ? 1 : N == 2 || N == 4 ? 2 : 3
DOWN = (N + ACROSS - 1) / ACROSS
WIDE = exists("NARROW") ? 420 : 900
HIGH = 60 + DOWN * (exists("NARROW") ? 240 : N == 1 ? 440 : 280)
set terminal svg size WIDE,HIGH dynamic font "sans,13"
set output OUTPUT

set datafile separator "\t"
set datafile missing "-"
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
set yrange [0:*]
if (XLOG) { set logscale x; set format x "10^{%L}" }
set xtics rotate by 0
set xlabel XLABEL
set ylabel YLABEL
set key outside bottom center horizontal noautotitle

if (exists("UNTITLED")) { set multiplot layout DOWN,ACROSS } else { set multiplot layout DOWN,ACROSS title TITLE }
do for [i=1:N] {
    set title word(CURVES, i)
    plot for [k=1:words(LABELS)] NAME . "." . word(LABELS, k) . ".tsv" using X:word(COLUMNS, i) \
        with lines lw 2 lc rgb word(COLOURS, k) title word(LABELS, k)
}
unset multiplot
