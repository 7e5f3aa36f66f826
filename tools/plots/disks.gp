# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=disks TRACE | gnuplot -c disks.gp disks.png

NAME = "disks"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# How busy each disk is to the left, its queue to the right.  Several kids sample the same disk if it has several
# cache_dirs.
KIDS = ""
DISKS = ""
do for [i=1:|$DATA|] {
    KID = word($DATA[i], 2)
    DISK = word($DATA[i], 3)
    if ($DATA[i][1:1] ne "#" && DISK ne "disk") {
        if (!strstrt(KIDS . " ", " " . KID . " ")) { KIDS = KIDS . " " . KID }
        if (!strstrt(DISKS . " ", " " . DISK . " ")) { DISKS = DISKS . " " . DISK }
    }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max * 1.02]
set yrange [0:105]
set y2range [0:*]
set y2tics
set y2label "reads and writes in the queue" offset 1,0
set border 11
set key @KEY noenhanced
of(kid, disk, c) = strcol("kid") eq kid && strcol("disk") eq disk ? column(c) : NaN

plot for [k in KIDS] for [i=1:words(DISKS)] $DATA using "time_s":(of(k, word(DISKS, i), "busy_pct")) with linespoints \
        lw 2 pt 4 + i ps 0.8 lc rgb word(OTHERS, (i - 1) % 8 + 1) notitle, \
     for [k in KIDS] for [i=1:words(DISKS)] $DATA using "time_s":(of(k, word(DISKS, i), "queue")) axes x1y2 with lines \
        lw 1.3 dt 2 lc rgb word(OTHERS, (i - 1) % 8 + 1) notitle, \
     for [i=1:words(DISKS)] keyentry with linespoints lw 2 pt 4 + i ps 0.8 lc rgb word(OTHERS, (i - 1) % 8 + 1) \
        title word(DISKS, i) . ", busy", \
     for [i=1:words(DISKS)] keyentry with lines lw 1.3 dt 2 lc rgb word(OTHERS, (i - 1) % 8 + 1) \
        title word(DISKS, i) . ", queue (right)"
