#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# series.sh - every Squid version has the same hooks, as often and in the same patches, but for those that are told here
# with their reason.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
patches=$SQT_SOURCE/patches
. "$SQT_SOURCE/tools/lib/squid-source.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-series-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
number=0

# VERSION PATCH HOOK MORE-THAN-OTHERS REASON
cat >"$work/told" <<'END'
5.7 0040-server.patch ServerIsDone 1 no function of its own notices that a reply breaks off: two places do
5.7 0040-server.patch ServerIsHeldBack 1 HTTP and the other protocols are held back in two places
5.7 0130-context.patch ContextOfFirst 1 later versions let only the worker that brought an entry swap it out
5.7 0130-context.patch HasRunIn 2 later versions let only the worker that brought an entry swap it out
5.7 0115-gopher.patch ForwardingErrorIsReady 1 later versions have no gopher
5.7 0115-gopher.patch ReplyHeaderIsParsed 1 later versions have no gopher
5.7 0115-gopher.patch RequestIsSent 1 later versions have no gopher
5.7 0115-gopher.patch ServerIsDone 2 later versions have no gopher
5.7 0115-gopher.patch ServerIsUsed 1 later versions have no gopher
5.7 0115-gopher.patch ServerSentBytes 1 later versions have no gopher
5.7 0115-gopher.patch ServerState 1 later versions have no gopher
END

# hooks VERSION: "PATCH HOOK" of each, one a line, without those that are told.
hooks()
{
    for path in "$patches/$1"/*.patch; do
        sed -n 's/^+.*Sqtrace::\([A-Za-z]*\).*/\1/p' "$path" | sed "s/^/${path##*/} /"
    done | sort | uniq -c | while read -r count patch hook; do
        told=$(sed -n "s/^$1 $patch $hook \([-0-9]*\) .*/\1/p" "$work/told")
        count=$((count - ${told:-0}))
        [ "$count" -eq 0 ] || echo "$count $patch $hook"
    done
}

newest=$(for series in "$patches"/*/series; do basename "${series%/series}"; done | sort -V | tail -n 1)
hooks "$newest" >"$work/newest"
number=$((number + 1))
if [ "$(wc -l <"$work/newest")" -gt 100 ]; then
    echo "ok $number - Squid $newest has hooks"
else
    echo "not ok $number - Squid $newest has hooks"
fi
for series in "$patches"/*/series; do
    version=$(basename "${series%/series}")
    [ "$version" != "$newest" ] || continue
    hooks "$version" >"$work/hooks"
    number=$((number + 1))
    if diff "$work/newest" "$work/hooks" >"$work/out"; then
        echo "ok $number - Squid $version has the same"
    else
        echo "not ok $number - Squid $version has the same"
        sed "s/^</# only $newest:/; s/^>/# only $version:/; /^[0-9]/d; s/^---/#/" "$work/out"
    fi
    number=$((number + 1))
    (cd "$patches/$version" && printf '%s\n' *.patch) >"$work/files"
    if series_patches "$patches/$version" | sort | diff "$work/files" - >"$work/out"; then
        echo "ok $number - and its series names all of its patches"
    else
        echo "not ok $number - and its series names all of its patches"
        sed 's/^/# /' "$work/out"
    fi
done
echo "1..$number"
