# SPDX-License-Identifier: GPL-2.0-or-later
# experiment disk-arms: does a second disk make a proxy faster? (1998) and where the time went, with it and without
#
# The Wisconsin Proxy Benchmark with one cache_dir, with two on two disks, and without caching.

takes='clients stores wait service disks'
: "${clients:=20}" "${stores:=ufs,aufs,diskd,rock}" "${wait:=600}" "${service:=20}"
cache_mb=75
requests=$(calc "int(10 * $scale + 0.5)")
[ "$requests" -gt 0 ] || requests=1

# STORE-one, STORE-two, and none.
configurations()
{
    echo none
    for store in $(echo "$stores" | tr , ' '); do
        echo "$store-one"
        echo "$store-two"
    done
}

describe()
{
    case $1 in
    none) echo "no caching" ;;
    *-one) echo "${1%-one}, one disk" ;;
    *) echo "${1%-two}, two disks" ;;
    esac
}

# As in the study, the only disk is number 2.
disks_of()
{
    case $1 in
    none) ;;
    *-one) echo 2 ;;
    *) echo 1 2 ;;
    esac
}

need()
{
    need_disks
}

cache_lines()
{
    if [ "$1" = none ]; then
        echo "cache deny all"
    fi
    for disk in $(disks_of "$1"); do
        case $1 in
        rock-*) echo "cache_dir rock $(disk_of "$disk") $cache_mb" ;;
        *) echo "cache_dir ${1%-*} $(disk_of "$disk") $cache_mb 4 16" ;;
        esac
    done
}

run_one()
{
    for disk in $(disks_of "$1"); do
        make_disk "$disk" $((cache_mb * 2))
    done
    port=$(free_port)
    { cache_lines "$1" && cat; } <<END_OF_LINES | squid_configure "$run/squid" "$squid" "$port"
cache_mem 0
memory_cache_mode disk
sqtrace_log $run/squid/trace ring=8MB
END_OF_LINES
    start_squid "$run/squid" "$squid"
    # Idle at both ends, so that the samples and iostat see the same.
    wait_idle
    iostat_begin
    sleep 1.5
    set_service "$service"
    # shellcheck disable=SC2046 # numbers
    drop_pages $(disks_of "$1")
    run_load --workload=wpb --proxy="127.0.0.1:$port" --clients="$clients" --requests="$requests" --wait="${wait}ms" \
        --seed="$round" --rows="$here/rows.tsv"
    sync_disks
    wait_idle
    iostat_end
    set_service 0
    stop_squid
    keep_trace "$run/squid"
}

# ---- results ----

values()
{
    load_columns "$here/load.tsv" '
        $c["class"] == "all" {
            print $c["phase"] "_latency_s\t" $c["mean_ms"] / 1000
            print $c["phase"] "_errors\t" $c["errors"]
        }
        $c["class"] == "all" && $c["phase"] == "phase2" && cached {
            print "hit_pct\t" $c["hit_pct"]
            print "byte_hit_pct\t" $c["byte_hit_pct"]
        }' -v cached="$(disks_of "$1" | wc -w)"
    sqtrace-dump --quiet --table=samples "$here/trace" |
        awk -F '\t' -v from="$(load_start)" -v until="$(load_end)" -v disks="$(disks_of "$1" | tr '\n' ' ')" \
            -f "$columns" -f "$data/experiment/resources.awk"
    why_values
}

traces()
{
    echo "$1=$here/trace"
}

reports()
{
    for store in $(echo "$stores" | tr , ' '); do
        echo "report-$store $store-one $store-two none"
    done
}

title_of()
{
    case $1 in
    latency) echo "what clients saw" ;;
    resources) echo "use of resources" ;;
    esac
}

make_tables()
{
    published=$data/experiment/disk-arms.tsv
    cat <<END_OF_WORDS
disk-arms: $clients clients, $requests requests of each in each phase; the origin answers after $wait ms.
$(words_for_disks)
$cache_mb MB of cache on each.  Mean (coefficient of variation in %) of $rounds runs.  Errors are responses that did not come
whole and right.  Of a disk, wait is how many operations were in its queue, svc_t how many ms one was in the
queue and at the disk; page-in and page-out are KB.
END_OF_WORDS
    table_number=1
    for store in $(echo "$stores" | tr , ' '); do
        for table in latency resources; do
            echo
            echo "Table $table_number: $store, $(title_of $table)"
            compare_table "$published" $table "$store-one $store-two none"
            table_number=$((table_number + 1))
        done
    done
    echo
    echo "Published in 1998: Squid, and another proxy"
    for table in latency resources; do
        for proxy in squid other; do
            published_table "$published" $table $proxy
        done
    done
    why_tables
}

# ---- disk-arms-why ----

# What the trace says; its tables are large, and go as they are made.
why_values()
{
    for table in diskops swaps requests; do
        sqtrace-dump --quiet --table=$table "$here/trace" >"$here/$table.tsv" || return 1
    done
    awk -F '\t' -v load_start="$(load_start)" -f "$columns" -f "$data/experiment/why.awk" \
        "$here/diskops.tsv" "$here/swaps.tsv" "$here/requests.tsv" "$here/rows.tsv"
    rm -f "$here/diskops.tsv" "$here/swaps.tsv" "$here/requests.tsv"
}

# One table for each kind of store: ms of a request, in the mean, and their share of what clients waited.
why_tables()
{
    for store in $(echo "$stores" | tr , ' '); do
        echo
        echo "disk-arms-why: $store: where a client's time went, ms of a request"
        awk -F '\t' -v names="$store-one $store-two none" -f "$statistics" -f "$data/experiment/why-table.awk" \
            "$folder/values.tsv"
    done
}
