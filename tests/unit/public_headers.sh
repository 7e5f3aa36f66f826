#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# public_headers.sh - the headers that are installed compile alone, as C11 with POSIX and as C++11, without a warning.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-headers.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
number=0

compiles()
{
    compiles_name=$1
    shift
    number=$((number + 1))
    if "$@" -Wall -Wextra -Werror -I"$SQT_SOURCE/src" -fsyntax-only >"$work/out" 2>&1; then
        echo "ok $number - $compiles_name"
    else
        echo "not ok $number - $compiles_name"
        sed 's/^/# /' "$work/out"
    fi
}

for header in format/format.h format/events.h format/pack.h trace/sqtrace.h; do
    printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$header" "$header" |
        tee "$work/test.c" >"$work/test.cc"
    # shellcheck disable=SC2086 # CC may hold options
    compiles "$header is C11" ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L "$work/test.c"
done
# What hooks include is C++ too, each alone: a file of Squid includes those that its hooks need.
for header in format/format.h trace/sqtrace.h $(cd "$SQT_SOURCE/src" && echo squid/*.h); do
    printf '#include "%s"\nint main() { return 0; }\n' "$header" >"$work/test.cc"
    # shellcheck disable=SC2086 # CC may hold options
    compiles "$header is C++11" ${CXX:-c++} -std=c++11 "$work/test.cc"
done
echo "1..$number"
