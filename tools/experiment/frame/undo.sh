# SPDX-License-Identifier: GPL-2.0-or-later
#
# undo.sh - what was made and must not be left behind.  Needs say.sh, trust.sh, started.sh;
# $made is the file that lists it, so that
# a later run can undo what one that was killed could not.
#
# An entry is a line: a kind, a space, and what was made, with line breaks written as in_one_line does.
#     owner PID START        the first entry: which process works here
#     process PID START
#     mount FOLDER
#     loop DEVICE
#     group FOLDER           a control group
#     folder IDENTITY FOLDER
#     dirty FOLDER           the settings of a device that writes are limited to
#     slow FOLDER            a disk with a service time, which would make all the rest slow

# made KIND WHAT: adds an entry.
made()
{
    in_one_line "$2"
    case $1 in
    process) line="$line $(process_start "$2")" ;;
    folder) line="$(identity "$2") $line" ;;
    esac
    printf '%s %s\n' "$1" "$line" >>"$made" || die_in_one_line "$made: cannot be written"
}

# unbroken COMMAND...: an interruption meanwhile waits until COMMAND has listed what it makes.
unbroken()
{
    late=
    trap 'late=130' INT
    trap 'late=143' TERM HUP
    "$@"
    end_when_interrupted
    [ -z "$late" ] || exit "$late"
}

end_when_interrupted()
{
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

# The process and its descendants.
family()
{
    echo "$1"
    # shellcheck disable=SC2013 # numbers
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        family "$child"
    done
}

# end_process PID START: asks, waits, and after 15 s insists.
end_process()
{
    tries=0
    while [ -n "$2" ] && [ "$(process_start "$1")" = "$2" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; do
        if [ $tries -eq 0 ]; then
            kill "$1" 2>/dev/null
        elif [ $tries -ge 150 ]; then
            # shellcheck disable=SC2046 # numbers
            kill -KILL $(family "$1") 2>/dev/null
        fi
        tries=$((tries + 1))
        sleep 0.1
    done
}

# Until COMMAND... does it, for 5 s: what was just stopped may still hold it.
insist()
{
    for _ in $(seq 50); do
        "$@" 2>/dev/null && return 0
        sleep 0.1
    done
    return 1
}

# mounted FOLDER: whether a file system is mounted there.  The kernel writes some characters as octal numbers.
mounted()
{
    mounted_as=$(printf '%s' "$1" | sed 's/\\/\\134/g; s/ /\\040/g; s/	/\\011/g' |
        awk 'NR > 1 { printf "\\012" } { printf "%s", $0 }')
    cut -d ' ' -f 2 /proc/mounts | grep -qxF -e "$mounted_as"
}

# undo_one KIND WHAT
undo_one()
{
    case $1 in
    process) end_process "${2% *}" "${2#* }" ;;
    mount) ! mounted "$2" || insist umount -- "$2" || umount -l -- "$2" ;;
    loop) ! losetup "$2" >/dev/null 2>&1 || insist losetup -d "$2" ;;
    dirty) { echo 100 >"$2/max_ratio" && echo 0 >"$2/strict_limit"; } 2>/dev/null ;;
    group) [ ! -d "$2" ] || insist rmdir -- "$2" ;;
    folder) remove_made "${2#* }" "${2%% *}" ;;
    esac
}

# each_entry FUNCTION: calls it with kind and what of each entry of $entries.
each_entry()
{
    while IFS= read -r entry; do
        from_one_line "${entry#* }"
        "$1" "${entry%% *}" "$text" </dev/null || return
    done <<END_OF_ENTRIES
$entries
END_OF_ENTRIES
}

# A disk that is slow makes all the rest slow.
hurry()
{
    [ "$1" != slow ] || echo 0 >"$2/service"
} 2>/dev/null

# The processes that nothing else was made after end together.
ask_last()
{
    [ "$1" = process ] || return
    [ "$(process_start "${2% *}")" != "${2#* }" ] || kill "${2% *}" 2>/dev/null
    return 0
}

# Undoes what the list names, the last first.
undo_all()
{
    [ -n "${made-}" ] && read_list "$made" || return 0
    entries=$(printf '%s\n' "$list" | awk '{ line[NR] = $0 } END { for (i = NR; i > 0; --i) print line[i] }')
    each_entry hurry
    each_entry ask_last
    each_entry undo_one
    rm -f -- "$made"
    owns_list=
}
