# SPDX-License-Identifier: GPL-2.0-or-later
#
# fetch.sh - finds the upstream archive of a Squid version and checks its SHA-256.  Needs say.sh.

# apt's own fetcher, on every Debian.
apt_helper=${APT_HELPER:-/usr/lib/apt/apt-helper}

# fetch_url URL FILE: with what the machine has; apt's own fetcher knows apt's proxy.
fetch_url()
{
    rm -f "$2"
    if [ -x "$apt_helper" ] && [ "${1#*/pool/}" != "$1" ]; then
        "$apt_helper" -qq download-file "$1" "$2" >/dev/null 2>&1 && [ -s "$2" ] && return 0
    fi
    if command -v curl >/dev/null; then
        curl -fsSL --connect-timeout 15 --max-time 300 -o "$2" "$1" 2>/dev/null
    elif command -v wget >/dev/null; then
        wget -q --timeout=15 --tries=2 -O "$2" "$1"
    elif [ -x "$apt_helper" ]; then
        "$apt_helper" -qq download-file "$1" "$2" >/dev/null 2>&1
    else
        false
    fi && [ -s "$2" ]
}

# Where the archive of version $1 may be, one URL a line, best first.
archive_urls()
{
    echo "https://github.com/squid-cache/squid/releases/download/SQUID_$(echo "$1" | tr . _)/squid-$1.tar.xz"
    echo "http://www.squid-cache.org/Versions/v${1%%.*}/squid-$1.tar.xz"
    # The mirrors that apt is configured for keep every release's sources in one pool.
    if command -v apt-get >/dev/null; then
        # shellcheck disable=SC2016 # apt expands it
        apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sort -u |
            sed -n "s|/*\$|/pool/main/s/squid/squid_$1.orig.tar.xz|; /^http/p"
    fi
}

# Whether file $1 has SHA-256 $2.
sum_is()
{
    [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$2" ]
}

# find_archive VERSION SUM TARBALLS CACHE: sets archive.  TARBALLS: a folder to take it from, or empty.
find_archive()
{
    if [ -n "$3" ]; then
        [ -d "$3" ] || die "--tarballs: $3 is not a directory"
        for archive in "$3/squid_$1.orig.tar.xz" "$3/squid-$1.tar.xz"; do
            [ -f "$archive" ] || continue
            sum_is "$archive" "$2" || die "$archive: SHA-256 is not the $2 that patches/releases or --sha256 says"
            return 0
        done
        die "--tarballs: neither squid_$1.orig.tar.xz nor squid-$1.tar.xz is in $3"
    fi
    archive=$4/squid_$1.orig.tar.xz
    if [ -f "$archive" ] && sum_is "$archive" "$2"; then
        return 0
    fi
    mkdir -p "$4" || die "$4: cannot make this directory"
    tried=
    for url in $(archive_urls "$1"); do
        say "looking for $url"
        if ! run_logged /dev/null fetch_url "$url" "$archive.part"; then
            tried="$tried
    $url: not to be had"
        elif ! sum_is "$archive.part" "$2"; then
            tried="$tried
    $url: SHA-256 is not the $2 that patches/releases or --sha256 says"
        else
            mv "$archive.part" "$archive" && return 0
        fi
        rm -f "$archive.part"
    done
    die "the archive of Squid $1 was not found; give its folder with --tarballs=DIR.  Looked at:$tried"
}
