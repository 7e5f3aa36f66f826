# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=leader-stages TRACE | gnuplot -c leader-stages.gp leader-stages.png

NAME = "leader-stages"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "common.gp"

# A bar for each server.
PARTS = "peer_select dns connect tls request_send server_wait server_reply failed_tries other unknown"
PART_COLOURS = "#999999 #56b4e9 #009e73 #f0e442 #e69f00 #d55e00 #cc79a7 #882255 #bbbbbb #dddddd"
pct(i) = column(word(PARTS, i) . "_pct") >= 0 ? column(word(PARTS, i) . "_pct") : 0
upto(i) = sum [k=1:i] pct(k)
set style fill solid noborder
set yrange [0:100]
set xrange [-0.6:ROWS - 0.4]
set boxwidth 0.8
# Few names stand side by side.
if (ROWS > (exists("NARROW") ? 2 : 4)) { set xtics scale 0 rotate by exists("NARROW") ? -90 : -40 noenhanced } else { set xtics scale 0 noenhanced }
set key @KEY
if (exists("NARROW")) { set xtics font ",11" }
named(s) = s eq "" || s eq "-" ? "not known" : s
what(i) = sprintf("%s (%s)", named(strcol("server")), strcol("count"))

# The key names the parts that there are.
place(i) = int(sum [k=1:words(HEADER)] (word(HEADER, k) eq word(PARTS, i) . "_pct" ? k : 0))
cell(k, i) = $DATA[k][1:1] eq "#" ? "-" : word($DATA[k], place(i))
seen(i) = int(sum [k=1:|$DATA|] (cell(k, i) ne "-" && cell(k, i) ne "0.000" && cell(k, i) ne word(PARTS, i) . "_pct"))
titled(i) = seen(i) > 0 ? spaced(word(PARTS, i)) : ""

plot for [i=words(PARTS):1:-1] $DATA using 0:(upto(i)):xtic(what(0)) with boxes lc rgb word(PART_COLOURS, i) title titled(i)
