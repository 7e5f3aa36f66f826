/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * make_flights.c - a process that traces requests of which some never end, for top_screen.py and live_programs.py.
 *
 *     make_flights DIRECTORY      says "ready", and ends with its input
 *
 * Ten requests end.  Transaction 101 waits for a server, 102 for an authenticator, 103 for its client, after
 * 300 short turns to and fro, and a long one.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/life/trace-internal.h"
#include "trace/sqtrace.h"

enum { GET = 1, MISS = 1, SERVER = 7 };

static void
flights_say(int level, const char *text)
{
    (void)level;
    fprintf(stderr, "%s\n", text);
}

static void
flights_begin(uint64_t id)
{
    sqt_emit(SQT_EV_XACT_BEGIN, SQT_UNNAMED | id, id, 0);
    sqt_emit(SQT_EV_XACT_NAMED, id, SQT_UNNAMED | id, GET);
    sqt_emit(SQT_EV_ACCESS_BEGIN, id, 0, 0);
}

static void
flights_ask_server(uint64_t id)
{
    sqt_emit(SQT_EV_ACCESS_END, id, 0, 0);
    sqt_emit_pair(SQT_PAIR(SQT_EV_CONNECT_BEGIN, SQT_EV_PART_SERVER), id, 1000 + id, 0, 0, 0, SERVER);
    sqt_emit(SQT_EV_CONNECT_END, id, 1000 + id, SQT_CONNECT_OK);
    sqt_emit(SQT_EV_DISPATCH, id, 1000 + id, 1);
    sqt_emit(SQT_EV_REQUEST_SENT, id, 1000 + id, 0);
}

static void
flights_end(uint64_t id)
{
    struct sqt_record unit[3];
    memset(unit, 0, sizeof(unit));
    unit[0].event = SQT_EV_XACT_END;
    unit[0].arg = MISS;
    unit[0].aux = 200;
    unit[0].id = id;
    unit[1].event = SQT_EV_PART_XACT_SIZES;
    unit[2].event = SQT_EV_PART_XACT_FLAGS;
    sqt_emit_unit(unit, 3);
}

static void
flights_define(void)
{
    sqt_define(SQT_DEF_METHOD, GET, "GET");
    sqt_define(SQT_DEF_TAG, MISS, "TCP_MISS");
    sqt_define(SQT_DEF_SERVER, SERVER, "upstream");
}

static void
flights_make(void)
{
    const uint32_t auth = sqt_waited_number(SQT_WAITED_AUTH, "basic");
    for (uint64_t id = 1; id <= 10; ++id) {
        flights_begin(id);
        flights_ask_server(id);
        usleep(2000);
        flights_end(id);
    }
    flights_begin(101);
    flights_ask_server(101);
    usleep(30000);
    flights_begin(102);
    sqt_emit(SQT_EV_HELPER_BEGIN, 102, 1, auth);
    usleep(30000);
    flights_begin(103);
    sqt_emit(SQT_EV_ACCESS_END, 103, 0, 0);
    sqt_emit(SQT_EV_REPLY_READY, 103, 0, SQT_REPLY_STORE);
    for (int turn = 0; turn <= 150; ++turn) {
        sqt_emit(SQT_EV_REPLY_WRITE, 103, 4096, 1);
        usleep(turn == 150 ? 40000 : 1);
        sqt_emit(SQT_EV_REPLY_WRITTEN, 103, 4096, 0);
        usleep(1);
    }
    sqt_emit(SQT_EV_REPLY_WRITE, 103, 4096, 1);
}

/* Requests 201 to 220 wait for the server, until they are over; or more of them. */
static void
flights_hang(int over, uint64_t last)
{
    for (uint64_t id = 201; id <= last; ++id) {
        if (over) {
            flights_end(id);
        } else {
            flights_begin(id);
            flights_ask_server(id);
        }
    }
}

/* Request 301, whose client named its span, is sent twice; the first server fails.  Squid sends spans of its own on. */
static void
flights_forward(void)
{
    flights_begin(301);
    sqt_emit_pair(SQT_PAIR(SQT_EV_TRACE_CONTEXT, SQT_EV_PART_TRACE_ID), 301, 7, 1 | SQT_CONTEXT_FORWARDED, 1, 2, 0);
    flights_ask_server(301);
    sqt_emit(SQT_EV_RETRY, 301, 0, 1);
    sqt_emit(SQT_EV_DISPATCH, 301, 1302, 2);
    sqt_emit(SQT_EV_SERVER_DONE, 301, 1302, 0);
    flights_end(301);
}

/* Passes of the event loop, until the input ends.  A line on it ends transaction 101; "b" blocks a pass for 3 s; "h" makes
 * 20 requests hang, "H" 77, and "o" is the end of the 20; "f": one is sent on; "d": it ends itself. */
static void
flights_wait(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char line[64];
    for (;;) {
        sqt_loop_waits(20);
        const int ready = poll(&input, 1, 20);
        sqt_loop_works(1);
        if (ready <= 0)
            continue;
        if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
            return;
        if (*line == 'd') {
            sqt_gives_up("no memory");
            return;
        }
        if (*line == 'f')
            flights_forward();
        else if (*line == 'h' || *line == 'H' || *line == 'o') {
            flights_hang(*line == 'o', *line == 'H' ? 277 : 220);
        } else if (*line == 'b') {
            sqt_emit(SQT_EV_REPLY_WRITTEN, 103, 4096, 0);
            usleep(3000000);
        } else {
            flights_end(101);
        }
    }
}

int
main(int argc, char **argv)
{
    const struct sqt_process process = {1, SQT_KID_WORKER, "flights", "7.7", NULL};
    struct sqt_config config;
    char error[256];
    sqt_patience_ns = UINT64_C(30000000000); /* the machine may be busy */
    sqt_config_init(&config);
    if (argc != 2 || sqt_config_word(&config, argv[1], error, sizeof(error)) != 0 ||
        sqt_config_word(&config, "ring=1MB", error, sizeof(error)) != 0 ||
        sqt_start(&config, &process, flights_say) != 0)
        return 1;
    flights_define();
    flights_make();
    puts("ready");
    fflush(stdout);
    flights_wait();
    sqt_stop();
    return 0;
}
