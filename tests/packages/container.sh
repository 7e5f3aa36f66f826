#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# container.sh FOLDER TOOLS [SQUID [UNPATCHED]] - builds the image of the Containerfile without a registry, runs it and reads its
# trace, in TAP.  TOOLS is a build of sqtrace.  SQUID is the prefix of a Squid that sqtrace-build installed: with it, the
# image takes this Squid and these tools instead of building its own, and is of this machine's release of Debian, 12 or 13.
# UNPATCHED is the prefix of the same Squid without the hooks, which takes its place for a while.
# Needs root, mmdebstrap, podman and runc.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=/dev/null
. "$top/tests/unit/tap.sh"
# shellcheck source=/dev/null
. "$top/tests/packages/fresh-root.sh"
usage='usage: container.sh FOLDER TOOLS [SQUID [UNPATCHED]]'
tools=$(cd "${2:?$usage}" && pwd -P) || exit 1
squid=
unpatched=
[ -z "${4-}" ] || unpatched=$(cd "$4" && pwd -P) || exit 1
[ -z "${3-}" ] || squid=$(cd "$3" && pwd -P) || exit 1

skip()
{
    echo "ok 1 - the container # SKIP $1"
    echo 1..1
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'containers without a registry need root'
unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip 'root may make no namespaces here'
release=bookworm
if [ -n "$squid" ]; then
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    case $release in
    bookworm | trixie) ;;
    *) skip 'this is neither Debian 12 nor 13, whose libraries the Squid of the image takes' ;;
    esac
fi
rm -rf "${1:?$usage}"
mkdir -p "$1/context" || exit 1
folder=$(cd "$1" && pwd -P)
# podman wants a short name for what it keeps of running containers.
run=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-run.XXXXXX") || exit 1
rings=$(mktemp -d /dev/shm/sqtrace-rings.XXXXXX) || exit 1
out=$folder/out err=
driver=overlay

# Everything of podman's is in $folder and $run, and in no folder of the system.
cat >"$folder/podman.conf" <<END
[containers]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
tmp_dir = "$run/libpod"
END

pod()
{
    # podman 5 warns of control groups of version 1.
    PODMAN_IGNORE_CGROUPSV1_WARNING=1 CONTAINERS_CONF=$folder/podman.conf podman --root="$folder/storage" --runroot="$run" --storage-driver="$driver" "$@"
}

end()
{
    pod rm --all --force --time=0 >/dev/null 2>&1
    pod rmi --all --force >/dev/null 2>&1
    umount -R "$folder/storage/overlay" 2>/dev/null
    rm -rf "$folder/storage" "$folder/made" "$folder/bare" "$folder/debian.tar" "$run" "$rings"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
pod info >"$out" 2>&1 || driver=vfs

# ---- the image ----

# three_times COMMAND WORD...: until it succeeds; a mirror may be out of reach for seconds.
three_times()
{
    for seconds in 5 20 0; do
        "$@" && return 0
        sleep $seconds
    done
    return 1
}

three_times fresh_bootstrap "$release" "$folder/debian.tar" >"$out" 2>&1 &&
    pod import "$folder/debian.tar" "localhost/debian:$release" >"$out" 2>&1
check "mmdebstrap makes a Debian $release to start from"
# Limits that are not above this shell's: not every root may raise them.
limits='--ulimit=nofile=1024:1024 --ulimit=nproc=1000:1000'
# shellcheck disable=SC2086 # words
set -- $limits --isolation=chroot --pull=never --build-arg DEBIAN="localhost/debian:$release" --tag localhost/squid-traced
if [ -n "$squid" ]; then
    # The stage that builds is left out; what it would have made is beside the Containerfile.
    mkdir -p "$folder/made$squid"
    make -s -C "$tools" install DESTDIR="$folder/made" >"$folder/install.log" 2>&1 && cp -a "$squid/." "$folder/made$squid"
    check 'sqtrace is installed for it'
    sed '/^FROM .* AS builder$/,/^FROM/{/^FROM [^ ]*$/!d}' "$top/Containerfile" >"$folder/Containerfile"
    [ "$(grep -c '^FROM' "$folder/Containerfile")" -eq 1 ] && grep -q 'COPY --from=builder' "$folder/Containerfile"
    check 'the second stage of the Containerfile is by itself'
    set -- "$@" --build-arg PREFIX="$squid" --build-context builder="$folder/made" --file "$folder/Containerfile" \
        "$folder/context"
else
    set -- "$@" --file "$top/Containerfile" "$top"
fi
three_times pod build "$@" >"$folder/build.log" 2>&1 || tail -n 25 "$folder/build.log" >"$out"
pod image exists localhost/squid-traced
check 'the image is built'

# ---- a container ----

# Options of tracing are the one line that is added; another allows what the test asks for.
printf '%s\n' 'http_access allow localhost' >"$folder/test.conf"

# start NAME LINE OPTION...: a container with that line in its sqtrace.conf; waits until Squid serves, and sets pid.
start()
{
    name=$1
    printf '%s\n' "$2" >"$folder/$name.conf"
    shift 2
    # shellcheck disable=SC2086 # words
    pod run --detach --name="$name" --network=none $limits --volume="$name:/var/spool/squid/trace" \
        --volume="$folder/$name.conf:/etc/squid/sqtrace.conf:ro" \
        --volume="$folder/test.conf:/etc/squid/conf.d/test.conf:ro" "$@" localhost/squid-traced >"$out" 2>&1 || return 1
    volume=$(pod volume inspect --format '{{.Mountpoint}}' "$name")
    for _ in $(seq 100); do
        pid=$(pod inspect --format '{{.State.Pid}}' "$name")
        ! pod logs "$name" 2>&1 | grep -q 'Accepting HTTP Socket' || return 0
        [ "$pid" -gt 0 ] || break
        sleep 0.2
    done
    pod logs "$name" >"$out" 2>&1
    return 1
}

# traces: whether its Squid has begun to trace.  On a busy machine that may be after it serves.
traces()
{
    for _ in $(seq 100); do
        ! pod logs "$name" 2>&1 | grep -q 'sqtrace: tracing into' || return 0
        sleep 0.2
    done
    pod logs "$name" >"$out" 2>&1
    return 1
}

# Users of the processes of the container, each once.
users()
{
    pod top "$name" user | tail -n +2 | sort -u | tr '\n' ' '
}

load()
{
    pod exec "$name" sqtrace-load --proxy=127.0.0.1:3128 --quiet "$@" >"$out" 2>&1
}

# records COMMAND...: how many records it says that a trace has.
records()
{
    "$@" --table=losses 2>"$folder/said" | sed -n 's/^# records: //p'
}

# rows COMMAND...: how many requests have ended.
rows()
{
    "$@" --quiet --columns=method 2>/dev/null | grep -c '^GET$'
}

# signal SIGNAL: sends it to Squid's worker, so that its trace stands still, or goes on.
signal()
{
    kill "-$1" "$(cat "/proc/$pid/task/$pid/children")"
}

start traced 'sqtrace_log /var/spool/squid/trace' --shm-size=128m && traces
check 'Squid starts in a container, with one line in sqtrace.conf'
[ "$(users)" = 'proxy ' ] && [ "$(stat -c %u "/proc/$pid")" -eq 13 ]
check 'as its own user, proxy'
load --clients=2 --requests=20
check 'it serves 40 requests'
inside='pod exec traced sqtrace-dump /var/spool/squid/trace'
# shellcheck disable=SC2086 # words
[ "$(rows $inside)" -eq 40 ]
check 'sqtrace-dump inside has a row for each'
# In the middle of a load it is stopped, so that its newest records are in the ring and not yet on the volume.
load --clients=2 --requests=3000 --timeout=300 &
loading=$!
ring=$(find "/proc/$pid/root/dev/shm" -name '*.ring')
for _ in $(seq 20); do
    sleep 0.5
    signal STOP
    there=$(records "$tools/sqtrace-dump" "$volume")
    both=$(records "$tools/sqtrace-dump" "$volume" "$ring")
    # Nothing may be on disk yet.
    [ "${there:-0}" -eq 0 ] || [ "$there" -ge "$both" ] || break
    signal CONT
done
# shellcheck disable=SC2086 # words
here=$(records $inside)
[ ! -s "$folder/said" ] && [ "$here" -gt 0 ]
check "and reads the live ring: $here records"
there=$(records "$tools/sqtrace-dump" "$volume")
[ "$there" -gt 0 ] && [ "$there" -lt "$here" ] && grep -q 'its ring is gone' "$folder/said"
check "outside, the volume has those on disk, $there, and it is said that the ring is elsewhere"
[ "$both" -eq "$here" ]
check "with the ring's path through /proc it is all of them: $both"
signal CONT
wait "$loading"
check 'and goes on'
pod stop --time=60 traced >"$out" 2>&1 && [ "$(pod inspect --format '{{.State.ExitCode}}' traced)" -eq 0 ]
check 'stopped, Squid ends in order'
[ "$(rows "$tools/sqtrace-dump" "$volume")" -eq 6040 ] && [ -z "$(find "$volume" -name '*.ring')" ]
check 'and leaves the whole trace on the volume, with a row for each of 6,040 requests'

# ---- replaced by a Squid without the hooks, and put back ----

if [ -n "$unpatched" ]; then
    # It has the configuration and the logs of the one that it replaces.
    cp -a "$unpatched" "$folder/bare" && rm -rf "$folder/bare/etc" "$folder/bare/var" &&
        ln -s "$squid/etc" "$folder/bare/etc" && ln -s "$squid/var" "$folder/bare/var"
    pod rm traced >"$out" 2>&1
    start traced 'sqtrace_log /var/spool/squid/trace' --shm-size=128m --volume="$folder/bare:$unpatched:ro" \
        --volume="$folder/bare/sbin/squid:$squid/sbin/squid:ro"
    check 'a Squid without the hooks starts with the same sqtrace.conf'
    load --clients=1 --requests=10
    check 'and serves'
    pod stop --time=60 traced >"$out" 2>&1
    [ "$(rows "$tools/sqtrace-dump" "$volume")" -eq 6040 ]
    check 'it does not trace, and the trace stays readable'
    pod rm traced >"$out" 2>&1
    start traced 'sqtrace_log /var/spool/squid/trace' --shm-size=128m && traces && load --clients=1 --requests=10
    check 'put back, the Squid with the hooks starts and serves'
    pod stop --time=60 traced >"$out" 2>&1
    [ "$(rows "$tools/sqtrace-dump" "$volume")" -eq 6050 ]
    check 'and traces again'
else
    number=$((number + 1))
    echo "ok $number - a Squid without the hooks takes its place # SKIP there is none"
fi

# ---- a ring that both sides see ----

chown 13:13 "$rings"
start shared "sqtrace_log /var/spool/squid/trace ringdir=$rings" --volume="$rings:$rings" && traces
check 'Squid starts with its ring in a folder that the machine shares with the container, under the same name'
load --clients=2 --requests=20
signal STOP
all=$(records "$tools/sqtrace-dump" "$volume")
[ ! -s "$folder/said" ] && [ "$all" -gt 0 ] && [ "$all" -eq "$(records pod exec shared sqtrace-dump /var/spool/squid/trace)" ]
check "outside, the volume alone gives all $all records"
signal CONT
pod stop --time=60 shared >"$out" 2>&1

# ---- too little shared memory ----

start small 'sqtrace_log /var/spool/squid/trace' --shm-size=16m
check 'Squid starts where the ring has no room'
pod logs small 2>&1 | grep -q 'sqtrace: ringdir=.*; tracing is off' && [ -z "$(find "$volume" -name '*.sqt')" ]
check "does not trace, and says why: $(pod logs small 2>&1 | sed -n 's/.*kid1| //; /sqtrace:/{p;q;}')"
plan
