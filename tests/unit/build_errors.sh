#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# build_errors.sh - what sqtrace-build says when it cannot, without network and without building anything.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
build=$SQT_SOURCE/tools/sqtrace-build
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-build-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/work" "$work/prefix" "$work/empty" "$work/bin"
unset SQTRACE_CACHE CC CXX CFLAGS CXXFLAGS
export LC_ALL=C
number=0

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

# says NAME STATUS TEXT ARGUMENT...: whether it ends with that status after a line that holds the text.
says()
{
    says_name=$1
    says_status=$2
    says_text=$3
    shift 3
    "$build" "$@" >"$work/out" 2>&1 </dev/null
    status=$?
    [ "$status" -eq "$says_status" ] && grep -qF -- "$says_text" "$work/out"
    result $? "$says_name"
}

# fake NAME: a program of that name in $work/bin; its text comes from the standard input.
fake()
{
    { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

sum_of_tree()
{
    (cd "$1" && find . -type f -exec sha256sum {} + | sort | sha256sum)
}

# A new release changes no line here: versions, ranges and sums come from the list of releases.
program=build_errors
data=$SQT_SOURCE
. "$SQT_SOURCE/tools/lib/say.sh"
. "$SQT_SOURCE/tools/lib/releases.sh"
newest=$(newest_release)
ranges=$(known_ranges)
find_range 99.0 && head_range=$range
find_range "$newest" && newest_range=$range
find_range 6.14 && older_range=$range
squid=--squid=$newest
prefix=--prefix=$work/prefix
into=--work=$work/work

# ---- the command line ----

says 'no --squid: names the versions there are' 2 "--squid=VERSION is missing; there is: $ranges" "$prefix"
says 'no --prefix' 2 '--prefix=DIR is missing' "$squid"
says 'a version that is too old: names those there are' 1 \
    "no hooks for Squid 4.17; there is: $ranges" --squid=4.17 "$prefix"
for version in 9.9 5.9; do
    says "no known sum of the archive of $version" 1 "no SHA-256 of Squid $version" --squid=$version "$prefix"
done
says 'an unknown version, unpatched' 1 'no SHA-256 of Squid 9.9' --squid=9.9 "$prefix" --unpatched
says 'a sum that is none' 2 "--sha256: 'abc' is not a SHA-256" --squid=5.9 --sha256=abc "$prefix"
says 'a version that is none' 2 "'../$newest' is not a version" --squid=../"$newest" "$prefix"
says 'an unknown option' 2 'unknown argument: --frobnicate' "$squid" "$prefix" --frobnicate
says 'an option without its value' 2 '--prefix needs a value' "$squid" --prefix "$work/prefix"
for jobs in 0 -1 many ''; do
    says "--jobs=$jobs" 2 "--jobs: '$jobs' is not a number above 0" "$squid" "$prefix" --jobs="$jobs"
done
says '--list names versions' 0 "$(known_releases)" --list
says '--check-patches of a version that is too old' 1 'no hooks for Squid 4.17' --squid=4.17 --check-patches
says '--check-patches without patches' 2 'there is nothing to check' "$squid" --check-patches --unpatched
says '--series without --output' 2 '--output=DIR is missing' "$squid" --series
says '--series into a folder with files' 1 "--output: $work is not empty" "$squid" --series --output="$work"
says '--upstream without --series' 2 '--upstream goes with --series only' "$squid" --upstream --check-patches
says '--help' 0 'usage: sqtrace-build' --help
says '--version' 0 'sqtrace-build (sqtrace)' --version

# ---- places ----

: >"$work/file"
says 'a prefix below a file' 1 "--prefix: $work/file/x cannot be written" "$squid" --prefix="$work/file/x" "$into"
says 'a work folder below a file' 1 "--work: $work/file/x cannot be written" "$squid" "$prefix" --work="$work/file/x"
says 'a prefix with a space' 1 "--prefix: '$work/a b': autoconf, make and Squid's own build fail where names hold spaces" \
    "$squid" --prefix="$work/a b" "$into"
says 'a work folder with a line break: told in one line' 1 "--work: '$work/a\\nb'" "$squid" "$prefix" --work="$work/a
b"
[ "$(wc -l <"$work/out")" -eq 1 ]
result $? 'and nothing else'
# A clone with a space in its name.
mkdir "$work/a clone"
ln -s "$SQT_SOURCE/patches" "$work/a clone/patches"
cp -R "$SQT_SOURCE/tools" "$work/a clone/"
chmod -R u+w "$work/a clone/tools"
saved_build=$build
build="$work/a clone/tools/sqtrace-build"
says 'a source tree with a space' 1 "sqtrace's source tree: '$work/a clone'" "$squid" "$prefix" "$into"
says 'which does all that needs no build: --list' 0 '6.9 6.10' --list
build=$saved_build

# ---- archives ----

says '--tarballs is no directory' 1 "--tarballs: $work/file is not a directory" \
    "$squid" "$prefix" "$into" --tarballs="$work/file"
says '--tarballs has no archive' 1 "neither squid_$newest.orig.tar.xz nor squid-$newest.tar.xz is in $work/empty" \
    "$squid" "$prefix" "$into" --tarballs="$work/empty"
mkdir "$work/wrong"
echo wrong >"$work/wrong/squid_$newest.orig.tar.xz"
cp "$work/wrong/squid_$newest.orig.tar.xz" "$work/wrong/squid-5.9.tar.xz"
says '--tarballs has an archive of another sum than --sha256 says' 1 "$work/wrong/squid-5.9.tar.xz: SHA-256 is not the aaaa" \
    --squid=5.9 --sha256="$(printf %064d 0 | tr 0 a)" "$prefix" "$into" --tarballs="$work/wrong"
says '--tarballs has an archive of another sum' 1 "$work/wrong/squid_$newest.orig.tar.xz: SHA-256 is not the $(release_sum "$newest" | cut -c 1-8)" \
    "$squid" "$prefix" "$into" --tarballs="$work/wrong"

# ---- source trees ----

says '--source is no directory' 1 "--source: $work/file is not a directory" "$squid" "$prefix" "$into" --source="$work/file"
says '--source is no Squid tree' 1 "--source: $work/empty is not a Squid source tree" \
    "$squid" "$prefix" "$into" --source="$work/empty"
mkdir -p "$work/tree/src"
: >"$work/tree/src/cf.data.pre"
: >"$work/tree/bootstrap.sh"
echo 'AC_INIT([Squid Web Proxy],[6.14-VCS],[https://bugs.squid-cache.org/],[squid])' >"$work/tree/configure.ac"
says '--check-patches: which version a tree without configure is, and what serves it' 1 \
    "the hooks of $older_range on Squid 6.14" --check-patches --source="$work/tree"
says 'that tree is another version' 1 "is Squid 6.14, and --squid says $newest" \
    "$squid" "$prefix" "$into" --source="$work/tree"
sed -i 's/6\.14/6.1/' "$work/tree/configure.ac"
says 'a version that is not 6.10' 1 'Squid 6.1 is none of the versions that the hooks are known to fit' \
    --check-patches --source="$work/tree"
sed -i 's/6\.1-/99.0.0-/' "$work/tree/configure.ac"
says 'a version that is newer than all' 1 "is none of the versions that the hooks are known to fit: trying those of $head_range" \
    --check-patches --source="$work/tree"
printf "PACKAGE_NAME='Squid Web Proxy'\nPACKAGE_VERSION='6.13'\n" >"$work/tree/configure"
says '--source is another version' 1 "is Squid 6.13, and --squid says $newest" \
    "$squid" "$prefix" "$into" --source="$work/tree"
before=$(sum_of_tree "$work/tree")
says '--check-patches: on a tree of another version, where no hook finds its place' 1 ' lost' \
    "$squid" --check-patches --source="$work/tree"
grep -q "the hooks of $newest_range on Squid 6.13" "$work/out" && [ "$before" = "$(sum_of_tree "$work/tree")" ]
result $? 'and the tree is as it was, checked'
sed -i "s/6\.13/$newest/" "$work/tree/configure"
before=$(sum_of_tree "$work/tree")
says '--series where hooks find no place' 1 "do not all find their place in $work/tree: " \
    --series --source="$work/tree" --output="$work/series"
[ ! -e "$work/series" ] && grep -q "/tree: [1-9][0-9]* hunks: 0 in place" "$work/out"
result $? 'and nothing is written'
says '--source is a tree in which hooks find no place' 1 "the hooks of Squid $newest do not all find their place" \
    "$squid" "$prefix" "$into" --source="$work/tree"
[ "$before" = "$(sum_of_tree "$work/tree")" ] && [ -z "$(find "$work/work" -name 'src*' -type d)" ]
result $? 'and the tree is as it was'
echo 'NAME: sqtrace_log' >"$work/tree/src/cf.data.pre"
before=$(sum_of_tree "$work/tree")
says '--source is patched already' 1 'has the patches already' "$squid" "$prefix" "$into" --source="$work/tree"
[ "$before" = "$(sum_of_tree "$work/tree")" ]
result $? 'and the tree is as it was, patched'
mkdir "$work/a tree"
cp -R "$work/tree/." "$work/a tree"
: >"$work/a tree/src/cf.data.pre"
saved_build=$build
build="$work/a clone/tools/sqtrace-build"
says '--check-patches where the clone and the tree have spaces in their names' 1 ' lost' \
    "$squid" --check-patches --source="$work/a tree"
build=$saved_build

# ---- the distribution's package ----

says '--debian with what it does not take' 2 'only --squid, --source, --jobs and --work go with it' --debian "$prefix"
says '--debian with options of configure' 2 'only --squid, --source' --debian -- --disable-ipv6
says '--debian: no directory' 1 "--source: $work/file is not a directory" --debian "$into" --source="$work/file"
says '--debian: a tree that is not Squid' 1 "--source: $work/empty is not the unpacked source package" \
    --debian "$into" --source="$work/empty"
says '--rpm with what it does not take' 2 'only --squid, --source and --work go with it' --rpm "$prefix"
says '--rpm: a version without a package' 2 '--squid=VERSION goes with --source=FILE.src.rpm only' --rpm --squid=7.7
says '--rpm and --debian' 2 'only --squid, --source and --work go with it' --rpm --debian
mkdir -p "$work/other/debian"
printf 'other (1-1) unstable; urgency=low\n' >"$work/other/debian/changelog"
says '--debian: the source package of something else' 1 "--source: $work/other is not a Squid source tree" \
    --debian "$into" --source="$work/other"
says '--debian: a tree without debian/' 1 "$work/tree is not the unpacked source package" \
    --debian "$into" --source="$work/tree"
mkdir -p "$work/tree/debian/source" "$work/tree/debian/patches"
printf 'squid (%s-1) unstable; urgency=low\n\n  * Any.\n\n -- A <a@b.c>  Sun, 22 Nov 2026 05:00:00 +0000\n' "$newest" \
    >"$work/tree/debian/changelog"
says '--debian: a package that is patched already' 1 'has the patches already' --debian "$into" --source="$work/tree"
: >"$work/tree/src/cf.data.pre"
mkdir "$work/tree/debian/patches/sqtrace"
says '--debian: a package with the patches, though not applied' 1 'has the patches already' \
    --debian "$into" --source="$work/tree"
rmdir "$work/tree/debian/patches/sqtrace"
says '--debian: a package without a list of patches' 1 'has no list of patches' --debian "$into" --source="$work/tree"
echo '3.0 (quilt)' >"$work/tree/debian/source/format"
says '--debian: another version than --squid' 1 "is Squid $newest, and --squid says 6.13" \
    --debian --squid=6.13 "$into" --source="$work/tree"
sed -i "s/='$newest'/='4.6'/" "$work/tree/configure"
says '--debian: a version without hooks' 1 "no hooks for $newest-1, Squid 4.6; there is: $ranges" \
    --debian "$into" --source="$work/tree"
sed -i "s/='4\.6'/='$newest'/" "$work/tree/configure"
before=$(sum_of_tree "$work/tree")
saved_path=$PATH
PATH=$work/bin:$PATH
fake rpmbuild </dev/null
fake cpio </dev/null
says '--rpm: a tree' 1 "a source package is wanted, FILE.src.rpm, and $work/tree is none" --rpm "$into" --source="$work/tree"
says '--rpm: no file' 1 "--source: $work/none.src.rpm is not a file" --rpm "$into" --source="$work/none.src.rpm"
fake dh </dev/null
fake fakeroot </dev/null
fake dpkg-checkbuilddeps <<'END'
echo "dpkg-checkbuilddeps: error: Unmet build dependencies: libany-dev (>= 2)" >&2
exit 1
END
says '--debian: what the package wants is missing' 1 \
    "missing to build $newest-1: libany-dev (>= 2); apt-get build-dep $work/tree installs them" \
    --debian "$into" --source="$work/tree"
# A mirror that is not to be had, and one that gives something else than its list says.
mkdir -p "$work/apt/sources.list.d" "$work/apt/place"
echo "Dir::Etc \"$work/apt\"; Acquire::Retries 0;" >"$work/apt/conf"
APT_CONFIG=$work/apt/conf
export APT_CONFIG
echo 'deb [trusted=yes] http://127.0.0.1:1/ ./' >"$work/apt/sources.list"
says '--debian: no network' 1 'apt did not get the source package; give its unpacked tree with --source=DIR' \
    --debian "$into"
grep -q '127.0.0.1:1' "$work/out"
result $? 'and where it looked'
echo "deb [trusted=yes] copy:$work/apt/place ./" >"$work/apt/sources.list"
printf 'Package: squid\nVersion: %s-1\nArchitecture: all\nFilename: x\nSize: 1\nSHA256: %064d\n' "$newest" 1 \
    >"$work/apt/place/Packages"
echo wrong >"$work/apt/place/squid_$newest-1.dsc"
{
    printf 'Package: squid\nBinary: squid\nVersion: %s-1\nFormat: 3.0 (quilt)\nDirectory: .\n' "$newest"
    printf 'Files:\n %032d 6 squid_%s-1.dsc\nChecksums-Sha256:\n %064d 6 squid_%s-1.dsc\n' 1 "$newest" 1 "$newest"
} >"$work/apt/place/Sources"
says '--debian: a mirror that gives something else' 1 'apt did not get the source package' --debian "$into"
# apt 2 says that its sum is wrong, and apt 3 no more than which file it is.
grep -q "Failed to fetch copy:.*/squid_$newest-1.dsc " "$work/out" && [ ! -e "$work/work/debian/build" ]
result $? 'and what is wrong, and nothing is made of it'
{
    printf 'Package: squid\nBinary: squid\nVersion: %s-1\nFormat: 3.0 (quilt)\nDirectory: .\nFiles:\n %s 6 squid_%s-1.dsc\n' \
        "$newest" "$(md5sum <"$work/apt/place/squid_$newest-1.dsc" | cut -c 1-32)" "$newest"
    printf 'Checksums-Sha256:\n %s 6 squid_%s-1.dsc\n' \
        "$(sha256sum <"$work/apt/place/squid_$newest-1.dsc" | cut -c 1-64)" "$newest"
} >"$work/apt/place/Sources"
says '--debian: a source package that is none' 1 'the source package cannot be unpacked' --debian "$into"
unset APT_CONFIG
fake apt-get <<'END'
echo "E: no network" >&2
exit 100
END
says '--debian: an apt that fails' 1 'apt did not get the source package' --debian "$into"
rm -f "$work/bin"/*
PATH=$saved_path
[ "$before" = "$(sum_of_tree "$work/tree")" ]
result $? 'and the tree is as it was, packaged'

# ---- no network ----

saved_path=$PATH
PATH=$work/bin:$PATH
APT_HELPER=$work/bin/apt-helper
export APT_HELPER
for name in curl wget apt-helper; do
    fake $name <<'END'
exit 1
END
done
fake apt-get <<'END'
echo http://mirror.invalid/debian/
END
says 'no network: says where it looked' 1 "http://mirror.invalid/debian/pool/main/s/squid/squid_$newest.orig.tar.xz: not to be had" \
    "$squid" "$prefix" "$into" --unpatched
grep -q "squid-$newest.tar.xz: not to be had" "$work/out" && grep -q -- '--tarballs=DIR' "$work/out"
result $? 'and names upstream, and --tarballs'
fake apt-helper <<'END'
echo "not Squid" >"$4"
END
says 'a mirror that gives something else' 1 "squid_$newest.orig.tar.xz: SHA-256 is not the $(release_sum "$newest" | cut -c 1-8)" \
    "$squid" "$prefix" "$into" --unpatched
[ -z "$(find "$work/work" -name '*.tar.xz*')" ]
result $? 'and nothing of it is kept'

# ---- missing packages ----

rm -f "$work/bin"/*
for name in sh cat dirname basename sort tr sed cut nproc date grep mkdir sha256sum flock awk uniq; do
    ln -s "$(PATH=$saved_path command -v $name)" "$work/bin/$name"
done
PATH=$work/bin
says 'missing packages: Debian names, in one line' 1 \
    'apt-get install autoconf automake build-essential diffutils libevent-dev libncurses-dev libssl-dev perl tar xz-utils zlib1g-dev' "$squid" "$prefix" "$into"
says 'the unpatched one does not need libsqtrace' 1 'apt-get install build-essential diffutils perl tar xz-utils' \
    "$squid" "$prefix" "$into" --unpatched
(
    program=sqtrace-build
    . "$SQT_SOURCE/tools/lib/say.sh"
    . "$SQT_SOURCE/tools/lib/build-deps.sh"
    check_bootstrap_deps
) >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q 'missing to bootstrap Squid: apt-get install autoconf automake libtool libltdl-dev' "$work/out"
result $? 'what a tree without configure needs besides, by the names of packages'
PATH=$saved_path

echo "1..$number"
