#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fresh-packages.sh FOLDER [SQUID [RELEASE...]] - README's way from packages to a report, in TAP, in fresh roots of Debian 12
# and 13 that are made in FOLDER.  One root builds the packages.  Another, with nothing of sqtrace, installs them from files,
# switches tracing on, makes a report, and removes them again.
#
# SQUID is the prefix of a patched Squid, built on Debian 12, whose libraries are in both releases.  Without it, the root
# rebuilds the distribution's own Squid with sqtrace-build --debian, which takes an hour.  Compilers' results stay in
# FOLDER/shared, and the root of a release that fails stays in FOLDER.  Needs root, mmdebstrap and git.
#
# SQT_REUSE: if not empty, the packages that the last run left in FOLDER are taken.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
for part in tests/unit/tap.sh tests/packages/fresh-root.sh; do
    # shellcheck source=/dev/null
    . "$top/$part" || exit 1
done
mkdir -p "${1:?usage: fresh-packages.sh FOLDER [SQUID [RELEASE...]]}/shared" || exit 1
folder=$(cd "$1" && pwd -P)
squid=
[ -z "${2-}" ] || squid=$(cd "$2" && pwd -P) || exit 1
shift
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- bookworm trixie
out=$folder/out err=
: >"$out"

skip()
{
    echo "ok 1 - packages on fresh machines # SKIP $1"
    echo 1..1
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'roots are made by root'
unshare --mount --pid --fork true 2>/dev/null || skip 'root may make no namespaces here'
[ -e "$top/.git" ] || skip 'this source tree is no clone'

running=
trap '[ -z "$running" ] || kill -KILL "$running"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# in_root COMMAND: a command of sh, in $root.  Its output goes to $out and is added to $log.
in_root()
{
    fresh_exec "$root" "$folder/shared" env DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/mnt/ccache sh -ec "$1" >"$out" 2>&1 </dev/null &
    running=$!
    wait "$running"
    in_root_status=$?
    running=
    {
        echo "+ $1"
        cat "$out"
    } >>"$log"
    tail -n 5 "$out" >"$out.end" && mv "$out.end" "$out"
    return $in_root_status
}

# readme TEXT: README's first example with that text, as root types it.
readme()
{
    grep -F "$1" "$top/README.md" | sed -n '/^    /{s///; s/\<sudo //g; s/ # .*//; s/apt-get install/apt-get -q install -y/; p; q;}'
}

# see STATUS NAME: as check, and counts in failed.  NAME may run commands, after which some shells have another $?.
see()
{
    failed=$((failed + ($1 != 0)))
    [ "$1" -eq 0 ]
    check "$release: $2"
}

# new_root NAME: makes $root.
new_root()
{
    root=$folder/$1
    rm -rf --one-file-system "$root"
    fresh_make "$release" "$root" >"$out" 2>&1
}

# files: all that packages and people have in $root, without what apt, dpkg and logs keep.
files()
{
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./mnt -o -path ./tmp -o -path ./packages \
        -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune -o \
        \( -type f -o -type l \) -print) | sort
}

# traced_squid: a patched Squid is in $root, with README's path of its configuration.  The packages are installed.
traced_squid()
{
    if [ -z "$squid" ]; then
        # The packages that the build lacks are those of apt's build-dep.
        in_root "sed -i '/^deb /{p;s/^deb /deb-src /}' /etc/apt/sources.list; apt-get -q update
            apt-get -q install -y --no-install-recommends build-essential dpkg-dev ccache
            apt-get -q build-dep -y --no-install-recommends squid
            $(readme 'sqtrace-build --debian')
            $(readme '/var/tmp/squid/debian/squid_')"
        return
    fi
    mkdir -p "$root$squid" && cp -a "$squid/." "$root$squid" || return 1
    # In Debian 13, libssl3t64 provides libssl3.
    in_root "apt-get -q install -y --no-install-recommends libssl3 libstdc++6 libzstd1 zlib1g
        ln -s '$squid/etc' /etc/squid
        ln -s '$squid/sbin/squid' /usr/sbin/squid
        ln -s '$squid/var/logs' /var/log/squid
        mkdir -p /var/spool/squid
        printf '%s\n' 'cache_effective_user proxy' 'access_log stdio:$squid/var/logs/access.log' \\
            'http_port 127.0.0.1:3128' 'pid_filename /tmp/squid.pid' 'shutdown_lifetime 1 second' >/etc/squid/squid.conf
        rm -rf '$squid'/var/logs/* /etc/squid/sqtrace.conf
        chown -R proxy:proxy '$squid/var' /var/spool/squid"
}

# build: the packages, into $packages, as README says.
build()
{
    new_root "$release-build" && fresh_clone "$top" "$root" /root/sqtrace >"$out" 2>&1
    see $? "mmdebstrap makes a root, with a clone below /root"
    in_root "apt-get -q update; apt-get -q install -y --no-install-recommends ccache
        $(readme 'libssl-dev gnuplot-nox') --no-install-recommends
        $(readme 'debhelper libfuse3-dev') --no-install-recommends
        cd /root/sqtrace; PATH=/usr/lib/ccache:\$PATH; DEB_BUILD_OPTIONS='nocheck parallel=2 ${DEB_BUILD_OPTIONS-}'; export DEB_BUILD_OPTIONS
        $(readme 'dpkg-buildpackage -us')"
    see $? "packages are built with what README names"
    rm -rf "$packages" && mkdir "$packages" && cp "$root"/root/*.deb "$packages" && rm -rf --one-file-system "$root"
}

# Roots share the machine's network.
port=$((20000 + $$ % 10000))

for release in "$@"; do
    log=$folder/$release.log
    packages=$folder/$release-packages
    : >"$log"
    failed=0
    [ -n "${SQT_REUSE-}" ] && [ -d "$packages" ] || build
    [ -n "$(find "$packages" -name 'sqtrace_*.deb')" ] || continue
    new_root "$release"
    see $? "mmdebstrap makes a root with nothing of sqtrace"
    cp -a "$packages" "$root/packages" && mkdir "$root/packages/here" && in_root "apt-get -q update; cd /packages/here
        $(readme './sqtrace_*.deb ../libsqtrace-dev_*.deb')"
    see $? "README's line installs sqtrace and libsqtrace-dev from files"
    in_root 'sqtrace-dump --version && sqtrace-report --version && sqtrace-build --version'
    see $? "$(head -n 1 "$out")"
    traced_squid
    see $? "a patched Squid is there"
    in_root "sed -i 's/^http_port .*/http_port 127.0.0.1:$port/; 1i http_access allow localhost' /etc/squid/squid.conf
        $(readme 'install -d -o proxy -g proxy /var/spool/squid/trace')
        $(readme "echo 'sqtrace_log /var/spool/squid/trace total=4GB' | sudo tee")
        squid -k parse"
    see $? "README's lines switch tracing on"
    in_root "squid -d 1 --foreground & squid=\$!
        for second in \$(seq 60); do
            sleep 1
            ! sqtrace-load --proxy=127.0.0.1:$port --clients=2 --requests=50 --quiet || break
        done
        sqtrace-load --proxy=127.0.0.1:$port --clients=2 --requests=50 --quiet
        kill -TERM \$squid; wait \$squid"
    see $? "Squid starts, serves and ends in order"
    rows=0
    in_root "sqtrace-dump --quiet --columns=method /var/spool/squid/trace | grep -c '^GET\$'" && rows=$(tail -n 1 "$out") && [ "$rows" -ge 200 ]
    see $? "the trace has $rows requests"
    in_root "cd /tmp && $(readme 'sqtrace-report -o report /var/spool/squid/trace') && test -s report/index.html && ls -s report/index.html"
    see $? "README's line makes a report: $(tail -n 1 "$out")"
    files >"$folder/$release.with"
    in_root 'apt-get -q purge -y sqtrace libsqtrace-dev'
    see $? "apt removes the packages"
    files >"$folder/$release.without"
    grep -i sqtrace "$folder/$release.without" | grep -v "^\./etc/squid/sqtrace.conf\|^\./var/spool/squid/trace/\|^\.${squid:-/nowhere}/" >"$out"
    [ ! -s "$out" ] && [ "$(wc -l <"$folder/$release.with")" -gt "$(wc -l <"$folder/$release.without")" ]
    see $? "of $(comm -23 "$folder/$release.with" "$folder/$release.without" | wc -l) files nothing is left but the line that was written, and the trace"
    in_root "squid -k parse"
    see $? "Squid still takes its configuration"
    if [ $failed -eq 0 ]; then
        rm -rf --one-file-system "$root"
    else
        echo "# kept: $root, $log"
    fi
done
plan
