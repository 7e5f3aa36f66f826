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
    [ -e "$results/$1.took" ] || echo "$2" >"$results/$1.took"
}

# How many seconds are left.
left()
{
    echo $((within * 60 - $(elapsed)))
}

# fits PHASE WHAT SECONDS: whether there is the time for it; if there is not, it is a skipped test.
fits()
{
    [ -n "$within" ] && [ "$(left)" -lt "$3" ] || return 0
    skip_tap "$1" "$2" "it would take some $3 s, and of the $within minutes $(left) s are left"
    return 1
}
