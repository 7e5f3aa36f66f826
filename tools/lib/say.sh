# SPDX-License-Identifier: GPL-2.0-or-later
#
# say.sh - progress lines with elapsed time, logs, errors.  Sourced; the program sets `program`.

say_begin=$(date +%s)

# Seconds since this program began.
elapsed()
{
    echo $(($(date +%s) - say_begin))
}

# A line of progress.
say()
{
    printf '[%5d s] %s\n' "$(elapsed)" "$*"
}

# One line about what is wrong, and out.
die()
{
    printf '%s: %s\n' "$program" "$*" >&2
    exit 1
}

# The same for a wrong command line.
die_usage()
{
    printf '%s: %s\n' "$program" "$*" >&2
    printf "Try '%s --help'.\n" "$program" >&2
    exit 2
}

# run_child COMMAND...: waits for it, and can be interrupted meanwhile.
run_child()
{
    "$@" &
    wait $!
}

# run_logged LOG COMMAND...: its output goes to the end of LOG; one line of progress every half a minute.
run_logged()
{
    run_log=$1
    shift
    "$@" >>"$run_log" 2>&1 </dev/null &
    run_pid=$!
    run_next=$(($(date +%s) + 30))
    while kill -0 "$run_pid" 2>/dev/null; do
        sleep 0.2
        if [ "$(date +%s)" -ge "$run_next" ]; then
            run_next=$((run_next + 30))
            say "  ... $(grep -c '^libtool: compile\|^ *CC  \|^ *CXX  ' "$run_log") compiler runs," \
                "now: $(tail -n 1 "$run_log" | cut -c 1-60)"
        fi
    done
    wait "$run_pid"
}

# die_with_log LOG WORD...: an error, with the end of the log that tells why.
die_with_log()
{
    log=$1
    shift
    printf '%s: %s\n' "$program" "$*" >&2
    printf '%s: the end of %s:\n' "$program" "$log" >&2
    tail -n 25 "$log" | sed 's/^/    /' >&2
    exit 1
}
