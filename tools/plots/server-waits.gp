# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=server-waits TRACE | gnuplot -c server-waits.gp server-waits.png

NAME = "server-waits"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
OF = "server"
load FOLDER . "waits-by-name.gp"
