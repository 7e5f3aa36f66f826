#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rpm-switch.sh TOOLS SQUID UNPATCHED - an RPM of Squid with the hooks is switched on by README's lines, replaced by the next
# release without them, and put back, in a copy of this system that is thrown away (an overlay); in TAP.  TOOLS holds
# sqtrace-dump.  The packages are made up of two Squids that sqtrace-build installed: SQUID has the hooks, and UNPATCHED has
# not.  Needs root, overlayfs, rpmbuild, curl, and Squid's user proxy.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
usage='usage: rpm-switch.sh TOOLS SQUID UNPATCHED'
tools=$(cd "${1:?$usage}" && pwd -P) || exit 1
squid=$(cd "${2:?$usage}" && pwd -P) || exit 1
unpatched=$(cd "${3:?$usage}" && pwd -P) || exit 1

skip()
{
    echo "ok 1 - RPMs of Squid, switched # SKIP $1"
    echo 1..1
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'rpm installs as root only'
unshare --mount --pid --fork true 2>/dev/null || skip 'root may make no namespaces here'
if [ -z "${SQTRACE_OWN_PLACE:-}" ]; then
    # Mounts and processes of its own: both end with this script.
    SQTRACE_OWN_PLACE=yes exec unshare --mount --pid --fork --kill-child sh "$0" "$tools" "$squid" "$unpatched"
fi

port=23131
origin_port=23132
service_pid=
export LC_ALL=C
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-rpm-switch.XXXXXX") || exit 1
trap 'umount -l "$folder"; rmdir "$folder"' EXIT
root=$folder/root
trace=$root/var/spool/squid/trace
directive=$root/etc/squid/sqtrace.conf
out=$folder/out err=
mount -t tmpfs none "$folder" && mkdir "$folder/upper" "$folder/work" "$root" "$folder/www" &&
    mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root" &&
    mount -t proc none "$root/proc" && mount --bind /dev "$root/dev" && mount -t tmpfs -o mode=1777 none "$root/dev/shm" || exit 1
# Of a Squid that this system has, nothing is in the way.
rm -rf "$root/etc/squid" "$root/var/spool/squid" "$root/usr/sbin/squid" "$root/usr/share/squid"

# package PREFIX RELEASE: builds an RPM of the Squid that is installed there, with nothing else; prints its path.
package()
{
    mkdir -p "$folder/$2/SPECS"
    cat >"$folder/$2/SPECS/squid.spec" <<SPEC
%define debug_package %{nil}
%define _binary_payload w1.gzdio
%define __os_install_post %{nil}
AutoReqProv: no
Name:     squid
Version:  7.7
Release:  $2
Summary:  The Squid proxy caching server
License:  GPL-2.0-or-later

%description
A proxy.

%install
mkdir -p %{buildroot}/usr/sbin %{buildroot}/usr/share/squid %{buildroot}/etc/squid
install -m 755 $1/sbin/squid %{buildroot}/usr/sbin/squid
cp -r $1/share/errors $1/share/icons $1/etc/mime.conf %{buildroot}/usr/share/squid/
cp $folder/squid.conf %{buildroot}/etc/squid/

%files
/usr/sbin/squid
/usr/share/squid
%dir /etc/squid
%config(noreplace) /etc/squid/squid.conf
SPEC
    rpmbuild --define "_topdir $folder/$2" -bb "$folder/$2/SPECS/squid.spec" >"$folder/$2/log" 2>&1 </dev/null ||
        tail -n 5 "$folder/$2/log" >&2
    find "$folder/$2/RPMS" -name '*.rpm'
}

# rpm_in ARGUMENT...: in the copy of this system, with a database of packages of its own.
rpm_in()
{
    rpm --root="$root" --dbpath=/rpm --nodeps "$@" >"$out" 2>&1
}

# How often a Squid has begun to trace.
begun()
{
    sed -n '/sqtrace: tracing into/p' "$root/var/spool/squid/cache.log" 2>/dev/null | wc -l
}

# start [traced]: Squid as a service runs it, until it traces, if it shall, and answers.  On a busy machine tracing may begin
# after Squid answers.
start()
{
    begun_before=$(begun)
    chroot "$root" /usr/sbin/squid --foreground -f /etc/squid/squid.conf >"$folder/said" 2>&1 </dev/null &
    service_pid=$!
    for tried in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 1
        [ "${1-}" != traced ] || [ "$(begun)" -gt "$begun_before" ] || continue
        ! get "http://127.0.0.1:$port/squid-internal-mgr/info" || return 0
    done
    echo "# no answer after $tried s"
    cp "$folder/said" "$out"
    return 1
}

stop()
{
    kill "$service_pid"
    wait "$service_pid"
}

get()
{
    curl --silent --fail --max-time 10 --output "$folder/got" "$@"
}

# served: a file of the origin, through the proxy.
served()
{
    get --proxy "http://127.0.0.1:$port" "http://127.0.0.1:$origin_port/one" && cmp "$folder/www/one" "$folder/got"
}

# rows: of requests in the trace.
rows()
{
    "$tools/sqtrace-dump" --quiet --columns=time_s --no-header --no-comments "$trace" | wc -l
}

cat >"$folder/squid.conf" <<CONF
http_port 127.0.0.1:$port
http_access allow localhost
visible_hostname rpm.test
cache_effective_user proxy
pid_filename /var/spool/squid/squid.pid
cache_log /var/spool/squid/cache.log
access_log stdio:/var/spool/squid/access.log
coredump_dir /var/spool/squid
mime_table /usr/share/squid/mime.conf
icon_directory /usr/share/squid/icons
error_directory /usr/share/squid/errors/templates
shutdown_lifetime 0 seconds
CONF
head -c 100000 /dev/urandom >"$folder/www/one"
python3 -m http.server --bind 127.0.0.1 --directory "$folder/www" $origin_port >"$folder/origin" 2>&1 </dev/null &
hooked=$(package "$squid" 5.sqtrace1)
next=$(package "$unpatched" 6)
[ -f "$hooked" ] && [ -f "$next" ]
check 'RPMs are made of a Squid with the hooks, and of the next release without them'

rpm_in -i "$hooked" && [ -x "$root/usr/sbin/squid" ]
check 'the one with the hooks is installed'
install -d -o proxy -g proxy "$root/var/spool/squid"
# SMP sockets of Squids that are installed elsewhere
for prefix in "$squid" "$unpatched"; do
    install -d -o proxy -g proxy "$root$prefix/var/run/squid"
done
# As README says it.
chroot "$root" install -d -o proxy -g proxy /var/spool/squid/trace
echo 'sqtrace_log /var/spool/squid/trace total=4GB' >"$directive"
start traced && served
check 'it starts with one line in sqtrace.conf, and serves'
stop
before=$(rows)
[ "$before" -ge 1 ]
check "and traces: $before requests"

rpm_in -U "$next" && [ "$(rpm --root="$root" --dbpath=/rpm -q --qf '%{RELEASE}' squid)" = 6 ]
check 'an update replaces it by the next release'
[ -f "$directive" ]
check 'and leaves sqtrace.conf'
start && served
check 'the Squid without the hooks starts, and serves'
stop
[ "$(rows)" -eq "$before" ]
check 'it does not trace, and the trace stays readable'

rpm_in -U --oldpackage "$hooked"
check 'the one with the hooks is put back'
start traced && served
check 'and serves'
stop
[ "$(rows)" -gt "$before" ]
check "and traces again: $(rows) requests"
rpm_in -e squid && [ ! -e "$root/usr/sbin/squid" ] && [ -f "$directive" ]
check 'erased, it leaves the file that was written by hand'
plan
