# SPDX-License-Identifier: GPL-2.0-or-later
#
# debian-package.sh - the distribution's own package of Squid, with the hooks as its last patches.  Needs say.sh,
# releases.sh, series.sh, squid-source.sh, build-deps.sh.

# What is built again sorts below this, and the next security update above: 5.7-2 < 5.7-2+b1 < 5.7-2+b.sqtrace1 <
# 5.7-2+deb12u1, and 5.7-2+deb12u6 < 5.7-2+deb12u6+b.sqtrace1 < 5.7-2+deb12u7.
debian_suffix=+b.sqtrace1

# own_apt FOLDER PROGRAM ARGUMENT...: apt-get or apt-cache with the system's places of packages, as places of sources,
# too, whether it lists these or not, and as if nothing was installed.  Nothing of the system's own is changed.
own_apt()
{
    own=$1
    shift
    env LC_ALL=C "$@" -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$own/sources" \
        -o "Dir::State::lists=$own/lists" -o "Dir::Cache=$own/cache" -o Dir::State::status=/dev/null \
        -o Acquire::Languages=none
}

# source_places FOLDER: writes them there.
source_places()
{
    mkdir -p "$1/sources" "$1/lists/partial" "$1/cache/archives/partial" || die "$1: cannot make this directory"
    rm -f "$1/sources"/*
    eval "$(apt-config shell etc Dir::Etc/d)"
    for list in "$etc/sources.list" "$etc/sources.list.d"/*.list; do
        [ -f "$list" ] || continue
        sed -n 's/^deb\(-src\)\{0,1\}[[:space:]]\(.*\)/deb \2\ndeb-src \2/p' "$list" | sort -u \
            >"$1/sources/${list##*/}.list"
    done
    for list in "$etc/sources.list.d"/*.sources; do
        [ ! -f "$list" ] || sed 's/^Types:.*/Types: deb deb-src/' "$list" >"$1/sources/${list##*/}"
    done
}

# source_version FOLDER: the version of the source package of the Squid that apt would install.  By itself apt takes the
# highest, also from a place that is there for other packages and has a low priority.
source_version()
{
    candidate=$(own_apt "$1" apt-cache policy squid | sed -n 's/^  Candidate: //p')
    own_apt "$1" apt-cache show "squid=$candidate" | awk -v source="$candidate" '
        /^Source: .*\(/ { source = $3; gsub(/[()]/, "", source) }
        END { print source }'
}

# fetch_package FOLDER LOG: the source package that apt would take, whose sums apt has checked; sets origin, its tree.
fetch_package()
{
    command -v apt-get >/dev/null || die "--debian: there is no apt-get to ask for Squid's source package"
    say "asking apt for Squid's source package"
    rm -rf "$1/fetched"
    mkdir -p "$1/fetched" || die "$1: cannot make this directory"
    source_places "$1/apt"
    origin=$1/fetched/squid
    (
        cd "$1/fetched" && own_apt "$1/apt" apt-get update &&
            own_apt "$1/apt" apt-get source --download-only "squid=$(source_version "$1/apt")"
    ) >>"$2" 2>&1 || die_with_log "$2" "apt did not get the source package; give its unpacked tree with --source=DIR"
    (cd "$1/fetched" && dpkg-source --extract squid_*.dsc squid) >>"$2" 2>&1 ||
        die_with_log "$2" "the source package cannot be unpacked"
}

# Programs that are missing to build packages, by their Debian packages.
check_package_tools()
{
    tools=$(
        command -v dpkg-buildpackage >/dev/null || echo dpkg-dev
        command -v dh >/dev/null || echo debhelper
        [ "$(id -u)" -eq 0 ] || command -v fakeroot >/dev/null || echo fakeroot
    )
    # shellcheck disable=SC2086 # names in lines
    [ -z "$tools" ] || die "missing to build packages: apt-get install" $tools
}

# check_package TREE VERSION: whether TREE is an untouched source package of a Squid that has hooks, and of VERSION if
# that is not empty; sets package (its version), and what find_range sets.
check_package()
{
    [ -f "$1/debian/changelog" ] || [ ! -d "$1" ] ||
        die "--source: $1 is not the unpacked source package of a distribution"
    check_squid_tree "$1" ${2:+"$2"}
    [ ! -d "$1/debian/patches/sqtrace" ] ||
        die "--source: $1 has the patches already; give an untouched tree (it will be copied)"
    grep -qx '3.0 (quilt)' "$1/debian/source/format" || die "$1: this source package has no list of patches"
    package=$(sed -n '1s/^[^(]*(\([^)]*\)).*/\1/p' "$1/debian/changelog")
    need_range "$found" "$package, Squid $found"
}

# check_package_deps TREE: what the package itself wants.
check_package_deps()
{
    wanted=$(cd "$1" && dpkg-checkbuilddeps 2>&1) ||
        die "missing to build $package: ${wanted##*: }; apt-get build-dep $1 installs them"
}

# Of a squid.postinst.  Earlier packages of ours had the directive in conf.d, where a Squid without the hooks ends at it.
# A file with anything else in it, or a link, is the administrator's own.
# shellcheck disable=SC2016 # dpkg expands it
postinst_lines='new=$DPKG_ROOT/etc/squid/sqtrace.conf
old=$DPKG_ROOT/etc/squid/conf.d/sqtrace.conf
if [ "$1" = configure ] && [ -f "$old" ]; then
    if [ -e "$new" ] || [ -L "$new" ] || [ -L "$old" ] ||
        grep -Eqv "^[[:space:]]*(#.*|sqtrace_log[[:space:]].*)?$" "$old"; then
        echo "a squid without sqtrace does not start with $old: move sqtrace_log to $new"
    else
        mv "$old" "$new"
        echo "$old is now $new: a squid without sqtrace starts with it, too"
    fi
fi
'

# Of debian/rules.  squid.conf has the text of each directive.  One that differs from the distribution's would have dpkg
# ask at each update, in either direction, what to do with the squid.conf that the administrator changed.
rules_lines='
execute_before_dh_md5sums:
	sed -i "/^#  TAG: sqtrace_log$$/,/^$$/d" debian/squid*/etc/squid/squid.conf
'

# patch_package TREE PATCHES RELEASE LOG: the hooks of that release as its last patches, what moves an old directive, and
# its version.
patch_package()
{
    (cd "$1" && dpkg-source --before-build .) >>"$4" 2>&1 || die_with_log "$4" "the package's own patches do not apply"
    copy_hooked_files "$2" "$1" "$1.hooked"
    compose_series "$2" "$3" "$1.hooked" "$1.series"
    if ! all_in_place "$1.series"; then
        tell_misplaced "$1.series" >>"$4"
        die_with_log "$4" "the hooks of Squid $3 do not all find their place in $package"
    fi
    (
        cd "$1" && mkdir debian/patches/sqtrace && cp "$1.series"/*.patch debian/patches/sqtrace &&
            { [ -z "$(tail -c 1 debian/patches/series)" ] || echo >>debian/patches/series; } &&
            series_patches "$1.series" | sed 's|^|sqtrace/|' >>debian/patches/series && dpkg-source --before-build . &&
            rm -rf "$1.series" "$1.hooked"
    ) >>"$4" 2>&1 || die_with_log "$4" "the hooks of Squid $3 do not apply to $package"
    # Debian has one package with each TLS library.
    # shellcheck disable=SC2013 # names without spaces
    for name in $(sed -n 's/^Package: \(squid\|squid-openssl\)$/\1/p' "$1/debian/control"); do
        script=$1/debian/$name.postinst
        [ -f "$script" ] || printf '#!/bin/sh\nset -e\n#DEBHELPER#\n' >"$script"
        grep -qx '#DEBHELPER#' "$script" || die "$script: there is no #DEBHELPER# in it"
        awk -v text="$postinst_lines" '/^#DEBHELPER#$/ { print text } { print }' "$script" >"$1/.postinst" &&
            cat "$1/.postinst" >"$script" && rm "$1/.postinst"
    done
    printf '%s' "$rules_lines" >>"$1/debian/rules"
    {
        printf '%s (%s) %s; urgency=medium\n\n' "$(dpkg-parsechangelog -l "$1/debian/changelog" -S Source)" \
            "$package$debian_suffix" "$(dpkg-parsechangelog -l "$1/debian/changelog" -S Distribution)"
        printf '  * With the patches of sqtrace.\n\n'
        printf ' -- %s <%s>  %s\n\n' "${DEBFULLNAME:-$program}" "${DEBEMAIL:-root@localhost}" "$(date -R)"
        cat "$1/debian/changelog"
    } >"$1/debian/changelog.new" && mv "$1/debian/changelog.new" "$1/debian/changelog"
}

# build_package TREE JOBS LOG: leaves the packages beside TREE.  Needs lib_cppflags and lib_libs, which go to Squid's
# configure through the environment.
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
    origin=$2
    if [ -z "$origin" ]; then
        check_package_tools
        fetch_package "$1" "$log"
    fi
    check_package "$origin" "$3"
    check_package_tools
    check_package_deps "$origin"
    [ "$libsqtrace" = installed ] || libsqtrace_from_tree "$tree" "$work" "$4"
    say "patching Squid's package $package"
    rm -rf "$1/build" && copy_source "$1/build/squid" "$origin"
    patch_package "$1/build/squid" "$data/patches" "$hooks_of" "$log"
    say "building $package$debian_suffix with $4 compilers at a time, log in $log"
    build_package "$1/build/squid" "$4" "$log"
    rm -f "$1"/*.deb && mv "$1/build"/*.deb "$1" || die "$1: cannot keep the packages there"
    say "done: $1/*$package$debian_suffix*.deb"
}
