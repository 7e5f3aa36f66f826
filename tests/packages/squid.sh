#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid.sh PACKAGES TOOLS - installs the packages of Squid that sqtrace-build --debian made in the folder PACKAGES over
# the distribution's own, in a copy of this system that is thrown away (an overlay), and looks at what becomes of them,
# in TAP.  TOOLS holds sqtrace-dump.  Needs root, overlayfs, and what apt can reach.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
packages=$(cd "${1:?usage: squid.sh PACKAGES TOOLS}" && pwd -P) || exit 1
tools=$(cd "${2:?usage: squid.sh PACKAGES TOOLS}" && pwd -P) || exit 1
if [ -z "${SQTRACE_OWN_PLACE:-}" ]; then
    # Mounts and processes of its own: both end with this script.
    SQTRACE_OWN_PLACE=yes exec unshare --mount --pid --fork --kill-child sh "$0" "$packages" "$tools"
fi

port=23129
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-packages.XXXXXX") || exit 1
trap 'umount -l "$folder"; rmdir "$folder"' EXIT
root=$folder/root
out=$folder/out err=
mount -t tmpfs none "$folder" && mkdir "$folder/upper" "$folder/work" "$root" &&
    mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root" &&
    mount -t proc none "$root/proc" && mount --bind /dev "$root/dev" && mount -t tmpfs none "$root/dev/shm" &&
    chmod 1777 "$root/dev/shm" && mkdir "$root/packages" && cp "$packages"/*.deb "$root/packages" || exit 1
# Nothing is started by an installation.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"

# in_root COMMAND...: there, without a terminal; its output goes to $out.
in_root()
{
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" >"$out" 2>&1 </dev/null
}

version()
{
    chroot "$root" dpkg-query -W -f '${Version}' squid
}

# What systemd would run of squid.service, for the key $1.
service()
{
    sed -n "s/^$1=//p" "$root/lib/systemd/system/squid.service"
}

# Starts Squid as the service would, and waits until it answers.
start()
{
    in_root $(service ExecStartPre) || return 1
    chroot "$root" $(service ExecStart) >"$folder/service" 2>&1 </dev/null &
    service_pid=$!
    for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        sleep 1
        ! get /squid-internal-mgr/info || return 0
    done
    cp "$folder/service" "$out"
    return 1
}

stop()
{
    kill "$service_pid" 2>/dev/null
    wait "$service_pid"
}

# get PATH: asks the proxy itself.
get()
{
    curl --silent --fail --max-time 10 --output "$folder/got" "http://127.0.0.1:$port$1"
}

# Lines of the access log, also of one that was rotated away.
logged()
{
    cat "$root/var/log/squid/access.log" "$root/var/log/squid/access.log.1" 2>/dev/null | wc -l
}

# Rows of the trace.
traced()
{
    "$tools/sqtrace-dump" --quiet --table=requests "$root/var/spool/squid/trace" | grep -c '^[0-9]'
}

segments()
{
    find "$root/var/spool/squid/trace" -name '*.sqt' | wc -l
}

in_root apt-get update && in_root apt-get install -y --no-install-recommends squid
check 'the distribution'\''s own is installed'
stock=$(version)
in_root sh -c 'cd / && apt-get download squid && mv squid_*.deb stock.deb'
check 'and its package is kept for the update below'

in_root sh -c 'apt-get install -y /packages/squid_*.deb /packages/squid-common_*.deb'
check 'apt installs the rebuilt one over it'
rebuilt=$(version)
dpkg --compare-versions "$rebuilt" gt "$stock"
check "its version, $rebuilt, is above $stock"

sed -i "s/^http_port .*/http_port 127.0.0.1:$port/" "$root/etc/squid/squid.conf"
install -d -o proxy -g proxy "$root/var/spool/squid/trace"
start
check 'the service starts without tracing'
stop
[ "$(segments)" -eq 0 ]
check 'and traces nothing'
untraced=$(logged)
echo 'sqtrace_log /var/spool/squid/trace' >"$root/etc/squid/conf.d/sqtrace.conf"
start
check 'the service starts with one line more'
before=$(segments)
in_root logrotate --force /etc/logrotate.d/squid
check 'logrotate rotates its logs'
sleep 2 # the signal is looked at within a second
[ "$(segments)" -gt "$before" ]
check "and its trace: $(segments) segments instead of $before"
get /squid-internal-mgr/menu
check 'it still answers'
stop
wanted=$(($(logged) - untraced))
[ "$untraced" -ge 1 ] && [ "$wanted" -ge 2 ] && [ "$(traced)" -eq "$wanted" ]
check "the trace has a row for each line of access.log since then: $(traced), $wanted"

# An update of the distribution: its own Squid with a higher version.
next=${stock%[0-9]}9
in_root sh -c "dpkg-deb -R /stock.deb /next &&
    sed -i 's/^Version: .*/Version: $next/; s/squid-common (>= [^)]*)/squid-common/' /next/DEBIAN/control &&
    dpkg-deb -b /next /next.deb && dpkg -i /next.deb"
check "the distribution's next version, $next, is installed over it"
[ "$(version)" = "$next" ]
check 'dpkg sees an upgrade'
start
check 'and starts, with the configuration that is left'
stop
in_root apt-get purge -y squid squid-common
check 'it is purged'
left=$(find "$root/etc/squid" "$root/usr/sbin/squid" "$root/usr/share/squid" "$root/usr/lib/squid" -type f 2>/dev/null)
[ "$left" = "$root/etc/squid/conf.d/sqtrace.conf.off" ] || ! echo "# left: $left"
check 'and leaves no file but the one that was written by hand'
plan
