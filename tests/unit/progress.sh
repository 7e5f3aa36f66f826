#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# progress.sh - what a build says while it runs: each compiler run, of how many, and the time left; and that it waits for
# another build in the same folder.
. "$SQT_SOURCE/tests/unit/tap.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
program=progress
for part in say places; do
    # shellcheck source=/dev/null
    . "$SQT_SOURCE/tools/lib/$part.sh"
done
out=$work/out

# A makefile as automake's: 12 objects of libtool, 6 others, and 6 that make does not name; each takes 0.3 s.
{
    printf 'all: prog\n'
    for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
        printf 'l%s.lo:\n\t@echo libtool --mode=compile cc -c -o $@ x.c; sleep 0.3; echo libtool: compile: cc -c x.c -fPIC -o .libs/$@; touch $@\n' $n
    done
    for n in 1 2 3 4 5 6; do
        printf 'o%s.o:\n\t@echo cc -DX -c -o $@ x.c; sleep 0.3; touch $@\n' $n
        printf 's%s.o:\n\t@echo "  CC       $@"; : -c -o $@; sleep 0.3; touch $@\n' $n
    done
    printf 'prog: l1.lo l2.lo l3.lo l4.lo l5.lo l6.lo l7.lo l8.lo l9.lo l10.lo l11.lo l12.lo o1.o o2.o o3.o o4.o o5.o o6.o s1.o s2.o s3.o s4.o s5.o s6.o\n'
    printf '\t@echo linking; sleep 2; touch $@\n'
} >"$work/Makefile"

[ "$(compiler_runs_ahead "$work" all)" = 24 ]
check "24 compilers will run"
[ "$(compiler_runs_ahead "$work/none")" = 0 ]
check "nothing is known of a folder that is not there"
echo 'cc -c -o earlier.o earlier.c' >"$work/log"
say_every=1
run_counted 24 "$work/log" make -C "$work" >"$out"
check "it was made"
grep -q '\.\.\. [0-9]* of 24 compiler runs, about [0-9] s left$' "$out"
check "it says how many of 24, and the time left"
awk '/of 24 compiler runs/ { ++lines; if ($5 < last || $5 > 24) wrong = 1; last = $5 } END { exit wrong || lines < 6 || last != 24 }' "$out"
check "the number grows to 24, also where libtool is not used"
grep -q '24 of 24 compiler runs, now: linking$' "$out"
check "then it says what it does"
[ "$(compiler_runs_ahead "$work" all)" = 0 ]
check "none is left to run"
run_logged "$work/log" sh -c 'echo checking for the moon...; sleep 1.5' >"$out"
grep -q '\.\.\. now: checking for the moon\.\.\.$' "$out" && ! grep -q 'compiler runs' "$out"
check "what starts no compiler names what it does"
[ "$(say_time_left 89)" = "about 89 s left" ] && [ "$(say_time_left 100)" = "about 2 min left" ]
check "minutes from 90 s on"

# Another build in the folder.
mkdir "$work/w"
(
    lock_work "$work/w"
    touch "$work/locked"
    sleep 3.5
) &
while [ ! -e "$work/locked" ]; do sleep 0.1; done
lock_work "$work/w" >"$out"
wait
[ "$(grep -c "waiting for another sqtrace-build in $work/w, process [0-9]*; --work=DIR" "$out")" -ge 3 ]
check "a build that waits says so again and again"
plan
