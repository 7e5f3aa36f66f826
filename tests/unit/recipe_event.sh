#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe_event.sh - HACKING.md, "A new event": followed in a copy of the tree, with a dummy.
set -u

. "${SQT_SOURCE:?}/tests/unit/recipe.sh"
program=recipe_event
data=$tree
. "$tree/tools/lib/say.sh"
. "$tree/tools/lib/releases.sh"
copy_build

# ---- the recipe ----

sed -i '/^#undef S$/i\
SQT_EVENT(DUMMY_HAPPENED, DIGEST, "a dummy happened, in a test of a recipe",\
          ID(XACT, "transaction"), ARG(COUNT, "how often"))\
' "$tree/src/format/events.def"
sed -i '/^} \/\/ namespace Sqtrace/i\
/// a dummy happened, so often\
template <class RequestPointer>\
inline void\
DummyHappened(const RequestPointer \&request, const uint64_t count)\
{\
    if (sqt_on(SQT_GROUP_DIGEST))\
        sqt_emit(SQT_EV_DUMMY_HAPPENED, XactOf(request), count, 0);\
}\
' "$tree/src/squid/hooks-digests.h"
sed -i '/^+  *Sqtrace::PeerIsAsked(request, peer/a\
+        Sqtrace::DummyHappened(request, 1);' "$tree/patches/0140-digests.patch"
sed -i '/^ *expect("steps of a rewrite"/a\
    Sqtrace::DummyHappened(\&request, 3);\
    expect("a dummy", "DUMMY_HAPPENED 5 3 0; ");' "$tree/tests/unit/hooks.cc"
cat >"$tree/tests/e2e/98-dummy.py" <<'END'
"""A dummy that happens is in the trace."""

TESTS = [("a dummy happens", lambda env: None, 60)]
END

# ---- what it gives ----

make_in_build sqtrace-events.7 && grep -q 'DUMMY_HAPPENED' "$build/sqtrace-events.7" &&
    grep -q 'a dummy happened, in a test of a recipe' "$build/sqtrace-events.7"
check "sqtrace-events(7) names the event"
SQT_SOURCE=$tree sh "$tree/tests/unit/hooks.sh" >"$out" 2>&1
grep -q '^ok .*a dummy' "$out" && ! grep -q '^not ok' "$out"
check "the hook emits it"
for range in $(release_lines | cut -d ' ' -f 2 | uniq); do
    awk -v release="${range#*-}" -f "$tree/tools/lib/place-hunks.awk" "$tree/patches/0140-digests.patch" >"$out"
    grep -q '^+ *Sqtrace::DummyHappened(request, 1);' "$out"
    check "Squid $range gets the hook"
done
python3 "$tree/tests/e2e/run" --list 98 >"$out" 2>&1
grep -qx '98 a dummy happens' "$out"
check "the end-to-end test is found"
follows 'A new event'
plan
