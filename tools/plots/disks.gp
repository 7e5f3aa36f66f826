# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=disks TRACE | gnuplot -c disks.gp disks.png

NAME = "disks"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# How busy each disk is to the left, its queue to the right.  Several kids sample the same disk if it has several
# cache_dirs: of each disk the kid with most samples is drawn.
DISKS = ""
PAIRS = ""
rows(kid, disk) = int(sum [k=1:|$DATA|] ($DATA[k][1:1] ne "#" && word($DATA[k], 2) eq kid && word($DATA[k], 3) eq disk))
array MOST[256]
do for [i=1:|$DATA|] {
    KID = word($DATA[i], 2)
    DISK = word($DATA[i], 3)
    if ($DATA[i][1:1] ne "#" && DISK ne "disk" && !strstrt(PAIRS . " ", " " . KID . ":" . DISK . " ")) {
        PAIRS = PAIRS . " " . KID . ":" . DISK
        PLACE = 0
        do for [k=1:words(DISKS)] { if (word(DISKS, k) eq DISK) { PLACE = k } }
        if (!PLACE && words(DISKS) < 256) {
            DISKS = DISKS . " " . DISK
            PLACE = words(DISKS)
            MOST[PLACE] = "-"
        }
        if (PLACE) { if (MOST[PLACE] eq "-" || rows(KID, DISK) > rows(MOST[PLACE], DISK)) { MOST[PLACE] = KID } }
    }
}
stats $DATA using "time_s" name "X" nooutput
set xrange [0:X_max * 1.02]
if (exists("NARROW")) { set xtics four(X_max) }
set yrange [0:105]
set y2range [0:*]
set y2tics
set y2label "reads and writes in the queue" offset 1,0
set border 11
set key @KEY noenhanced
of(i, c) = strcol("kid") eq MOST[i] && strcol("disk") eq word(DISKS, i) ? column(c) : NaN

plot for [i=1:words(DISKS)] $DATA using "time_s":(of(i, "busy_pct")) with linespoints \
        lw 2 pt 4 + i ps 0.8 lc rgb word(OTHERS, (i - 1) % 8 + 1) title word(DISKS, i) . ", busy", \
     for [i=1:words(DISKS)] $DATA using "time_s":(of(i, "queue")) axes x1y2 with lines \
        lw 1.3 dt 2 lc rgb word(OTHERS, (i - 1) % 8 + 1) title word(DISKS, i) . ", queue (right)"
