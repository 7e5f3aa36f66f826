/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * waits.c - what requests wait for outside of Squid, as tracks: servers, helpers, adaptation services, name servers.
 */
#include "chrome.h"

#include <stdio.h>
#include <string.h>

#define NAME 400

/* ---- servers ---- */

static const char *
waits_server(const struct sqt_origin *origin, uint32_t server)
{
    const char *const name = server == UINT32_MAX ? NULL : sqt_origin_text(origin, SQT_DEF_SERVER, server);
    return name ? name : "server";
}

static void
waits_end_with_xid(struct sqt_chrome *c, uint64_t xact)
{
    if (xact && !(xact & SQT_UNNAMED))
        sqt_json_print(c->events.out, ",\"args\":{\"xid\":%llu}", (unsigned long long)xact);
    sqt_event_end(&c->events);
}

void
sqt_chrome_server_wait(struct sqt_chrome *c, const struct sqt_xact *xact, int64_t from, int64_t until)
{
    const struct sqt_chrome_place place = sqt_track_place(&c->tracks, xact->origin, SQT_TRACK_SERVERS, from, until);
    if (!place.thread)
        return;
    sqt_event_slice(&c->events, "server", waits_server(xact->origin, xact->server),
                    sqt_stage_colours[SQT_STAGE_SERVER_WAIT], place, from, until);
    waits_end_with_xid(c, xact->id);
}

static void
waits_attempt_cells(struct sqt_chrome *c, const struct sqt_attempt *a, int known)
{
    const char *const kind = sqt_origin_text(a->origin, SQT_DEF_PEER_KIND, a->peer_kind);
    sqt_json_print(c->events.out, ",\"args\":{\"conn\":%llu,\"reused\":%d,\"spare\":%d,\"outcome\":\"%s\"",
                   (unsigned long long)a->conn, a->reused, a->spare, sqt_outcome_names[a->outcome]);
    if (a->xact && !(a->xact & SQT_UNNAMED))
        sqt_json_print(c->events.out, ",\"xid\":%llu", (unsigned long long)a->xact);
    if (!a->reused && known)
        sqt_json_print(c->events.out, ",\"connect_ns\":%lld",
                       (long long)((a->connected == SQT_MISSING ? a->end : a->connected) - a->begin));
    if (kind) {
        sqt_json_text(c->events.out, ",\"peer_kind\":");
        sqt_json_string(c->events.out, kind);
    }
    sqt_json_text(c->events.out, "}");
    sqt_event_end(&c->events);
}

void
sqt_chrome_connection(void *context, const struct sqt_attempt *a)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    const int known = !sqt_durations_unknown(a->outcome);
    const char *const name = waits_server(a->origin, a->server);
    struct sqt_chrome_place place = {0, 0};
    if (!sqt_chrome_wants(job, a->begin))
        return;
    sqt_sink_header(c->sink);
    if (known)
        place = sqt_track_place(&c->tracks, a->origin, SQT_TRACK_CONNECTIONS, a->begin, a->end);
    if (!place.thread) {
        sqt_event_instant(&c->events, "connection", name, sqt_track_first(&c->tracks, a->origin, SQT_TRACK_CONNECTIONS),
                          a->begin);
        waits_attempt_cells(c, a, known);
        return;
    }
    sqt_event_slice(&c->events, "connection", name, sqt_stage_colours[SQT_STAGE_CONNECT], place, a->begin, a->end);
    waits_attempt_cells(c, a, known);
    if (a->tls != SQT_MISSING && a->end > a->tls) {
        sqt_event_slice(&c->events, "part", "tls", sqt_stage_colours[SQT_STAGE_TLS], place, a->tls, a->end);
        sqt_event_end(&c->events);
    }
}

/* ---- services ---- */

#define CELL(name) row[SQT_CELL(waits, name)]

static unsigned
waits_kind(const char *kind)
{
    unsigned i = 0;
    while (i + 1 < SQT_WAITED_KINDS && !(kind && strcmp(kind, sqt_waited_names[i]) == 0))
        ++i;
    return i;
}

/* As the stage of a request that waits for it. */
static const char *
waits_colour(unsigned kind)
{
    switch (kind) {
    case SQT_WAITED_ADAPTATION:
        return sqt_stage_colours[SQT_STAGE_ADAPT];
    case SQT_WAITED_NAME_SERVER:
        return sqt_stage_colours[SQT_STAGE_DNS];
    case SQT_WAITED_URL_REWRITE:
    case SQT_WAITED_STORE_ID:
        return sqt_stage_colours[SQT_STAGE_REDIRECT];
    default:
        return sqt_stage_colours[SQT_STAGE_HELPER];
    }
}

static void
waits_cells(struct sqt_chrome *c, const union sqt_cell *row)
{
    sqt_json_text(c->events.out, ",\"args\":{");
    sqt_json_cells(c->events.out, &sqt_tables[SQT_TABLE_waits], row, SQT_CELL(waits, xid), SQT_CELLS(waits), 0);
    sqt_json_text(c->events.out, "}");
    sqt_event_end(&c->events);
}

static void
waits_part(struct sqt_chrome *c, const char *name, unsigned part, struct sqt_chrome_place place, int64_t from,
           int64_t until)
{
    if (until <= from)
        return;
    sqt_event_slice(&c->events, "part", name, sqt_part_colours[part], place, from, until);
    sqt_event_end(&c->events);
}

void
sqt_chrome_wait(void *context, const struct sqt_wait *wait)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    union sqt_cell row[SQT_CELLS(waits)];
    struct sqt_chrome_place place = {0, 0};
    char name[NAME];
    if (!sqt_chrome_wants(job, wait->begin))
        return;
    sqt_sink_header(c->sink);
    sqt_wait_cells(row, wait);
    const unsigned kind = waits_kind(CELL(kind).text), track = SQT_TRACK_WAITS + kind;
    const int failed = wait->outcome != SQT_WAIT_OK && wait->outcome != SQT_WAIT_ERR;
    snprintf(name, sizeof(name), "%s%s%s", CELL(name).text ? CELL(name).text : sqt_waited_names[kind],
             failed ? ": " : "", failed ? CELL(outcome).text : "");
    if (CELL(total_ns).number != SQT_CELL_MISSING)
        place = sqt_track_place(&c->tracks, wait->origin, track, wait->begin, wait->end);
    if (!place.thread) {
        sqt_event_instant(&c->events, "wait", name, sqt_track_first(&c->tracks, wait->origin, track), wait->begin);
        waits_cells(c, row);
        return;
    }
    sqt_event_slice(&c->events, "wait", name, waits_colour(kind), place, wait->begin, wait->end);
    waits_cells(c, row);
    if (CELL(queue_ns).number == SQT_CELL_MISSING || CELL(service_ns).number == SQT_CELL_MISSING)
        return;
    const int64_t given = wait->begin + CELL(queue_ns).number;
    waits_part(c, "queue", SQT_IO_QUEUE, place, wait->begin, given);
    waits_part(c, "service", SQT_IO_SERVICE, place, given, wait->end);
}
