#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_examples.sh - the examples of sqtrace-dump(1), and the commands of README.md that read a trace, as a reader would
# copy them: each exits with 0 and prints something.  They read doc/sample, or the trace that SQT_SAMPLE names, in place
# of the trace directory, its first complete transaction in place of 54, the connection of that one in place of 11, and
# ten seconds from its time of day on in place of those in the manual.  A sample of two minutes is too short for groups of
# one, which is a warning.
. "$SQT_SOURCE/tests/unit/tap.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"
PATH=$SQT_TOOLS:$PATH
out=$work/out err=$work/err
sample=${SQT_SAMPLE:-$SQT_SOURCE/doc/sample}
xid=$(sqtrace-dump --quiet --no-comments --no-header --columns=xid --where='kid == 1 and outcome == complete' "$sample" |
    sed -n 1p)

of_that() { sqtrace-dump --quiet --no-comments --no-header --columns="$1" --where="kid == 1 and xid == $xid" "$sample" | sed -n 1p; }
conn=$(of_that conn)
from=$(of_that when | cut -c12-19)
until=$(echo "$from" | awk -F: '{ s = ($1 * 3600 + $2 * 60 + $3 + 10) % 86400; printf "%02d:%02d:%02d", s / 3600, s % 3600 / 60, s % 60 }')

# The log of that trace, in the format of README.md.
sqtrace-dump --quiet --no-comments --no-header --format=tsv --columns=kid,xid,time_ns,total_ns,tag,status,method "$sample" |
    awk -F '\t' '$2 != "-" && $3 != "-" && $4 != "-" {
        printf "%s %s %.3f %d 192.0.2.1 %s/%s 0 %s http://www.example.com/%s\n", $1, $2, ($3 + $4) / 1e9, $4 / 1e6, $5, $6, $7, $2
    }' >"$work/sqtrace.log"

# Each example between .EX and .EE in the section EXAMPLES.
awk '
    /^\.SH / { inside = $0 == ".SH EXAMPLES" }
    inside && $0 == ".EX" { ++n; example = 1; next }
    $0 == ".EE" { example = 0 }
    example { print > (folder "/page." sprintf("%02d", n)) }' folder="$work" "$SQT_TOOLS/sqtrace-dump.1"
# A line of README.md that is a whole command.
sed -n -e 's/^    \(sqtrace-\(dump\|report\) .*\/var\/spool\/squid\/trace.*\)/\1/p' \
    -e 's/^    \(sqtrace-dump --list.*\)/\1/p' \
    -e 's/^    \.\/\(sqtrace-dump .*\)\.\.\/\.\.\/doc\/sample.*/\1\/var\/spool\/squid\/trace/p' \
    "$SQT_SOURCE/README.md" | grep -v -e --follow | awk '{ print > (folder "/readme." sprintf("%02d", NR)) }' folder="$work"

# The command of a file, with another trace and where the plots are here.
command_of()
{
    sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\e/\\/g' -e 's/\\&//g' -e "s|/var/spool/squid/trace|$sample|g" \
        -e "s|/var/log/squid/sqtrace.log|$work/sqtrace.log|g" \
        -e "s|/usr/share/sqtrace/plots|$SQT_SOURCE/tools/plots|" -e "s/ == 54'/ == $xid'/" \
        -e "s/conn == 11'/conn == $conn'/" -e "s/12:03:10/$from/" -e "s/12:03:20/$until/" \
        -e "s|sqtrace-report |&--data='$SQT_SOURCE/tools' |" "$1"
}

# Text beside comments and a header row on the standard output, or a new file.
printed_something()
{
    grep -v '^#' "$out" | sed 1d | grep -q . && return 0
    [ "$(grep -vc '^#' "$out")" = 1 ] && ! grep -q '	' "$out" && return 0
    [ -n "$(find "$work/run" -mindepth 1 -newer "$work/mark" -size +0c)" ]
}

run_example()
{
    missing=
    for program in gnuplot babeltrace2; do
        case $program in gnuplot) users='gnuplot\|sqtrace-report' ;; *) users=$program ;; esac
        if grep -q "$users" "$1" && ! command -v "$program" >/dev/null; then missing=$program; fi
    done
    if [ -n "$missing" ]; then
        number=$((number + 1))
        echo "ok $number - $(sed -n 1p "$1") # SKIP $missing is not installed"
        return
    fi
    command_of "$1" >"$work/command"
    rm -rf "$work/run" && mkdir "$work/run"
    touch "$work/mark"
    sleep 0.02
    (cd "$work/run" && sh -e "$work/command") >"$out" 2>"$err" && printed_something &&
        ! grep 'sqtrace-dump: ' "$err" | grep -qv -e 'warning: no process writes this trace' -e 'warning: --group=1min: the groups'
    check "$(sed -n 1p "$1" | sed 's/\\//g')"
}

for example in "$work"/page.* "$work"/readme.*; do
    run_example "$example"
done
[ "$number" -ge 30 ]
check "the examples are found"
plan
