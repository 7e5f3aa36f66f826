#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# configured_tree.sh - sqtrace-build builds libsqtrace also from a source tree in which ./configure has run, from where
# no other folder can be configured; with a tree of a few lines.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-configured-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
program=configured_tree
for part in say trust places libsqtrace; do
    . "$SQT_SOURCE/tools/lib/$part.sh"
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
        sed 's/^/# /' "$work/out" "$work/build/libsqtrace.log"
    fi
}

# A tree with what automake makes of one, as far as it matters here: configure refuses a tree that is configured itself.
tree=$work/tree
mkdir -p "$tree/src" "$work/build"
: >"$tree/configure.ac"
: >"$tree/Makefile.am"
: >"$tree/Makefile.in"
echo one >"$tree/src/lib.c"
cat >"$tree/configure" <<'END'
#!/bin/sh
srcdir=$(dirname "$0")
if [ "$srcdir" != . ] && [ -f "$srcdir/config.status" ]; then
    echo "configure: error: source directory already configured; run \"make distclean\" there first" >&2
    exit 1
fi
prefix=/nowhere
for word; do
    case $word in
    --prefix=*) prefix=${word#*=} ;;
    esac
done
: >config.status
cat >Makefile <<MAKE
install-libsqtrace:
	mkdir -p $prefix/lib/pkgconfig
	cp $srcdir/src/lib.c $prefix/lib/libsqtrace.a
	echo wraps=-Wl,one >$prefix/lib/pkgconfig/libsqtrace.pc
distdir:
	rm -rf \$(distdir) && mkdir -p \$(distdir)/src
	cp -p configure configure.ac Makefile.am Makefile.in \$(distdir)
	cp -p src/lib.c \$(distdir)/src
MAKE
END
chmod +x "$tree/configure"

# build: sets what libsqtrace_from_tree sets.
build()
{
    (libsqtrace_from_tree "$tree" "$work/build" 1 && echo "$lib_libs" >"$work/libs") >"$work/out" 2>&1
}

(cd "$tree" && ./configure) >"$work/out" 2>&1
build && [ "$(cat "$work/build/libsqtrace/lib/libsqtrace.a")" = one ] && grep -q -- '^-Wl,one -L' "$work/libs"
check 'after ./configure in the tree, from a copy'
echo two >"$tree/src/lib.c"
build && [ "$(cat "$work/build/libsqtrace/lib/libsqtrace.a")" = two ]
check 'which follows the tree'
rm "$tree/config.status" "$tree/Makefile"
rm -rf "$work/build/plain-source"
echo three >"$tree/src/lib.c"
build && [ "$(cat "$work/build/libsqtrace/lib/libsqtrace.a")" = three ] && [ ! -e "$work/build/plain-source" ]
check 'after make distclean, from the tree itself'
echo "1..$number"
