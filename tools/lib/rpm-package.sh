# SPDX-License-Identifier: GPL-2.0-or-later
#
# rpm-package.sh - source RPMs: of sqtrace itself, and of a distribution's Squid with the hooks as its last patches.
# Needs say.sh, places.sh, releases.sh, series.sh, squid-source.sh, spec.awk in the folder lib.

# The next update sorts above this: 6.10-5.el10 < 6.10-5.el10.sqtrace1 < 6.10-5.el10_0.1 < 6.10-6.el10.
rpm_suffix=.sqtrace1

# Programs that are missing to make source RPMs, by their packages.
check_rpm_tools()
{
    tools=$(
        command -v rpmbuild >/dev/null || echo rpm rpm-build
        command -v cpio >/dev/null || echo cpio cpio
    )
    # shellcheck disable=SC2046,SC2086 # words
    [ -z "$tools" ] || die "missing to make source RPMs: apt-get install" $(echo "$tools" | cut -d ' ' -f 1) \
        "(elsewhere: dnf install" "$(echo "$tools" | cut -d ' ' -f 2 | tr '\n' ' ' | sed 's/ $/)/')"
}

# rpm_build FOLDER LOG ARGUMENT...: rpmbuild with everything in FOLDER, whatever ~/.rpmmacros says.  A system without
# the macro that checks an archive's signature leaves that check out.
rpm_build()
{
    rpm_top=$1
    rpm_log=$2
    shift 2
    mkdir -p "$rpm_top/BUILD" "$rpm_top/SOURCES" "$rpm_top/SRPMS" || die "$rpm_top: cannot make this directory"
    [ "$(rpm --eval '%{?gpgverify:yes}' 2>/dev/null)" = yes ] || set -- --define 'gpgverify true' "$@"
    run_logged "$rpm_log" env LC_ALL=C rpmbuild --define "_topdir $rpm_top" --define "_builddir $rpm_top/BUILD" \
        --define "_sourcedir $rpm_top/SOURCES" --define "_specdir $rpm_top/SOURCES" \
        --define "_srcrpmdir $rpm_top/SRPMS" --nodeps "$@"
}

# keep_source_rpm FOLDER: moves the source RPM that rpm_build made in FOLDER/build, and its spec, to FOLDER; the rest goes.
keep_source_rpm()
{
    made=$(cd "$1/build/SRPMS" && echo *.src.rpm)
    mv "$1/build/SRPMS/$made" "$1/$made" && cp "$spec" "$1/${spec##*/}" && rm -rf "$1/build" ||
        die "$1: cannot keep the package there"
    say "done: $1/$made"
}

# make_tools_rpm FOLDER: sqtrace's own source RPM, from the source tree $tree.
make_tools_rpm()
{
    log=$1/log
    spec=$1/build/SOURCES/sqtrace.spec
    rm -rf "$1/build" && mkdir -p "$1/build/SOURCES" "$1/dist" && : >"$log" || die "$1: cannot make this directory"
    plain_tree "$tree" "$1" >>"$log" 2>&1 || die_with_log "$log" "sqtrace's source tree cannot be copied"
    say "making sqtrace's archive, log in $log"
    if [ ! -x "$plain/configure" ] || [ "$plain/configure.ac" -nt "$plain/configure" ] ||
        [ "$plain/Makefile.am" -nt "$plain/Makefile.in" ]; then
        (cd "$plain" && autoreconf -i) >>"$log" 2>&1 || die_with_log "$log" "autoreconf failed"
    fi
    (cd "$1/dist" && rm -f sqtrace-*.tar.xz Makefile && "$plain/configure" -q && make -s dist) >>"$log" 2>&1 ||
        die_with_log "$log" "make dist failed"
    mv "$1/dist"/sqtrace-*.tar.xz "$1/build/SOURCES" || die "$1: there is no archive"
    archive=$(cd "$1/build/SOURCES" && echo sqtrace-*.tar.xz)
    archive=${archive#sqtrace-}
    sed "s/@VERSION@/${archive%.tar.xz}/" "$tree/rpm/sqtrace.spec.in" >"$spec" &&
        rpm_build "$1/build" "$log" -bs "$spec" || die_with_log "$log" "rpmbuild made no source RPM"
    keep_source_rpm "$1"
}

# unpack_source_rpm FILE FOLDER LOG: into FOLDER/SOURCES; sets spec and package, its name without .src.rpm.
unpack_source_rpm()
{
    case $1 in
    *.src.rpm) [ -f "$1" ] || die "--source: $1 is not a file" ;;
    *) die "--source: with --rpm a source package is wanted, FILE.src.rpm, and $1 is none" ;;
    esac
    mkdir -p "$2/SOURCES" || die "$2: cannot make this directory"
    # A pipe has the status of its last command only.
    rpm2cpio "$1" >"$2/contents" 2>>"$3" && (cd "$2/SOURCES" && cpio -idm --quiet --no-absolute-filenames) \
        <"$2/contents" >>"$3" 2>&1 || die_with_log "$3" "$1 cannot be unpacked"
    rm "$2/contents"
    package=${1##*/}
    package=${package%.src.rpm}
    set -- "$1" "$2/SOURCES"/*.spec
    [ $# -eq 2 ] && [ -f "$2" ] || die "$1: there must be one spec file in it"
    spec=$2
}

# prepare_rpm FOLDER LOG: runs %prep of $spec; sets prepared, the tree of Squid that it leaves.
prepare_rpm()
{
    rm -rf "$1/BUILD"
    rpm_build "$1" "$2" -bp "$spec" || return 1
    prepared=$(find "$1/BUILD" -maxdepth 4 -path '*/src/cf.data.pre' | head -n 1)
    prepared=${prepared%/src/cf.data.pre}
    [ -n "$prepared" ]
}

# same_hooked_files PATCHES ONE OTHER: whether the trees ONE and OTHER have the same of what the patches change.
same_hooked_files()
{
    hooked_files "$1" | while read -r file; do
        [ ! -f "$2/$file" ] || cmp "$2/$file" "$3/$file" || exit 1
    done
}

# copy_series SERIES SOURCES: the patches, under names that the package's own do not have.
copy_series()
{
    for patch in $(series_patches "$1"); do
        cp "$1/$patch" "$2/sqtrace-$patch" || die "$2: cannot be written"
    done
}

# edit_spec SERIES APPLY: lists the series in $spec, as spec.awk says.
edit_spec()
{
    LC_ALL=C awk -v "patches=$(series_patches "$1" | sed 's/^/sqtrace-/' | tr '\n' ' ')" -v "apply=$2" -v "suffix=$rpm_suffix" \
        -v "stamp=$(LC_ALL=C date '+%a %b %d %Y') $program <root@localhost>" -f "$lib/spec.awk" "$spec.orig" >"$spec"
}

# patch_rpm FOLDER PATCHES RELEASE LOG: the hooks of that release as the last patches of $spec.  Whether %autosetup takes
# them, or each is to be applied by name, rpmbuild itself says: %prep must leave the very files that the hooks make.
patch_rpm()
{
    copy_hooked_files "$2" "$prepared" "$1/hooked"
    compose_series "$2" "$3" "$1/hooked" "$1/series"
    if ! all_in_place "$1/series"; then
        tell_misplaced "$1/series" >>"$4"
        die_with_log "$4" "the hooks of Squid $3 do not all find their place in $package"
    fi
    copy_series "$1/series" "$1/SOURCES"
    mv "$spec" "$spec.orig" || die "$1: cannot be written"
    for apply in no yes; do
        edit_spec "$1/series" $apply
        if prepare_rpm "$1" "$4" && same_hooked_files "$2" "$1/hooked" "$prepared" >>"$4" 2>&1; then
            rm "$spec.orig"
            return
        fi
    done
    die_with_log "$4" "%prep of $package does not leave the hooks as they should be"
}

# make_squid_rpm FOLDER SOURCE VERSION: the source RPM SOURCE with the hooks, in FOLDER.  Checks that it is of VERSION, if
# that is not empty.
make_squid_rpm()
{
    log=$1/log
    rm -rf "$1/build" && mkdir -p "$1/build" && : >"$log" || die "$1: cannot make this directory"
    unpack_source_rpm "$2" "$1/build" "$log"
    say "patching Squid's package $package, log in $log"
    prepare_rpm "$1/build" "$log" || die_with_log "$log" "%prep of $package failed"
    check_squid_tree "$prepared" ${3:+"$3"}
    need_range "$found" "$package, Squid $found"
    patch_rpm "$1/build" "$data/patches" "$hooks_of" "$log"
    rpm_build "$1/build" "$log" -bs "$spec" || die_with_log "$log" "rpmbuild made no source RPM"
    keep_source_rpm "$1"
}
