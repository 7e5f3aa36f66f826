# SPDX-License-Identifier: GPL-2.0-or-later
# experiment overhead: what tracing costs: on, off, and an unpatched Squid twice
#
# Hits in memory, as fast as Squid can, which is where tracing weighs most.  Each round measures all; ratios to the
# unpatched Squid are taken within the round.

takes='unpatched clients'
: "${clients:=20}"
case " $given " in
*" rounds "*) ;;
*) rounds=10 ;;
esac
drive_seconds=$(calc "4 * $scale")

configurations()
{
    echo unpatched
    echo patched-on
    echo patched-off
    echo unpatched-again
}

describe()
{
    case $1 in
    unpatched) echo "unpatched" ;;
    patched-on) echo "patched, tracing on" ;;
    patched-off) echo "patched, tracing off" ;;
    unpatched-again) echo "unpatched again (A/A)" ;;
    esac
}

need()
{
    :
}

run_one()
{
    port=$(free_port)
    own_folder "$run/squid" "$run/squid/trace"
    prefix=$squid
    line=
    case $1 in
    unpatched*) prefix=$unpatched ;;
    patched-on) line="sqtrace_log $run/squid/trace" ;;
    esac
    squid_configure "$run/squid" "$prefix" "$port" <<END_OF_LINES
cache_mem 64 MB
$line
END_OF_LINES
    start_squid "$run/squid" "$prefix"
    origin_port=$(free_port)
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    set -- --workload=urls --server="127.0.0.1:$origin_port" --objects=100 --size=4KB --proxy="127.0.0.1:$port" \
        --clients="$clients"
    run_load "$@" --requests=100
    before=$(cpu_ms)
    run_load "$@" --requests=0 --duration="${drive_seconds}s"
    echo "$(($(cpu_ms) - before))" >"$here/cpu_ms"
    stop_squid
    if [ -n "$line" ]; then
        keep_trace "$run/squid"
    fi
}

# ---- results ----

values()
{
    load_columns "$here/load.tsv" '
        $c["class"] == "all" {
            print "requests_s\t" $c["responses"] / $c["duration_s"]
            print "cpu_us\t" cpu * 1000 / $c["responses"]
            print "mean_ms\t" $c["mean_ms"]
        }' -v cpu="$(cat "$here/cpu_ms")"
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
overhead: $clients clients ask for 100 objects of 4 KB in memory, ${drive_seconds} s in each of $rounds rounds.  Ratios are to the
unpatched Squid of the same round, with their 95 % interval.
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
