# SPDX-License-Identifier: GPL-2.0-or-later
# experiment diskop: where do asynchronous disk operations wait, at full load and in the idle phase? (2000)
#
# PolyMix at a constant rate with two cache_dirs on two disks: the cache is filled at half the rate, then comes full
# load, then a tenth of it.

takes='clients stores wait service disks rate'
: "${clients:=500}" "${stores:=ufs,aufs,diskd,rock}" "${wait:=500}" "${service:=20}" "${rate:=150}"
cache_mb=75
operations='open create read write close unlink'
batch=1000

configurations()
{
    echo "$stores" | tr , '\n'
}

need()
{
    need_disks
}

run_one()
{
    for disk in 1 2; do
        make_disk "$disk" $((cache_mb * 2))
    done
    port=$(free_port)
    {
        for disk in 1 2; do
            echo "cache_dir $1 $(disk_of "$disk") $cache_mb $([ "$1" = rock ] || echo 4 16)"
        done
        cat
    } <<END_OF_LINES | squid_configure "$run/squid" "$squid" "$port"
cache_mem 0
memory_cache_mode disk
sqtrace_log $run/squid/trace ring=8MB
END_OF_LINES
    start_squid "$run/squid" "$squid"
    set_service "$service"
    drop_pages 1 2
    run_load --workload=poly --proxy="127.0.0.1:$port" --clients="$clients" --rate="$rate" --wait="${wait}ms" \
        --scale="$(calc "0.0015 * $scale")" --cache=1500MB --phases=fill,inc1,top1,dec1,idle --seed="$round"
    # What is under way now comes back, or never.
    sleep 3
    set_service 0
    stop_squid
    keep_trace "$run/squid"
}

# ---- results ----

values()
{
    run_values=$here/dumped.tsv
    sqtrace-dump --quiet --table=diskops "$here/trace" >"$run_values" || return 1
    awk -F '\t' -v load_start="$(load_start)" -v settle="$(calc "$wait / 500")" \
        -f "$columns" -f "$data/experiment/diskop.awk" "$here/load.tsv" "$run_values"
    # The batch that waited longest.
    sqtrace-dump --quiet --figure=diskop-latency --batch=$batch "$here/trace" >"$run_values" || return 1
    load_columns "$run_values" '
        function most(stage) {
            if ($c[stage "_mean_ms"] != "-" && $c[stage "_mean_ms"] + 0 >= worst[$c["op"], stage])
                worst[$c["op"], stage] = $c[stage "_mean_ms"]
        }
        { most("dequeued"); most("io") }
        END { for (key in worst) { split(key, part, SUBSEP); print "worst_" part[1] "_" part[2] "_ms\t" worst[key] } }'
    rm -f "$run_values"
}

traces()
{
    echo "$1=$here/trace"
}

rows()
{
    echo "table	metric	label"
    for phase in full idle; do
        echo "$phase	${phase}_ops_s	operations a second"
        echo "$phase	${phase}_in_flight	in flight, in the mean"
        echo "$phase	${phase}_hit_ms	latency of a hit, ms"
        for operation in $operations; do
            while read -r stage words; do
                echo "$phase	${phase}_${operation}_${stage}_ms	$operation: $words"
            done <<END_OF_STAGES
queue in a queue
io being done
notice until noticed
serve being served
END_OF_STAGES
        done
    done
    for operation in $operations; do
        echo "worst	worst_${operation}_dequeued_ms	$operation: in a queue"
        echo "worst	worst_${operation}_io_ms	$operation: being done"
    done
    echo "lost	lost	never came back"
}

title_of()
{
    case $1 in
    full) echo "Table 1: full load, ms of an operation" ;;
    idle) echo "Table 2: idle phase, a tenth of it, ms of an operation" ;;
    worst) echo "Table 3: of $batch successive operations of a kind, those that took longest, ms in the mean" ;;
    lost) echo "Table 4: operations that were lost" ;;
    esac
}

make_tables()
{
    rows >"$folder/rows.tsv"
    cat <<END_OF_WORDS
diskop: PolyMix at $rate requests a second, two cache_dirs; the origin answers after $wait ms in the mean.
$(words_for_disks)
Mean (coefficient of variation in %) of $rounds runs.  What has no queue is done by the main thread itself, and nobody
else is served meanwhile.
END_OF_WORDS
    for table in full idle worst lost; do
        echo
        title_of $table
        compare_table "$folder/rows.tsv" $table "$(configurations | tr '\n' ' ')"
    done
    cat <<END_OF_WORDS

Published in 2000, aufs with 8 threads for each of 4 disks, 250 requests/s: at full load an operation waited up to 1,000
ms in the queue while it took under 100 ms to be done; close took 0.010 ms; in the idle phase operations in flight did
not return to zero, because some never came back.
END_OF_WORDS
}
