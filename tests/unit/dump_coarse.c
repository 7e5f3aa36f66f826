/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_coarse.c - medians and percentiles of figures are exact while all values fit, at most 0.1 % off beyond, and the
 * figure says which.
 *
 * Figures are fed with so many facts as no trace of a test holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pass/family.h"

#define SECOND INT64_C(1000000000)
#define FITS (UINT64_C(1) << 19) /* values, as the man page says */
#define FITS_LARGE (UINT64_C(1) << 21)

enum fed { REQUESTS, XACTS, SWAPS, DISKOPS };

/* Its median is in that column of its first row.  Every fact has the same number of values above 0 for it. */
static const struct figure {
    enum sqt_table_number table;
    const char *column;
    const char *key; /* of the note */
    enum fed fed;
    uint64_t fits, values_each;
} figures[] = {
    {SQT_TABLE_response_time, "all_p50_ms", "medians", REQUESTS, FITS, 2},
    {SQT_TABLE_disk_response_time, "in_p50_ms", "medians", SWAPS, FITS, 1},
    {SQT_TABLE_response_time_by_size, "all_p50_ms", "medians", REQUESTS, FITS, 2},
    {SQT_TABLE_disk_response_by_size, "in_p50_ms", "medians", SWAPS, FITS, 1},
    {SQT_TABLE_disk_overhead, "one_ms", "medians", SWAPS, FITS, 3},
    {SQT_TABLE_hit_stages, "total_ms", "medians", REQUESTS, FITS_LARGE, 1},
    {SQT_TABLE_summary, "p50_ms", "percentiles", REQUESTS, FITS_LARGE, 2},
    {SQT_TABLE_diskop_latency, "total_p50_ms", "medians", DISKOPS, FITS, 1},
    {SQT_TABLE_digest_cost, "p50_ms", "percentiles", XACTS, FITS, 1},
};

struct said {
    const struct figure *figure;
    int64_t median; /* of the first row */
    unsigned rows;
    char note[64];
};

static int
row(void *context, const union sqt_cell *cells)
{
    struct said *const said = context;
    const struct sqt_table *const table = &sqt_tables[said->figure->table];
    unsigned column = 0;
    while (column < table->column_count && strcmp(table->columns[column].name, said->figure->column) != 0)
        ++column;
    assert_in_range(column, 0, table->column_count - 1);
    if (!said->rows++)
        said->median = cells[column].number;
    return 1;
}

static void
note(void *context, const char *key, const char *text)
{
    struct said *const said = context;
    if (strcmp(key, said->figure->key) == 0)
        snprintf(said->note, sizeof(said->note), "%s", text);
}

static void
missing(union sqt_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        cells[i].number = SQT_CELL_MISSING;
}

/* All begin at 1 s. */
static void
feed(struct sqt_job *job, const struct sqt_family *family, enum fed kind, int64_t ns)
{
    struct sqt_request_fact r = {.begin = SECOND, .end = SECOND + ns, .class = SQT_CLASS_MEM_HIT};
    struct sqt_swap_fact s = {.begin = SECOND, .end = SECOND + ns};
    struct sqt_diskop_fact d = {.begin = SECOND, .end = SECOND + ns, .op = SQT_DISK_READ, .came_back = 1};
    const struct sqt_xact x = {.begin = SECOND, .end = SECOND + ns};
    missing(r.row, SQT_CELLS(requests));
    r.row[SQT_CELL(requests, total_ns)].number = ns;
    r.row[SQT_CELL(requests, size_bytes)].number = 1000;
    r.row[SQT_CELL(requests, status)].number = 200;
    missing(s.row, SQT_CELLS(swaps));
    s.row[SQT_CELL(swaps, total_ns)].number = ns;
    s.row[SQT_CELL(swaps, first_io_ns)].number = ns / 2;
    s.row[SQT_CELL(swaps, size_bytes)].number = 1000;
    s.row[SQT_CELL(swaps, ios)].number = 1;
    missing(d.row, SQT_CELLS(diskops));
    switch (kind) {
    case REQUESTS:
        family->request(job, &r);
        break;
    case XACTS:
        family->consumer.request(job, &x);
        break;
    case SWAPS:
        family->swap(job, &s);
        break;
    case DISKOPS:
        family->diskop(job, &d);
        break;
    }
}

static int
by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* What the figure says of that many facts; sets the median that is right. */
static struct said
make(const struct figure *figure, uint64_t count, int64_t *median)
{
    struct said said = {.figure = figure};
    struct sqt_job job = {.table = &sqt_tables[figure->table],
                          .since = INT64_MIN,
                          .until = INT64_MAX,
                          .group = SECOND,
                          .peak = SECOND,
                          .batch = INT64_MAX,
                          .row = row,
                          .note = note,
                          .context = &said,
                          .length = 10 * SECOND};
    const struct sqt_family *const family = sqt_family_of(job.table);
    int64_t *const values = malloc(count * sizeof(*values));
    uint64_t random = 12345;
    assert_non_null(values);
    family->start(&job);
    for (uint64_t i = 0; i < count; ++i) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        values[i] = 1 + (int64_t)(random >> 36); /* up to 268 ms */
        feed(&job, family, figure->fed, values[i]);
    }
    family->finish(&job);
    qsort(values, count, sizeof(*values), by_value);
    *median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    free(values);
    assert_true(said.rows > 0);
    return said;
}

static void
below(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); ++i) {
        int64_t median;
        const struct said said = make(&figures[i], figures[i].fits / figures[i].values_each / 4, &median);
        assert_string_equal(said.note, "exact");
        assert_int_equal(said.median, median);
    }
}

static void
beyond(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); ++i) {
        int64_t median;
        const struct said said = make(&figures[i], figures[i].fits / figures[i].values_each * 5 / 4, &median);
        assert_string_equal(said.note, "at most 0.1 % off (log-linear histogram)");
        assert_in_range(said.median, median - median / 1000, median + median / 1000);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below),
        cmocka_unit_test(beyond),
    };
    return cmocka_run_group_tests_name("dump: coarse", tests, NULL, NULL);
}
