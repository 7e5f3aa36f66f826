#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rpm.sh FOLDER TOOLS [TARBALLS] - makes source RPMs with sqtrace-build --rpm in FOLDER, of the tools and of made-up
# packages of Squid, and looks at what they give, in TAP.  TOOLS is a build of sqtrace; Squid's archive is taken from the
# folder TARBALLS or the network.  Needs rpm, rpmlint, cpio, pkg-config, and root for an installation in a folder.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
program=rpm.sh
data=$top
lib=$top/tools/lib
for part in say releases fetch series build-deps squid-source; do
    # shellcheck source=/dev/null
    . "$lib/$part.sh" || exit 1
done
tools=$(cd "${2:?usage: rpm.sh FOLDER TOOLS [TARBALLS]}" && pwd -P) || exit 1
rm -rf "${1:?usage: rpm.sh FOLDER TOOLS [TARBALLS]}"
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd -P)
root=$folder/root
[ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
export LC_ALL=C
squid=$(newest_release)
out=$folder/out err=

# build ARGUMENT...: sqtrace-build --rpm, with its work in $folder/work.
build()
{
    "$top/tools/sqtrace-build" --rpm --work="$folder/work" "$@" >"$out" 2>&1
}

# rpm_in FOLDER ARGUMENT...: rpmbuild with everything in FOLDER.
rpm_in()
{
    topdir=$1
    shift
    rpmbuild --define "_topdir $topdir" --nodeps --nocheck "$@" >"$out" 2>&1 </dev/null
}

# tree_of FOLDER: Squid's source as rpmbuild has unpacked it there.  From 4.20 on that is one folder deeper.
tree_of()
{
    find "$1/BUILD" -mindepth 1 -maxdepth 2 -type d -name "squid-$squid"
}

# Paths of all files below folder $1, without it.
files()
{
    (cd "$1" && find . -type f -o -type l) | sed 's/^\.//' | sort
}

# ---- the tools ----

build
check 'sqtrace-build makes a source package of the tools'
version=$("$tools/sqtrace-dump" --version | sed -n '1s/.* //p')
source=$folder/work/rpm/sqtrace-$version-1.src.rpm
[ "$(rpm -qpl "$source" 2>"$out" | tr '\n' ' ')" = "sqtrace-$version.tar.xz sqtrace.spec " ]
check 'it holds an archive and a spec'
rpm_in "$folder/tools" --rebuild "$source"
check 'rpmbuild builds it'
packages=$(find "$folder/tools/RPMS" -name '*.rpm' ! -name '*debuginfo*' ! -name '*debugsource*')
# shellcheck disable=SC2086 # a list
rpmlint --rpmlintrc "$top/rpm/sqtrace.rpmlintrc" "$folder/work/rpm/sqtrace.spec" "$source" $packages >"$folder/lint" 2>&1
# Each version of rpmlint and of rpmbuild needs other filters than the next one, and rpmlint names those that it did not need.
grep -E ': [EW]: ' "$folder/lint" | grep -v ': E: unused-rpmlintrc-filter ' >"$out"
[ ! -s "$out" ] && grep -q '4 packages and 1 specfiles checked' "$folder/lint"
check 'rpmlint finds nothing but what rpm/sqtrace.rpmlintrc explains'

if [ "$(id -u)" -eq 0 ]; then
    mkdir -p "$root"
    # shellcheck disable=SC2086 # a list
    rpm --root="$root" --dbpath=/rpm --nodeps -i $packages >"$out" 2>&1
    check 'rpm installs the packages into a root'
    libdir=$(rpm --eval %_libdir)
    {
        make -s -C "$tools" install DESTDIR="$folder/made" >"$folder/install.log" 2>&1
        files "$folder/made" | sed "s|^/usr/local/lib/systemd/|/usr/lib/systemd/|; s|^/usr/local/lib/|$libdir/|; s|^/usr/local/|/usr/|; s|/doc/sqtrace/|/doc/sqtrace-doc/|"
        (cd "$top" && ls README.md doc/*.md doc/*.png doc/read-sqtrace.py) | sed 's|.*/||; s|^|/usr/share/doc/sqtrace-doc/|'
    } | sort >"$folder/wanted"
    files "$root" | grep -v '^/rpm/\|^/usr/share/licenses/\|^/usr/lib/\.build-id/\|^/usr/share/doc/sqtrace-*[0-9.]*/[A-Z]' |
        sed '/\/man\//s/\.gz$//' >"$folder/found"
    diff "$folder/wanted" "$folder/found" >"$out" && [ "$(wc -l <"$folder/found")" -gt 100 ]
    check "all $(wc -l <"$folder/found") files of make install are in their places, and no others"
    [ "$(find "$root/usr/share/licenses" -name COPYING | wc -l)" -eq 3 ]
    check 'each package has the licence'
    [ "$(find "$root/usr/share/doc" -name README.md | wc -l)" -eq 2 ] &&
        [ "$(find "$root/usr/share/doc" -name NEWS | wc -l)" -eq 1 ]
    check 'README and NEWS are there'
    said=$("$root/usr/bin/sqtrace-dump" --quiet --table=losses "$root/usr/share/doc/sqtrace-doc/sample" | grep -vc '^#')
    [ "$said" -ge 1 ]
    check 'sqtrace-dump reads the sample trace of sqtrace-doc'
    [ "$(sed -n '1,/^installed_data=/s/^installed_data=//p' "$root/usr/bin/sqtrace-build")" = /usr/share/sqtrace ] &&
        sed "s|^installed_data=|&$root|" "$root/usr/bin/sqtrace-build" >"$folder/sqtrace-build" &&
        [ "$(sh "$folder/sqtrace-build" --list)" = "$("$top/tools/sqtrace-build" --list)" ]
    check 'sqtrace-build finds its library and its patches'
    PKG_CONFIG_PATH=$root$libdir/pkgconfig pkg-config --exists libsqtrace
    check 'libsqtrace-devel tells pkg-config where the library is'
    rpm --root="$root" --dbpath=/rpm --nodeps -e sqtrace libsqtrace-devel sqtrace-doc >"$out" 2>&1
    [ -z "$(files "$root" | grep -v '^/rpm/' | tee -a "$out")" ]
    check 'erased, they leave no file'
else
    number=$((number + 1))
    echo "ok $number - the packages in a root # SKIP rpm installs as root only"
fi

# ---- Squid's package ----

find_archive "$squid" "$(release_sum "$squid")" "${3-}" "$folder/archives" >"$out"
copy_source "$folder/stock" "$archive"
cp "$folder/stock/src/main.cc" "$folder/main.cc"
sed -i '1i/* The distribution changes a file that hooks change, too. */' "$folder/stock/src/main.cc"
mkdir "$folder/patch"
diff -u --label a/src/main.cc --label b/src/main.cc "$folder/main.cc" "$folder/stock/src/main.cc" \
    >"$folder/patch/squid-comment.patch"
# What sqtrace-build makes of the same, for comparison.
make_source "$folder/hooked" "$folder/stock" "$top/patches" "$squid" "$folder/series"
rm "$folder/hooked/.sqtrace-files"
sed 's/^/sqtrace-/' "$folder/series/series" >"$folder/names"

# squid_package NAME PREP RELEASE: the source RPM of a small Squid, as distributions write them, with the lines PREP and
# that release; sets source.
squid_package()
{
    style=$folder/$1
    mkdir -p "$style/SOURCES" "$style/SPECS"
    cp "$archive" "$style/SOURCES/squid-$squid.tar.xz"
    cp "$folder/patch"/*.patch "$style/SOURCES"
    cat >"$style/SPECS/squid.spec" <<SPEC
%define autorelease() 5%{?dist}
Name:     squid
Version:  $squid
Release:  $3
Summary:  The Squid proxy caching server
Epoch:    7
License:  GPL-2.0-or-later
Source0:  squid-%{version}.tar.xz
# Local patches
Patch201: squid-comment.patch
%if 0%{?never}
Patch202: squid-never.patch
BuildRequires: gcc
%endif

%if 0%{?never}
%package never
Summary: Never built

%description never
Nothing.
%endif

%description
A proxy.

%prep
%{gpgverify} --keyring='%{SOURCE0}' --signature='%{SOURCE0}' --data='%{SOURCE0}'
$2
sed -i 's|@SYSCONFDIR@|/etc/squid|' src/squid.8.in

%build
echo "\$CPPFLAGS \$LIBS" >words

%install
mkdir -p %{buildroot}

%files

%changelog
* Sun Nov 22 2026 A <a@b.c> - 5
- First.
SPEC
    rpm_in "$style" --define 'gpgverify true' -bs "$style/SPECS/squid.spec" || return 1
    source=$(find "$style/SRPMS" -name '*.src.rpm')
}

# Whether %prep of the source RPM $1 leaves the tree that sqtrace-build makes, in folder $2.
prepares_hooked()
{
    mkdir -p "$2/SOURCES"
    rpm2cpio "$1" | (cd "$2/SOURCES" && cpio -id --quiet) || return 1
    rpm_in "$2" --define 'gpgverify true' -bp "$2/SOURCES/squid.spec" || return 1
    cp "$folder/hooked/src/squid.8.in" "$folder/squid.8.in"
    sed -i 's|@SYSCONFDIR@|/etc/squid|' "$folder/squid.8.in"
    prepared=$(tree_of "$2")
    cmp "$folder/squid.8.in" "$prepared/src/squid.8.in" >"$out" 2>&1 || return 1
    diff -r -q -x '*.comment' -x squid.8.in "$folder/hooked" "$prepared" >"$out" 2>&1
}

# patched NAME: what sqtrace-build makes of that source package.
patched()
{
    build --source="$source" --squid="$squid"
    check "$1: sqtrace-build puts the hooks into it"
    ours=$folder/work/rpm/squid-$squid-5.sqtrace1.src.rpm
    [ "$(rpm -qp --qf '%{EPOCH}:%{VERSION}-%{RELEASE}' "$ours" 2>/dev/null)" = "7:$squid-5.sqtrace1" ]
    check "$1: its release ends with .sqtrace1"
    rpm -qp --qf '[%{PATCH}\n]' "$ours" 2>/dev/null | sort >"$out"
    { echo squid-comment.patch && cat "$folder/names"; } | sort | diff - "$out" >"$folder/diff"
    check "$1: it has the patches of the series, after the distribution's"
    rpm -qp --requires "$ours" 2>/dev/null >"$out" && grep -qxF 'pkgconfig(libsqtrace)' "$out"
    check "$1: it is built with libsqtrace"
    prepares_hooked "$ours" "$folder/$1-patched"
    check "$1: its %prep leaves the tree that sqtrace-build makes"
    # The order is that of the tags, by number.
    sed -n 's/^Patch[0-9]*: *//p' "$folder/$1-patched/SOURCES/squid.spec" | grep -v never | tail -n +2 |
        diff "$folder/names" - >"$out" 2>&1
    check "$1: the series are its last patches"
    rpm -qp --changelog "$ours" 2>/dev/null | sed -n 2p | grep -qx -- '- With the patches of sqtrace.'
    check "$1: its changelog says so"
}

squid_package autosetup '%autosetup -p1' '%autorelease'
patched autosetup
sed -i 's/^mkdir.*/false/' "$folder/autosetup-patched/SOURCES/squid.spec"
sed "s|^prefix=.*|prefix=/stage|" "$tools/libsqtrace.pc" >"$folder/libsqtrace.pc"
PKG_CONFIG_PATH=$folder rpm_in "$folder/autosetup-patched" --define 'gpgverify true' -bc \
    "$folder/autosetup-patched/SOURCES/squid.spec" &&
    grep -q -- '-I/stage/include/sqtrace .*--wrap.* -lsqtrace' "$(tree_of "$folder/autosetup-patched")/words"
check 'configure finds libsqtrace'

squid_package by-number '%setup -q
%patch -P 201 -p1 -b .comment' '5%{?dist}'
patched by-number
source=$ours
! build --source="$source" && grep -q 'has the patches already' "$out"
check 'a package that has the hooks is refused'
! build --source="$source" --squid=6.13 && grep -q 'and --squid says 6.13' "$out"
check 'so is one of another version'

hook=$(grep -n -m 1 'Sqtrace::' "$folder/hooked/src/main.cc" | cut -d : -f 1)
sed "$((hook - 1))s/\$/ \/\/ changed/" "$folder/hooked/src/main.cc" | grep -v 'Sqtrace::' >"$folder/stock/src/main.cc"
diff -u --label a/src/main.cc --label b/src/main.cc "$folder/main.cc" "$folder/stock/src/main.cc" \
    >"$folder/patch/squid-comment.patch"
squid_package changed '%autosetup -p1' '5%{?dist}'
! build --source="$source" && grep -q 'patch: .*: src/main.cc' "$out"
check 'one that changes lines around a hook is refused, by name'

# newer ONE OTHER: whether rpm takes the release ONE for newer.
newer()
{
    [ "$(rpm --eval "%{lua: print(rpm.vercmp('$1', '$2'))}")" = 1 ]
}

newer 5.el9.sqtrace1 5.el9 && newer 5.el9_2.1 5.el9.sqtrace1 && newer 5.el9.1 5.el9.sqtrace1 &&
    newer 6.el9 5.el9.sqtrace1
check 'its release is above the package'\''s and below its next update'\''s'
plan
