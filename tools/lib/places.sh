# SPDX-License-Identifier: GPL-2.0-or-later
#
# places.sh - where builds of the tests and the demo are kept.  Needs say.sh, trust.sh.

# Whether every user can reach what is in directory $1.
reachable()
{
    reach=$1
    while [ "$reach" != / ]; do
        if [ -d "$reach" ]; then
            case $(stat -c %A -- "$reach") in
            *x | *t) ;;
            *) return 1 ;;
            esac
        fi
        # What follows the last slash goes, and the slash.
        reach=${reach%/*}
        reach=${reach:-/}
    done
}

# squid_place BUILD: sets place to a folder for installed Squids.  Started by root, Squid becomes another user, who must
# reach it.  Every user can make a folder of that name in /var/tmp: dies if another one did.
squid_place()
{
    place=$1
    if [ "$(id -u)" -eq 0 ] && ! reachable "$1"; then
        place=/var/tmp/sqtrace-$(printf '%s\n' "$1" | sha256sum | cut -c 1-8)
        [ ! -e "$place" ] && [ ! -L "$place" ] ||
            trust_folder "$place" "look at it and remove it, or set SQTRACE_CACHE to a folder that all users can reach"
    fi
}

# make_squid_place BUILD: the same, and makes it.
make_squid_place()
{
    squid_place "$1"
    if [ "$place" = "$1" ]; then
        mkdir -p -- "$place" || die_in_one_line "$place: cannot be made"
    else
        make_folder "$place"
    fi
}

# lock_work FOLDER: one build at a time in that folder; says whom it waits for.
lock_work()
{
    exec 9>>"$1/.lock"
    until flock -n 9; do
        say "waiting for another sqtrace-build in $1, process $(head -n 1 "$1/.lock"); --work=DIR names another folder"
        ! flock -w "$say_every" 9 || break
    done
    echo $$ >"$1/.lock"
}

# can_build WHAT FOLDER: dies if sqtrace and Squid cannot be built in FOLDER because of its name.
can_build()
{
    case $2 in
    *[\\\"\#\$\&\'\`[:space:]]*)
        in_one_line "$2"
        die "$1: '$line': autoconf, make and Squid's own build fail where names hold spaces, line breaks or one of" \
            "\\\"#\$&'\`: choose another folder, or move the tree"
        ;;
    esac
}

# plain_tree TREE WORK: sets plain to a source tree of sqtrace that other folders can be configured from.  That is TREE or,
# after ./configure in TREE itself, a copy of what a release of it holds, in WORK.
plain_tree()
{
    plain=$1
    [ -f "$1/config.status" ] || return 0
    plain=$2/plain-source
    make -s -C "$1" distdir distdir="$plain"
}
