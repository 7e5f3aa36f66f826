#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The reader against mutated traces: those that read_fuzz makes, and the golden ones.  Always the same mutations; for
# new ones run read_fuzz by hand with another --seed, in a tree configured with --enable-sanitizers.

tools=${SQT_TOOLS:-.}
source=${SQT_SOURCE:-.}
fuzz=$tools/tests/fuzz/read_fuzz

check() {
    number=$1 what=$2
    shift 2
    if timeout 100 "$@" >/dev/null; then
        echo "ok $number - $what"
    else
        echo "not ok $number - $what: $*"
    fi
}

echo 1..3
check 1 "golden traces are read" "$fuzz" "$source"/tests/golden/*.sqt "$source"/tests/golden/*.ring
check 2 "mutations of made traces" "$fuzz" --runs=3000 --seed=1
check 3 "mutations of golden traces" "$fuzz" --runs=3000 --seed=2 \
    "$source"/tests/golden/*.sqt "$source"/tests/golden/*.ring
