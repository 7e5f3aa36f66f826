#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_plots.sh - each figure can be drawn from a pipe and from a file, as SVG and PNG, without a warning.

plots=$SQT_SOURCE/tools/plots
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/dump_traces" "$work/t" || exit 1
cd "$work" || exit 1
number=0
check() { # check NAME: the last command's status
    if [ $? -eq 0 ]; then
        number=$((number + 1)); echo "ok $number - $1"
    else
        number=$((number + 1)); echo "not ok $number - $1"
        sed 's/^/# /' err | head -5
    fi
}

for name in $(sed -n 's/^SQT_TABLE([a-z_]*, "\([^"]*\)", FIGURE.*/\1/p' "$SQT_SOURCE/src/figure/tables.def"); do
    "$SQT_TOOLS/sqtrace-dump" --figure="$name" t/busy.sqt >"$name.tsv"
    gnuplot -c "$plots/$name.gp" "$name.svg" <"$name.tsv" 2>err && ! [ -s err ] &&
        grep -q '</svg>' "$name.svg" && [ "$(grep -c '<path' "$name.svg")" -gt 5 ]
    check "$name as SVG, from a pipe"
    title=$(sed -n 's/^set title .*"\([A-Z][a-z ]*\).*/\1/p; s/^TITLE = "\(.*\)"/\1/p' "$plots/$name.gp" | head -1)
    grep -q "(ms)" "$name.svg" && [ -n "$title" ] && grep -q "$title" "$name.svg"
    check "$name has a title, and axes with units"
    gnuplot -c "$plots/$name.gp" "$name.png" "$name.tsv" 2>err && ! [ -s err ] &&
        [ "$(head -c 4 "$name.png" | tail -c 3)" = PNG ]
    check "$name as PNG, from a file"
    "$SQT_TOOLS/sqtrace-dump" --figure="$name" --where='xid == 770077' t/busy.sqt |
        gnuplot -c "$plots/$name.gp" none.png 2>err
    [ $? -eq 1 ] && [ "$(cat err)" = "there are no rows: nothing to draw" ]
    check "$name without rows: one line, status 1"
done
echo "1..$number"
