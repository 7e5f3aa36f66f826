# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=memory-hits-no-swapin TRACE | gnuplot -c memory-hits-no-swapin.gp memory-hits-no-swapin.png

NAME = "memory-hits-no-swapin"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
