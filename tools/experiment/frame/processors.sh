# SPDX-License-Identifier: GPL-2.0-or-later
#
# processors.sh - Squids that are compared run at the same time and share one processor: the kernel gives each its
# share within milliseconds, so whatever else the machine does meets them alike.  Clients and origin have the others.

# set_apart: leaves one processor to what is compared, the others to this process and what it starts.  Sets processor;
# nothing if there is only one.
set_apart()
{
    processor=
    taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
        awk -F - '{ for (i = $1; i <= $NF; ++i) print i }' >"$folder/processors"
    if [ "$(wc -l <"$folder/processors")" -gt 1 ]; then
        processor=$(head -n 1 "$folder/processors")
        taskset -cp "$(tail -n +2 "$folder/processors" | paste -s -d ,)" $$ >/dev/null
    fi
    rm -f "$folder/processors"
}

# share_processor PID: the main threads of that process and its children move to the processor that was set apart; the
# disk process of tracing stays with the flusher.
share_processor()
{
    [ -n "$processor" ] || return 0
    for process in $(family "$1"); do
        [ "$(cat "/proc/$process/comm")" != sqtrace-disk ] || continue
        taskset -cp "$processor" "$process" >/dev/null
    done
}

# Processor time that a process, its children and their threads had, us.
cpu_us()
{
    for process in $(family "$1"); do
        cat "/proc/$process/task"/*/schedstat
    done | awk '{ sum += $1 } END { printf "%.0f\n", sum / 1000 }'
}

# begin_cpu PID, end_cpu PID: what it had in between is in $here/cpu_us.
begin_cpu()
{
    cpu_us "$1" >"$here/cpu_us"
}

end_cpu()
{
    used=$(($(cpu_us "$1") - $(cat "$here/cpu_us")))
    echo "$used" >"$here/cpu_us"
}
