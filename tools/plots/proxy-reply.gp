# SPDX-License-Identifier: GPL-2.0-or-later
#
#   sqtrace-dump --figure=proxy-reply TRACE | gnuplot -c proxy-reply.gp proxy-reply.png

NAME = "proxy-reply"
SUFFIX = "_p50_ms"
DASHED = "_p90_ms median 90th_percentile"
YMAX = "*"
FOLDER = ARG0[1:strlen(ARG0)-strlen(NAME . ".gp")]
OUTPUT = ARG1
INPUT = ARG2
load FOLDER . "curves.gp"
