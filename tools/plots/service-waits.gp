# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=service-waits TRACE | gnuplot -c service-waits.gp service-waits.png

NAME = "service-waits"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
OF = "service"
load FOLDER . "waits-by-name.gp"
