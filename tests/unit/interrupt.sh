#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# interrupt.sh - a script that is interrupted ends all that it started, and nothing else.
#
# The scripts run in a copy of the tree where programs that build and measure only wait.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-interrupt-test.XXXXXX") || exit 1
# Nobody else waits for so long.
wait_s=$((100000 + $$)).$(date +%N)
echo "$wait_s" >"$work/pattern"
out=$work/out
chmod 755 "$work"
unset SQTRACE_CACHE
export LC_ALL=C

# waiting: the processes of the programs that only wait.
waiting()
{
    grep -lzsxF -f "$work/pattern" /proc/[0-9]*/cmdline | cut -d / -f 3
}

# shellcheck disable=SC2046 # numbers
trap 'kill -KILL $(waiting) 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# within SECONDS COMMAND...: whether COMMAND succeeds by then.
within()
{
    tries=$(($1 * 10))
    shift
    while ! "$@"; do
        [ $tries -gt 0 ] || return 1
        tries=$((tries - 1))
        sleep 0.1
    done
}

# are_waiting COUNT
are_waiting()
{
    [ "$(waiting | wc -l)" -eq "$1" ]
}

# program PATH: makes a program of that name; its text comes from the standard input.
program()
{
    mkdir -p "${1%/*}"
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod 755 "$1"
}

# hangs PATH: makes a program that starts a child and a daemon, and waits as they do.
hangs()
{
    program "$1" <<END
sleep $wait_s &
(setsid sleep $wait_s &)
sleep $wait_s
END
}

# ---- the copy of the tree ----

top=$work/tree
mkdir -p "$top/patches" "$work/squid-source/src"
cp -R "$SQT_SOURCE/tools" "$top/"
chmod -R u+w "$top/tools"
echo 'No hook.' >"$top/patches/0010-none.patch"
cp "$SQT_SOURCE/patches/releases" "$top/patches/"
: >"$top/configure.ac"
: >"$top/Makefile.am"
: >"$top/Makefile.in"
for name in "$top/configure" "$work/bin/autoreconf" "$work/bin/make"; do
    program "$name" </dev/null
done
echo "echo 'install ok installed'" | program "$work/bin/dpkg-query"
printf "PACKAGE_NAME='Squid Web Proxy'\nPACKAGE_VERSION='7.7'\n" >"$work/squid-source/configure"
: >"$work/squid-source/src/cf.data.pre"
PATH=$work/bin:$PATH

# ends NAME SIGNAL STATUS COUNT COMMAND...: starts COMMAND, interrupts it when so many programs wait, and looks whether it
# ends with that status and leaves none.
ends()
{
    ends_name=$1
    signal=$2
    wanted=$3
    count=$4
    shift 4
    # A shell has what it starts in the background ignore SIGINT.
    env --default-signal=INT "$@" >"$out" 2>&1 </dev/null &
    pid=$!
    within 20 are_waiting "$count" || echo "waiting: $(waiting | tr '\n' ' ')" >>"$out"
    kill -"$signal" $pid
    # One that does not end is seen by its status.
    { sleep 20 && kill -KILL $pid; } 2>/dev/null &
    guard=$!
    wait $pid
    status=$?
    kill $guard 2>/dev/null
    [ $status -eq "$wanted" ] && within 2 are_waiting 0
    check "$ends_name: $signal ends all that it started, status $wanted (was $status)"
    # shellcheck disable=SC2046 # numbers
    kill -KILL $(waiting) 2>/dev/null
}

hangs "$work/bin/make"
for signal in TERM:143 INT:130 HUP:129; do
    ends "check, while it builds" ${signal%:*} ${signal#*:} 3 "$top/tools/check" --only=build
done
ends "demo, while it builds" TERM 143 3 "$top/tools/demo"
program "$work/bin/make" </dev/null
hangs "$work/bin/nginx"
mkdir "$work/tmp"
TMPDIR=$work/tmp ends "demo, with an origin" TERM 143 3 "$top/tools/demo" --squid="$work/squid"
[ -z "$(ls "$work/tmp")" ]
check "and leaves no files"

# A Squid is built in the background while a test runs whose results are shown.
hangs "$top/tools/sqtrace-build"
hangs "$top/tests/packages/debian.sh"
ends "check, with builds in the background and a test" TERM 143 6 "$top/tools/check" --only=squid,packages --squid=7.7
cp "$SQT_SOURCE/tools/sqtrace-build" "$top/tools/"

# sqtrace-build waits for libsqtrace's configure without showing its progress.
hangs "$top/configure"
for signal in TERM:143 INT:130; do
    ends "sqtrace-build, in libsqtrace" ${signal%:*} ${signal#*:} 3 "$top/tools/sqtrace-build" --squid=7.7 \
        --source="$work/squid-source" --work="$work/build" --prefix="$work/prefix"
done

# An experiment, in a run.
mkdir "$work/tools"
for name in sqtrace-dump sqtrace-report; do
    program "$work/tools/$name" </dev/null
done
echo "exec sleep $wait_s" | program "$work/tools/sqtrace-load"
program "$work/squid/sbin/squid" <<END
case "\$*" in
*-v*) echo 'Squid Cache: Version 7.7' ;;
*' -z '*) ;;
*)
    while [ "\$1" != -f ]; do
        shift
    done
    echo 'Accepting HTTP Socket' >>"\${2%/*}/cache.log"
    (setsid sleep $wait_s &)
    exec sleep $wait_s
    ;;
esac
END
# Its origin, the first of its Squids with a daemon, and the load of that.
for signal in TERM:143 INT:130; do
    TMPDIR=$work/tmp ends "an experiment, in a run" ${signal%:*} ${signal#*:} 4 "$SQT_SOURCE/tools/sqtrace-experiment" \
        overhead --tools="$work/tools" --squid="$work/squid" --unpatched="$work/squid" --folder="$work/folder"
    [ -z "$(ls "$work/tmp")" ] && [ ! -e "$work/folder/made" ]
    check "and leaves no files"
done

# ---- the functions ----

cat >"$work/functions.sh" <<'END'
program=functions
for part in say started; do
    . "$SQT_SOURCE/tools/lib/$part.sh"
done
mark_started
end_seconds=5
END

# What is made is listed before an interruption acts.
cat >"$work/half" <<END
program=half
for part in lib/say lib/trust lib/started experiment/frame/undo experiment/frame/runs; do
    . "$SQT_SOURCE/tools/\$part.sh"
done
trap undo_all EXIT
folder=$work/half-done
mkdir "\$folder"
take_list
end_when_interrupted
half()
{
    mkdir "$work/half-made"
    kill -TERM \$\$
    sleep 0.1
    made folder "$work/half-made"
}
unbroken half
echo "it goes on"
END
sh "$work/half" >"$out" 2>&1
[ $? -eq 143 ] && [ ! -e "$work/half-made" ] && [ ! -s "$out" ]
check "a folder that is just made when the interruption comes is listed, and removed"

# What does not listen is killed; what cleans up is given the time, with programs of its own.
program "$work/stubborn" <<END
trap '' TERM
while :; do
    sleep $wait_s
done
END
program "$work/tidy" <<END
trap 'sleep 1; echo tidied >"$work/tidied"; exit' TERM
sleep $wait_s &
wait
END
cat >"$work/end" <<END
. "$work/functions.sh"
"$work/stubborn" &
"$work/tidy" &
until [ "\$(grep -lzsxF -f "$work/pattern" /proc/[0-9]*/cmdline | wc -l)" -eq 3 ]; do
    sleep 0.1
done
end_started
END
# It looks like a child to who takes a process's name for more than that.
sleep "$wait_s" &
bystander=$!
SQT_SOURCE=$SQT_SOURCE sh "$work/end" >"$out" 2>&1
are_waiting 1 && kill -0 $bystander
check "what does not end when it is asked is killed, and nothing is that was not started"
[ "$(cat "$work/tidied" 2>/dev/null)" = tidied ]
check "but has the time to clean up first, with programs of its own"
kill $bystander

plan
