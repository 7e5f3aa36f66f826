#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# versions.sh CLONE FOLDER TOOLS [REF...] - builds Squid with the hooks from commits of CLONE, a clone of Squid's
# repository, which may be bare, and runs the end-to-end tests with each, in TAP.  Without a REF these are the releases
# and heads in default_refs.  TOOLS is a build of sqtrace.  Trees, builds and results stay in FOLDER, so that the second
# run compiles only the difference.
#
# The tests are those of tests/e2e/each-version.list; with SQT_FULL=1 all of them.  The last one fails if an event or a hook
# was never fired.  SQT_JOBS: compilers at a time (default: one for each processor).  CFLAGS, CXXFLAGS: as for
# tools/sqtrace-build; -O0 builds in a third of the time.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
usage='usage: versions.sh CLONE FOLDER TOOLS [REF...]'
clone=$(cd "${1:?$usage}" && pwd -P) || exit 1
tools=$(cd "${3:?$usage}" && pwd -P) || exit 1
mkdir -p "${2:?$usage}/trees" || exit 1
folder=$(cd "$2" && pwd -P)
shift 3
jobs=${SQT_JOBS:-$(nproc 2>/dev/null || echo 2)}
out=$folder/out err=

# Ubuntu 26.04 and Photon ship the first two.  The heads are the newest of each range.
default_refs='SQUID_6_6 SQUID_7_2 v7 master v5'
tests=--each-version
[ -z "${SQT_FULL-}" ] || tests=

# tell STATUS NAME: as check.  NAME may run commands, after which some shells have another $?.
tell()
{
    [ "$1" -eq 0 ]
    check "$2"
}

# take_tree REF: in $tree.  Files have the time of the commit, so that nothing is compiled again for the same commit.
take_tree()
{
    tree=$folder/trees/$name
    commit=$(git -C "$clone" rev-parse --verify --quiet "$1^{commit}") || return 1
    [ "$commit" != "$(cat "$tree.commit" 2>/dev/null)" ] || return 0
    rm -rf "$tree" "$tree.commit"
    mkdir "$tree" && git -C "$clone" archive "$commit" | tar -C "$tree" -xf - && [ -f "$tree/configure.ac" ] &&
        echo "$commit" >"$tree.commit"
}

# count WORD: how many lines of coverage of that kind (event or hook) have been fired, and how many there are.
count()
{
    awk -F '\t' -v kind="$1" '$1 == kind { all++; fired += $3 > 0 } END { print fired + 0 " of " all + 0 }' "$coverage"
}

[ $# -gt 0 ] || {
    # shellcheck disable=SC2086 # names without spaces
    set -- $default_refs
}
: >"$out"
for ref in "$@"; do
    name=$(echo "$ref" | tr -c 'A-Za-z0-9._\n' -)
    log=$folder/$name.log
    coverage=$folder/$name.coverage.tsv
    take_tree "$ref" >"$out" 2>&1
    check "$ref: its tree is taken"
    [ -f "$tree/configure.ac" ] || continue
    prefix=$folder/installed/$name
    begin=$(date +%s)
    nice -n 5 "$top/tools/sqtrace-build" --source="$tree" --small --jobs="$jobs" --work="$folder" --prefix="$prefix" \
        >"$log" 2>&1
    status=$?
    tail -n 5 "$log" >"$out"
    [ $status -eq 0 ]
    tell $? "$ref: $("$prefix/sbin/squid" -v 2>/dev/null | sed -n '1s/.*Version //p') builds ($(($(date +%s) - begin)) s)"
    [ $status -eq 0 ] || continue
    rm -f "$coverage"
    begin=$(date +%s)
    # shellcheck disable=SC2086 # one word or none
    "$top/tests/e2e/run" --squid="$prefix" --tools="$tools" --jobs=$((2 * jobs + 1)) --coverage="$coverage" $tests \
        >"$folder/$name.tap" 2>&1 </dev/null
    grep '^not ok' "$folder/$name.tap" >"$out"
    failed=$(wc -l <"$out")
    passed=$(grep -c '^ok' "$folder/$name.tap")
    planned=$(sed -n 's/^1\.\.//p' "$folder/$name.tap")
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && [ "$(grep -c -E '^(not )?ok' "$folder/$name.tap")" -eq "${planned:-0}" ]
    tell $? "$ref: $passed end-to-end tests pass, $failed fail ($(($(date +%s) - begin)) s)"
    # Why those that failed did so.
    awk '/^(not )?ok/ { show = /^not/ } show { print "# " $0 }' "$folder/$name.tap"
    [ ! -s "$coverage" ] || {
        echo "# $ref: events fired: $(count event), hooks fired: $(count hook)"
        awk -F '\t' -v ref="$ref" '$1 == "event" && $3 == 0 { print "# " ref ": never fired: " $2 ": " $4 }' "$coverage"
    }
done
plan
