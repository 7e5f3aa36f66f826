#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_golden.sh - tables and figures of two small traces, to the byte: of a made one against tests/golden/dump/, and of
# an old one against tests/golden/dump-old/.
#
# In the old one the stamps of an I/O are a PART_STAMP each.  No hook emits that any more, and a reader must understand
# it for ever, so its files are never written anew.
#
# And what a person sees in 80 columns, against tests/golden/screens/.
#
# With GOLDEN_WRITE=1 it writes the files of the made one anew: look at the difference before it is committed.

golden=$SQT_SOURCE/tests/golden
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/dump_traces" "$work/t" || exit 1
number=0

# compare FOLDER TRACE OPTION...: what the options make of TRACE is the file in the folder with the name of the first
compare() {
    number=$((number + 1))
    folder=$1 trace=$2
    shift 2
    file=$golden/$folder/${1#*=}.tsv
    "$SQT_TOOLS/sqtrace-dump" --quiet "$@" "$trace" >"$work/out"
    [ -z "$GOLDEN_WRITE" ] || [ "$folder" = dump-old ] || cp "$work/out" "$file"
    if cmp -s "$work/out" "$file"; then
        echo "ok $number - $trace $1"
    else
        echo "not ok $number - $trace $1"
        diff "$file" "$work/out" | head -10 | sed 's/^/# /'
    fi
}

cd "$work/t" || exit 1
for name in table=events table=requests table=swaps table=ios table=connections table=closes table=incidents table=losses table=summary table=servers \
    table=listeners table=waits table=services table=findings figure=block-comb; do
    compare dump story "--$name"
done
for name in table=loop_time table=profile table=stalls; do
    compare dump held.sqt "--$name"
done
# screen NAME PROGRAM ARGUMENT...: what a person sees in 80 columns
screen() {
    number=$((number + 1))
    file=$golden/screens/$1.txt
    name=$1 program=$2
    shift 2
    COLUMNS=80 "$SQT_TOOLS/$program" "$@" >"$work/out" 2>&1
    [ -z "$GOLDEN_WRITE" ] || cp "$work/out" "$file"
    if cmp -s "$work/out" "$file" && [ "$(sed 's/^ *sqtrace-.*//' "$file" | awk '{ n = length($0); m = n > m ? n : m } END { print m > 80 }')" != 1 ]; then
        echo "ok $number - screen $name"
    else
        echo "not ok $number - screen $name"
        diff "$file" "$work/out" | head -10 | sed 's/^/# /'
    fi
}
people="--format=table --no-comments"
# shellcheck disable=SC2086 # words
{
    screen requests sqtrace-dump --quiet $people story
    screen events sqtrace-dump --quiet $people --table=events --limit=30 story
    screen findings sqtrace-dump --quiet $people --table=findings "$SQT_SOURCE/doc/sample"
    screen histogram sqtrace-dump --quiet $people --histogram=total_ns "$SQT_SOURCE/doc/sample"
    screen top sqtrace-top --once --limit=3 story
    screen verdict sqtrace-report --quiet --verdict "before=$SQT_SOURCE/doc/sample" "after=$SQT_SOURCE/doc/sample"
    screen top-help sqtrace-top -h
}
cd "$golden" || exit 1
for name in table=events table=requests table=swaps table=ios; do
    # Tables get new columns, so only those of the file are asked for.
    compare dump-old old-stamps.sqt "--$name" \
        "--columns=$(grep -v '^#' "dump-old/${name#*=}.tsv" | head -n 1 | tr '\t' ,)"
done
echo "1..$number"
