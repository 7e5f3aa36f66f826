# SPDX-License-Identifier: GPL-2.0-or-later
# experiment overhead: what tracing costs: on, off, and an unpatched Squid twice
#
# Hits in memory, as fast as Squid can, which is where tracing weighs most.  One Squid at a time is driven, so its caches
# are hot and its main thread has a processor for itself.  The flusher and the disk process share the other processors with
# the clients.  Each round has new Squids, in another order.  Ratios to the unpatched Squid are taken within the round.

takes='unpatched clients'
: "${clients:=20}"
case " $given " in
*" rounds "*) ;;
*) rounds=16 ;;
esac
drive_seconds=$(calc "4 * $scale")

configurations()
{
    echo unpatched+patched-on+patched-off+unpatched-again
}

need()
{
    :
}

start_one()
{
    place=$run/$1
    port=$(free_port)
    prefix=$squid
    line=
    case $1 in
    unpatched*) prefix=$unpatched ;;
    patched-on) line="sqtrace_log $place/trace" ;;
    esac
    squid_configure "$place" "$prefix" "$port" <<END_OF_LINES
cache_mem 64 MB
$line
END_OF_LINES
    start_squid "$place" "$prefix"
    share_processor "$squid_pid"
    echo "$squid_pid $port" >"$place/pid"
    drive_one "$1" --requests=100
    end_load
}

# drive_one NAME [ARGUMENT...]: begins its load.
drive_one()
{
    read -r pid port <"$run/$1/pid"
    shift
    [ $# -gt 0 ] || set -- --requests=0 --duration="${drive_seconds}s"
    begin_cpu "$pid"
    begin_load --workload=urls --server="127.0.0.1:$origin_port" --objects=100 --size=4KB --proxy="127.0.0.1:$port" \
        --clients="$clients" "$@"
}

end_one()
{
    read -r pid _ <"$run/$1/pid"
    end_load
    end_cpu "$pid"
}

drive_alone()
{
    drive_one "$1"
    end_one "$1"
}

run_one()
{
    set_apart
    origin_port=$(free_port)
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    each start_one "$@"
    each drive_alone "$@"
    # shellcheck disable=SC2046 # numbers
    stop_squids $(cut -d ' ' -f 1 "$run"/*/pid)
    [ ! -d "$run/patched-on" ] || { enter patched-on && keep_trace "$run/patched-on"; }
}

# ---- results ----

values()
{
    load_columns "$here/load.tsv" '
        $c["class"] == "all" {
            print "requests_s\t" $c["responses"] / $c["duration_s"]
            print "cpu_us\t" cpu / $c["responses"]
            print "mean_ms\t" $c["mean_ms"]
        }' -v cpu="$(cat "$here/cpu_us")"
}

reports()
{
    echo report patched-on
}

traces()
{
    echo "$here/trace"
}

make_tables()
{
    cat <<END_OF_WORDS
overhead: processor time is that of all threads and processes of Squid, tracing's flusher and disk process included.
$clients clients ask for 100 objects of 4 KB in memory.  In each of $rounds rounds each Squid is driven alone for
$drive_seconds s.  Mean (coefficient of variation in %); ratios are to the unpatched Squid of the same round, with their
95 % interval.
END_OF_WORDS
    while read -r metric words; do
        echo
        awk -F '\t' -v metric="$metric" -v words="$words" -v names="patched-on patched-off unpatched-again" \
            -v base=unpatched -v percent=95 -f "$statistics" -f "$data/experiment/frame/paired.awk" "$folder/values.tsv"
    done <<END_OF_METRICS
requests_s requests a second
cpu_us processor time of a request, us
mean_ms latency in the mean, ms
END_OF_METRICS
}
