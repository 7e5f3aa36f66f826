# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=whatif-cache-mem TRACE | gnuplot -c whatif-cache-mem.gp whatif-cache-mem.png

NAME = "whatif-cache-mem"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "whatif-sizes.gp"
