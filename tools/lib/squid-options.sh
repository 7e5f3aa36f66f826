# SPDX-License-Identifier: GPL-2.0-or-later
#
# squid-options.sh - how sqtrace-build configures Squid.

# For use: what upstream builds by default, with every kind of cache_dir.
squid_default_options='
    --disable-arch-native
    --enable-storeio=ufs,aufs,diskd,rock
    --enable-removal-policies=lru,heap'
squid_default_flags='-O2 -g'

# For tests and the demo (--small): with every path that a hook is on, without what no test uses, so that it builds in
# minutes.
squid_small_options='
    --disable-arch-native
    --enable-storeio=ufs,aufs,diskd,rock
    --enable-removal-policies=lru,heap
    --enable-auth
    --enable-auth-basic=none
    --disable-auth-digest
    --disable-auth-negotiate
    --disable-auth-ntlm
    --enable-delay-pools
    --enable-htcp
    --enable-cache-digests
    --with-openssl
    --disable-shared
    --disable-translation
    --disable-auto-locale
    --disable-external-acl-helpers
    --disable-url-rewrite-helpers
    --disable-storeid-rewrite-helpers
    --disable-security-cert-generators
    --disable-security-cert-validators
    --disable-log-daemon-helpers
    --disable-snmp
    --disable-wccp
    --disable-wccpv2
    --disable-eui
    --disable-esi
    --disable-icmp
    --disable-loadable-modules
    --disable-ident-lookups
    --without-gnutls
    --without-ldap
    --without-mit-krb5
    --without-heimdal-krb5
    --without-gss
    --without-xml2
    --without-expat
    --without-tdb
    --without-netfilter-conntrack
    --without-systemd
    --without-cap
    --without-nettle'
# The same code, and of what a debugger reads only functions and lines: that is a third less of a compiler's time.
squid_small_flags='-O2 -g1'

# squid_newer_compiler CXX: flags that follow those above, against a warning that is newer than some releases: GCC 14 warns
# of a constructor in the headers of Squid 5.7, and Squid's build takes that for an error.
squid_newer_compiler()
{
    # shellcheck disable=SC2086 # ccache and a compiler
    ! echo 'int one;' | $1 -Werror -Wtemplate-id-cdtor -fsyntax-only -x c++ - >/dev/null 2>&1 ||
        echo ' -Wno-template-id-cdtor'
}
