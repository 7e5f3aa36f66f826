#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_golden.sh - tables and figures of one small trace, to the byte, against tests/golden/dump/.
#
# With GOLDEN_WRITE=1 it writes those files anew: look at the difference before it is committed.

golden=$SQT_SOURCE/tests/golden/dump
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/dump_traces" "$work/t" || exit 1
cd "$work/t" || exit 1
number=0
for name in table=events table=requests table=swaps table=ios table=connections table=losses table=summary \
    figure=block-comb; do
    number=$((number + 1))
    file=$golden/${name#*=}.tsv
    "$SQT_TOOLS/sqtrace-dump" --quiet "--$name" story >"$work/out"
    [ -z "$GOLDEN_WRITE" ] || cp "$work/out" "$file"
    if cmp -s "$work/out" "$file"; then
        echo "ok $number - --$name"
    else
        echo "not ok $number - --$name"
        diff "$file" "$work/out" | head -10 | sed 's/^/# /'
    fi
done
echo "1..$number"
