# SPDX-License-Identifier: GPL-2.0-or-later
#
# stages.gp - shares of the stages over time, stacked, and the median total.
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
# Its key is long.
if (exists("NARROW")) { PICTURE_HIGH = 480 }
set terminal @TERMINAL
set output OUTPUT

CURVES = "client_connect proxy_connect server_reply swap_in proxy_reply access redirect adapt lookup peer_select dns tunnel unaccounted"
TITLES = "'client connect' 'proxy connect' 'server reply' 'swap-in' 'proxy reply' access redirect adaptation look-up 'peer selection' DNS tunnel unaccounted"
COLOURS = "#56b4e9 #009e73 #f0e442 #0072b2 #e69f00 #cc79a7 #8c564b #7f7f7f #bcbd22 #9467bd #d62728 #2ca02c #cccccc"
share(i) = column(word(CURVES, i) . "_pct")
upto(i) = sum [k=1:i] share(k)

stats $DATA using "time_s" name "TIME" nooutput
array SEEN[13]
do for [i=1:13] {
    stats $DATA using (share(i)) name "S" nooutput
    # Medians that are all 0 have no shares.
    SEEN[i] = exists("S_max") ? S_max > 0 : 0
}
WIDTH = TIME_records > 1 ? (TIME_max - TIME_min) / (TIME_records - 1) : 1

set y2label "median total (ms)"
set y2tics
set border 11
set yrange [0:100]
set y2range [0:*]
set xrange [TIME_min - WIDTH:TIME_max + WIDTH]
if (exists("NARROW")) { set xtics four(TIME_max - TIME_min + 2 * WIDTH) }
set style fill solid border rgb "white"
set boxwidth WIDTH * 0.9
set key @KEY

plot for [i=13:1:-1] $DATA using "time_s":(SEEN[i] ? upto(i) : NaN) with boxes lc rgb word(COLOURS, i) \
         title SEEN[i] ? word(TITLES, i) : "", \
     $DATA using "time_s":"total_ms" axes x1y2 with linespoints lc rgb "black" lw 2 pt 7 ps 0.6 title "median total (right)"
