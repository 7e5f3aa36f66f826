# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo-report.sh - the demo's reports, and the page that leads to them.  Uses the demo's variables top and report.

# report_of NAME TITLE TRACE...: in $report/NAME.  The commands on its pages name the traces from there.
report_of()
{
    name=$1
    title=$2
    shift 2
    (cd "$report" && sqtrace-report --data="$top/tools" --quiet --title="$title" -o "$name" "$@") ||
        die "there is no report of $name"
}

# The report and a picture of the sample, which need no Squid.
show_sample()
{
    if ! (report_of sample "A sample" "$top/doc/sample" && cd "$report/sample" &&
        sqtrace-dump --quiet --figure=response-time --plot=response-time.gp "$top/doc/sample" &&
        gnuplot response-time.gp); then
        say "there is no report of the sample to look at; the demo goes on"
        return
    fi
    say "to look at meanwhile: $report/sample/index.html, the report of a trace that is there already,"
    say "and $report/sample/response-time.png, a picture that gnuplot drew from response-time.gp beside it"
}

make_reports()
{
    report_of flagship "One disk hit, four ways" diskd-idle=traces/diskd-idle diskd-busy=traces/diskd-busy \
        aufs-idle=traces/aufs-idle ufs-idle=traces/ufs-idle
    report_of mixed "A mixed load" traces/mixed
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
    tell_diskd
}

tell_diskd()
{
    awk -F '\t' '$1 == "diskd" && $2 == "idle" {
        printf "The idle diskd hit: of %.0f ms, %.0f ms are %d blocks that were read and waited to be noticed;\n", $3, $9, $5
        printf "the reads themselves took %.1f ms.  Squid looks for answers of diskd when its event loop wakes,\n", $8
        print "and an idle loop sleeps 10 ms at a time."
    }' "$report/flagship.tsv"
}

# tsv_html FILE: its rows as rows of a table.
tsv_html()
{
    awk -F '\t' '
        /^#/ { next }
        {
            cell = header ? "td" : "th"
            header = 1
            printf "<tr>"
            for (i = 1; i <= NF; ++i)
                printf "<%s>%s</%s>", cell, $i, cell
            print "</tr>"
        }' "$1"
}

# The page: tools/report/demo.html with the numbers of this machine, in the style of the reports.
write_index()
{
    cp "$top/tools/report/style.css" "$report/" &&
        while IFS= read -r line; do
            case $line in
            '{{table}}') tsv_html "$report/flagship.tsv" ;;
            '{{diskd}}') tell_diskd ;;
            *) printf '%s\n' "$line" ;;
            esac
        done <"$top/tools/report/demo.html" >"$report/index.html" || die "$report: cannot be written"
}
