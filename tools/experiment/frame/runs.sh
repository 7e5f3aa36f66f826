# SPDX-License-Identifier: GPL-2.0-or-later
#
# runs.sh - the runs of an experiment, each in its folder, in interleaved order.
#
# An experiment defines
#     configurations       prints their names
#     describe NAME        in words
#     run_one NAME         one run: uses $here for what is to be kept and $run for the rest, which is removed
#     values NAME          prints lines "metric<TAB>value" from $here, of a run that is done
#     make_tables          prints the tables from $folder/values.tsv
#     traces NAME          prints LABEL=FOLDER of a run's traces, for the report

# What a run depends on: runs with other options cannot be compared.
parameters()
{
    echo "experiment=$experiment"
    for option in scale $takes; do
        eval "echo \"\$option=\${$option}\""
    done
}

# The first line of the list of what was made: who works here.
owner()
{
    echo "owner $$ $(process_start $$)"
}

# enter_folder: makes $folder or goes on with what is in it; undoes what a killed run left.
enter_folder()
{
    mkdir -p "$folder/runs" 2>/dev/null || die "$folder: cannot be made"
    folder=$(cd "$folder" && pwd -P)
    read -r _ other start 2>/dev/null <"$folder/made" && [ "$(process_start "$other")" = "$start" ] &&
        die "$folder: process $other works here already"
    made=$folder/made
    if [ -s "$made" ]; then
        say "undoing what an earlier run left"
        sed -i "1s/.*/$(owner)/" "$made"
        undo_all
    fi
    owner >"$made" || die "$made: cannot be written"
    parameters >"$folder/parameters.new"
    if [ -n "$fresh" ]; then
        rm -rf "$folder/runs"
        mkdir "$folder/runs"
    elif [ -f "$folder/parameters" ] && ! cmp -s "$folder/parameters" "$folder/parameters.new"; then
        difference=$(diff "$folder/parameters" "$folder/parameters.new" | sed -n 's/^< //p' | tr '\n' ' ')
        rm -f "$folder/parameters.new"
        die "$folder: has runs with other options (${difference% }): give those, another --folder, or --fresh"
    fi
    mv "$folder/parameters.new" "$folder/parameters"
}

# Those that are wanted.
chosen()
{
    configurations | awk -v only="$only" '
        BEGIN { split(only, list, ","); for (i in list) wanted[list[i]] = 1 }
        only == "" || $0 in wanted'
}

# Configurations in the order of round $1: each round begins with another one.
in_turn()
{
    chosen | awk -v by=$(($1 - 1)) '
        { name[NR] = $0 }
        END { for (i = 0; i < NR; ++i) print name[(i + by) % NR + 1] }'
}

# run_all: what is not done yet, the configurations in turn, so that what changes on the machine meets all of them.
run_all()
{
    all=$(chosen | wc -l)
    total=$((all * rounds))
    run_number=0
    begin=$(date +%s)
    ran=0
    for round in $(seq "$rounds"); do
        for configuration in $(in_turn "$round"); do
            run_number=$((run_number + 1))
            here=$folder/runs/$round-$configuration
            if [ -f "$here/done" ]; then
                continue
            fi
            left=
            if [ $ran -gt 0 ]; then
                seconds=$((($(date +%s) - begin) * (total - run_number + 1) / ran))
                left=", about $(((seconds + 59) / 60)) min to go"
            fi
            say "run $run_number of $total: $(describe "$configuration"), round $round of $rounds$left"
            run_in_folder "$configuration"
            ran=$((ran + 1))
        done
    done
}

run_in_folder()
{
    rm -rf "$here"
    mkdir -p "$here"
    run=$(mktemp -d "${TMPDIR:-/tmp}/sqtrace-experiment.XXXXXX") || die "no folder for temporary files"
    chmod 755 "$run"
    made folder "$run"
    run_one "$1"
    # What the run made is undone; the owner stays.
    undo_all
    owner >"$made"
    : >"$here/done" || die "$here/done: cannot be written"
}

# start_squid FOLDER PREFIX: as squid_start, and it is stopped at the end whatever happens.
start_squid()
{
    squid_start "$1" "$2"
    made process "$squid_pid"
}

stop_squid()
{
    end_process "$squid_pid" "$(process_start "$squid_pid")"
    wait "$squid_pid" 2>/dev/null
    servers=
}

# Processor time that the Squid of squid_pid and its helpers had, ms.
cpu_ms()
{
    for process in $(family "$squid_pid"); do
        sed 's/.*) //' "/proc/$process/stat"
    done | awk -v ticks="$(getconf CLK_TCK)" '{ sum += $12 + $13 } END { printf "%.0f\n", sum * 1000 / ticks }'
}

# run_load ARGUMENT...: sqtrace-load, with its results in $here/load.tsv.  Fails if it could not, or if bodies were wrong;
# a run that says little (status 3) is told.
run_load()
{
    sqtrace-load --quiet --output="$here/load.tsv" "$@" >"$here/load.txt" 2>"$here/load.err" </dev/null &
    run_pid=$!
    made process "$run_pid"
    wait "$run_pid"
    load_status=$?
    run_pid=
    case $load_status in
    0) ;;
    3) say "  this run says little: $(grep -m 1 . "$here/load.err" || echo 'requests could not be sent on time')" ;;
    *) die_with_log "$here/load.err" "sqtrace-load failed" ;;
    esac
}

# keep_trace FOLDER [NAME]: moves the trace that the Squid of FOLDER wrote to $here/NAME.
keep_trace()
{
    mkdir -p "$here/${2:-trace}"
    mv "$1/trace"/*.sqt "$here/${2:-trace}/" || die_with_log "$1/cache.log" "there is no trace"
    cp "$1/squid.conf" "$1/cache.log" "$here/"
    [ "$(id -u)" -ne 0 ] || chown -R 0 "$here/${2:-trace}"
}
