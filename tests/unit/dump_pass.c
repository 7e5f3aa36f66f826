/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_pass.c - all figures and tables in one pass, in one thread and in two, hand out what each hands out alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pass/pass.h"
#include "pass/relay.h"
#include "make_trace.h"

/* What a job handed out, as text. */
struct said {
    const struct sqt_table *table;
    char *text;
    size_t size, room;
    uint64_t rows;
};

static void
say(struct said *said, const char *format, ...)
{
    va_list arguments;
    if (said->size + 8192 > said->room) {
        said->room = said->room * 2 + 16384;
        said->text = realloc(said->text, said->room);
        assert_non_null(said->text);
    }
    va_start(arguments, format);
    said->size += (size_t)vsnprintf(said->text + said->size, 4096, format, arguments);
    va_end(arguments);
}

static int
row(void *context, const union sqt_cell *cells)
{
    struct said *const said = context;
    ++said->rows;
    for (unsigned i = 0; i < said->table->column_count; ++i)
        if (said->table->columns[i].type == SQT_TYPE_TEXT)
            say(said, "%s\t", cells[i].text ? cells[i].text : "-");
        else
            say(said, "%lld\t", (long long)cells[i].number);
    say(said, "\n");
    return 1;
}

static void
note(void *context, const char *key, const char *text)
{
    say(context, "# %s: %s\n", key, text);
}

static void
report(void *context, enum sqt_severity severity, const char *text)
{
    (void)context;
    (void)severity;
    fail_msg("%s", text);
}

static char path[] = "/tmp/sqtrace-pass-XXXXXX";

/* Makes the tables and figures numbered from first to last in one pass. */
static void
make_all(struct said *said, unsigned first, unsigned last, struct sqt_crew *crew)
{
    static struct sqt_job jobs[SQT_TABLES];
    const char *const paths[] = {path};
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, report, NULL);
    struct sqt_run run;
    assert_non_null(stream);
    for (unsigned i = first; i <= last; ++i) {
        said[i] = (struct said){.table = &sqt_tables[i]};
        jobs[i] = (struct sqt_job){.table = &sqt_tables[i],
                                   .since = INT64_MIN,
                                   .until = INT64_MAX,
                                   .group = 20000000,
                                   .peak = 60000000,
                                   .row = row,
                                   .note = note,
                                   .context = &said[i]};
    }
    struct sqt_pass *const pass = sqt_pass_new(&jobs[first], last - first + 1, NULL, crew);
    sqt_stream_share(stream, crew);
    while (sqt_stream_next(stream, &run))
        sqt_pass_run(pass, &run);
    sqt_pass_finish(pass);
    assert_true(sqt_pass_records(pass) > 100000);
    sqt_pass_free(pass);
    sqt_stream_close(stream);
}

/* What rows were of. */
struct sources {
    struct sqt_job job;
    struct sqt_row_source all[8];
    unsigned count;
};

static int
take_source(void *context, const union sqt_cell *cells)
{
    (void)cells;
    struct sources *const s = context;
    assert_true(s->count < 8);
    s->all[s->count++] = s->job.source;
    return 1;
}

static void
one_record_ends_several(void **state)
{
    (void)state;
    static const uint16_t events[] = {SQT_EV_CONN_ACCEPT, SQT_EV_XACT_BEGIN, SQT_EV_XACT_BEGIN, SQT_EV_XACT_BEGIN,
                                      SQT_EV_LOST,        SQT_EV_CONN_CLOSE, SQT_EV_XACT_BEGIN};
    enum { COUNT = sizeof(events) / sizeof(*events) };
    struct sqt_record records[COUNT];
    for (unsigned i = 0; i < COUNT; ++i) {
        const int begins = events[i] == SQT_EV_XACT_BEGIN, lost = events[i] == SQT_EV_LOST;
        records[i] = (struct sqt_record){.time = MAKE_START + 3000 * (i + UINT64_C(1)),
                                         .id = begins ? SQT_UNNAMED | i
                                               : lost ? MAKE_START + 3000
                                                      : 10,
                                         .arg = begins && i < 5 ? 10 : 1,
                                         .aux = lost ? SQT_LOSS_RING_FULL : 0,
                                         .event = events[i]};
    }
    char file[] = "/tmp/sqtrace-pass-XXXXXX";
    const char *const paths[] = {file};
    const int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    struct sqt_identity who;
    make_identity(&who, 1, 0);
    make_segment_file(file, &who, 0, 0, records, COUNT, NULL, MAKE_ZLIB);
    struct sources s = {.job = {.table = &sqt_tables[SQT_TABLE_requests],
                                .since = INT64_MIN,
                                .until = INT64_MAX,
                                .sourced = 1,
                                .row = take_source,
                                .note = note}};
    s.job.context = &s;
    struct sqt_stream *const stream = sqt_stream_open(paths, 1, report, NULL);
    struct sqt_pass *const pass = sqt_pass_new(&s.job, 1, NULL, NULL);
    struct sqt_run run;
    while (sqt_stream_next(stream, &run))
        sqt_pass_run(pass, &run);
    sqt_pass_finish(pass);
    assert_int_equal(s.count, 4);
    for (unsigned i = 0; i < 3; ++i) {
        assert_int_equal(s.all[i].record, 5); /* the close of their connection */
        assert_int_equal(s.all[i].index, i);
    }
    assert_true(s.all[3].record == UINT64_MAX); /* it is unfinished */
    for (unsigned i = 0; i < 4; ++i)
        assert_ptr_equal(s.all[i].origin, sqt_stream_origin(stream, 0));
    struct sqt_identities ids = {.stream = stream, .kid = -1};
    struct sqt_identity_cells cells;
    sqt_identity(&ids, &s.all[2], &cells);
    assert_int_equal(cells.cells[SQT_IDENTITY_row].number, 5000002);
    sqt_identity(&ids, &(struct sqt_row_source){s.all[2].origin, 5, SQT_ROW_INDEXES, 0}, &cells);
    assert_int_equal(cells.cells[SQT_IDENTITY_row].number, SQT_CELL_MISSING);
    sqt_identity(&ids, &(struct sqt_row_source){s.all[2].origin, UINT64_MAX / 2, 0, 0}, &cells);
    assert_int_equal(cells.cells[SQT_IDENTITY_row].number, SQT_CELL_MISSING);
    sqt_identities_free(&ids);
    sqt_pass_free(pass);
    sqt_stream_close(stream);
    unlink(file);
}

static void
same(const struct said *a, const struct said *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->text ? a->text : "", b->text ? b->text : "", a->size);
}

static void
together_as_alone(void **state)
{
    static struct said in_one[SQT_TABLES], in_two[SQT_TABLES], alone[SQT_TABLES];
    struct sqt_crew *const crew = sqt_crew_new(1);
    (void)state;
    assert_non_null(crew);
    make_all(in_one, 0, SQT_TABLES - 1, NULL);
    make_all(in_two, 0, SQT_TABLES - 1, crew);
    for (unsigned i = 0; i < SQT_TABLES; ++i) {
        make_all(alone, i, i, NULL);
        same(&alone[i], &in_one[i]);
        same(&alone[i], &in_two[i]);
        free(alone[i].text);
        free(in_one[i].text);
        free(in_two[i].text);
    }
    sqt_crew_free(crew);
    assert_true(alone[SQT_TABLE_requests].rows > 1000);
    assert_true(alone[SQT_TABLE_load].rows > 3);
    assert_true(alone[SQT_TABLE_disk_utilization].rows > 3);
}

static void
take(void *context, const struct sqt_relay_fact *facts, size_t count)
{
    uint64_t *const next = context;
    for (size_t i = 0; i < count; ++i) {
        uint64_t number;
        memcpy(&number, facts[i].fact, sizeof(number));
        if (number == *next && facts[i].kind == number % 3)
            ++*next;
    }
}

/* Facts of any size arrive once, and in order. */
static void
in_order(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads < 3; ++threads) {
        uint64_t next = 0;
        struct sqt_crew *const crew = sqt_crew_new(threads);
        struct sqt_relay *const relay = sqt_relay_new(take, &next, crew);
        for (uint64_t i = 0; i < 300000; ++i)
            memcpy(sqt_relay_next(relay, i % 3, sizeof(i) + i % 701), &i, sizeof(i));
        sqt_relay_finish(relay);
        assert_int_equal(next, 300000);
        sqt_crew_free(crew);
    }
}

int
main(void)
{
    static struct sqt_record records[150000];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(together_as_alone),
        cmocka_unit_test(one_record_ends_several),
    };
    struct sqt_identity who;
    struct make_traffic traffic;
    const int file = mkstemp(path);
    if (file < 0)
        return 1;
    make_identity(&who, 1, 0);
    make_traffic_init(&traffic, 3);
    const size_t n = make_traffic_records(&traffic, records, sizeof(records) / sizeof(*records));
    make_segment_file(path, &who, 0, 0, records, n,
                      "def\t1\t0\taufs /cache\ndef\t2\t1\tTCP_HIT\ndef\t2\t2\tTCP_MEM_HIT\ndef\t2\t3\tTCP_MISS\n"
                      "def\t3\t1\tGET\ndef\t4\t1\tdirect\n",
                      MAKE_ZLIB);
    const int failed = cmocka_run_group_tests_name("dump: pass", tests, NULL, NULL);
    close(file);
    unlink(path);
    return failed;
}
