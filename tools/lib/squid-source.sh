# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid-source.sh - a source tree of Squid with the hooks in it.  Needs say.sh, series.sh, build-deps.sh.

# check_squid_tree DIR [VERSION]: whether DIR is an untouched tree, of that version; sets found, its version.
check_squid_tree()
{
    [ -d "$1" ] || die "--source: $1 is not a directory"
    if grep -q "^PACKAGE_NAME='Squid Web Proxy'" "$1/configure" 2>/dev/null; then
        found=$(sed -n "s/^PACKAGE_VERSION='\([0-9.]*\).*/\1/p" "$1/configure")
    else
        # As version control has it.
        found=$(sed -n 's/^AC_INIT(\[Squid Web Proxy\],\[\([0-9.]*\).*/\1/p' "$1/configure.ac" 2>/dev/null)
    fi
    [ -n "$found" ] && [ -f "$1/src/cf.data.pre" ] || die "--source: $1 is not a Squid source tree"
    [ "$found" = "${2:-$found}" ] || die "--source: $1 is Squid $found, and --squid says $2"
    if grep -q sqtrace_log "$1/src/cf.data.pre"; then
        die "--source: $1 has the patches already; give an untouched tree (it will be copied)"
    fi
}

# Whether the tree $1 is as version control has it.
wants_bootstrap()
{
    [ ! -f "$1/configure" ]
}

# copy_source TREE ORIGIN: makes TREE from ORIGIN, an archive or a tree.
copy_source()
{
    mkdir -p "$1" || die "$1: cannot make this directory"
    if [ -d "$2" ]; then
        cp -a "$2/." "$1/" || die "$2: cannot copy this tree"
        rm -rf "$1/.git"
    else
        tar -C "$1" --strip-components=1 --no-same-owner -xJf "$2" || die "$2: cannot unpack"
    fi
}

# bootstrap_source TREE ORIGIN LOG: makes TREE, a copy of the tree ORIGIN that has a configure.
bootstrap_source()
{
    check_bootstrap_deps
    rm -rf "$1"
    copy_source "$1.new" "$2"
    run_logged "$3" sh -c 'cd "$1" && sh ./bootstrap.sh' - "$1.new" || die_with_log "$3" "bootstrap.sh failed"
    [ -f "$1.new/configure" ] || die_with_log "$3" "bootstrap.sh made no configure"
    mv "$1.new" "$1"
}

# make_source TREE ORIGIN PATCHES RELEASE SERIES: makes TREE from ORIGIN, an archive or a tree, with the hooks of that
# release, which it also writes as a quilt series into the folder SERIES; or without any if PATCHES is empty.  A file
# that is the same in an earlier TREE keeps its time, and any other file that hooks change or changed has a new one:
# make compiles what differs.
make_source()
{
    rm -rf "$1.new" "$5"
    copy_source "$1.new" "$2"
    if [ -n "$3" ]; then
        compose_series "$3" "$4" "$1.new" "$5"
        if ! all_in_place "$5"; then
            tell_misplaced "$5" >&2
            rm -rf "$1.new"
            die "the hooks of Squid $4 do not all find their place there: $(count_hunks "$5")"
        fi
        hooked_files "$3" >"$1.new/.sqtrace-files"
    fi
    cat "$1/.sqtrace-files" "$1.new/.sqtrace-files" 2>/dev/null | sort -u | while read -r file; do
        [ -f "$1.new/$file" ] || continue
        if cmp -s "$1/$file" "$1.new/$file"; then
            touch -r "$1/$file" "$1.new/$file"
        else
            touch "$1.new/$file"
        fi
    done
    rm -rf "$1"
    mv "$1.new" "$1"
}
