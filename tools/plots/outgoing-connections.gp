# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=outgoing-connections TRACE | gnuplot -c outgoing-connections.gp outgoing-connections.png

NAME = "outgoing-connections"
SUFFIX = "_p50"
DASHED = "_p75 median 75th_percentile"
DOTTED = "_mean mean"
YMAX = "*"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
