#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe_release.sh - HACKING.md, "A new release of Squid": followed in a copy of the tree, with a dummy.
set -u

. "${SQT_SOURCE:?}/tests/unit/recipe.sh"

program=recipe_release
data=$tree
. "$tree/tools/lib/say.sh"
. "$tree/tools/lib/releases.sh"
newest=$(newest_release)
dummy=${newest%.*}.99
find_range "$newest"
old_range=$range
new_range=${range%-*}-$dummy

# ---- the recipe ----

sed -i "s/ $old_range / $new_range /" "$tree/patches/releases"
sed -i "/^$newest /a $dummy $new_range $(printf %064d 99)" "$tree/patches/releases"
# In the dummy release a line beside a hook is another one.
sed -i "/^@@ fqdncacheHandleReply/,/^@@/{/^@@ fqdncache_nb/!{H;d}};/^@@ fqdncache_nb/{x;s/^\n//;s/^/# only 5 6 ${newest%%.*}-$newest: it hands the age on\n/;p;s/# only [^\n]*/# only $dummy-: it hands nothing on/;s/, age)/)/;p;x}" \
    "$tree/patches/0050-dns.patch"
cp "$tree/tests/e2e/squid-make-check-$newest.list" "$tree/tests/e2e/squid-make-check-$dummy.list"
sed -i "s/^| ${old_range%-*} to ${old_range#*-} | /&$dummy, /" "$tree/doc/porting.md"

# ---- what it gives ----

"$tree/tools/sqtrace-build" --list >"$out" 2>&1
grep -q "$newest $dummy" "$out"
check "sqtrace-build --list names the release"
[ "$(newest_release)" = "$dummy" ]
check "tools/check and tools/demo build it first"
hunks()
{
    awk -v release="$1" -f "$tree/tools/lib/place-hunks.awk" "$tree/patches/0050-dns.patch"
}
hunks "$dummy" >"$work/hunks-dummy"
hunks "$newest" >"$work/hunks-newest"
diff "$work/hunks-newest" "$work/hunks-dummy" >"$out"
[ "$(grep -c '^[<>] .*fqdncacheCallback(f' "$out")" -eq 2 ] && [ "$(grep -c '^[<>] [^#@]' "$out")" -eq 2 ]
check "the dummy release has its own hunk, and the others have theirs"
for test in series build_errors; do
    SQT_SOURCE=$tree sh "$tree/tests/unit/$test.sh" >"$out" 2>&1 && ! grep -q '^not ok' "$out"
    check "tests/unit/$test.sh passes, unchanged"
done
follows 'A new release of Squid'
plan
