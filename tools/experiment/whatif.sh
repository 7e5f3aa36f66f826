# SPDX-License-Identifier: GPL-2.0-or-later
# experiment whatif: are the hits that table whatif foretells those that a Squid with the other setting has?
#
# The same requests, at a constant rate, to Squids that differ in the size of a cache.  Of each kind of cache, the trace of
# the one named `today` foretells the others.

takes='clients wait rate'
: "${clients:=50}" "${wait:=50}" "${rate:=200}"
objects=2500
requests=$(calc "int(8000 * $scale)")
kinds='memory shared ufs rock'

configurations()
{
    for kind in $kinds; do
        for size in today half twice four; do
            echo "$kind-$size"
        done
    done
}

need()
{
    :
}

# MB of the cache of a configuration; that of memory beside a cache_dir is always small.
mb_of()
{
    case $1 in
    memory-* | shared-*) today=8 ;;
    *) today=12 ;;
    esac
    case $1 in
    *-half) echo $((today / 2)) ;;
    *-twice) echo $((today * 2)) ;;
    *-four) echo $((today * 4)) ;;
    *) echo $today ;;
    esac
}

# The lines of squid.conf.
lines_of()
{
    case $1 in
    memory-*) echo "cache_mem $(mb_of "$1") MB" ;;
    shared-*) printf 'workers 2\ncache_mem %d MB\n' "$(mb_of "$1")" ;;
    ufs-*) printf 'cache_mem 2 MB\ncache_dir ufs %s/squid/cache/ufs %d 16 16\n' "$run" "$(mb_of "$1")" ;;
    rock-*) printf 'cache_mem 2 MB\nmaximum_object_size 4 MB\ncache_dir rock %s/squid/cache/rock %d\n' "$run" "$(mb_of "$1")" ;;
    esac
    echo "sqtrace_log $run/squid/trace ring=8MB"
}

# An access.log: sizes are lognormal, and an object is asked for the less often, the higher its number.
log_of_requests()
{
    awk -v seed="$round" -v requests="$requests" -v objects="$objects" 'BEGIN {
        srand(seed)
        for (i = 1; i <= objects; ++i) {
            sum += i ^ -0.8
            upto[i] = sum
            size[i] = int(exp(9 + 1.2 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())))
            size[i] = size[i] < 100 ? 100 : size[i] > 500000 ? 500000 : size[i]
        }
        for (n = 0; n < requests; ++n) {
            where = rand() * sum
            low = 1
            high = objects
            while (low < high) {
                middle = int((low + high) / 2)
                if (upto[middle] < where)
                    low = middle + 1
                else
                    high = middle
            }
            printf "%d.%03d 10 10.0.0.1 TCP_MISS/200 %d GET http://a.example/%d - HIER_DIRECT/10.0.0.2 text/html\n",
                1700000000 + int(n / 1000), n % 1000, size[low], low
        }
    }'
}

run_one()
{
    port=$(free_port)
    log_of_requests >"$run/access.log"
    lines_of "$1" | squid_configure "$run/squid" "$squid" "$port"
    start_squid "$run/squid" "$squid"
    run_load --workload=log --log="$run/access.log" --proxy="127.0.0.1:$port" --clients="$clients" --rate="$rate" \
        --wait="${wait}ms" --expires=24h
    stop_squid
    keep_trace "$run/squid"
}

# ---- results ----

setting_of()
{
    case $1 in
    memory-* | shared-*) echo cache_mem ;;
    ufs-*) echo "cache_dir ufs" ;;
    rock-*) echo "cache_dir rock" ;;
    esac
}

# What the trace of today foretells, and what each trace measured: today's value less what it is off.
values()
{
    run_values=$here/dumped.tsv
    sqtrace-dump --quiet --table=whatif "$here/trace" >"$run_values" || return 1
    for size in today half twice four; do
        load_columns "$run_values" '
            $c["setting"] == setting && $c["value"] == value && $c["hit_ratio_pct"] != "-" {
                print "foretold_" size "\t" $c["hit_ratio_pct"]
                print "foretold_bytes_" size "\t" $c["byte_hit_ratio_pct"]
                if ($c["value"] == $c["now_value"])
                    print "measured\t" $c["hit_ratio_pct"] - $c["calibration_pct"]
            }' -v setting="$(setting_of "$1")" -v size="$size" -v value="$(mb_of "${1%-*}-$size") MB"
    done
    rm -f "$run_values"
}

traces()
{
    echo "$1=$here/trace"
}

reports()
{
    for kind in $kinds; do
        echo "report-$kind $kind-half $kind-today $kind-twice $kind-four"
    done
}

# Of one kind of cache: foretold by the trace of today, measured by the others, in each round.
compare_kind()
{
    awk -F '\t' -v kind="$1" '
        $3 == "measured" { measured[$2, $1] = $4 }
        $1 == kind "-today" { foretold[$2, $3] = $4 }
        { rounds = $2 > rounds && $2 + 0 ? $2 : rounds }
        END {
            split("half today twice four", size, " ")
            for (i = 1; i <= 4; ++i)
                for (round = 1; round <= rounds; ++round)
                    if ((round, kind "-" size[i]) in measured && (round, "foretold_" size[i]) in foretold) {
                        f = foretold[round, "foretold_" size[i]]
                        m = measured[round, kind "-" size[i]]
                        printf "%-8s %-6s %5d %10.2f %10.2f %10.2f\n", kind, size[i], round, f, m, f - m
                    } else {
                        printf "%-8s %-6s %5d          -          -          -\n", kind, size[i], round
                    }
        }' "$folder/values.tsv"
}

make_tables()
{
    cat <<END_OF_WORDS
whatif: $requests requests for $objects objects, $rate a second, on $clients connections; the origin answers after $wait ms.
Hit ratio in percent, as the trace of today's size foretold it, and as a Squid of that size had it.

cache    size   round   foretold   measured     points
END_OF_WORDS
    for kind in $kinds; do
        compare_kind "$kind"
    done
}
