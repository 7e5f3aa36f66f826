#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# debian.sh FOLDER - builds the Debian packages of this source tree in FOLDER and looks at what they give, in TAP.
# Needs dpkg-dev, debhelper, lintian, man-db, and root for an installation in a folder.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
rm -rf "${1:?usage: debian.sh FOLDER}"
mkdir -p "$1/tree" "$1/root/var/lib/dpkg/info" "$1/root/var/lib/dpkg/updates" || exit 1
folder=$(cd "$1" && pwd -P)
root=$folder/root
tar -C "$top" --exclude=./build --exclude=./.git --exclude=./autom4te.cache -cf - . | tar -C "$folder/tree" -xf -
cd "$folder/tree" || exit 1

# What the folder holds as installed, without a word of packages that are not there.
in_root()
{
    # Scripts of packages run here, as nothing else is in the folder.
    dpkg --root="$root" --force-script-chrootless --force-depends "$@" >>"$folder/dpkg.log" 2>&1
}

out=$folder/build.log err=
DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -b >"$out" 2>&1
check 'packages are built with what debian/control names'
out=$folder/lintian.log
lintian --no-cfg --allow-root --fail-on error,warning "$folder"/sqtrace_*.changes >"$out" 2>&1
check 'lintian finds nothing'

out=$folder/apt.log
LC_ALL=C apt-get install --simulate --no-install-recommends "$folder"/sqtrace_*.deb "$folder"/libsqtrace-dev_*.deb \
    "$folder"/sqtrace-doc_*.deb >"$out" 2>&1 && [ "$(grep -c '^Conf sqtrace\|^Conf libsqtrace-dev' "$out")" -eq 3 ]
check 'apt has what they depend on'

out=$folder/dpkg.log
: >"$root/var/lib/dpkg/status"
in_root -i "$folder"/sqtrace_*.deb "$folder"/libsqtrace-dev_*.deb "$folder"/sqtrace-doc_*.deb
check 'they are installed'
said=$("$root/usr/bin/sqtrace-dump" --quiet --table=losses "$root/usr/share/doc/sqtrace/sample" | grep -vc '^#')
[ "$said" -ge 1 ]
check 'sqtrace-dump reads the sample trace of sqtrace-doc'
# has_page PAGE: one that man shows without a warning.
has_page()
{
    man --warnings -l "$root/usr/share/man/man${1##*.}/$1.gz" >/dev/null 2>"$folder/man.err" && [ ! -s "$folder/man.err" ]
    check "${1%.*} has a manual page"
}

for tool in build dump experiment load report; do
    # A script has its data where it is installed, and that is not here.
    data=$(sed -n '1{/^#!/!q}; s/^installed_data=//p' "$root/usr/bin/sqtrace-$tool")
    if [ -n "$data" ]; then
        [ -f "$root$data/lib/say.sh" ]
    else
        "$root/usr/bin/sqtrace-$tool" --version >/dev/null
    fi
    check "sqtrace-$tool finds what it needs"
    has_page "sqtrace-$tool.1"
done
has_page sqtrace.5
if [ "$(dpkg --print-architecture)" = amd64 ]; then
    "$root/usr/bin/sqtrace-attach" --version >/dev/null && grep -q '^Depends:.*libbpf1' "$folder"/tree/debian/sqtrace/DEBIAN/control
    check 'sqtrace-attach is there, and what it depends on'
    has_page sqtrace-attach.1
fi
has_page sqtrace_log.5
for page in events tables figures; do
    has_page "sqtrace-$page.7"
done
PKG_CONFIG_PATH=$(dirname "$root"/usr/lib/*/pkgconfig/libsqtrace.pc) pkg-config --exists libsqtrace
check 'libsqtrace-dev tells pkg-config where the library is'
in_root --purge sqtrace libsqtrace-dev sqtrace-doc
[ -z "$(find "$root" -type f ! -path '*/var/lib/dpkg/*')" ]
check 'purged, they leave no file'
plan
