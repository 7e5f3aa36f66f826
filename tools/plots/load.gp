# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=load TRACE | gnuplot -c load.gp load.png

NAME = "load"
SUFFIX = "_per_s"
DASHED = ""
YMAX = "*"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
