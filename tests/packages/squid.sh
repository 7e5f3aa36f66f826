#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid.sh PACKAGES TOOLS [NAME] - installs the packages of Squid that sqtrace-build --debian made in the folder PACKAGES
# over the distribution's own, in a copy of this system that is thrown away (an overlay), and looks at what becomes of
# them, in TAP.  NAME is the package with the proxy: squid, or squid-openssl, which Debian has beside it.  TOOLS holds
# sqtrace-dump.  Needs root, overlayfs, and what apt can reach.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
usage='usage: squid.sh PACKAGES TOOLS [NAME]'
packages=$(cd "${1:?$usage}" && pwd -P) || exit 1
tools=$(cd "${2:?$usage}" && pwd -P) || exit 1
name=${3-squid}
if [ -z "${SQTRACE_OWN_PLACE:-}" ]; then
    # Mounts and processes of its own: both end with this script.
    SQTRACE_OWN_PLACE=yes exec unshare --mount --pid --fork --kill-child sh "$0" "$packages" "$tools" "$name"
fi

port=23129
origin_port=23130
service_pid=
notified_pid=
folder=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-packages.XXXXXX") || exit 1
trap 'umount -l "$folder"; rmdir "$folder"' EXIT
root=$folder/root
trace=$root/var/spool/squid/trace
directive=$root/etc/squid/sqtrace.conf
old_directive=$root/etc/squid/conf.d/sqtrace.conf
out=$folder/out err=
mount -t tmpfs none "$folder" && mkdir "$folder/upper" "$folder/work" "$root" "$folder/www" &&
    mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root" &&
    mount -t proc none "$root/proc" && mount --bind /dev "$root/dev" && mount -t tmpfs none "$root/dev/shm" &&
    mount --bind /sys "$root/sys" && mount -t tmpfs none "$root/run" && chmod 1777 "$root/dev/shm" &&
    mkdir -m 1777 "$root/run/lock" && mkdir "$root/packages" "$root/updates" && cp "$packages"/*.deb "$root/packages" &&
    cat /etc/resolv.conf >"$folder/resolv.conf" && rm -f "$root/etc/resolv.conf" &&
    cp "$folder/resolv.conf" "$root/etc" || exit 1
# Nothing is started by an installation.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"

# in_root COMMAND...: there, without a terminal; its output goes to $out.
in_root()
{
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" >"$out" 2>&1 </dev/null
}

# What dpkg says of the package with the proxy for the format $1.
told()
{
    chroot "$root" dpkg-query -W -f "$1" "$name"
}

# made_of_squid: the packages that are installed of Squid's source, the proxy's and those that it needs.
made_of_squid()
{
    chroot "$root" dpkg-query -W -f '${source:Package} ${db:Status-Status} ${Package}\n' | sed -n 's/^squid installed //p'
}

# Their configuration files, with their sums.
conffiles()
{
    # shellcheck disable=SC2086 # names
    chroot "$root" dpkg-query -W -f '${Conffiles}\n' $all | grep . | sort
}

# rebuilt_of NAME...: the files of the rebuilt packages, as apt takes them.
rebuilt_of()
{
    for package in "$@"; do
        for file in "$root/packages/$package"_*.deb; do
            echo "${file#"$root"}"
        done
    done
}

# The proxy.  Debian 13 has a link there, if both packages are installed.
proxy()
{
    chroot "$root" readlink -e /usr/sbin/squid
}

# The shared libraries that Squid asks for.
libraries()
{
    objdump -p "$root$(proxy)" | sed -n 's/^ *NEEDED *//p' | sort
}

# What systemd would run of squid.service, for the key $1.
service()
{
    sed -n "s/^$1=//p" "$root/lib/systemd/system/squid.service"
}

# as_service COMMAND...: as systemd runs it, with the service's group.  Becomes that.
as_service()
{
    exec chroot --userspec="root:$(service Group)" "$root" env -i LANG=C PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        NOTIFY_SOCKET=/run/notify "$@" </dev/null
}

# How often a Squid has begun to trace.
begun()
{
    sed -n '/sqtrace: tracing into/p' "$root"/var/log/squid/cache.log* 2>/dev/null | wc -l
}

# start [traced]: Squid as the service would, and waits until it tells systemd that it is ready, traces if it shall, and
# answers.  On a busy machine tracing may begin after Squid is ready.
start()
{
    begun_before=$(begun)
    run=$root/run/$(service RuntimeDirectory)
    rm -rf "$run" "$root/run/notify" "$folder/notified"
    install -d -m "$(service RuntimeDirectoryMode)" -g "$(service Group)" "$run"
    python3 -c 'import os, socket, sys
told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
told.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
while True:
    print(told.recv(4096).decode(), flush=True)' "$root/run/notify" >"$folder/notified" 2>&1 </dev/null &
    notified_pid=$!
    until [ -S "$root/run/notify" ] || ! kill -0 "$notified_pid"; do
        sleep 0.1
    done
    # shellcheck disable=SC2046 # a command and its words
    (as_service $(service ExecStartPre)) >"$out" 2>&1 || return 1
    # shellcheck disable=SC2046 # words
    as_service $(service ExecStart) >"$folder/service" 2>&1 &
    service_pid=$!
    for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        sleep 1
        grep -q '^READY=1' "$folder/notified" || continue
        [ "${1-}" != traced ] || [ "$(begun)" -gt "$begun_before" ] || continue
        ! get /squid-internal-mgr/info || return 0
    done
    cat "$folder/service" "$folder/notified" >"$out"
    return 1
}

# Ends it, and waits for that.
stop()
{
    kill "$service_pid" "$notified_pid" 2>/dev/null
    wait "$service_pid" "$notified_pid" 2>/dev/null
}

# get PATH: asks the proxy itself.
get()
{
    curl --silent --fail --max-time 10 --output "$folder/got" "http://127.0.0.1:$port$1"
}

# get_through NAME: a file of the origin, through the proxy.
get_through()
{
    curl --silent --fail --max-time 10 --output "$folder/got" --proxy "http://127.0.0.1:$port" \
        "http://127.0.0.1:$origin_port/$1" && cmp "$folder/www/$1" "$folder/got"
}

# Lines of the access log, also of one that was rotated away.
logged()
{
    cat "$root/var/log/squid/access.log" "$root/var/log/squid/access.log.1" 2>/dev/null | wc -l
}

# Rows of the trace, that fit the condition $1 if there is one.
traced()
{
    "$tools/sqtrace-dump" --quiet --table=requests ${1:+"--where=$1"} "$trace" | grep -c '^[0-9]'
}

segments()
{
    find "$trace" -name '*.sqt' | wc -l
}

# has_segments NUMBER: whether the trace has as many, or more.
has_segments()
{
    [ "$(segments)" -ge "$1" ]
}

# within_20_s COMMAND...: whether it succeeds by then.
within_20_s()
{
    for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        ! "$@" || return 0
        sleep 1
    done
    "$@"
}

# The next version: $1 with its last number one higher.
next_version()
{
    echo "$1" | awk '{ match($0, /[0-9]+$/); print substr($0, 1, RSTART - 1) substr($0, RSTART) + 1 }'
}

# ---- the distribution's own ----

in_root apt-get update && in_root apt-get install -y --no-install-recommends "$name"
check 'the distribution'\''s own is installed'
stock=$(told '${Version}')
all=$(made_of_squid | tr '\n' ' ')
programs=$(echo "$all" | sed 's/squid-common *//')
conffiles >"$folder/conffiles"
libraries >"$folder/libraries"
in_root sh -c "cd /updates && apt-get download $all"
check 'and its packages are kept for the update below'
# As an administrator would.
sed -i "s/^http_port .*/http_port 127.0.0.1:$port/; s/^# *shutdown_lifetime .*/shutdown_lifetime 1 second/
    1i http_access allow localhost" "$root/etc/squid/squid.conf"
echo 'sqtrace_log /var/spool/squid/trace' >"$old_directive"
! in_root squid -k parse && grep -q "unrecognized: 'sqtrace_log'" "$out"
check 'it does not know the directive'
mv "$old_directive" "$directive"
in_root squid -k parse && ! grep -q sqtrace "$out"
check 'in sqtrace.conf it does not read it'
rm "$directive"

# ---- the rebuilt one ----

# shellcheck disable=SC2046,SC2086 # names
in_root apt-get install -y $(rebuilt_of $all)
check 'apt installs the rebuilt one over it, and asks nothing about the changed squid.conf'
rebuilt=$(told '${Version}')
next=$(next_version "$stock")
dpkg --compare-versions "$stock" lt "$rebuilt" && dpkg --compare-versions "$rebuilt" lt "$next"
check "its version, $rebuilt, is between $stock and $next"
[ -s "$folder/conffiles" ] && conffiles | diff "$folder/conffiles" - >"$out"
check 'its configuration files are the distribution'\''s'
libraries | comm -23 "$folder/libraries" - >"$out" && [ -s "$folder/libraries" ] && [ ! -s "$out" ]
check 'it is linked with all that the distribution'\''s is linked with'

head -c 100000 /dev/urandom >"$folder/www/one"
head -c 300000 /dev/urandom >"$folder/www/two"
python3 -m http.server --bind 127.0.0.1 --directory "$folder/www" $origin_port >"$folder/origin" 2>&1 </dev/null &
within_20_s curl --silent --fail --output "$folder/got" "http://127.0.0.1:$origin_port/one"
install -d -o proxy -g proxy "$trace"
start
check 'the service starts without tracing'
get_through one
check 'and serves'
stop
[ "$(segments)" -eq 0 ]
check 'and traces nothing'
untraced=$(logged)

# As README says it.
echo 'sqtrace_log /var/spool/squid/trace total=4GB' >"$directive"
start traced
check 'the service starts with one line in sqtrace.conf'
get_through one && get_through two
check 'and serves, traced'
within_20_s has_segments 1
before=$(segments)
in_root logrotate --force /etc/logrotate.d/squid
check 'logrotate rotates its logs'
# Squid looks at the signal within a second, if it gets a processor.
within_20_s has_segments $((before + 1)) && [ -s "$root/var/log/squid/access.log.1" ]
check "and its trace: $(segments) segments instead of $before"
get_through two
check 'it still serves'
stop
wanted=$(($(logged) - untraced))
[ "$untraced" -ge 2 ] && [ "$wanted" -ge 4 ] && [ "$(traced)" -eq "$wanted" ]
check "the trace has a row for each line of access.log since then: $(traced), $wanted"
[ "$(traced 'status == 200 and size_bytes >= 100000')" -eq 3 ]
check 'of which three are what was got through it'
[ -z "$(find "$root/dev/shm" -name '*sqtrace*')" ]
check 'stopped, it leaves nothing in memory'

# ---- removed, and installed again ----

# shellcheck disable=SC2086 # names
in_root apt-get remove -y $programs && ! proxy >"$out"
check 'it is removed'
[ -f "$directive" ]
check 'and its directive stays'
traced >"$out" && [ "$(traced)" -eq "$wanted" ]
check 'and the trace is still there'
mv "$directive" "$old_directive"
# shellcheck disable=SC2046,SC2086 # names
in_root apt-get install -y $(rebuilt_of $programs) && [ -f "$directive" ] && [ ! -e "$old_directive" ]
check 'installed again, it moves a directive of an earlier package to where the next update does not find it'
start traced && get_through one
check 'and it serves'

# ---- an update of the distribution: its own Squid with a higher version, from a place of packages ----

in_root sh -c "cd /updates && for deb in *.deb; do
        dpkg-deb -R \$deb next && sed -i 's/^Version: .*/Version: $next/; s/(>= $stock)/(>= $next)/' next/DEBIAN/control &&
            dpkg-deb -b next && mv next.deb next_\$deb && rm -r next \$deb || exit 1
    done
    dpkg-scanpackages . >Packages && rm -r /etc/apt/sources.list* &&
        echo 'deb [trusted=yes] copy:/updates ./' >/etc/apt/sources.list && apt-get update && apt-get upgrade -y"
check "apt updates to the distribution's next version, $next, and asks nothing"
[ "$(told '${Version}')" = "$next" ]
check 'which replaces the rebuilt one'
get_through two
check 'one that runs is not disturbed'
stop
[ -f "$directive" ]
check 'the directive is still there'
before=$(segments)
rows=$(traced)
start && get_through one
check 'the next version starts with the same configuration, and serves'
stop
[ "$(segments)" -eq "$before" ] && [ "$rows" -gt "$wanted" ] && [ "$(traced)" -eq "$rows" ]
check 'it does not trace; what the one before traced, since it was installed again, too, stays readable'

# ---- put back ----

# shellcheck disable=SC2046,SC2086 # names
in_root apt-get install -y --allow-downgrades $(rebuilt_of $all) &&
    [ "$(told '${Version}')" = "$rebuilt" ]
check 'the rebuilt one is put back'
start traced && get_through one && get_through two
check 'and serves'
stop
[ "$(traced)" -gt "$rows" ]
check 'and traces again'
# shellcheck disable=SC2086 # names
in_root apt-get purge -y $all
check 'it is purged'
left=$(find "$root/etc/squid" "$root/usr/sbin/squid" "$root/usr/share/squid" "$root/usr/lib/squid" -type f 2>/dev/null)
[ "$left" = "$directive" ] || ! echo "# left: $left"
check 'and leaves no file but the one that was written by hand'
plan
