# SPDX-License-Identifier: GPL-2.0-or-later
# experiment fleet: which of several proxies is ill, and why? one query in DuckDB, ClickHouse or Spark names host and cause
#
# Four Squids with different loads run at the same time, each with a cache_dir on a disk of its own.  One disk is slow.
# sqtrace-ship writes all traces to one folder.  Each engine that is there answers doc/queries/ill-host.sql.

takes='clients wait service rate ill engines python'
: "${clients:=200}" "${wait:=20}" "${service:=20}" "${rate:=20}" "${ill:=proxy-2.paris.example}" "${python:=python3}"
case " $given " in
*" rounds "*) ;;
*) rounds=1 ;;
esac
drive_seconds=$(calc "15 * $scale")
cache_mb=75
# What findings may say of a disk that is slow.
causes="cache_dirs disk_slow disk_queue memory_small"
every_engine='duckdb clickhouse spark'

# Of each host: its rate, size of objects in bytes, how long its origin waits, and the share of requests that repeat one.
# Rate and wait are factors.
loads()
{
    cat <<END_OF_LOADS
proxy-1.paris.example 1 8192 1 0.5
proxy-2.paris.example 2 8192 1 0.5
proxy-1.berlin.example 1 8192 3 0.5
proxy-2.berlin.example 0.5 65536 1 0.7
END_OF_LOADS
}

configurations()
{
    loads | cut -d ' ' -f 1 | paste -s -d +
}

case $service in
*[!0-9.]* | '') ;;
*) well=$(calc "$service / 20") ;;
esac
configurations | tr + '\n' | grep -qxF -e "$ill" ||
    die_usage "--ill: '$ill': $(configurations | sed 's/+/, /g') are possible"
for engine in $(echo "$engines" | tr , ' '); do
    case " $every_engine " in
    *" $engine "*) ;;
    *) die_usage "--engines: '$engine': duckdb, clickhouse and spark are possible" ;;
    esac
done

# engine_is ENGINE: sets said to what stands for it, or what is missing.
engine_is()
{
    if ! command -v "$python" >/dev/null; then
        said="$1: $python is missing: apt-get install python3"
        return 1
    fi
    said=$("$python" -B "$data/experiment/engines.py" "$1" 2>&1)
}

need()
{
    need_disks
    [ -x "$tools/sqtrace-ship" ] || die "$tools/sqtrace-ship is missing: build sqtrace again"
    [ -f "$queries/ill-host.sql" ] || die "$queries/ill-host.sql is missing"
    for engine in $(echo "$engines" | tr , ' '); do
        engine_is "$engine" || die "--engines: $said"
    done
    # The rule of findings needs enough requests to compare.
    awk -v rate="$rate" -v seconds="$drive_seconds" 'BEGIN { exit rate * seconds < 50 }' ||
        die_usage "--rate, --scale: expected 50 requests or more of each host, not $(calc "$rate * $drive_seconds")"
}

# load_of HOST: sets number, its_rate, bytes, its_wait and share.
load_of()
{
    number=$(loads | awk -v host="$1" '$1 == host { print NR }')
    read -r _ its_rate bytes its_wait share <<END_OF_LOAD
$(loads | sed -n "${number}p")
END_OF_LOAD
    its_rate=$(calc "$its_rate * $rate")
    its_wait=$(calc "int($its_wait * $wait)")
    host_folder=$run/$1
}

# urls: a share of them repeats one of those that were asked for at least 2 s before.
urls()
{
    awk -v origin="$origin" -v bytes="$bytes" -v wait="$its_wait" -v share="$share" -v seed="$round$number" \
        -v rate="$its_rate" -v seconds="$drive_seconds" 'BEGIN {
        srand(seed)
        for (i = 0; i < rate * seconds; ++i) {
            old = i - 2 * rate
            url[i] = old >= 1 && rand() < share ? url[int(rand() * old)] : origin "size=" bytes ";wait=" wait "/" i
            print url[i]
        }
    }'
}

begin_host()
{
    load_of "$1"
    make_disk "$number" $((cache_mb * 2))
    port=$(free_port)
    squid_configure "$host_folder" "$squid" "$port" <<END_OF_LINES
cache_dir aufs $(disk_of "$number") $cache_mb 4 16
cache_mem 0
memory_cache_mode disk
sqtrace_log $host_folder/trace host=$1
END_OF_LINES
    begin_squid "$host_folder" "$squid"
    echo "$port $squid_pid" >"$host_folder/pid"
    urls >"$host_folder/urls"
}

wait_host()
{
    load_of "$1"
    read -r port squid_pid <"$host_folder/pid"
    squid_wait "$host_folder" "$squid_pid"
    if [ "$1" = "$ill" ]; then
        set_service "$service" "$number"
    else
        set_service "$well" "$number"
    fi
}

drive_host()
{
    load_of "$1"
    read -r port squid_pid <"$host_folder/pid"
    begin_load --workload=urls --urls="$host_folder/urls" --proxy="127.0.0.1:$port" --clients="$clients" \
        --rate="$its_rate" --requests=0 --duration="${drive_seconds}s" --spread --seed="$number"
}

end_host()
{
    end_load
}

keep_host()
{
    keep_trace "$run/$1"
}

run_one()
{
    origin_port=$(free_port)
    origin=http://127.0.0.1:$origin_port/
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    each begin_host "$@"
    each wait_host "$@"
    # shellcheck disable=SC2046 # numbers
    drop_pages $(for host; do load_of "$host" && echo "$number"; done)
    each drive_host "$@"
    each end_host "$@"
    set_service 0
    # shellcheck disable=SC2046 # numbers
    stop_squids $(cut -d ' ' -f 2 "$run"/*/pid)
    each keep_host "$@"
}

# ---- results ----

values()
{
    load_columns "$here/load.tsv" '
        $c["class"] == "all" {
            print "responses\t" $c["responses"]
            print "latency_ms\t" $c["mean_ms"]
            print "p99_ms\t" $c["p99_ms"]
            print "hit_pct\t" $c["hit_pct"]
        }'
}

traces()
{
    # A label has no dot.
    echo "$(echo "$1" | tr . -)=$here/trace"
}

rows()
{
    cat <<END_OF_ROWS
table	metric	label
load	responses	responses
load	latency_ms	latency, ms
load	p99_ms	latency p99, ms
load	hit_pct	hits, %
END_OF_ROWS
}

# Ships every trace anew, so that runs that are gone leave no row.  The folder of runs is the experiment's own.
ship()
{
    rm -rf "$shipped"
    for round in $(seq "$rounds"); do
        for configuration in $(chosen); do
            sqtrace-ship --quiet --make-folder --to="$shipped" "$folder/runs/$round-$configuration/trace" >&2 ||
                die "sqtrace-ship failed"
        done
    done
}

# The engines that are there; the others are in $folder/missing.
usable()
{
    : >"$folder/missing"
    for engine in $(echo "${engines:-$every_engine}" | tr , ' '); do
        if engine_is "$engine"; then
            echo "$engine"
        else
            echo "$said" >>"$folder/missing"
        fi
    done
}

# ask ENGINE: its answer is $folder/ill-host-ENGINE.tsv.  Prints whether the first row names host and cause.
ask()
{
    sqtrace-dump --ddl="$1" "$shipped" >"$folder/fleet-$1.sql" || die "sqtrace-dump --ddl=$1 failed"
    if ! "$python" -B "$data/experiment/engines.py" "$1" "$folder/fleet-$1.sql" "$queries/ill-host.sql" \
        >"$folder/ill-host-$1.tsv" 2>"$folder/ill-host-$1.err"; then
        echo "$1 did not answer: $(tail -n 1 "$folder/ill-host-$1.err")"
        echo "$1" >>"$folder/wrong"
        return
    fi
    rm -f "$folder/ill-host-$1.err"
    column -t -s '	' "$folder/ill-host-$1.tsv" 2>/dev/null || cat "$folder/ill-host-$1.tsv"
    first=$(load_columns "$folder/ill-host-$1.tsv" '{ print $c["host"], $c["cause"]; exit }')
    for cause in $causes; do
        if [ "$first" = "$ill $cause" ]; then
            echo "$1 names the ill host and its cause first: $ill, $cause."
            return
        fi
    done
    echo "$1 does not name the ill host and its cause first: ${first:-nothing}, not $ill and one of: $causes."
    echo "$1" >>"$folder/wrong"
}

commands()
{
    cat <<END_OF_COMMANDS
No engine was asked.  Where one is, for example DuckDB:
    sqtrace-dump --ddl=duckdb $shipped >fleet.sql
    duckdb fleet.db <fleet.sql
    duckdb fleet.db <$queries/ill-host.sql
END_OF_COMMANDS
}

make_tables()
{
    shipped=$folder/runs/shipped
    rows >"$folder/rows.tsv"
    rm -f "$folder/wrong"
    for engine in $every_engine; do
        rm -f "$folder/fleet-$engine.sql" "$folder/ill-host-$engine.tsv" "$folder/ill-host-$engine.err"
    done
    cat <<END_OF_WORDS
fleet: four proxies with aufs for $drive_seconds s; $rate requests a second, twice as many at proxy-2.paris.example, half at
proxy-2.berlin.example, which has objects of 64 KB, the others of 8 KB.  The origin answers after $wait ms, to
proxy-1.berlin.example after $(calc "3 * $wait") ms.  Each I/O takes the disk of $ill $service ms, the other disks $well ms.

Table 1: what clients saw, mean (coefficient of variation in %) of $rounds runs
END_OF_WORDS
    compare_table "$folder/rows.tsv" load "$(chosen | tr '\n' ' ')"
    ship
    there=$(usable)
    for engine in $there; do
        echo
        echo "ill-host.sql in $engine:"
        ask "$engine"
    done
    echo
    [ -n "$there" ] || commands
    sed 's/^/not asked: /' "$folder/missing"
    rm -f "$folder/missing"
}

verdict()
{
    [ ! -e "$folder/wrong" ] && return 0
    say "not found by: $(paste -s -d ' ' "$folder/wrong")"
    return 3
}
