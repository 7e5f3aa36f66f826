# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=tail-stages TRACE | gnuplot -c tail-stages.gp tail-stages.png

NAME = "tail-stages"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

load FOLDER . "stage-colours.gp"
# Rows whose percentile is of enough requests.
enough(line) = line[1:1] ne "#" && (word(line, 2) eq "percentile" || int(word(line, 3)) >= least(word(line, 2)))
set datafile separator "\001"
set datafile commentschars ""
set table $SHOWN
plot $DATA using (enough(stringcolumn(1)) ? stringcolumn(1) : "#") with table
unset table
set datafile commentschars "#"
set datafile separator "\t"
ROWS = int(sum [i=1:|$SHOWN|] ($SHOWN[i][1:1] ne "#")) - 1
if (ROWS < 1) {
    print "there are no rows: nothing to draw"
    exit status 1
}
N = words(STAGES)
stage(i) = column(word(STAGES, i) . "_ms")
upto(i) = sum [k=1:i] stage(k)
# In percent of the total: from p50 to p99.9 totals grow a hundredfold.
share(i) = column("total_ms") > 0 ? 100 * upto(i) / column("total_ms") : 0
array SEEN[N]
do for [i=1:N] {
    stats $SHOWN using (column("total_ms") > 0 ? stage(i) / column("total_ms") : 0) name "S" nooutput
    SEEN[i] = S_max > 0.002
}
# A bar for each row, the first on top, and as high as they need.
KEY_ROWS = (int(sum [i=1:N] SEEN[i]) + 1) / 2
PICTURE_HIGH = 90 + 17 * ROWS + (exists("NARROW") ? 20 * KEY_ROWS : 0)
set terminal @TERMINAL
set output OUTPUT
set style fill solid noborder
set xrange [0:100]
set yrange [ROWS - 0.4:-0.6]
set xlabel YLABEL
set ylabel XLABEL
set grid noytics xtics lc rgb "#dddddd"
set ytics scale 0
set key @KEY
if (exists("NARROW")) {
    # The labels leave little room above the bars.
    set ytics font ",11"
    set xtics 50
    unset ylabel
    set lmargin at screen 0.43
    set rmargin at screen 0.95
    set key at screen 0.97, screen 1 - 8.0 / PICTURE_HIGH right top vertical maxrows KEY_ROWS
    set tmargin at screen 1 - (20.0 * KEY_ROWS + 10) / PICTURE_HIGH
}
label(n) = sprintf("%s %s: %.".(column("total_ms") < 10 ? "2" : "0")."f ms", strcol("class"), strcol("percentile"), column("total_ms"))

plot for [i=N:1:-1] $SHOWN using (0):0:(0):(SEEN[i] ? share(i) : NaN):($0 - 0.42):($0 + 0.42):yticlabels(label(0)) with boxxyerror \
    lc rgb word(STAGE_COLOURS, i) title SEEN[i] ? spaced(word(STAGES, i)) : ""
