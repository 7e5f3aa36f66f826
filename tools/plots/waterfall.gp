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
MERGED = 0
ABOUT = ""
do for [k=1:|$DATA|] {
    L = $DATA[k]
    if (L[1:1] ne "#" && L ne HEADER) {
        N = word(L, 2)
        if (word(L, 1) eq "block") { BLOCKS = 1 } else {
            if (!strstrt(LANES . " ", " " . N . " ")) { LANES = LANES . " " . N }
        }
    }
    if (strlen(noted(L, "request"))) { ABOUT = noted(L, "request") }
    if (strlen(noted(L, "merged"))) { MERGED = 1 }
}
if (BLOCKS) { LANES = LANES . " block" }
if (MERGED) { set ylabel YLABEL . "; the height is the share of the time" }
set key at screen 0.02, screen 0.03 left bottom vertical reverse Left samplen 2
set title exists("UNTITLED") ? ABOUT : TITLE . "\n" . ABOUT
set bmargin 5
if (exists("NARROW")) {
    # The names of the lanes leave little room above and below the lanes: so title and key begin at the edge.
    PICTURE_HIGH = 470
    set terminal @TERMINAL
    set output OUTPUT
    BREAK = strstrt(ABOUT, ", began")
    set label ABOUT[1:BREAK] . "\n" . ABOUT[BREAK+2:strlen(ABOUT)] at screen 0.03, screen 0.96 left font ",12"
    unset title
    unset ylabel
    set lmargin at screen 0.43
    set rmargin at screen 0.95
    set tmargin at screen 0.9
    set bmargin at screen 0.3
    set key at screen 0.43, screen 0.02 left bottom vertical reverse Left samplen 2
}
COUNT = words(LANES)
in(s) = strcol("name") eq s
STAGE(s) = int(sum [i=1:words(STAGES)] (word(STAGES, i) eq s ? i : 0))
# Blocks, which have colours of their own, may be all that there is.
tint(s) = STAGE(s) ? word(STAGE_COLOURS, STAGE(s)) : "black"
took(ms) = ms >= 1000 ? sprintf("%.1f s", ms / 1000) : ms >= 1 ? sprintf("%.3g ms", ms) : sprintf("%.3g us", ms * 1000)
set ytics () scale 0
do for [i=1:COUNT] {
    stats $DATA using (in(word(LANES, i)) ? column("busy_ms") : NaN) name "LANE" nooutput
    set ytics add (sprintf("%s  %s", word(LANES, i) eq "block" ? "blocks" : spaced(word(LANES, i)), took(LANE_sum)) -i)
}
stats $DATA using "until_ms" name "T" nooutput
set yrange [-COUNT - 0.6:-0.4]
set xrange [0:T_max > 0 ? T_max * 1.01 : 1]
if (exists("NARROW") && T_max > 0) {
    # Two or three numbers below the axis.
    STEP = 10.0 ** floor(log10(T_max / 2))
    set xtics T_max / STEP < 5 ? STEP : T_max / STEP < 10 ? 2 * STEP : 5 * STEP
}
set grid noytics xtics lc rgb "#dddddd"
# Borders of the same colour: spans thinner than a pixel are seen, too.
set style fill solid border

at(c) = column(c)
wide(n) = at("until_ms") - at("from_ms")
middle(n) = (at("from_ms") + at("until_ms")) / 2
# What so much of a row's time is of the lane's height, which is 0.8.
high(ms) = wide(0) > at("busy_ms") ? 0.8 * ms / wide(0) : at("busy_ms") > 0 ? 0.8 * ms / at("busy_ms") : 0.8
bar(s) = in(s) ? middle(0) : NaN
# A block by itself is queued, then served, then noticed; of several the shares stand one upon the other.
alone(n) = in("block") && at("spans") == 1 ? middle(0) : NaN
several(n) = in("block") && at("spans") > 1 ? middle(0) : NaN
queued(n) = at("from_ms") + at("queue_ms")
served(n) = queued(0) + at("service_ms")
low = -COUNT - 0.4
io_high(n) = low + high(at("service_ms"))
queue_high(n) = io_high(0) + high(at("queue_ms"))

if (BLOCKS) {
    plot for [i=1:COUNT-1] $DATA using (bar(word(LANES, i))):(-i):(at("from_ms")):(at("until_ms")):(-i - 0.4):(-i - 0.4 + high(at("busy_ms"))) \
            with boxxyerror lc rgb tint(word(LANES, i)) notitle, \
         $DATA using (alone(0)):(low):(at("from_ms")):(queued(0)):(low):(low + 0.8) with boxxyerror lc rgb "#999999" title "queued", \
         $DATA using (alone(0)):(low):(queued(0)):(served(0)):(low):(low + 0.8) with boxxyerror lc rgb "#0072b2" title "I/O", \
         $DATA using (alone(0)):(low):(served(0)):(at("until_ms")):(low):(low + 0.8) with boxxyerror lc rgb "#e69f00" \
            title "waiting to be noticed", \
         $DATA using (several(0)):(low):(at("from_ms")):(at("until_ms")):(queue_high(0)):(low + high(at("busy_ms"))) \
            with boxxyerror lc rgb "#e69f00" notitle, \
         $DATA using (several(0)):(low):(at("from_ms")):(at("until_ms")):(io_high(0)):(queue_high(0)) \
            with boxxyerror lc rgb "#999999" notitle, \
         $DATA using (several(0)):(low):(at("from_ms")):(at("until_ms")):(low):(io_high(0)) with boxxyerror lc rgb "#0072b2" notitle
} else {
    plot for [i=1:COUNT] $DATA using (bar(word(LANES, i))):(-i):(at("from_ms")):(at("until_ms")):(-i - 0.4):(-i - 0.4 + high(at("busy_ms"))) \
            with boxxyerror lc rgb tint(word(LANES, i)) notitle
}
