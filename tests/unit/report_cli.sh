#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# report_cli.sh - every option of sqtrace-report, every message, every exit status; what stays behind when it fails.
. "$SQT_SOURCE/tests/unit/tap.sh"

report=$SQT_TOOLS/sqtrace-report
data=$SQT_SOURCE/tools
work=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/report_traces" "$work/t" || exit 1
cd "$work" || exit 1
printf 'This is no trace, but it is long enough to look at.\n' >foreign.sqt
out=$work/out
err=$work/err
: >out
: >err

run() { # run ARGUMENT...: sets status
    "$report" --data="$data" "$@" >out 2>err </dev/null
    status=$?
}

# fails STATUS MESSAGE ARGUMENT...: exactly this one line, and nothing new in this folder
fails() {
    want=$1 message=$2
    shift 2
    before=$(ls -a)
    run "$@"
    [ "$status" = "$want" ] && [ "$(cat err)" = "sqtrace-report: $message" ] && ! [ -s out ] &&
        [ "$(ls -a)" = "$before" ]
    check "$* -> $want $message"
}

# ---- usage ----
fails 2 "no trace given: name a segment, a ring, a directory of them, or -; or an access.log by --access-log=FILE" -o r
fails 2 "no folder given: -o DIR names the one to make" t/few.sqt
fails 2 "no folder given: -o DIR names the one to make" -o "" t/few.sqt
fails 2 "no file given: -o FILE names the one to make" --single-file t/few.sqt
fails 2 "option '--single-file' takes no value" --single-file=one.html t/few.sqt
fails 2 "unknown option '--outptu'; did you mean --output?" --outptu=r t/few.sqt
fails 2 "unknown option '--xyzzyxyzzy'; --help shows them" --xyzzyxyzzy -o r t/few.sqt
fails 2 "unknown option '-x'; --help shows them" -x -o r t/few.sqt
fails 2 "option '--output' needs a value: --output=DIR" t/few.sqt -o
fails 2 "option '--quiet' takes no value" --quiet=yes -o r t/few.sqt
fails 2 "--figures: there is no figure 'blockcomb'; did you mean block-comb?" --figures=hit-stages,blockcomb \
    -o r t/few.sqt
fails 2 "--figures: there is no figure 'plethora'; sqtrace-dump --list shows them" --figures=plethora -o r t/few.sqt
fails 2 "--figures: there is no figure ''; sqtrace-dump --list shows them" --figures= -o r t/few.sqt
fails 2 "--verdict prints text and makes no report: it does not go with --output, --single-file and --figures" \
    --verdict -o r t/few.sqt
fails 2 "--since: 'noon' is no time; write 90s, -10min, 12:03:10, 2026-11-25T12:03:10 or seconds since 1970" --since=noon -o r t/few.sqt
fails 2 "--until: '3KB': the unit is none of ns, us, ms, s, min, h" --until=3KB -o r t/few.sqt
fails 2 "--since is not before --until" --since=5 --until=5s -o r t/few.sqt
fails 2 "--group: '0': too small" --group=0 -o r t/few.sqt
fails 2 "--peak: '-1s': too small" --peak=-1s -o r t/few.sqt
fails 2 "--kid: '-1': too small" --kid=-1 -o r t/few.sqt
fails 2 "--kid: '4294967296': too large" --kid=4294967296 -o r t/few.sqt
fails 2 "'t/few.sqt': either all traces have a label, as in before=TRACE after=TRACE, or none has" \
    -o r a=t/few.sqt t/few.sqt
fails 2 "'a b': a label has 1 to 40 letters, digits, '_', '+' or '-'; for a trace with '=' in its name write ./a b=t" \
    -o r 'a b=t'
fails 2 "'i=t/few.sqt': more than 8 labels" -o r a=t/few.sqt b=t/few.sqt c=t/few.sqt d=t/few.sqt e=t/few.sqt \
    f=t/few.sqt g=t/few.sqt h=t/few.sqt i=t/few.sqt

# ---- what cannot be read ----
fails 1 "nothing: No such file or directory" -o r nothing
run -o r foreign.sqt
[ $status = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^sqtrace-report: foreign.sqt: ' err && ! [ -e r ] &&
    ! [ -e r.part ]
check "a foreign file: one line that names it, nothing is made"
fails 1 "none/plots: No such file or directory; --data=DIR names the folder that has plots/ and report/" \
    --data=none -o r t/few.sqt
mkdir -p half/plots
fails 1 "half/report: No such file or directory; --data=DIR names the folder that has plots/ and report/" \
    --data=half -o r t/few.sqt

# ---- gnuplot ----
mkdir bin
ln -s "$(command -v sh)" bin/sh
before=$(ls -a)
PATH=$work/bin "$report" --data="$data" -o r t/few.sqt >out 2>err
[ $? = 1 ] && [ "$(ls -a)" = "$before" ] &&
    [ "$(cat err)" = "sqtrace-report: gnuplot is not installed, and draws the figures: apt-get install gnuplot-nox" ]
check "no gnuplot: one line that says what to install, nothing is made"
if ! command -v gnuplot >/dev/null; then
    echo "1..$number # gnuplot is not installed"
    exit 0
fi
printf '#!/bin/sh\n[ "$1" = --version ] || { echo "out of ink" >&2; exit 1; }\n' >bin/gnuplot
chmod +x bin/gnuplot
PATH=$work/bin "$report" --data="$data" --quiet --figures=hit-stages -o r t/before.sqt >out 2>err
[ $? = 3 ] && [ "$(cat err)" = "sqtrace-report: hit-stages could not be drawn: out of ink" ] &&
    grep -q 'It could not be drawn: out of ink' r/index.html && ! ls r/figures/*.svg >/dev/null 2>&1
check "a gnuplot that fails: status 3, and the page says why there is no picture"
rm -r r
printf '#!/bin/sh\n[ "$1" = --version ] || while :; do :; done\n' >bin/gnuplot
prlimit --cpu=2: env PATH="$work/bin" "$report" --data="$data" --quiet --figures=hit-stages -o r t/before.sqt >out 2>err
[ $? = 3 ] && [ "$(cat err)" = "sqtrace-report: hit-stages could not be drawn: gnuplot took more than 2 s of processor time" ]
check "a gnuplot that does not end: status 3, and what it may take is said"
rm -r r
printf '#!/bin/sh\n[ "$1" = --version ] || { printf "\nplot x\n     ^\n%%s\n" "all points y value undefined!" >&2; exit 1; }\n' >bin/gnuplot
PATH=$work/bin "$report" --data="$data" --quiet --figures=hit-stages -o r t/before.sqt >out 2>err && ! [ -s err ] &&
    ! grep -q 'could not be drawn' r/index.html
check "a gnuplot that finds no value: nothing to draw, status 0"
rm -r r
printf '#!/bin/sh\n[ "$1" = --version ] || { printf "%%s\n" "No valid data points found in file" "plot x" "     ^" "out of paint" >&2; exit 1; }\n' >bin/gnuplot
PATH=$work/bin "$report" --data="$data" --quiet --figures=hit-stages -o r t/before.sqt >out 2>err
[ $? = 3 ] && [ "$(cat err)" = "sqtrace-report: hit-stages could not be drawn: out of paint" ]
check "what gnuplot says last is why"
rm -r r

printf '#!/bin/sh\necho "line 0: warning: no such font" >&2\nexec "%s" "$@"\n' "$(command -v gnuplot)" >bin/gnuplot
for quiet in "" --quiet; do
    PATH=$work/bin:$PATH "$report" --data="$data" $quiet --figures=hit-stages -o r t/before.sqt >out 2>err
    # shellcheck disable=SC2181 # its line is long enough
    [ $? = 0 ] && ! grep -q 'no such font' err && ! grep -q 'no such font' r/index.html && [ -s r/figures/hit-stages.svg ]
    check "gnuplot warns: nobody is told, and the picture is there${quiet:+ with --quiet, too}"
    rm -r r
done

# ---- the folder ----
: >file
fails 1 "file: exists and is not a folder; name another with -o" -o file t/few.sqt
mkdir mine
: >mine/letter
fails 1 "mine: is not a report; name another with -o" -o mine/ t/few.sqt
[ -f mine/letter ]
check "what is not a report is not touched"
mkdir piped
mkfifo piped/index.html
plain=$report
waits() { timeout 20 "$plain" "$@"; }
report=waits
fails 1 "piped: holds half a report (its index.html has no end); remove it, or name another with -o" -o piped t/few.sqt
report=$plain
fails 1 "none/r.part: cannot be made: No such file or directory" -o none/r t/few.sqt
fails 1 "/proc/r.part: cannot be made: No such file or directory" -o /proc/r t/few.sqt
if [ "$(id -u)" -ne 0 ]; then
    mkdir shut && chmod 555 shut
    fails 1 "shut/r.part: cannot be made: Permission denied" -o shut/r t/few.sqt
fi
mkdir broken
printf '<!DOCTYPE html>\n<title>Where the' >broken/index.html
fails 1 "broken: holds half a report (its index.html has no end); remove it, or name another with -o" \
    -o broken t/few.sqt
mkdir r.part
fails 1 "r.part: exists: another sqtrace-report is running, or was killed; if none runs, remove it" -o r t/few.sqt
rmdir r.part
cp -r "$data" data && sed -i 's/{{kicker}}/{{kikker}}/' data/report/page.html
run --data=data --quiet --figures=hit-stages -o r t/few.sqt
[ $status = 1 ] && ! [ -e r ] && ! [ -e r.part ] &&
    [ "$(cat err)" = "sqtrace-report: data/report/page.html: fragment 'body': nothing is given for {{kikker}}" ]
check "a template that does not fit: one line, and all that was made is removed"

for blocks in 8 32; do # a limit on the size of files fails as a full disk does: for the series, and for a picture
    (ulimit -f $blocks; "$report" --data="$data" --quiet --figures=transfer-size,tail-stages -o r t/before.sqt >out 2>err)
    [ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^sqtrace-report: r.part/.*: .*write' err && ! [ -e r ] &&
        ! [ -e r.part ]
    check "files may have $blocks blocks: one line, and nothing is left"
done

run --figures=hit-stages,block-comb -o r t/few.sqt
[ $status = 0 ] && [ "$(sed 's/[0-9][0-9]*/N/g' err)" = "sqtrace-report: read N records, N requests
sqtrace-report: made r/index.html" ] && ! [ -s out ] && ! [ -e r.part ]
check "it says what it did"
ruled=true
for name in hit-stages block-comb; do
    rule=$("$SQT_TOOLS/sqtrace-dump" --list | sed -n "s/^figure $name - //p" | sed "s/'/\&#39;/g")
    large=0
    ! [ -e r/figures/$name.svg ] || large=1
    said=$(grep -cFx "<p class=\"rule\">How it is computed: $rule.</p>" r/index.html)
    [ -n "$rule" ] && [ "$said" = $((2 * large)) ] || ruled=false
done
"$ruled" && [ "$large" = 1 ]
check "below each caption it says how the figure is computed, large too"
run --quiet --figures=hit-stages -o r/ t/before.sqt
[ $status = 0 ] && ! [ -s err ] && [ "$(echo r*)" = r ] && ! [ -e r/figures/block-comb.tsv ]
check "an older report is replaced, and nothing of it stays"
mkdir new
run --quiet --figures=hit-stages -o new t/few.sqt
[ $status = 0 ] && [ -s new/index.html ]
check "an empty folder is filled"
: >new/letter
cp new/index.html keep
run --quiet -o new foreign.sqt
[ $status = 1 ] && cmp -s new/index.html keep && [ -e new/letter ]
check "an older report stays when the new one fails"
"$report" --data="$data" --quiet -o killed t/before.sqt t/again.sqt t/slower.sqt 2>err &
pid=$!
while ! [ -e killed.part ] && kill -0 $pid 2>/dev/null; do :; done
kill -TERM $pid
wait $pid
[ $? = 143 ] && ! [ -e killed ] && ! [ -e killed.part ]
check "ended by a signal: nothing is left, and the shell sees the signal"

# ---- one file ----
run --single-file --figures=hit-stages,block-comb -o one.html t/before.sqt
[ $status = 0 ] && [ "$(tail -n 1 err)" = "sqtrace-report: made one.html" ] && ! [ -e one.html.part ] && [ -f one.html ]
check "--single-file makes a file, and nothing beside it"
# Whatever the page would load is in it: its addresses are of places in the page, or have the data in them.
[ "$(grep -oE '[ ](href|src|srcset)="[^"]{1,5}' one.html | grep -cvE '"(#|data:)')" = 0 ] &&
    [ "$(grep -c 'src="data:image/svg+xml;base64,' one.html)" = 2 ] && grep -q 'download="hit-stages.tsv"' one.html &&
    ! grep -q '{{' one.html
check "the file loads nothing, and has each picture once"
grep -o 'href="data:text/tab-separated-values;base64,[^"]*" download="hit-stages.tsv"' one.html | head -n 1 |
    sed 's/.*base64,//; s/".*//' | base64 -d >series
"$SQT_TOOLS/sqtrace-dump" --quiet --figure=hit-stages t/before.sqt | grep -v '^# finding: ' | cmp -s - series
check "a series in the file is what sqtrace-dump prints"
cp one.html keep
run --quiet --single-file --figures=hit-stages -o one.html t/before.sqt
[ $status = 0 ] && [ "$(wc -c <one.html)" -lt "$(wc -c <keep)" ]
check "an older file is replaced"
cp one.html keep
run --quiet --single-file -o one.html foreign.sqt
[ $status = 1 ] && cmp -s one.html keep && ! [ -e one.html.part ]
check "an older file stays when the new one fails"
: >empty.html
run --quiet --single-file --figures=hit-stages -o empty.html t/few.sqt
[ $status = 0 ] && [ -s empty.html ]
check "an empty file is filled"
fails 1 "foreign.sqt: is not a report; name another with -o" --single-file -o foreign.sqt t/few.sqt
fails 1 "mine: is a folder; with --single-file, -o names a file" --single-file -o mine t/few.sqt
fails 1 "one.html: exists and is not a folder; name another with -o" -o one.html t/few.sqt
fails 1 "none/one.part: cannot be made: No such file or directory" --single-file -o none/one t/few.sqt
sed -i 's/{{kikker}}/{{kicker}}/' data/report/page.html
echo "const odd = '</script><!--<SCRIPT>';" >>data/report/report.js
run --data=data --quiet --single-file --figures=hit-stages -o odd.html t/few.sqt
[ $status = 0 ] && grep -qF "const odd = '<\\/script><\\!--<\\SCRIPT>';" odd.html
check "what ends a script for a browser is escaped within it"
mv data/report/browse/waterfall.js . && fails 1 "data/report/browse/waterfall.js: No such file or directory" \
    --data=data --single-file --figures=hit-stages --quiet -o new.html t/few.sqt

# ---- options ----
run --help
[ $status = 0 ] && [ "$(grep -c '^ *\(-., \)\{0,1\}--' out)" = "$(grep -c '^REPORT_OPTION' "$data/report/options.def")" ]
check "--help shows every option"
run --version
[ $status = 0 ] && grep -qx 'sqtrace-report [0-9][0-9.]*' out
check "--version"
run --quiet --figures=hit-stages --title='Ours & <theirs>' --output=titled t/few.sqt
[ $status = 0 ] && grep -q '<h1>Ours &amp; &lt;theirs&gt;</h1>' titled/index.html
check "--title, as text"
run --quiet --figures=hit-stages --until=1ms -o until t/before.sqt
whole=$("$SQT_TOOLS/sqtrace-dump" --quiet --no-header --no-comments --until=1ms t/before.sqt | wc -l)
[ $status = 0 ] && grep -q "<p class=\"lead\">Together, $whole requests" until/index.html
check "--until picks the requests that are counted"
run --quiet --figures=hit-stages --kid=7 -o kid t/before.sqt
[ $status = 0 ] && grep -q 'No request ended in this trace' kid/index.html
check "--kid"
# All figures: with a gnuplot that draws the same for each, and is quick.
printf '#!/bin/sh\n[ "$1" = --version ] || echo "<svg viewBox=\"0 0 9 9\"><desc></desc></svg>" >"$5"\n' >bin/gnuplot
PATH=$work/bin "$report" --data="$data" --quiet -o "odd dir" a=t/before.sqt b=t/few.sqt b=t/lossy.sqt >out 2>err
status=$?
[ $status = 0 ] && [ "$(grep -c 'class="lead"' "odd dir/index.html")" = 2 ]
check "traces of one label are joined"

# ---- the series ----
same=1
for tsv in "odd dir"/figures/*.a.tsv; do
    name=$(basename "$tsv" .a.tsv)
    kind=table
    ! "$SQT_TOOLS/sqtrace-dump" --list | grep -q "^figure $name " || [ "$name" = stalls ] || kind=figure
    # The report has findings of its own at its top.
    "$SQT_TOOLS/sqtrace-dump" --quiet --$kind="$name" t/before.sqt | grep -v '^# finding: ' | cmp -s - "$tsv" || same=0
done
[ $same = 1 ] && [ -s "odd dir/figures/summary.a.tsv" ]
check "each series is what sqtrace-dump prints, to the byte"
(cd "odd dir/figures" && gnuplot -c hit-stages.gp again.svg hit-stages.a.tsv 2>"$work/err" && ! [ -s "$work/err" ])
check "the scripts work where they lie"
plan
