# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages.sh - Debian packages that are needed, installed if they are not.  Needs say.sh.

# For building sqtrace and Squid, and running the demo.  Squid's own tests need libcppunit-dev, for which its configure looks.
demo_packages='build-essential autoconf automake zlib1g-dev libzstd-dev libevent-dev libncurses-dev libssl-dev perl patch xz-utils ccache curl nginx-light wrk gnuplot-nox libfuse3-dev e2fsprogs sysstat libcppunit-dev'
# For the tests, beside those.
check_packages='libcmocka-dev libbpf-dev openssl python3 python3-venv babeltrace2 chromium golang-src c-icap vsftpd strace shellcheck clang libclang-rt-dev clang-format llvm valgrind prometheus man-db iproute2'
# For the Squid of the phase gnutls, beside those.
gnutls_packages='libgnutls28-dev libecap3-dev pkg-config'
# For the unit tests on arm64, beside those.
arm64_packages='gcc-aarch64-linux-gnu qemu-user-static'
# For the test of the Debian packages, beside those.
packaging_packages='debhelper lintian pkg-config'
# For the tests of the RPM packages and of the container, beside those.
rpm_packages='rpm rpmlint cpio file pkg-config'
container_packages='mmdebstrap podman runc'
# For the Squids of a clone, which has no configure: the phases versions and upstream.
clone_packages='libtool libltdl-dev'
# For the phase fresh.
fresh_packages='mmdebstrap git'

# Those of the given packages that are not installed.
packages_missing()
{
    for package in "$@"; do
        dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || echo "$package"
    done
}

# as_root_or_die COMMAND: sets sudo, what goes before a command of root; COMMAND is what to do by hand.
as_root_or_die()
{
    sudo=
    [ "$(id -u)" -ne 0 ] || return 0
    sudo="sudo -n"
    $sudo true 2>/dev/null || die "missing packages, and no right to install them: $1"
}

# apt_get LOG COMMAND WORD...: tries three times, because a mirror may be out of reach for seconds.  Another apt-get is
# waited for.
apt_get()
{
    apt_log=$1
    shift
    for apt_wait in 5 20 0; do
        # shellcheck disable=SC2086 # two words or none
        run_logged "$apt_log" $sudo env DEBIAN_FRONTEND=noninteractive \
            apt-get -q -o DPkg::Lock::Timeout=120 -o APT::Update::Error-Mode=any "$@" && return 0
        [ $apt_wait -eq 0 ] || say "apt-get $1 failed, and is tried again in $apt_wait s"
        sleep $apt_wait
    done
    die_with_log "$apt_log" "apt-get $1 failed"
}

# install_packages LOG PACKAGE...
install_packages()
{
    install_log=$1
    shift
    if ! command -v dpkg-query >/dev/null; then
        say "this is not Debian: install yourself what is missing of: $*"
        return 0
    fi
    # shellcheck disable=SC2046 # names hold no spaces
    set -- $(packages_missing "$@")
    [ $# -gt 0 ] || return 0
    as_root_or_die "sudo apt-get install $*"
    say "installing $*"
    apt_get "$install_log" update
    apt_get "$install_log" install -y --no-install-recommends "$@"
}

# install_build_deps LOG TREE: what the unpacked source package TREE is built with.
install_build_deps()
{
    as_root_or_die "sudo apt-get build-dep $2"
    say "installing what $2 is built with"
    apt_get "$1" update
    apt_get "$1" build-dep -y --no-install-recommends "$2"
}
