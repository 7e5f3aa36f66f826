#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_patches.sh - what sqtrace-build --check-patches says of hooks that moved, changed or are lost, on a tree of a
# few lines.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-patches-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
program=check_patches
for part in say squid-source check-patches; do
    . "$SQT_SOURCE/tools/lib/$part.sh"
done
number=0

# source_file: a file of two functions; each has the same five lines in it.
source_file()
{
    for name in first second; do
        printf 'void\n%s(int value)\n{\n    // %s\n' $name $name
        printf '    begin();\n    work(value);\n    end();\n    done(value);\n}\n\n'
    done
}

# says NAME STATUS TEXT: checks the series on the tree; whether a line of what it says holds the text.
says()
{
    number=$((number + 1))
    check_patches "$work/series" "$work/tree" >"$work/out"
    status=$?
    if [ "$status" -eq "$2" ] && grep -qF -- "$3" "$work/out"; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "# status $status, not $2 with: $3"
        sed 's/^/# /' "$work/out"
    fi
}

# A new tree, as it was when the series was made.
fresh()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src"
    source_file >"$work/tree/src/a.cc"
    source_file >"$work/tree/src/b.cc"
}

mkdir -p "$work/series" "$work/old/src" "$work/new/src"
for file in a b; do
    source_file >"$work/old/src/$file.cc"
    sed '16i\    Sqtrace::WorkBegins(value);' "$work/old/src/$file.cc" >"$work/new/src/$file.cc"
done
echo '0010-work.patch # the only one' >"$work/series/series"
(cd "$work" && diff -up old/src/a.cc new/src/a.cc; cd "$work" && diff -up old/src/b.cc new/src/b.cc) \
    >"$work/series/0010-work.patch"

fresh
says 'the tree that it was made for' 0 '2 hunks: 2 in place, 0 moved, 0 changed, 0 lost'
fresh
sed -i '1i// a line more' "$work/tree/src/a.cc"
says 'a line more before: how far it moved, and which hook' 0 '0010-work.patch: moved: src/a.cc:14: +1 lines, in second'
grep -q '^    Sqtrace::WorkBegins(value);$' "$work/out" || echo "not ok $number - the hook is not shown"
fresh
sed -i 's/    end();/    finish();/' "$work/tree/src/b.cc"
says 'a line after it is another one' 1 '0010-work.patch: changed: src/b.cc:13: the lines around it changed'
fresh
sed -i '11,$d' "$work/tree/src/a.cc"
sed -i 's/first/only/; s/  \/\/ only/  \/\/ second/' "$work/tree/src/a.cc"
says 'only another function has these lines' 1 'is in another function: '
fresh
sed -i '/(/d' "$work/tree/src/a.cc"
says 'the lines are gone' 1 '0010-work.patch: lost: src/a.cc:13: nothing like the lines around it'
grep -qx '2 hunks: 1 in place, 0 moved, 0 changed, 1 lost' "$work/out" || echo "not ok $number - the other file"
fresh
rm "$work/tree/src/a.cc"
says 'the file is gone' 1 '0010-work.patch: lost: src/a.cc:13: this file is not there'
echo "1..$number"
