# SPDX-License-Identifier: GPL-2.0-or-later
#
# started.sh - ends all processes that a script started.  Needs say.sh.
#
# Each script adds a mark of its own to SQTRACE_STARTED in its environment.  All that it starts inherits the mark, and
# keeps it when a parent in between ends, or when it becomes a daemon.  A program may write over its environment, as nginx
# does: children of marked processes count, too.

# When process $1 began, in ticks since the machine started: with its number it names a process.
process_start()
{
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

# mark_started: from now on, what this script starts can be found.
mark_started()
{
    started_mark=$$-$(process_start $$)
    SQTRACE_STARTED="${SQTRACE_STARTED:+$SQTRACE_STARTED }$started_mark"
    export SQTRACE_STARTED
}

# What this script started and what has not ended, a line each: the number of the process, and "orphan" if its parent is
# not among them.
started()
{
    {
        grep -lzsE "^SQTRACE_STARTED=(.* )?$started_mark( |\$)" /proc/[0-9]*/environ
        grep -HsE '^(PPid|State):' /proc/[0-9]*/status
    } | awk -F ':[ \t]*' -v self=$$ '
        { split($1, part, "/"); pid = part[3] }
        NF == 1 { ours[pid] = 1 }
        $2 == "PPid" { parent[pid] = $3 }
        $2 == "State" && $3 ~ /^[ZX]/ { ended[pid] = 1 }
        END {
            delete ours[self]
            do {
                grew = 0
                for (pid in parent)
                    if (!(pid in ours) && pid != self && (parent[pid] == self || parent[pid] in ours))
                        grew = ours[pid] = 1
            } while (grew)
            for (pid in ours)
                if (pid in parent && !(pid in ended))
                    print pid, (parent[pid] == self || parent[pid] in ours) ? "child" : "orphan"
        }'
}

# Seconds that processes have to end when they are asked.
end_seconds=10

# end_started: asks all that this script started to end, waits, and in the end insists.
end_started()
{
    [ -n "${started_mark-}" ] || return 0
    asks=0
    while :; do
        running=
        while read -r pid family; do
            # The processes that looked are gone by now.
            [ -d "/proc/$pid" ] || continue
            running="$running $pid"
            if [ $asks -ge $((end_seconds * 10)) ]; then
                kill -KILL "$pid"
            elif [ $asks -eq 0 ] || [ "$family" = orphan ]; then
                # What others have started meanwhile, they may need to clean up.  If they ended before it, it is asked.
                kill "$pid"
            fi
        done 2>/dev/null <<END_OF_STARTED
$(started)
END_OF_STARTED
        [ -n "$running" ] || return 0
        asks=$((asks + 1))
        [ $asks -le $((end_seconds * 10 + 50)) ] || break
        sleep 0.1
    done
    say "these processes do not end:$running"
}

# interrupted STATUS: what a script that is interrupted does.
interrupted()
{
    trap '' INT TERM HUP
    end_started
    exit "$1"
}

# supervise SCRIPT ARGUMENT...: runs SCRIPT, which is the calling one, as a child, and ends as it does.  The child goes on
# behind this call.  So a script can be interrupted whatever it waits for.
supervise()
{
    if [ "${SQTRACE_SUPERVISOR-}" = $PPID ]; then
        # This is the child.  What it waits for is asked to end, too, so these come soon.
        trap 'exit 130' INT
        trap 'exit 143' TERM
        trap 'exit 129' HUP
        return
    fi
    mark_started
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM
    trap 'interrupted 129' HUP
    # A shell has what it starts in the background ignore SIGINT.
    if env --default-signal=INT,QUIT true 2>/dev/null; then
        SQTRACE_SUPERVISOR=$$ env --default-signal=INT,QUIT sh "$@" &
    else
        SQTRACE_SUPERVISOR=$$ sh "$@" &
    fi
    wait $!
    supervised_status=$?
    # It may have been ended alone.
    [ $supervised_status -le 128 ] || end_started
    exit $supervised_status
}
