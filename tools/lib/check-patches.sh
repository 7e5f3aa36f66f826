# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-patches.sh - whether each hook of a series finds its place in a source tree.  Needs say.sh, squid-source.sh.
#
# A hunk of a patch is a hook and its anchor, the lines around it.  A hunk that fits exactly is in place; one that fits
# exactly but elsewhere has moved, which is no harm while it is in the function that the patch names.

# Says what became of each hunk of a patch.  Reads the patch, then what patch --verbose said of it.  A line for each
# hunk: its verdict, a tab, and what to tell.
hunk_verdicts='
function tell(verdict, text) { printf "%s\t%s:%s: %s\n\t    %s\n", verdict, file[i], place, text, hook[i] }
# A function'"'"'s name, without its arguments.
function named(text) { sub(/\(.*/, "", text); return text }
# The last line before hunk i that begins in the first column: what diff --show-c-function would name.
function function_at(line,    text, found, n) {
    while (++n < line && (getline text < (root "/" file[i])) > 0)
        if (text ~ /^[A-Za-z_$]/)
            found = text
    close(root "/" file[i])
    return found
}
NR == FNR && /^\+\+\+ / { sub("^[^/]*/", "", $2); target = $2; next }
NR == FNR && /^@@ / {
    file[++hunks] = target
    split($3, at, ",")
    line[hunks] = at[1] + 0
    name[hunks] = $0
    sub(/^@@ [^@]* @@ ?/, "", name[hunks])
    next
}
# A function that begins among the lines before the hook is found with them.
NR == FNR && /^ [A-Za-z_$]/ && hook[hunks] == "" { own[hunks] = 1 }
NR == FNR && /^\+[^+]/ && hunks && (hook[hunks] == "" || (hook[hunks] !~ /Sqtrace::|sqt_/ && /Sqtrace::|sqt_/)) {
    hook[hunks] = substr($0, 2)
    sub(/^ */, "", hook[hunks])
    next
}
NR == FNR { next }
/^can.t find file to patch/ { first = 0 }
/^[Pp]atching file / {
    for (first = 1; first <= hunks && file[first] != $3;)
        first++
}
/^Hunk #/ && first { sub("#", "", $2); said[first + $2 - 1] = $0 }
END {
    for (i = 1; i <= hunks; i++) {
        place = line[i]
        if (said[i] == "") {
            tell("lost", "this file is not there")
            continue
        }
        if (said[i] ~ /FAILED|ignored/) {
            tell("lost", "nothing like the lines around it is there, in " name[i])
            continue
        }
        match(said[i], /succeeded at [0-9]+/)
        place = substr(said[i], RSTART + 13, RLENGTH - 13) + 0
        where = function_at(place)
        if (said[i] ~ /fuzz/)
            tell("changed", "the lines around it changed, in " name[i])
        else if (!own[i] && name[i] != "" && index(where, named(name[i])) != 1)
            tell("changed", "is in another function: " where ", and not " name[i])
        else if (place != line[i])
            tell("moved", sprintf("%+d lines, in %s", place - line[i], name[i]))
        else
            tell("in place", "")
    }
}'

# check_patches SERIES TREE: tells what is not in place in TREE, which it patches, and counts.  Returns 1 if a person
# must look.
check_patches()
{
    verdicts=$2/.verdicts
    : >"$verdicts"
    counts=
    for name in $(series_patches "$1"); do
        patch -d "$2" -p1 --fuzz=2 --forward --batch --verbose --no-backup-if-mismatch -r - <"$1/$name" \
            >"$2/.said" 2>&1
        awk -v root="$2" "$hunk_verdicts" "$1/$name" "$2/.said" >"$2/.found"
        cat "$2/.found" >>"$verdicts"
        sed -n "s/^\(moved\|changed\|lost\)	/$name: \1: /; t show; b
            :show
            p; n; s/^	//; p" "$2/.found"
    done
    for verdict in "in place" moved changed lost; do
        counted=$(grep -c "^$verdict	" "$verdicts")
        counts="${counts:+$counts, }$counted $verdict"
    done
    echo "$(grep -c '^[a-z]' "$verdicts") hunks: $counts"
    ! grep -q '^changed	\|^lost	' "$verdicts"
}
