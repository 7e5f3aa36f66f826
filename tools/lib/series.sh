# SPDX-License-Identifier: GPL-2.0-or-later
#
# series.sh - composes the series of one release of Squid from patches/.  Needs say.sh and lib, the folder of
# place-hunks.awk.

# Files that the patches in folder $1 change in any release, one a line.
hooked_files()
{
    sed -n 's|^+++ [^/]*/\([^	 ]*\).*|\1|p; s|^# file [^:]*: ||p' "$1"/*.patch | sort -u
}

# copy_hooked_files PATCHES FROM TO: of the tree FROM only the files that patches change.
copy_hooked_files()
{
    hooked_files "$1" | while read -r file; do
        [ -f "$2/$file" ] || continue
        mkdir -p "$3/${file%/*}" && cp "$2/$file" "$3/$file" || die "$3: cannot copy $file"
    done
}

# compose_series PATCHES RELEASE TREE SERIES [FUZZ]: puts the hooks of that release into TREE, and writes what that
# changes as a quilt series into the folder SERIES, each patch with line numbers of TREE.  SERIES/.verdicts tells what
# became of each hook, as place-hunks.awk says.  With FUZZ, lines around a hook may differ.
compose_series()
{
    mkdir -p "$4" || die "$4: cannot make this directory"
    : >"$4/series"
    : >"$4/.verdicts"
    for patch in "$1"/*.patch; do
        name=${patch##*/}
        LC_ALL=C root=$3 verdicts=$4/.part awk -v release="$2" -v fuzz="${5:-0}" -f "$lib/place-hunks.awk" "$patch" \
            >"$4/.files" || die "$patch: cannot place its hunks"
        sed "s/^\([a-z][a-z ]*	\)/\1$name: /" "$4/.part" >>"$4/.verdicts"
        [ -s "$4/.files" ] || continue
        {
            sed -n '/^---$/q; p' "$patch"
            echo ---
            while read -r file; do
                diff -up --label "a/$file" --label "b/$file" "$3/$file" "$3/$file.hooked"
                cat "$3/$file.hooked" >"$3/$file" && rm "$3/$file.hooked"
            done <"$4/.files"
        } >"$4/$name"
        echo "$name" >>"$4/series"
    done
    rm -f "$4/.part" "$4/.files"
}

# Whether each hook of the composed series in folder $1 is in its place.
all_in_place()
{
    ! grep -q '^moved	\|^changed	\|^lost	' "$1/.verdicts"
}

# Of the composed series in folder $1: each hunk that is not in its place, with its hook.
tell_misplaced()
{
    sed -n 's/^\(moved\|changed\|lost\)	\([^:]*\): /\2: \1: /; t show; b
        :show
        p; n; s/^	//; p' "$1/.verdicts"
}

# Of the composed series in folder $1: how many hunks it has of each verdict.
count_hunks()
{
    counts=
    for verdict in "in place" moved changed lost; do
        counted=$(grep -c "^$verdict	" "$1/.verdicts")
        counts="${counts:+$counts, }$counted $verdict"
    done
    echo "$(grep -c '^[a-z]' "$1/.verdicts") hunks: $counts"
}

# check_patches PATCHES RELEASE TREE: tells what is not in place in TREE, which it changes, and counts.  Returns 1 if a
# person must look.
check_patches()
{
    compose_series "$1" "$2" "$3" "$3/.series" 2
    tell_misplaced "$3/.series"
    count_hunks "$3/.series"
    all_in_place "$3/.series"
}

# Names of the patches in the composed series of folder $1.
series_patches()
{
    sed 's/#.*//; s/[[:space:]].*//; /^$/d' "$1/series"
}
