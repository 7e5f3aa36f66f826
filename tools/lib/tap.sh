# SPDX-License-Identifier: GPL-2.0-or-later
#
# tap.sh - results of tests, in TAP, and their sum.  A phase's results are in $results/PHASE.tap.

# run_tap PHASE SECONDS COMMAND...: runs what prints TAP, shows it, and keeps it.  A program that ends badly without a
# failed test of its own, or before all its tests, is a failed test.
run_tap()
{
    phase=$1
    limit=$2
    shift 2
    {
        timeout -k 30 "$limit" "$@" </dev/null
        echo $? >"$results/$phase.status"
    } | tee "$results/$phase.tap"
    close_tap "$phase" "$(cat "$results/$phase.status")"
}

# rest_tap: the same of a phase that comes after what is promised.  If it is cut off where the whole has no time left, its
# rest is a skipped test.
rest_tap()
{
    rest=yes
    run_tap "$@"
    rest=
}


# close_tap PHASE STATUS
close_tap()
{
    close_late=
    [ -z "${rest:-}" ] || ! out_of_time || close_late=yes
    awk -v status="$2" -v late="$close_late" '
        /^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
        /^ok/ { ++ran }
        /^not ok/ { ++ran; ++failed }
        END {
            if (late && (status == 124 || status == 137))
                print "ok - the rest # SKIP stopped: no time is left"
            else if (status == 124 || status == 137)
                print "not ok - stopped: it took too long"
            else if (status != 0 && !failed)
                print "not ok - ended with status " status
            else if (!ran && !(planned && plan == 0))
                print "not ok - ran no test"
            else if (planned && ran != plan)
                print "not ok - ran " ran " of " plan " tests"
        }' "$results/$1.tap" >"$results/$1.end"
    cat "$results/$1.end"
    cat "$results/$1.end" >>"$results/$1.tap"
    rm -f "$results/$1.end" "$results/$1.status"
}

# one_tap PHASE NAME STATUS: a phase that is one test.
one_tap()
{
    if [ "$3" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
    fi | tee -a "$results/$1.tap"
}

# skip_tap PHASE NAME REASON: a test that is left out.
skip_tap()
{
    echo "ok - $2 # SKIP $3" | tee -a "$results/$1.tap"
}

# check_tap PHASE BUILD STATUS: results of `make check` in BUILD, from the logs of its tests.  Shows what did not pass; of a
# test that broke off, also the last line that it wrote.
check_tap()
{
    find "$2/tests" -name '*.trs' | sort | while read -r trs; do
        test=${trs#"$2"/}
        awk -v test="${test%.trs}" '
            /^(PASS|XFAIL|SKIP|FAIL|XPASS|ERROR): / && substr($0, length($1) + 2, length(test)) == test {
                result = substr($1, 1, length($1) - 1)
                print (result ~ /^(PASS|XFAIL|SKIP)$/ ? "ok" : "not ok") " - " substr($0, length($1) + 2) \
                    (result == "ERROR" && last != "" ? ": " last : "")
                next
            }
            NF { last = $0 }' "${trs%.trs}.log"
    done >"$results/$1.tap"
    grep '^not ok\|# SKIP' "$results/$1.tap"
    # make's status says no more than the tests do, unless it failed before them.
    if [ "$3" -ne 0 ] && ! grep -q '^not ok' "$results/$1.tap"; then
        close_tap "$1" "$3"
    else
        close_tap "$1" 0
    fi
}

# The sum of all phases: names what failed, what was skipped and what ran again, then the last line.  Fails if anything failed.
sum_tap()
{
    for tap in "$results"/*.tap; do
        [ -f "$tap" ] || continue
        awk -v phase="$(basename "$tap" .tap)" '
            /^# again; failed time 1/ { print "passed again: " phase ": " last }
            /^# again; tests/ { print "ran again: " phase ": " $3 " " $4 " " $5 " % of the time, processes waited" }
            /^ok/ { last = $0 }
            /^ok/ && /# SKIP/ { print "skipped: " phase ": " $0 }
            /^not ok/ { print "FAILED: " phase ": " $0 }' "$tap"
    done
    cat "$results"/*.tap /dev/null | awk '
        /^ok/ && /# SKIP/ { ++skipped; next }
        /^ok/ { ++passed }
        /^not ok/ { ++failed }
        END {
            line = (passed + 0) " passed, " (failed + 0) " failed"
            if (skipped)
                line = line ", " skipped " skipped"
            print line
            exit failed > 0 || passed == 0
        }'
}
