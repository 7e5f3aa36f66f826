#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# report_words.sh - what the report says: sentences of a known trace, losses, and differences between traces.
#
# With GOLDEN_WRITE=1 it writes tests/golden/report/ anew: look at the difference before it is committed.
. "$SQT_SOURCE/tests/unit/tap.sh"

report=$SQT_TOOLS/sqtrace-report
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$SQT_TOOLS/tests/unit/report_traces" "$work/t" || exit 1
cd "$work" || exit 1

if ! command -v gnuplot >/dev/null; then
    echo "1..0 # SKIP gnuplot is not installed"
    exit 0
fi

# make NAME TRACE...: a report, and its text without figures, a line for each paragraph, item or row
make() {
    name=$1
    shift
    "$report" --data="$SQT_SOURCE/tools" --quiet --figures=hit-stages -o "$name" "$@" 2>err || return 1
    tr '\n' ' ' <"$name/index.html" | sed -e 's/<main>.*<section id="figures"/&/' -e 's/<section id="figures".*//' \
        -e 's/<\/\(p\|li\|tr\|h1\|h2\|h3\)>/\n/g' | sed -e 's/<\/t[dh]>/ | /g' -e 's/<[^>]*>//g' -e 's/^ *//' \
        -e 's/ *$//' -e 's/\xc2\xa0/ /g' -e 's/&#39;/'"'"'/g' | grep -v '^$' >"$name.txt"
}

# ---- where the time goes ----
make one t/before.sqt
check "a report"
sed -n '/spent/p; /^Half of/p; / blocks, median/p; /^There are no/p' one.txt >got
[ -z "${GOLDEN_WRITE-}" ] || cp got "$SQT_SOURCE/tests/golden/report/before.txt"
cmp -s got "$SQT_SOURCE/tests/golden/report/before.txt"
check "its sentences are those of tests/golden/report/before.txt"
diff got "$SQT_SOURCE/tests/golden/report/before.txt" | sed 's/^/# /'

# The same numbers from the rows of `requests`, by awk.
"$SQT_TOOLS/sqtrace-dump" --quiet --no-comments t/before.sqt >rows
awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    { print $at["class"] "\t" $at["total_ns"] "\t" $at["swap_in_rest_ns"] }' rows | sort -t '	' -k 1,1 -k 2n >classes
awk -F '\t' '$1 == "disk_hit" { total[++n] = $2; sum += $2; rest += $3 == "-" ? 0 : $3 }
    END {
        median = n % 2 ? total[(n + 1) / 2] : (total[n / 2] + total[n / 2 + 1]) / 2
        p99 = int(n * 0.99); p99 += p99 < n * 0.99
        printf "Half of %d,%03d hits from disk took at most %.1f µs, ", n / 1000, n % 1000, median / 1e3
        printf "99 %% at most %.1f µs.\n", total[p99] / 1e3
        mean = rest / n / 1e3
        printf "swap in rest %.0f %%, " (mean < 10 ? "%.2f" : "%.1f") " µs\n", 100 * rest / sum, mean
    }' classes >wanted
head -1 wanted | grep -qFf - one.txt && tail -1 wanted | grep -qFxf - one.txt
check "they are what the rows of requests give"
grep -q '^There are no hits from disk in this trace.$' one.txt
[ $? = 1 ] && make none --until=0.000001 t/before.sqt && grep -q '^There are no hits from disk in this trace.$' none.txt &&
    grep -q '^No request ended in this trace.$' none.txt
check "a trace without requests says so"

# ---- trust ----
grep -qx 'No record was lost, and every check passed.' one.txt && ! grep -q 'Worth a look' one.txt &&
    grep -q "^0 of $(($(wc -l <rows) - 1)) requests have stages that do not add up to their totals$" one.txt
check "nothing lost, all checks hold, and what was checked"
"$SQT_TOOLS/tests/unit/figure_traces" "$work/f" || exit 1
make planted f/planted.sqt
"$SQT_TOOLS/sqtrace-dump" --table=checks --quiet --no-comments f/planted.sqt | awk -F '\t' '$1 == "first-delay" && $6 == 1 { print "Worth a look: " $4 "." }' >wanted
grep -q '^Worth a look: swap-ins from aufs:0: the first delay depends on the size. Of .* waited longer than the' wanted &&
    grep -qxf wanted planted.txt && grep -qx 'No record was lost, and every check passed.' planted.txt
check "a first delay that grows with the size is told"
make clean f/clean.sqt
grep -qx 'No record was lost, and every check passed.' clean.txt && ! grep -q 'Worth a look' clean.txt &&
    grep -q '^swap-ins from aufs:0: the first delay does not depend on the size. ' clean.txt
check "one that does not is no trouble"
make stuck f/mixed.sqt
grep -q '^Worth a look: [0-9]* of [0-9]* disk operations were still open .*; [0-9]* of them never came back (see diskops-lost).$' \
    stuck.txt &&
    grep -qx 'every disk operation that began has ended' clean.txt
check "disk operations that never came back are told"
make lossy t/lossy.sqt
grep -q '^Lost: 7,002 records between .* s and .* s (ring full).$' lossy.txt &&
    grep -qx 'Give sqtrace_log a larger ring= to lose fewer records.' lossy.txt && ! grep -q 'No record was lost' lossy.txt
check "losses are told, and what to do"
grep -q 'aufs /var/spool/squid' one/index.html && grep -q '32,768 KB' one/index.html &&
    grep -q '>client, server, store, diskop, loop, digest, sample<' one/index.html && grep -q 'Squid 7.7' one/index.html
check "what was configured: cache_dirs, ring, groups, version"

# ---- findings ----
"$SQT_TOOLS/sqtrace-dump" --table=findings --columns=sentence,advice --quiet --no-comments t/before.sqt |
    awk -F '\t' 'NR > 1 { print $2 == "-" ? $1 : $1 " " $2 }' >wanted
[ -s wanted ] && [ "$(sed 's/ Requests behind it$//' one.txt | grep -cxFf wanted)" = "$(wc -l <wanted)" ]
check "each finding is in the report, with what to do"
[ "$(grep -c ' Requests behind it$' one.txt)" = "$(wc -l <wanted)" ] && grep -q 'class="behind".*data-filter="' one/index.html
check "and with a link to the requests behind it"

make late t/tail.sqt
cause=$("$SQT_TOOLS/sqtrace-dump" --table=findings --columns=sentence --limit=1 --quiet --no-comments --no-header t/tail.sqt)
grep -m 1 'class="lead' late/index.html | grep -qF '<p class="lead first">' && grep -qxF "$cause What to do" late.txt &&
    ! grep -q 'class="lead first"' one/index.html
check "the first sentence is what takes the most time that it should not"

# ---- too few values, and nothing ----
make few t/few.sqt
! grep -q '^Half of [1-9] \|^Half of .* 99 %' few.txt && grep -q '^There are [2-9] .*, too few for a median; their mean is ' few.txt
check "no median of fewer than 10 requests, no 99th percentile of fewer than 100"
"$report" --data="$SQT_SOURCE/tools" --quiet --figures=held-back,slowest -o empty t/few.sqt
grep -q '^<figure id="slowest"' empty/index.html && ! grep -q '^<figure id="held-back"' empty/index.html &&
    grep -q '^<li id="held-back"><strong>.*No rows' empty/index.html
check "a figure without rows is left out, and the page says why"

# ---- differences ----
make same before=t/before.sqt again=t/again.sqt
grep -c ': no difference.$' same.txt | grep -qx 3 && ! grep -q 'slower\|faster' same.txt &&
    [ "$(grep -c '| no difference |' same.txt)" -ge 20 ]
check "two runs of the same: no difference in any line of the table"
make shift before=t/before.sqt after=t/slower.sqt
[ "$(grep -c ': slower. The median went from .* (+\(19\|2[0-3]\) %)' shift.txt)" = 3 ] && ! grep -q 'faster' shift.txt &&
    ! grep -q '| no difference |' shift.txt
check "20 % slower is found in every class, in every line of the table"
make back before=t/slower.sqt after=t/before.sqt
[ "$(grep -c ': faster. The median went from .* (−1[5-9] %)' back.txt)" = 3 ] && ! grep -q 'slower' back.txt
check "and the way back is 17 % faster"
make tail before=t/before.sqt after=t/tail.sqt
[ "$(grep -c ': faster. The median went from .*\. But the slowest are slower: the 99th percentile went from ' tail.txt)" = 3 ]
check "a worse tail is told beside a better median"
make little few=t/few.sqt before=t/before.sqt
grep -qx 'Too few requests to tell: hits from memory, hits from disk, misses.' little.txt &&
    [ "$(grep -c 'too few requests to tell' little.txt)" = 3 ] && ! grep -q 'slower\|faster' little.txt
check "few requests: nothing is claimed, in one line, and one of the table for each class"
make three a=t/before.sqt b=t/again.sqt c=t/slower.sqt
[ "$(grep -c '^From a to [bc]$' three.txt)" = 2 ]
check "of three traces each is compared with the first"
plan
