#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# top_cli.sh - messages and exit statuses of sqtrace-top, and what it prints of a finished trace.
. "$SQT_SOURCE/tests/unit/tap.sh"

top=$SQT_TOOLS/sqtrace-top
sample=$SQT_SOURCE/doc/sample
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
out=$work/out err=$work/err

run() { # run ARGUMENT...: sets status
    timeout 60 "$top" "$@" >out 2>err </dev/null
    status=$?
}

fails() { # fails STATUS MESSAGE ARGUMENT...: exactly this one line
    want=$1 message=$2
    shift 2
    run "$@"
    [ "$status" = "$want" ] && [ "$(cat err)" = "sqtrace-top: $message" ] && ! [ -s out ]
    check "$* -> $want $message"
}

# ---- usage ----
fails 2 "no trace given: name a trace directory or a ring" --once
fails 2 "unknown option '--onec'; did you mean --once?" --onec .
fails 2 "--table: 'request' is unknown; did you mean requests?" --once --table=request .
fails 2 "--table: 'swallows' is unknown; --help names them" --once --table=swallows .
fails 2 "--table needs --once" --table=requests .
fails 2 "--xid needs --once" --xid=3 .
fails 2 "--limit needs --once" --limit=3 .
fails 2 "--format needs --table" --once --format=tsv .
fails 2 "--format: 'json' is unknown; --help names them" --once --table=loops --format=json .
fails 2 "--xid and --table exclude each other" --once --xid=3 --table=loops .
fails 2 "--sort: 'ages' is unknown; did you mean age_ns?" --sort=ages .
fails 2 "--kid: '99999999999': too large" --kid=99999999999 .
fails 2 "--where: at character 1: requests has no column 'servr'; did you mean server?" --where='servr == x' .
fails 2 "the standard input cannot be followed; name a trace directory or a ring" --once -
fails 2 "--log-format goes with --access-log" --once --log-format=squid .
fails 2 "--access-log: the standard input cannot be followed; name the file that Squid writes" --once --access-log=- .
fails 2 "the standard input and output must be a terminal; --once prints the screen as text" "$sample"

# ---- what cannot be read ----
fails 1 "none: No such file or directory" --once none
mkdir empty
fails 1 "empty: there is no trace (*.sqt, *.ring) in this directory" --once empty
echo "1753 2 127.0.0.1 TCP_HIT/200" >log
fails 1 "log: not a trace: it looks like a text file" --once log
if [ -w /dev/full ]; then
    timeout 30 "$top" --once --table=classes "$sample" >/dev/full 2>err
    [ $? = 1 ] && [ "$(cat err)" = "sqtrace-top: standard output: cannot write: No space left on device" ]
    check "a full disk under the standard output"
fi

# ---- a finished trace ----
run --once "$sample"
[ $status = 0 ] && ! [ -s err ] && grep -q '^in flight: 0; lost: 0 records$' out &&
    grep -q '^no process writes this trace now' out && grep -q '^mem_hit ' out && grep -q '^server_wait ' out
check "the screen as text"
for table in requests classes stages waits loops totals ended; do
    run --once --table=$table --format=tsv "$sample"
    [ $status = 0 ] && ! [ -s err ] && grep -q '^# ended: ' out && grep -q '^# now: 2' out &&
        [ "$(grep -v '^#' out | awk -F '\t' '{ print NF }' | sort -u | wc -l)" = 1 ]
    check "--table=$table: each row has as many columns as the header"
done
# The classes and the rates are those of the requests of the last minutes, counted by another program.
run --once --table=classes --format=tsv --now=60s "$sample"
column() { # column FILE COLUMN VALUE WANTED: of the row whose first column has that value
    awk -F '\t' -v name="$2" -v first="$3" '/^#/ { next } !head { for (i = 1; i <= NF; ++i) at[$i] = i; head = 1; next }
        $1 == first { print $at[name] }' "$1"
}
last=$("$SQT_TOOLS/sqtrace-dump" --table=events --columns=time_s --no-header --no-comments "$sample" | sort -n | tail -1)
"$SQT_TOOLS/sqtrace-dump" --columns=time_s,total_ns,class,outcome --no-header --no-comments "$sample" |
    awk -F '\t' -v last="$last" '$2 != "-" && $4 != "unfinished" { end = $1 + $2 / 1e9; from = int(last) - 59
        if (end >= from && $3 == "miss") print $2 }' | sort -n >misses
count=$(wc -l <misses)
rate=$(column out now_per_s miss)
awk -v count="$count" -v rate="$rate" -v last="$last" 'BEGIN { width = 59 + last - int(last); d = count - rate * width
    exit !(count > 10 && d < 0.6 && d > -0.6) }'
check "misses a second: $rate, counted $count in the last minute"
median=$(sed -n "$(((count + 1) / 2))p" misses)
p50=$(column out now_p50_ns miss)
awk -v a="$median" -v b="$p50" 'BEGIN { exit !(a / b > 0.96 && a / b < 1.04) }'
check "the median of misses: $p50, computed $median"
run --once --table=classes --format=tsv --where='class == mem_hit' "$sample"
[ "$(grep -v '^#' out | cut -f 1 | tr '\n' ' ')" = "class all mem_hit " ]
check "--where"
run --once --table=waits --format=tsv --limit=2 "$sample"
[ "$(grep -vc '^#' out)" = 3 ]
check "--limit"
run --once --table=classes --format=tsv "$sample"
all=$(column out before_per_s all)
run --once --table=classes --format=tsv --kid=2 "$sample"
awk -v all="$all" -v one="$(column out before_per_s all)" 'BEGIN { exit !(one > 0 && one < 0.9 * all) }'
check "--kid: fewer requests than of all kids, $all"
run --once --xid=4999999 "$sample"
[ $status = 1 ] && [ "$(cat out)" = "request 4999999 is not in flight, and did not end in what was read" ]
check "--xid of a request that is not known"


"$SQT_TOOLS/tests/unit/dump_traces" traces
run --once --table=waits --format=tsv traces/tunnels.sqt
[ $status = 0 ] && [ "$(awk -F '\t' '$1 == "server" { print $7 }' out)" = 1 ]
check "a tunnel that was open did not fail, whatever its status"

# ---- an access.log beside it ----
run --once --table=ended --format=tsv --now=5min "$sample"
grep -v '^#' out | sed 1d | head -n 1 >slowest
last=$(cut -f 10,14 slowest)
"$SQT_TOOLS/sqtrace-dump" --columns=time_ns,total_ns,kid,xid --where="xid == ${last%	*} and kid == ${last#*	}" --no-header \
    --no-comments "$sample" | awk -F '\t' '{ e = $1 / 1e9 + $2 / 1e9; printf "%.3f %d 10.9.8.7 TCP_MISS/200 9 GET http://a.test/\033[1m me HIER_DIRECT/1.2.3.4 - %s %s\n", e, $2 / 1e6, $4, $3 }' >log
echo "not a line" >>log
run --once --table=ended --format=tsv --now=5min --access-log=log --log-format=squid-join "$sample"
[ $status = 0 ] && [ "$(grep -c '10\.9\.8\.7	a\.test	me' out)" = 1 ] && grep -q 'http://a\.test/\\x1b\[1m' out &&
    grep -q "line 2 is not of the format squid-join" err
check "--access-log: client, host, user and URL of the request whose line it has"
run --once --xid="${last%	*}" --kid="${last#*	}" --access-log=log --log-format=squid-join --quiet "$sample"
[ $status = 0 ] && grep -q '^client 10\.9\.8\.7, user me, http://a\.test/' out
check "--access-log with --xid"
fails 1 "--access-log: the format squid does not join: it needs %master_xaction and \${process_number}; sqtrace-dump --list has formats that do" \
    --once --access-log=log --log-format=squid "$sample"

# ---- help ----
run --help
[ $status = 0 ] && [ "$(grep -c '^  \(-., \)\{0,1\}--' out)" = "$(grep -c '^TOP_OPTION' "$SQT_SOURCE/tools/top/options.def")" ]
check "--help shows every option"
run --version
[ $status = 0 ] && grep -qx 'sqtrace-top [0-9][0-9.]*' out
check "--version"
plan
