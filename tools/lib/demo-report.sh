# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo-report.sh - the demo's pictures and its page.  Uses the demo's variables top and report.

# draw FIGURE NAME: $report/FIGURE-NAME.tsv as an SVG.
draw()
{
    gnuplot -c "$top/tools/plots/$1.gp" "$report/$1-$2.svg" "$report/$1-$2.tsv" >>"$report/gnuplot.log" 2>&1 ||
        say "gnuplot could not draw $1-$2: see $report/gnuplot.log"
}

draw_all()
{
    rm -f "$report/gnuplot.log"
    for store in ufs aufs diskd; do
        draw block-comb $store-idle
        draw block-comb $store-busy
    done
    draw hit-stages mixed
    draw miss-stages mixed
}

# The table of times in columns.
show_table()
{
    echo "One object of $flagship_bytes bytes, a disk hit, traced and not.  block_ms: the median block; then the sums over"
    echo "all blocks: queued, in I/O, and done but not noticed by Squid."
    echo
    awk -F '\t' '{ printf "%-6s %-8s %10s %12s %7s %9s %10s %7s %13s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 }' \
        "$report/flagship.tsv"
    echo
    awk -F '\t' '$1 == "diskd" && $2 == "idle" {
        printf "The idle diskd hit: of %.0f ms, %.0f ms are %d blocks that were read and waited to be noticed;\n", $3, $9, $5
        printf "the reads themselves took %.1f ms.  Squid looks for answers of diskd when its event loop wakes,\n", $8
        print "and an idle loop sleeps 10 ms at a time."
    }' "$report/flagship.tsv"
}

# tsv_html FILE: a table.
tsv_html()
{
    awk -F '\t' '
        BEGIN { print "<table>" }
        /^#/ { next }
        {
            cell = header ? "td" : "th"
            header = 1
            printf "<tr>"
            for (i = 1; i <= NF; ++i) {
                gsub(/&/, "\\&amp;", $i)
                gsub(/</, "\\&lt;", $i)
                printf "<%s>%s</%s>", cell, $i, cell
            }
            print "</tr>"
        }
        END { print "</table>" }' "$1"
}

# picture FILE WORD...: an SVG with what it shows.
picture()
{
    file=$1
    shift
    [ -f "$report/$file" ] || return 0
    printf '<figure><img src="%s" alt="%s"><figcaption>%s</figcaption></figure>\n' "$file" "$*" "$*"
}

write_index()
{
    {
        cat <<'END'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sqtrace: where a hit's time goes</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border-bottom: 1px solid #ddd; padding: .2em .8em; text-align: right; }
td:first-child, th:first-child { text-align: left; }
img { max-width: 100%; }
figure { margin: 1em 0; }
pre { background: #f4f4f4; padding: .6em; overflow-x: auto; }
</style></head><body>
<h1>Where a hit's time goes</h1>
END
        echo "<p>One object of $flagship_bytes bytes, a disk hit, from each kind of cache_dir: with no other client (idle),"
        echo "and beside two busy ones. block_ms is the median block; then the sums over all blocks: queued, in I/O, and done"
        echo "but not noticed by Squid.</p>"
        tsv_html "$report/flagship.tsv"
        echo "<pre>$(show_table | tail -n 3)</pre>"
        for store in diskd aufs ufs; do
            picture "block-comb-$store-idle.svg" "$store, idle: each block of the hit"
        done
        picture block-comb-diskd-busy.svg "diskd beside two busy clients: each block of the hit"
        echo "<h2>A mixed load</h2>"
        picture hit-stages-mixed.svg "what the time of hits goes to"
        picture miss-stages-mixed.svg "what the time of misses goes to"
        echo "<p>All stages and disk phases:</p>"
        tsv_html "$report/summary-mixed.tsv"
        echo "<h2>Look for yourself</h2><p>The traces lie beside this page.</p><pre>"
        echo "sqtrace-dump trace-diskd-idle"
        echo "sqtrace-dump --table=ios --where='direction == in and total_ns &gt; 5ms' trace-diskd-idle"
        echo "sqtrace-dump --list</pre></body></html>"
    } >"$report/index.html"
}
