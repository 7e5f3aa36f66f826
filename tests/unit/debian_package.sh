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
lib=$SQT_SOURCE/tools/lib
for part in say series squid-source debian-package; do
    . "$SQT_SOURCE/tools/lib/$part.sh"
done
program=debian_package
out=$work/out err=

# ---- the series becomes the last patches ----

tree=$work/tree
mkdir -p "$tree/src" "$tree/debian/source" "$tree/debian/patches" "$work/patches"
seq 9 >"$tree/src/a.cc"
printf 'Source: squid\n\nPackage: squid\nArchitecture: any\n\nPackage: squid-openssl\nArchitecture: any\n' \
    >"$tree/debian/control"
printf '%%:\n\tdh $@\n' >"$tree/debian/rules"
echo '3.0 (quilt)' >"$tree/debian/source/format"
printf 'squid (5.7-2+deb12u6) %s; urgency=high\n\n  * Any.\n\n -- A <a@b.c>  %s\n' \
    bookworm-security 'Sun, 22 Nov 2026 05:00:00 +0000' >"$tree/debian/changelog"
printf '#!/bin/sh\nset -e\n#DEBHELPER#\nexit 0\n' >"$tree/debian/squid.postinst"
# The distribution's last patch changes what ours stands beside; its list ends without a newline.
printf -- '--- a/src/a.cc\n+++ b/src/a.cc\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n' >"$tree/debian/patches/security.patch"
printf security.patch >"$tree/debian/patches/series"
head='--- a/src/a.cc\n+++ b/src/a.cc\n'
# shellcheck disable=SC2059 # $head has line breaks for printf
printf -- "Description: A hook\n---\n$head"'@@\n 3\n 4\n 5\n+hook\n 6\n 7\n 8\n' >"$work/patches/0010-hook.patch"
package=5.7-2+deb12u6 found=5.7
patch_package "$tree" "$work/patches" 5.7 "$out"
[ "$(tr '\n' ' ' <"$tree/src/a.cc")" = '0 1 2 3 4 5 hook 6 7 8 9 ' ]
check 'the series is applied after the distribution'\''s patches, moved as they moved it'
[ "$(tr '\n' ' ' <"$tree/debian/patches/series")" = 'security.patch sqtrace/0010-hook.patch ' ]
check 'and named last among the patches'
ours=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
dpkg --compare-versions "$package" lt "$ours" && dpkg --compare-versions "$ours" lt 5.7-2+deb12u7
check "its version, $ours, is above the package's and below the next security update's"
first=5.7-2$debian_suffix
dpkg --compare-versions 5.7-2 lt "$first" && dpkg --compare-versions 5.7-2+b1 lt "$first" &&
    dpkg --compare-versions "$first" lt 5.7-2+deb12u1 && dpkg --compare-versions "$first" lt 5.7-2.1
check "so is that of the first one of a release, $first"
[ "$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Distribution)" = bookworm-security ]
check 'it is for the same distribution'

# What the script of package $1 makes of an old directive of these lines, called as dpkg does for an update: the files.
postinst()
{
    script=$tree/debian/$1.postinst
    rm -rf "$work/root"
    mkdir -p "$work/root/etc/squid/conf.d"
    printf '%b' "$2" >"$work/root/etc/squid/conf.d/sqtrace.conf"
    [ $# -lt 4 ] || echo "$4" >"$work/root/etc/squid/sqtrace.conf"
    DPKG_ROOT=$work/root sh "$script" "$3" 5.7-1 >"$out" && (cd "$work/root/etc/squid" && find . -type f | sort | tr '\n' ' ')
}

line='# trace\n\n  sqtrace_log /t total=4GB\n'
for name in squid squid-openssl; do
    [ "$(postinst $name "$line" configure)" = './sqtrace.conf ' ] &&
        [ "$(printf '%b' "$line")" = "$(cat "$work/root/etc/squid/sqtrace.conf")" ]
    check "$name: an old directive is moved to where a Squid that cannot trace does not find it"
    [ "$(postinst $name "$line" abort-upgrade)" = './conf.d/sqtrace.conf ' ]
    check "$name: not when an upgrade failed"
    [ "$(postinst $name 'sqtrace_log /t\nhttp_port 1\n' configure)" = './conf.d/sqtrace.conf ' ] && grep -q 'move sqtrace_log' "$out"
    check "$name: a file with other directives stays, and it says so"
    [ "$(postinst $name 'sqtrace_log /t \\\\\n ring=1MB\n' configure)" = './conf.d/sqtrace.conf ' ]
    check "$name: so does one whose directive goes on in another line"
    [ "$(postinst $name "$line" configure '# own')" = './conf.d/sqtrace.conf ./sqtrace.conf ' ] &&
        [ "$(cat "$work/root/etc/squid/sqtrace.conf")" = '# own' ]
    check "$name: a new file is never replaced"
    rm "$work/root/etc/squid/conf.d/sqtrace.conf" "$work/root/etc/squid/sqtrace.conf"
    DPKG_ROOT=$work/root sh "$script" configure >"$out" && [ ! -s "$out" ] && [ -z "$(find "$work/root" -type f)" ]
    check "$name: without one it does nothing"
done
[ ! -e "$tree/debian/squid.prerm" ] && [ ! -e "$tree/debian/squid-openssl.prerm" ]
check 'nothing is done when the package goes'

# What debian/rules do with squid.conf in the packages.
for name in squid squid-openssl; do
    mkdir -p "$tree/debian/$name/etc/squid"
    printf '#  TAG: one\n#\tText.\n#Default:\n# none\n\n' >"$work/stock"
    { cat "$work/stock"; printf '#  TAG: sqtrace_log\n#\tText.\n#\n#Default:\n# Nothing.\n\n'; cat "$work/stock"; } \
        >"$tree/debian/$name/etc/squid/squid.conf"
done
cat "$work/stock" "$work/stock" >"$work/both"
make -s -C "$tree" -f debian/rules execute_before_dh_md5sums >"$out" 2>&1
cmp "$work/both" "$tree/debian/squid/etc/squid/squid.conf" &&
    cmp "$work/both" "$tree/debian/squid-openssl/etc/squid/squid.conf"
check 'squid.conf, which dpkg compares, is the distribution'\''s'
sed -i 's/^ 3/ three/' "$work/patches/0010-hook.patch"
rm -rf "$tree/debian/patches/sqtrace" "$tree/.pc"
seq 9 >"$tree/src/a.cc"
printf security.patch >"$tree/debian/patches/series"
(patch_package "$tree" "$work/patches" 5.7 "$out") 2>"$work/said"
[ $? -eq 1 ] && grep -q 'the hooks of Squid 5.7 do not all find their place in 5.7-2+deb12u6' "$work/said" &&
    grep -q '0010-hook.patch: lost: src/a.cc' "$work/said"
check 'a hook around which a line differs is refused, by name'

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
one='[arch=amd64] http://one.invalid/debian stable main'
[ "$(cat "$work/apt/sources"/*.list)" = "$(printf 'deb %s\ndeb-src %s' "$one" "$one")" ] &&
    grep -qx 'Types: deb deb-src' "$work/apt/sources/two.sources" && grep -q two.invalid "$work/apt/sources/two.sources"
check 'each place is asked for sources, once, whichever way it is written'
[ "$before" = "$(cd "$etc" && find . -type f -exec sha256sum {} + | sort)" ]
check 'the configuration of apt stays as it is'

# ---- which source package ----

# Two versions, of which apt is told to prefer the lower one, which was built again from the same source.
own=$work/own
mkdir -p "$own/sources" "$own/lists/partial" "$own/cache/archives/partial" "$own/place"
for version in '5.7-2+b1 (5.7-2)' 6.13-2; do
    printf 'Package: squid\nSource: squid%s\nVersion: %s\nArchitecture: all\nFilename: x\nSize: 1\nSHA256: %064d\n\n' \
        "${version#"${version%% *}"}" "${version%% *}" 1
done >"$own/place/Packages"
echo "deb [trusted=yes] copy:$own/place ./" >"$own/sources/one.list"
printf 'Package: squid\nPin: version 6.13-2\nPin-Priority: 100\n' >"$own/preferences"
echo "Dir::Etc::preferences \"$own/preferences\";" >"$work/apt.conf"
export APT_CONFIG="$work/apt.conf"
own_apt "$own" apt-get update >"$out" 2>&1
[ "$(source_version "$own" 2>>"$out")" = 5.7-2 ]
check 'the source is taken of what apt would install, not the highest there is'
sed -i 's/100$/900/' "$own/preferences"
[ "$(source_version "$own" 2>>"$out")" = 6.13-2 ]
check 'also where it has the same version'
unset APT_CONFIG
plan
