# SPDX-License-Identifier: GPL-2.0-or-later
#
# history.gp - draws tests/bench/history.tsv: see history.py --draw.
set terminal pngcairo size 900,420 font "sans,10"
set output out
set datafile separator "\t"
set datafile missing "-"
set title "Exact numbers of each measured commit, in percent of the first"
set ylabel "%"
set yrange [0:*]
set grid ytics
set key outside right
set xtics rotate by -30
first(column) = real(system(sprintf("sed -n 2p '%s' | cut -f%d", history, column)))
plot history using 0:($3 / first(3) * 100):xtic(2) every ::1 with linespoints title "bytes a record", \
     "" using 0:($4 / first(4) * 100) every ::1 with linespoints title "instructions, events", \
     "" using 0:($5 / first(5) * 100) every ::1 with linespoints title "instructions, requests", \
     "" using 0:($6 / first(6) * 100) every ::1 with linespoints title "instructions, findings"
