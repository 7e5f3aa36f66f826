# SPDX-License-Identifier: GPL-2.0-or-later
#
# within.sh - what there is time for, where the whole has a limit: $within, in minutes; empty: none.  Needs say.sh,
# tap.sh.

# took WHAT: how many seconds that took the first time, if it is known.
took()
{
    cat "$results/$1.took" 2>/dev/null
}

# has_taken WHAT SECONDS: that long, the first time.
has_taken()
{
    [ -e "$results/$1.took" ] || { echo "$2" >"$results/$1.took.new" && mv "$results/$1.took.new" "$results/$1.took"; }
}

# How many seconds are left.
left()
{
    echo $((within * 60 - $(elapsed)))
}

# limited SECONDS: as many, or what is left of the whole.
limited()
{
    limit=$1
    [ -z "$within" ] || [ "$(left)" -gt "$limit" ] || limit=$(left)
    [ "$limit" -gt 0 ] || limit=1
    echo "$limit"
}

# fits PHASE WHAT SECONDS: whether there is the time for it; if there is not, it is a skipped test.
fits()
{
    [ -n "$within" ] && [ "$(left)" -lt "$3" ] || return 0
    skip_tap "$1" "$2" "it would take some $3 s, and of the $within minutes $(left) s are left"
    return 1
}

# others_take TAP NAMES SECONDS: how many seconds the tests of that list take, when all of TAP took SECONDS.
others_take()
{
    awk -v seconds="$3" 'NR == FNR { listed[$0] = 1; next }
        match($0, /^ok [0-9]+ - /) {
            name = substr($0, RLENGTH + 1)
            if (!match(name, / \([0-9.]+ s\)$/))
                next
            took = substr(name, RSTART + 2) + 0
            all += took
            if (substr(name, 1, RSTART - 1) in listed)
                some += took
        }
        END { printf "%d\n", all ? seconds * some / all : seconds }' "$2" "$1"
}

# How many seconds the end-to-end tests of a further version take: as is known from the first one or, if none has been
# tested, as many as its build, but ten minutes at least.
e2e_seconds()
{
    took e2e || echo $(($(took build) > 600 ? $(took build) : 600))
}

# version_seconds VERSION: until that one of $versions is built and tested; it is built while those before it are tested.
version_seconds()
{
    build_seconds=$(took build)
    wanted e2e || { echo "$build_seconds" && return; }
    before=0
    for other in $versions; do
        [ "$other" != "$1" ] || break
        [ -e "$results/left-out-$other" ] || [ -e "$results/tested-$other" ] || before=$((before + $(e2e_seconds)))
    done
    echo $(((before > build_seconds ? before : build_seconds) + $(e2e_seconds)))
}
