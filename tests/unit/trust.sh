#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trust.sh - the scripts use no folder, list or file that another user could have made, and remove only what they made.
#
# Where it runs as root, the user nobody attacks.
#
# SQT_SOURCE: sqtrace's source tree.
set -u

: "${SQT_SOURCE:?}"
. "$SQT_SOURCE/tests/unit/tap.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-trust-test.XXXXXX") || exit 1
planted=
trap 'rm -rf "$work" ${planted:+"$planted"}' EXIT
chmod 755 "$work"
out=$work/out
unset SQTRACE_CACHE TMPDIR
export LC_ALL=C
newline='
'
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

# skip NAME REASON
skip()
{
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

# as_root: whether the attacks can be tried.
as_root()
{
    [ "$(id -u)" -eq 0 ] && $nobody true 2>/dev/null
}

# program PATH: makes a program of that name; its text comes from the standard input.
program()
{
    mkdir -p "${1%/*}"
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod 755 "$1"
}

# A Squid that notes who runs it.
squid_text="id -un >>'$work/ran'; echo 'Squid Cache: Version 7.7'"

# What an experiment needs to come to its first run, which fails.
mkdir -p "$work/tools"
for name in sqtrace-load sqtrace-dump sqtrace-report file-pages; do
    program "$work/tools/$name" </dev/null
done
echo "$squid_text" | program "$work/squid/sbin/squid"

# experiment ARGUMENT...: sets status.
experiment()
{
    "$SQT_SOURCE/tools/sqtrace-experiment" "$@" --tools="$work/tools" >"$out" 2>&1 </dev/null
    status=$?
}

# refused TEXT: whether the script ended with 1 and one line of error that has TEXT.
refused()
{
    [ "$status" -eq 1 ] && [ "$(wc -l <"$out")" -eq 1 ] && grep -qF -- "$1" "$out"
}

# victim FOLDER: makes it, with a file in it.
victim()
{
    mkdir -p "$1" && echo kept >"$1/file"
}

spared()
{
    for spared; do
        [ "$(cat "$spared/file" 2>/dev/null)" = kept ] || return 1
    done
}

# ---- 1: a folder in /var/tmp that another user made ----

# A clone that Squid's user cannot reach, so that the folder for Squids is in /var/tmp.  What demo and check call notes
# that it was called.
private=$work/private
mkdir -m 700 "$private"
cp -R "$SQT_SOURCE/tools" "$private/"
chmod -R u+w "$private/tools"
mkdir "$private/patches"
echo "echo built >>'$work/ran'; exit 1" | program "$private/tools/sqtrace-build"
cp "$SQT_SOURCE/patches/releases" "$private/patches/"
for name in autoreconf make; do
    program "$private/bin/$name" </dev/null
done
echo "echo 'install ok installed'" | program "$private/bin/dpkg-query"
program "$private/configure" </dev/null
SQTRACE_CACHE=$private/build
export SQTRACE_CACHE
planted=/var/tmp/sqtrace-$(echo "$private/build/installed" | sha256sum | cut -c 1-8)

# run_private SCRIPT ARGUMENT...: sets status.
run_private()
{
    rm -f "$work/ran"
    script=$1
    shift
    PATH=$private/bin:$PATH timeout 60 "$private/tools/$script" "$@" >"$out" 2>&1 </dev/null
    status=$?
}

# refuses NAME TEXT: whether each script refuses what is planted, and runs nothing of it.
refuses()
{
    for script in experiment demo check; do
        case $script in
        experiment) run_private sqtrace-experiment overhead --tools="$work/tools" ;;
        demo) run_private demo ;;
        check) run_private check --only=squid --squid=7.7 ;;
        esac
        refused "$planted is not used, because $2" && [ ! -e "$work/ran" ]
        check "$script: $1 is refused, and nothing in it is run"
    done
}

if as_root; then
    echo "$squid_text" | program "$work/planted/patched/sbin/squid"
    $nobody sh -c "umask 022; cp -R '$work/planted' '$planted'"
    refuses "a folder of another user" "$planted belongs to nobody (uid 65534) and has mode 755"
    rm -rf "$planted"
    # What is planted with the help of a link belongs to root itself.
    $nobody ln -s "$work/planted" "$planted"
    refuses "another user's symbolic link" "$planted belongs to nobody (uid 65534)"
    rm -f "$planted"
    cp -R "$work/planted" "$planted"
    chmod 775 "$planted"
    refuses "a folder that a group can write to" "$planted has mode 775, so others can write to it"
    chmod 755 "$planted"
    rm -f "$work/ran"
    run_private sqtrace-experiment overhead --tools="$work/tools" --unpatched="$work/squid"
    [ "$(head -n 1 "$work/ran")" = root ]
    check "the same folder is used if it belongs to root alone"
    rm -rf "$planted"
    run_private demo
    [ "$(cat "$work/ran")" = built ] && [ "$(stat -c '%u %a' "$planted")" = "0 755" ]
    check "demo makes the folder for root alone"
    rm -rf "$planted"
else
    skip "a planted folder is refused" "needs root, and a user to attack it"
fi
planted=
unset SQTRACE_CACHE

# ---- a clone with a space in its name ----

clone=$work/a${newline}clone
cp -R "$private" "$clone"
rm -rf "$clone/build"
for script in demo check; do
    "$clone/tools/$script" >"$out" 2>&1 </dev/null
    status=$?
    refused "this source tree: '$work/a\nclone': autoconf, make and Squid's own build fail where names hold spaces" &&
        [ ! -e "$clone/build" ]
    check "$script: a clone with a line break in its name is refused in one line, before anything is made"
done
"$clone/tools/sqtrace-experiment" overhead --tools="$work/tools" --squid="$work/squid" --unpatched="$work/squid" \
    >"$out" 2>&1 </dev/null
grep -q 'Squid did not start' "$out" && [ -d "$clone/build/experiment/overhead/runs/1-unpatched" ]
check "an experiment works from there"
if as_root; then
    rm -rf "$clone/build"
    mkdir -p "$clone/build/installed"
    cp -R "$work/squid" "$clone/build/installed/patched"
    # All users can reach it, so Squids are in it.
    chmod 755 "$clone"
    chown -R 65534 "$clone"
    "$clone/tools/sqtrace-experiment" overhead --tools="$work/tools" --unpatched="$work/squid" >"$out" 2>&1 </dev/null
    grep -q 'Squid did not start' "$out"
    check "and so does root's from a clone of another user, which is believed"
else
    skip "root's experiment from a clone of another user" "needs root, and a user to attack it"
fi

# ---- homes and folders for temporary files ----

# The installed script has no tree: its own place is the home of who runs it.
sed "s|^installed_data=.*|installed_data='$SQT_SOURCE/tools'|" "$SQT_SOURCE/tools/sqtrace-experiment" |
    tail -n +2 | program "$work/tools/installed"
if as_root; then
    mkdir -p "$work/home"
    chown 65534 "$work/home"
    echo "$squid_text" | program "$work/planted/patched/sbin/squid"
    $nobody sh -c "mkdir -p '$work/home/.cache/sqtrace' && cp -R '$work/planted' '$work/home/.cache/sqtrace/installed'"
    rm -f "$work/ran"
    HOME=$work/home "$work/tools/installed" overhead >"$out" 2>&1 </dev/null
    status=$?
    refused "$work/home belongs to nobody (uid 65534)" && [ ! -e "$work/ran" ]
    check "a home of another user is refused, and no Squid in it is run"
    mkdir -p "$work/squid-source/src"
    printf "PACKAGE_NAME='Squid Web Proxy'\nPACKAGE_VERSION='7.7'\n" >"$work/squid-source/configure"
    : >"$work/squid-source/src/cf.data.pre"
    TMPDIR=$work/home "$SQT_SOURCE/tools/sqtrace-build" --squid=7.7 --check-patches --source="$work/squid-source" \
        >"$out" 2>&1 </dev/null
    status=$?
    refused "$work/home is not used, because $work/home belongs to nobody (uid 65534)" &&
        [ "$(ls -A "$work/home")" = .cache ]
    check "a TMPDIR of another user is refused, and nothing is left in it"
else
    skip "a home of another user is refused" "needs root, and a user to attack it"
fi

# ---- 2: the list of what was made ----

squid=--squid=$work/squid
if as_root; then
    victim "$work/victim"
    mkdir "$work/results"
    chown 65534 "$work/results"
    identity=$(stat -c %i@%.W "$work/victim")
    $nobody sh -c "printf '%s\n' 'owner 1 1' 'folder $work/victim' 'folder $identity $work/victim' >'$work/results/made'"
    experiment overhead "$squid" --unpatched="$work/squid" --folder="$work/results"
    refused "$work/results/made: this list is not believed, because it belongs to nobody (uid 65534)" &&
        spared "$work/victim" && [ -s "$work/results/made" ]
    check "a list that another user planted is refused, and nothing that it names is removed"
    chown 0 "$work/results/made"
    chmod 666 "$work/results/made"
    experiment overhead "$squid" --unpatched="$work/squid" --folder="$work/results"
    refused "has mode 666" && spared "$work/victim"
    check "and so is one that others can write to"
    rm "$work/results/made"
    printf '%s\n' 'owner 1 1' "folder $work/victim" "folder $identity $work/victim" >"$work/list"
    $nobody ln -s "$work/list" "$work/results/made"
    experiment overhead "$squid" --unpatched="$work/squid" --folder="$work/results"
    refused "it is no regular file" && spared "$work/victim"
    check "and a symbolic link to a list of root's"
else
    skip "a planted list is refused" "needs root, and a user to attack it"
fi

# on_disks NAME DIR DIR: an experiment on these, whose names begin with those of others.
on_disks()
{
    for dir in "$2" "$3"; do
        victim "$dir"
        victim "$dir/sqtrace-experiment"
    done
    experiment disk-arms --only=ufs-two "$squid" --disks="$2,$3" --folder="$work/on $1"
    # It comes to the Squid, which does not start.
    grep -q 'Squid did not start' "$out" && spared "$2" "$3" "$2/sqtrace-experiment" "$3/sqtrace-experiment" &&
        [ -z "$(find "$2" "$3" -name 'sqtrace-experiment.*')" ] && [ ! -e "$work/on $1/made" ]
}

victim "$work/x/cache"
victim "$work/x/cache 1/sqtrace-experiment"
on_disks spaces "$work/x/cache 1" "$work/x/cache 2" && spared "$work/x/cache"
check "--disks with spaces in the names: what was made is removed, and nothing else"
victim "$work/x/line"
on_disks "a${newline}line" "$work/x/line${newline}break" "$work/x/back\\slash" && spared "$work/x/line"
check "--disks with line breaks and backslashes in the names"
victim "$work/t/tmp"
mkdir "$work/t/tmp 1"
TMPDIR="$work/t/tmp 1" experiment overhead "$squid" --unpatched="$work/squid" --folder="$work/results2"
spared "$work/t/tmp" && refused "TMPDIR: '$work/t/tmp 1' holds white space"
check "TMPDIR with a space is refused, because squid.conf cannot name it, and nothing is removed"

# A folder that the caller names may hold other things.
victim "$work/mine/runs"
for more in "" --fresh; do
    experiment overhead "$squid" --unpatched="$work/squid" --folder="$work/mine" $more
    refused "--folder: $work/mine/runs holds what sqtrace-experiment has not made" && spared "$work/mine/runs"
    check "an experiment${more:+ with }$more removes no runs that it has not made"
done
victim "$work/mine/check"
SQTRACE_CACHE=$work/mine run_private check --only=build
refused "$work/mine/check holds what check has not made" && spared "$work/mine/check"
check "check removes no results that it has not made"
: >"$work/mine/kept.tsv"
run_private demo --report="$work/mine" --squid="$work/squid"
refused "--report: $work/mine holds what demo has not made" && [ -e "$work/mine/kept.tsv" ]
check "demo removes nothing from a folder that it has not made"

# The functions themselves, in a process that is killed and in the one after that.
cat >"$work/lists.sh" <<'END'
program=lists
for part in lib/say lib/trust lib/started lib/squid experiment/frame/undo experiment/frame/runs; do
    . "$SQT_SOURCE/tools/$part.sh"
done
folder=$1
shift
case ${0##*/} in
killed)
    take_list
    for name; do
        mkdir "$name" && made folder "$name"
    done
    kill -KILL $$
    ;;
*) take_list ;;
esac
END
cp "$work/lists.sh" "$work/killed"
mkdir "$work/lists"
set -- "$work/a b" "$work/a${newline}b" "$work/a\\nb" "$work/ a " "$work/a${newline}" "$work/*" "$work/-a"
victim "$work/a"
SQT_SOURCE=$SQT_SOURCE sh "$work/killed" "$work/lists" "$@" >"$out" 2>&1
made=0
for name; do
    [ ! -d "$name" ] || made=$((made + 1))
done
# Another folder has the name of one that was made.
rmdir "$work/a b"
victim "$work/other"
mv "$work/other" "$work/a b"
SQT_SOURCE=$SQT_SOURCE sh "$work/lists.sh" "$work/lists" >>"$out" 2>&1
left=0
for name; do
    [ ! -d "$name" ] || left=$((left + 1))
done
[ $made -eq 7 ] && [ $left -eq 1 ] && spared "$work/a" "$work/a b" && grep -q 'is left alone' "$out"
check "what a killed run left is removed, whatever its name, but not what has its name now ($made made, $left left)"

# ---- 6: names that can be guessed ----

mkdir "$work/tmp"
cat >"$work/values.sh" <<'END'
# Who can guess the process's number makes the link before.
ln -s "$victim" "$TMPDIR/sqtrace-experiment-values.$$"
program=values
data=$SQT_SOURCE/tools
given=
scale=1 round=1 folder=$TMPDIR here=$TMPDIR/here
for part in lib/say experiment/frame/options experiment/frame/tables experiment/$1; do
    . "$data/$part.sh"
done
mkdir -p "$here"
: >"$here/load.tsv"
: >"$here/cpu_us"
for step in 1 2 3 4 5 6 7; do
    : >"$here/load-$step.tsv"
done
sqtrace_dump() { echo overwritten; }
values off
END
program "$work/tmp/bin/sqtrace-dump" <<'END'
echo overwritten
END
for name in cache-fill digests diskop; do
    echo kept >"$work/file"
    PATH=$work/tmp/bin:$PATH TMPDIR=$work/tmp victim=$work/file sh "$work/values.sh" $name >"$out" 2>&1
    [ "$(cat "$work/file")" = kept ]
    check "$name writes to no file that another user can guess the name of"
done

# ---- 15: what Squid's user can have root write ----

cat >"$work/configure.sh" <<'END'
program=configure
for part in say trust squid; do
    [ ! -f "$SQT_SOURCE/tools/lib/$part.sh" ] || . "$SQT_SOURCE/tools/lib/$part.sh"
done
squid_configure "$1" "$2" 3128 </dev/null
END
if as_root; then
    as_squid="setpriv --reuid=$(id -u proxy 2>/dev/null || id -u nobody) --regid=65534 --clear-groups"
    place=$work/conf
    echo kept >"$work/file"
    SQT_SOURCE=$SQT_SOURCE sh "$work/configure.sh" "$place" "$work/prefix"
    # Whoever can write to a folder can put a link to another file there.
    for name in squid.conf squid.out made squid.pid; do
        $as_squid ln -sf "$work/file" "$place/$name" 2>/dev/null
    done
    SQT_SOURCE=$SQT_SOURCE sh "$work/configure.sh" "$place" "$work/prefix"
    [ "$(cat "$work/file")" = kept ] && [ "$(stat -c '%u %a' "$place")" = "0 755" ] && grep -q 3128 "$place/squid.conf"
    check "Squid's user cannot have root write elsewhere through squid.conf"
    for name in access.log cache.log cache/new trace/new; do
        $as_squid sh -c "echo >>'$place/$name'" || break
    done
    [ -e "$place/trace/new" ]
    check "but writes its logs, cache and trace"
else
    skip "Squid's user cannot have root write elsewhere" "needs root, and a user to attack it"
fi

plan
