# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=hit-stages TRACE | gnuplot -c hit-stages.gp hit-stages.png

NAME = "hit-stages"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "stages.gp"
