/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump_where.c - each operator of --where, each type of column, and each thing that can be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "row/where.h"

static const struct sqt_table *tables[2];
static union sqt_cell request[SQT_CELLS(requests)], swap_row[SQT_CELLS(swaps)];
static union sqt_cell event[SQT_CELLS(events) + SQT_RAW_TEXT];

#define REQUEST(name) request[SQT_CELL(requests, name)]
#define EVENT(name) event[SQT_CELL(events, name)]

static int
setup(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SQT_CELLS(requests); ++i)
        request[i].number = sqt_tables[SQT_TABLE_requests].columns[i].type == SQT_TYPE_TEXT ? 0 : SQT_CELL_MISSING;
    REQUEST(time_s).number = 1500000000;
    REQUEST(tag).text = "TCP_MEM_HIT";
    REQUEST(method).text = "GET";
    REQUEST(status).number = 200;
    REQUEST(total_ns).number = 100000000;
    REQUEST(size_bytes).number = 4096;
    REQUEST(object).number = (int64_t)UINT64_C(0xfedcba9876543210);
    REQUEST(xid).number = 17;
    REQUEST(unaccounted_ns).number = -5;
    EVENT(event).text = "XACT_END";
    EVENT(id).number = (int64_t)(SQT_UNNAMED | 3);
    EVENT(arg).number = 9;
    (&EVENT(id))[SQT_RAW_TEXT].text = "u3";
    (&EVENT(arg))[SQT_RAW_TEXT].text = "TCP_MISS";
    (&EVENT(aux))[SQT_RAW_TEXT].text = NULL;
    EVENT(aux).number = 200;
    return 0;
}

static int
holds_in(const char *text, const struct sqt_table *const *in, unsigned count, const union sqt_cell *const *rows)
{
    char error[512] = "";
    struct sqt_where *const where = sqt_where_parse(text, in, count, error, sizeof(error));
    if (!where)
        fail_msg("%s: %s", text, error);
    const int result = sqt_where_match(where, rows);
    sqt_where_free(where);
    return result;
}

static int
holds(const char *text)
{
    const struct sqt_table *const in[] = {&sqt_tables[SQT_TABLE_requests]};
    const union sqt_cell *const rows[] = {request};
    return holds_in(text, in, 1, rows);
}

static int
event_holds(const char *text)
{
    const struct sqt_table *const in[] = {&sqt_tables[SQT_TABLE_events]};
    const union sqt_cell *const rows[] = {event};
    return holds_in(text, in, 1, rows);
}

static void
operators(void **state)
{
    (void)state;
    assert_true(holds("status == 200"));
    assert_true(holds("status = 200"));
    assert_false(holds("status == 201"));
    assert_true(holds("status != 201"));
    assert_false(holds("status != 200"));
    assert_true(holds("status < 201"));
    assert_false(holds("status < 200"));
    assert_true(holds("status <= 200"));
    assert_false(holds("status <= 199"));
    assert_true(holds("status > 199"));
    assert_false(holds("status > 200"));
    assert_true(holds("status >= 200"));
    assert_false(holds("status >= 201"));
    assert_true(holds("status==200"));
    assert_true(holds("unaccounted_ns < 0"));
    assert_true(holds("unaccounted_ns == -5"));
    assert_true(holds("unaccounted_ns >= -5ns"));
}

static void
texts(void **state)
{
    (void)state;
    assert_true(holds("tag == TCP_MEM_HIT"));
    assert_true(holds("tag == \"TCP_MEM_HIT\""));
    assert_true(holds("tag == 'TCP_MEM_HIT'"));
    assert_false(holds("tag == 'TCP MEM HIT'"));
    assert_true(holds("tag != TCP_HIT"));
    assert_true(holds("tag ~ *_HIT"));
    assert_true(holds("tag ~ TCP_???_HIT"));
    assert_false(holds("tag ~ TCP_HIT"));
    assert_true(holds("tag !~ *_MISS"));
    assert_false(holds("tag !~ *HIT"));
    assert_true(holds("tag > TCP_HIT"));
}

static void
units(void **state)
{
    (void)state;
    assert_true(holds("total_ns == 100ms"));
    assert_true(holds("total_ns == 100000us"));
    assert_true(holds("total_ns == 0.1s"));
    assert_true(holds("total_ns == 100000000ns"));
    assert_true(holds("total_ns == 100000000"));
    assert_true(holds("total_ns < 1min"));
    assert_true(holds("total_ns < 1h"));
    assert_true(holds("total_ns > 99.999999ms"));
    assert_true(holds("time_s == 1.5"));
    assert_true(holds("time_s == 1500ms"));
    assert_true(holds("size_bytes == 4KB"));
    assert_true(holds("size_bytes == 4096B"));
    assert_true(holds("size_bytes < 10MB"));
    assert_true(holds("size_bytes < 1GB and size_bytes < 1TB"));
}

static void
hashes_and_ids(void **state)
{
    (void)state;
    assert_true(holds("object == fedcba9876543210"));
    assert_false(holds("object != fedcba9876543210"));
    assert_true(holds("object != 1"));
    assert_true(holds("xid == 17"));
}

static void
missing_values(void **state)
{
    (void)state;
    assert_false(holds("dns_ns == 0"));
    assert_false(holds("dns_ns != 0"));
    assert_false(holds("dns_ns < 1"));
    assert_true(holds("not dns_ns < 1"));
    assert_true(holds("dns_ns == -"));
    assert_false(holds("dns_ns != -"));
    assert_false(holds("total_ns == -"));
    assert_true(holds("total_ns != -"));
    assert_true(holds("class == -"));
    assert_false(holds("class == miss"));
    assert_false(holds("class ~ *"));
}

static void
logic(void **state)
{
    (void)state;
    assert_true(holds("status == 200 and total_ns > 50ms"));
    assert_false(holds("status == 200 and total_ns > 500ms"));
    assert_true(holds("status == 404 or total_ns > 50ms"));
    assert_false(holds("status == 404 or total_ns > 500ms"));
    assert_true(holds("not status == 404"));
    assert_false(holds("not not status == 404"));
    /* "and" binds more tightly than "or", "not" more tightly than both. */
    assert_true(holds("status == 200 or status == 404 and xid == 1"));
    assert_false(holds("(status == 200 or status == 404) and xid == 1"));
    assert_false(holds("not status == 200 and xid == 1"));
    assert_true(holds("not (status == 200 and xid == 1)"));
    assert_true(holds(" ( ( xid == 17 ) ) "));
}

static void
raw_fields(void **state)
{
    (void)state;
    assert_true(event_holds("event == XACT_END"));
    assert_true(event_holds("arg == TCP_MISS"));
    assert_true(event_holds("arg ~ *MISS"));
    assert_true(event_holds("arg == 9"));
    assert_true(event_holds("aux >= 200"));
    assert_true(event_holds("id == u3"));
    assert_true(event_holds("id > 9223372036854775807"));
    assert_false(event_holds("aux == TCP_MISS"));
}

static void
two_tables(void **state)
{
    (void)state;
    tables[0] = &sqt_tables[SQT_TABLE_swaps];
    tables[1] = &sqt_tables[SQT_TABLE_requests];
    swap_row[SQT_CELL(swaps, ios)].number = 3;
    swap_row[SQT_CELL(swaps, total_ns)].number = 7;
    const union sqt_cell *rows[] = {swap_row, request};
    assert_true(holds_in("ios == 3 and tag == TCP_MEM_HIT", tables, 2, rows));
    assert_true(holds_in("total_ns == 7", tables, 2, rows)); /* the first table's */
    rows[1] = NULL;
    assert_false(holds_in("tag == TCP_MEM_HIT", tables, 2, rows));
    assert_true(holds_in("tag == -", tables, 2, rows));
    char error[512];
    struct sqt_where *const where = sqt_where_parse("ios == 3", tables, 2, error, sizeof(error));
    assert_true(sqt_where_uses(where, 0));
    assert_false(sqt_where_uses(where, 1));
    sqt_where_free(where);
}

#define CLASSES \
    "mem_hit, disk_hit, ims_hit, negative_hit, refresh_hit, refresh_miss, miss, tunnel, denied, internal, query, " \
    "error"

/* Each name of a closed set is one, and no other text is; what the column of the model holds is a name of its set. */
static void
closed_sets(void **state)
{
    static const struct {
        enum sqt_table_number table;
        const char *good, *bad;
    } cases[] = {
        {SQT_TABLE_requests, "class == disk_hit", "class == disk"},
        {SQT_TABLE_requests, "class ~ *_hit", "class ~ *-hit"},
        {SQT_TABLE_requests, "class !~ *_hit", "class !~ *-hit"},
        {SQT_TABLE_requests, "class < zzz", "class == zzz"},
        {SQT_TABLE_requests, "outcome == clock", "outcome == ok"},
        {SQT_TABLE_requests, "miss_reason == absent", "miss_reason == none"},
        {SQT_TABLE_requests, "miss_reason == -", "miss_reason == '-'"},
        {SQT_TABLE_swaps, "direction == in", "direction == read"},
        {SQT_TABLE_swaps, "outcome != complete", "outcome != done"},
        {SQT_TABLE_ios, "direction != out", "direction != write"},
        {SQT_TABLE_ios, "outcome == error", "outcome == err"},
        {SQT_TABLE_diskops, "op == unlink", "op == remove"},
        {SQT_TABLE_diskops, "result == complete", "result == success"},
        {SQT_TABLE_connections, "outcome == timeout", "outcome == refused"},
        {SQT_TABLE_digests, "activity == rebuild and result == done", "activity == rebuilt"},
        {SQT_TABLE_digests, "result == false", "result == true"},
        {SQT_TABLE_waits, "kind == external_acl", "kind == acl"},
        {SQT_TABLE_waits, "outcome == overtaken", "outcome == complete"},
        {SQT_TABLE_losses, "reason == 'ring full'", "reason == ring"},
        {SQT_TABLE_losses, "reason == sampled", "reason == sample"},
        {SQT_TABLE_clock_steps, "kind == suspend", "kind == sleep"},
        {SQT_TABLE_requests, "tag == anything and method == anything and server == anything", NULL},
    };
    (void)state;
    char error[768];
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        const struct sqt_table *const in[] = {&sqt_tables[cases[i].table]};
        struct sqt_where *const where = sqt_where_parse(cases[i].good, in, 1, error, sizeof(error));
        if (!where)
            fail_msg("%s: %s", cases[i].good, error);
        sqt_where_free(where);
        if (cases[i].bad && sqt_where_parse(cases[i].bad, in, 1, error, sizeof(error)))
            fail_msg("%s is accepted", cases[i].bad);
        if (cases[i].bad && !strstr(error, "There are: "))
            fail_msg("%s: %s", cases[i].bad, error);
    }
}

static void
every_error(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "at character 1: the expression ends too early"},
        {"status == 200 and", "at character 18: the expression ends too early"},
        {"not", "at character 4: the expression ends too early"},
        {"status", "at character 7: expected one of == != < <= > >= ~ !~"},
        {"status 200", "at character 8: expected one of == != < <= > >= ~ !~"},
        {"status ! 200", "at character 8: expected one of == != < <= > >= ~ !~"},
        {"status ==", "at character 10: expected a value"},
        {"status == == 2", "at character 11: expected a value"},
        {"status == 200 200", "at character 15: expected 'and', 'or' or the end"},
        {"status == 200 && kid == 1", "at character 15: write 'and'"},
        {"status == 200 || kid == 1", "at character 15: write 'or'"},
        {"total_ns > 1 s", "at character 14: write the unit right behind its number, as in 5s"},
        {"(total_ns > 1 s)", "at character 15: write the unit right behind its number, as in 5s"},
        {"total_ns > 1 d", "at character 14: expected 'and', 'or' or the end"},
        {"status == 200)", "at character 14: expected 'and', 'or' or the end"},
        {"(status == 200", "at character 15: expected a closing parenthesis"},
        {"()", "at character 2: expected a column"},
        {"== 3", "at character 1: expected a column"},
        {"'tag' == TCP_HIT", "at character 2: expected a column"},
        {"tag == 'TCP", "at character 8: the quote is not closed"},
        {"totl_ns > 3", "at character 1: requests has no column 'totl_ns'; did you mean total_ns?"},
        {"xid == 3 or total > 3", "at character 13: requests has no column 'total'; did you mean total_ns?"},
        {"sio == 1", "at character 1: requests has no column 'sio'; tables swaps, ios and diskops have it"},
        {"quuxquux > 3", "at character 1: requests has no column 'quuxquux'; --list shows them"},
        {"total_ns > fast", "at character 12: 'fast': expected a number"},
        {"total_ns > 3KB", "at character 12: '3KB': the unit is none of ns, us, ms, s, min, h"},
        {"size_bytes > 3ms", "at character 14: '3ms': the unit is none of B, KB, MB, GB, TB"},
        {"status > 3ms", "at character 10: '3ms': expected a number without a unit"},
        {"total_ns > 99999999999999999999", "at character 12: '99999999999999999999': the number is too large"},
        {"total_ns > 9999999999999h", "at character 12: '9999999999999h': the number is too large"},
        {"total_ns > -", "at character 12: '-': expected a number"},
        {"status ~ 2*", "at character 10: ~ compares texts, and status is a number"},
        {"class == diskhit", "at character 10: class is never 'diskhit'; did you mean disk_hit? There are: " CLASSES},
        {"status == 200 or class != 'memory hit'",
         "at character 28: class is never 'memory hit'; did you mean mem_hit? There are: " CLASSES},
        {"class ~ *hits", "at character 9: class never matches '*hits'; none is near. There are: " CLASSES},
        {"outcome == completed", "at character 12: outcome is never 'completed'; did you mean complete? There are: "
                                 "complete, aborted, timeout, error, lost, clock, unfinished"},
        {"object == xyz", "at character 11: expected a hash of hexadecimal digits"},
        {"object > 12", "at character 10: only == and != compare hashes"},
    };
    (void)state;
    const struct sqt_table *const in[] = {&sqt_tables[SQT_TABLE_requests]};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        char error[512] = "";
        assert_null(sqt_where_parse(cases[i].text, in, 1, error, sizeof(error)));
        assert_string_equal(error, cases[i].error);
    }
}

static void
deep_nesting(void **state)
{
    (void)state;
    char text[1024], error[512];
    memset(text, '(', 500);
    strcpy(text + 500, "xid == 1");
    const struct sqt_table *const in[] = {&sqt_tables[SQT_TABLE_requests]};
    assert_null(sqt_where_parse(text, in, 1, error, sizeof(error)));
    assert_string_equal(error, "at character 101: the expression is nested too deeply");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators),      cmocka_unit_test(texts),          cmocka_unit_test(units),
        cmocka_unit_test(hashes_and_ids), cmocka_unit_test(missing_values), cmocka_unit_test(logic),
        cmocka_unit_test(raw_fields),     cmocka_unit_test(two_tables),     cmocka_unit_test(every_error),
        cmocka_unit_test(closed_sets),    cmocka_unit_test(deep_nesting),
    };
    return cmocka_run_group_tests_name("dump: where", tests, setup, NULL);
}
