# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=backlogs TRACE | gnuplot -c backlogs.gp backlogs.png

NAME = "backlogs"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"
set datafile missing # a port may have no name: its column is a text, also where it is -

# The key has long names, so it stands above.
KEY = "outside top center horizontal reverse Left samplen 2" . (exists("NARROW") ? "" : " maxcols 2")

# The backlog of each port of each kid to the left, what the kernel dropped to the right.  A port is its column between
# two tabs, because its name has a space.
PORTS = 0
VALUES = 0 # of both
array PORT[256]
do for [i=1:|$DATA|] {
    LINE = $DATA[i]
    if (LINE[1:1] ne "#" && PORTS < 256) {
        FIRST = strstrt(LINE, "\t")
        REST = LINE[FIRST + 1:*]
        SECOND = strstrt(REST, "\t")
        THIRD = strstrt(REST[SECOND + 1:*], "\t")
        NAMED = REST[1:SECOND + THIRD - 1]
        KNOWN = NAMED[1:3] eq "kid"
        do for [k=1:PORTS] { if (PORT[k] eq NAMED) { KNOWN = 1 } }
        if (NAMED[1:3] ne "kid") {
            VALUES = VALUES + (word(LINE, words(LINE) - 2) ne "-") + (word(LINE, words(LINE)) ne "-")
        }
        if (!KNOWN) { PORTS = PORTS + 1; PORT[PORTS] = NAMED }
    }
}
if (VALUES == 0) { print "there are no rows: nothing to draw"; exit status 1 }
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max * 1.02]
if (exists("NARROW")) { set xtics four(X_max) }
set yrange [0:*]
stats $DATA using "drops_per_s" name "DROPS" nooutput
if (exists("DROPS_max") && DROPS_max > 0) { set y2range [0:*] } else { set y2range [0:1] }
set y2tics
set y2label "dropped (1/s)" offset 1,0
set border 11
set key @KEY noenhanced
# A port whose backlog was always empty is told in one entry of the key.
of(n, c) = strcol("kid") . "\t" . strcol("listener") eq PORT[n] ? column(c) : NaN
name_of(n) = PORT[n][strstrt(PORT[n], "\t") + 1:*]
title_of(n) = "kid " . PORT[n][1:strstrt(PORT[n], "\t") - 1] . ", " . (name_of(n) eq "-" ? "port unknown" : name_of(n))

EMPTY = 0
array USED[256]
do for [i=1:PORTS] {
    undefine PORT_max # a port without any value leaves it so
    stats $DATA using (strcol("kid") . "\t" . strcol("listener") eq PORT[i] ? column("backlog") : 0) name "PORT" nooutput
    USED[i] = exists("PORT_max") && PORT_max > 0
    EMPTY = EMPTY + !USED[i]
}
EMPTY_TITLE = sprintf("%d %s: 0 throughout", EMPTY, EMPTY == 1 ? "other" : "others")
if (EMPTY == PORTS) { EMPTY_TITLE = "all ports: 0 throughout" }

plot for [i=1:PORTS] $DATA using "time_s":(of(i, "backlog")) with linespoints lw 2 pt 4 + i ps 0.8 \
        lc rgb word(OTHERS, (i - 1) % 8 + 1) title USED[i] ? title_of(i) : "", \
     for [i=1:PORTS] $DATA using "time_s":(of(i, "drops_per_s")) axes x1y2 with lines lw 1.3 dt 2 \
        lc rgb word(OTHERS, (i - 1) % 8 + 1) notitle, \
     keyentry with lines lw 1.3 dt 2 lc rgb "black" title "dropped (right)", \
     keyentry with lines lw 2 lc rgb "#555555" title EMPTY > 0 ? EMPTY_TITLE : ""
