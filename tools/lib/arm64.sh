# SPDX-License-Identifier: GPL-2.0-or-later
#
# arm64.sh - libsqtrace, reader and model for arm64, and their unit tests in an emulator.  Needs say.sh, debian-package.sh
# (own_apt), $top, $jobs.

arm64_host=aarch64-linux-gnu
arm64_emulator=qemu-aarch64-static
# Besides those of packages.sh: libraries for arm64, unpacked into a folder; nothing is installed.
arm64_libraries='zlib1g-dev libcmocka-dev libevent-dev libncurses-dev libssl-dev'

# arm64_lacks: says why the tests cannot run here; fails if they can.
arm64_lacks()
{
    for program in $arm64_host-gcc $arm64_emulator apt-get dpkg; do
        command -v "$program" >/dev/null || { echo "there is no $program" && return; }
    done
    return 1
}

# arm64_fetch FOLDER: unpacks the libraries into FOLDER/root.  What comes with the compiler (the C library) is left out.
arm64_fetch()
{
    [ ! -e "$1/root/complete" ] || return 0
    rm -rf "$1/root"
    source_places "$1/apt"
    arm64='-o APT::Architecture=arm64 -o APT::Architectures=arm64'
    # shellcheck disable=SC2086 # words without spaces
    own_apt "$1/apt" apt-get $arm64 update &&
        own_apt "$1/apt" apt-get $arm64 install -y --download-only --no-install-recommends $arm64_libraries || return 1
    for package in "$1"/apt/cache/archives/zlib1g*.deb "$1"/apt/cache/archives/libcmocka*.deb \
        "$1"/apt/cache/archives/libevent*.deb "$1"/apt/cache/archives/libncurses*.deb \
        "$1"/apt/cache/archives/libtinfo*.deb "$1"/apt/cache/archives/libssl*.deb; do
        dpkg -x "$package" "$1/root" || return 1
    done
    : >"$1/root/complete"
}

# arm64_build FOLDER: in FOLDER/sqtrace.  The programs that make manual pages would have to run, so not all is made.
arm64_build()
{
    root=$1/root
    mkdir -p "$1/sqtrace"
    (
        # shellcheck disable=SC2086 # names without spaces
        cd "$1/sqtrace" &&
            "$top/configure" -q --host=$arm64_host --enable-warnings-as-errors \
                CPPFLAGS="-I$root/usr/include -I$root/usr/include/$arm64_host" \
                LDFLAGS="-L$root/usr/lib/$arm64_host -Wl,-rpath-link,$root/usr/lib/$arm64_host:$root/lib/$arm64_host" &&
            core_tests=$(make -s core-tests) && make -j"$jobs" libsqtrace.a sqtrace-dump $core_tests
    )
}

# arm64_check FOLDER SECONDS: runs the unit tests, with the generic timer.
arm64_check()
{
    root=$1/root
    find "$1/sqtrace/tests" -name '*.trs' -exec rm -f {} +
    libraries=$root/usr/lib/$arm64_host:$root/lib/$arm64_host
    SQTRACE_CLOCK=counter timeout -k 30 "$2" make -k -C "$1/sqtrace" -j"$jobs" check-TESTS \
        TESTS="$(make -s -C "$1/sqtrace" core-tests)" \
        LOG_COMPILER="$top/tests/unit/bounded-tap $arm64_emulator -L /usr/$arm64_host -E LD_LIBRARY_PATH=$libraries"
}
