#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# upstream.sh - the series for Squid's maintainers: every hook of the head of development is in the interface, which
# compiles without warnings, and sqtrace's own headers have each hook under the same name.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-upstream-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
program=upstream
lib=$SQT_SOURCE/tools/lib
data=$SQT_SOURCE
for part in say releases series upstream; do
    . "$lib/$part.sh"
done
out=$work/out err=
: >"$out"
head=$(release_lines | awk '$2 !~ /-/ { print $1 }')

upstream_patches "$data/patches" "$work/patches" >"$out" 2>&1
mkdir "$work/hunks"
for patch in "$work/patches"/*.patch; do
    awk -v release="$head" -f "$lib/place-hunks.awk" "$patch" >"$work/hunks/${patch##*/}" 2>>"$out"
done
[ ! -s "$out" ] && [ "$(cat "$work/hunks"/* | grep -c '^+ .*Trace::')" -gt 200 ]
check "the hooks of $head under the names of the interface"
# Names of files in what is left of comments count, too.
cat "$work/hunks"/* | grep -n '^[-+ ].*\(sqt\|Sqt\|SQT\)' >"$out"
[ ! -s "$out" ]
check 'no name of sqtrace is left'

hooks=$(hooks_in "$work/hunks")
write_interface "$data/src/squid" "$data/patches" "$hooks" "$work/src/trace" >"$out" 2>&1
# declares HOOK FOLDER: whether its headers have a function, type or value of that name.
declares()
{
    cat "$2"/*.h | grep -q "^$1(\|^&$1(\|^inline void (\*&$1())()\|\<\(struct\|class\|enum\|auto\) $1\>\|\<enum .*\<$1\>\|^typedef .*\<$1("
}
for hook in $hooks; do
    declares "$hook" "$work/src/trace" || echo "the interface has no $hook"
done >"$out"
[ ! -s "$out" ]
check 'the interface has each hook that is called'
grep -l 'sqt\|SQT' "$work/src/trace"/*.h >"$out"
[ ! -s "$out" ]
check 'and no name of sqtrace'

# includes HEADER: that header of the interface and those that it includes.
includes()
{
    echo "$1"
    # shellcheck disable=SC2013 # names without spaces
    for included in $(sed -n 's|^#include "trace/\(.*\)"|\1|p' "$work/src/trace/$1"); do
        includes "$included"
    done
}
cat "$work/hunks"/* | sed -n 's|^+++ b/||p' | grep '\.cc$' | sort -u | while read -r file; do
    cat "$work/hunks"/* | awk -v file="+++ b/$file" '/^\+\+\+ / { inside = $0 == file } inside && /^\+[^+]/' >"$work/added"
    # shellcheck disable=SC2013 # names without spaces
    for header in $(sed -n 's|^+#include "trace/\(.*\)"|\1|p' "$work/added"); do
        includes "$header"
    done | sort -u | sed "s|^|$work/src/trace/|" | xargs cat >"$work/seen"
    # shellcheck disable=SC2013 # names without spaces
    for hook in $(grep -o 'Trace::[A-Za-z_]*(' "$work/added" | sed 's/.*:://; s/($//' | sort -u); do
        grep -q "^$hook(\|^struct $hook " "$work/seen" || echo "$file includes no header that declares $hook"
    done
done >"$out"
[ ! -s "$out" ]
check 'each file includes the headers of its hooks'

write_provider "$data/src/squid" "$data/patches" "$work/provider" >"$out" 2>&1
for hook in $hooks; do
    declares "$hook" "$work/provider/trace-provider" || echo "sqtrace as the provider has no $hook"
done >"$out"
[ ! -s "$out" ]
check 'sqtrace as the provider has each of them'

cxx=${CXX:-c++}
# shellcheck disable=SC2086 # perhaps ccache and a compiler
if $cxx --version >/dev/null 2>&1; then
    {
        for header in "$work/src/trace"/*.h; do
            echo "#include \"trace/${header##*/}\""
        done
        cat <<'END'
bool ran = false;
#ifdef TRACE_PROVIDER
bool again = false;
#else
struct Context {};
const Trace::Delivery delivery(1, 2u, true);
const bool again = Trace::HasRunIn<Context>(&ran, [] { ran = true; });
#endif
int
main()
{
    const Trace::QueryService service;
    Trace::QueryIsServed([&] { ran = !again && !ran; });
    Trace::Configure(Trace::Process(), true, Trace::Poll, [](int, const char *) {});
    return ran ? 0 : 1;
}
END
    } >"$work/use.cc"
    flags='-std=c++17 -Wall -Wextra -Wshadow -Wmissing-declarations -Woverloaded-virtual -Werror'
    $cxx $flags -I"$work/src" -o "$work/use" "$work/use.cc" >"$out" 2>&1 && "$work/use"
    check 'the interface compiles without warnings; what runs in a hook is run, and nothing is run again'
    $cxx $flags -fsyntax-only -DTRACE_PROVIDER -I"$work/src" -I"$work/provider" -I"$data/src" \
        "$work/use.cc" >"$out" 2>&1
    check 'and the same program with sqtrace as the provider'
fi
plan
