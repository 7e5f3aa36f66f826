# SPDX-License-Identifier: GPL-2.0-or-later
#
# demo-cases.sh - what the demo does to a Squid.  Uses the demo's variables run, report, prefix and origin.

flagship_bytes=10486356
mixed_seconds=20

# make_objects FOLDER: what the origin serves.
make_objects()
{
    head -c "$flagship_bytes" /dev/zero >"$1/flagship"
    for n in $(seq 200); do
        head -c $((n * 150)) /dev/urandom >"$1/small-$n"
    done
    for n in $(seq 20); do
        head -c $((n * 20000)) /dev/urandom >"$1/large-$n"
    done
}

# Percent of the processors' time that other work takes, over a second.
others_busy()
{
    {
        head -n 1 /proc/stat
        sleep 1
        head -n 1 /proc/stat
    } | awk '
        {
            idle = $5 + $6
            sum = 0
            for (i = 2; i <= 9; ++i)
                sum += $i
            if (NR == 2)
                print int((sum > before) ? 100 - 100 * (idle - idle_before) / (sum - before) : 0)
            before = sum
            idle_before = idle
        }'
}

# The case depends on who runs when: on a busy machine diskd answers before Squid looks, and the hit is fast.
warn_if_busy()
{
    busy=$(others_busy)
    [ "$busy" -lt 20 ] ||
        say "WARNING: other work takes $busy % of this machine; the diskd hit may be much faster than on an idle one"
}

# fetch PORT URL: through the Squid on that port; prints milliseconds.
fetch()
{
    curl -s -o /dev/null -w '%{time_total} %{http_code} %{size_download}\n' -x "http://127.0.0.1:$1" "$2" |
        awk '$2 != 200 { exit 1 } { printf "%.1f\n", $1 * 1000 }' || die "$2: no answer through Squid"
}

# flagship_conf FOLDER STORE PORT [LINE]
flagship_conf()
{
    squid_configure "$1" "$prefix" "$3" <<END
cache_mem 0
memory_cache_mode disk
maximum_object_size 64 MB
cache_dir $2 $1/cache 512 16 16
acl refused urlpath_regex ^/refused
http_access deny refused
${4-}
END
    # http_access takes the first line that fits.
    sed -i '/^http_access allow all$/d' "$1/squid.conf"
    echo 'http_access allow all' >>"$1/squid.conf"
}

# busy_begin PORT: two clients that ask again and again for what Squid refuses.  Sets busy_pid.
busy_begin()
{
    cat >"$run/busy.lua" <<END
request = function() return wrk.format("GET", "$origin/refused") end
END
    wrk -t1 -c2 -d300s -s "$run/busy.lua" "http://127.0.0.1:$1/" >"$run/busy.out" 2>&1 </dev/null &
    busy_pid=$!
    servers="$servers $busy_pid"
    sleep 0.5
}

# keep_trace FOLDER NAME: moves what the Squid in FOLDER wrote into the report.
keep_trace()
{
    take_trace "$1" "$report/traces/$2"
}

# flagship_case STORE: one Squid with one cache_dir; a hit with tracing off, then traced: idle, and beside busy clients.
flagship_case()
{
    folder=$run/$1
    trace=$folder/trace
    port=$(free_port)

    flagship_conf "$folder" "$1" "$port"
    squid_start "$folder" "$prefix"
    fetch "$port" "$origin/flagship" >/dev/null
    sleep 1
    say "  $1: hits with tracing off (diskd takes half a minute for one)"
    untraced_idle=$(fetch "$port" "$origin/flagship")
    busy_begin "$port"
    untraced_busy=$(fetch "$port" "$origin/flagship")
    stop "$busy_pid"
    say "  $1, tracing off: idle $untraced_idle ms, busy $untraced_busy ms"
    stop "$squid_pid"

    flagship_conf "$folder" "$1" "$port" "sqtrace_log $trace"
    for clients in idle busy; do
        say "  $1, tracing on: $clients"
        squid_start "$folder" "$prefix"
        if [ $clients = busy ]; then
            busy_begin "$port"
        fi
        fetch "$port" "$origin/flagship" >"$folder/$clients.ms"
        [ $clients = idle ] || stop "$busy_pid"
        stop "$squid_pid"
        keep_trace "$folder" "$1-$clients"
    done
    flagship_row "$1" idle "$(cat "$folder/idle.ms")" "$untraced_idle"
    flagship_row "$1" busy "$(cat "$folder/busy.ms")" "$untraced_busy"
}

# flagship_row STORE CLIENTS TRACED UNTRACED: a row of the table, from the trace's blocks.
flagship_row()
{
    name=$1-$2
    sqtrace-dump --table=ios --where='direction == in' "$report/traces/$name" >"$run/ios-$name.tsv" ||
        die "the trace of $name cannot be read"
    row=$(awk -F '\t' '
        function median(values, n,    i, j, v) {
            for (i = 2; i <= n; ++i) {
                v = values[i]
                for (j = i - 1; j >= 1 && values[j] > v; --j)
                    values[j + 1] = values[j]
                values[j + 1] = v
            }
            return n ? values[int((n + 1) / 2)] : 0
        }
        /^#/ { next }
        !header { for (i = 1; i <= NF; ++i) column[$i] = i; header = 1; next }
        {
            total[++n] = $column["total_ns"]
            queue += $column["queue_ns"]
            service += $column["service_ns"]
            notice += $column["notice_ns"]
        }
        END {
            printf "%d\t%.3f\t%.1f\t%.1f\t%.1f\n", n, median(total, n) / 1e6, queue / 1e6, service / 1e6, notice / 1e6
        }' "$run/ios-$name.tsv")
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$row" >>"$report/flagship.tsv"
    say "  $1, $2: $3 ms"
}

# mixed_case STORE: memory hits, disk hits, revalidations and misses, 16 at a time.
mixed_case()
{
    folder=$run/mixed
    trace=$folder/trace
    port=$(free_port)
    squid_configure "$folder" "$prefix" "$port" <<END
cache_mem 64 MB
maximum_object_size_in_memory 16 KB
cache_dir $1 $folder/cache 512 16 16
sqtrace_log $trace
END
    squid_start "$folder" "$prefix"
    cat >"$run/mixed.lua" <<END
local n = 0
function setup(thread)
    n = n + 1
    thread:set("serial", n)
end
function init() math.randomseed(serial) end
local count = 0
request = function()
    count = count + 1
    local kind, url, headers = math.random(), nil, {}
    if kind < 0.55 then
        url = "/small-" .. math.random(200)
    elseif kind < 0.75 then
        url = "/large-" .. math.random(20)
    elseif kind < 0.80 then
        url = "/small-" .. math.random(200)
        headers["Cache-Control"] = "no-cache"
    elseif kind < 0.98 then
        url = "/unique/" .. serial .. "-" .. count .. "/small-" .. math.random(200)
    else
        url = "/slow/large-" .. math.random(3)
    end
    return wrk.format("GET", "$origin" .. url, headers)
end
END
    wrk -t2 -c16 -d${mixed_seconds}s -s "$run/mixed.lua" "http://127.0.0.1:$port/" >"$run/mixed.out" 2>&1 </dev/null ||
        die_with_log "$run/mixed.out" "wrk failed"
    stop "$squid_pid"
    keep_trace "$folder" mixed
}
