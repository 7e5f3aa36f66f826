#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_doc.sh - the manual page names every option, table and column; the completion offers them.

number=0
check() { # check NAME: the last command's status
    if [ $? -eq 0 ]; then
        number=$((number + 1)); echo "ok $number - $1"
    else
        number=$((number + 1)); echo "not ok $number - $1"
    fi
}

page=$SQT_TOOLS/sqtrace-dump.1
# Names as troff text has them.
missing=
for name in $(sed -n 's/^DUMP_OPTION([a-z_]*, *"\([^"]*\)".*/--\1/p' "$SQT_SOURCE/tools/dump-options.def") \
    $(sed -n 's/^SQT_TABLE([a-z_]*, "\([^"]*\)".*/\1/p; s/^SQT_COLUMN([a-z_]*, \([a-z_]*\),.*/\1/p' \
        "$SQT_SOURCE/src/figure/tables.def"); do
    grep -qF -e "$(printf '%s' "$name" | sed 's/-/\\-/g')" "$page" || missing="$missing $name"
done
[ -z "$missing" ]
check "the manual page names every option, table, figure and column"
! grep -q '@[A-Z]*@' "$page"
check "nothing in the manual page is left to be replaced"
if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep -q .
    [ $? = 1 ]
    check "man has nothing to warn of"
fi

offers() { # offers WANTED WORD...: what completing the last word gives
    wanted=$1
    shift
    # shellcheck disable=SC2016
    got=$(bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sqtrace_dump; echo "${COMPREPLY[*]}"' \
        bash "$SQT_TOOLS/completions/sqtrace-dump" sqtrace-dump "$@" 2>/dev/null)
    [ "$got" = "$wanted" ]
    check "completion of '$*' offers '$wanted'"
}

if command -v bash >/dev/null; then
    offers "--table=" --ta
    offers "swaps" --table = sw
    offers "swaps" --table sw
    offers "block-comb" --figure = b
    offers "total_ns" --columns = tot
    offers "xid,first_byte_ns" --columns = xid,first_b
    offers "queue_ns" --table = ios --columns = que
    offers "service_ms" --figure = block-comb --columns serv
    offers "status" --where = stat
    offers "tsv" --format = t
    offers "--quiet" --table = ios --q
    offers "" --kid = ""
fi
echo "1..$number"
