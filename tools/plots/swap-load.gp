# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=swap-load TRACE | gnuplot -c swap-load.gp swap-load.png

NAME = "swap-load"
SUFFIX = "_per_s"
DASHED = ""
YMAX = "*"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
