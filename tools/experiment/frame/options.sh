# SPDX-License-Identifier: GPL-2.0-or-later
#
# options.sh - the command line.  An experiment says in `takes` which options it has beside those of all, and presets
# them: `: "${service:=20}"`.

every_option='squid unpatched tools folder only rounds scale clients stores wait service memory disks rate ill engines python'

read_options()
{
    experiment=
    wants_help=
    fresh=
    given=
    for option in $every_option; do
        [ "$option" = tools ] || eval "$option="
    done
    rounds=3
    scale=1
    while [ $# -gt 0 ]; do
        case $1 in
        --list) experiments && exit 0 ;;
        --help | -h) wants_help=yes ;;
        --version) echo "sqtrace-experiment (sqtrace) $version" && exit 0 ;;
        --fresh) fresh=yes ;;
        --*=*)
            option=${1%%=*}
            option=${option#--}
            case " $every_option " in
            *" $option "*) ;;
            *) die_usage "unknown option '--$option'" ;;
            esac
            [ -n "${1#*=}" ] || die_usage "--$option: expected a value"
            eval "$option=\${1#*=}"
            given="$given $option"
            ;;
        --*)
            case " $every_option " in
            *" ${1#--} "*) die_usage "$1 needs a value: $1=..." ;;
            esac
            die_usage "unknown option '$1'"
            ;;
        *)
            [ -z "$experiment" ] || die_usage "one experiment at a time: '$1'"
            experiment=$1
            ;;
        esac
        shift
    done
    if [ -z "$experiment" ]; then
        [ -z "$wants_help" ] || { usage && exit 0; }
        die_usage "which experiment? there is: $(experiments | awk '{ printf "%s%s", (NR > 1) ? ", " : "", $1 }')"
    fi
    case $experiment in
    *[!a-z-]*) die_usage "there is no experiment '$experiment'; --list names them" ;;
    esac
    [ -f "$data/experiment/$experiment.sh" ] || die_usage "there is no experiment '$experiment'; --list names them"
}

# is_number TEXT: 0 or more, with decimals.
is_number()
{
    echo "$1" | grep -qE '^[0-9]+(\.[0-9]+)?$'
}

check_options()
{
    for option in $given; do
        case " squid tools folder only rounds scale $takes " in
        *" $option "*) ;;
        *) die_usage "--$option is none of $experiment's" ;;
        esac
    done
    if [ -n "$wants_help" ]; then
        usage
        echo
        echo "$experiment:"
        for option in rounds scale $takes; do
            eval "printf '%s\n' \"  --\$option=\${$option}\""
        done
        exit 0
    fi
    for option in scale wait service memory rate; do
        eval "value=\$$option"
        [ -z "$value" ] || is_number "$value" || die_usage "--$option: '$value': expected a number"
    done
    for option in rounds clients; do
        eval "value=\$$option"
        case ${value:-1} in
        *[!0-9]* | 0*) die_usage "--$option: '$value': expected a number above 0" ;;
        esac
    done
    [ "$(calc "$scale > 0")" = 1 ] || die_usage "--scale: expected more than 0"
    for store in $(echo "$stores" | tr , ' '); do
        case $store in
        ufs | aufs | diskd | rock) ;;
        *) die_usage "--stores: '$store': ufs, aufs, diskd and rock are possible" ;;
        esac
    done
    for name in $(echo "$only" | tr , ' '); do
        configurations | tr + '\n' | grep -qxF -e "$name" ||
            die_usage "--only: '$name': $(configurations | tr + '\n' | paste -s -d , | sed 's/,/, /g') are possible"
    done
}

# calc EXPRESSION: its value.
calc()
{
    awk "BEGIN { printf \"%.9g\", ($1) }"
}

# installed_squid NAME: sets installed to where tools/demo, tools/check or sqtrace-build put one, or to nothing.
installed_squid()
{
    installed=
    squid_place "$build/installed"
    for place in "$place/$1" "$build/installed/$1"; do
        [ -n "$installed" ] || [ ! -x "$place/sbin/squid" ] || installed=$place
    done
    [ -n "$installed" ] || return 0
    # Now that it is there, nobody else can have put it there, unless in a folder that the caller named.
    case $installed/ in
    "$build"/*) [ -z "$chosen_build" ] || trust_folder "$installed/sbin" ;;
    *) trust_folder "$installed/sbin" ;;
    esac
}

# build_twin: builds the unpatched Squid as sqtrace-build built the patched one, and sets unpatched.
build_twin()
{
    [ -f "$squid/share/sqtrace/build-arguments" ] ||
        die "there is no unpatched Squid, and $squid does not say how to build its twin: build it with" \
            "sqtrace-build --unpatched, and say where it is with --unpatched=PREFIX"
    [ -z "$chosen_build" ] || make_folder "$chosen_build"
    make_squid_place "$build/installed"
    unpatched=$place/unpatched
    say "$squid has no unpatched twin: building it, once, in $unpatched"
    set --
    while IFS= read -r word; do
        set -- "$@" "$word"
    done <"$squid/share/sqtrace/build-arguments"
    run_child "$here/sqtrace-build" --unpatched --prefix="$unpatched" "$@" || die "the unpatched Squid did not build"
}

squid_version()
{
    "$1/sbin/squid" -v | sed -n '1s/.*Version //p'
}

# find_programs: sets squid, unpatched and tools to absolute places.
find_programs()
{
    absolute "$tools"
    tools=$path
    for name in sqtrace-load sqtrace-dump sqtrace-report; do
        [ -x "$tools/$name" ] || die "$tools/$name is missing: run tools/demo, or say where it is with --tools=DIR"
    done
    PATH=$tools:$PATH:/usr/sbin:/sbin
    if [ -z "$squid" ]; then
        installed_squid patched
        squid=$installed
    fi
    [ -z "$squid" ] || { absolute "$squid" && squid=$path; }
    [ -x "$squid/sbin/squid" ] || die "${squid:-$build/installed/patched}: no Squid here: run tools/demo, or say where it is with --squid=PREFIX"
    [ -z "$unpatched" ] || { absolute "$unpatched" && unpatched=$path; }
    if echo "$takes" | grep -qw unpatched; then
        if [ -z "$unpatched" ]; then
            installed_squid unpatched
            unpatched=$installed
        fi
        [ -n "$unpatched" ] || build_twin
        [ -x "$unpatched/sbin/squid" ] || die "$unpatched: no Squid here: --unpatched=PREFIX is where sqtrace-build" \
            "--unpatched has installed one"
        [ "$(squid_version "$unpatched")" = "$(squid_version "$squid")" ] ||
            die "$unpatched: Squid $(squid_version "$unpatched") is no twin of $(squid_version "$squid"):" \
                "say where that is with --unpatched=PREFIX"
    fi
    if [ -z "$folder" ]; then
        folder=$build/experiment/$experiment
        [ -z "$chosen_build" ] || make_folder "$chosen_build"
    fi
}
