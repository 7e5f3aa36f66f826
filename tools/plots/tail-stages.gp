# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=tail-stages TRACE | gnuplot -c tail-stages.gp tail-stages.png

NAME = "tail-stages"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

load FOLDER . "stage-colours.gp"
N = words(STAGES)
stage(i) = column(word(STAGES, i) . "_ms")
upto(i) = sum [k=1:i] stage(k)
# In percent of the total: from p50 to p99.9 totals grow a hundredfold.
share(i) = column("total_ms") > 0 ? 100 * upto(i) / column("total_ms") : 0
array SEEN[N]
do for [i=1:N] {
    stats $DATA using (column("total_ms") > 0 ? stage(i) / column("total_ms") : 0) name "S" nooutput
    SEEN[i] = S_max > 0.002
}
set style fill solid noborder
set boxwidth 0.85
set yrange [0:100]
set xrange [-0.6:ROWS - 0.4]
set bmargin at screen 0.3
set xtics rotate by -90 scale 0 font ",8" noenhanced
# The label of the axis would stand below the picture.
unset xlabel
set label XLABEL at graph 0.5, screen 0.03 center noenhanced
set key outside right top reverse Left noenhanced
label(n) = sprintf("%s %s: %.".(column("total_ms") < 10 ? "2" : "0")."f ms", strcol("class"), strcol("percentile"), column("total_ms"))

plot for [i=N:1:-1] $DATA using 0:(SEEN[i] ? share(i) : NaN):xticlabels(label(0)) with boxes \
    lc rgb word(STAGE_COLOURS, i) title SEEN[i] ? spaced(word(STAGES, i)) : ""
