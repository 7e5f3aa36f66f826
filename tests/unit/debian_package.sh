#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# debian_package.sh - what sqtrace-build --debian makes of a source package of a few lines, and of the places that apt
# knows.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-package-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
for part in say squid-source debian-package; do
    . "$SQT_SOURCE/tools/lib/$part.sh"
done
program=debian_package
out=$work/out err=

# ---- the series becomes the last patches ----

tree=$work/tree
mkdir -p "$tree/src" "$tree/debian/source" "$tree/debian/patches" "$work/series"
seq 9 >"$tree/src/a.cc"
printf 'Source: squid\n\nPackage: squid\nArchitecture: any\n' >"$tree/debian/control"
echo '3.0 (quilt)' >"$tree/debian/source/format"
printf 'squid (5.7-2+deb12u6) %s; urgency=high\n\n  * Any.\n\n -- A <a@b.c>  %s\n' \
    bookworm-security 'Sun, 22 Nov 2026 05:00:00 +0000' >"$tree/debian/changelog"
printf '#!/bin/sh\nset -e\n#DEBHELPER#\nexit 0\n' >"$tree/debian/squid.prerm"
# The distribution's last patch changes what ours stands beside; its list ends without a newline.
printf -- '--- a/src/a.cc\n+++ b/src/a.cc\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n' >"$tree/debian/patches/security.patch"
printf security.patch >"$tree/debian/patches/series"
head='--- a/src/a.cc\n+++ b/src/a.cc\n'
printf -- "$head"'@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+hook\n 6\n 7\n 8\n' >"$work/series/0010-hook.patch"
echo '0010-hook.patch # the only one' >"$work/series/series"
package=5.7-2+deb12u6 found=5.7
patch_package "$tree" "$work/series" "$out"
[ "$(tr '\n' ' ' <"$tree/src/a.cc")" = '0 1 2 3 4 5 hook 6 7 8 9 ' ]
check 'the series is applied after the distribution'\''s patches, moved as they moved it'
[ "$(tr '\n' ' ' <"$tree/debian/patches/series")" = 'security.patch sqtrace/0010-hook.patch ' ]
check 'and named last among the patches'
ours=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
dpkg --compare-versions "$package" lt "$ours" && dpkg --compare-versions "$ours" lt 5.7-2+deb12u7
check "its version, $ours, is above the package's and below the next security update's"
[ "$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Distribution)" = bookworm-security ]
check 'it is for the same distribution'

# Such a directive in a file of its own, and what an upgrade to version $1 leaves of it.
upgraded_to()
{
    mkdir -p "$work/root/etc/squid/conf.d"
    rm -f "$work/root/etc/squid/conf.d"/*
    : >"$work/root/etc/squid/conf.d/sqtrace.conf"
    DPKG_ROOT=$work/root sh "$tree/debian/squid.prerm" upgrade "$1" >"$out" && ls "$work/root/etc/squid/conf.d"
}

[ "$(upgraded_to 5.7-2+deb12u7)" = sqtrace.conf.off ]
check 'an update that cannot trace finds no directive that it does not know'
[ "$(upgraded_to 5.7-2+deb12u7+sqtrace1)" = sqtrace.conf ]
check 'one that can finds it'
sed -i 's/^ 3/ three/' "$work/series/0010-hook.patch"
rm -rf "$tree/debian/patches/sqtrace" "$tree/.pc"
seq 9 >"$tree/src/a.cc"
printf security.patch >"$tree/debian/patches/series"
(patch_package "$tree" "$work/series" "$out") 2>"$work/said"
[ $? -eq 1 ] && grep -q 'the patches of Squid 5.7 do not apply to 5.7-2+deb12u6' "$work/said"
check 'a series that does not apply without fuzz is refused'

# ---- apt's places, as places of sources ----

etc=$work/etc
mkdir -p "$etc/sources.list.d" "$etc/apt.conf.d"
cat >"$etc/sources.list" <<'END'
# deb http://off.invalid/debian off main
deb [arch=amd64] http://one.invalid/debian stable main
deb-src [arch=amd64] http://one.invalid/debian stable main
END
printf '%s\n' 'Types: deb' 'URIs: http://two.invalid/debian' 'Suites: stable' 'Components: main' \
    >"$etc/sources.list.d/two.sources"
cat >"$work/apt.conf" <<END
Dir::Etc "$etc";
END
before=$(cd "$etc" && find . -type f -exec sha256sum {} + | sort)
APT_CONFIG=$work/apt.conf source_places "$work/apt"
[ "$(cat "$work/apt/sources"/*.list)" = 'deb-src [arch=amd64] http://one.invalid/debian stable main' ] &&
    grep -qx 'Types: deb-src' "$work/apt/sources/two.sources" && grep -q two.invalid "$work/apt/sources/two.sources"
check 'each place is asked for sources, once, whichever way it is written'
[ "$before" = "$(cd "$etc" && find . -type f -exec sha256sum {} + | sort)" ]
check 'the configuration of apt stays as it is'
plan
