# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=transfer-size TRACE | gnuplot -c transfer-size.gp transfer-size.png

NAME = "transfer-size"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
