#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# load_doc.sh - the manual page names every option, error and word of sqtrace-load; the completion offers them.

number=0
check() { # check NAME: the last command's status
    if [ $? -eq 0 ]; then
        number=$((number + 1)); echo "ok $number - $1"
    else
        number=$((number + 1)); echo "not ok $number - $1"
    fi
}

page=$SQT_TOOLS/sqtrace-load.1
missing=
for name in $(sed -n 's/^LOAD_OPTION([a-z_]*, *"\([^"]*\)".*/--\1/p' "$SQT_SOURCE/tools/load-options.def") \
    $(sed -n 's/^LOAD_[EW][A-Z]*(\([a-z]*\),.*/fB\1/p' "$SQT_SOURCE/tools/load-errors.def" \
        "$SQT_SOURCE/tools/load-workloads.def") \
    $(sed -n 's/^OBJECT_WORD(\([a-z]*\),.*/fB\1/p' "$SQT_SOURCE/src/load/object.def"); do
    grep -qF -e "$(printf '%s' "$name" | sed 's/-/\\-/g')" "$page" || missing="$missing $name"
done
[ -z "$missing" ]
check "the manual page names every option, workload, error and word of an object$missing"
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
    got=$(cd "$SQT_SOURCE" && bash -c \
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sqtrace_load; echo "${COMPREPLY[*]}"' \
        bash "$SQT_TOOLS/completions/sqtrace-load" sqtrace-load "$@" 2>/dev/null)
    [ "$got" = "$wanted" ]
    check "completion of '$*' offers '$wanted'"
}

if command -v bash >/dev/null; then
    offers "--workload=" --wor
    offers "--quiet" -o result --q
    offers "wpb" --workload = w
    offers "pareto" --sizes = p
    offers "README.md" --rows = READ
fi
echo "1..$number"
