#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fresh.sh FOLDER [TARBALLS [RELEASE...]] - tools/demo and tools/check as on a machine with nothing installed, in TAP: as
# root, in a clone below /root, in roots of Debian 12 and 13 that are made in FOLDER.  Squid's archive is taken from the
# folder TARBALLS, if that is not empty, or from the network.  Compilers' results are kept in FOLDER/shared for the next
# time; so is the root of a release that fails.  Needs root, mmdebstrap and git.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
for part in tests/unit/tap.sh tests/packages/fresh-root.sh tools/lib/packages.sh; do
    # shellcheck source=/dev/null
    . "$top/$part" || exit 1
done
mkdir -p "${1:?usage: fresh.sh FOLDER [TARBALLS [RELEASE...]]}/shared/tarballs" || exit 1
folder=$(cd "$1" && pwd -P)
tarballs=${2-}
shift
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- bookworm trixie
# Phases of tools/check that call packages and need no hours; their short form.
phases=build,unit,sanitizers,fuzz,squid,e2e,faults,rpm,container,dist,packages
out=$folder/out err=
: >"$out"

skip()
{
    echo "ok 1 - both commands on fresh machines # SKIP $1"
    echo 1..1
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'roots are made by root'
unshare --mount --pid --fork true 2>/dev/null || skip 'root may make no namespaces here'
[ -e "$top/.git" ] || skip 'this source tree is no clone'

running=
trap '[ -z "$running" ] || kill -KILL "$running"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# in_root LOG COMMAND...: in $root, in the clone, with warnings as errors.  Its output goes to LOG.
in_root()
{
    log=$1
    shift
    fresh_exec "$root" "$folder/shared" env CI=true CCACHE_DIR=/mnt/ccache sh -c 'cd /root/sqtrace && "$@"' sh "$@" \
        >"$log" 2>&1 </dev/null &
    running=$!
    wait "$running"
    in_root_status=$?
    running=
    return $in_root_status
}

# in_order LOG NAME COMMAND...: a test; of one that fails, the last lines are shown.
in_order()
{
    in_order_log=$folder/$release-$1.log
    in_order_name=$2
    in_order_begin=$(date +%s)
    shift 2
    in_root "$in_order_log" "$@"
    in_order_status=$?
    [ $in_order_status -eq 0 ]
    check "$release: $in_order_name ($(($(date +%s) - in_order_begin)) s): $(tail -n 1 "$in_order_log" | cut -c 1-100)"
    [ $in_order_status -eq 0 ] || {
        grep '^FAILED: ' "$in_order_log" || tail -n 25 "$in_order_log"
    } | sed 's/^/# /'
    failed=$((failed + (in_order_status != 0)))
}

# all_packages: the packages of all phases, in one line.
all_packages()
{
    echo "$demo_packages $check_packages $gnutls_packages $arm64_packages $packaging_packages" \
        "$rpm_packages $container_packages $fresh_packages $clone_packages"
}

given=
if [ -n "$tarballs" ]; then
    cp -u "$tarballs"/squid*.tar.xz "$folder/shared/tarballs/" || exit 1
    given=--tarballs=/mnt/tarballs
fi
for release in "$@"; do
    root=$folder/$release
    failed=0
    rm -rf --one-file-system "$root"
    fresh_make "$release" "$root" >"$out" 2>&1 && fresh_clone "$top" "$root" /root/sqtrace >"$out" 2>&1
    check "$release: mmdebstrap makes a root, with a clone below /root"
    [ -d "$root/root/sqtrace/tools" ] || continue
    # shellcheck disable=SC2046,SC2086 # names without spaces
    in_order packages 'the packages of every phase are there' \
        sh -c 'apt-get -q update && apt-get -q --simulate --no-install-recommends install "$@"' sh $(all_packages)
    # shellcheck disable=SC2086 # one word or none
    in_order demo tools/demo tools/demo $given
    in_order sample 'a report of the sample, with every picture' \
        build/sqtrace/sqtrace-report --quiet --data=tools -o build/sample doc/sample
    # shellcheck disable=SC2086 # one word or none
    in_order check tools/check tools/check --quick --only=$phases $given
    sed -n "s/^skipped: /# $release: skipped: /p" "$in_order_log"
    if [ $failed -eq 0 ]; then
        rm -rf --one-file-system "$root"
    else
        echo "# kept: $root"
    fi
done
plan
