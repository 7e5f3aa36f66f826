#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# dump_cli.sh - every option of sqtrace-dump, every message, every exit status.
. "$SQT_SOURCE/tests/unit/tap.sh"

dump=$SQT_TOOLS/sqtrace-dump
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/dump_traces" "$work/t" || exit 1
cd "$work/t" || exit 1
out=$work/out
err=$work/err

run() { # run COMMAND...: sets status
    "$@" >"$out" 2>"$err"
    status=$?
}

# fails STATUS MESSAGE ARGUMENT...: exactly this one line, and nothing on the standard output
fails() {
    want=$1 message=$2
    shift 2
    run "$dump" "$@"
    [ "$status" = "$want" ] && [ "$(cat "$err")" = "sqtrace-dump: $message" ] && ! [ -s "$out" ]
    check "$* -> $want $message"
}

rows() { grep -vc -e '^#' -e '^time_s' "$out"; }

# ---- usage ----
fails 2 "no trace given: name a segment, a ring, a directory of them, or -; or an access.log by --access-log=FILE"
fails 2 "unknown option '--tabel'; did you mean --table?" --tabel=swaps story
fails 2 "unknown option '--xyzzyxyzzy'; --help shows them" --xyzzyxyzzy story
fails 2 "unknown option '-x'; --help shows them" -x story
fails 2 "option '--table' needs a value: --table=NAME" --table
fails 2 "option '--quiet' takes no value" --quiet=yes story
fails 2 "unknown table 'request'; did you mean requests?" --table=request story
fails 2 "unknown table 'plethora'; --list shows them" --table=plethora story
fails 2 "unknown table ''; --list shows them" --table= story
fails 2 "unknown figure 'blockcomb'; did you mean block-comb?" --figure=blockcomb story
fails 2 "unknown figure 'plethora'; --list shows them" --figure=plethora story
fails 2 "'block-comb' is a figure: --figure=block-comb" --table=block-comb story
fails 2 "'swaps' is a table: --table=swaps" --figure=swaps story
fails 2 "--table and --figure exclude each other" --table=swaps --figure=block-comb story
fails 2 "unknown figure 'stages'; did you mean miss-stages, hit-stages or leader-stages?" --figure=stages story
fails 2 "unknown figure 'disk-utilisation'; did you mean disk-utilization?" --figure=disk-utilisation story
fails 2 "unknown figure 'xyzzy'; --list shows them" --figure=xyzzy story
followed=$(sed -n 's/^SQT_TABLE([a-z_]*, "\([a-z_]*\)", THINGS,.*/\1, /p' "$SQT_SOURCE/src/row/tables.def" | tr -d '\n')findings
fails 2 "--follow: the rows of summary are made of the whole trace; these tables have rows that end: $followed" \
    --follow --table=summary story
fails 2 "--figure does not go with --follow" --follow --figure=load story
fails 2 "--sort does not go with --follow" --follow --sort=xid story
fails 2 "--group-by does not go with --follow" --follow --group-by=class story
fails 2 "--histogram does not go with --follow" --follow --histogram=total_ns story
fails 2 "--until does not go with --follow" --follow --until=3s story
fails 2 "--fail-if does not go with --follow" --follow --fail-if='count() > 1' story
fails 2 "--format=chrome does not go with --follow" --follow --format=chrome story
fails 2 "--follow: the standard input cannot be followed; name a trace directory or a ring" --follow -
fails 2 "--columns: requests has no column 'totl_ns'; did you mean total_ns?" --columns=xid,totl_ns story
fails 2 "--columns: requests has no column 'plethoric'; --list shows them" --columns=plethoric story
fails 2 "--columns: requests has no column ''; --list shows them" --columns=xid, story
fails 2 "--where: at character 1: requests has no column 'totl_ns'; did you mean total_ns?" --where='totl_ns > 3' story
classes='mem_hit, disk_hit, ims_hit, negative_hit, refresh_hit, refresh_miss, miss, tunnel, denied, internal, query, error'
fails 2 "--where: at character 10: class is never 'diskhit'; did you mean disk_hit? There are: $classes" \
    --where='class == diskhit' story
fails 2 "--where: at character 14: direction is never 'read'; none is near. There are: in, out" --table=swaps \
    --where='direction == read' story
fails 2 "--where does not go with --table=checks" --table=checks --where='xid == 1' story
fails 2 "--where: at character 12: '3KB': the unit is none of ns, us, ms, s, min, h" --where 'total_ns > 3KB' story
fails 2 "unknown format 'tvs'; did you mean tsv?" --format=tvs story
fails 2 "unknown format 'spreadsheet'; --list shows them" --format=spreadsheet story
fails 2 "--since: 'noon' is no time; write 90s, -10min, 12:03:10, 2026-11-25T12:03:10 or seconds since 1970" --since=noon story
fails 2 "--until: '3KB': the unit is none of ns, us, ms, s, min, h" --until=3KB story
fails 2 "--since: '24:00' is no time; write 90s, -10min, 12:03:10, 2026-11-25T12:03:10 or seconds since 1970" --since=24:00 story
fails 2 "--since is not before --until" --since=5 --until=5s story
fails 2 "--group: '0': too small" --group=0 story
fails 2 "--peak: '-1s': too small" --peak=-1s story
fails 2 "--kid: 'one': expected a number" --kid=one story
fails 2 "--kid: '-1': too small" --kid=-1 story
fails 2 "--kid: '4294967296': too large" --kid=4294967296 story

# ---- what cannot be read or written ----
fails 1 "nothing: No such file or directory" nothing
fails 1 "$work/t/none/out: cannot write: No such file or directory" --output="$work/t/none/out" busy.sqt
run "$dump" --quiet foreign.sqt
[ $status = 1 ] && [ "$(wc -l <"$err")" = 1 ] && grep -q '^sqtrace-dump: foreign.sqt: ' "$err"
check "a foreign file: one line that names it, status 1"
run "$dump" --quiet empty
[ $status = 1 ] && [ "$(wc -l <"$err")" = 1 ] && grep -q '^sqtrace-dump: empty: ' "$err"
check "a directory without traces: one line that names it, status 1"
if [ -w /dev/full ]; then
    "$dump" busy.sqt >/dev/full 2>"$err"
    [ $? = 1 ] && [ "$(cat "$err")" = "sqtrace-dump: standard output: cannot write: No space left on device" ]
    check "a full disk under the standard output: status 1"
    fails 1 "/dev/full: cannot write: No space left on device" --output=/dev/full busy.sqt
    "$dump" --list >/dev/full 2>"$err"
    [ $? = 1 ]
    check "a full disk under --list: status 1"
fi

# ---- what stands above the rows ----
run "$dump" --quiet story
[ "$(sed -n '/^time_s/q; s/: .*//p' "$out" | tr -d '\n')" = '# trace# squid# process# process# start# range# holds# table' ] &&
    grep -qx '# holds: 186 records, 7002 lost' "$out" && grep -qx '# records: 186' "$out" &&
    grep -qx '# range: 0 s to 0.900100000 s' "$out" && grep -qx '# length: 0.900100000 s' "$out" &&
    grep -qx '# process: kid 2, worker, pid 1002' "$out" && grep -qx '# squid: 7.7' "$out"
check "trace, Squid, processes, start, range, records, lost"
run "$dump" --quiet --kid=2 story
grep -qx '# holds: 22 records, 7002 lost' "$out" && grep -qx '# range: 0 s to 0.090000000 s' "$out"
check "those of one kid"
run "$dump" --quiet cut.sqt
holds=$(sed -n 's/^# holds: \([0-9]*\) records, 0 or more lost/\1/p' "$out")
[ "$holds" = "$(sed -n 's/^# records: //p' "$out")" ]
check "of a trace that is cut off: what is whole, and that more may be lost"
"$dump" --table=losses - <story/2.sqt 2>/dev/null | grep -qx '# holds: 22 records, 7002 lost'
check "of a pipe, too"

# ---- damage and losses ----
run "$dump" cut.sqt
[ $status = 0 ] && grep -q '^sqtrace-dump: warning: cut.sqt: ' "$err" && [ "$(rows)" -gt 100 ]
check "a damaged trace is decoded as far as it goes, status 0"
run "$dump" --strict cut.sqt
[ $status = 3 ] && [ "$(rows)" -gt 100 ]
check "a damaged trace with --strict: status 3"
run "$dump" --strict --table=losses story
[ $status = 3 ] &&
    [ "$(cat "$err")" = "sqtrace-dump: lost 7,002 records between 0.07 s and 0.08 s (ring full)" ]
check "lost records are told in words; status 3 with --strict"
run "$dump" --strict --table=events story
[ $status = 3 ] && grep -qx '# lost: 7,002 records between 0.07 s and 0.08 s (ring full)' "$out"
check "so they are where the records themselves are printed"
run "$dump" --strict busy.sqt
[ $status = 0 ] && ! [ -s "$err" ] && grep -qx '# lost: 0' "$out"
check "a sound trace with --strict: status 0, no word"
run "$dump" --quiet cut.sqt
[ $status = 0 ] && ! [ -s "$err" ]
check "--quiet says nothing about damage"
run "$dump" --quiet story
[ $status = 0 ] && ! [ -s "$err" ]
check "--quiet says nothing about losses"

# ---- following ----
# followed WHAT ARGUMENT...: a trace whose writers have ended gives the rows of any reading, and SIGINT ends the program
followed() {
    what=$1
    shift
    "$dump" --quiet --no-comments "$@" >"$work/whole"
    : >"$out" # rows in it are this reader's, so it has come to where signals end it
    "$dump" --quiet --no-comments --follow "$@" >"$out" 2>"$err" &
    follower=$!
    tries=300
    while [ "$(wc -l <"$out")" -lt "$(wc -l <"$work/whole")" ] && [ $((tries -= 1)) -gt 0 ]; do
        sleep 0.2
    done
    kill -INT $follower
    wait $follower
    status=$?
    [ $status = 0 ] && [ -s "$out" ] && [ "$(sort "$out")" = "$(sort "$work/whole")" ] && ! [ -s "$err" ]
    check "--follow: $what"
}
followed "requests" story
followed "records" --table=events story
followed "losses" --table=losses story
followed "the rows of one kid" --kid=2 story
followed "what --since picks" --since=0.05 story
followed "what --where picks" --where='kid == 1' story
followed "one segment" --table=swaps busy.sqt
run timeout 20 "$dump" --quiet --no-comments --no-header --follow --limit=2 story
[ $status = 0 ] && [ "$(rows)" = 2 ]
check "--follow ends by itself when --limit has its rows"

# ---- steps of clocks ----
run "$dump" --table=clock_steps --columns=kind,step_ns --no-comments stepped.sqt
[ "$(tail -n +2 "$out")" = "$(printf 'back\t-1000000000\nwall_forward\t3600000000000')" ] &&
    [ "$(grep -c 'a clock stepped: [-+][0-9.]* s between .* in kid 0 (\(back\|wall_forward\))$' "$err")" = 2 ]
check "steps of clocks have a table, and are told in words"
for table in requests events; do
    run "$dump" --quiet --table=$table stepped.sqt
    [ "$(grep -c '^# clock: ' "$out")" = 2 ] && grep -q '^# clock: +3600.000 s .*(wall_forward)$' "$out"
    check "table $table says so below its rows"
done
run "$dump" --quiet --no-comments --columns=outcome,total_ns --table=requests stepped.sqt
[ "$(cut -f1 "$out" | tail -n +2 | tr '\n' ' ')" = "complete clock complete " ] && [ "$(cut -f2 "$out" | sed -n 3p)" = - ]
check "a request across one has no durations; one across a change of the time of day has"

# ---- options ----
run "$dump" --help
[ $status = 0 ] && [ "$("$dump" --help | grep -c "^  -")" = "$(grep -c '^DUMP_OPTION' "$SQT_SOURCE/tools/dump/options.def")" ]
check "--help shows every option"
run "$dump" --version
[ $status = 0 ] && grep -qx 'sqtrace-dump [0-9][0-9.]*' "$out"
check "--version"
run "$dump" --list
missing=0
# shellcheck disable=SC2013 # names without spaces
for name in $(sed -n 's/^SQT_TABLE([a-z_]*, "\([^"]*\)".*/\1/p; s/^SQT_\(ASKED_\)*COLUMN([a-z_]*, \([a-z_]*\),.*/\2/p' \
    "$SQT_SOURCE/src/row/tables.def"); do
    grep -qw -e "$name" "$out" || missing=1
done
[ $status = 0 ] && [ $missing = 0 ] && grep -q '^    dns_ns ' "$out"
check "--list shows every table, figure and column"
run "$dump" --columns=tag,xid,total_ns --no-comments busy.sqt
[ "$(head -1 "$out")" = "$(printf 'tag\txid\ttotal_ns')" ] && head -2 "$out" | tail -1 | grep -qx 'TCP_[A-Z_]*	[0-9]*	[0-9]*'
check "--columns prints those, in that order"
run "$dump" --no-header busy.sqt
! grep -q '^time_s' "$out" && grep -q '^# ' "$out"
check "--no-header"
run "$dump" --no-comments busy.sqt
grep -q '^time_s' "$out" && ! grep -q '^#' "$out"
check "--no-comments"
run "$dump" --no-comments --no-header --where='tag == no_such' busy.sqt
[ $status = 0 ] && ! [ -s "$out" ]
check "no rows at all is no error"
run "$dump" --where='tag == no_such' busy.sqt
[ "$(grep -n '^time_s' "$out" | cut -d: -f1)" -lt "$(grep -n '^# records' "$out" | cut -d: -f1)" ]
check "without rows the header still stands above the last comments"
run "$dump" --table=requests --quiet --where='tag ~ *HIT and kid == 1' story
[ $status = 0 ] && [ "$(rows)" = 2 ]
check "--where picks rows"
run "$dump" --quiet --kid=2 story
[ "$(rows)" = 2 ] && ! grep -q '^[0-9.]*	1	' "$out"
check "--kid"
run "$dump" --quiet --kid=7 story
[ $status = 1 ] && [ "$(cat "$err")" = 'sqtrace-dump: --kid: no kid 7 wrote this trace; there are: 1, 2' ] && [ "$(rows)" = 0 ]
check "a kid that the trace does not have: status 1, and which kids there are"
"$dump" --quiet --kid=7 - <story/2.sqt >"$out" 2>"$err"
[ $? = 1 ] && [ "$(cat "$err")" = 'sqtrace-dump: --kid: no kid 7 wrote this trace; there are: 2' ]
check "the same of a pipe"
run "$dump" --quiet --kid=2 --since=1h story
[ $status = 0 ] && [ "$(rows)" = 0 ]
check "a kid without rows is no error"
run "$dump" --quiet --since=0.05 --until=500ms story
[ "$(rows)" = 2 ]
check "--since and --until pick by the begin"
# A stretch of the sample, whose comments say when it began and how long it is.
sample=$SQT_SOURCE/doc/sample
"$dump" --quiet --since=100s --until=110s "$sample" >"$work/stretch"
# same ZONE SINCE UNTIL: the same rows
same() {
    run env TZ="$1" "$dump" --quiet --since="$2" --until="$3" "$sample"
    [ $status = 0 ] && [ "$(rows)" -gt 10 ] && cmp -s "$out" "$work/stretch" && ! [ -s "$err" ]
    check "the same stretch from $2 to $3, in $1"
}
start=$("$dump" --quiet "$sample" | sed -n 's/^# start: .*(\(.*\))$/\1/p')
length=$("$dump" --quiet "$sample" | sed -n 's/^# range: 0 s to \(.*\) s$/\1/p')
# at SECONDS FORMAT: the time so long after the start
at() { awk -v s="$start" -v more="$1" 'BEGIN { split(s, p, "."); printf "%d.%s\n", p[1] + more, p[2] }'; }
shown() { # shown ZONE SECONDS FORMAT
    t=$(at "$2")
    TZ=$1 date -d "@${t%.*}" "+$3.${t#*.}"
}
same UTC "$(at 100)" "$(at 110)"
same UTC "-$(awk -v l="$length" 'BEGIN { printf "%.9f", l - 100 }')" "-$(awk -v l="$length" 'BEGIN { printf "%.9f", l - 110 }')s"
same UTC "$(shown UTC 100 %H:%M:%S)" "$(shown UTC 110 %H:%M:%S)"
same Asia/Kolkata-5:30 "$(shown Asia/Kolkata-5:30 100 %Y-%m-%dT%H:%M:%S)" "$(shown Asia/Kolkata-5:30 110 '%Y-%m-%d %H:%M:%S')"
same EST5 "$(shown UTC 100 %Y-%m-%dT%H:%M:%S)Z" "$(shown CET-1 110 %Y-%m-%dT%H:%M:%S)+01:00"
run "$dump" --since=2001-02-03 --until=2001-02-04 "$sample"
[ $status = 0 ] && grep -q '^sqtrace-dump: warning: --until is before its start: the trace is from 20' "$err"
check "a time before the trace is told"
run "$dump" --quiet --table=events --since=500ms --until=500003us story
[ "$(rows)" = 2 ]
check "--since and --until on records: since is in, until is out"
run "$dump" --quiet --table=events --since=500ms --until=500003us --columns=time_s,kid,event,id,arg,aux,xid story
[ "$(rows)" = 2 ]
check "the same row by row"
"$dump" --quiet --table=events busy.sqt >"$work/fast"
"$dump" --quiet --table=events --columns=time_s,kid,event,id,arg,aux,xid busy.sqt >"$work/slow"
cmp -s "$work/fast" "$work/slow"
check "both ways of printing records agree"
"$dump" --quiet --table=events story >"$work/fast"
"$dump" --quiet --table=events --columns=time_s,kid,event,id,arg,aux,xid story >"$work/slow"
cmp -s "$work/fast" "$work/slow"
check "also on records of every kind"
run "$dump" --output="$work/o" busy.sqt
"$dump" busy.sqt >"$work/o2"
[ $status = 0 ] && ! [ -s "$out" ] && cmp -s "$work/o" "$work/o2"
check "--output"
"$dump" --no-comments - <busy.sqt >"$work/o"
"$dump" --no-comments busy.sqt >"$work/o2"
cmp -s "$work/o" "$work/o2"
check "- reads the standard input"
run "$dump" --quiet --columns xid --where 'xid == 3' --no-comments -- story
[ $status = 0 ] && [ "$(cat "$out")" = "$(printf 'xid\n3')" ]
check "values in words of their own, and -- ends the options"
cp busy.sqt ./--odd
run "$dump" --columns=xid -- --odd
[ $status = 0 ]
check "-- lets a trace's name begin with -"
{ "$dump" --table=events busy.sqt 2>"$err"; echo $? >"$work/status"; } | head -1 >/dev/null
[ "$(cat "$work/status")" = 0 ] && ! [ -s "$err" ]
check "a reader that has seen enough is no error"
run "$dump" --figure=hit-stages --group=1ms busy.sqt
grep -q '^# group: 0.001 s$' "$out"
check "--group sets the width"
run "$dump" --figure=hit-stages busy.sqt
grep -q '^# group: .*, because the trace is shorter than four groups of 1200 s$' "$out" &&
    awk '/^# group:/ { group = $3 } /^# length:/ { groups = $3 / group } END { exit !(groups >= 12) }' "$out"
check "a short trace has at least 12 groups, and says so"
run "$dump" --figure=hit-stages --group=10min busy.sqt
grep -q '^# group: .*, because the trace is shorter than four groups of 600 s$' "$out" &&
    grep -q '^sqtrace-dump: warning: --group=10min: the groups are [0-9.]* s, because the trace is shorter than four groups of 600 s$' "$err"
check "a width that --group gives and that the trace is too short for: a warning"
run "$dump" --figure=block-comb --quiet --where='xid == 3 and direction == out' story
grep -q '^# swap: sio 2 of request 3, out' "$out"
check "block-comb of the swap that --where picks"
run "$dump" --figure=block-comb --quiet --where='tag == TCP_MISS' story
grep -q '^# swap: sio 2 of request 3, out' "$out"
check "block-comb of the swap whose request --where picks"
run "$dump" --figure=block-comb --quiet story
grep -q '^# swap: sio 1 of request 2, in' "$out"
check "block-comb of the slowest swap-in"
run "$dump" --figure=block-comb --quiet --where='xid == 99' story
[ $status = 0 ] && grep -qx '# swap: none was picked' "$out"
check "block-comb of nothing says so"


# ---- hints, for a person at a terminal only ----
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then # a builder's chroot may have no pseudo-terminals
    hints() { # hints NAME WANTED ARGUMENT...
        name=$1 wanted=$2
        shift 2
        PAGER="cat" script -qec "'$dump' $*" /dev/null </dev/null >"$out" 2>&1
        : >"$err"
        grep -q -e "$wanted" "$out"
        check "$name"
    }
    hints "a hint at the ring" 'give sqtrace_log a larger ring= to lose fewer records' story
    hints "a hint at --list" 'no row matches --where; --list explains' --where "'xid == 770077'" busy.sqt
    hints "a hint at kids" 'no kid 7 wrote this trace' --kid=7 story
    hints "a hint at gnuplot" 'gnuplot -c /.*/plots/block-comb.gp block-comb.png' --figure=block-comb busy.sqt
    PAGER="cat" script -qec "'$dump' --quiet --figure=block-comb story" /dev/null </dev/null >"$out" 2>&1
    ! grep -q 'sqtrace-dump' "$out"
    check "--quiet hints at nothing"
fi

plan
