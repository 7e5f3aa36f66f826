#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# scripts.sh - shellcheck finds nothing in the scripts, and what it is told not to look for has its reason beside it.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
if ! command -v shellcheck >/dev/null; then
    echo "1..0 # SKIP shellcheck is missing"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-scripts-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out
: >"$out"
cd "$SQT_SOURCE" || exit 1

# The scripts, a line each.  Parts of a program have no first line that says what they are.
scripts()
{
    find tools tests .ci -type f | sort | while IFS= read -r file; do
        case $file in
        *.sh | tools/completion/*) echo "$file" ;;
        *) head -n 1 "$file" | grep -aq '^#!/bin/sh' && echo "$file" ;;
        esac
    done
}

scripts >"$work/scripts"
[ "$(wc -l <"$work/scripts")" -gt 50 ] && grep -qx tools/check "$work/scripts" && grep -qx tools/lib/trust.sh "$work/scripts"
check "the scripts are found"
while IFS= read -r script; do
    case $script in
    tools/completion/*) kind="bash" ;;
    *) kind="sh" ;;
    esac
    shellcheck --shell="$kind" --format=gcc "$script" >"$out" 2>&1
    check "$script"
done <"$work/scripts"
xargs grep -n '# shellcheck  *disable=' <"$work/scripts" | grep -v 'disable=[A-Z0-9,]* # [^ ]' >"$out"
[ ! -s "$out" ]
check "each finding that is not to be told has its reason beside it"
grep -B 1 '^disable=' .shellcheckrc | grep -v '^disable=\|^#\|^--' >"$out"
[ ! -s "$out" ]
check "and so has each kind of findings, in .shellcheckrc"
# A name in a folder that all users share comes from mktemp, or is checked.
while IFS= read -r script; do
    case $script in
    tools/*) grep -nHE '/tmp|TMPDIR' "$script" ;;
    esac
done <"$work/scripts" | grep -vE '^[^:]*:[0-9]*: *(#|die_in_one_line)|squid_can_name TMPDIR|trust.sh:[0-9]*: *absolute "\$\{TMPDIR:-/tmp\}"$' |
    grep -vE '^tools/lib/places.sh:[0-9]*: *place=/var/tmp/sqtrace-\$' >"$out"
[ ! -s "$out" ]
check "no script in tools names a file in a shared folder by itself"

plan
