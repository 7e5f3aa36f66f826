#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe_figure.sh - HACKING.md, "A new figure": followed in a copy of the tree, with a dummy.
set -u

. "${SQT_SOURCE:?}/tests/unit/recipe.sh"
copy_build

# ---- the recipe ----

sed -i '/^SQT_FIGURE(response_time, /i\
SQT_FIGURE(dummy_load, "dummy-load", request_rates, "Load of a dummy", SQT_X_TIME, "requests (1/s)",\
           "requests for each second, in a test of a recipe", "How a dummy is drawn.")\
SQT_BY_TIME(dummy_load)\
SQT_CURVE(dummy_load, all, RATE, REQUESTS(SQT_ALL, 0, 0, 0), NOTHING)\
SQT_DRAWN(dummy_load, RATES)\
SQT_LINK(dummy_load, "sort=time_s\&class=miss", "Open the requests of a dummy")\
SQT_TABLE_END(dummy_load)\
' "$tree/src/row/figures.def"
ln -s rates.gp "$tree/tools/plots/dummy-load.gp"
sed -i '/^RATES = /a\
RATES["dummy-load"] = [("all", all_of)]' "$tree/tests/unit/figures_oracle.py"

# ---- what it gives ----

make_in_build sqtrace-dump sqtrace-report sqtrace-dump.1 tests/unit/figure_traces
check "it builds"
"$build/sqtrace-dump" --list >"$out" 2>&1
grep -q '^figure dummy-load - requests for each second, in a test of a recipe$' "$out"
check "sqtrace-dump --list names the figure"
"$build/sqtrace-dump" --quiet --figure=dummy-load "$tree/doc/sample" >"$work/dummy.tsv" 2>"$out"
[ "$(grep -vc '^#' "$work/dummy.tsv")" -gt 2 ] && grep -q '^# title: Load of a dummy$' "$work/dummy.tsv"
check "and prints it"
"$build/sqtrace-dump" --quiet --figure=dummy-load --plot="$work/dummy.plot.gp" "$tree/doc/sample" >"$out" 2>&1 &&
    grep -q '^plot ' "$work/dummy.plot.gp"
check "and --plot writes a script"
if command -v gnuplot >/dev/null; then
    gnuplot -c "$tree/tools/plots/dummy-load.gp" "$work/dummy.svg" <"$work/dummy.tsv" 2>"$out" && [ ! -s "$out" ] &&
        grep -q 'Load of a dummy' "$work/dummy.svg"
    check "and gnuplot draws it"
else
    echo "ok $((number = number + 1)) - and gnuplot draws it # SKIP gnuplot is missing"
fi
# gnuplot draws the pictures above which the page's charts stand.
if command -v gnuplot >/dev/null; then
    "$build/sqtrace-report" --quiet --data="$tree/tools" --figures=dummy-load --output="$work/report" "$tree/doc/sample" >"$out" 2>&1
    grep -q '"figure":"dummy-load".*"solid":"_per_s"' "$work/report/series.js"
    check "and the report's page can zoom it"
    grep -q 'class=miss.*Open the requests of a dummy' "$work/report/index.html"
    check "and the page leads to its requests"
fi
SQT_SOURCE=$tree SQT_TOOLS=$build python3 "$tree/tests/unit/figures_oracle.py" group.sqt >"$out" 2>&1 &&
    grep -q '^ok .*dummy-load' "$out" && ! grep -q '^not ok' "$out"
check "and the oracle computes the same"
make_in_build install-data-local DESTDIR="$work/installed"
[ -n "$(find "$work/installed" -name dummy-load.gp -type f)" ]
check "its script is installed"
follows 'A new figure'
plan
