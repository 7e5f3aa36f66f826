# SPDX-License-Identifier: GPL-2.0-or-later
#
# debian-package.sh - the distribution's own package of Squid, with a series as its last patches.  Needs say.sh,
# squid-source.sh, build-deps.sh.

# The next security update sorts above this: 5.7-2+deb12u6 < 5.7-2+deb12u6+sqtrace1 < 5.7-2+deb12u7.
debian_suffix=+sqtrace1

# own_apt FOLDER ARGUMENT...: apt-get with the system's places of packages as places of sources, whether it lists these
# or not.  Nothing of the system's own is changed.
own_apt()
{
    own=$1
    shift
    apt-get "$@" -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$own/sources" \
        -o "Dir::State::lists=$own/lists" -o "Dir::Cache=$own/cache"
}

# source_places FOLDER: writes them there.
source_places()
{
    mkdir -p "$1/sources" "$1/lists/partial" "$1/cache/archives/partial" || die "$1: cannot make this directory"
    rm -f "$1/sources"/*
    eval "$(apt-config shell etc Dir::Etc/d)"
    for list in "$etc/sources.list" "$etc/sources.list.d"/*.list; do
        [ -f "$list" ] || continue
        sed -n 's/^deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$list" | sort -u >"$1/sources/${list##*/}.list"
    done
    for list in "$etc/sources.list.d"/*.sources; do
        [ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list" >"$1/sources/${list##*/}"
    done
}

# fetch_package FOLDER LOG: the source package that apt would take, whose sums apt has checked; sets origin, its tree.
fetch_package()
{
    say "asking apt for Squid's source package"
    rm -rf "$1/fetched"
    mkdir -p "$1/fetched" || die "$1: cannot make this directory"
    source_places "$1/apt"
    origin=$1/fetched/squid
    (
        cd "$1/fetched" && own_apt "$1/apt" update && own_apt "$1/apt" source --download-only squid &&
            dpkg-source --extract squid_*.dsc squid
    ) >>"$2" 2>&1 || die_with_log "$2" "the source package was not found; give its unpacked tree with --source=DIR"
}

# Programs that are missing to build packages, by their Debian packages.
check_package_tools()
{
    tools=$(
        command -v dpkg-buildpackage >/dev/null || echo dpkg-dev
        command -v dh >/dev/null || echo debhelper
        [ "$(id -u)" -eq 0 ] || command -v fakeroot >/dev/null || echo fakeroot
    )
    [ -z "$tools" ] || die "missing to build packages: apt-get install" $tools
}

# check_package TREE VERSION: whether TREE is an untouched source package of a Squid that has a series, and of VERSION
# if that is not empty; sets package (its version) and series.
check_package()
{
    [ -f "$1/debian/changelog" ] || [ ! -d "$1" ] ||
        die "--source: $1 is not the unpacked source package of a distribution"
    check_squid_tree "$1" ${2:+"$2"}
    grep -qx '3.0 (quilt)' "$1/debian/source/format" || die "$1: this source package has no list of patches"
    package=$(dpkg-parsechangelog -l "$1/debian/changelog" -S Version)
    series=$data/patches/$found
    [ -f "$series/series" ] || die "there are no patches for $package, Squid $found; there is: $(known_versions)"
}

# check_package_deps TREE: what the package itself wants.
check_package_deps()
{
    wanted=$(cd "$1" && dpkg-checkbuilddeps 2>&1) ||
        die "missing to build $package: ${wanted##*: }; apt-get build-dep $1 installs them"
}

# Of a squid.prerm, which dpkg runs when another version replaces ours: no other Squid starts with our directive.
# shellcheck disable=SC2016 # dpkg expands it
prerm_lines='conf=$DPKG_ROOT/etc/squid/conf.d/sqtrace.conf
if [ "$1" = upgrade ] && [ "${2%+sqtrace*}" = "$2" ] && [ -f "$conf" ]; then
    mv "$conf" "$conf.off"
    echo "squid $2 cannot trace: $conf is now $conf.off"
fi
'

# patch_package TREE SERIES LOG: the series as its last patches, what keeps the next version starting, and its version.
patch_package()
{
    (
        cd "$1" && cp -r "$2" debian/patches/sqtrace && rm debian/patches/sqtrace/series &&
            { [ -z "$(tail -c 1 debian/patches/series)" ] || echo >>debian/patches/series; } &&
            series_patches "$2" | sed 's|^|sqtrace/|' >>debian/patches/series && dpkg-source --before-build .
    ) >>"$3" 2>&1 || die_with_log "$3" "the patches of Squid $found do not apply to $package"
    for script in "$1"/debian/squid*.prerm; do
        [ -f "$script" ] || continue
        awk -v text="$prerm_lines" '/^#DEBHELPER#/ { print text } { print }' "$script" >"$1/.prerm" &&
            cat "$1/.prerm" >"$script" && rm "$1/.prerm"
    done
    {
        printf '%s (%s) %s; urgency=medium\n\n' "$(dpkg-parsechangelog -l "$1/debian/changelog" -S Source)" \
            "$package$debian_suffix" "$(dpkg-parsechangelog -l "$1/debian/changelog" -S Distribution)"
        printf '  * With the patches of sqtrace.\n\n'
        printf ' -- %s <%s>  %s\n\n' "${DEBFULLNAME:-$program}" "${DEBEMAIL:-root@localhost}" "$(date -R)"
        cat "$1/debian/changelog"
    } >"$1/debian/changelog.new" && mv "$1/debian/changelog.new" "$1/debian/changelog"
}

# build_package TREE JOBS LOG: leaves the packages beside TREE.  Needs lib_cppflags and lib_libs, which go to Squid's
# configure through the environment, as debian/rules stay as they are.
build_package()
{
    [ ! -d /usr/lib/ccache ] || PATH=/usr/lib/ccache:$PATH
    run_logged "$3" env -C "$1" "DEB_CPPFLAGS_APPEND=$lib_cppflags" "LIBS=$lib_libs" \
        "DEB_BUILD_OPTIONS=nocheck parallel=$2 ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage -b -us -uc ||
        die_with_log "$3" "dpkg-buildpackage failed"
}

# make_packages FOLDER SOURCE VERSION JOBS: in FOLDER; from the tree SOURCE or, if that is empty, from apt's.  Builds
# libsqtrace if it is not installed.
make_packages()
{
    mkdir -p "$1" || die "$1: cannot make this directory"
    log=$1/log
    : >"$log"
    check_package_tools
    origin=$2
    [ -n "$origin" ] || fetch_package "$1" "$log"
    check_package "$origin" "$3"
    check_package_deps "$origin"
    [ "$libsqtrace" = installed ] || libsqtrace_from_tree "$tree" "$work" "$4"
    say "patching Squid's package $package"
    rm -rf "$1/build" && copy_source "$1/build/squid" "$origin"
    patch_package "$1/build/squid" "$series" "$log"
    say "building $package$debian_suffix with $4 compilers at a time, log in $log"
    build_package "$1/build/squid" "$4" "$log"
    rm -f "$1"/*.deb && mv "$1/build"/*.deb "$1" || die "$1: cannot keep the packages there"
    say "done: $1/*$package$debian_suffix*.deb"
}
