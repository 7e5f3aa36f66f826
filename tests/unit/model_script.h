/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model_script.h - hand-made records through the model into rows, for the model_* tests.
 *
 * The clock ticks once a nanosecond, so what a test writes as time is what it finds in the rows.
 */
#ifndef MODEL_SCRIPT_H
#define MODEL_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/events.h"
#include "hook_form.h"
#include "pass/family.h"
#include "row/kept.h"

enum tag {
    HIT = 1,
    MEM_HIT,
    MISS,
    REFRESH_UNMODIFIED,
    CF_HIT,
    TUNNEL,
    NONE,
    MISS_ABORTED,
    MISS_TIMEDOUT,
    IMS_HIT,
    UDP_HIT,
    REFRESH_MODIFIED,
    DENIED,
    DENIED_REPLY
};

/* Takes the place of the reader's. */
const char *
sqt_origin_text(const struct sqt_origin *origin, unsigned kind, uint32_t number)
{
    static const char *const tags[] = {[HIT] = "TCP_HIT",
                                       [MEM_HIT] = "TCP_MEM_HIT",
                                       [MISS] = "TCP_MISS",
                                       [REFRESH_UNMODIFIED] = "TCP_REFRESH_UNMODIFIED",
                                       [CF_HIT] = "TCP_CF_HIT",
                                       [TUNNEL] = "TCP_TUNNEL",
                                       [NONE] = "NONE_NONE",
                                       [MISS_ABORTED] = "TCP_MISS_ABORTED",
                                       [MISS_TIMEDOUT] = "TCP_MISS_TIMEDOUT",
                                       [IMS_HIT] = "TCP_IMS_HIT",
                                       [UDP_HIT] = "UDP_HIT",
                                       [REFRESH_MODIFIED] = "TCP_REFRESH_MODIFIED",
                                       [DENIED] = "TCP_DENIED",
                                       [DENIED_REPLY] = "TCP_DENIED_REPLY"};
    (void)origin;
    if (kind == SQT_DEF_TAG && number < sizeof(tags) / sizeof(*tags))
        return tags[number];
    if (kind == SQT_DEF_METHOD && number == 1)
        return "GET";
    if (kind == SQT_DEF_METHOD && number == 2)
        return "POST";
    if (kind == SQT_DEF_METHOD && number == 3)
        return "PURGE";
    if (kind == SQT_DEF_METHOD && number == 4)
        return "CONNECT";
    if (kind == SQT_DEF_DIR && number == 0)
        return "aufs /cache";
    if (kind == SQT_DEF_DIR && number == 1)
        return "diskd /cache/d";
    if (kind == SQT_DEF_DIR && number == 9)
        return "rock /cache/r";
    if (kind == SQT_DEF_PEER_KIND && number == 1)
        return "direct";
    if (kind == SQT_DEF_PEER_KIND && number == 2)
        return "any_old_parent";
    if (kind == SQT_DEF_PEER_KIND && number == 8)
        return "FTP data";
    static const char *const peers[] = {"other", "moon", "mars", "venus"};
    if (kind == SQT_DEF_PEER && number < sizeof(peers) / sizeof(*peers))
        return peers[number];
    static const char *const servers[] = {"other",    "parent",   "origin-1",    "origin-2",
                                          "origin-3", "origin-4", "192.0.2.7:21"};
    if (kind == SQT_DEF_SERVER && number < sizeof(servers) / sizeof(*servers))
        return servers[number];
    static const char *const waited[] = {
        "auth basic",    "external_acl groups",  "name_server 192.0.2.53", "name_server 192.0.2.54",
        "of_tomorrow x", "url_rewrite rewriter", "store_id ids",           "auth negotiate"};
    if (kind == SQT_DEF_WAITED && number < sizeof(waited) / sizeof(*waited))
        return waited[number];
    if (kind == SQT_DEF_SERVICE && number < 2)
        return number ? "cleaner" : "scanner";
    static const char *const listeners[] = {"other", "http_port 3128", "https_port 3129", "ftp_port 2121"};
    if (kind == SQT_DEF_LISTENER && number < sizeof(listeners) / sizeof(*listeners))
        return listeners[number];
    static const char *const notes[] = {"site lab", "site office", "team other", "no-value", "te\"am b", " nameless"};
    if (kind == SQT_DEF_NOTE && number < sizeof(notes) / sizeof(*notes))
        return notes[number];
    static char sample[64];
    if (kind == SQT_DEF_SAMPLE && (number & 255) < SQT_SAMPLES) { /* as the sampler numbers them */
        snprintf(sample, sizeof(sample), "%s %u %s", sqt_sample_sources[sqt_samples[number & 255].source].name,
                 number >> 8, sqt_samples[number & 255].name);
        return sample;
    }
    if (kind == SQT_DEF_ACTIVITY && number == 4)
        return "a call";
    if (kind == SQT_DEF_ACTIVITY && number == 5)
        return "write to cache.log";
    if (kind == SQT_DEF_ACTIVITY && number == 6)
        return "Comm::TcpAcceptor::doAccept";
    static const char *const endings[] = {"no memory",
                                          "logfileWrite: /var/log/access.log: (28) No space left on device",
                                          "The redirector helpers are crashing too rapidly, need help!",
                                          "Bungled /etc/squid.conf line 7", "reconfiguration failure"};
    if (kind == SQT_DEF_ENDING && number < sizeof(endings) / sizeof(*endings))
        return endings[number];
    static const char *const acls[] = {"bad_sites", "all", "SSL_ports"};
    if (kind == SQT_DEF_ACL && number >= 7 && number < 7 + sizeof(acls) / sizeof(*acls))
        return acls[number - 7];
    if (kind == SQT_DEF_CALL && number == SQT_LOOP_CALLS + 233)
        return "system call 232";
    if (kind == SQT_DEF_CALL && number == SQT_LOOP_CALLS + 2)
        return "write";
    return NULL;
}

const char *
sqt_origin_event_name(const struct sqt_origin *origin, unsigned event)
{
    (void)origin;
    return event < SQT_EVENTS ? sqt_events[event].name : "UNKNOWN";
}

int64_t
sqt_origin_wall_ns(const struct sqt_origin *origin)
{
    (void)origin;
    return INT64_MIN;
}

#define SCRIPT_ROWS 64

/* Of the widest table, and more. */
#define SCRIPT_CELLS 128
SQT_ASSERT(SQT_CELLS(requests) <= SCRIPT_CELLS, "rows are copied whole");

struct rows {
    union sqt_cell cells[SCRIPT_ROWS][SCRIPT_CELLS];
    unsigned count;
};

struct script {
    struct sqt_origin origins[2];
    struct sqt_record records[4096];
    int unsure;  /* the records are from around a step of a clock */
    int foreign; /* no hook of today emits them all */
    unsigned count;
    struct sqt_model *model;
    struct sqt_keep keep;
    struct rows requests, swaps, ios, connections, losses;
    struct sqt_loop_row passes[SCRIPT_ROWS];
    unsigned pass_count;
    struct sqt_job jobs[5];
};

static struct script script;

/* What is about to be played. */
static void (*script_played)(unsigned origin, const struct sqt_record *records, size_t count);

static inline void
script_plays(unsigned origin)
{
    if (script_played)
        script_played(origin, script.records, script.count);
}

static inline int
script_row(void *context, const union sqt_cell *row)
{
    struct rows *const rows = context;
    if (rows->count < SCRIPT_ROWS)
        memcpy(rows->cells[rows->count], row, sizeof(rows->cells[0]));
    ++rows->count;
    return 1;
}

/* What was charged when is what was charged in all, without a gap from begin to end. */
static inline void
script_tiles(const struct sqt_xact *x)
{
    int64_t sums[SQT_STAGES + 1] = {0}, at = x->begin;
    struct sqt_tile tile;
    for (size_t i = 0; sqt_keep_tile(x, &i, &tile); at = tile.until) {
        assert_int_equal(tile.from, at);
        assert_true(tile.until > tile.from);
        sums[tile.stage] += tile.until - tile.from;
    }
    for (unsigned s = 0; s <= SQT_UNACCOUNTED && x->begin != SQT_MISSING; ++s)
        assert_int_equal(sums[s], x->stages.ns[s]);
}

static inline void
script_charge(void *context, const struct sqt_charge *charge)
{
    (void)context;
    sqt_keep_charge(&script.keep, charge);
}

static inline void
script_recharge(void *context, const struct sqt_charge *charge)
{
    (void)context;
    sqt_keep_recharge(charge);
}

/* Rows are copied whole, so they have room for the widest table; the copy of a swap's texts would not last. */
static inline void
script_request(void *context, const struct sqt_xact *x)
{
    union sqt_cell row[SCRIPT_CELLS] = {{0}};
    (void)context;
    sqt_request_cells(row, x);
    script_row(&script.requests, row);
    script_tiles(x);
    sqt_keep_drop(&script.keep, x->user);
}

static inline void
script_swap(void *context, struct sqt_swap *s)
{
    union sqt_cell row[SCRIPT_CELLS] = {{0}};
    struct sqt_row_text text;
    (void)context;
    sqt_swap_cells(row, s, &text);
    row[SQT_CELL(swaps, store)].text = "aufs";
    script_row(&script.swaps, row);
}

static inline void
script_io(void *context, const struct sqt_io *i)
{
    union sqt_cell row[SCRIPT_CELLS] = {{0}};
    (void)context;
    sqt_io_cells(row, i);
    script_row(&script.ios, row);
}

static inline int
script_wide_row(void *context, const union sqt_cell *row)
{
    union sqt_cell wide[SCRIPT_CELLS] = {{0}};
    memcpy(wide, row, SQT_CELLS(connections) * sizeof(*row));
    return script_row(context, wide);
}

static inline void
script_connection(void *context, const struct sqt_attempt *a)
{
    struct sqt_job job = {
        .since = INT64_MIN, .until = INT64_MAX, .row = script_wide_row, .context = &script.connections};
    (void)context;
    sqt_family_connections.consumer.connection(&job, a);
}

static inline void
script_loss(void *context, const struct sqt_loss_row *l)
{
    union sqt_cell row[SCRIPT_CELLS] = {{0}};
    (void)context;
    row[SQT_CELL(losses, time_s)].number = l->from;
    row[SQT_CELL(losses, until_s)].number = l->until;
    row[SQT_CELL(losses, records)].number = (int64_t)l->records;
    row[SQT_CELL(losses, reason)].text = sqt_loss_reason(l->reason);
    script_row(&script.losses, row);
}

static inline void
script_pass(void *context, const struct sqt_loop_row *p)
{
    (void)context;
    if (script.pass_count < SCRIPT_ROWS)
        script.passes[script.pass_count] = *p;
    ++script.pass_count;
}

static inline int
script_begin(void **state)
{
    static const struct sqt_consumer consumer = {.charge = script_charge,
                                                 .recharge = script_recharge,
                                                 .request = script_request,
                                                 .swap = script_swap,
                                                 .io = script_io,
                                                 .connection = script_connection,
                                                 .loss = script_loss,
                                                 .loop = script_pass};
    (void)state;
    memset(&script, 0, sizeof(script));
    script.origins[1].index = 1;
    script.origins[1].identity.kid = 2;
    script.keep.left = SIZE_MAX;
    script.model = sqt_model_new(&consumer);
    return 0;
}

static inline int
script_end(void **state)
{
    (void)state;
    sqt_model_free(script.model);
    sqt_keep_free(&script.keep);
    return 0;
}

/* Adds a record. */
static inline void
put(int64_t time, unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    script.records[script.count++] =
        (struct sqt_record){.time = (uint64_t)time, .id = id, .arg = arg, .aux = aux, .event = (uint16_t)event};
}

/* Adds a part to the record before. */
static inline void
part(unsigned event, uint64_t id, uint64_t arg, uint32_t aux)
{
    struct sqt_record *first = &script.records[script.count - 1];
    const uint64_t time = first->time;
    while (first->flags & SQT_FLAG_PART)
        --first;
    ++first->flags;
    put((int64_t)time, event, id, arg, aux);
    script.records[script.count - 1].flags = SQT_FLAG_PART;
}

#define PUT(time, name, id, arg, aux) put(time, SQT_EV_##name, id, arg, aux)
#define PART(name, id, arg, aux) part(SQT_EV_##name, id, arg, aux)

/* A script holds only what hooks emit, unless it says that it is foreign. */
static inline void
assert_hooks_emit_it(void)
{
    for (size_t i = script.foreign ? script.count : 0; i < script.count;
         i += 1 + (script.records[i].flags & SQT_FLAG_MORE)) {
        const char *const wrong = hook_form_error(&script.records[i], script.count - i);
        if (wrong)
            fail_msg("record %zu: %s", i, wrong);
    }
}

/* The records so far, as a run of that process. */
static inline struct sqt_run
script_run(unsigned origin)
{
    return (struct sqt_run){.origin = &script.origins[origin],
                            .records = script.records,
                            .count = script.count,
                            .next = script.count,
                            .line = {0, 0, 1.0},
                            .unsure = script.unsure};
}

/* Gives the records so far to the model, as one run of that origin. */
static inline void
play_as(unsigned origin)
{
    assert_hooks_emit_it();
    script_plays(origin);
    struct sqt_run run = script_run(origin);
    if (script.count)
        sqt_model_run(script.model, &run);
    script.count = 0;
}

static inline void
play(void)
{
    play_as(0);
}

/* Gives the records so far, up to the end of the trace, to a model of their own, whose rows the consumer gets. */
static inline void
play_to(const struct sqt_consumer *consumer)
{
    struct sqt_model *const model = sqt_model_new(consumer);
    const struct sqt_run run = script_run(0);
    assert_hooks_emit_it();
    script_plays(0);
    sqt_model_run(model, &run);
    sqt_model_finish(model);
    sqt_model_free(model);
}

/* A transaction from its begin to its name. */
static inline void
begin_xact(int64_t time, uint64_t id, uint64_t conn)
{
    PUT(time, XACT_BEGIN, SQT_UNNAMED | id, conn, 0);
    PUT(time, XACT_NAMED, id, SQT_UNNAMED | id, 1);
}

static inline void
end_xact(int64_t time, uint64_t id, uint32_t tag, uint32_t flags)
{
    PUT(time, XACT_END, id, tag, 200);
    PART(PART_XACT_SIZES, 1000, 1300, 1);
    PART(PART_XACT_FLAGS, 0xabc, 7, flags);
}

/* The same, of a transaction whose request was never parsed. */
static inline void
end_unparsed(int64_t time, uint64_t serial, uint32_t status)
{
    PUT(time, XACT_END, SQT_UNNAMED | serial, NONE, status);
    PART(PART_XACT_SIZES, UINT64_MAX, status ? 200 : 0, 0);
    PART(PART_XACT_FLAGS, 0, 7, 0);
}

/* A swap-in of transaction xact asks for its file of cache_dir 0. */
static inline void
swap_in_opens(int64_t time, uint64_t sio, uint64_t xact)
{
    PUT(time, SWAPIN_OPEN, sio, xact, 0);
    PART(PART_SWAP_FILE, 0xabc, 77, 0);
}

/* A server is asked, and answers. */
static inline void
server_exchange(int64_t t, uint64_t xact, uint64_t conn, unsigned try)
{
    PUT(t, DISPATCH, xact, conn, try);
    PUT(t + 1, REQUEST_SENT, xact, conn, 0);
    PUT(t + 4, SERVER_READ, xact, 500, 0);
    PUT(t + 4, SERVER_HEADER, xact, 300, 200);
    PUT(t + 9, SERVER_READ, xact, 500, 0);
    PUT(t + 10, SERVER_DONE, xact, conn, 0);
}

/* A cell of a row. */
#define REQUEST(row, name) (script.requests.cells[row][SQT_CELL(requests, name)])
#define SWAP(row, name) (script.swaps.cells[row][SQT_CELL(swaps, name)])
#define IO(row, name) (script.ios.cells[row][SQT_CELL(ios, name)])
#define CONNECTION(row, name) (script.connections.cells[row][SQT_CELL(connections, name)])
#define LOSS(row, name) (script.losses.cells[row][SQT_CELL(losses, name)])

static inline int64_t
request_stage(unsigned row, enum sqt_stage stage)
{
    for (unsigned i = 0; i < SQT_STAGES; ++i)
        if (sqt_stage_columns[i] == stage)
            return script.requests.cells[row][SQT_STAGE_CELL(i)].number;
    abort();
}
#define STAGE(row, name) request_stage(row, SQT_STAGE_##name)

/* The stages of a row in stages.def's order as "proxy_reply 10, lookup 5"; those that never opened are left out. */
static inline const char *
stages(unsigned row)
{
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const int64_t ns = request_stage(row, (enum sqt_stage)i);
        if (ns != SQT_CELL_MISSING)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %lld", used ? ", " : "",
                                     sqt_stages[i].name, (long long)ns);
    }
    return text;
}

/* The stages and what is unaccounted make up the total. */
static inline void
assert_adds_up(unsigned row)
{
    int64_t sum = REQUEST(row, unaccounted_ns).number;
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const int64_t ns = request_stage(row, (enum sqt_stage)i);
        if (ns != SQT_CELL_MISSING) {
            assert_true(ns >= 0);
            sum += ns;
        }
    }
    assert_true(REQUEST(row, unaccounted_ns).number >= 0);
    assert_int_equal(sum, REQUEST(row, total_ns).number);
}

/* Compares missing and present numbers alike. */
#define assert_number(cell, value) assert_int_equal((cell).number, (value))

#define SCRIPT_TEST(name) cmocka_unit_test_setup_teardown(name, script_begin, script_end)

#endif
