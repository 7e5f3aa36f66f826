#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# hooks.sh - what hooks emit, without a Squid: compiles hooks.cc and the parser of traceparent, and runs it.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-hooks.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # CXX may hold options
if ! ${CXX:-c++} -std=c++11 -O1 -Wall -Wextra -Wshadow -Werror -I"$SQT_SOURCE/src" -o "$work/hooks" \
    "$SQT_SOURCE/tests/unit/hooks.cc" "$SQT_SOURCE/src/trace/context/traceparent.c" >"$work/out" 2>&1; then
    sed 's/^/# /' "$work/out"
    echo "Bail out! hooks.cc does not compile"
    exit 1
fi
"$work/hooks"
