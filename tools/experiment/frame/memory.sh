# SPDX-License-Identifier: GPL-2.0-or-later
#
# memory.sh - a limit on the memory of a Squid and on the pages of its files: a control group, of either version.

# Where the control groups of memory are: sets memory_groups and memory_version (1 or 2).  Fails if there are none.
find_memory_groups()
{
    memory_groups=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
    memory_version=1
    if [ -z "$memory_groups" ]; then
        memory_version=2
        memory_groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
        [ -n "$memory_groups" ] && grep -qw memory "$memory_groups/cgroup.controllers" 2>/dev/null || return 1
        grep -qw memory "$memory_groups/cgroup.subtree_control" ||
            echo +memory >"$memory_groups/cgroup.subtree_control" || return 1
    fi 2>/dev/null
    [ -w "$memory_groups" ]
}

need_memory()
{
    [ "$(calc "$memory > 0")" = 1 ] || return 0
    find_memory_groups || die "needs control groups for memory, of version 1 or 2, and root: here there are none;" \
        "--memory=0 runs without a limit, with all files in the page cache"
}

# memory_group: sets group.  No limit yet.
memory_group()
{
    group=
    squid_before=
    [ "$(calc "$memory > 0")" = 1 ] || return 0
    group=$memory_groups/sqtrace-experiment-$$
    unbroken make_group
    squid_before=in_group
}

make_group()
{
    mkdir "$group" || die "$group: cannot be made"
    made group "$group"
}

# in_group COMMAND...: as the command, in the group.
in_group()
{
    echo 0 >"$group/cgroup.procs" && exec "$@"
}

# limit_memory: what the group needs now that is not files, and --memory for those, pages and inodes.
limit_memory()
{
    [ -n "$group" ] || return 0
    needed=$(awk '$1 ~ /^(anon|shmem|rss|slab_unreclaimable|kernel_stack|pagetables)$/ { sum += $2 } END { printf "%d", sum }' \
        "$group/memory.stat")
    limit=$(calc "int($needed + $memory * 1048576)")
    case $memory_version in
    1) echo "$limit" >"$group/memory.limit_in_bytes" ;;
    2) echo "$limit" >"$group/memory.max" ;;
    esac || die "$group: the limit cannot be set"
    echo "limit_bytes	$limit" >>"$here/memory.tsv"
}
