# SPDX-License-Identifier: GPL-2.0-or-later
#
# within.sh - what there is time for, where the whole has a limit: $within, in minutes; empty: none.  Needs say.sh,
# tap.sh.

# usual WHAT: how many seconds that takes on two processors of 2026 that do nothing else.
usual()
{
    case $1 in
    unit) echo 640 ;;
    sanitizers) echo 500 ;;
    threads) echo 240 ;;
    fuzz) echo 150 ;;
    squid) echo 320 ;;
    squid-tests) echo 240 ;;
    container) echo 150 ;;
    faults) echo 420 ;;
    rpm) echo 150 ;;
    beside-unpatched) echo 350 ;;
    esac
}

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

# takes WHAT...: how many seconds all that takes here, as far as the time of the unit tests tells.
takes()
{
    takes_here=$(took unit || usual unit)
    takes_seconds=0
    for takes_what in "$@"; do
        takes_seconds=$((takes_seconds + $(usual "$takes_what") * takes_here / $(usual unit)))
    done
    echo "$takes_seconds"
}

# How many seconds are left.
left()
{
    echo $((within * 60 - $(elapsed)))
}

# Whether the limit of the whole has stopped what was cut off just now.
out_of_time()
{
    [ -n "$within" ] && [ "$(left)" -le 60 ]
}

# limited SECONDS: as many, or what is left of the whole.
limited()
{
    limit=$1
    [ -z "$within" ] || [ "$(left)" -gt "$limit" ] || limit=$(left)
    [ "$limit" -gt 0 ] || limit=1
    echo "$limit"
}

# fits PHASE WHAT SECONDS: whether there is the time for it, and a quarter more; if there is not, it is a skipped test.
fits()
{
    [ -n "$within" ] && [ "$(left)" -lt $(($3 * 5 / 4)) ] || return 0
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

# How many seconds the end-to-end tests of a further version take: as is known from the first one.
e2e_seconds()
{
    took e2e || echo 600
}

# How many seconds what is tested before further versions still takes.
ahead_seconds()
{
    ahead=0
    for phase in sanitizers threads fuzz faults container; do
        ! wanted $phase || [ -e "$results/$phase.tap" ] || ahead=$((ahead + $(takes $phase)))
    done
    echo "$ahead"
}

# version_seconds VERSION: until that one of $versions is built and tested; it is built while those before it are tested.
version_seconds()
{
    build_seconds=$(takes squid)
    wanted e2e || { echo "$build_seconds" && return; }
    before=$(ahead_seconds)
    for other in $versions; do
        [ "$other" != "$1" ] || break
        [ -e "$results/left-out-$other" ] || [ -e "$results/tested-$other" ] || before=$((before + $(e2e_seconds)))
    done
    echo $(((before > build_seconds ? before : build_seconds) + $(e2e_seconds)))
}
