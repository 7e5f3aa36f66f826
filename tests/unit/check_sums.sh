#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_sums.sh - tools/check counts what passed, failed and was skipped, and takes no broken test program for a passed
# one.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
results=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-check-test.XXXXXX") || exit 1
trap 'rm -rf "$results"' EXIT
. "$SQT_SOURCE/tools/lib/tap.sh"
. "$SQT_SOURCE/tools/lib/within.sh"
. "$SQT_SOURCE/tools/lib/tested.sh"
number=0

# sum NAME LINE STATUS: whether the results so far add up to that last line and status; then begins anew.
sum()
{
    number=$((number + 1))
    last=$(sum_tap)
    status=$?
    last=$(echo "$last" | tail -n 1)
    if [ "$last" = "$2" ] && [ "$status" -eq "$3" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# got status $status and: $last"
    fi
    rm -f "$results"/*
}

# program TEXT: what a test program does, for run_tap.
program()
{
    run_tap phase 20 sh -c "$1" >/dev/null 2>&1
}

program 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
sum 'what passes' '2 passed, 0 failed' 0
program 'echo 1..3; echo ok 1 - a; echo not ok 2 - b; echo "ok 3 - c # SKIP no root"; exit 1'
sum 'one failed, one skipped' '1 passed, 1 failed, 1 skipped' 1
program 'echo ok 1 - a; echo 1..1; exit 3'
sum 'a bad status without a failed test' '1 passed, 1 failed' 1
program 'echo 1..3; echo ok 1 - a'
sum 'fewer tests than planned' '1 passed, 1 failed' 1
program 'echo 1..2; echo ok 1 - a; kill -SEGV $$'
sum 'a crash' '1 passed, 1 failed' 1
program 'echo hello'
sum 'no test at all' '0 passed, 1 failed' 1
program 'echo 1..0 "# SKIP nothing here"'
sum 'nothing planned' '0 passed, 0 failed' 1
run_tap phase 1 sh -c 'echo 1..1; sleep 30; echo ok 1 - late' >/dev/null 2>&1
sum 'a program that hangs' '0 passed, 1 failed' 1
one_tap phase 'it builds' 0 >/dev/null
one_tap phase 'it installs' 1 >/dev/null
sum 'phases of one test' '1 passed, 1 failed' 1
one_tap phase 'it builds' 0 >/dev/null
skip_tap phase 'it starts' 'no time' >/dev/null
sum 'a phase that is left out' '1 passed, 0 failed, 1 skipped' 0

# A limit of two minutes, of which one is over.
elapsed()
{
    echo 60
}
within=2
fits phase 'what takes 48 s' 48 >/dev/null && one_tap phase 'what takes 48 s' 0 >/dev/null
fits phase 'what takes more' 49 >/dev/null && one_tap phase 'what takes more' 0 >/dev/null
sum 'what there is no time for is skipped' '1 passed, 0 failed, 1 skipped' 0
within=
fits phase 'what takes an hour' 3600 >/dev/null && one_tap phase 'what takes an hour' 0 >/dev/null
sum 'without a limit there is time for all' '1 passed, 0 failed' 0
# The second of three versions: built while the first is tested, then tested; then the first is done.
wanted()
{
    case $1 in
    e2e) [ -n "$with_e2e" ] ;;
    sanitizers) [ -n "$with_sanitizers" ] ;;
    *) false ;;
    esac
}
versions='a b c' with_e2e=yes with_sanitizers=
has_taken unit 1400
[ "$(takes squid) $(takes squid container)" = '700 1028' ]
one_tap phase 'by the unit tests' $? >/dev/null
[ "$(version_seconds b) $(version_seconds c)" = '1300 1800' ]
one_tap phase 'by the build alone' $? >/dev/null
with_sanitizers=yes
[ "$(version_seconds b)" = 2293 ]
one_tap phase 'behind what goes before it' $? >/dev/null
one_tap sanitizers 'that ran' 0 >/dev/null
[ "$(version_seconds b)" = 1300 ]
one_tap phase 'which has run' $? >/dev/null
with_sanitizers=
has_taken e2e 500
[ "$(version_seconds b) $(version_seconds c)" = '1200 1500' ]
one_tap phase 'by the first tests' $? >/dev/null
: >"$results/tested-a"
[ "$(version_seconds b) $(version_seconds c)" = '1200 1200' ]
one_tap phase 'the first is tested' $? >/dev/null
with_e2e=
[ "$(version_seconds c)" = 700 ]
one_tap phase 'no end-to-end tests' $? >/dev/null
sum 'how long a version takes' '8 passed, 0 failed' 0
within=2
one_tap phase "limits: $(limited 50) $(limited 500)" "$([ "$(limited 50) $(limited 500)" = '50 60' ]; echo $?)" >/dev/null
within=1
one_tap phase 'no time left' "$([ "$(limited 500)" = 1 ]; echo $?)" >/dev/null
within=
one_tap phase 'no limit' "$([ "$(limited 500)" = 500 ]; echo $?)" >/dev/null
sum 'what a limit of the whole does to the limit of a part' '3 passed, 0 failed' 0
took build >/dev/null || has_taken build 5
has_taken build 7
[ "$(took build)" = 5 ]
one_tap phase 'the first time counts' $? >/dev/null
sum 'what the first took is kept' '1 passed, 0 failed' 0
# The clock above says that this minute is over.
within=1
rest_tap phase 1 sh -c 'echo ok 1 - it begins; sleep 5' >/dev/null
sum 'what has no time left is a skipped test after what is promised' '1 passed, 0 failed, 1 skipped' 0
run_tap phase 1 sh -c 'echo ok 1 - it begins; sleep 5' >/dev/null
sum 'and a failure of what is promised' '1 passed, 1 failed' 1
within=
rest_tap phase 1 sh -c 'echo ok 1 - it begins; sleep 5' >/dev/null
sum 'and a failure where the whole has time' '1 passed, 1 failed' 1

# What automake leaves of `make check`: a crashed program is an ERROR of the driver.
mkdir -p "$results/build/tests/unit"
printf 'PASS: tests/unit/x 1 - a\nok 2 - b\nSKIP: tests/unit/x 2 - b # SKIP no root\nPASS: tests/unit/other\n' \
    >"$results/build/tests/unit/x.log"
printf 'ERROR: tests/unit/y - exited with status 139 (terminated by signal 11?)\n' >"$results/build/tests/unit/y.log"
: >"$results/build/tests/unit/x.trs"
: >"$results/build/tests/unit/y.trs"
check_tap phase "$results/build" 1 >/dev/null
rm -rf "$results/build"
sum 'results of make check' '1 passed, 1 failed, 1 skipped' 1

# Which failed tests may run again: those that failed beside others, not what a sanitizer, a crash or a limit stopped.
unit=$results/build/tests/unit
mkdir -p "$unit"
# failed NAME TEXT
failed()
{
    echo "$2" >"$unit/$1.log"
    echo ':global-test-result: FAIL' >"$unit/$1.trs"
}
echo ':global-test-result: PASS' >"$unit/good.trs"
failed late '# 23 is not below 20'
[ "$(failed_by_chance "$results/build" tests/unit/good.py tests/unit/late.py)" = tests/unit/late.py ]
one_tap phase 'a bound of time' $? >/dev/null
[ -z "$(failed_by_chance "$results/build" tests/unit/good.py tests/unit/late.py tests/unit/none)" ]
one_tap phase 'one has no result' $? >/dev/null
failed crash '# sqtrace-dump: status -11, not 0'
[ "$(failed_by_chance "$results/build" tests/unit/late tests/unit/crash)" = tests/unit/late ]
one_tap phase 'a crash of what a script runs' $? >/dev/null
failed race 'WARNING: ThreadSanitizer: data race (pid=1)'
failed crash '# crash.c:1: error: Test failed with exception: Segmentation fault(11)'
[ "$(failed_by_chance "$results/build" tests/unit/late tests/unit/race tests/unit/crash)" = tests/unit/late ]
one_tap phase 'a race, a crash' $? >/dev/null
failed race 'a.c:1: runtime error: signed integer overflow'
failed crash 'ERROR: tests/unit/crash - exited with status 137 (terminated by signal 9?)'
[ "$(failed_by_chance "$results/build" tests/unit/late tests/unit/race tests/unit/crash)" = tests/unit/late ]
one_tap phase 'an overflow, a limit' $? >/dev/null
failed other '# 3 is not 4'
[ -z "$(failed_by_chance "$results/build" tests/unit/late tests/unit/race tests/unit/crash tests/unit/other)" ]
one_tap phase 'many failed' $? >/dev/null
pressure=$results/build/pressure
printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=7000000\nfull avg10=0.00 total=1\n' >"$pressure"
[ "$(held_up 10 6000000 "$(processors_waited_us)")" = 10 ] && [ "$(held_up 10 4000000 "$(processors_waited_us)")" = 30 ]
one_tap phase 'a share of the time' $? >/dev/null
! held_up 10 6000001 "$(processors_waited_us)"
one_tap phase 'less than 10 %' $? >/dev/null
pressure=$results/none
! held_up 10 "" "$(processors_waited_us)"
one_tap phase 'a kernel that does not tell' $? >/dev/null
rm -rf "$results/build"
sum 'what may run again' '9 passed, 0 failed' 0

# What ran again is named before the sum.
printf 'ok 1 - a\n# again; failed time 1: late\n' >"$results/e2e.tap"
printf 'ok - b\n# again; tests/unit/b.py: for 30 %% of the time of all, processes waited.  It failed with:\n' >"$results/unit.tap"
sum_tap >"$results/sum"
grep -qx 'passed again: e2e: ok 1 - a' "$results/sum" &&
    grep -qx 'ran again: unit: tests/unit/b.py: for 30 % of the time, processes waited' "$results/sum"
one_tap phase 'what ran again' $? >/dev/null
rm -f "$results/sum" "$results/e2e.tap" "$results/unit.tap"
sum 'what ran again is named' '1 passed, 0 failed' 0

# bounded-tap: cmocka's way to say that a test was skipped.
run_tap phase 20 "$SQT_SOURCE/tests/unit/bounded-tap" sh -c \
    'echo 1..2; echo ok 1 - a; echo "# not on this machine"; echo "not ok 2 # SKIP b"' >"$results/out"
grep -qx 'ok 2 - b # SKIP not on this machine' "$results/out" || echo 'not ok - the reason' >>"$results/phase.tap"
rm -f "$results/out"
sum 'a test that cmocka skips' '1 passed, 0 failed, 1 skipped' 0
run_tap phase 20 "$SQT_SOURCE/tests/unit/bounded-tap" sh -c 'echo 1..1; echo ok 1 - a; exit 5' >/dev/null
sum 'its status is kept' '1 passed, 1 failed' 1
echo "1..$number"
