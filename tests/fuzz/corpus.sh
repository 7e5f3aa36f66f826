#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# corpus.sh - sqtrace-dump against the inputs that fuzzing found, and blind mutations of them: always the same ones.
#
# The phase fuzz of tools/check does it with libFuzzer; here it is done with whatever sqtrace is built with, such as
# the sanitizer of threads.

tools=${SQT_TOOLS:-.}
source=${SQT_SOURCE:-.}
fuzz=$tools/tests/fuzz/fuzz_dump
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
TMPDIR=$work
export TMPDIR
out=$work/out err=$work/err
. "$source/tests/unit/tap.sh"

ls "$source"/tests/fuzz/corpus/* >"$work/list"
[ "$(wc -l <"$work/list")" -ge 100 ]
check "there is a corpus"
timeout 300 "$fuzz" "$source/tests/fuzz/corpus" >"$out" 2>"$err"
check "each input of the corpus is taken"
FUZZ_KEEP=$work/input timeout 300 "$fuzz" --runs=2000 --seed=1 "$source/tests/fuzz/corpus" >"$out" 2>"$err"
check "mutations of the corpus are taken"
plan
