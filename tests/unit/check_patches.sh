#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_patches.sh - where hooks are put in a tree of a few lines, and what sqtrace-build --check-patches says of those
# that moved, changed or are lost.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-patches-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
program=check_patches
lib=$SQT_SOURCE/tools/lib
for part in say releases series squid-source; do
    . "$lib/$part.sh"
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

result()
{
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# /' "$work/out"
    fi
}

# says NAME STATUS TEXT: checks the hooks on the tree; whether a line of what it says holds the text.
says()
{
    check_patches "$work/patches" 7.7 "$work/tree" >"$work/out" 2>&1
    status=$?
    [ "$status" -eq "$2" ] && grep -qF -- "$3" "$work/out"
    result $? "$1"
}

# A new tree, as it was when the hooks were made.
fresh()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src"
    source_file >"$work/tree/src/a.cc"
    source_file >"$work/tree/src/b.cc"
}

# hook FILE FUNCTION: a hunk of each file.
hook()
{
    printf -- '--- a/src/%s\n+++ b/src/%s\n@@ %s\n     begin();\n     work(value);\n' "$1" "$1" "$2"
    printf '+    Sqtrace::WorkBegins(value);\n     end();\n     done(value);\n'
}

mkdir -p "$work/patches"
printf 'Description: Two hooks\n---\n' >"$work/head"
{ cat "$work/head"; hook a.cc second; hook b.cc second; } >"$work/patches/0010-work.patch"

fresh
says 'the tree that they were made for' 0 '2 hunks: 2 in place, 0 moved, 0 changed, 0 lost'
[ "$(grep -n Sqtrace "$work/tree/src/a.cc")" = '17:    Sqtrace::WorkBegins(value);' ]
result $? 'of two places that look alike, it is in the one whose function is named'
fresh
sed -i '1i// a line more' "$work/tree/src/a.cc"
says 'a line more before it: it is in its place' 0 '2 hunks: 2 in place'
fresh
sed -i 's/    begin();/    begin(NULL);/' "$work/tree/src/a.cc"
sed 's/begin();/begin(nullptr);/' "$work/patches/0010-work.patch" >"$work/null"
sed -n '1,/^--- .*b.cc/{/b.cc/!p}' "$work/null" >"$work/only-a"
mkdir "$work/spelled" && cp "$work/only-a" "$work/spelled/0010-work.patch"
compose_series "$work/spelled" 7.7 "$work/tree" "$work/composed" >"$work/out" 2>&1
all_in_place "$work/composed" && grep -q '^ .*begin(NULL);' "$work/composed/0010-work.patch"
result $? 'NULL is as good as nullptr, and stays what it is'
fresh
sed -i 's/    done(value);/    finish(value);/' "$work/tree/src/b.cc"
says 'a line after it is another one' 1 '0010-work.patch: changed: src/b.cc:17: the lines around it changed, in second'
grep -q '^    Sqtrace::WorkBegins(value);$' "$work/out"
result $? 'and the hook is shown'
fresh
sed -i '11,$d' "$work/tree/src/a.cc"
says 'only another function has these lines' 1 \
    '0010-work.patch: moved: src/a.cc:7: is in another function: first, and not second'
fresh
cat "$work/tree/src/a.cc" "$work/tree/src/a.cc" >"$work/twice" && cp "$work/twice" "$work/tree/src/a.cc"
says 'two such functions' 1 'changed: src/a.cc:17: 2 places look like this, in second'
fresh
sed -i '/(/d' "$work/tree/src/a.cc"
says 'the lines are gone' 1 '0010-work.patch: lost: src/a.cc: nothing like the lines around it is there, in second'
grep -qx '2 hunks: 1 in place, 0 moved, 0 changed, 1 lost' "$work/out"
result $? 'and the other file has its hook'
fresh
rm "$work/tree/src/a.cc"
says 'the file is gone' 1 '0010-work.patch: lost: src/a.cc: this file is not there'
# A distribution may have taken out what a file was for.
sed 's|^--- a/src/a.cc|# optional: some have no a\n&|' "$work/patches/0010-work.patch" >"$work/tagged" &&
    cp "$work/patches/0010-work.patch" "$work/untagged" && cp "$work/tagged" "$work/patches/0010-work.patch"
fresh
rm "$work/tree/src/a.cc"
says 'the file is gone, and need not be there' 0 '1 hunks: 1 in place, 0 moved, 0 changed, 0 lost'
fresh
says 'the file is there, and has its hook' 0 '2 hunks: 2 in place'
cp "$work/untagged" "$work/patches/0010-work.patch"

# ---- a series for quilt ----

fresh
cp -r "$work/tree" "$work/before"
sed -i '1i// a line more' "$work/tree/src/a.cc" "$work/before/src/a.cc"
# The second patch stands on the first one's hook.
{
    cat "$work/head"
    printf -- '--- a/src/a.cc\n+++ b/src/a.cc\n@@ second\n     Sqtrace::WorkBegins(value);\n'
    printf '+    Sqtrace::MoreBegins(value);\n     end();\n'
} >"$work/patches/0020-more.patch"
rm -rf "$work/composed"
compose_series "$work/patches" 7.7 "$work/tree" "$work/composed" >"$work/out" 2>&1
for name in $(series_patches "$work/composed"); do
    patch -d "$work/before" -p1 --fuzz=0 --batch <"$work/composed/$name" >>"$work/out" 2>&1
done
diff -r "$work/before" "$work/tree" >>"$work/out" && ! grep -q 'offset\|fuzz\|FAILED' "$work/out"
result $? 'the series makes the same tree with patch, without offset or fuzz'
[ "$(tr '\n' ' ' <"$work/composed/series")" = '0010-work.patch 0020-more.patch ' ] &&
    [ "$(head -n 2 "$work/composed/0010-work.patch")" = "$(cat "$work/head")" ]
result $? 'it is listed, and each patch has its description'

# ---- what a change of a hook makes anew ----

fresh
rm "$work/patches/0020-more.patch"
rm -rf "$work/origin" && mv "$work/tree" "$work/origin"
touch -d 2001-01-01 "$work/origin/src/a.cc" "$work/origin/src/b.cc"
make_source "$work/tree" "$work/origin" "$work/patches" 7.7 "$work/made" >"$work/out" 2>&1
touch -d 2002-02-02 "$work/tree/src/a.cc" "$work/tree/src/b.cc"
: >"$work/then"
sed -i '/b.cc/,$s/WorkBegins/OtherWorkBegins/' "$work/patches/0010-work.patch"
make_source "$work/tree" "$work/origin" "$work/patches" 7.7 "$work/made" >"$work/out" 2>&1
grep -q Sqtrace::OtherWorkBegins "$work/tree/src/b.cc" && [ ! "$work/tree/src/b.cc" -ot "$work/then" ]
result $? 'after a change of one hunk its file is new'
[ "$(date -r "$work/tree/src/a.cc" +%F)" = 2002-02-02 ] && grep -q Sqtrace::WorkBegins "$work/tree/src/a.cc"
result $? 'and the other one is as old as before'
make_source "$work/tree" "$work/origin" '' '' "$work/made" >"$work/out" 2>&1
! grep -q Sqtrace "$work/tree/src/a.cc" && [ ! "$work/tree/src/a.cc" -ot "$work/then" ]
result $? 'without hooks, what had some is new'
sed '/begin();/d' "$work/origin/src/a.cc" >"$work/changed" && cp "$work/changed" "$work/origin/src/a.cc"
(make_source "$work/tree" "$work/origin" "$work/patches" 7.7 "$work/made") >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q '0010-work.patch: changed: src/a.cc\|0010-work.patch: lost: src/a.cc' "$work/out" &&
    grep -q 'the hooks of Squid 7.7 do not all find their place there: 2 hunks: 1 in place' "$work/out" &&
    [ -f "$work/tree/src/b.cc" ] && [ ! -e "$work/tree.new" ]
result $? 'a tree in which a hook finds no place is not made, and the old one stays'

# ---- what is wrong in a patch ----

# refuses NAME TEXT PATCH: says what is wrong in a patch of these lines.
refuses()
{
    mkdir -p "$work/wrong"
    # shellcheck disable=SC2059 # $3 has line breaks for printf
    printf -- "$3" >"$work/wrong/0010-wrong.patch"
    (compose_series "$work/wrong" 7.7 "$work/tree" "$work/composed") >"$work/out" 2>&1
    [ $? -eq 1 ] && grep -qF -- "$2" "$work/out"
    result $? "$1"
}
head='---\n--- a/src/a.cc\n+++ b/src/a.cc\n'
refuses 'a line that is none of a hunk' '0010-wrong.patch:5: expected a line that begins with a space, + or -' \
    "$head@@ first\nbegin();\n"
refuses 'no reason why a hunk is for some only' "0010-wrong.patch:4: expected \`# only RELEASES: why'" "$head# only 5\n"
refuses 'a tag that is none' "0010-wrong.patch:4: expected \`# only RELEASES: why' or" "$head# onyl 5: why\n"
refuses 'a file that is optional, without the reason' "0010-wrong.patch:4: expected \`# optional: why'" "$head# optional\n"
refuses 'a hunk that is optional' "expected a line that begins with --- after \`# optional'" \
    "$head# optional: why\n@@ first\n     // first\n+a\n"
refuses 'a tag within a hunk' '0010-wrong.patch:7: expected a line that begins with --- or @@' \
    "$head@@ first\n     // first\n# only 5: why\n+a\n"
refuses 'two hunks at one place' 'two hunks change line 5 of src/a.cc' \
    "$head@@ first\n     // first\n+a\n     begin();\n@@ first\n     // first\n+b\n     begin();\n"

# ---- versions of three parts ----

mkdir "$work/known" "$work/known/patches" "$work/parts"
cat >"$work/known/patches/releases" <<'END'
# release range sum
5.4.1 5.4.1-5.10 -
5.5 5.4.1-5.10 -
5.10 5.4.1-5.10 -
7.0.2 7.0.2-7.1 -
7.1 7.0.2-7.1 -
8.0.0 8 -
END
data=$work/known

# serves RELEASE RANGE HOOKS-OF KNOWN
serves()
{
    find_range "$1"
    echo "$1: $range, $hooks_of, $is_known" >"$work/out"
    [ "$range $hooks_of $is_known" = "$2 $3 $4" ]
    result $? "Squid $1 is served by the hooks of $2, as $3; listed: $4"
}
serves 5.4.1 5.4.1-5.10 5.4.1 yes
serves 5.4 5.4.1-5.10 5.4.1 no
serves 5.4.2 5.4.1-5.10 5.4.2 no
serves 5.10 5.4.1-5.10 5.10 yes
serves 7.0.1 7.0.2-7.1 7.0.2 no
serves 7.0.2 7.0.2-7.1 7.0.2 yes
serves 7.2 7.0.2-7.1 7.2 no
serves 8.0.0 8 8.0.0 yes
serves 8.0.1 8 8.0.1 no
serves 99.0.0 8 99.0.0 no
known_ranges >"$work/out"
[ "$(cat "$work/out")" = '5.4.1 to 5.10, 7.0.2 to 7.1, 8 (in development)' ]
result $? 'the ranges as text'

# gets RELEASE TAG YES-OR-NO: whether a hunk for the releases TAG is for RELEASE.
gets()
{
    printf -- '---\n--- a/src/a.cc\n+++ b/src/a.cc\n# only %s: why\n@@ first\n     // first\n+a\n' "$2" >"$work/parts/tagged"
    awk -v release="$1" -f "$lib/place-hunks.awk" "$work/parts/tagged" >"$work/out" 2>&1
    got=no
    ! grep -q '^+a$' "$work/out" || got=yes
    [ "$got" = "$3" ]
    result $? "a hunk for $2 is for $1: $3"
}
gets 5.4 5.4.1- no
gets 5.4.1 5.4.1- yes
gets 5.4.1 5.4 no
gets 5.4.1 -5.4 no
gets 5.4.1 5 yes
gets 5.4.1 5.5- no
gets 5.10 5.4.1-5.9 no
gets 7.0.2 7.0.2-7.1 yes
gets 7.0.1 7.0.2-7.1 no
gets 8.0.0 7- yes
gets 8.0.0 7 no

# ---- tags of a clone ----

# Releases without any of Squid's code: no hook finds its place.
if git --version >/dev/null 2>&1; then
    clone=$work/clone
    mkdir -p "$clone/src"
    git init -q "$clone"
    : >"$clone/src/cf.data.pre"
    for release in 4.17 5.3 5.4 5.4.1 5.10 7.0.2; do
        echo "AC_INIT([Squid Web Proxy],[$release],[https://bugs.squid-cache.org/],[squid])" >"$clone/configure.ac"
        git -C "$clone" add -A
        git -C "$clone" -c user.name=a -c user.email=a@b.c commit -qm "$release"
        git -C "$clone" tag "SQUID_$(echo $release | tr . _)"
    done
    sh "$SQT_SOURCE/tests/packages/tags.sh" "$clone" >"$work/out" 2>&1
    [ $? -eq 1 ] && [ "$(sed -n 's/^| \(SQUID[^ ]*\) |.*/\1/p' "$work/out" | tr '\n' ' ')" = \
        'SQUID_5_4 SQUID_5_4_1 SQUID_5_10 SQUID_7_0_2 ' ]
    result $? 'tags.sh looks at the releases from 5.4 on, and its status says that hooks of listed ones are lost'
    grep -q '^| SQUID_5_4 | 5.4 | 5.4.1-5.10 | no | \([0-9]*\) | 0 | 0 | 0 | \1 |$' "$work/out" &&
        grep -q '^| SQUID_5_4_1 | 5.4.1 | 5.4.1-5.10 | yes | \([0-9]*\) | 0 | 0 | 0 | \1 |$' "$work/out" &&
        grep -q '^SQUID_7_0_2: 0010-configuration.patch: lost: src/SquidConfig.h: ' "$work/out"
    result $? 'a row for each, and the hooks below'
    sh "$SQT_SOURCE/tests/packages/tags.sh" "$clone" SQUID_5_4 >"$work/out" 2>&1
    result $? 'a release that is not listed may lose hooks'
    sh "$SQT_SOURCE/tests/packages/tags.sh" "$work/patches" >"$work/out" 2>&1
    [ $? -eq 1 ] && grep -q 'not a clone of a git repository' "$work/out"
    result $? 'tags.sh: no clone'
fi
echo "1..$number"
