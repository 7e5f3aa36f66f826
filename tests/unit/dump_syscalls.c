/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_syscalls.c - the table of system calls gives the numbers that were published in 1999, from their totals and
 * counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figure/table/syscalls.h"

#define ROWS 64
#define US 1000

struct published {
    char time[8], name[24];
    double total, share, mean;
    unsigned long count;
};

static struct published published[ROWS];
static unsigned published_count;
static union sqt_cell rows[ROWS][SQT_CELLS(syscalls)];
static unsigned row_count;

static int
take(void *context, const union sqt_cell *row)
{
    (void)context;
    assert_true(row_count < ROWS);
    memcpy(rows[row_count++], row, sizeof(rows[0]));
    return 1;
}

static void
load(const char *name, int with_time)
{
    char path[1024], line[256];
    snprintf(path, sizeof(path), "%s/tests/golden/%s", getenv("SQT_SOURCE"), name);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    published_count = row_count = 0;
    while (fgets(line, sizeof(line), file)) {
        struct published *const p = &published[published_count];
        if (line[0] == '#')
            continue;
        const int found =
            with_time
                ? sscanf(line, "%7s %23s %lf %lf %lu %lf", p->time, p->name, &p->total, &p->share, &p->count, &p->mean)
                : sscanf(line, "%23s %lf %lf %lu %lf", p->name, &p->total, &p->share, &p->count, &p->mean);
        assert_int_equal(found, with_time ? 6 : 5);
        ++published_count;
    }
    fclose(file);
}

/* The row as it was published: seconds with six decimals, of which the last was cut or rounded, shares with two. */
static void
assert_row(const union sqt_cell *row, const struct published *p, double share_error)
{
    assert_string_equal(row[SQT_CELL(syscalls, name)].text, p->name);
    assert_int_equal(row[SQT_CELL(syscalls, count)].number, p->count);
    assert_float_equal((double)row[SQT_CELL(syscalls, total_s)].number / 1e9, p->total, 0.0000005);
    assert_float_equal((double)row[SQT_CELL(syscalls, mean_s)].number / 1e9, p->mean, 0.00000101);
    assert_float_equal((double)row[SQT_CELL(syscalls, share_pct)].number / 1e3, p->share, share_error);
}

static int64_t
ns_of(double seconds)
{
    return (int64_t)(seconds * 1e6 + 0.5) * US;
}

static void
a_published_sample(void **state)
{
    (void)state;
    struct sqt_account account = {.begin = 0, .end = INT64_C(9996514) * US, .thread = "main"};
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take};
    load("syscalls-1999.tsv", 0);
    assert_int_equal(published_count, 23);
    /* In another order than theirs. */
    for (unsigned i = 1; i < published_count; ++i) {
        const struct published *const p = &published[published_count - i];
        account.calls[i] = (struct sqt_account_call){p->name, p->count, ns_of(p->total), 0};
        account.used |= UINT64_C(1) << i;
    }
    sqt_account_rows(&job, &account);
    assert_int_equal(row_count, published_count);
    int64_t sum = 0;
    for (unsigned i = 0; i < row_count; ++i) {
        assert_row(rows[i], &published[i], 0.00501);
        sum += rows[i][SQT_CELL(syscalls, total_s)].number;
    }
    assert_int_equal(sum, account.end);
}

/* The class with the largest share of those of the same time of day: from it follows the window, whose width of about
 * 10 s was not published. */
static const struct published *
largest_of(const char *time)
{
    const struct published *largest = NULL;
    for (unsigned i = 0; i < published_count; ++i)
        if (strcmp(published[i].time, time) == 0 && (!largest || published[i].share > largest->share))
            largest = &published[i];
    return largest;
}

static void
a_published_trend(void **state)
{
    (void)state;
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take};
    load("syscalls-1999-trend.tsv", 1);
    assert_int_equal(published_count, 50);
    for (unsigned i = 0; i < published_count; ++i) {
        const struct published *const p = &published[i], *const largest = largest_of(p->time);
        struct sqt_account account = {.end = ns_of(largest->total / largest->share * 100), .thread = "main"};
        account.used = 1;
        account.calls[0] = (struct sqt_account_call){p->name, p->count, ns_of(p->total), 0};
        row_count = 0;
        sqt_account_rows(&job, &account);
        assert_int_equal(row_count, 2);
        /* The shares are rounded to 0.01, that which the window was taken from too. */
        assert_row(rows[1], p, 0.00601 + 0.005 * p->share / largest->share);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_published_sample),
        cmocka_unit_test(a_published_trend),
    };
    return cmocka_run_group_tests_name("dump_syscalls", tests, NULL, NULL);
}
