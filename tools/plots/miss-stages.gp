# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=miss-stages TRACE | gnuplot -c miss-stages.gp miss-stages.png

NAME = "miss-stages"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "stages.gp"
