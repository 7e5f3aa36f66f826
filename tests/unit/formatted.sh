#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# formatted.sh - clang-format would change no file, and few regions are kept from it.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
# Other versions of clang-format break some lines at other places.
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "1..0 # SKIP clang-format 14, which Debian 12 has, is missing"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-format-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out
cd "$SQT_SOURCE" || exit 1

find src tools tests -type f \( -name '*.c' -o -name '*.cc' -o -name '*.h' \) >"$work/files"
[ "$(wc -l <"$work/files")" -gt 300 ]
check "the files are found"
xargs -n 50 clang-format --dry-run -Werror <"$work/files" >"$out" 2>&1
check "clang-format would change nothing; make format runs it"
xargs grep -n 'clang-format off' <"$work/files" >"$out"
[ "$(wc -l <"$out")" -le 20 ]
check "at most 20 regions are kept from it"
# One that is badly written is noticed.
printf 'int f( void )\n{ return 1; }\n' >"$work/bad.c"
cp .clang-format "$work/"
! clang-format --dry-run -Werror "$work/bad.c" >"$out" 2>&1
check "a file that is not formatted is told"
plan
