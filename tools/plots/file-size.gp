# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=file-size TRACE | gnuplot -c file-size.gp file-size.png

NAME = "file-size"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
