# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=proxy-connect-cdf TRACE | gnuplot -c proxy-connect-cdf.gp proxy-connect-cdf.png

NAME = "proxy-connect-cdf"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
