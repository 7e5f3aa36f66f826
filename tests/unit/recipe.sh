# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe.sh - what the tests of HACKING.md's recipes share: a copy of the tree and of its build, and which files a recipe
# names.  Sourced; needs SQT_SOURCE and SQT_TOOLS.

: "${SQT_SOURCE:?}" "${SQT_TOOLS:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-recipe-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
out=$work/out
tree=$work/tree
: >"$out"
mkdir "$tree"
(cd "$SQT_SOURCE" && tar --exclude=./.git --exclude='./build*' --exclude='./_build' --exclude=./autom4te.cache \
    --exclude=__pycache__ --exclude=./tests/golden --exclude=./tests/fuzz/corpus -cpf - .) | tar -C "$tree" -xpf -
chmod -R u+w "$tree"
cp -R "$tree" "$work/before"

# The build stands in the copy where it stands in the source tree, with its objects and their times, so that make builds
# only what a change reaches.  Sets build.  Ends the test where make would not know that.
copy_build()
{
    if grep -q '^CCDEPMODE = depmode=none' "$SQT_TOOLS/Makefile"; then # as dh_auto_configure asks for
        echo "1..0 # SKIP this build does not track which objects a changed header reaches"
        exit 0
    fi
    inside=${SQT_TOOLS#"$(cd "$SQT_SOURCE" && pwd -P)"/}
    [ "$inside" != "$SQT_TOOLS" ] || inside=build/sqtrace
    build=$tree/$inside
    mkdir -p "$build"
    (cd "$SQT_SOURCE" && tar -cpf - build-aux) 2>/dev/null | tar -C "$tree" -xpf -
    # Programs are large, and most are linked anew anyway.
    (cd "$SQT_TOOLS" && find . -path ./report-screenshots -prune -o -type f ! -name '*.log' ! -name '*.trs' \
        ! \( -perm -100 -size +300k \) -print >"$work/copied" && tar -cpf - -T "$work/copied") | tar -C "$build" -xpf -
    if [ ! -f "$build/Makefile" ] || ! grep -q '^srcdir = \.\.' "$build/Makefile"; then
        (cd "$build" && "$tree/configure" -q) >"$out" 2>&1
        # The objects were made from the tree that was copied, by its absolute path.
        find "$build" -name '*.Po' -exec sed -i "s|$(cd "$SQT_SOURCE" && pwd -P)/|$tree/|g" {} +
    fi
}

# make_in_build TARGET...: without optimization, for what a header reaches is compiled for a few runs.
make_in_build()
{
    make -s -C "$build" "$@" CFLAGS="$(sed -n 's/^CFLAGS = //p' "$build/Makefile") -O0 -g0 -Wno-error" >"$out" 2>&1
}

# named_files HEADING: the files that the recipe names, as regular expressions, a line each.
named_files()
{
    awk -v heading="### $1" '
        /^#/ { inside = $0 == heading }
        inside && /^\| `/ {
            split($0, part, "`")
            gsub(/\./, "\\.", part[2])
            gsub(/(NAME|CONCERN|VERSION|NNNN|NN)/, "[^/]*", part[2])
            print "^" part[2] "$"
        }' "$SQT_SOURCE/HACKING.md"
}

# The files of the copy that are new or others now, but for what autoreconf and configure make.
touched_files()
{
    (cd "$work" && LC_ALL=C diff -rq -x build -x _build -x Makefile.in -x aclocal.m4 -x configure -x 'configure~' \
        -x autom4te.cache -x build-aux -x __pycache__ -x config.h.in before tree) |
        sed -n 's/^Files before\/\(.*\) and tree.*/\1/p; s|^Only in tree: |./|p; s|^Only in tree/\(.*\): |\1/|p' |
        sed 's|^\./||' | sort
}

# follows HEADING: whether the files touched are those that the recipe of that heading names, each of them.
follows()
{
    named_files "$1" >"$work/named"
    touched_files >"$work/touched"
    {
        grep -vE -f "$work/named" "$work/touched" | sed 's/^/touched, and not named: /'
        while IFS= read -r name; do
            grep -qE "$name" "$work/touched" || echo "named, and not touched: $name"
        done <"$work/named"
        [ -s "$work/named" ] || echo "HACKING.md has no recipe '$1'"
    } >"$out"
    [ ! -s "$out" ]
    check "the files touched are those that HACKING.md names for: $1"
}
