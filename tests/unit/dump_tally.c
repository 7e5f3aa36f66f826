/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_tally.c - bounds of groups: how many have rows, and what becomes of the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tally/tally.h"

#define ROW_CELLS SQT_CELLS(requests)
#define COLUMN(name) SQT_CELL(requests, name)
/* Of a row that is grouped by one column. */
enum { KEY, COUNT, SHARE, VALUES, SUM, SUM_SHARE, MEAN, P50, P90, P99, MAX };

static const struct sqt_table *const requests = &sqt_tables[SQT_TABLE_requests];

struct seen {
    uint64_t groups, rows, values;
    unsigned wrong;
    int64_t largest_key;
};

static struct sqt_tally *
begin(struct sqt_tally_form_by *form, unsigned key)
{
    sqt_tally_init(form, requests,
                   &(struct sqt_tally_by){.keys = {key}, .key_count = 1, .of = COLUMN(total_ns), .width = 1});
    return sqt_tally_new(form);
}

static void
put(struct sqt_tally *tally, int64_t conn, int64_t total)
{
    union sqt_cell row[ROW_CELLS];
    memset(row, 0, sizeof(row));
    row[COLUMN(conn)].number = conn;
    row[COLUMN(total_ns)].number = total;
    assert_true(sqt_tally_row(tally, row));
}

static int
sum_up(void *context, const union sqt_cell *row)
{
    struct seen *const seen = context;
    const int64_t key = row[KEY].text ? strtoll(row[KEY].text, NULL, 10) : -1;
    ++seen->groups;
    seen->rows += (uint64_t)row[COUNT].number;
    seen->values += (uint64_t)row[VALUES].number;
    seen->largest_key = key > seen->largest_key ? key : seen->largest_key;
    return 1;
}

/* 12,000 groups of two rows: the first 10,000 have rows of their own, whichever come again later. */
static void
many_groups(void **state)
{
    (void)state;
    struct sqt_tally_form_by form;
    struct sqt_tally *const t = begin(&form, COLUMN(conn));
    union sqt_cell other[SQT_TALLY_COLUMNS];
    for (int64_t turn = 0; turn < 2; ++turn)
        for (int64_t i = 1; i <= 12000; ++i) {
            if (i == 10001 && !turn)
                assert_false(sqt_tally_other(t, other));
            put(t, i, i);
        }
    struct seen seen = {0};
    sqt_tally_emit(t, sum_up, &seen);
    assert_int_equal(seen.groups, SQT_TALLY_GROUPS);
    assert_int_equal(seen.rows, 20000);
    assert_int_equal(seen.largest_key, 10000);
    assert_true(sqt_tally_other(t, other));
    assert_string_equal(other[KEY].text, "other");
    assert_int_equal(other[COUNT].number, 4000);
    assert_int_equal(other[P50].number, 11000);
    assert_int_equal(other[MAX].number, 12000);
    const struct sqt_tally_account account = sqt_tally_account(t);
    assert_int_equal(account.groups, 10000);
    assert_int_equal(account.other_rows, 4000);
    assert_false(account.coarse);
    sqt_tally_free(t);
}

/* Group i of 3,000 has i rows, and the value of a row is its number times a million. */
static int
judge_coarse(void *context, const union sqt_cell *row)
{
    struct seen *const seen = context;
    const int64_t key = strtoll(row[KEY].text, NULL, 10), median = (key + 1) * 500000, most = key * 1000000;
    sum_up(context, row);
    const int64_t off = row[P50].number > median ? row[P50].number - median : median - row[P50].number;
    seen->wrong += row[COUNT].number != key || row[MAX].number != most || off > median / 1000 ||
                   row[SUM].number != key * (key + 1) / 2 * 1000000;
    return 1;
}

static void
many_values(void **state)
{
    (void)state;
    struct sqt_tally_form_by form;
    struct sqt_tally *const t = begin(&form, COLUMN(conn));
    union sqt_cell other[SQT_TALLY_COLUMNS];
    const int64_t groups = 3000;
    uint64_t rows = 0;
    for (int64_t value = groups; value >= 1; --value)
        for (int64_t i = value; i <= groups; ++i, ++rows)
            put(t, i, value * 1000000);
    assert_true(rows > SQT_TALLY_VALUES);
    struct seen seen = {0};
    sqt_tally_emit(t, judge_coarse, &seen);
    assert_int_equal(seen.groups, SQT_TALLY_COARSE);
    assert_int_equal(seen.wrong, 0);
    assert_true(sqt_tally_other(t, other));
    assert_int_equal(seen.rows + (uint64_t)other[COUNT].number, rows);
    assert_int_equal(seen.values + (uint64_t)other[VALUES].number, rows);
    assert_true(sqt_tally_account(t).coarse);
    /* A group that is in "other" stays there, and a new one goes there. */
    const int64_t before = other[COUNT].number;
    put(t, 1, 1);
    put(t, 99999, 1);
    put(t, 3000, 1);
    assert_true(sqt_tally_other(t, other));
    assert_int_equal(other[COUNT].number, before + 2);
    sqt_tally_free(t);
}

/* A missing value is a group of its own, as are the text "-", and the text "other". */
static void
odd_texts(void **state)
{
    (void)state;
    static const char *const servers[] = {NULL, "-", "other", "a\tb\x9b", "", "\2", NULL};
    struct sqt_tally_form_by form;
    struct sqt_tally *const t = begin(&form, COLUMN(server));
    union sqt_cell row[ROW_CELLS], other[SQT_TALLY_COLUMNS];
    memset(row, 0, sizeof(row));
    for (unsigned i = 0; i < sizeof(servers) / sizeof(*servers); ++i) {
        row[COLUMN(server)].text = servers[i];
        row[COLUMN(total_ns)].number = i % 2 ? SQT_CELL_MISSING : -5;
        assert_true(sqt_tally_row(t, row));
    }
    struct seen seen = {0};
    sqt_tally_emit(t, sum_up, &seen);
    assert_int_equal(seen.groups, 6);
    assert_int_equal(seen.rows, 7);
    assert_int_equal(seen.values, 4);
    assert_false(sqt_tally_other(t, other));
    sqt_tally_free(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_groups), cmocka_unit_test(many_values),
                                       cmocka_unit_test(odd_texts)};
    return cmocka_run_group_tests_name("dump: tally", tests, NULL, NULL);
}
