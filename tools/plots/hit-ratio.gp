# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=hit-ratio TRACE | gnuplot -c hit-ratio.gp hit-ratio.png

NAME = "hit-ratio"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
