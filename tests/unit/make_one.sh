#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# make_one.sh - `make one TEST=NAME`: which test a name means, and what is built before that test runs.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-one-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out
one=$SQT_SOURCE/tests/unit/one
tree=$work/tree
mkdir -p "$tree/tests/unit" "$tree/tests/fuzz" "$work/build/tests/unit"
cp "$SQT_SOURCE/tests/unit/bounded-tap" "$tree/tests/unit/"

# A make that notes what it is to build, and "builds" it.
cat >"$work/make" <<'END'
#!/bin/sh
for target in "$@"; do
    case $target in
    -*) ;;
    *)
        echo "$target" >>made
        printf '#!/bin/sh\necho "ok 1 - %s"\n' "$target" >"$target"
        chmod +x "$target"
        ;;
    esac
done
END
chmod +x "$work/make"
: >"$tree/tests/unit/model_swaps.c"
cat >"$tree/tests/unit/dump_cli.sh" <<'END'
"$SQT_TOOLS/sqtrace-dump" && "$SQT_TOOLS/tests/unit/dump_traces"
END
cat >"$tree/tests/unit/docs.sh" <<'END'
page=$SQT_TOOLS/sqtrace-$program.1; echo "ok 1 - $page"
END
echo 'echo "ok 1 - no program"' >"$tree/tests/unit/plain.sh"
cp "$tree/tests/unit/plain.sh" "$tree/tests/fuzz/"
echo 'echo "not ok 1 - fails"' >"$tree/tests/unit/fails.sh"
echo 'import os; DUMP = os.environ["SQT_TOOLS"] + "/sqtrace-dump"' >"$tree/tests/unit/oracle.py"
printf 'from oracle import DUMP\nprint("ok 1 -", DUMP)\n' >"$tree/tests/unit/figures.py"
programs='sqtrace-dump sqtrace-report sqtrace-dump.1 tests/unit/dump_traces tests/unit/model_swaps'
tests='tests/unit/model_swaps tests/unit/dump_cli.sh tests/unit/plain.sh tests/unit/fails.sh tests/unit/docs.sh
    tests/unit/figures.py tests/fuzz/plain.sh'

# one NAME: sets status, and made, what was built.
one()
{
    : >"$work/build/made"
    (cd "$work/build" && env program=dump MAKE="$work/make" SQT_SOURCE="$tree" SQT_TOOLS="$work/build" \
        "$one" "$1" "$programs" "$tests") >"$out" 2>&1
    status=$?
    made=$(tr '\n' ' ' <"$work/build/made")
}

one model_swaps
[ $status -eq 0 ] && [ "$made" = 'tests/unit/model_swaps ' ] && grep -qx 'ok 1 - tests/unit/model_swaps' "$out"
check "of a program: that program alone is built, and runs"
for name in dump_cli dump_cli.sh tests/unit/dump_cli.sh; do
    one $name
    [ $status -eq 0 ] && [ "$made" = 'sqtrace-dump tests/unit/dump_traces ' ]
    check "$name: of a script, what it names is built"
done
one figures
[ $status -eq 0 ] && [ "$made" = 'sqtrace-dump ' ]
check "and what its modules name"
one docs
[ $status -eq 0 ] && [ "$(echo "$made" | wc -w)" -eq 5 ]
check "and everything for a script that makes names up"
one tests/unit/plain.sh
[ $status -eq 0 ] && [ -z "$made" ] && grep -qx 'ok 1 - no program' "$out"
check "and nothing for one that needs no program"
one fails
[ $status -ne 0 ] && grep -qx 'not ok 1 - fails' "$out"
check "a test that fails: the exit status"
one plain
[ $status -eq 2 ] && grep -q "'plain' may be each of" "$out"
check "a name that two tests have"
one swaps
[ $status -eq 2 ] && grep -q "there is no test 'swaps'; names like it: model_swaps" "$out"
check "a part of a name"
one ''
[ $status -eq 2 ] && grep -q 'TEST=NAME is missing' "$out"
check "no name"
one --all
[ $status -eq 0 ] && [ "$(wc -l <"$out")" -eq 4 ] && grep -qx 'tests/unit/model_swaps tests/unit/model_swaps' "$out" &&
    grep -qx "tests/unit/figures.py sqtrace-dump $tree/tests/unit/figures.py $tree/tests/unit/oracle.py " "$out"
check "the list of all that run programs"

# ---- what tools/check leaves out ----

top=$SQT_SOURCE
. "$SQT_SOURCE/tools/lib/tested.sh"
names=$(make -s -C "${SQT_TOOLS:?}" names-of-tests | tr -s ' ' '\n')
grep -v '^#' "$SQT_SOURCE/tests/unit/left-out.tsv" >"$work/left-out"
for form in quick sanitizers threads; do
    echo "$names" | without_left_out "$form" >"$out"
    left=$(echo "$names" | wc -l) && left=$((left - $(wc -l <"$out")))
    ! grep -q '/recipe_' "$out" && grep -qx 'tests/unit/dump_cli.sh' "$out" &&
        [ "$left" -eq $(($(grep -c "^$form" "$work/left-out") + 4)) ] # recipe_* are five
    check "$form leaves out what left-out.tsv lists, and nothing else"
done
[ "$(cut -f 1 "$work/left-out" | sort -u | tr '\n' ' ')" = 'quick sanitizers threads ' ] &&
    [ -z "$(awk -F '\t' 'NF != 3 || $3 == ""' "$work/left-out")" ]
check "each line of left-out.tsv says why"
plan
