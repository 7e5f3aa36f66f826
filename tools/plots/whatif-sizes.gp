# SPDX-License-Identifier: GPL-2.0-or-later
#
# whatif-sizes.gp - hit ratio by size of a cache, with the size now and the knee.
# A figure that is drawn so has a link of its name to this file:
#
#   sqtrace-dump --figure=NAME TRACE | gnuplot -c NAME.gp NAME.png

NAME = ARG0
while (strstrt(NAME, "/")) { NAME = NAME[strstrt(NAME, "/")+1:*] }
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME)]
NAME = NAME[1:strlen(NAME)-3]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

stats $DATA using (column("size_bytes")) name "X" nooutput
set logscale x 2
set xrange [X_min / 1.2 : X_max * 1.2]
set yrange [0:100]
set xtics (1)
do for [k=0:50:exists("NARROW") ? 2 : 1] {
    set xtics add (sprintf("%d %sB", 2**(k % 10), word("'' ki Mi Gi Ti Pi", k / 10 + 1)) 2.0**k)
}
set key @KEY
# Without settings no point is that of now.
KNOWN = int(sum [i=1:|$DATA|] ($DATA[i][1:1] ne "#" && word($DATA[i], 4) ne "-")) > 1
NOW = KNOWN ? ', $DATA using "size_bytes":"now_pct" with points pt 6 ps 2 lw 2 lc rgb "#d55e00" title "now"' : ''

plot $DATA using "size_bytes":"hits_pct" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0072b2" title "requests", \
     $DATA using "size_bytes":"bytes_pct" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#e69f00" title "bytes", \
     $DATA using "size_bytes":"knee_pct" with points pt 4 ps 1.5 lw 2 lc rgb "#009e73" title "knee" @NOW
