# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=disk-response-by-size TRACE | gnuplot -c disk-response-by-size.gp disk-response-by-size.png

NAME = "disk-response-by-size"
SUFFIX = "_p50_ms"
DASHED = "_p90_ms median 90th_percentile"
YMAX = "*"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
