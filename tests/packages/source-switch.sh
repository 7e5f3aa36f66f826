#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# source-switch.sh TOOLS SQUID UNPATCHED - a Squid that sqtrace-build installed is switched on by README's lines, as a user who
# is not root, replaced by one without the hooks in the same place, and put back, in a copy of this system that is thrown away
# (an overlay) and a network of its own; in TAP.  TOOLS holds sqtrace-dump.  SQUID and UNPATCHED are prefixes: SQUID has the
# hooks, and UNPATCHED has not.  Needs root, overlayfs, curl and ip.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
usage='usage: source-switch.sh TOOLS SQUID UNPATCHED'
tools=$(cd "${1:?$usage}" && pwd -P) || exit 1
squid=$(cd "${2:?$usage}" && pwd -P) || exit 1
unpatched=$(cd "${3:?$usage}" && pwd -P) || exit 1

skip()
{
    echo "ok 1 - a Squid from source, switched # SKIP $1"
    echo 1..1
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'overlays are made by root'
unshare --mount --pid --net --fork true 2>/dev/null || skip 'root may make no namespaces here'
if [ -z "${SQTRACE_OWN_PLACE:-}" ]; then
    # Mounts, processes and a network of its own: all end with this script.
    SQTRACE_OWN_PLACE=yes exec unshare --mount --pid --net --fork --kill-child sh "$0" "$tools" "$squid" "$unpatched"
fi

origin_port=23133
export LC_ALL=C
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-source-switch.XXXXXX") || exit 1
trap 'umount -l "$folder"; rmdir "$folder"' EXIT
root=$folder/root
place=$root$squid # where README has $HOME/squid
out=$folder/out err=
mount -t tmpfs none "$folder" && chmod 755 "$folder" && mkdir "$folder/upper" "$folder/work" "$root" "$folder/www" &&
    mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root" &&
    mount -t proc none "$root/proc" && mount --bind /dev "$root/dev" &&
    mount -t tmpfs -o mode=1777 none "$root/dev/shm" && ip link set lo up || exit 1

# readme TEXT: README's first example with that text, as the user types it.
readme()
{
    grep -F "$1" "$top/README.md" | sed -n "/^    /{s///; s/ # .*//; s|\$HOME/squid|$squid|g; p; q;}"
}

# as_user COMMAND: a command of sh, there, as a user who is not root.
as_user()
{
    chroot --userspec=nobody:nogroup "$root" sh -c "$1" >"$out" 2>&1 </dev/null
}

get()
{
    curl --silent --fail --max-time 10 --output "$folder/got" "$@"
}

# How often a Squid has begun to trace.
begun()
{
    sed -n '/sqtrace: tracing into/p' "$place/var/logs/cache.log" 2>/dev/null | wc -l
}

# start [traced]: Squid by README's line, until it traces, if it shall, and answers.  On a busy machine tracing may begin after
# Squid answers.
start()
{
    begun_before=$(begun)
    # shellcheck disable=SC2016 # README's words
    as_user "$(readme '$HOME/squid/sbin/squid ')" || return 1
    for tried in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 1
        [ "${1-}" != traced ] || [ "$(begun)" -gt "$begun_before" ] || continue
        ! get http://127.0.0.1:3128/squid-internal-mgr/info || return 0
    done
    echo "# no answer after $tried tries"
    cat "$place/var/logs/cache.log" >"$out"
    return 1
}

# served: a file of the origin, through the proxy.
served()
{
    get --noproxy '' --proxy http://127.0.0.1:3128 "http://127.0.0.1:$origin_port/one" && cmp "$folder/www/one" "$folder/got"
}

# stop: Squid, until it has ended.
stop()
{
    as_user "$squid/sbin/squid -k shutdown"
    for tried in $(seq 200); do
        [ -e "$place/var/run/squid.pid" ] || return 0
        sleep 0.1
    done
    echo "# it runs after $tried tries"
    return 1
}

# rows: of requests in the trace.
rows()
{
    "$tools/sqtrace-dump" --quiet --columns=time_s --no-header --no-comments "$place/trace" | wc -l
}

# hooks: whether the Squid in place knows the directive.
hooks()
{
    grep -q sqtrace_log "$place/sbin/squid"
}

# put PREFIX: the programs of that Squid are in place; configuration and logs stay.
put()
{
    for part in sbin share libexec; do
        [ ! -d "$folder/$1/$part" ] || { rm -rf "${place:?}/$part" && cp -a "$folder/$1/$part" "$place"; } || return 1
    done
    chown -R nobody:nogroup "$place"
}

# Both as they are installed.  The one without the hooks finds all that it looks for in the other's place.
cp -a "$squid" "$folder/hooked" && cp -a "$unpatched" "$folder/bare" && rm -rf "$root$unpatched" && ln -s "$squid" "$root$unpatched" &&
    rm -rf "$place" && mkdir "$place" && cp -a "$folder/hooked/etc" "$place" && rm -f "$place/etc/sqtrace.conf" &&
    mkdir -p "$place/var/logs" "$place/var/run/squid" "$place/var/cache/squid" && put hooked || exit 1
# The user may be below a folder of root's.
above=$place
while [ "$above" != "$root" ]; do
    chmod o+x "$above"
    above=${above%/*}
done
# A Squid for tests has no helper that writes logs.
cp "$place/etc/squid.conf.default" "$place/etc/squid.conf"
printf '%s\n' "access_log stdio:$squid/var/logs/access.log" 'visible_hostname source.test' 'shutdown_lifetime 0 seconds' \
    >>"$place/etc/squid.conf"
head -c 100000 /dev/urandom >"$folder/www/one"
python3 -m http.server --bind 127.0.0.1 --directory "$folder/www" $origin_port >"$folder/origin" 2>&1 </dev/null &
for tried in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    ! get "http://127.0.0.1:$origin_port/one" || break
    sleep 1
done

start && served
check 'it starts and serves'
stop
[ ! -e "$place/trace" ] && hooks
check 'and does not trace'
# shellcheck disable=SC2016 # README's words
as_user "$(readme '$HOME/squid/etc/sqtrace.conf')" && [ -f "$place/etc/sqtrace.conf" ]
check "README's line switches tracing on"
start traced && served
check 'it starts and serves'
stop
before=$(rows)
[ "$before" -ge 1 ]
check "and traces: $before requests"

put bare && ! hooks
check 'a Squid without the hooks is installed in its place'
start && served
check 'it starts with the same configuration, and serves'
stop
[ "$(rows)" -eq "$before" ]
check 'it does not trace, and the trace stays readable'

put hooked && hooks
check 'the one with the hooks is put back'
start traced && served
check 'it starts and serves'
stop
[ "$(rows)" -gt "$before" ]
check "and traces again: $(rows) requests"
plan
