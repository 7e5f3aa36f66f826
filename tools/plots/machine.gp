# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=machine TRACE | gnuplot -c machine.gp machine.png

NAME = "machine"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# Processor time to the left, pages to the right.  Several Squids sample the same machine: the kid with most samples is
# drawn.
KID = ""
MOST = 0
rows(kid) = int(sum [k=1:|$DATA|] ($DATA[k][1:1] ne "#" && word($DATA[k], 2) eq kid))
KIDS = " kid"
do for [i=1:|$DATA|] {
    ONE = word($DATA[i], 2)
    if ($DATA[i][1:1] ne "#" && !strstrt(KIDS . " ", " " . ONE . " ")) {
        KIDS = KIDS . " " . ONE
        if (rows(ONE) > MOST) { MOST = rows(ONE); KID = ONE }
    }
}
stats $DATA using "time_s" name "X" nooutput
HALF = X_records > 1 ? (X_max - X_min) / (X_records - 1) / 2 : 0.5
set xrange [X_min - HALF > 0 ? X_min - HALF : 0 : X_max + HALF]
if (exists("NARROW")) { set xtics four(X_max - X_min + 2 * HALF) }
set yrange [0:100]
set y2range [0:*]
set y2tics
set y2label "block devices (MB/s)" offset 1,0
set border 11
set key @KEY
PARTS = "user_pct system_pct iowait_pct steal_pct idle_pct"
CALLED = "user system wait_for_disks stolen idle"

of(v) = strcol("kid") eq KID ? v : NaN

plot for [i=1:5] $DATA using "time_s":(of(column(word(PARTS, i)))) with linespoints lw 2 pt 4 + i ps 0.7 \
        lc rgb word(OTHERS, i) title spaced(word(CALLED, i)), \
     $DATA using "time_s":(of(column("paged_in_kb_per_s") / 1024)) axes x1y2 with lines lw 1.3 dt 2 lc rgb "#56b4e9" \
        title "read (right)", \
     $DATA using "time_s":(of(column("paged_out_kb_per_s") / 1024)) axes x1y2 with lines lw 1.3 dt 3 lc rgb "#555555" \
        title "written (right)"
