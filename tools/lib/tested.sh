# SPDX-License-Identifier: GPL-2.0-or-later
#
# tested.sh - which unit tests have passed as they are now.  A test is its programs and its script, by their content: it
# is another test as soon as one of these files is another.  Each build keeps its list, BUILD/passed-tests.

# without_left_out FORM: of lines that begin with a test, those of tests that this form does not leave out.
without_left_out()
{
    awk -v form="$1" '
        NR == FNR {
            if (split($0, field, "\t") == 3 && field[1] == form)
                names[field[2]]
            next
        }
        {
            test = $1
            sub(/.*\//, "", test)
            for (name in names)
                if (name == test || (name ~ /\*$/ && index(test, substr(name, 1, length(name) - 1)) == 1))
                    next
            print
        }' "$top/tests/unit/left-out.tsv" -
}

# quick_tests BUILD: the tests of the quick form, in one line.
quick_tests()
{
    make -s -C "$1" names-of-tests | tr -s ' ' '\n' | without_left_out quick | tr '\n' ' '
}

# tests_as_they_are BUILD: lines "TEST SUM", for each test that is or runs a program of BUILD, whose name says which
# tests are left out in it.  The programs must be built.
tests_as_they_are()
{
    make -s -C "$1" list-tests | without_left_out "${1##*/}" | while read -r test files; do
        # shellcheck disable=SC2086 # names without spaces
        echo "$test $(cd "$1" && cat $files | sha256sum | cut -d ' ' -f 1)"
    done
}

# tests_to_run BUILD ALL: the tests of BUILD that are or run a program, in one line; unless ALL is set, only those that
# have not passed as they are.
tests_to_run()
{
    tests_as_they_are "$1" >"$1/tests-now"
    if [ -z "$2" ] && [ -f "$1/passed-tests" ]; then
        grep -vxF -f "$1/passed-tests" "$1/tests-now"
    else
        cat "$1/tests-now"
    fi | cut -d ' ' -f 1 | tr '\n' ' '
}

# note_passed BUILD: after they have run.
note_passed()
{
    while read -r test sum; do
        if grep -qs '^:global-test-result: PASS' "$1/${test%.*}.trs"; then
            echo "$test $sum"
        elif [ ! -e "$1/${test%.*}.trs" ]; then
            grep -sxF "$test $sum" "$1/passed-tests" # it did not run now
        fi
    done <"$1/tests-now" >"$1/passed-tests.new"
    mv "$1/passed-tests.new" "$1/passed-tests"
}

# Microseconds for which some process of this machine waited for a processor, since it runs.  Nothing where the kernel
# does not tell.
processors_waited_us()
{
    sed -n 's/^some .* total=//p' "${pressure:-/proc/pressure/cpu}" 2>/dev/null
}

# held_up SECONDS BEFORE AFTER: the share of that time, in percent, in which processes waited for a processor, of two
# results of processors_waited_us.  Fails where it is below 10 % or not known.
held_up()
{
    [ -n "$2" ] && [ -n "$3" ] && [ "$1" -gt 0 ] || return 1
    held_up_share=$((($3 - $2) / 10000 / $1))
    [ "$held_up_share" -ge 10 ] && echo "$held_up_share"
}

# What a sanitizer, a signal or a limit leaves in a log: of a test program, or of what a script has run.
no_chance='Sanitizer|: runtime error: |Test failed with exception|exited with status (12[4-9]|1[3-9][0-9])'
no_chance="$no_chance|status -[0-9]|returncode -[0-9]|Segmentation fault|SIGSEGV|Aborted|core dumped"

# failed_by_chance BUILD TEST...: those of the tests that failed, in one line, if it may have been because they came too
# late to a processor.  So nothing if more than three failed or one has no result, and without those whose logs tell of a
# sanitizer or a signal.
failed_by_chance()
{
    chance_build=$1
    shift
    chance_failed=0 chance_tests=
    for chance_test in "$@"; do
        chance_log=$chance_build/${chance_test%.*}
        [ -s "$chance_log.trs" ] || return 0
        grep -qE '^:global-test-result: (FAIL|ERROR)' "$chance_log.trs" || continue
        chance_failed=$((chance_failed + 1))
        grep -qE "$no_chance" "$chance_log.log" || chance_tests="$chance_tests $chance_test"
    done
    [ "$chance_failed" -gt 3 ] || echo "${chance_tests# }"
}
