# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=response-time-cdf TRACE | gnuplot -c response-time-cdf.gp response-time-cdf.png

NAME = "response-time-cdf"
SUFFIX = "_pct"
DASHED = ""
YMAX = "100"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
