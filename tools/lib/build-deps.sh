# SPDX-License-Identifier: GPL-2.0-or-later
#
# build-deps.sh - what a build of Squid needs, and how Debian calls it.  Needs say.sh.

# missing_packages HOW SMALL: names Debian packages whose programs or headers are not here, one a line.
# HOW: tree (libsqtrace is built too), installed or none (no libsqtrace).  SMALL: yes or no; a small Squid has TLS.
missing_packages()
{
    while read -r need package; do
        case $need in
        *.h)
            printf '#include <%s>\n' "$need" | ${CC:-cc} -E - >/dev/null 2>&1 || echo "$package"
            ;;
        *)
            command -v "$need" >/dev/null || echo "$package"
            ;;
        esac
    done <<END
${CC:-cc} build-essential
${CXX:-c++} build-essential
make build-essential
perl perl
diff diffutils
tar tar
xz xz-utils
sha256sum coreutils
END
    # Told apart from the list: only a libsqtrace that is still to be built needs these.
    if [ "$1" = tree ]; then
        command -v autoconf >/dev/null || echo autoconf
        command -v automake >/dev/null || echo automake
        printf '#include <event2/event.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo libevent-dev
        printf '#include <curses.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo libncurses-dev
        printf '#include <openssl/ssl.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo libssl-dev
    fi
    if [ "$2" = yes ]; then
        printf '#include <openssl/ssl.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo libssl-dev
    fi
    if [ "$1" != none ]; then
        printf '#include <zlib.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo zlib1g-dev
    fi
}

# check_build_deps HOW SMALL
check_build_deps()
{
    packages=$(missing_packages "$1" "$2" | sort -u | tr '\n' ' ')
    [ -z "$packages" ] || die "missing to build Squid: apt-get install ${packages% }"
}

# What bootstrap.sh needs to make configure in a tree as version control has it.
check_bootstrap_deps()
{
    packages=$(
        command -v autoconf >/dev/null || echo autoconf
        command -v automake >/dev/null || echo automake
        command -v libtoolize >/dev/null || echo libtool
        printf '#include <ltdl.h>\n' | ${CC:-cc} -E - >/dev/null 2>&1 || echo libltdl-dev
    )
    # shellcheck disable=SC2086 # words of one line
    [ -z "$packages" ] || die "missing to bootstrap Squid: apt-get install" $packages
}
