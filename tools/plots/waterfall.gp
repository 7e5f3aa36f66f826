# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=waterfall TRACE | gnuplot -c waterfall.gp waterfall.png

NAME = "waterfall"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"
load FOLDER . "stage-colours.gp"

# A lane for each stage that is there, in the order in which they first come, from the top; blocks below.
LANES = ""
BLOCKS = 0
do for [k=1:|$DATA|] {
    L = $DATA[k]
    if (L[1:1] ne "#" && L ne HEADER) {
        N = word(L, 2)
        if (word(L, 1) eq "block") { BLOCKS = BLOCKS + 1 } else {
            if (!strstrt(LANES . " ", " " . N . " ")) { LANES = LANES . " " . N }
        }
    }
    if (strlen(noted(L, "request"))) { set title TITLE . ": " . noted(L, "request") noenhanced }
}
COUNT = words(LANES) + (BLOCKS > 0 ? 1 : 0)
place(s) = int(sum [i=1:words(LANES)] (word(LANES, i) eq s ? -i : 0))
tint(s) = word(STAGE_COLOURS, int(sum [i=1:words(STAGES)] (word(STAGES, i) eq s ? i : 0)))
stats $DATA using "until_ms" name "T" nooutput
set ytics () scale 0
do for [i=1:words(LANES)] { set ytics add (spaced(word(LANES, i)) -i) }
if (BLOCKS) { set ytics add ("blocks" -COUNT) }
set yrange [-COUNT - 0.6:-0.4]
set xrange [0:T_max > 0 ? T_max * 1.01 : 1]
set grid noytics xtics lc rgb "#dddddd"
# Borders of the same colour: spans thinner than a pixel are seen, too.
set style fill solid border
set key @KEY noenhanced
y(s) = strcol("kind") eq "stage" && strcol("name") eq s ? place(s) : NaN
b(from, until) = strcol("kind") eq "block" ? (from + until) / 2 : NaN
at(c) = column(c)
queued(n) = at("from_ms") + at("queue_ms")
served(n) = queued(0) + at("service_ms")

if (BLOCKS) {
    plot for [s in LANES] $DATA using ((at("from_ms") + at("until_ms")) / 2):(y(s)):(at("from_ms")):(at("until_ms")):(place(s) - 0.4):(place(s) + 0.4) \
            with boxxyerror lc rgb tint(s) notitle, \
         $DATA using (b(at("from_ms"), queued(0))):(-COUNT):(at("from_ms")):(queued(0)):(-COUNT - 0.4):(-COUNT + 0.4) \
            with boxxyerror lc rgb "#999999" title "queued", \
         $DATA using (b(queued(0), served(0))):(-COUNT):(queued(0)):(served(0)):(-COUNT - 0.4):(-COUNT + 0.4) \
            with boxxyerror lc rgb "#0072b2" title "I/O", \
         $DATA using (b(served(0), at("until_ms"))):(-COUNT):(served(0)):(at("until_ms")):(-COUNT - 0.4):(-COUNT + 0.4) \
            with boxxyerror lc rgb "#e69f00" title "waiting to be noticed"
} else {
    plot for [s in LANES] $DATA using ((at("from_ms") + at("until_ms")) / 2):(y(s)):(at("from_ms")):(at("until_ms")):(place(s) - 0.4):(place(s) + 0.4) \
            with boxxyerror lc rgb tint(s) notitle
}
