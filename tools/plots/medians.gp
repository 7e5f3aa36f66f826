# SPDX-License-Identifier: GPL-2.0-or-later
#
# medians.gp - medians, and dashed the 90th percentiles.
# A figure that is drawn so has a link of its name to this file:
#
#   sqtrace-dump --figure=NAME TRACE | gnuplot -c NAME.gp NAME.png

NAME = ARG0
while (strstrt(NAME, "/")) { NAME = NAME[strstrt(NAME, "/")+1:*] }
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME)]
NAME = NAME[1:strlen(NAME)-3]
OUTPUT = ARG1
INPUT = ARG2
SUFFIX = "_p50_ms"
DASHED = "_p90_ms median 90th_percentile"
YMAX = "*"
load FOLDER . "curves.gp"
