#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tags.sh CLONE [REF...] - whether all hooks find their place in Squid's releases, as a table: the releases are tags of
# CLONE, a clone of Squid's repository, which may be bare.  Without a REF, these are the releases from 5.4 on and the
# heads of the branches v5, v6, v7 and master.  A REF may be anything that git knows, such as refs/pull/870/merge.
#
# Below the table is each hook that does not find its place.  The exit status is 1 if a hook does not find its place in a
# release that patches/releases lists.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
program=tags
lib=$top/tools/lib
data=$top
for part in say releases series; do
    # shellcheck source=/dev/null
    . "$lib/$part.sh" || exit 1
done
[ $# -gt 0 ] || die_usage 'CLONE is missing, a clone of https://github.com/squid-cache/squid'
clone=$1
shift
git -C "$clone" rev-parse --git-dir >/dev/null 2>&1 || die "$clone: not a clone of a git repository"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-tags.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# The releases from 5.4 on, and the heads that the clone has.
default_refs()
{
    git -C "$clone" tag --list 'SQUID_*' | sed -n 's/^SQUID_\([5-9]_[0-9]*\(_[0-9]*\)\{0,1\}\)$/\1/p' | tr _ . | sort -V |
        awk '{ split($0, part, ".") } part[1] > 5 || part[2] >= 4 { gsub(/\./, "_"); print "SQUID_" $0 }'
    for head in v5 v6 v7 master; do
        for name in "$head" "origin/$head"; do
            git -C "$clone" rev-parse --verify --quiet "$name^{commit}" >/dev/null || continue
            echo "$name"
            break
        done
    done
}

# take_tree REF: of that commit only the files that hooks change, and configure.ac, in $work/tree.
take_tree()
{
    rm -rf "$work/tree"
    mkdir "$work/tree"
    # shellcheck disable=SC2046 # names of files, without spaces
    git -C "$clone" archive "$1" -- $(
        {
            hooked_files "$data/patches"
            echo configure.ac
        } | sort >"$work/wanted"
        git -C "$clone" ls-tree -r --name-only "$1" | sort | comm -12 - "$work/wanted"
    ) | tar -C "$work/tree" -xf -
}

# row REF: of the table.  Sets failed=1 if a listed release does not take all hooks.
row()
{
    take_tree "$1" || die "$clone: cannot take $1"
    "$top/tools/sqtrace-build" --check-patches --source="$work/tree" >"$work/out" 2>&1
    status=$?
    counts=$(sed -n 's/^\([0-9]*\) hunks: \([0-9]*\) in place, \([0-9]*\) moved, \([0-9]*\) changed, \([0-9]*\) lost$/\1 | \2 | \3 | \4 | \5/p' "$work/out")
    [ -n "$counts" ] || die "$1: $(tail -n 1 "$work/out")"
    served=$(sed -n 's/^.*the hooks of \([^ ]*\) on Squid \([^ ]*\)$/\2 | \1/p' "$work/out")
    listed=yes
    ! grep -q 'is none of the versions' "$work/out" || listed=no
    [ "$status" -eq 0 ] || [ "$listed" = no ] || failed=1
    echo "| $1 | $served | $listed | $counts |"
    sed -n "s|^\\([0-9]*-[^:]*\\.patch: \\)|$1: \\1|p" "$work/out" >>"$work/misplaced"
}

[ $# -gt 0 ] || {
    # shellcheck disable=SC2046 # names of tags and branches
    set -- $(default_refs)
    [ $# -gt 0 ] || die "$clone: no tag of a release, such as SQUID_7_6"
}
failed=0
: >"$work/misplaced"
echo '| commit | Squid | hooks of | listed | hunks | in place | moved | changed | lost |'
echo '|---|---|---|---|---|---|---|---|---|'
for ref in "$@"; do
    row "$ref"
done
cat "$work/misplaced"
exit $failed
