# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid-source.sh - a source tree of Squid with the series applied.  Needs say.sh.

# check_squid_tree DIR [VERSION]: whether DIR is an untouched tree, of that version; sets found, its version.
check_squid_tree()
{
    [ -d "$1" ] || die "--source: $1 is not a directory"
    if ! grep -q "^PACKAGE_NAME='Squid Web Proxy'" "$1/configure" 2>/dev/null; then
        if [ -f "$1/src/cf.data.pre" ] && [ -f "$1/bootstrap.sh" ]; then
            die "--source: $1 has no configure yet: run ./bootstrap.sh there"
        fi
        die "--source: $1 is not a Squid source tree"
    fi
    found=$(sed -n "s/^PACKAGE_VERSION='\(.*\)'/\1/p" "$1/configure")
    [ "$found" = "${2:-$found}" ] || die "--source: $1 is Squid $found, and --squid says $2"
    if grep -q sqtrace_log "$1/src/cf.data.pre"; then
        die "--source: $1 has the patches already; give an untouched tree (it will be copied)"
    fi
}

# Files that the series in folder $1 changes, one a line.
series_files()
{
    series_patches "$1" | while read -r name; do
        sed -n 's|^+++ [^/]*/\([^	 ]*\).*|\1|p' "$1/$name"
    done | sort -u
}

# Names of the patches in the series of folder $1.
series_patches()
{
    sed 's/#.*//; s/[[:space:]].*//; /^$/d' "$1/series"
}

# copy_source TREE ORIGIN: makes TREE from ORIGIN, an archive or a tree.
copy_source()
{
    mkdir -p "$1" || die "$1: cannot make this directory"
    if [ -d "$2" ]; then
        cp -a "$2/." "$1/" || die "$2: cannot copy this tree"
    else
        tar -C "$1" --strip-components=1 --no-same-owner -xJf "$2" || die "$2: cannot unpack"
    fi
}

# make_source TREE ORIGIN SERIES LOG: makes TREE from ORIGIN, an archive or a tree, with the series of folder SERIES,
# or without any if that is empty.  Files that differ from an earlier TREE get a new time, so that make sees them.
make_source()
{
    rm -rf "$1.new"
    copy_source "$1.new" "$2"
    if [ -n "$3" ]; then
        for name in $(series_patches "$3"); do
            if ! patch -d "$1.new" -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch <"$3/$name" >>"$4" 2>&1; then
                rm -rf "$1.new"
                die_with_log "$4" "$name does not apply"
            fi
        done
        series_files "$3" >"$1.new/.sqtrace-files"
    fi
    for list in "$1/.sqtrace-files" "$1.new/.sqtrace-files"; do
        [ -f "$list" ] || continue
        while read -r file; do
            [ ! -f "$1.new/$file" ] || touch "$1.new/$file"
        done <"$list"
    done
    rm -rf "$1"
    mv "$1.new" "$1"
}
