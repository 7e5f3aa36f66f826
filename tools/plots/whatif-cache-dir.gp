# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=whatif-cache-dir TRACE | gnuplot -c whatif-cache-dir.gp whatif-cache-dir.png

NAME = "whatif-cache-dir"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "whatif-sizes.gp"
