# SPDX-License-Identifier: GPL-2.0-or-later
# experiment digests: what do cache digests cost two siblings, and when do they help? (2008)
#
# Two siblings, proxy-only, with objects in memory only, at a constant rate.  All is measured at the first.  The second
# has some objects from the start, which the first asks for only where digests can hit: few, and seldom, because Squid
# spoils most of a short digest that it fetches (doc/experiments.md).

takes='clients wait rate'
: "${clients:=400}" "${wait:=100}" "${rate:=200}"
case " $given " in
*" rounds "*) ;;
*) rounds=4 ;;
esac
drive_seconds=$(calc "8 * $scale")
requests=$(calc "int($rate * $drive_seconds)")
[ "$requests" -gt 0 ] || die_usage "--rate: too small for a request in $drive_seconds s"
period=1
shared=150
percent=99

configurations()
{
    cat <<END_OF_NAMES
off
on
no-lookups
no-updates
off-again
off-idle
on-idle
hits-off
hits-on
END_OF_NAMES
}

describe()
{
    case $1 in
    off) echo "digests off, both busy" ;;
    on) echo "digests on, both busy" ;;
    no-lookups) echo "digests on, but no look-ups" ;;
    no-updates) echo "digests on, but no updates" ;;
    off-again) echo "digests off again (A/A)" ;;
    off-idle) echo "digests off, the peer idle" ;;
    on-idle) echo "digests on, the peer idle" ;;
    hits-off) echo "digests off, the peer has what is asked for" ;;
    hits-on) echo "digests on, the peer has what is asked for" ;;
    esac
}

need()
{
    :
}

# configure_sibling NAME PORT PEER-PORT CONFIGURATION LINE: no look-ups by no-digest, no updates by a period of a year.
# A Squid without a cache_dir makes no digest; this one takes no object.
configure_sibling()
{
    own_folder "$run/$1" "$run/$1/trace"
    no_lookups=
    generation=on
    periods="$period second"
    case $4 in
    *off*) no_lookups=no-digest generation=off ;;
    no-lookups) no_lookups=no-digest ;;
    no-updates) periods="1 year" ;;
    esac
    squid_configure "$run/$1" "$squid" "$2" <<END_OF_LINES
visible_hostname $1.test
hostname_aliases 127.0.0.1
cache_peer 127.0.0.1 sibling $3 0 no-query no-netdb-exchange proxy-only $no_lookups
digest_generation $generation
digest_rebuild_period $periods
digest_rewrite_period $periods
cache_dir ufs $run/$1/cache 10 4 16 max-size=1
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

run_one()
{
    port=$(free_port)
    peer_port=$(free_port)
    configure_sibling first "$port" "$peer_port" "$1" "sqtrace_log $run/first/trace"
    configure_sibling second "$peer_port" "$port" "$1" ""
    start_squid "$run/second" "$squid"
    start_squid "$run/first" "$squid"
    origin_port=$(free_port)
    origin=http://127.0.0.1:$origin_port/
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    urls shared $shared "$wait" >"$run/shared"
    urls first "$requests" 0 >"$run/first.urls"
    urls second "$requests" 0 >"$run/second.urls"
    run_load --workload=urls --urls="$run/shared" --proxy="127.0.0.1:$peer_port" --clients=10 \
        --requests=$((shared / 10))
    # Until the second has a digest of that: the first fetches it once, with its first request.
    sleep $((4 * period))
    kind=$1
    set -- --workload=urls --clients="$clients" --requests=0 --duration="${drive_seconds}s"
    case $kind in
    *-idle) ;;
    *)
        sqtrace-load --quiet --urls="$run/second.urls" --rate="$rate" --proxy="127.0.0.1:$peer_port" "$@" \
            >"$run/second.out" 2>&1 </dev/null &
        made process $!
        ;;
    esac
    case $kind in
    hits-*) set -- --urls="$run/shared" --rate="$(calc "$shared / $drive_seconds")" "$@" ;;
    *) set -- --urls="$run/first.urls" --rate="$rate" "$@" ;;
    esac
    before=$(cpu_ms)
    run_load --proxy="127.0.0.1:$port" "$@"
    echo "$(($(cpu_ms) - before))" >"$here/cpu_ms"
    stop_squid
    keep_trace "$run/first"
}

# ---- results ----

# dump WHAT: that table or figure, of the time of the load.
dump()
{
    start=$(sqtrace-dump --quiet --table=losses "$here/trace" | sed -n 's/^# start: .*(\(.*\))$/\1/p')
    sqtrace-dump --quiet "$1" --since="$(calc "$(load_start) - $start")s" --until="$(calc "$(load_end) - $start")s" \
        "$here/trace" >"$run_values"
}

values()
{
    responses=$(load_columns "$here/load.tsv" '$c["class"] == "all" { print $c["responses"] }')
    echo "cpu_us	$(calc "$(cat "$here/cpu_ms") * 1000 / $responses")"
    echo "cpu_pct	$(calc "$(cat "$here/cpu_ms") / 10 / $drive_seconds")"
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
run_values=${TMPDIR:-/tmp}/sqtrace-experiment-values.$$

reports()
{
    echo report-cost off on no-lookups no-updates off-again
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
            printf "%-26s %17s %17s\n", $1 ", digests " $2 ", " $3 " busy", $4, now
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
$rounds rounds.  Digests are rebuilt and rewritten each $period s.  Mean (coefficient of variation in %); ratios within
a round, with their $percent % interval.  All is of the first sibling.  Where the peer has what is asked for, there are
$shared requests, and the origin answers after $wait ms.

Table 1: the processor of a busy sibling, %; in 2008 at 1,200 requests a second
END_OF_WORDS
    busy_table
    echo
    echo "Table 2: what digests cost"
    for names in "off on no-lookups no-updates off-again" "off-idle on-idle hits-off hits-on"; do
        echo
        compare_table "$folder/rows.tsv" cost "$names"
    done
    echo
    echo "Table 3: what the trace says of digests, busy us for each request"
    compare_table "$folder/rows.tsv" activity "on no-lookups no-updates on-idle hits-on"
    echo
    echo "Both busy, against no digests"
    ratios off on no-lookups no-updates off-again
    awk -F '\t' -v percent=$percent -f "$statistics" -f "$data/experiment/digests.awk" "$folder/values.tsv"
    echo
    echo "The peer idle, against no digests"
    ratios off-idle on-idle
    echo
    echo "The peer has what is asked for, against no digests"
    ratios hits-off hits-on
}
