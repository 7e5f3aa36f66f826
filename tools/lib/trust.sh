# SPDX-License-Identifier: GPL-2.0-or-later
#
# trust.sh - folders and lists that nobody else can change: checks, makes and removes them.  Needs say.sh.
#
# A script that root runs must not use what another user has put there.  So each folder that a script chooses itself is
# checked with trust_folder or made with make_folder or make_temporary.  The tree that the script runs from and the
# folders that its caller names are believed.

# What is made here can be read by Squid's user, and nobody else can write to it.
umask 022

newline='
'

# in_one_line TEXT: sets line to TEXT with backslashes and line breaks as \\ and \n.
in_one_line()
{
    line=
    rest=$1
    while [ -n "$rest" ]; do
        plain=${rest%%[\\"$newline"]*}
        line=$line$plain
        rest=${rest#"$plain"}
        case $rest in
        \\*) line="$line\\\\" ;;
        "$newline"*) line=$line'\n' ;;
        esac
        rest=${rest#?}
    done
}

# from_one_line LINE: sets text to what in_one_line was given.
from_one_line()
{
    text=$(printf '%b.' "$1")
    text=${text%.}
}

# absolute PATH: sets path to PATH with the current folder before it if it is a relative one.
absolute()
{
    case $1 in
    /*) path=$1 ;;
    *) path=${PWD%/}/$1 ;;
    esac
}

# enter_path FOLDER: sets path to FOLDER's absolute name without symbolic links.
enter_path()
{
    path=$(cd "$1" && pwd -P && echo .) && path=${path%"$newline."}
}

# distrust_owner PATH: sets distrusted, and mode, which is that of PATH itself if PATH is a symbolic link.
distrust_owner()
{
    # shellcheck disable=SC2046 # a number, an octal number and a name without spaces
    set -- "$1" $(stat -c '%u %a %U' -- "$1" 2>/dev/null)
    mode=${3-}
    case ${2-none} in
    0 | "$(id -u)") ;;
    none) distrusted="$1 cannot be looked at" ;;
    *) distrusted="$1 belongs to $4 (uid $2) and has mode $3" ;;
    esac
}

# distrust_writers PATH WRITABLE: sets distrusted.  With the sticky bit, WRITABLE says whether PATH may be written to by
# others: nobody can replace what is ours in such a folder.
distrust_writers()
{
    [ -z "$distrusted" ] && [ $((0$mode & 022)) -ne 0 ] || return 0
    [ "$2" = writable ] && [ $((0$mode & 01000)) -ne 0 ] ||
        distrusted="$1 has mode $mode, so others can write to it"
}

# distrust_folder FOLDER: sets distrusted to why others can change what the absolute name FOLDER leads to, or to nothing.
# Looks at each folder and at each symbolic link on the way.
distrust_folder()
{
    distrusted=
    passed=
    ahead=$1
    links=0
    distrust_owner /
    distrust_writers / writable
    while [ -n "$ahead" ] && [ -z "$distrusted" ]; do
        step=${ahead%%/*}
        ahead=${ahead#"$step"}
        ahead=${ahead#/}
        case $step in
        '' | .) continue ;;
        ..)
            passed=${passed%/*}
            continue
            ;;
        esac
        distrust_owner "$passed/$step"
        if [ -L "$passed/$step" ]; then
            links=$((links + 1))
            [ "$links" -le 40 ] || distrusted="$1 leads through too many symbolic links"
            target=$(readlink -n -- "$passed/$step" && echo .)
            ahead=${target%.}/$ahead
            case $target in
            /*) passed= ;;
            esac
        else
            passed=$passed/$step
            distrust_writers "$passed" writable
        fi
    done
    passed=${passed:-/}
    [ -n "$distrusted" ] || distrust_owner "$passed"
    distrust_writers "$passed" no
}

# trust_folder FOLDER [ADVICE]: dies if others can change what is in FOLDER, which is an absolute name.
trust_folder()
{
    distrust_folder "$1"
    [ -z "$distrusted" ] && return 0
    die_in_one_line "$1 is not used, because $distrusted: the owner must be $(trusted_owners), and the mode 755 or" \
        "less${2:+; $2}"
}

trusted_owners()
{
    if [ "$(id -u)" -eq 0 ]; then
        echo root
    else
        echo "root or $(id -un)"
    fi
}

# make_folder FOLDER: makes it and what is missing on the way, and dies if others can change what is in it.
make_folder()
{
    mkdir -p -- "$1" 2>/dev/null || [ -d "$1" ] || die_in_one_line "$1: cannot be made"
    trust_folder "$1"
}

# make_temporary NAME: makes a folder of nobody else's for temporary files, which others can read; sets temporary.
make_temporary()
{
    absolute "${TMPDIR:-/tmp}"
    temporary=$(mktemp -d "$path/$1.XXXXXX" 2>/dev/null) ||
        die_in_one_line "$path: no folder for temporary files can be made here; set TMPDIR to another place"
    # Whoever can replace it could do so before or after this look.
    distrust_folder "$temporary"
    if [ -n "$distrusted" ]; then
        rmdir -- "$temporary"
        trust_folder "$path"
        die_in_one_line "$temporary: is not used, because $distrusted"
    fi
    chmod 755 "$temporary"
}

# identity PATH: what tells this file or folder apart from another one that later has its name.
identity()
{
    stat -c '%i@%.W' -- "$1" 2>/dev/null
}

# remove_made FOLDER IDENTITY: removes FOLDER, but not another one that has its name now, and no file systems in it.
remove_made()
{
    [ -e "$1" ] || [ -L "$1" ] || return 0
    if [ ! -L "$1" ] && [ -d "$1" ] && [ "$(identity "$1")" = "$2" ]; then
        rm -rf --one-file-system -- "$1"
    else
        in_one_line "$1"
        say "  $line is not the folder that was made there: it is left alone"
    fi
}

# only_ours WHAT FOLDER MARK: dies if FOLDER holds anything but not MARK, which shows that this program has made all of it:
# it will be removed.
only_ours()
{
    [ ! -d "$2" ] || [ -e "$2/$3" ] || [ -z "$(ls -A -- "$2")" ] ||
        die_in_one_line "$1: $2 holds what $program has not made, and would remove: choose another folder"
}

# read_list FILE: sets list to what FILE holds, but dies if anybody but the caller could have written that.  Fails if
# there is no such file.
read_list()
{
    list=
    [ -e "$1" ] || [ -L "$1" ] || return 1
    distrusted=
    if [ -L "$1" ] || [ ! -f "$1" ]; then
        distrusted="it is no regular file"
    else
        # The file that is open is the one that is looked at and read; it was not opened through a link.
        exec 8<"$1" || die_in_one_line "$1: cannot be read"
        # shellcheck disable=SC2046 # numbers, and a name without spaces
        set -- "$1" $(stat -L -c '%u %a %h %U %d:%i' /proc/self/fd/8)
        if [ "$2" -ne "$(id -u)" ] || [ $((0$3 & 022)) -ne 0 ] || [ "$4" -ne 1 ]; then
            distrusted="it belongs to $5 (uid $2) and has mode $3 and $4 links"
        elif [ "$(stat -c %d:%i -- "$1")" != "$6" ]; then
            distrusted="it changed meanwhile"
        fi
        list=$(cat <&8)
        exec 8<&-
    fi
    [ -z "$distrusted" ] || die_in_one_line "$1: this list is not believed, because $distrusted:" \
        "it must belong to $(id -un) alone; look at it, and remove it"
}

die_in_one_line()
{
    in_one_line "$*"
    die "$line"
}
