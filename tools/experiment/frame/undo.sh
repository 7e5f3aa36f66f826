# SPDX-License-Identifier: GPL-2.0-or-later
#
# undo.sh - what was made and must not be left behind.  Needs say.sh; $made is the file that lists it, a line each, so
# that a later run can undo what one that was killed could not.

# When process $1 began, in ticks since the machine started: with its number it names a process.
process_start()
{
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

# made KIND WHAT: process PID, mount FOLDER, loop DEVICE, group FOLDER, folder FOLDER; dirty FOLDER, the settings of a
# device that writes are limited to; slow FOLDER, a disk with a service time, which would make all the rest slow.
made()
{
    if [ "$1" = process ]; then
        set -- "$@" "$(process_start "$2")"
    fi
    echo "$*" >>"$made" || die "$made: cannot be written"
}

# The process and its descendants.
family()
{
    echo "$1"
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

undo_one()
{
    case $1 in
    process) end_process "$2" "${3-}" ;;
    mount) ! grep -q " $2 " /proc/mounts || insist umount "$2" || umount -l "$2" ;;
    loop) ! losetup "$2" >/dev/null 2>&1 || insist losetup -d "$2" ;;
    dirty) { echo 100 >"$2/max_ratio" && echo 0 >"$2/strict_limit"; } 2>/dev/null ;;
    group) [ ! -d "$2" ] || insist rmdir "$2" ;;
    folder) rm -rf --one-file-system "$2" ;;
    esac
}

# ask_last LIST: the processes that nothing else was made after end together.
ask_last()
{
    sed '/^process/!q' "$1" | while read -r kind process start; do
        [ "$kind" != process ] || [ "$(process_start "$process")" != "$start" ] || kill "$process" 2>/dev/null
    done
}

# Undoes what the list names, the last first.
undo_all()
{
    [ -s "${made-}" ] || return 0
    for slow in $(sed -n 's/^slow //p' "$made"); do
        echo 0 >"$slow/service"
    done 2>/dev/null
    awk '{ line[NR] = $0 } END { for (i = NR; i > 0; --i) print line[i] }' "$made" >"$made.back"
    ask_last "$made.back"
    while read -r kind what more; do
        undo_one "$kind" "$what" "$more" </dev/null
    done <"$made.back"
    rm -f "$made" "$made.back"
}
