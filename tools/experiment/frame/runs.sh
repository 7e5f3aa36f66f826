# SPDX-License-Identifier: GPL-2.0-or-later
#
# runs.sh - the runs of an experiment, each in its folder, in interleaved order.
#
# An experiment defines
#     configurations       prints their names, a line each; of those that run at the same time a line, with + between
#     describe NAME        in words; if it does not, the name is told
#     run_one NAME...      one run: uses $here for what is to be kept and $run for the rest, which is removed.  Where
#                          several run at the same time, "each" sets $here
#     values NAME          prints lines "metric<TAB>value" from $here, of a run that is done
#     make_tables          prints the tables from $folder/values.tsv
#     traces NAME          prints LABEL=FOLDER of a run's traces, for the report
#     verdict              says what is not as expected, and fails then; if it is not defined, all is well

# What a run depends on: runs with other options cannot be compared.  Engines are asked when the runs are done.
parameters()
{
    echo "experiment=$experiment"
    for option in scale $takes; do
        case $option in
        engines | python) ;;
        *) eval "printf '%s\n' \"\$option=\${$option}\"" ;;
        esac
    done
}

# own_list ENTRIES: the list of what was made begins with who works here; then come ENTRIES.
own_list()
{
    printf '%s\n' "owner $$ $(process_start $$)" ${1:+"$1"} >"$made" || die_in_one_line "$made: cannot be written"
    owns_list=yes
}

# take_list: begins the list, and undoes before what a killed run left.  Dies if another process works in the folder.
take_list()
{
    made=$folder/made
    if read_list "$made" && [ -n "$list" ]; then
        read -r _ other start _ <<END_OF_LIST
$list
END_OF_LIST
        [ "$(process_start "$other")" != "${start:-unknown}" ] || die_in_one_line "$folder: process $other works here already"
        say "undoing what an earlier run left"
        own_list "$(printf '%s\n' "$list" | tail -n +2)"
        undo_all
    fi
    own_list ''
}

# enter_folder: makes $folder or goes on with what is in it; undoes what a killed run left.
enter_folder()
{
    mkdir -p -- "$folder/runs" 2>/dev/null || die_in_one_line "$folder: cannot be made"
    enter_path "$folder"
    folder=$path
    only_ours --folder "$folder/runs" ../parameters
    take_list
    parameters >"$folder/parameters.new"
    if [ -n "$fresh" ]; then
        rm -rf "$folder/runs"
        mkdir "$folder/runs"
    elif [ -f "$folder/parameters" ] && ! cmp -s "$folder/parameters" "$folder/parameters.new"; then
        difference=$(diff "$folder/parameters" "$folder/parameters.new" | sed -n 's/^< //p' | tr '\n' ' ')
        rm -f "$folder/parameters.new"
        die_in_one_line "$folder: has runs with other options (${difference% }): give those, another --folder, or --fresh"
    fi
    mv "$folder/parameters.new" "$folder/parameters"
}

describe()
{
    echo "$1"
}

verdict()
{
    return 0
}

# Those that are wanted, as configurations prints them.
wanted()
{
    configurations | awk -F '[+]' -v only="$only" '
        BEGIN { split(only, list, ","); for (i in list) chosen[list[i]] = 1 }
        {
            line = ""
            for (i = 1; i <= NF; ++i)
                if (only == "" || $i in chosen)
                    line = line (line == "" ? "" : "+") $i
            if (line != "")
                print line
        }'
}

# A line for each.
chosen()
{
    wanted | tr + '\n'
}

# in_turn BY SEPARATOR: the words of the input, that many of them moved from the begin to the end.
in_turn()
{
    awk -v by="$1" -v RS="$2" '
        { sub(/\n$/, ""); name[NR - 1] = $0 }
        END { for (i = 0; i < NR; ++i) printf "%s%s", name[(i + by) % NR], i < NR - 1 ? RS : "\n" }'
}

# enter NAME: sets $here to the folder of that configuration in this round.
enter()
{
    here=$folder/runs/$round-$1
}

# each FUNCTION NAME...: calls it for each configuration.
each()
{
    function=$1
    shift
    for name; do
        enter "$name"
        $function "$name"
    done
}

# all_done NAME...
all_done()
{
    for name; do
        enter "$name"
        [ -f "$here/done" ] || return 1
    done
}

# run_all: what is not done yet, the configurations in turn, so that what changes on the machine meets all of them.
run_all()
{
    total=$(($(wanted | wc -l) * rounds))
    run_number=0
    begin=$(date +%s)
    ran=0
    for round in $(seq "$rounds"); do
        for together in $(wanted | in_turn $((round - 1)) '\n'); do
            run_number=$((run_number + 1))
            # shellcheck disable=SC2046 # names
            set -- $(echo "$together" | in_turn $((round - 1)) + | tr + ' ')
            all_done "$@" && continue
            left=
            if [ $ran -gt 0 ]; then
                seconds=$((($(date +%s) - begin) * (total - run_number + 1) / ran))
                left=", about $(((seconds + 59) / 60)) min to go"
            fi
            what="$# configurations at the same time"
            [ $# -gt 1 ] || what=$(describe "$1")
            say "run $run_number of $total: $what, round $round of $rounds$left"
            run_in_folder "$@"
            ran=$((ran + 1))
        done
    done
}

new_folder()
{
    rm -rf "$here"
    mkdir -p "$here"
}

is_done()
{
    : >"$here/done" || die "$here/done: cannot be written"
}

# Sets run, a folder for what a run does not keep.
make_run()
{
    make_temporary sqtrace-experiment
    made folder "$temporary"
    run=$temporary
}

run_in_folder()
{
    each new_folder "$@"
    unbroken make_run
    run_one "$@"
    # What the run made is undone; the owner stays.
    undo_all
    own_list ''
    each is_done "$@"
}

# begin_squid FOLDER PREFIX: as squid_begin, and it is stopped at the end whatever happens.
begin_squid()
{
    squid_begin "$1" "$2"
    made process "$squid_pid"
}

start_squid()
{
    begin_squid "$1" "$2"
    squid_wait "$1" "$squid_pid"
}

# stop_squids PID...: asks all, and waits until they ended.
stop_squids()
{
    kill "$@" 2>/dev/null
    for squid_pid; do
        end_process "$squid_pid" "$(process_start "$squid_pid")"
        wait "$squid_pid" 2>/dev/null
    done
    servers=
}

stop_squid()
{
    stop_squids "$squid_pid"
}

# begin_load ARGUMENT...: sqtrace-load, with its results in $here/load.tsv.
begin_load()
{
    sqtrace-load --quiet --output="$here/load.tsv" "$@" >"$here/load.txt" 2>"$here/load.err" </dev/null &
    echo $! >"$here/load_pid"
    made process $!
}

# end_load: waits for the load of $here.  Fails if it could not, or if bodies were wrong; an invalid run
# (status 3) is told.
end_load()
{
    read -r load_pid <"$here/load_pid"
    rm -f "$here/load_pid"
    wait "$load_pid"
    load_status=$?
    case $load_status in
    0) ;;
    3) say "  this run is invalid: $(grep -m 1 . "$here/load.err" || echo 'requests could not be sent on time')" ;;
    *) die_with_log "$here/load.err" "sqtrace-load failed" ;;
    esac
}

run_load()
{
    begin_load "$@"
    end_load
}

# keep_trace FOLDER [NAME]: moves the trace that the Squid of FOLDER wrote to $here/NAME.
keep_trace()
{
    take_trace "$1" "$here/${2:-trace}"
    cp "$1/squid.conf" "$1/sqtrace.conf" "$1/cache.log" "$here/"
}
