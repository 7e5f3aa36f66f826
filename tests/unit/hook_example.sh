#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# hook_example.sh - the examples of doc/porting.md, as they stand there: a hook that all versions share is one hunk, one
# that differs in one version is two.  They are put into what the three major versions have at those places.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-example-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
program=hook_example
lib=$SQT_SOURCE/tools/lib
for part in say series; do
    . "$lib/$part.sh"
done
number=0

check()
{
    status=$?
    number=$((number + 1))
    if [ "$status" -eq 0 ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        sed 's/^/# /' "$work/out"
    fi
}

# example N: the text of the N-th block of doc/porting.md that is a patch.
example()
{
    awk -v wanted="$1" '
        /^```diff$/ { block++; inside = 1; next }
        /^```$/ { inside = 0 }
        inside && block == wanted { print }' "$SQT_SOURCE/doc/porting.md"
}

# tree RELEASE: what it has at the places of the examples.
tree()
{
    mkdir -p "$work/$1/src/icmp"
    null=nullptr
    made='const auto mx = MasterXaction::MakePortless<XactionInitiator::initIcmp>();'
    if [ "${1%%.*}" = 5 ]; then
        null=NULL
        made='const MasterXaction::Pointer mx = new MasterXaction(XactionInitiator::initIcmp);'
    fi
    cat >"$work/$1/src/refresh.cc" <<END
bool
refreshIsCachable(const StoreEntry * entry)
{
    int reason = refreshCheck(entry, $null, Config.minimum_expiry_time);
    ++ refreshCounts[rcStore].total;
    ++ refreshCounts[rcStore].status[reason];
}
END
    cat >"$work/$1/src/icmp/net_db.cc" <<END
void
netdbExchangeStart(void *data)
{
    debugs(38, 3, "Requesting '" << uri << "'");
    $made
    HttpRequestPointer req(HttpRequest::FromUrlXXX(uri, mx));
}
END
}

mkdir "$work/patches"
: >"$work/out"
{ printf 'Description: Examples\n---\n'; example 1; example 2; } >"$work/patches/0990-example.patch"
[ "$(grep -c '^@@' "$work/patches/0990-example.patch")" -eq 3 ] && [ "$(example 1 | grep -c '^@@')" -eq 1 ]
check 'the first example is one hunk, the second two'
for release in 5.7 6.13 7.7; do
    tree $release
    compose_series "$work/patches" $release "$work/$release" "$work/$release/series" >"$work/out" 2>&1
    cat "$work/$release/series/.verdicts" >>"$work/out"
    all_in_place "$work/$release/series" && [ "$(count_hunks "$work/$release/series")" = \
        '2 hunks: 2 in place, 0 moved, 0 changed, 0 lost' ]
    check "Squid $release takes both hooks"
    grep -q 'Sqtrace::' "$work/$release/src/refresh.cc" &&
        [ "$(grep -c '^+.*Sqtrace::' "$work/$release/series/0990-example.patch")" -eq 2 ]
    check 'and its series has them'
done
hook=$(sed -n 's/.*\(Sqtrace::.*\)/\1/p' "$work/5.7/src/icmp/net_db.cc")
[ -n "$hook" ] && [ "$hook" != "$(sed -n 's/.*\(Sqtrace::.*\)/\1/p' "$work/6.13/src/icmp/net_db.cc")" ] &&
    cmp -s "$work/6.13/src/icmp/net_db.cc" "$work/7.7/src/icmp/net_db.cc"
check 'the second hook is another one in 5.7, and the same in 6.13 and 7.7'
echo "1..$number"
