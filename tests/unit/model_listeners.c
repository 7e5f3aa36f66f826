/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_listeners.c - what was before a connection: accept_wait_ns, put-off accepts, table `listeners`, and findings.
 */
#include "model_kept.h"

#include "figure/finding/findings.h"
#include "trace/sample/sampler-internal.h"

#define MS INT64_C(1000000)
#define HTTP_PORT 1
#define HTTPS_PORT 2
#define WAIT(row) REQUEST(row, accept_wait_ns)

static void
accepted(int64_t time, uint64_t conn, uint64_t waited_ms, uint32_t listener)
{
    PUT(time, CONN_ACCEPT, conn, 12, 3128);
    PART(PART_LISTENER, 0, waited_ms, listener);
}

static void
sampled(int64_t time, enum sqt_sample_value what, uint32_t listener, uint64_t value)
{
    PUT(time, SAMPLE, value, (uint64_t)time, sqt_sample_number(what, listener));
}

static void
asks(int64_t time, uint64_t conn, uint64_t xact, int64_t total)
{
    PUT(time, CLIENT_READ, conn, 200, 0);
    PUT(time, REQUEST_PARSED, conn, 200, 0);
    begin_xact(time, xact, conn);
    end_xact(time + total, xact, MEM_HIT, 0);
}

/* ---- the column ---- */

static void
the_first_request_of_a_connection_has_the_wait(void **state)
{
    (void)state;
    accepted(10, 7, 504, HTTP_PORT);
    asks(20, 7, 1, 5);
    asks(60, 7, 2, 5);
    accepted(100, 8, 0, HTTP_PORT);
    asks(110, 8, 3, 5);
    accepted(200, 9, UINT64_MAX, HTTP_PORT); /* the kernel does not say */
    asks(210, 9, 4, 5);
    PUT(300, CONN_ACCEPT, 10, 12, 3128); /* a trace from before that */
    asks(310, 10, 5, 5);
    asks(400, 11, 6, 5); /* accepted before the trace began */
    play();
    assert_number(WAIT(0), 504 * MS);
    assert_number(WAIT(1), SQT_CELL_MISSING);
    assert_number(WAIT(2), 0);
    assert_number(WAIT(3), SQT_CELL_MISSING);
    assert_number(WAIT(4), SQT_CELL_MISSING);
    assert_number(WAIT(5), SQT_CELL_MISSING);
    assert_number(REQUEST(0, total_ns), 5); /* it is beside the total */
}

/* ---- the table ---- */

static union sqt_cell cells[8][SQT_CELLS(listeners)];
static char names[8][32];
static unsigned rows;

static int
take_row(void *context, const union sqt_cell *row)
{
    (void)context;
    assert_true(rows < 8);
    memcpy(cells[rows], row, sizeof(cells[0]));
    snprintf(names[rows++], sizeof(names[0]), "%s", row[SQT_CELL(listeners, listener)].text);
    return 1;
}

static void
note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

static void
tabulate(int64_t since)
{
    struct sqt_job job = {.since = since, .until = INT64_MAX, .row = take_row, .note = note};
    struct sqt_consumer consumer = sqt_family_listeners.consumer;
    rows = 0;
    consumer.context = &job;
    sqt_family_listeners.start(&job);
    play_to(&consumer);
    sqt_family_listeners.finish(&job);
}

#define CELL(row, name) (cells[row][SQT_CELL(listeners, name)].number)

/* Two ports: one with waits of 0 ms to 90 ms and requests of 100 ms, one with handshakes of 30 ms. */
static void
two_ports(void)
{
    for (unsigned i = 0; i < 10; ++i) {
        const int64_t t = i * 1000 * MS;
        accepted(t, 100 + i, i * 10, HTTP_PORT);
        asks(t + MS, 100 + i, 1000 + i, 100 * MS);
        PUT(t + 200 * MS, CONN_CLOSE, 100 + i, 0, 0);
    }
    for (unsigned i = 0; i < 4; ++i) {
        const int64_t t = (20 + i) * 1000 * MS;
        accepted(t, 200 + i, 0, HTTPS_PORT);
        PUT(t, CLIENT_TLS_BEGIN, 200 + i, 0, 0);
        PUT(t + 30 * MS, CLIENT_TLS_END, 200 + i, 0, 0);
        asks(t + 31 * MS, 200 + i, 2000 + i, 100 * MS);
    }
}

static void
the_table_adds_up(void **state)
{
    (void)state;
    sampled(0, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 1000); /* since the port was opened, before the trace */
    two_ports();
    const int64_t t = 30000 * MS;
    sampled(t, SQT_SAMPLE_LISTENER_backlog, HTTP_PORT, 17);
    sampled(t, SQT_SAMPLE_LISTENER_backlog_limit, HTTP_PORT, 128);
    sampled(t, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 1004);
    sampled(t + MS, SQT_SAMPLE_LISTENER_backlog, HTTP_PORT, 3);
    sampled(t + MS, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 2); /* it was opened again */
    PUT(t + 2 * MS, ACCEPT_PUT_OFF, HTTP_PORT, 90, 100);
    PUT(t + 42 * MS, ACCEPT_RESUMED, HTTP_PORT, 0, 0);
    PUT(t + 43 * MS, ACCEPT_RESUMED, HTTP_PORT, 0, 0); /* of nothing */
    PUT(t + 50 * MS, ACCEPT_PUT_OFF, HTTP_PORT, 90, 100);
    PUT(t + 53 * MS, CONN_CLOSE, 200, 0, 0);         /* the trace ends */
    PUT(t + 53 * MS, ACCEPT_PUT_OFF, 4711, 90, 100); /* no port has that number */
    tabulate(INT64_MIN);
    assert_int_equal(rows, 2);
    assert_string_equal(names[0], "http_port 3128");
    assert_int_equal(CELL(0, count), 10);
    assert_int_equal(CELL(0, connections), 10);
    assert_int_equal(CELL(0, p50_ms), 45 * MS);
    assert_int_equal(CELL(0, max_ms), 90 * MS);
    assert_int_equal(CELL(0, share_pct), 24324); /* 450 of 1850 ms */
    assert_int_equal(CELL(0, backlog), 17);
    assert_int_equal(CELL(0, backlog_limit), 128);
    assert_int_equal(CELL(0, drops), 6);
    assert_int_equal(CELL(0, put_off), 2);
    assert_int_equal(CELL(0, put_off_ms), 43 * MS);
    assert_int_equal(CELL(0, tls_p50_ms), SQT_CELL_MISSING);
    assert_string_equal(names[1], "https_port 3129");
    assert_int_equal(CELL(1, count), 4);
    assert_int_equal(CELL(1, tls_p50_ms), 30 * MS);
    assert_int_equal(CELL(1, max_ms), 0);
    assert_int_equal(CELL(1, backlog), SQT_CELL_MISSING);
    assert_int_equal(CELL(1, drops), SQT_CELL_MISSING);
    script.count = 0;
    two_ports();
    tabulate(15000 * MS);
    assert_int_equal(rows, 1);
    assert_string_equal(names[0], "https_port 3129");
}

/* ---- findings ---- */

static char causes[8][64], culprits[8][64], sentences[8][512];
static int64_t costs[8], shares[8];

static int
take_finding(void *context, const union sqt_cell *row)
{
    (void)context;
    snprintf(causes[rows], sizeof(causes[0]), "%s", row[SQT_CELL(findings, cause)].text);
    snprintf(culprits[rows], sizeof(culprits[0]), "%s",
             row[SQT_CELL(findings, culprit)].text ? row[SQT_CELL(findings, culprit)].text : "-");
    snprintf(sentences[rows], sizeof(sentences[0]), "%s", row[SQT_CELL(findings, sentence)].text);
    costs[rows] = row[SQT_CELL(findings, cost_p50_ms)].number;
    shares[rows++] = row[SQT_CELL(findings, share_pct)].number;
    return 1;
}

static void
find(void)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_finding, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    rows = 0;
    consumer.context = &job;
    kept_begin();
    sqt_family_findings.start(&job);
    play_to(&consumer);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
    script.count = 0;
}

static void
assert_finding(unsigned row, const char *cause, int64_t share, int64_t cost, const char *sentence)
{
    assert_true(row < rows);
    assert_string_equal(causes[row], cause);
    assert_string_equal(culprits[row], strcmp(cause, "client_tls") == 0 ? "https_port 3129" : "http_port 3128");
    assert_int_equal(shares[row], share);
    assert_int_equal(costs[row], cost);
    assert_string_equal(sentences[row], sentence);
}

/* Twelve connections that waited for so long, each with a request of 1 ms. */
static void
late(uint64_t waited_ms)
{
    for (unsigned i = 0; i < 12; ++i) {
        const int64_t t = (i + 1) * 1000 * MS;
        accepted(t, 100 + i, waited_ms, HTTP_PORT);
        asks(t, 100 + i, 1000 + i, MS);
    }
}

static void
a_busy_squid_accepts_late(void **state)
{
    (void)state;
    late(99);
    find();
    assert_int_equal(rows, 1);
    assert_finding(
        0, "accept_wait", 99000, 99 * MS,
        "99 % of the time of requests is new connections to http_port 3128 that wait for Squid to accept them: "
        "99 ms for each.");
    late(0);
    find();
    assert_string_equal(causes[0], "healthy");
}

static void
out_of_descriptors(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; ++i) {
        const int64_t t = (i + 1) * 1000 * MS;
        PUT(t - 99 * MS, ACCEPT_PUT_OFF, HTTP_PORT, 110, 128);
        PUT(t, ACCEPT_RESUMED, HTTP_PORT, 0, 0);
        accepted(t, 100 + i, 99, HTTP_PORT);
        asks(t, 100 + i, 1000 + i, MS);
    }
    find();
    assert_int_equal(rows, 1);
    assert_finding(
        0, "descriptors", 99000, 99 * MS,
        "99 % of the time of requests is new connections to http_port 3128 that Squid does not accept, because "
        "it is out of descriptors: its limit is 128.");
    /* Those that are put off at another time are not the reason. */
    PUT(0, ACCEPT_PUT_OFF, HTTP_PORT, 110, 128);
    PUT(1, ACCEPT_RESUMED, HTTP_PORT, 0, 0);
    late(99);
    find();
    assert_int_equal(rows, 1);
    assert_string_equal(causes[0], "accept_wait");
}

static void
a_full_backlog(void **state)
{
    (void)state;
    sampled(0, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 0);
    sampled(0, SQT_SAMPLE_LISTENER_backlog, HTTP_PORT, 33);
    sampled(0, SQT_SAMPLE_LISTENER_backlog_limit, HTTP_PORT, 32);
    late(9);
    sampled(20000 * MS, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 40);
    find();
    assert_int_equal(rows, 2); /* 40 s are more than 12 times 9 ms */
    assert_finding(
        0, "backlog_full", SQT_CELL_MISSING, SQT_CELL_MISSING,
        "The kernel dropped 40 connections to http_port 3128, whose backlog takes 32. Their clients tried again "
        "after seconds: the time before a connection existed is not known.");
    assert_string_equal(causes[1], "accept_wait");
    late(0);
    sampled(20000 * MS, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 40);
    sampled(21000 * MS, SQT_SAMPLE_LISTENER_drops, HTTP_PORT, 49); /* fewer than 10 */
    find();
    assert_string_equal(causes[0], "healthy");
}

static void
handshakes_on_an_https_port(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; ++i) {
        const int64_t t = (i + 1) * 1000 * MS;
        accepted(t, 200 + i, 0, HTTPS_PORT);
        PUT(t, CLIENT_TLS_BEGIN, 200 + i, 0, 0);
        PUT(t + 30 * MS, CLIENT_TLS_END, 200 + i, 0, 0);
        asks(t + 30 * MS, 200 + i, 2000 + i, 10 * MS);
    }
    find();
    assert_true(rows >= 1);
    assert_finding(0, "client_tls", 75000, 30 * MS,
                   "75 % of the time of requests is TLS handshakes of clients with https_port 3129: 30 ms for each "
                   "connection.");
}

/* Passes of a loop that works for so many of each 10 ms. */
static void
passes(int64_t from, int64_t work_ms)
{
    for (unsigned i = 0; i < 40; ++i) {
        const int64_t t = from + i * 10 * MS;
        PUT(t, WAIT_BEGIN, 0, 10, 0);
        PUT(t + (10 - work_ms) * MS, WAIT_END, 0, 1, 0);
    }
    PUT(from + 400 * MS, WAIT_BEGIN, 0, 10, 0);
}

/* Findings of a trace of two workers. */
static void
begin_two_workers(struct sqt_job *job, struct sqt_consumer *consumer)
{
    script.origins[0].identity.kid = 1;
    script.origins[0].identity.kid_kind = script.origins[1].identity.kid_kind = SQT_KID_WORKER;
    rows = 0;
    consumer->context = job;
    kept_begin();
    sqt_family_findings.start(job);
    sqt_model_free(script.model);
    script.model = sqt_model_new(consumer);
}

static void
find_of_two_workers(int64_t busy, int64_t idle)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_finding, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    begin_two_workers(&job, &consumer);
    passes(0, busy);
    for (unsigned i = 0; i < 12; ++i) {
        begin_xact((500 + 3 * i) * MS, 1000 + i, 7);
        end_xact((502 + 3 * i) * MS, 1000 + i, MEM_HIT, 0);
    }
    play_as(0);
    passes(0, idle);
    play_as(1);
    sqt_model_finish(script.model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
}

static void
one_worker_is_busy_and_another_is_not(void **state)
{
    (void)state;
    find_of_two_workers(8, 1);
    unsigned row = 0;
    while (row < rows && strcmp(causes[row], "one_worker") != 0)
        ++row;
    assert_true(row < rows);
    assert_string_equal(culprits[row], "worker 1");
    assert_string_equal(
        sentences[row],
        "100 % of the time of requests is Squid's own work in worker 1, or waits for it to accept: its event "
        "loop works for 80 % of the time. That of worker 2 works for 10 %.");
    find_of_two_workers(8, 3);
    for (row = 0; row < rows; ++row)
        assert_string_not_equal(causes[row], "one_worker");
    find_of_two_workers(2, 0); /* nobody waits */
    for (row = 0; row < rows; ++row)
        assert_string_not_equal(causes[row], "one_worker");
}

/* ---- ports that are closed ---- */

enum { NEVER = 1000 };

/* 20 s of a worker.  A port is open until so many seconds, and a connection comes to it each so many ms; after that to none,
 * or to the other port. */
static void
worker(unsigned kid, unsigned closes, unsigned each_ms, int elsewhere)
{
    for (unsigned ms = 0, i = 0; ms < 20000; ms += 100) {
        const int64_t t = ms * MS;
        const int open = ms < closes * 1000;
        if (ms % 1000 == 0) {
            sampled(t, SQT_SAMPLE_LISTENER_backlog, HTTPS_PORT, 0);
            if (open)
                sampled(t, SQT_SAMPLE_LISTENER_backlog, HTTP_PORT, 0);
        }
        if (ms == 10000)
            PUT(t, RECONFIGURE, 0, 0, 0);
        if (ms % each_ms == 0 && (open || elsewhere)) {
            const uint64_t number = 1000 * kid + i++;
            accepted(t, number, 0, open ? HTTP_PORT : HTTPS_PORT);
            asks(t + MS, number, 10000 + number, MS);
        }
    }
}

/* The row of the only finding about a closed port; `rows` if there is none. */
static unsigned
closed_row(void)
{
    unsigned row = rows;
    for (unsigned i = 0; i < rows; ++i) {
        assert_true(row == rows || strcmp(causes[i], "closed_port") != 0);
        row = strcmp(causes[i], "closed_port") == 0 ? i : row;
    }
    return row;
}

static void
assert_closed(const char *sentence)
{
    const unsigned row = closed_row();
    assert_true(row < rows);
    assert_string_equal(culprits[row], "http_port 3128");
    assert_non_null(strstr(sentences[row], sentence));
}

static void
a_port_is_closed(void **state)
{
    (void)state;
    worker(1, 10, 100, 0);
    find();
    assert_string_equal(causes[0], "closed_port");
    assert_closed("http_port 3128 is not open any more, so nobody can connect to it. Squid was "
                  "reconfigured just then (squid -k reconfigure). 10 connections a second");
    worker(1, 10, 100, 1);
    find();
    assert_int_equal(closed_row(), rows);
}

/* Two workers close it, or one of them does. */
static void
find_of_workers(unsigned closes, unsigned second_closes, unsigned each_ms, int elsewhere)
{
    struct sqt_job job = {.since = INT64_MIN, .until = INT64_MAX, .row = take_finding, .note = note};
    struct sqt_consumer consumer = sqt_family_findings.consumer;
    begin_two_workers(&job, &consumer);
    worker(1, closes, each_ms, elsewhere);
    play_as(0);
    worker(2, second_closes, each_ms, elsewhere);
    play_as(1);
    sqt_model_finish(script.model);
    sqt_family_findings.finish(&job);
    kept_write(script.origins);
}

static void
workers_close_a_port(void **state)
{
    (void)state;
    find_of_workers(10, 10, 200, 0);
    assert_closed("10 connections a second had come until then. How many were refused is not known: at that rate, ");
    find_of_workers(10, 11, 200, 0);
    assert_closed("Since 10.0 s of the trace");
    find_of_workers(10, 10, 2500, 0); /* each of them misses fewer than five */
    assert_closed("1 connections a second");
    find_of_workers(10, 10, 200, 1);
    assert_int_equal(closed_row(), rows);
    find_of_workers(10, NEVER, 200, 0);
    assert_int_equal(closed_row(), rows);
    find_of_workers(NEVER, NEVER, 200, 0);
    assert_int_equal(closed_row(), rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(the_first_request_of_a_connection_has_the_wait),
        SCRIPT_TEST(the_table_adds_up),
        SCRIPT_TEST(a_busy_squid_accepts_late),
        SCRIPT_TEST(out_of_descriptors),
        SCRIPT_TEST(a_full_backlog),
        SCRIPT_TEST(handshakes_on_an_https_port),
        SCRIPT_TEST(one_worker_is_busy_and_another_is_not),
        SCRIPT_TEST(a_port_is_closed),
        SCRIPT_TEST(workers_close_a_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
