#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# upstream.sh CLONE FOLDER TOOLS [REF] - the series for Squid's maintainers, in TAP: it applies to the head of CLONE, a clone
# of Squid's repository that may be bare, without offset, and that Squid builds without libsqtrace, passes Squid's own tests,
# and executes as many instructions as the head alone.  REF is another commit.  TOOLS is a build of sqtrace.  Trees, builds
# and results stay in FOLDER.  The instructions need valgrind.
#
# SQT_JOBS: compilers at a time (default: one for each processor).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
usage='usage: upstream.sh CLONE FOLDER TOOLS [REF]'
clone=$(cd "${1:?$usage}" && pwd -P) || exit 1
tools=$(cd "${3:?$usage}" && pwd -P) || exit 1
mkdir -p "${2:?$usage}" || exit 1
folder=$(cd "$2" && pwd -P)
ref=${4:-master}
jobs=${SQT_JOBS:-$(nproc 2>/dev/null || echo 2)}
series=$folder/series
out=$folder/out err=
: >"$out"
# The limit of what hooks that do nothing may cost, in hundredths of a percent.
limit=20

# tell STATUS NAME: as check.  NAME may run commands, after which some shells have another $?.
tell()
{
    [ "$1" -eq 0 ]
    check "$2"
}

# take_tree NAME: the commit in the folder NAME of $folder.  Files have the time of the commit.
take_tree()
{
    rm -rf "${folder:?}/$1"
    mkdir "$folder/$1" && git -C "$clone" archive "$ref" | tar -C "$folder/$1" -xf - && [ -f "$folder/$1/configure.ac" ]
}

# build NAME: Squid from the tree NAME as it is, with nothing of sqtrace's, into installed/NAME.
build()
{
    nice -n 5 "$top/tools/sqtrace-build" --unpatched --source="$folder/$1" --small --jobs="$jobs" --work="$folder/work-$1" \
        --prefix="$folder/installed/$1" >"$folder/$1.log" 2>&1
    built=$?
    tail -n 5 "$folder/$1.log" >"$out"
    return $built
}

# own_tests NAME: results of Squid's own tests in that build, one a line, in NAME.list.
own_tests()
{
    nice -n 5 make -k -C "$(cat "$folder/installed/$1/share/sqtrace/build-directory")" -j"$jobs" check >"$folder/$1.check" 2>&1 </dev/null
    # A result may stand behind what another test printed without an end of line.
    grep -v '^#' "$folder/$1.check" | grep -oE '(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): [^ ]+$' | sed 's/://' | sort -u >"$folder/$1.list"
}

commit=$(git -C "$clone" log -1 --format='%h of %cs' "$ref" 2>"$out") && take_tree plain && take_tree traced
check "the head is $commit"
rm -rf "$series"
"$top/tools/sqtrace-build" --series --upstream --source="$folder/traced" --output="$series" >"$out" 2>&1
tell $? "the series is made: $(wc -l <"$series/series") patches, $(cat "$series"/*.patch | grep -c '^@@') hunks"
# shellcheck disable=SC2013 # names without spaces
for patch in $(cat "$series/series"); do
    patch --batch --fuzz=0 -p1 -d "$folder/traced" -i "$series/$patch" || echo "$patch does not apply"
done 2>&1 | grep -v '^patching file' >"$out"
[ ! -s "$out" ] && [ -d "$folder/traced/src/trace" ]
check 'each patch applies, without fuzz or offset'
# diff's status is 1: they differ.
diff -r -N -U0 "$folder/plain" "$folder/traced" >"$folder/diff"
grep -in '^[-+].*\(sqt\)' "$folder/diff" | grep -v 'Author: the sqtrace project' >"$out"
[ -s "$folder/diff" ] && [ ! -s "$out" ]
check 'nothing that it adds names sqtrace'

build traced
check 'Squid with the series builds, with -Werror and without libsqtrace'
! nm -C "$folder/installed/traced/sbin/squid" | grep -i '\<sqt_' >"$out"
check 'no function of libsqtrace is in it'
build plain
check 'Squid without it builds'
for name in plain traced; do
    echo "# instructions in the program, $name: $(objdump -d "$folder/installed/$name/sbin/squid" | grep -c '^ .*:')"
done
own_tests plain
own_tests traced
diff "$folder/plain.list" "$folder/traced.list" >"$out" && [ -s "$folder/plain.list" ]
tell $? "of Squid's own tests, $(grep -c '^PASS' "$folder/traced.list") pass and $(grep -c '^FAIL\|^ERROR' "$folder/traced.list") fail, as without the series"
if command -v valgrind >/dev/null; then
    "$top/tests/bench/squid-instructions.py" --squid="$folder/installed/traced" --unpatched="$folder/installed/plain" \
        --tools="$tools" --orders=0 --variant=unpatched --variant='unpatched again' --variant='patched, off' \
        --workload=memory-hit --workload=disk-hit-ufs --workload=miss >"$folder/instructions" 2>&1
    status=$?
    tail -n 5 "$folder/instructions" >"$out"
    [ $status -eq 0 ]
    check 'instructions of a request are counted'
    sed 's/^/# /' "$folder/instructions"
    awk -v limit=$limit '/patched, off/ { seen++; sub(/%.*/, ""); if ($NF * 100 > limit) { print; bad = 1 } }
        END { exit bad || seen != 3 }' "$folder/instructions" >"$out"
    check 'the series takes at most 0.2 % more of them'
fi
plan
