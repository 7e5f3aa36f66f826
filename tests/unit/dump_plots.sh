#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_plots.sh - each figure can be drawn from a pipe and from a file, as SVG and PNG, without a warning, and one of many
# rows in little time.
. "$SQT_SOURCE/tests/unit/tap.sh"

plots=$SQT_SOURCE/tools/plots
if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
err=$work/err
many=5000

"$SQT_TOOLS/tests/unit/figure_traces" "$work/t" || exit 1
for name in $("$SQT_TOOLS/sqtrace-dump" --list | sed -n 's/^figure \([^ ]*\) - .*/\1/p'); do
    case $name in
    leader-stages | held-back | server-waits | service-waits) trace=moved ;;
    whatif-*) trace=whatif ;;
    *) trace=mixed ;;
    esac
    "$SQT_TOOLS/sqtrace-dump" --quiet --figure="$name" t/$trace.sqt >"$name.tsv"
    gnuplot -c "$plots/$name.gp" "$name.svg" <"$name.tsv" 2>err && ! [ -s err ] &&
        grep -q '</svg>' "$name.svg" && [ "$(grep -c '<path' "$name.svg")" -gt 5 ]
    check "$name as SVG, from a pipe"
    drawn=true
    for key in title x y; do
        text=$(sed -n "s/^# $key: //p" "$name.tsv")
        [ -n "$text" ] && grep -qF ">$text" "$name.svg" || drawn=false
    done
    $drawn
    check "$name has its title, and axes with units"
    gnuplot -c "$plots/$name.gp" "$name.png" "$name.tsv" 2>err && ! [ -s err ] &&
        [ "$(head -c 4 "$name.png" | tail -c 3)" = PNG ]
    check "$name as PNG, from a file"
    "$SQT_TOOLS/sqtrace-dump" --quiet --figure="$name" --until=1us t/none.sqt >none.tsv
    [ "$(grep -c '^# nothing: ' none.tsv)" = 1 ] && ! grep -q "^[0-9]" none.tsv
    check "$name of nothing says why"
    gnuplot -c "$plots/$name.gp" none.png <none.tsv 2>err
    [ $? -eq 1 ] && [ "$(cat err)" = "there are no rows: nothing to draw" ]
    check "$name without rows: one line, status 1"
    # The sample has points for each, but nothing was lost in it.
    "$SQT_TOOLS/sqtrace-dump" --quiet --figure="$name" "$SQT_SOURCE/doc/sample" >"$name.tsv"
    if [ "$name" = diskops-lost ]; then
        grep -q '^# nothing: ' "$name.tsv" && [ "$(grep -vc '^#' "$name.tsv")" = 1 ]
        check "$name of the sample: nothing"
        continue
    fi
    case $name in
    whatif-*)
        # It is too short for that.
        grep -q '^# refused: ' "$name.tsv"
        check "$name of the sample: refused"
        continue
        ;;
    esac
    gnuplot -c "$plots/$name.gp" sample.svg <"$name.tsv" 2>err && ! [ -s err ] && grep -q '</svg>' sample.svg &&
        [ "$(grep -vc '^#' "$name.tsv")" -gt 1 ]
    check "$name of the sample"
    # A month has many rows: those of the sample again and again, one after the other.
    awk -F'\t' -v OFS='\t' -v most=$many '
        /^#/ { if (rows < 1) print; next }
        head == "" { head = $1; print; next }
        { row[++rows] = $0 }
        END {
            split(row[rows], last)
            for (i = 0; i < most; ++i) {
                $0 = row[i % rows + 1]
                if (head == "time_s") $1 += int(i / rows) * (last[1] + 1)
                print
            }
        }' "$name.tsv" >"many.tsv"
    prlimit --cpu=30 gnuplot -c "$plots/$name.gp" many.svg many.tsv 2>err && ! [ -s err ] && grep -q '</svg>' many.svg
    check "$name of $many rows, in 30 s of processor time"
done
# gnuplot 6 takes the definition of a function of its own for a syntax error; 5.4 has none of these.
grep -nHE '^ *(round|index|split|join|rgbcolor|conj|zeta|uigamma|lnGamma|LambertW|SynchrotronF|Sign) *\([^)]*\) *=[^=]' \
    "$plots"/*.gp >err
[ ! -s err ]
check "no plot script defines a function that gnuplot 6 has"
# Figures that are drawn alike are links to one script, which knows its name from the link.
for script in "$plots"/*.gp; do
    name=${script##*/}
    [ -L "$script" ] || printf '%s %s\n' "$(grep -v '^#' "$script" | sed "s/${name%.gp}/NAME/g" | cksum)" "$name"
done | sort | awk '{ of[$1 " " $2] = of[$1 " " $2] " " $3 } END { for (k in of) if (split(of[k], alike) > 1) print "alike:" of[k] }' >err
[ ! -s err ]
check "no two plot scripts are equal but for a name"
gnuplot -c "$plots/load.gp" "" load.tsv 2>err && ! [ -s err ] && [ "$(head -c 4 load.png | tail -c 3)" = PNG ]
check "a picture without a name is called as the link"
awk -F'\t' -v OFS='\t' '/^[0-9]/ { $3 = "-" } { print }' backlogs.tsv >unnamed.tsv
gnuplot -c "$plots/backlogs.gp" unnamed.svg unnamed.tsv 2>err && ! [ -s err ] && grep -qF ', port unknown<' unnamed.svg
check "backlogs of ports without names"
awk -F'\t' -v OFS='\t' '/^[0-9]/ { $4 = $6 = "-" } { print }' backlogs.tsv >unknown.tsv
gnuplot -c "$plots/backlogs.gp" unknown.svg unknown.tsv 2>err
[ $? -eq 1 ] && [ "$(cat err)" = "there are no rows: nothing to draw" ]
check "backlogs whose values are unknown"
awk -F'\t' -v OFS='\t' '/^#/ || rows++ < 2 { if (rows == 2) { $1 = $2 = "block"; $6 = $7 = $8 = 0 } print }' waterfall.tsv >blocks.tsv
gnuplot -c "$plots/waterfall.gp" blocks.svg blocks.tsv 2>err && ! [ -s err ] && [ "$(grep -c '^block' blocks.tsv)" = 1 ]
check "a waterfall of blocks alone"
awk -F'\t' -v OFS='\t' '!/^#/ && rows++ { $3 = "0.000000" } { print }' digest-activity.tsv >none.tsv
gnuplot -c "$plots/digest-activity.gp" none.svg none.tsv 2>err
[ $? -eq 1 ] && [ "$(cat err)" = "there are no rows: nothing to draw" ]
check "digests that took no time"
awk -F'\t' -v OFS='\t' '/^#/ || !rows++ { print; next } { for (k = 3; k <= NF; ++k) $k = k > NF - 14 && k < NF ? "-" : "0.000000"; print }' \
    hit-stages.tsv >none.tsv
gnuplot -c "$plots/hit-stages.gp" none.svg none.tsv 2>err && grep -q '</svg>' none.svg
check "stages that took no time"
plan
