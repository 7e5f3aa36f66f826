#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe_thing.sh - HACKING.md, "A new thing with a table": followed in a copy of the tree, with look-ups of names.
set -u

. "${SQT_SOURCE:?}/tests/unit/recipe.sh"
if ! command -v automake >/dev/null; then
    echo "1..0 # SKIP automake is missing"
    exit 0
fi
copy_build

# ---- the recipe ----

sed -i '/^\/\* A block of a swap\. \*\/$/i\
/* A look-up of a name, for which a transaction waits. */\
struct sqt_lookup {\
    struct sqt_pooled pooled;\
    const struct sqt_origin *origin;\
    uint64_t serial, xact;\
    int64_t begin, end;\
    enum sqt_outcome outcome;\
\
    /* for the model */\
    uint32_t epoch;\
};\

s/^    X(conns) \\$/&\
    X(lookups) \\/
s/^    X(wait, const struct sqt_wait) \\$/&\
    X(lookup, const struct sqt_lookup) \\/' "$tree/src/model/model.h"

cat >"$tree/src/model/thing/lookups.c" <<'END'
/* Look-ups of names: DNS_BEGIN .. DNS_END. */
#include "model/model-internal.h"

static void
lookups_end(struct sqt_process_state *process, struct sqt_lookup *lookup, int64_t now, enum sqt_outcome outcome)
{
    lookup->end = now;
    lookup->outcome = sqt_outcome_of(process, lookup->epoch, lookup->begin, outcome);
    if (process->consumer->lookup)
        process->consumer->lookup(process->consumer->context, lookup);
    sqt_thing_forget(&process->lookups, lookup->serial, lookup);
}

static void
lookups_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_lookup *const lookup = sqt_thing_new(process, &process->lookups);
    lookup->origin = process->origin;
    lookup->serial = record->arg;
    lookup->xact = record->id;
    lookup->begin = now;
    lookup->epoch = process->epoch;
    sqt_idmap_put(&process->lookups.ids, lookup->serial, lookup);
}

static void
lookups_answered(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_lookup *const lookup = sqt_idmap_get(&process->lookups.ids, record->arg);
    if (lookup)
        lookups_end(process, lookup, now, record->aux ? SQT_OUTCOME_ERROR : SQT_OUTCOME_COMPLETE);
}

static void
lookups_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    lookups_end(process, thing, process->now, outcome);
}

const struct sqt_thing_kind sqt_thing_lookups = {
    .words = "look-ups of names",
    .size = sizeof(struct sqt_lookup),
    .begin = offsetof(struct sqt_lookup, begin),
    .epoch = offsetof(struct sqt_lookup, epoch),
    .cut_off = lookups_cut_off,
    .events = (const struct sqt_subscription[]){
        {SQT_EV_DNS_BEGIN, lookups_begin}, {SQT_EV_DNS_END, lookups_answered}, {0}}};
END

sed -i '/^SQT_TABLE(summary, /i\
SQT_TABLE(lookups, "lookups", THINGS, "look-ups of names that requests waited for, in a test of a recipe")\
SQT_COLUMN(lookups, time_s, TIME, "begin, since the start of the trace")\
SQT_COLUMN(lookups, kid, COUNT, "number of the kid")\
SQT_COLUMN(lookups, xid, ID, "the transaction that waits")\
SQT_COLUMN(lookups, total_ns, NS, "until the answer came")\
SQT_COLUMN(lookups, outcome, TEXT, "complete, error, lost, clock or unfinished")\
SQT_TABLE_END(lookups)\
' "$tree/src/row/tables.def"

cat >"$tree/src/figure/table/lookups.c" <<'END'
/* The table of look-ups of names. */
#include "pass/family.h"

#define CELL(name) row[SQT_CELL(lookups, name)]

static void
lookups_lookup(void *context, const struct sqt_lookup *lookup)
{
    struct sqt_job *const job = context;
    union sqt_cell row[SQT_CELLS(lookups)];
    CELL(time_s).number = lookup->begin;
    CELL(kid).number = lookup->origin->identity.kid;
    CELL(xid).number = (int64_t)lookup->xact;
    CELL(total_ns).number =
        sqt_durations_unknown(lookup->outcome) ? SQT_CELL_MISSING : lookup->end - lookup->begin;
    CELL(outcome).text = sqt_outcome_names[lookup->outcome];
    if (sqt_job_wants(job, lookup->begin, row))
        sqt_job_row(job, row);
}

const struct sqt_family sqt_family_lookups = {
    .where = {SQT_TABLE_lookups}, .where_count = 1, .consumer = {.lookup = lookups_lookup}};
END

sed -i 's|^    src/figure/table/ios\.c \\$|&\
    src/figure/table/lookups.c \\|
s|^    src/model/thing/incidents\.c \\$|&\
    src/model/thing/lookups.c \\|' "$tree/Makefile.am"

# ---- what it gives ----

make_in_build Makefile && make_in_build sqtrace-dump tests/unit/make_script
check "it builds"

cat >"$work/script" <<'END'
def 2 3 TCP_MISS
def 3 1 GET
# Transaction 5 looks up two names, of which one does not exist.
0    XACT_BEGIN   0x8000000000000005 1
1    XACT_NAMED   5 0x8000000000000005 1
10   DNS_BEGIN    5 71
40   DNS_END      5 71
50   DNS_BEGIN    5 72
62.5 DNS_END      5 72 1
70   XACT_END     5 0 3
# Another one waits while records are lost, and one waits when the trace ends.
100  DNS_BEGIN    6 73
120  LOST         1000000330000 4
130  DNS_END      6 73
200  DNS_BEGIN    7 74
300  LOOKUP_BEGIN 8
END
"$build/tests/unit/make_script" "$work/t.sqt" <"$work/script" >"$out" 2>&1 &&
    "$build/sqtrace-dump" --quiet --no-comments --table=lookups "$work/t.sqt" >"$work/rows" 2>"$out"
tr '\t' ' ' <"$work/rows" >"$work/spaced"
cat >"$work/expected" <<'END'
time_s kid xid total_ns outcome
0.000010000 1 5 30000 complete
0.000050000 1 5 12500 error
0.000100000 1 6 - lost
0.000200000 1 7 100000 unfinished
END
diff "$work/expected" "$work/spaced" >"$out"
check "its rows are those of the trace"

"$build/sqtrace-dump" --quiet --no-comments --table=requests --columns=xid,dns_ns "$work/t.sqt" >"$out" 2>&1
grep -qx "5	42500" "$out"
check "and requests have the same time in their stage"

"$build/sqtrace-dump" --quiet --no-comments --table=lookups --group-by=outcome --where='total_ns >= 20us' "$work/t.sqt" >"$out" 2>&1
[ "$(sed -n 2p "$out" | cut -f 1-2)" = "unfinished	1" ] && grep -q 'total_ns\|sum_ns' "$out"
check "--where and --group-by take its columns"

"$build/sqtrace-dump" --list >"$out" 2>&1
grep -q '^table lookups - look-ups of names that requests waited for, in a test of a recipe$' "$out"
check "--list names it"

make_in_build sqtrace-tables.7 sqtrace-dump.1 completions/sqtrace-dump
grep -q 'look\\-ups of names that requests waited for' "$build/sqtrace-tables.7" &&
    grep -q 'until the answer came' "$build/sqtrace-tables.7"
check "the manual has the table and its columns"
grep -qx '\.BR* lookups.*' "$build/sqtrace-dump.1"
check "and says that it can be followed"
grep -q "names=.* lookups " "$build/completions/sqtrace-dump" &&
    grep -q "lookups) names=' time_s kid xid total_ns outcome" "$build/completions/sqtrace-dump"
check "the completion has both"
"$build/sqtrace-dump" --quiet --format=parquet --table=lookups --output="$work/parquet" "$work/t.sqt" >"$out" 2>&1 &&
    "$build/sqtrace-dump" --ddl=duckdb "$work/parquet" >"$out" 2>&1 && grep -q 'lookups' "$out"
check "it can be written as Parquet, and SQL finds it"

# Tests, hooks and patches have lists of their own.
touched_files | grep -vE '^(tests|patches)/|^src/squid/hooks-' >"$work/files"
cp "$work/files" "$out"
[ "$(wc -l <"$work/files")" -le 5 ]
check "it takes at most five files outside of tests, patches and hooks"
follows 'A new thing with a table'
plan
