# SPDX-License-Identifier: GPL-2.0-or-later
#
# say.sh - progress lines with elapsed time, logs, errors.  Sourced; the program sets `program`.

# A program that is a part of another one goes on with its clock.
say_begin=${SQTRACE_SAY_BEGIN:-$(date +%s)}

# Seconds since this program, or the one that it is a part of, began.
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

# Seconds between lines of progress.
say_every=20

# compiler_runs LOG: how many compilers were started: make prints the whole command, or "  CC  " in its place.
compiler_runs()
{
    grep -cE '^  C(C|XX)  | -c -o ' "$1"
}

# compiler_runs_ahead DIR TARGET...: how many of them `make TARGET...` will start in that folder; 0 if it does not say.
compiler_runs_ahead()
{
    (cd "$1" 2>/dev/null && shift && timeout 20 make -k -n "$@" 2>/dev/null) | grep -c -- ' -c -o '
}

# say_time_left SECONDS: in words.
say_time_left()
{
    if [ "$1" -ge 90 ]; then
        echo "about $((($1 + 30) / 60)) min left"
    else
        echo "about $1 s left"
    fi
}

# say_progress: of what run_logged runs.
say_progress()
{
    run_done=$(($(compiler_runs "$run_log") - run_before))
    run_now=$(tail -n 1 "$run_log" | tr -dc '[:print:]' | cut -c 1-60)
    run_now=${run_now:+now: $run_now}
    run_now=${run_now:-running for $(($(date +%s) - run_begin)) s}
    if [ "$run_of" -gt "$run_done" ] && [ $run_done -ge 10 ]; then
        run_spent=$(($(date +%s) - run_begin))
        say "  ... $run_done of $run_of compiler runs," \
            "$(say_time_left $((run_spent * (run_of - run_done) / run_done)))"
    elif [ "$run_of" -gt 0 ]; then
        say "  ... $run_done of $run_of compiler runs, $run_now"
    else
        say "  ... $run_now"
    fi
}

# run_logged LOG COMMAND...: its output goes to the end of LOG; a line of progress comes every 20 s.
run_logged()
{
    run_counted 0 "$@"
}

# run_counted COUNT LOG COMMAND...: the same for a command that starts so many compilers; 0: unknown, or none.
run_counted()
{
    run_of=$1
    run_log=$2
    shift 2
    run_begin=$(date +%s)
    run_before=$(compiler_runs "$run_log" 2>/dev/null)
    run_before=${run_before:-0}
    "$@" >>"$run_log" 2>&1 </dev/null &
    run_pid=$!
    run_next=$((run_begin + say_every))
    while kill -0 "$run_pid" 2>/dev/null; do
        sleep 0.2
        if [ "$(date +%s)" -ge "$run_next" ]; then
            run_next=$((run_next + say_every))
            say_progress
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
