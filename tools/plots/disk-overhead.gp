# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=disk-overhead TRACE | gnuplot -c disk-overhead.gp disk-overhead.png

NAME = "disk-overhead"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Derived and measured side by side: I/O below, overhead on top of it.
set style fill solid noborder
set boxwidth 0.35
set xrange [-0.6:ROWS - 0.4]
set yrange [0:*]
set xtics scale 0
set key @KEY
if (exists("NARROW")) { set xlabel offset 0,-1 } # below labels of two lines
shown(c) = column(c) > 0 ? column(c) : 0

plot $DATA using ($0 - 0.2):(shown("io_ms") + shown("overhead_ms")):xticlabels(strcol("direction") . (exists("NARROW") ? "\n" : ", ") . strcol("period")) \
        with boxes lc rgb "#e69f00" title "overhead, derived", \
     $DATA using ($0 - 0.2):(shown("io_ms")) with boxes lc rgb "#0072b2" title "I/O, derived", \
     $DATA using ($0 + 0.2):(column("measured_io_ms") + column("measured_overhead_ms")) \
        with boxes lc rgb "#f0e442" title "overhead, measured", \
     $DATA using ($0 + 0.2):"measured_io_ms" with boxes lc rgb "#56b4e9" title "I/O, measured"
