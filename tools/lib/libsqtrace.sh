# SPDX-License-Identifier: GPL-2.0-or-later
#
# libsqtrace.sh - the library that a patched Squid is linked with.  Needs say.sh, places.sh.

# libsqtrace_from_tree TREE WORK JOBS: builds it from sqtrace's own source tree into WORK/libsqtrace.
# Sets lib_libs and lib_file.
libsqtrace_from_tree()
{
    lib_log=$2/libsqtrace.log
    : >"$lib_log" || die "$lib_log: cannot write"
    lib_build=$2/libsqtrace-build
    lib_prefix=$2/libsqtrace
    plain_tree "$1" "$2" >>"$lib_log" 2>&1 || die_with_log "$lib_log" "sqtrace's source tree cannot be copied"
    # WORK may be shared by several source trees.
    [ "$(cat "$lib_build/tree" 2>/dev/null)" = "$1 $plain" ] || rm -rf "$lib_build"
    mkdir -p "$lib_build" && echo "$1 $plain" >"$lib_build/tree" || die "$lib_build: cannot make this directory"
    set -- "$plain" "$2" "$3"
    if [ ! -x "$1/configure" ] || [ "$1/configure.ac" -nt "$1/configure" ] || [ "$1/Makefile.am" -nt "$1/Makefile.in" ]; then
        run_logged "$lib_log" autoreconf -i "$1" || die_with_log "$lib_log" "autoreconf failed"
    fi
    if [ ! -f "$lib_build/Makefile" ] || [ "$1/configure" -nt "$lib_build/config.status" ]; then
        run_logged "$lib_log" sh -c 'cd "$1" && "$2/configure" -q --prefix="$3" "CFLAGS=-O2 -g"' - \
            "$lib_build" "$1" "$lib_prefix" ||
            die_with_log "$lib_log" "configuring libsqtrace failed"
    fi
    # -C keeps the times of files that did not change: Squid's make then has nothing to do.
    run_counted "$(compiler_runs_ahead "$lib_build" install-libsqtrace)" "$lib_log" \
        make -C "$lib_build" -j"$3" install-libsqtrace INSTALL="install -C" ||
        die_with_log "$lib_log" "building libsqtrace failed"
    lib_wraps=$(sed -n 's/^wraps=//p' "$lib_prefix/lib/pkgconfig/libsqtrace.pc")
    lib_needs=$(sed -n 's/^Libs:.* -lsqtrace //p' "$lib_prefix/lib/pkgconfig/libsqtrace.pc")
    lib_libs="$lib_wraps -L$lib_prefix/lib -lsqtrace $lib_needs"
    lib_file=$lib_prefix/lib/libsqtrace.a
}

# libsqtrace_installed: asks pkg-config.  Sets the same, and lib_cppflags.
libsqtrace_installed()
{
    command -v pkg-config >/dev/null || die "pkg-config is needed to find libsqtrace: apt-get install pkgconf"
    pkg-config --exists libsqtrace ||
        die "libsqtrace was not found: install it, or set PKG_CONFIG_PATH to the folder that holds libsqtrace.pc"
    lib_cppflags=$(pkg-config --cflags libsqtrace)
    lib_libs="$(pkg-config --variable=wraps libsqtrace) $(pkg-config --libs --static libsqtrace)"
    lib_file=$(pkg-config --variable=libdir libsqtrace)/libsqtrace.a
}
