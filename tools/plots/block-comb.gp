# SPDX-License-Identifier: GPL-2.0-or-later
#
# block-comb.gp - each block of one swap: how long it was queued, served, and waited to be noticed.
#
#   sqtrace-dump --figure=block-comb TRACE | gnuplot -c block-comb.gp block-comb.png

NAME = "block-comb"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

stats $DATA using "total_ms" name "TOTAL" nooutput
stats $DATA using "service_ms" name "SERVICE" nooutput

set title sprintf("%s%d blocks, %.1f ms in all, %.1f %% of it I/O", exists("UNTITLED") ? "" : TITLE . ": ", \
    TOTAL_records, TOTAL_sum, TOTAL_sum > 0 ? 100 * SERVICE_sum / TOTAL_sum : 0)
set yrange [0:*]
set xrange [-0.5:TOTAL_records-0.5]
set key @KEY
# More blocks than pixels: lines, which cover each other; boxes would fade.
STYLE = TOTAL_records > 300 ? "impulses lw 1.5" : "boxes fs solid noborder"
set boxwidth 1

plot $DATA using "index":"total_ms" with @STYLE lc rgb "#e69f00" title "waiting to be noticed", \
     $DATA using "index":(column("queue_ms") + column("service_ms")) with @STYLE lc rgb "#0072b2" title "I/O", \
     $DATA using "index":"queue_ms" with @STYLE lc rgb "#999999" title "queued"
