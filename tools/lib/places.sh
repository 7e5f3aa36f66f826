# SPDX-License-Identifier: GPL-2.0-or-later
#
# places.sh - where builds of the tests and the demo are kept.

# Whether every user can reach what is in directory $1.
reachable()
{
    reach=$1
    while [ "$reach" != / ]; do
        if [ -d "$reach" ]; then
            case $(stat -c %A "$reach") in
            *x | *t) ;;
            *) return 1 ;;
            esac
        fi
        reach=$(dirname "$reach")
    done
}

# squid_place BUILD: a folder for installed Squids.  Started by root, Squid becomes another user, who must reach it.
squid_place()
{
    if [ "$(id -u)" -ne 0 ] || reachable "$1"; then
        echo "$1"
    else
        echo "/var/tmp/sqtrace-$(echo "$1" | sha256sum | cut -c 1-8)"
    fi
}
