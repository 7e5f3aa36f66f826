# SPDX-License-Identifier: GPL-2.0-or-later
#
# disks.sh - disks with one arm and a set service time: a loop device on a file of slow-disk, with a file system on it.

# helper NAME: where it is, installed or built; fails if it is not there.
helper()
{
    for place in "$helpers/$1" "$tools/$1"; do
        [ ! -x "$place" ] || { echo "$place" && return; }
    done
    return 1
}

need_disks()
{
    file_pages=$(helper file-pages) || die "$tools/file-pages is missing: build sqtrace again"
    [ -z "$disks" ] || return 0
    [ "$(id -u)" -eq 0 ] || die "needs root for loop devices and mounts; without: --disks=DIR,DIR"
    slow_disk=$(helper slow-disk) ||
        die "slow-disk is missing: it is built where FUSE is: apt-get install libfuse3-dev, and build sqtrace again"
    for name in losetup mkfs.ext4 mount; do
        command -v $name >/dev/null || die "$name is missing: apt-get install mount util-linux e2fsprogs"
    done
    [ -c /dev/fuse ] || die "/dev/fuse is missing: modprobe fuse, or --disks=DIR,DIR"
    [ -c /dev/loop-control ] || die "/dev/loop-control is missing: modprobe loop, or --disks=DIR,DIR"
}

# disk_of NUMBER: the folder of that disk for a cache_dir.
disk_of()
{
    echo "$run/disk$1/cache"
}

# named_disk NUMBER: sets path to that folder of --disks.  If only one is named, it stands for each disk.
named_disk()
{
    path=$disks
    for _ in $(seq 2 "$1"); do
        path=${path#*,}
    done
    path=${path%%,*}
    [ -n "$path" ] || die_usage "--disks: there is no disk $1"
    absolute "$path"
}

# use_disk NUMBER: makes a folder in that folder of --disks.  $run/diskNUMBER leads there, because squid.conf cannot name
# a folder with a space.
use_disk()
{
    named_disk "$1"
    used=$(mktemp -d "$path/sqtrace-experiment.XXXXXX" 2>/dev/null) ||
        die_in_one_line "--disks: $path: no folder can be made here"
    made folder "$used"
    chmod 755 "$used"
    ln -s -- "$used" "$run/disk$1"
    own_folder "$used/cache"
}

# make_disk NUMBER MEGABYTES [BYTES]: not slow yet; its inodes have so many bytes.
make_disk()
{
    if [ -n "$disks" ]; then
        unbroken use_disk "$1"
    else
        unbroken make_slow_disk "$@"
    fi
}

make_slow_disk()
{
    mkdir -p "$run/disk$1" "$run/arm$1"
    "$slow_disk" $(($2 * 1048576)) "$run" "$run/arm$1" >>"$run/slow-disk.log" 2>&1 </dev/null &
    arm_pid=$!
    made process "$arm_pid"
    made mount "$run/arm$1"
    for _ in $(seq 100); do
        [ ! -f "$run/arm$1/disk" ] || break
        kill -0 $arm_pid 2>/dev/null || die_with_log "$run/slow-disk.log" "slow-disk did not start"
        sleep 0.05
    done
    loop=$(losetup --find --show --direct-io=on "$run/arm$1/disk" 2>>"$run/slow-disk.log") ||
        die_with_log "$run/slow-disk.log" "no loop device"
    made loop "$loop"
    echo "$loop" >"$run/arm$1.loop"
    # No journal, and nothing left to be initialized or, since Linux 5.10, to be read seconds later: what is written and
    # read is what Squid writes and reads, and its directories.
    { mkfs.ext4 -q -m 0 -I "${3:-256}" -O ^has_journal -E nodiscard,lazy_itable_init=0 "$loop" && sync "$loop" &&
        { mount -o noatime,no_prefetch_block_bitmaps "$loop" "$run/disk$1" ||
            mount -o noatime "$loop" "$run/disk$1"; }; } \
        >>"$run/slow-disk.log" 2>&1 || die_with_log "$run/slow-disk.log" "no file system on $loop"
    made mount "$run/disk$1"
    limit_dirty "$loop"
    made slow "$run/arm$1"
    own_folder "$(disk_of "$1")"
}

# As much as may wait in memory to be written to a disk, MB: who writes more waits, as where memory is small.
dirty_mb=4

limit_dirty()
{
    backing=/sys/class/bdi/$(cat "/sys/class/block/${1#/dev/}/dev")
    made dirty "$backing"
    { echo 1 >"$backing/strict_limit" && echo $((dirty_mb * 1048576)) >"$backing/max_bytes"; } 2>/dev/null ||
        say "  this kernel cannot limit what waits to be written to one disk: writes hide in memory"
}

# set_service MS [DISK]: from now on each I/O of that disk, or of each, takes that long.
set_service()
{
    for arm in "$run"/arm${2:-*}/service; do
        [ ! -f "$arm" ] || calc "int($1 * 1000)" >"$arm"
    done
}

# drop_pages DISK...: from now on their files leave the page cache at once.
drop_pages()
{
    [ $# -gt 0 ] || return 0
    for disk; do
        set -- "$@" "$(disk_of "$disk")"
        shift
    done
    "$file_pages" drop "$@" >/dev/null 2>&1 </dev/null &
    made process $!
}

# keep_pages DISK: what it has now of files stays in memory, also where the machine gives unused pages back.
keep_pages()
{
    "$file_pages" keep "$(disk_of "$1")" >"$run/kept" 2>&1 </dev/null &
    made process $!
    until grep -q '^kept' "$run/kept"; do
        kill -0 $! 2>/dev/null || die_with_log "$run/kept" "file-pages did not start"
        sleep 0.05
    done
    grep -q '^kept all' "$run/kept" || say "  not all files can be held in memory: $(head -n 1 "$run/kept")"
}

words_for_arms()
{
    if [ -n "$disks" ]; then
        echo "The disks are this machine's."
    else
        echo "Each I/O takes a disk $service ms, one at a time."
    fi
}

words_for_disks()
{
    echo "$(words_for_arms) At most $dirty_mb MB wait to be written to one, and files leave the page cache."
}

# What iostat -x says of the disks, beside the samples of the trace, until iostat_end: reports of a second each, or of
# more where the machine was held up, so the time is put before each.
iostat_begin()
{
    iostat_pid=
    devices=$(cat "$run"/arm*.loop 2>/dev/null | sed 's|/dev/||' | tr '\n' ' ')
    if [ -n "$devices" ] && command -v iostat >/dev/null; then
        mkfifo "$run/iostat" || die "$run/iostat: cannot be made"
        {
            date "+# since %s.%N"
            while IFS= read -r line; do
                case $line in
                Device*) date "+# until %s.%N" ;;
                esac
                printf '%s\n' "$line"
            done
        } <"$run/iostat" >"$here/iostat.txt" 2>&1 &
        made process $!
        # shellcheck disable=SC2086 # names
        iostat -x -y -k $devices 1 >"$run/iostat" 2>&1 </dev/null &
        iostat_pid=$!
        made process "$iostat_pid"
    fi
}

iostat_end()
{
    [ -z "$iostat_pid" ] || kill "$iostat_pid" 2>/dev/null
}

# each_loop FUNCTION: calls it for each loop device of a disk.
each_loop()
{
    for file in "$run"/arm*.loop; do
        [ ! -f "$file" ] || "$1" "$(cat "$file")"
    done
}

disk_counters()
{
    cat "/sys/class/block/${1#/dev/}/stat"
}

# Until nothing is read or written for 2 s; not longer than 20 s.
wait_idle()
{
    before=
    quiet=0
    for _ in $(seq 40); do
        now=$(each_loop disk_counters)
        [ "$now" = "$before" ] || quiet=0
        [ $quiet -lt 4 ] || return 0
        quiet=$((quiet + 1))
        before=$now
        sleep 0.5
    done
}

# The blocks of inodes and directories that are in memory go.  Those that others than Squid have read, as the kernel's
# threads that write, would not count in its control group.
forget_blocks()
{
    each_loop flush_disk
}

flush_disk()
{
    blockdev --flushbufs "$1" || die "$1: its pages cannot be given back"
}

# Until all is on the disks that was written.
sync_disks()
{
    for disk in "$run"/disk*; do
        [ ! -d "$disk" ] || run_child sync -f "$disk"
    done
}
