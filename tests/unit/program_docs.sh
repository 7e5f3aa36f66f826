#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# program_docs.sh - each program's manual page names all that its tables declare, as --help does, and its completion
# offers it.
. "$SQT_SOURCE/tests/unit/tap.sh"

warns_of_nothing() { # warns_of_nothing PAGE
    ! LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null | grep .
}

for program in dump ship snapshot report load top exporter; do
    page=$SQT_TOOLS/sqtrace-$program.1
    options=$(sed -n 's/^[A-Z]*_OPTION([a-z_]*, *"\([^"]*\)".*/--\1/p' "$SQT_SOURCE/tools/$program/options.def")
    [ -n "$options" ]
    check "sqtrace-$program has options"
    listed=$(sed -n 's/^\(\\fB\\-.\\fR, \)\{0,1\}\\fB\\-\\-\([a-z.\\-]*\)\\fR.*/--\2/p' "$page" | tr -d "\\\\")
    [ "$listed" = "$options" ]
    check "the manual page of sqtrace-$program names every option"
    help=$("$SQT_TOOLS/sqtrace-$program" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z.-]*\).*/\2/p')
    [ "$help" = "$options" ]
    check "so does sqtrace-$program --help"
    ! grep '@[A-Z]*@' "$page"
    check "nothing in the manual page of sqtrace-$program is left to be replaced"
done
missing=
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/^SQT_TABLE([a-z_]*, "\([^"]*\)".*/\1/p; s/^SQT_\(ASKED_\)*COLUMN([a-z_]*, \([a-z_]*\),.*/\2/p' \
    "$SQT_SOURCE/src/row/tables.def"); do
    grep -qF -e "$(printf '%s' "$name" | sed 's/-/\\-/g')" "$SQT_TOOLS/sqtrace-tables.7" || missing="$missing $name"
done
[ -z "$missing" ]
check "sqtrace-tables(7) names every table and column"
missing=
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/^SQT_FIGURE([a-z_]*, "\([^"]*\)".*/\1/p' "$SQT_SOURCE/src/row/figures.def"); do
    grep -qxF -e ".SS $(printf '%s' "$name" | sed 's/-/\\-/g')" "$SQT_TOOLS/sqtrace-figures.7" || missing="$missing $name"
done
[ -z "$missing" ]
check "sqtrace-figures(7) names every figure"
missing=
for name in $(sed -n 's/^LOAD_[EW][A-Z]*(\([a-z]*\),.*/\1/p' "$SQT_SOURCE/tools/load/errors.def" \
    "$SQT_SOURCE/tools/load/workloads.def") $(sed -n 's/^OBJECT_WORD(\([a-z]*\),.*/\1/p' "$SQT_SOURCE/tools/load/object/object.def"); do
    grep -qF "fB$name" "$SQT_TOOLS/sqtrace-load.1" || missing="$missing $name"
done
[ -z "$missing" ]
check "the manual page of sqtrace-load names every workload, error and word of an object"
missing=
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/^TOP_TABLE([a-z]*, "\([^"]*\)".*/\1/p; s/^TOP_COLUMN([a-z]*, \([a-z_0-9]*\),.*/\1/p' \
    "$SQT_SOURCE/tools/top/tables.def"); do
    grep -q -e "fB$name\\\\fR" -e "^\\.SS $name\$" "$SQT_TOOLS/sqtrace-top.1" || missing="$missing $name"
done
[ -z "$missing" ]
check "sqtrace-top(1) names every table and column"
missing=
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/^ALARM_FUNCTION([a-z]*, *"\([a-z]*\)".*/\1/p' "$SQT_SOURCE/src/tally/functions.def"); do
    sed -n '/^\.SH ALARMS/,/^\.SH TIMES/p' "$SQT_TOOLS/sqtrace-dump.1" | grep -qw "$name" || missing="$missing $name"
done
[ -z "$missing" ]
check "sqtrace-dump(1) names every function of --fail-if"
missing=
for name in $(sed -n '/^static const char \*const parameters/,/;$/p' "$SQT_SOURCE/src/trace/config/config.c" | grep -o '"[a-z_]*"' | tr -d '"'); do
    grep -qF ".BI $name= " "$SQT_TOOLS/sqtrace_log.5" || missing="$missing $name"
done
[ -n "$name" ] && [ -z "$missing" ]
check "sqtrace_log(5) names every parameter"
for words in "an unlink by the main thread is the write to unlinkd's pipe" \
    "this time counts for the stage that it is in"; do
    tr '\n' ' ' <"$SQT_TOOLS/sqtrace-tables.7" | grep -qF "$words"
    check "sqtrace-tables(7) says: $words"
done
if command -v man >/dev/null; then
    for page in "$SQT_TOOLS"/sqtrace*.[157] "$SQT_SOURCE"/doc/sqtrace*.[157]; do
        warns_of_nothing "$page"
        check "man has nothing to warn of in ${page##*/}"
    done
else
    number=$((number + 1))
    echo "ok $number - man has nothing to warn of # SKIP man is not installed"
fi

offers() { # offers WANTED PROGRAM WORD...: what completing the last word gives
    wanted=$1 program=$2
    shift 2
    # shellcheck disable=SC2016 # that bash expands it
    got=$(cd "$SQT_SOURCE" && bash -c \
        'source "$1"; function=_$2; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "${function/-/_}"
         echo "${COMPREPLY[*]}"' \
        bash "$SQT_TOOLS/completions/$program" "$program" "$@" 2>/dev/null)
    [ "$got" = "$wanted" ]
    check "completion of '$program $*' offers '$wanted'"
}

if command -v bash >/dev/null; then
    offers "wpb" sqtrace-load --workload = w
    offers "requests" sqtrace-top --once --table = req
    offers "stage_ns stage" sqtrace-top --sort stage
    offers "--once" sqtrace-top --on
    offers "pareto" sqtrace-load --sizes p
    offers "README.md" sqtrace-load --rows = READ
    offers "--table=" sqtrace-dump --ta
    offers "swaps" sqtrace-dump --table = sw
    offers "swaps" sqtrace-dump --table sw
    offers "block-comb" sqtrace-dump --figure = bl
    offers "total_ns" sqtrace-dump --columns = tot
    offers "xid,first_byte_ns" sqtrace-dump --columns = xid,first_b
    offers "queue_ns" sqtrace-dump --table = ios --columns = que
    offers "service_ms" sqtrace-dump --figure = block-comb --columns serv
    offers "status" sqtrace-dump --where = stat
    offers "tsv table" sqtrace-dump --format = t
    offers "first_byte_ns" sqtrace-dump --sort = first_b
    offers "server_wait_ns server_reply_ns server_from_ns server_until_ns server" sqtrace-dump --group-by = server
    offers "class,when" sqtrace-dump --group-by = class,whe
    offers "service_ns" sqtrace-dump --table = ios --of = service_
    offers "trace wall" sqtrace-dump --clock = ""
    offers "strace" sqtrace-dump --from = s
    offers "perf" sqtrace-dump --from = p
    offers "--quiet" sqtrace-dump --table = ios --q
    offers "" sqtrace-dump --kid = ""
    offers "README.md" sqtrace-dump --output = READ
    offers "requests,swaps" sqtrace-ship --table = requests,sw
    offers "patches" sqtrace-ship --to = pat
    offers "--output=" sqtrace-report --ou
    offers "--quiet" sqtrace-report -o report --q
    offers "block-comb" sqtrace-report --figures = block
    offers "block-comb,hit-stages" sqtrace-report --figures = block-comb,hit-s
    offers "patches" sqtrace-report -o pat
    offers "README.md" sqtrace-report before = READ
    offers "" sqtrace-report --group = ""
    offers "--listen=" sqtrace-exporter --li
    offers "patches" sqtrace-exporter pat
fi
plan
