#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe_table.sh - HACKING.md, "A new table": followed in a copy of the tree, with a dummy.
set -u

. "${SQT_SOURCE:?}/tests/unit/recipe.sh"
if ! command -v automake >/dev/null; then
    echo "1..0 # SKIP automake is missing"
    exit 0
fi
copy_build

# ---- the recipe ----

sed -i '/^SQT_TABLE(events, /i\
SQT_TABLE(dummies, "dummies", TABLE, "how many swaps there are, in a test of a recipe")\
SQT_COLUMN(dummies, swaps, COUNT, "swaps")\
SQT_TABLE_END(dummies)\
' "$tree/src/row/tables.def"
cat >"$tree/src/figure/table/dummies.c" <<'END'
/* A table of a test: how many swaps there are. */
#include <stdlib.h>

#include "base/memory.h"
#include "pass/family.h"

static void
dummies_start(struct sqt_job *job)
{
    job->state = sqt_zeroed(1, sizeof(int64_t));
}

static void
dummies_swap(struct sqt_job *job, const struct sqt_swap_fact *s)
{
    (void)s;
    ++*(int64_t *)job->state;
}

static void
dummies_finish(struct sqt_job *job)
{
    union sqt_cell row[SQT_CELLS(dummies)];
    row[SQT_CELL(dummies, swaps)].number = *(int64_t *)job->state;
    sqt_job_row(job, row);
    free(job->state);
}

const struct sqt_family sqt_family_dummies = {.start = dummies_start, .swap = dummies_swap, .finish = dummies_finish};
END
sed -i 's|^    src/figure/table/diskops\.c \\$|&\
    src/figure/table/dummies.c \\|' "$tree/Makefile.am"
sed -i 's|^        adds_up(requests, swaps, ios)$|&\
        check([row["swaps"] for row in dump(trace, "--table=dummies")[1]] == [str(len(swaps))], "dummies")|' \
    "$tree/tests/unit/dump_oracle.py"

# ---- what it gives ----

make_in_build Makefile && make_in_build sqtrace-dump tests/unit/dump_traces
check "it builds"
"$build/sqtrace-dump" --list >"$out" 2>&1
grep -q '^table dummies - how many swaps there are, in a test of a recipe$' "$out"
check "sqtrace-dump --list names the table"
"$build/sqtrace-dump" --quiet --no-comments --table=dummies "$tree/doc/sample" >"$out" 2>&1
[ "$(sed -n 1p "$out")" = swaps ] && [ "$(sed -n 2p "$out")" -gt 0 ]
check "and prints it"
SQT_SOURCE=$tree SQT_TOOLS=$build python3 "$tree/tests/unit/dump_oracle.py" >"$out" 2>&1
grep -q '^ok .*dummies' "$out" && ! grep -q '^not ok' "$out"
check "and the oracle counts the same"
follows 'A new table'
plan
