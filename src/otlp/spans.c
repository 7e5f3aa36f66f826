/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spans.c - see spans.h.
 */
#include "spans.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "row/cells.h"

/* The numbers of OTLP. */
enum { SPANS_INTERNAL = 1, SPANS_SERVER = 2, SPANS_CLIENT = 3 };
#define SPANS_FAILED ",\"status\":{\"code\":2}"

/* 16 hexadecimal digits, as a trace has them if nobody named its host. */
static int
spans_is_number(const char *host)
{
    return strlen(host) == 16 && strspn(host, "0123456789abcdef") == 16;
}

void
sqt_otlp_resource_text(struct sqt_otlp_text *t, const struct sqt_origin *origin)
{
    const struct sqt_identity *const id = &origin->identity;
    const char *const host = sqt_origin_text(origin, SQT_DEF_HOST, 0);
    char ring[2 * sizeof(id->ring_id) + 1], *to = ring;
    for (unsigned i = 0; i < sizeof(id->ring_id); ++i)
        to += snprintf(to, 3, "%02x", id->ring_id[i]);
    sqt_otlp_put(t, "{\"attributes\":[");
    sqt_otlp_text_attribute(t, "", "service.name", *id->service ? id->service : "squid");
    sqt_otlp_text_attribute(t, "", "service.instance.id", ring);
    if (*id->squid_version)
        sqt_otlp_text_attribute(t, "", "service.version", id->squid_version);
    if (host) /* without host= it is a number that stands for the machine */
        sqt_otlp_text_attribute(t, "", spans_is_number(host) ? "host.id" : "host.name", host);
    sqt_otlp_number_attribute(t, "", "process.pid", id->pid);
    sqt_otlp_number_attribute(t, "", "squid.kid", id->kid);
    sqt_otlp_put(t, "]}");
}

/* Name, kind and times. */
static void
spans_begin(struct sqt_otlp_text *t, const char *name, unsigned kind, uint64_t begin, uint64_t end)
{
    sqt_otlp_put(t, "\"name\":");
    sqt_otlp_string(t, name);
    sqt_otlp_put(t, ",\"kind\":");
    sqt_otlp_unsigned(t, kind);
    sqt_otlp_put(t, ",\"startTimeUnixNano\":\"");
    sqt_otlp_unsigned(t, begin);
    sqt_otlp_put(t, "\",\"endTimeUnixNano\":\"");
    sqt_otlp_unsigned(t, end);
    sqt_otlp_put(t, "\"");
}

/* The state, and the attributes up to the first. */
static void
spans_attributes(struct sqt_otlp_text *t, const char *error)
{
    sqt_otlp_put(t, error ? SPANS_FAILED ",\"attributes\":[" : ",\"attributes\":[");
    if (error)
        sqt_otlp_text_attribute(t, "", "error.type", error);
}

/* ---- requests ---- */

#define CELL(name) row[SQT_CELL(requests, name)]

int
sqt_otlp_request_failed(const struct sqt_xact *xact, const union sqt_cell *row)
{
    const char *const outcome = CELL(outcome).text;
    return sqt_xact_got_error(xact) || strcmp(outcome, sqt_outcome_names[SQT_OUTCOME_ERROR]) == 0 ||
           strcmp(outcome, sqt_outcome_names[SQT_OUTCOME_TIMEOUT]) == 0;
}

/* The methods that HTTP's conventions know; others could be anything. */
static int
spans_knows_method(const char *method)
{
    static const char *const known[] = {"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"};
    for (unsigned i = 0; i < sizeof(known) / sizeof(*known); ++i)
        if (strcmp(known[i], method) == 0)
            return 1;
    return 0;
}

static void
spans_method(struct sqt_otlp_text *t, const char *method)
{
    if (!method)
        return;
    sqt_otlp_text_attribute(t, "", "http.request.method", spans_knows_method(method) ? method : "_OTHER");
    if (!spans_knows_method(method))
        sqt_otlp_text_attribute(t, "", "http.request.method_original", method);
}

void
sqt_otlp_request_text(struct sqt_otlp_text *t, const struct sqt_xact *xact, const union sqt_cell *row, uint64_t wall)
{
    static const unsigned without[] = {SQT_CELL(requests, time_s),    SQT_CELL(requests, kid),
                                       SQT_CELL(requests, method),    SQT_CELL(requests, status),
                                       SQT_CELL(requests, server),    SQT_CELL(requests, trace_id),
                                       SQT_CELL(requests, parent_id), SQT_CELL(requests, trace_flags),
                                       SQT_CELL(requests, notes),     UINT_MAX};
    const char *const method = CELL(method).text;
    const int64_t begin = xact->begin == SQT_MISSING ? xact->end : xact->begin;
    const int64_t end = sqt_durations_unknown(xact->outcome) ? begin : xact->end;
    const int64_t status = CELL(status).number;
    char number[32];
    const char *error = NULL;
    if (sqt_otlp_request_failed(xact, row)) {
        snprintf(number, sizeof(number), "%lld", (long long)status);
        error = sqt_xact_got_error(xact) ? number : CELL(outcome).text;
    }
    spans_begin(t, method && spans_knows_method(method) ? method : "HTTP", SPANS_SERVER, wall + (uint64_t)begin,
                wall + (uint64_t)end);
    spans_attributes(t, error);
    spans_method(t, method);
    if (status != SQT_CELL_MISSING && status)
        sqt_otlp_number_attribute(t, "", "http.response.status_code", status);
    sqt_otlp_cells(t, &sqt_tables[SQT_TABLE_requests], row, without);
    for (unsigned i = 0; xact->notes && i < xact->notes->count; ++i)
        sqt_otlp_text_attribute(t, "squid.note.", xact->notes->of[i].name, xact->notes->of[i].value);
}

void
sqt_otlp_stage_text(struct sqt_otlp_text *t, const struct sqt_tile *tile, uint64_t wall)
{
    spans_begin(t, sqt_stages[tile->stage].name, SPANS_INTERNAL, wall + (uint64_t)tile->from,
                wall + (uint64_t)tile->until);
    spans_attributes(t, NULL);
    sqt_otlp_flag_attribute(t, "squid.", "stage", 1);
}

/* ---- what it waits for ---- */

/* 127.0.0.1:80, [::1]:80, the name of a cache_peer; a number that stands for a server is no address. */
static void
spans_server(struct sqt_otlp_text *t, const char *server)
{
    char address[256];
    const char *const colon = server ? strrchr(server, ':') : NULL;
    if (!server || strncmp(server, "origin-", 7) == 0 || strncmp(server, "cache_peer ", 11) == 0 ||
        strcmp(server, "other") == 0)
        return;
    const size_t length = colon ? (size_t)(colon - server) : strlen(server);
    const int six = colon && *server == '[' && length > 2 && server[length - 1] == ']';
    snprintf(address, sizeof(address), "%.*s", (int)(six ? length - 2 : length), server + six);
    sqt_otlp_text_attribute(t, "", "server.address", address);
    if (colon)
        sqt_otlp_number_attribute(t, "", "server.port", strtol(colon + 1, NULL, 10));
}

void
sqt_otlp_try_text(struct sqt_otlp_text *t, const struct sqt_try_row *try, uint64_t wall)
{
    const struct sqt_xact *const x = try->xact;
    const int64_t end = sqt_durations_unknown(try->outcome) ? try->begin : try->end;
    const int failed = try->outcome == SQT_OUTCOME_ERROR || try->outcome == SQT_OUTCOME_TIMEOUT;
    const char *const method = x->method == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_METHOD, x->method);
    spans_begin(t, method && spans_knows_method(method) ? method : "HTTP", SPANS_CLIENT, wall + (uint64_t)try->begin,
                wall + (uint64_t)end);
    spans_attributes(t, failed ? sqt_outcome_names[try->outcome] : NULL);
    spans_method(t, method);
    spans_server(t, try->server == UINT32_MAX ? NULL : sqt_origin_text(x->origin, SQT_DEF_SERVER, try->server));
    if (try->number > 1)
        sqt_otlp_number_attribute(t, "", "http.request.resend_count", try->number - 1);
    sqt_otlp_number_attribute(t, "squid.", "try", try->number);
    sqt_otlp_number_attribute(t, "squid.", "conn", (int64_t)try->conn);
}

void
sqt_otlp_connection_text(struct sqt_otlp_text *t, const struct sqt_attempt *a, uint64_t wall)
{
    static const unsigned without[] = {SQT_CELL(connections, time_s), SQT_CELL(connections, kid),
                                       SQT_CELL(connections, server), UINT_MAX};
    const int64_t end = sqt_durations_unknown(a->outcome) ? a->begin : a->end;
    const int failed = a->outcome == SQT_OUTCOME_ERROR || a->outcome == SQT_OUTCOME_TIMEOUT;
    union sqt_cell cells[SQT_CELLS(connections)];
    sqt_connection_cells(cells, a);
    spans_begin(t, a->reused ? "server connection, reused" : "server connection", SPANS_CLIENT,
                wall + (uint64_t)a->begin, wall + (uint64_t)end);
    spans_attributes(t, failed ? sqt_outcome_names[a->outcome] : NULL);
    spans_server(t, cells[SQT_CELL(connections, server)].text);
    sqt_otlp_cells(t, &sqt_tables[SQT_TABLE_connections], cells, without);
}

/* A name server's name is its address. */
void
sqt_otlp_wait_text(struct sqt_otlp_text *t, const struct sqt_wait *wait, uint64_t wall)
{
    static const unsigned without[] = {SQT_CELL(waits, time_s), SQT_CELL(waits, kid), UINT_MAX};
    static const unsigned nameless[] = {SQT_CELL(waits, time_s), SQT_CELL(waits, kid), SQT_CELL(waits, name), UINT_MAX};
    const int64_t end = sqt_wait_unknown(wait) ? wait->begin : wait->end;
    const int failed = wait->outcome == SQT_WAIT_BROKEN || wait->outcome == SQT_WAIT_TIMEOUT ||
                       wait->outcome == SQT_WAIT_FAILED || wait->outcome == SQT_WAIT_DIED;
    union sqt_cell cells[SQT_CELLS(waits)];
    sqt_wait_cells(cells, wait);
    const char *const found = cells[SQT_CELL(waits, kind)].text, *const kind = found ? found : "wait";
    const int helper = found && strcmp(kind, sqt_waited_names[SQT_WAITED_NAME_SERVER]) != 0;
    const int inside = helper && strcmp(kind, sqt_waited_names[SQT_WAITED_ADAPTATION]) != 0;
    spans_begin(t, kind, inside ? SPANS_INTERNAL : SPANS_CLIENT, wall + (uint64_t)wait->begin, wall + (uint64_t)end);
    spans_attributes(t, failed ? sqt_wait_outcome_names[wait->outcome] : NULL);
    sqt_otlp_cells(t, &sqt_tables[SQT_TABLE_waits], cells, helper ? without : nameless);
}

void
sqt_otlp_swap_text(struct sqt_otlp_text *t, const struct sqt_swap *swap, const struct sqt_otlp_text *events,
                   uint64_t dropped, uint64_t wall)
{
    static const unsigned without[] = {SQT_CELL(swaps, time_s), SQT_CELL(swaps, kid), SQT_CELL(swaps, path), UINT_MAX};
    const int64_t end = sqt_durations_unknown(swap->outcome) ? swap->begin : swap->end;
    const int failed = swap->outcome == SQT_OUTCOME_ERROR || swap->outcome == SQT_OUTCOME_TIMEOUT;
    union sqt_cell cells[SQT_CELLS(swaps)];
    struct sqt_row_text text;
    sqt_swap_cells(cells, swap, &text);
    spans_begin(t, swap->out ? "swap-out" : "swap-in", SPANS_INTERNAL, wall + (uint64_t)swap->begin,
                wall + (uint64_t)end);
    if (events && events->size) {
        sqt_otlp_put(t, ",\"events\":[");
        sqt_otlp_bytes(t, events->bytes, events->size);
        sqt_otlp_put(t, "]");
    }
    if (dropped) {
        sqt_otlp_put(t, ",\"droppedEventsCount\":");
        sqt_otlp_unsigned(t, dropped < UINT32_MAX ? dropped : UINT32_MAX);
    }
    spans_attributes(t, failed ? sqt_outcome_names[swap->outcome] : NULL);
    sqt_otlp_cells(t, &sqt_tables[SQT_TABLE_swaps], cells, without);
}

void
sqt_otlp_io_text(struct sqt_otlp_text *t, const struct sqt_io *io, uint64_t wall)
{
    static const unsigned without[] = {SQT_CELL(ios, time_s),
                                       SQT_CELL(ios, kid),
                                       SQT_CELL(ios, sio),
                                       SQT_CELL(ios, xid),
                                       SQT_CELL(ios, direction),
                                       SQT_CELL(ios, dir),
                                       UINT_MAX};
    union sqt_cell cells[SQT_CELLS(ios)];
    sqt_io_cells(cells, io);
    sqt_otlp_put(t, t->size ? ",{\"timeUnixNano\":\"" : "{\"timeUnixNano\":\"");
    sqt_otlp_unsigned(t, wall + (uint64_t)io->asked);
    sqt_otlp_put(t, io->swap->out ? "\",\"name\":\"write\",\"attributes\":[" : "\",\"name\":\"read\",\"attributes\":[");
    sqt_otlp_cells(t, &sqt_tables[SQT_TABLE_ios], cells, without);
    sqt_otlp_put(t, "]}");
}
