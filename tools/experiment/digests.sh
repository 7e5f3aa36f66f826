# SPDX-License-Identifier: GPL-2.0-or-later
# experiment digests: what do cache digests cost two siblings, and when do they help? (2008)
#
# Two siblings, proxy-only, with objects in memory only, at a constant rate.  All is measured at the first.  The second
# has some objects from the start, which the first asks for only where digests can hit: few, and seldom, because Squid
# spoils most of a short digest that it fetches (doc/experiments.md).
#
# All pairs run at the same time, their main threads on one processor, and each round has new Squids: two processes of
# one program that run one after the other differ by more than digests cost.

takes='clients wait rate'
: "${clients:=400}" "${wait:=100}" "${rate:=60}"
case " $given " in
*" rounds "*) ;;
*) rounds=16 ;;
esac
drive_seconds=$(calc "6 * $scale")
requests=$(calc "int($rate * $drive_seconds)")
[ "$requests" -gt 0 ] || die_usage "--rate: too small for a request in $drive_seconds s"
period=1
shared=150
percent=99

configurations()
{
    echo off+on+no-lookups+no-updates+no-false-hits+off-again+off-idle+on-idle+hits-off+hits-on
}

need()
{
    :
}

# configure_sibling NAME PORT PEER-PORT CONFIGURATION LINE: no look-ups by no-digest, no updates by a period of a year,
# no false hits by so many bits that hardly any is set.  A Squid without a cache_dir makes no digest; this one takes no
# object.
configure_sibling()
{
    no_lookups=
    generation=on
    periods="$period second"
    bits=5
    case $4 in
    *off*) no_lookups=no-digest generation=off ;;
    no-lookups) no_lookups=no-digest ;;
    no-updates) periods="1 year" ;;
    no-false-hits) bits=64 ;;
    esac
    squid_configure "$pair/$1" "$squid" "$2" <<END_OF_LINES
visible_hostname $1.test
hostname_aliases 127.0.0.1
cache_peer 127.0.0.1 sibling $3 0 no-query no-netdb-exchange proxy-only $no_lookups
digest_generation $generation
digest_bits_per_entry $bits
digest_rebuild_period $periods
digest_rewrite_period $periods
cache_dir ufs $pair/$1/cache 10 4 16 max-size=1
cache_mem 64 MB
$5
END_OF_LINES
}

# urls NAME COUNT WAIT: each once.
urls()
{
    awk -v origin="$origin" -v name="$1" -v count="$2" -v wait="$3" 'BEGIN {
        for (i = 1; i <= count; ++i)
            print origin "size=4096;wait=" wait "/" name i
    }'
}

# of_pair NAME: its folder, and what start_pair wrote of it.
of_pair()
{
    pair=$run/$1
    [ ! -f "$pair/pids" ] || read -r port peer_port pid peer_pid <"$pair/pids"
}

start_pair()
{
    of_pair "$1"
    port=$(free_port)
    peer_port=$(free_port)
    configure_sibling first "$port" "$peer_port" "$1" "sqtrace_log $pair/first/trace"
    configure_sibling second "$peer_port" "$port" "$1" ""
    begin_squid "$pair/second" "$squid"
    peer_pid=$squid_pid
    begin_squid "$pair/first" "$squid"
    echo "$port $peer_port $squid_pid $peer_pid" >"$pair/pids"
}

# When both have started, begins to give the second what may be shared.
prepare_pair()
{
    of_pair "$1"
    squid_wait "$pair/first" "$pid"
    squid_wait "$pair/second" "$peer_pid"
    share_processor "$pid"
    share_processor "$peer_pid"
    begin_load --workload=urls --urls="$run/shared" --proxy="127.0.0.1:$peer_port" --clients=10 \
        --requests=$((shared / 10))
}

# Begins the load of both, or of the first where the second is idle.
drive_pair()
{
    of_pair "$1"
    begin_cpu "$pid"
    set -- --workload=urls --clients="$clients" --requests=0 --duration="${drive_seconds}s" --spread
    case $name in
    *-idle) ;;
    *)
        sqtrace-load --quiet --urls="$run/second.urls" --rate="$rate" --proxy="127.0.0.1:$peer_port" \
            --seed="$peer_port" "$@" >"$pair/second.out" 2>&1 </dev/null &
        made process $!
        ;;
    esac
    case $name in
    hits-*) set -- --urls="$run/shared" --rate="$(calc "$shared / $drive_seconds")" "$@" ;;
    *) set -- --urls="$run/first.urls" --rate="$rate" "$@" ;;
    esac
    begin_load --proxy="127.0.0.1:$port" --seed="$port" "$@"
}

end_pair()
{
    of_pair "$1"
    end_load
    end_cpu "$pid"
}

keep_pair()
{
    keep_trace "$run/$1/first"
}

run_one()
{
    set_apart
    origin_port=$(free_port)
    origin=http://127.0.0.1:$origin_port/
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    urls shared $shared "$wait" >"$run/shared"
    urls first "$requests" 0 >"$run/first.urls"
    urls second "$requests" 0 >"$run/second.urls"
    each start_pair "$@"
    each prepare_pair "$@"
    each end_load "$@"
    # Until the second has a digest of what is shared: the first fetches it once, with its first request.
    sleep $((4 * period))
    each drive_pair "$@"
    each end_pair "$@"
    # shellcheck disable=SC2046 # numbers
    stop_squids $(cut -d ' ' -f 3,4 "$run"/*/pids)
    each keep_pair "$@"
}

# ---- results ----

# dump WHAT: that table or figure, of the time of the load, until its last response came.
dump()
{
    start=$(sqtrace-dump --quiet --table=losses "$here/trace" | sed -n 's/^# start: .*(\(.*\))$/\1/p')
    longest=$(load_columns "$here/load.tsv" '$c["class"] == "all" { print $c["max_ms"] / 1000 }')
    sqtrace-dump --quiet "$1" --since="$(calc "$(load_start) - $start")s" \
        --until="$(calc "$(load_end) + $longest - $start")s" "$here/trace" >"$run_values"
}

values()
{
    run_values=$here/dumped.tsv
    responses=$(load_columns "$here/load.tsv" '$c["class"] == "all" { print $c["responses"] }')
    echo "cpu_us	$(calc "$(cat "$here/cpu_us") / $responses")"
    echo "cpu_pct	$(calc "$(cat "$here/cpu_us") / 10000 / $drive_seconds")"
    dump --figure=digest-cost || return 1
    load_columns "$run_values" '{
        for (name in c)
            if (name ~ /^p[0-9]+_ms$/ || name == "passes_per_request")
                print name "\t" $c[name] }'
    dump --figure=digest-activity || return 1
    load_columns "$run_values" '
        { print $c["activity"] "_us\t" $c["busy_ms"] * 1000 / responses }' -v responses="$responses"
    dump --table=digests || return 1
    load_columns "$run_values" '
        $c["activity"] == "lookup" || $c["activity"] == "hit" { ++count[$c["activity"] "_" $c["result"]] }
        $c["activity"] == "lookup" { ++count["lookup"] }
        END { for (key in count) print key "\t" count[key] }'
    rm -f "$run_values"
}

reports()
{
    echo report-cost off on no-lookups no-updates no-false-hits off-again
    echo report-idle off-idle on-idle
    echo report-hits hits-off hits-on
}

traces()
{
    echo "$1=$here/trace"
}

rows()
{
    echo "table	metric	label"
    while read -r table metric words; do
        echo "$table	$metric	$words"
    done <<END_OF_ROWS
cost p50_ms response time p50, ms
cost p95_ms response time p95, ms
cost p99_ms response time p99, ms
cost cpu_us CPU of a request, us
cost passes_per_request passes of the loop
activity key_us key
activity lookup_us look-up
activity update_us update
activity rebuild_us rebuild, its steps
activity rewrite_us rewrite, its steps
activity fetch_us fetch, while under way
activity hit_us hit, while under way
activity lookup look-ups in the run
activity lookup_hit of these, digest says hit
activity hit_hit the peer had it
activity hit_false the peer had it not
END_OF_ROWS
}

# What was published of 2008, beside what is now.
busy_table()
{
    awk -F '\t' "$(cat "$statistics")"'
        FNR == NR {
            if ($3 == "cpu_pct")
                value[$1, ++count[$1]] = $4
            next
        }
        {
            split("", list)
            for (i = 1; i <= count[$5]; ++i)
                list[i] = value[$5, i]
            now = ($5 == "now") ? $5 : with_cv(list, count[$5])
            printf "%-42s %10s %17s\n", $1 ", digests " $2 ", " $3 " busy", $4, now
        }' "$folder/values.tsv" - <<END_OF_RUNS
run	on or off	both or one	2008	now
1	on	both	95	on
2	on	one	65	on-idle
3	off	both	75	off
4	off	one	-	off-idle
END_OF_RUNS
}

# ratios BASE NAME...: each metric that matters.
ratios()
{
    base=$1
    shift
    while read -r metric words; do
        echo
        awk -F '\t' -v metric="$metric" -v words="$words" -v names="$*" -v base="$base" -v percent=$percent \
            -f "$statistics" -f "$data/experiment/frame/paired.awk" "$folder/values.tsv"
    done <<END_OF_METRICS
p50_ms response time p50, ms
p95_ms response time p95, ms
p99_ms response time p99, ms
cpu_us CPU of a request, us
passes_per_request passes of the loop for a request
END_OF_METRICS
}

make_tables()
{
    rows >"$folder/rows.tsv"
    cat <<END_OF_WORDS
digests: two siblings, $rate requests a second for objects of 4 KB, each asked for once; $drive_seconds s in each of
$rounds rounds, all pairs at the same time, on one processor.  Digests are rebuilt and rewritten each $period s.  Mean
(coefficient of variation in %); ratios within a round, with their $percent % interval.  All is of the first sibling.
Where the peer has what is asked for, there are $shared requests, and the origin answers after $wait ms.

Table 1: the processor of a busy sibling, %; in 2008 at 1,200 requests a second
END_OF_WORDS
    busy_table
    echo
    echo "Table 2: what digests cost"
    for names in "off on no-lookups no-updates no-false-hits off-again" "off-idle on-idle hits-off hits-on"; do
        echo
        compare_table "$folder/rows.tsv" cost "$names"
    done
    echo
    echo "Table 3: what the trace says of digests, busy us for each request"
    compare_table "$folder/rows.tsv" activity "on no-lookups no-updates no-false-hits on-idle hits-on"
    echo
    echo "Both busy, against no digests"
    ratios off on no-lookups no-updates no-false-hits off-again
    awk -F '\t' -v percent=$percent -f "$statistics" -f "$data/experiment/digests.awk" "$folder/values.tsv"
    echo
    echo "The peer idle, against no digests"
    ratios off-idle on-idle
    echo
    echo "The peer has what is asked for, against no digests"
    ratios hits-off hits-on
}
