# SPDX-License-Identifier: GPL-2.0-or-later
#
# tables.sh - from the runs' values to tables, and the report.
#
# $folder/values.tsv has a row for each value: configuration, round, metric, value.

statistics=$data/experiment/frame/statistics.awk
columns=$data/experiment/frame/columns.awk

# load_columns FILE PROGRAM [OPTION...]: awk over a TSV file with a header row, as columns.awk makes it easy.
load_columns()
{
    columns_file=$1
    columns_program=$2
    shift 2
    awk -F '\t' "$@" "$(cat "$columns")
$columns_program" "$columns_file"
}

# When the times of sqtrace-load's results begin, in seconds of the epoch.
load_start()
{
    sed -n 's/^# start: .*(\(.*\))$/\1/p' "$here/load.tsv"
}

load_end()
{
    load_columns "$here/load.tsv" '
        $c["class"] == "all" && $c["begin_s"] + $c["duration_s"] > end { end = $c["begin_s"] + $c["duration_s"] }
        END { printf "%.6f\n", begin + end }' -v begin="$(load_start)"
}

make_values()
{
    for round in $(seq "$rounds"); do
        for configuration in $(chosen); do
            here=$folder/runs/$round-$configuration
            if [ ! -f "$here/values.tsv" ]; then
                values "$configuration" >"$here/values.new" || die "$here: what it holds cannot be read"
                mv "$here/values.new" "$here/values.tsv"
            fi
            sed "s/^/$configuration	$round	/" "$here/values.tsv"
        done
    done >"$folder/values.new"
    { printf 'configuration\tround\tmetric\tvalue\n' && cat "$folder/values.new"; } >"$folder/values.tsv"
    rm -f "$folder/values.new"
}

# compare_table ROWS TABLE CONFIGURATION...: a row for each metric of that table, a column for each configuration.
compare_table()
{
    awk -F '\t' -v wanted="$2" -v names="$3" -f "$statistics" -f "$data/experiment/frame/compare.awk" \
        "$folder/values.tsv" "$1"
}

# published_table ROWS TABLE WHO
published_table()
{
    load_columns "$1" '
        function cell(mean, cv) { return mean == "-" ? "-" : mean " (" cv ")" }
        $c["table"] == wanted {
            if (!any++)
                printf "\n%-26s %17s %17s %17s\n", who == "squid" ? "Squid, 1998" : "another proxy, 1998", "one", "two", "none"
            printf "%-26s %17s %17s %17s\n", $c["label"], cell($c[who "_one"], $c[who "_one_cv"]),
                cell($c[who "_two"], $c[who "_two_cv"]), cell($c[who "_none"], $c[who "_none_cv"])
        }' -v wanted="$2" -v who="$3"
}

# Lines of a report's name and the configurations that it compares, at most 8.  An experiment may say it otherwise.
reports()
{
    echo report "$(configurations | tr '+\n' '  ')"
}

# make_report: of the first round's traces, and the page.
make_report()
{
    reports | while read -r name compared; do
        for configuration in $compared; do
            chosen | grep -qxF -e "$configuration" && echo "$name $compared" && break
        done
    done >"$folder/reports"
    while read -r name compared; do
        # shellcheck disable=SC2046 # labels and folders hold no spaces
        said=$(cd "$folder" && sqtrace-report --data="$pages" --quiet --title="$experiment" -o "$name" \
            $(for configuration in $compared; do
                here=runs/1-$configuration
                [ -f "$folder/$here/done" ] || continue
                traces "$configuration"
            done) 2>&1 </dev/null)
        # 3: some figure could not be drawn, because nothing was there to be drawn.
        case $? in
        0 | 3) ;;
        *) die "there is no report: $said" ;;
        esac
    done <"$folder/reports"
    cp "$pages/report/style.css" "$folder/"
    while IFS= read -r line; do
        case $line in
        '{{tables}}') sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' "$folder/tables.txt" ;;
        '{{reports}}') sed 's|^\([^ ]*\) \(.*\)|<li><a href="\1/index.html">\2</a></li>|' "$folder/reports" ;;
        *) printf '%s\n' "$line" | sed "s/{{name}}/$experiment/" ;;
        esac
    done <"$data/experiment/page.html" >"$folder/index.html" || die "$folder/index.html: cannot be written"
    rm -f "$folder/reports"
}
