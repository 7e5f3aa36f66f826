# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=digest-activity TRACE | gnuplot -c digest-activity.gp digest-activity.png

NAME = "digest-activity"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A bar for each activity; those that wait for a peer in another colour.  They differ by powers of ten.
waits(i) = strcol("activity") eq "fetch" || strcol("activity") eq "hit"
mean(ms) = ms < 0.1 ? sprintf("%.3g us", ms * 1000) : sprintf("%.3g ms", ms)
set style fill solid noborder
set logscale y
# What took no time that the clock could tell has no place on this axis.
LEAST = 0
do for [i=1:|$DATA|] {
    CELL = $DATA[i][1:1] eq "#" ? "-" : word($DATA[i], 3)
    BUSY = strstrt("0123456789", CELL[1:1]) ? real(CELL) : 0
    if (BUSY > 0 && (LEAST == 0 || BUSY < LEAST)) { LEAST = BUSY }
}
if (LEAST == 0) {
    print "there are no rows: nothing to draw"
    exit status 1
}
set yrange [LEAST / 3:*]
set xrange [-0.6:ROWS - 0.4]
set boxwidth 0.8
set xtics scale 0
if (exists("NARROW")) { set xtics rotate by -35 }
set key @KEY

plot $DATA using 0:(waits(0) ? NaN : column("busy_ms")):xtic(strcol("activity")) with boxes lc rgb "#0072b2" title "work", \
     $DATA using 0:(waits(0) ? column("busy_ms") : NaN):xtic(strcol("activity")) with boxes lc rgb "#e69f00" title "waits included", \
     $DATA using 0:"busy_ms":(mean(column("mean_ms"))) with labels offset 0,0.7 font ",9" \
         tc rgb "#d55e00" title "number: mean"
