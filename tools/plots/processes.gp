# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=processes TRACE | gnuplot -c processes.gp processes.png

NAME = "processes"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Processor time of each kid to the left, its memory to the right.
KIDS = ""
do for [i=1:|$DATA|] {
    KID = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && KID ne "kid" && !strstrt(KIDS . " ", " " . KID . " ")) { KIDS = KIDS . " " . KID }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max * 1.02]
if (exists("NARROW")) { set xtics four(X_max) }
set yrange [0:*]
set y2range [0:*]
set y2tics
set y2label "resident memory (MB)" offset 1,0
set border 11
set key @KEY
of(kid, v) = strcol("kid") eq kid ? v : NaN

plot for [i=1:words(KIDS)] $DATA using "time_s":(of(word(KIDS, i), column("user_pct") + column("system_pct"))) \
        with linespoints lw 2 pt 4 + i ps 0.8 lc rgb word(OTHERS, (i - 1) % 8 + 1) title "kid " . word(KIDS, i), \
     for [i=1:words(KIDS)] $DATA using "time_s":(of(word(KIDS, i), column("system_pct"))) with lines lw 1.3 dt 3 \
        lc rgb word(OTHERS, (i - 1) % 8 + 1) notitle, \
     for [i=1:words(KIDS)] $DATA using "time_s":(of(word(KIDS, i), column("rss_bytes") / 1e6)) axes x1y2 with lines \
        lw 1.3 dt 2 lc rgb word(OTHERS, (i - 1) % 8 + 1) notitle, \
     keyentry with lines lw 2 lc rgb "black" title "user and system", \
     keyentry with lines lw 1.3 dt 3 lc rgb "black" title "system", \
     keyentry with lines lw 1.3 dt 2 lc rgb "black" title "memory (right)"
