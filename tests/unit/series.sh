#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# series.sh - every range of releases has the same hooks, as often and in the same patches, but for those that are told
# here with their reason.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
data=$SQT_SOURCE
. "$SQT_SOURCE/tools/lib/say.sh"
. "$SQT_SOURCE/tools/lib/releases.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-series-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# MAJOR-VERSION PATCH HOOK MORE-THAN-OTHERS REASON
cat >"$work/told" <<'END'
5 0040-server.patch ServerIsDone 1 no function of its own notices that a reply breaks off: two places do
5 0040-server.patch ServerIsHeldBack 1 HTTP and the other protocols are held back in two places
5 0130-context.patch ContextOfFirst 1 later versions let only the worker that brought an entry swap it out
5 0130-context.patch HasRunIn 2 later versions let only the worker that brought an entry swap it out
5 0160-waits.patch HelperDies -1 only 7 gives up the questions that no child has when the last child ends
6 0160-waits.patch HelperDies -1 only 7 gives up the questions that no child has when the last child ends
5 0115-gopher.patch ForwardingErrorIsReady 1 later versions have no gopher
5 0115-gopher.patch ReplyHeaderIsParsed 1 later versions have no gopher
5 0115-gopher.patch RequestIsSent 1 later versions have no gopher
5 0115-gopher.patch ServerIsDone 2 later versions have no gopher
5 0115-gopher.patch ServerIsUsed 1 later versions have no gopher
5 0115-gopher.patch ServerSentBytes 1 later versions have no gopher
5 0115-gopher.patch ServerState 1 later versions have no gopher
END

# hooks RELEASE: "PATCH HOOK" of each, one a line, without those that are told.
hooks()
{
    for path in "$data/patches"/*.patch; do
        awk -v release="$1" -f "$SQT_SOURCE/tools/lib/place-hunks.awk" "$path" |
            sed -n 's/^+.*Sqtrace::\([A-Za-z]*\).*/\1/p' | sed "s/^/${path##*/} /"
    done | sort | uniq -c | while read -r count patch hook; do
        told=$(sed -n "s/^${1%%.*} $patch $hook \([-0-9]*\) .*/\1/p" "$work/told")
        count=$((count - ${told:-0}))
        [ "$count" -eq 0 ] || echo "$count $patch $hook"
    done
}

newest=$(known_releases | sed 's/.* //')
hooks "$newest" >"$work/newest"
number=$((number + 1))
if [ "$(wc -l <"$work/newest")" -gt 100 ]; then
    echo "ok $number - Squid $newest has hooks"
else
    echo "not ok $number - Squid $newest has hooks"
fi
for release in $(known_releases); do
    [ "$release" != "$newest" ] || continue
    hooks "$release" >"$work/hooks"
    number=$((number + 1))
    if diff "$work/newest" "$work/hooks" >"$work/out"; then
        echo "ok $number - Squid $release has the same"
    else
        echo "not ok $number - Squid $release has the same"
        sed "s/^</# only $newest:/; s/^>/# only $release:/; /^[0-9]/d; s/^---/#/" "$work/out"
    fi
done
echo "1..$number"
