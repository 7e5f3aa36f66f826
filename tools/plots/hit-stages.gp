# SPDX-License-Identifier: GPL-2.0-or-later
#
# hit-stages.gp - What the time of 200 hits goes to.
#
#   sqtrace-dump --figure=hit-stages TRACE | gnuplot -c hit-stages.gp hit-stages.png

NAME = "hit-stages"
TITLE = "What the time of 200 hits goes to"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "stages.gp"
