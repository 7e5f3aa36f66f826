/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * attach_joins.c - calls of functions become the records of their transactions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/joins-rule.h"
#include "attach/joins.h"
#include "format/events.h"

#define MOST 4096

struct fixture {
    struct sqt_joins joins;
    unsigned char has[SQT_ATTACH_ROWS];
    struct sqt_record records[MOST];
    size_t count;
    uint64_t time;
};

static void
keep(void *context, const struct sqt_record *records, unsigned count)
{
    struct fixture *const f = context;
    assert_true(f->count + count <= MOST);
    memcpy(f->records + f->count, records, count * sizeof(*records));
    f->count += count;
}

static void
define_dir(void *context, uint32_t number, const char *type)
{
    const struct fixture *const f = context;
    assert_string_equal(type, "ufs");
    assert_int_equal(f->records[f->count - 2].event, SQT_EV_SWAPIN_OPEN); /* else the trace may not have begun */
    assert_int_equal(f->records[f->count - 2].aux, number);
}

static int
setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof(*f));
    memset(f->has, 1, sizeof(f->has));
    f->joins.emit = keep;
    f->joins.define_dir = define_dir;
    f->joins.context = f;
    f->joins.has = f->has;
    f->joins.tags = 10;
    sqt_joins_begin(&f->joins);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *const f = *state;
    sqt_joins_free(&f->joins);
    free(f);
    return 0;
}

static void
call(struct fixture *f, enum sqt_attach_row row, uint64_t a, uint64_t b, uint64_t c)
{
    const struct sqt_attach_event event = {.time = ++f->time, .row = row, .values = {a, b, c}};
    sqt_joins_take(&f->joins, &event);
}

/* The names of all records' events, with a space between. */
static const char *
said(const struct fixture *f)
{
    static char text[MOST * 24];
    char *to = text;
    *to = '\0';
    for (size_t i = 0; i < f->count; ++i)
        to += sprintf(to, "%s%s", i ? " " : "", sqt_events[f->records[i].event].name);
    return text;
}

static const struct sqt_record *
record_of(const struct fixture *f, enum sqt_event event)
{
    for (size_t i = 0; i < f->count; ++i)
        if (f->records[i].event == event)
            return &f->records[i];
    fail_msg("no %s in: %s", sqt_events[event].name, said(f));
    return NULL;
}

/* Addresses of objects: of request n. */
#define HTTP(n) (0x1000u + (n))
#define REQUEST(n) (0x2000u + (n))
#define REPLY(n) (0x3000u + (n))
#define STREAM(n) (0x4000u + (n))
#define FORWARD(n) (0x5000u + (n))
#define SERVER(n) (0x6000u + (n))
#define CALLOUTS(n) (0x7000u + (n))
#define TAG_OF(n) (0x8000u + (n))
#define CLIENT 0x9000u

static void
begins(struct fixture *f, unsigned n, uint64_t client)
{
    call(f, SQT_ATTACH_XACT, HTTP(n), client, 0);
    call(f, SQT_ATTACH_REPLY, REPLY(n), HTTP(n), 0);
    call(f, SQT_ATTACH_STREAM, STREAM(n), HTTP(n), 0);
    call(f, SQT_ATTACH_REQUEST, HTTP(n), REQUEST(n), 0);
    call(f, SQT_ATTACH_CALLOUTS, CALLOUTS(n), HTTP(n), 0);
}

static void
looks_up(struct fixture *f, unsigned n)
{
    call(f, SQT_ATTACH_PROCESS, HTTP(n), 0, 0);
    call(f, SQT_ATTACH_LOOKUP, REQUEST(n), 0, 0);
}

static void
ends(struct fixture *f, unsigned n)
{
    call(f, SQT_ATTACH_LOG_REQUEST, HTTP(n), 0, 0);
    call(f, SQT_ATTACH_LOG, 0, 0, 0);
}

static void
writes(struct fixture *f, unsigned n)
{
    call(f, SQT_ATTACH_SEND, REPLY(n), 0, 0);
    call(f, SQT_ATTACH_SEND_HEADER, STREAM(n), 0, 0);
    call(f, SQT_ATTACH_WRITE, 0x77, 500, 0);
    call(f, SQT_ATTACH_WRITTEN, STREAM(n), 500, 0);
}

static void
test_memory_hit(void **state)
{
    struct fixture *const f = *state;
    call(f, SQT_ATTACH_ACCEPT, 0, 0, 0);
    call(f, SQT_ATTACH_ACCEPTED, 12, 0, 0);
    call(f, SQT_ATTACH_ACCEPT_DONE, 0, 0, 0);
    call(f, SQT_ATTACH_CLIENT, CLIENT, 0, 0);
    call(f, SQT_ATTACH_CLIENT_READS, CLIENT, 0, 0);
    begins(f, 0, CLIENT);
    looks_up(f, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 3, 0);
    call(f, SQT_ATTACH_FOUND, REPLY(0), 0, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 5, 0);
    writes(f, 0);
    ends(f, 0);
    assert_string_equal(said(f),
                        "CONN_ACCEPT CLIENT_READ REQUEST_PARSED XACT_BEGIN ACCESS_BEGIN ACCESS_END LOOKUP_BEGIN "
                        "LOOKUP_END REPLY_READY REPLY_WRITE REPLY_WRITTEN XACT_END PART_XACT_SIZES "
                        "PART_XACT_FLAGS");
    assert_int_equal(record_of(f, SQT_EV_XACT_END)->arg, 6); /* the last result code, from 1 */
    assert_int_equal(record_of(f, SQT_EV_PART_XACT_SIZES)->arg, 500);
    assert_int_equal(record_of(f, SQT_EV_REPLY_READY)->aux, SQT_REPLY_STORE);
    assert_int_equal(record_of(f, SQT_EV_XACT_BEGIN)->arg, record_of(f, SQT_EV_CONN_ACCEPT)->id);
}

static void
test_miss(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, CLIENT);
    looks_up(f, 0);
    call(f, SQT_ATTACH_FORWARD, FORWARD(0), REQUEST(0), 0);
    call(f, SQT_ATTACH_SELECT, 0xa000, 0, 0);
    call(f, SQT_ATTACH_SELECTED, 0xa000, 0, 0);
    call(f, SQT_ATTACH_OPENER, 0xb000, REQUEST(0), 0);
    call(f, SQT_ATTACH_CONNECT, 0xb000, 0xb040, 0);
    call(f, SQT_ATTACH_CONNECTED, 0xb000, 0xb040, 0);
    const uint64_t connected = f->time;
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 3, 0);
    call(f, SQT_ATTACH_OPENED, 0xb000, 0, 0);
    call(f, SQT_ATTACH_SERVER, SERVER(0), FORWARD(0), 0);
    call(f, SQT_ATTACH_SENT, SERVER(0), 0, 0);
    call(f, SQT_ATTACH_READS, SERVER(0), 0, 0);
    call(f, SQT_ATTACH_HEADER, SERVER(0), 0, 0);
    call(f, SQT_ATTACH_LOOKUP, REQUEST(0), 0, 0); /* whether the new entry replaces one */
    call(f, SQT_ATTACH_DONE, SERVER(0), 0, 0);
    call(f, SQT_ATTACH_FORWARD_GONE, FORWARD(0), 0, 0);
    writes(f, 0);
    ends(f, 0);
    assert_string_equal(said(f),
                        "REQUEST_PARSED XACT_BEGIN ACCESS_BEGIN ACCESS_END LOOKUP_BEGIN LOOKUP_END FORWARD_BEGIN "
                        "PEER_SELECT_BEGIN PEER_SELECT_END CONNECT_BEGIN CONNECT_END DISPATCH REQUEST_SENT "
                        "SERVER_READ SERVER_HEADER REPLY_READY SERVER_DONE FORWARD_END REPLY_WRITE REPLY_WRITTEN "
                        "XACT_END PART_XACT_SIZES PART_XACT_FLAGS");
    assert_int_equal(record_of(f, SQT_EV_CONNECT_END)->aux, SQT_CONNECT_OK);
    assert_int_equal(record_of(f, SQT_EV_CONNECT_END)->time, connected);
    assert_int_equal(record_of(f, SQT_EV_SERVER_DONE)->aux, 0);
    assert_int_equal(record_of(f, SQT_EV_PART_XACT_SIZES)->aux, 1); /* tries */
}

/* An access check asks a helper, twice, and waits for an address in between; the other one only for an address. */
static void
test_helpers_of_access_checks(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc000, 0, 0);
    call(f, SQT_ATTACH_HELPER, 0, 0, 0);
    begins(f, 1, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc800, 0, 0);
    call(f, SQT_ATTACH_DNS_ASK, 0, 0, 0);
    call(f, SQT_ATTACH_ACL_GOES_ON, 0xc000, 0, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc000, 0, 0);
    call(f, SQT_ATTACH_DNS_ASK, 0, 0, 0);
    call(f, SQT_ATTACH_ACL_GOES_ON, 0xc000, 0, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc000, 0, 0);
    call(f, SQT_ATTACH_HELPER, 0, 0, 0);
    call(f, SQT_ATTACH_ACL_GOES_ON, 0xc800, 0, 0);
    const uint64_t asked = f->time;
    call(f, SQT_ATTACH_ACL_GOES_ON, 0xc000, 0, 0);
    looks_up(f, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc000, 0, 0); /* of a check that is over */
    call(f, SQT_ATTACH_HELPER, 0, 0, 0);
    call(f, SQT_ATTACH_ACL_WAITS, 0xc900, 0, 0); /* of one that is not known */
    call(f, SQT_ATTACH_HELPER, 0, 0, 0);
    assert_string_equal(said(f), "XACT_BEGIN ACCESS_BEGIN HELPER_BEGIN XACT_BEGIN ACCESS_BEGIN "
                                 "HELPER_END HELPER_BEGIN HELPER_END ACCESS_END LOOKUP_BEGIN");
    assert_int_equal(record_of(f, SQT_EV_HELPER_BEGIN)->id, SQT_UNNAMED | 1);
    assert_int_equal(record_of(f, SQT_EV_HELPER_END)->id, SQT_UNNAMED | 1);
    assert_int_equal(f->records[f->count - 3].time, asked + 1);
}

/* Its check is over, and that of another one has its address. */
static void
test_checks_at_one_address(void **state)
{
    struct fixture *const f = *state;
    for (unsigned n = 0; n < 2; ++n) {
        begins(f, n, 0);
        call(f, SQT_ATTACH_ACL_WAITS, 0xc000, 0, 0);
        call(f, SQT_ATTACH_HELPER, 0, 0, 0);
        f->count = 0;
        call(f, SQT_ATTACH_ACL_GOES_ON, 0xc000, 0, 0);
        assert_string_equal(said(f), "HELPER_END");
        assert_int_equal(record_of(f, SQT_EV_HELPER_END)->id, SQT_UNNAMED | (n + 1));
        looks_up(f, n);
    }
}

/* A connection that fails is known to, as nothing says that it succeeded. */
static void
test_failed_connect(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, 0);
    call(f, SQT_ATTACH_OPENER, 0xb000, REQUEST(0), 0);
    call(f, SQT_ATTACH_CONNECT, 0xb000, 0xb040, 0);
    call(f, SQT_ATTACH_CONNECTED, 0xb000, 0xb040, 0);
    assert_null(strstr(said(f), "CONNECT_END")); /* nobody knows yet */
    call(f, SQT_ATTACH_CONNECT, 0xb000, 0xb040, 0);
    assert_non_null(strstr(said(f), "CONNECT_END CONNECT_BEGIN"));
    assert_int_equal(record_of(f, SQT_EV_CONNECT_END)->aux, SQT_CONNECT_FAILED);
}

/* Two transactions take turns, and an address becomes another one's. */
static void
test_addresses(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, 0);
    begins(f, 1, 0);
    looks_up(f, 1);
    call(f, SQT_ATTACH_FOUND, REPLY(1), 0, 0);
    ends(f, 1);
    call(f, SQT_ATTACH_XACT, HTTP(1), 0, 0);
    call(f, SQT_ATTACH_REPLY, REPLY(1), HTTP(1), 0);
    call(f, SQT_ATTACH_SEND, REPLY(1), 0, 0);
    ends(f, 0);
    const struct sqt_record *const last = &f->records[f->count - 4];
    assert_int_equal(last->event, SQT_EV_REPLY_READY);
    assert_int_equal(last->id, SQT_UNNAMED | 3);
    assert_int_equal(last->aux, SQT_REPLY_MADE); /* not found for this one */
}

/* What was there before the trace is nobody's. */
static void
test_unknown_objects(void **state)
{
    struct fixture *const f = *state;
    for (unsigned row = 0; row < SQT_ATTACH_ROWS; ++row)
        if (row != SQT_ATTACH_XACT && row != SQT_ATTACH_CLIENT && row != SQT_ATTACH_ACCEPTED &&
            row != SQT_ATTACH_SWAP_IN)
            call(f, (enum sqt_attach_row)row, 0xdead0 + row, 0xbeef0, 0xf00d);
    assert_string_equal(said(f), "");
    assert_true(f->joins.unknown > 0);
}

static void
test_each_row_has_a_rule(void **state)
{
    const struct fixture *const f = *state;
    for (unsigned row = 0; row < SQT_ATTACH_ROWS; ++row) {
        assert_non_null(f->joins.rules[row]);
        assert_int_equal(f->joins.rules[row]->row, row);
    }
}

/* A result code in a function that says no transaction is nobody's until its place is known. */
static void
test_result_codes(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, 0);
    begins(f, 1, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 7, 0);
    call(f, SQT_ATTACH_PROCESS, HTTP(0), 0, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 2, 0);
    call(f, SQT_ATTACH_SENT, SERVER(1), 0, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(0), 4, 0);
    call(f, SQT_ATTACH_PROCESS, HTTP(1), 0, 0);
    call(f, SQT_ATTACH_TAG, TAG_OF(1), 99, 0); /* no code that Squid has */
    f->count = 0;
    ends(f, 0);
    ends(f, 1);
    assert_int_equal(f->records[0].arg, 5);
    assert_int_equal(f->records[3].arg, 0);
}

/* After a loss, no object is trusted. */
static void
test_forgets(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, CLIENT);
    sqt_joins_forget(&f->joins);
    f->count = 0;
    looks_up(f, 0);
    writes(f, 0);
    ends(f, 0);
    assert_string_equal(said(f), "");
}

static void
accepts(struct fixture *f, uint64_t fd, int refused)
{
    call(f, SQT_ATTACH_ACCEPT, 0, 0, 0);
    call(f, SQT_ATTACH_ACCEPTED, fd, 0, 0);
    if (!refused)
        call(f, SQT_ATTACH_ACCEPT_DONE, 0, 0, 0);
}

/* One that Squid refuses is no later client's. */
static void
test_refused_accept(void **state)
{
    struct fixture *const f = *state;
    accepts(f, 11, 1);
    accepts(f, 12, 0);
    accepts(f, 13, 0);
    call(f, SQT_ATTACH_CLIENT, CLIENT, 0, 0);
    begins(f, 0, CLIENT);
    assert_int_equal(record_of(f, SQT_EV_CONN_ACCEPT)->arg, 12);
    assert_int_equal(record_of(f, SQT_EV_XACT_BEGIN)->arg, record_of(f, SQT_EV_CONN_ACCEPT)->id);
    sqt_joins_forget(&f->joins);
    f->count = 0;
    call(f, SQT_ATTACH_CLIENT, CLIENT, 0, 0); /* 13, or one that came later */
    begins(f, 0, CLIENT);
    assert_true(record_of(f, SQT_EV_XACT_BEGIN)->arg > 2);
}

/* Where the function is not known that says so, each accept counts. */
static void
test_accept_alone(void **state)
{
    struct fixture *const f = *state;
    f->has[SQT_ATTACH_ACCEPT_DONE] = 0;
    accepts(f, 11, 1);
    assert_string_equal(said(f), "CONN_ACCEPT");
}

/* A thousand transactions at as many addresses leave nothing, and an address that is another one's by now stays. */
static void
test_names_go(void **state)
{
    struct fixture *const f = *state;
    for (unsigned n = 0; n < 1000; ++n) {
        const uint64_t at = 0x100000u * (n + 1);
        call(f, SQT_ATTACH_XACT, at, 0, 0);
        call(f, SQT_ATTACH_REPLY, at + 1, at, 0);
        call(f, SQT_ATTACH_STREAM, at + 2, at, 0);
        call(f, SQT_ATTACH_REQUEST, at, at + 3, 0);
        call(f, SQT_ATTACH_CALLOUTS, at + 4, at, 0);
        call(f, SQT_ATTACH_FORWARD, at + 5, at + 3, at + 6);
        call(f, SQT_ATTACH_OPENER, at + 7, at + 3, 0);
        call(f, SQT_ATTACH_CONNECT, at + 7, at + 8, 0);
        call(f, SQT_ATTACH_SERVER, at + 9, at + 5, 0);
        call(f, SQT_ATTACH_PROCESS, at, 0, 0);
        call(f, SQT_ATTACH_TAG, at + 10, 3, 0);
        if (n % 2) {
            call(f, SQT_ATTACH_LOG_REQUEST, at, 0, 0);
            call(f, SQT_ATTACH_LOG, 0, 0, 0);
        } else { /* it is not logged, and its address is used again */
            call(f, SQT_ATTACH_XACT, at, 0, 0);
            ends(f, 0);
            call(f, SQT_ATTACH_LOG_REQUEST, at, 0, 0);
            call(f, SQT_ATTACH_LOG, 0, 0, 0);
        }
        f->count = 0;
    }
    assert_int_equal(f->joins.objects.used, 0);
    assert_int_equal(f->joins.xacts.used, 0);
    begins(f, 0, 0);
    begins(f, 1, 0);
    call(f, SQT_ATTACH_REPLY, REPLY(0), HTTP(1), 0);
    ends(f, 0);
    f->count = 0;
    call(f, SQT_ATTACH_SEND, REPLY(0), 0, 0);
    assert_int_equal(record_of(f, SQT_EV_REPLY_READY)->id, SQT_UNNAMED | f->joins.last_xact);
}

/* Made-up calls, each of an object that is new. */
static void
makes_up(struct fixture *f, enum sqt_attach_row row)
{
    for (unsigned n = 1; n <= 20000; ++n) {
        if (row == SQT_ATTACH_UFS)
            call(f, SQT_ATTACH_SWAP_IN, 0, 0, 0);
        call(f, row, 0x100000u + 64 * n, 0x200000u + 64 * n, 0);
        f->count = 0;
    }
}

/* However many objects calls make up, it is known what they take, so that they can be forgotten. */
static void
test_memory_is_known(void **state)
{
    struct fixture *const f = *state;
    static const struct {
        enum sqt_attach_row row;
        size_t least; /* bytes of an object: its structure, and twice its slots in maps */
    } made[] = {{SQT_ATTACH_XACT, sizeof(struct sqt_joins_xact) + 16 * sizeof(struct sqt_joins_name) + 64},
                {SQT_ATTACH_CLIENT, 16 + 64},
                {SQT_ATTACH_SELECT, sizeof(struct sqt_joins_name) + 32},
                {SQT_ATTACH_UFS, 24 + 32}};
    assert_int_equal(sqt_joins_bytes(&f->joins), 0);
    for (unsigned i = 0; i < sizeof(made) / sizeof(*made); ++i) {
        begins(f, 0, 0);
        makes_up(f, made[i].row);
        const size_t bytes = sqt_joins_bytes(&f->joins);
        if (bytes < 20000 * made[i].least || bytes > 2 * 20000 * (made[i].least + 64))
            fail_msg("%s: %zu bytes", sqt_attach_infos[made[i].row].name, bytes);
        sqt_joins_forget(&f->joins);
        assert_int_equal(sqt_joins_bytes(&f->joins), 0);
    }
}

static void
test_swap_in(void **state)
{
    struct fixture *const f = *state;
    begins(f, 0, 0);
    looks_up(f, 0);
    call(f, SQT_ATTACH_SWAP_IN, 0xc000, 0, 0);
    call(f, SQT_ATTACH_UFS, 0xd000, 0xe000, 0);
    call(f, SQT_ATTACH_UFS_READ, 0xd000, 4096, 0); /* before it is open */
    call(f, SQT_ATTACH_UFS_OPENED, 0xd000, 0, 0);
    call(f, SQT_ATTACH_UFS_READ, 0xd000, 4096, 0);
    call(f, SQT_ATTACH_UFS_READ_DONE, 0xd000, 4000, 0);
    call(f, SQT_ATTACH_UFS_CLOSED, 0xd000, 0, 0);
    call(f, SQT_ATTACH_UFS, 0xd000, 0xe000, 0); /* a swap-out */
    assert_non_null(strstr(said(f),
                           "LOOKUP_BEGIN SWAPIN_OPEN PART_SWAP_FILE SWAPIN_OPENED SWAPIN_READ SWAPIN_READ_DONE "
                           "SWAPIN_CLOSED"));
    assert_int_equal(record_of(f, SQT_EV_SWAPIN_OPEN)->arg, SQT_UNNAMED | 1);
    assert_int_equal(record_of(f, SQT_EV_SWAPIN_READ_DONE)->aux, 4000);
    assert_int_equal(f->records[f->count - 1].event, SQT_EV_SWAPIN_CLOSED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_hit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_miss, setup, teardown),
        cmocka_unit_test_setup_teardown(test_helpers_of_access_checks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checks_at_one_address, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_connect, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_row_has_a_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(test_result_codes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forgets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_accept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_accept_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_swap_in, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
