# SPDX-License-Identifier: GPL-2.0-or-later
# experiment cache-fill: what happens to system calls and event loop while the cache outgrows memory? (1999)
#
# A cache is filled in steps, each to twice what it held; after each, objects out of all that is in it are asked for at
# random.  In one configuration memory for the pages of files is a fraction of the cache, in the other, the control, all is
# held in memory.

takes='clients stores service memory disks'
: "${clients:=10}" "${stores:=ufs}" "${service:=2}" "${memory:=12}"
steps=7
object_bytes=8192
read_seconds=$(calc "4 * $scale")
warm_seconds=$(calc "1.5 * $scale")

# How many objects there are after a step.  An object takes three pages and an inode; the first step takes less than half
# of the memory.
objects_at()
{
    calc "int($memory * 25) * 2 ^ ($1 - 1)"
}

# The same in MB of pages.
mb_at()
{
    calc "int($(objects_at "$1") * 12 / 1024 + 0.5)"
}
case $stores in
*,*) die_usage "--stores: cache-fill takes one" ;;
esac

configurations()
{
    echo fits
    echo outgrows
}

describe()
{
    case $1 in
    fits) echo "the cache fits into memory" ;;
    outgrows) echo "the cache outgrows memory" ;;
    esac
}

need()
{
    need_disks
    need_memory
    [ "$(calc "$memory > 0")" = 1 ] || die_usage "--memory: expected more than 0"
}

# urls FROM UNTIL COUNT: URLs of objects; all of them in turn, or COUNT at random.
urls()
{
    awk -v from="$1" -v until="$2" -v count="$3" -v seed="$round" -v origin="$origin" -v size="$object_bytes" 'BEGIN {
        srand(seed)
        if (!count)
            for (i = from; i < until; ++i)
                print origin "size=" size "/" i
        for (i = 0; i < count; ++i)
            print origin "size=" size "/" from + int(rand() * (until - from))
    }'
}

# ask_for SECONDS: for any of the objects.
ask_for()
{
    run_load --workload=urls --urls="$run/read" --proxy="127.0.0.1:$port" --clients="$clients" --requests=0 \
        --duration="${1}s"
}

run_one()
{
    cache_mb=$(($(mb_at $steps) * 3 / 2))
    # The kernel keeps blocks of inodes rather than files, because each is used for all that are in it: of inodes of the
    # usual 256 bytes those of all steps would fit into memory.
    make_disk 1 $((cache_mb * 2)) 1024
    port=$(free_port)
    squid_configure "$run/squid" "$squid" "$port" <<END_OF_LINES
cache_dir $stores $(disk_of 1) $cache_mb 16 16
cache_mem 0
memory_cache_mode disk
sqtrace_log $run/squid/trace ring=8MB events=all
END_OF_LINES
    origin_port=$(free_port)
    origin=http://127.0.0.1:$origin_port/
    sqtrace-load --origin --quiet --listen="127.0.0.1:$origin_port" >"$run/origin.out" 2>&1 </dev/null &
    made process $!
    memory_group
    start_squid "$run/squid" "$squid"
    filled=0
    for step in $(seq $steps); do
        # What is measured is reading.
        set_service 0
        objects=$(objects_at "$step")
        urls "$filled" "$objects" 0 >"$run/fill"
        run_load --workload=urls --urls="$run/fill" --proxy="127.0.0.1:$port" --clients=10 \
            --requests=$(((objects - filled + 9) / 10))
        filled=$objects
        sync_disks
        case $1 in
        fits) keep_pages 1 ;;
        outgrows) forget_blocks && limit_memory ;;
        esac
        urls 0 "$objects" 100000 >"$run/read"
        # Memory holds then what it does under this load, not what was written last.
        ask_for "$warm_seconds"
        set_service "$service"
        ask_for "$read_seconds"
        mv "$here/load.tsv" "$here/load-$step.tsv"
    done
    set_service 0
    stop_squid
    keep_trace "$run/squid"
}

# ---- results ----

values()
{
    run_values=$here/dumped.tsv
    sqtrace-dump --quiet --table=syscalls --group=1s "$here/trace" >"$run_values" || return 1
    sqtrace-dump --quiet --table=loops "$here/trace" >"$run_values.loops" || return 1
    for step in $(seq $steps); do
        cp "$here/load-$step.tsv" "$here/load.tsv"
        load_columns "$here/load.tsv" '
            $c["class"] == "hit" && $c["mean_ms"] != "-" { print "latency_ms_" step "\t" $c["mean_ms"] }' -v step="$step"
        awk -F '\t' -v from="$(load_start)" -v until="$(load_end)" -v step="$step" \
            -f "$columns" -f "$data/experiment/cache-fill.awk" "$run_values" "$run_values.loops"
    done
    rm -f "$here/load.tsv" "$run_values" "$run_values.loops"
}

traces()
{
    echo "$1=$here/trace"
}

rows()
{
    echo "table	metric	label"
    while read -r metric words; do
        for step in $(seq $steps); do
            echo "$metric	${metric}_$step	$(mb_at "$step") MB in the cache"
        done
    done <<END_OF_ROWS
open_read_us
read_disk_us
disk_pct
passes_s
pass_ms
latency_ms
END_OF_ROWS
}

title_of()
{
    case $1 in
    open_read_us) echo "open-read, us of a call" ;;
    read_disk_us) echo "read-disk, us of a call" ;;
    disk_pct) echo "share of the main thread's time in calls for files, %" ;;
    passes_s) echo "passes of the event loop in a second" ;;
    pass_ms) echo "work of a pass, ms in the mean" ;;
    latency_ms) echo "latency of a hit, ms" ;;
    esac
}

# In the mean over the rounds.
tell_growth()
{
    awk -F '\t' -v metric="$1" -v last=$steps -v title="$(title_of "$1")" '
        $3 == metric "_1" { first[$1] += $4 }
        $3 == metric "_" last { end[$1] += $4 }
        END {
            if (!first["outgrows"] || !first["fits"])
                exit
            split(title, word, ",")
            printf "%s, all in the cache against the first step: %.1f times as long where the cache outgrows memory,\n" \
                "%.1f times where it fits.\n", word[1], end["outgrows"] / first["outgrows"], end["fits"] / first["fits"]
        }' "$folder/values.tsv"
}

make_tables()
{
    rows >"$folder/rows.tsv"
    cat <<END_OF_WORDS
cache-fill: $stores; $(objects_at 1) objects of $object_bytes bytes, and after each step twice as many; $clients clients ask for
$read_seconds s for any of those that are in the cache.  $(words_for_arms)
Memory for files: $memory MB (outgrows), all that is in the cache (fits).  Mean (coefficient of variation in %)
of $rounds runs.
END_OF_WORDS
    for table in open_read_us read_disk_us disk_pct passes_s pass_ms latency_ms; do
        echo
        title_of $table
        compare_table "$folder/rows.tsv" $table "fits outgrows"
    done
    echo
    tell_growth open_read_us
    tell_growth read_disk_us
    echo
    echo "Published in 1999, from an empty cache to 2.7 GB: open-read from 55 to 7,097 us of a call, read-disk from 84 to"
    echo "6,597 us."
}
