/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ended.c - the slowest requests that ended in each of the last seconds, with what their lines in access.log say.
 *
 * Squid may write a line some time after its request ended.  So lines that are missing are looked for again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/visible.h"
#include "top.h"

/* Requests of a second that are kept. */
#define ENDED_EACH 8
/* For so long a line is looked for again, ns. */
#define ENDED_AGAIN (10 * WINDOW_SECOND)

struct ended_second {
    int64_t number; /* of the second */
    unsigned count;
    struct top_ended requests[ENDED_EACH];
};

struct top_ends {
    struct ended_second seconds[WINDOW_SECONDS];
};

/* ---- what is kept ---- */

static void
ended_text(char *to, size_t size, const char *text)
{
    sqt_visible_text(to, size, text ? text : "");
}

static void
ended_line(struct top_ended *e, const struct sqt_logged *l)
{
    e->logged = 1;
    ended_text(e->client, sizeof(e->client), l->client);
    ended_text(e->user, sizeof(e->user), l->user);
    ended_text(e->host, sizeof(e->host), l->host);
    ended_text(e->url, sizeof(e->url), l->url);
}

static void
ended_keep(struct top_ended *e, const struct sqt_request_fact *fact, const struct sqt_xact *x)
{
    const union sqt_cell *const row = fact->row;
    *e = (struct top_ended){.total = fact->end - fact->begin,
                            .end = fact->end,
                            .origin = x->origin,
                            .xid = x->id,
                            .conn = x->conn,
                            .kid = x->origin->identity.kid,
                            .status = row[SQT_CELL(requests, status)].number,
                            .class = row[SQT_CELL(requests, class)].text,
                            .stage = row[SQT_CELL(requests, longest_stage)].text};
    ended_text(e->method, sizeof(e->method), row[SQT_CELL(requests, method)].text);
    ended_text(e->server, sizeof(e->server), row[SQT_CELL(requests, server)].text);
    if (x->logged)
        ended_line(e, x->logged);
}

/* A place for a request that took so long; NULL: others took longer, or it is too old. */
static struct top_ended *
ended_place(struct top_ends *ends, int64_t end, int64_t total)
{
    const int64_t number = end / WINDOW_SECOND;
    struct ended_second *const s = &ends->seconds[(uint64_t)number % WINDOW_SECONDS];
    struct top_ended *least = s->requests;
    if (s->number > number)
        return NULL;
    if (s->number < number)
        s->number = number, s->count = 0;
    if (s->count < ENDED_EACH)
        return &s->requests[s->count++];
    for (unsigned i = 1; i < ENDED_EACH; ++i)
        if (s->requests[i].total < least->total)
            least = &s->requests[i];
    return least->total < total ? least : NULL;
}

void
top_ended_take(struct top *top, const struct sqt_request_fact *fact, const struct sqt_xact *x)
{
    const union sqt_cell *const rows[] = {fact->row};
    if (fact->begin == SQT_MISSING || sqt_durations_unknown(fact->outcome) || fact->outcome == SQT_OUTCOME_UNFINISHED ||
        !sqt_where_match(top->where, rows))
        return;
    if (!top->ends)
        top->ends = sqt_zeroed(1, sizeof(*top->ends));
    struct top_ended *const place = ended_place(top->ends, fact->end, fact->end - fact->begin);
    if (place)
        ended_keep(place, fact, x);
}

/* ---- later ---- */

void
top_ended_look(struct top *top)
{
    const int64_t now = top->now / WINDOW_SECOND;
    for (int64_t number = now - ENDED_AGAIN / WINDOW_SECOND; top->ends && number <= now; ++number) {
        struct ended_second *const s = &top->ends->seconds[(uint64_t)number % WINDOW_SECONDS];
        for (unsigned i = 0; s->number == number && i < s->count; ++i) {
            struct top_ended *const e = &s->requests[i];
            const struct sqt_logged *const line = e->logged || !e->origin || e->xid & SQT_UNNAMED
                                                      ? NULL
                                                      : sqt_stream_logged(top->stream, e->origin, e->xid, e->end);
            if (line)
                ended_line(e, line);
        }
    }
}

void
top_ended_forget(struct top *top, const struct sqt_origin *origin)
{
    for (unsigned n = 0; top->ends && n < WINDOW_SECONDS; ++n)
        for (unsigned i = 0; i < top->ends->seconds[n].count; ++i)
            if (top->ends->seconds[n].requests[i].origin == origin)
                top->ends->seconds[n].requests[i].origin = NULL;
}

void
top_ended_clear(struct top *top)
{
    free(top->ends);
    top->ends = NULL;
}

/* ---- all of a stretch of time ---- */

static int
ended_by_total(const void *one, const void *two)
{
    const struct top_ended *const a = *(const struct top_ended *const *)one;
    const struct top_ended *const b = *(const struct top_ended *const *)two;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->end < b->end) - (a->end > b->end);
}

const struct top_ended **
top_ended_of(const struct top *top, const struct window_span *span, size_t *count)
{
    const struct top_ended **all = sqt_zeroed((size_t)WINDOW_SECONDS * ENDED_EACH, sizeof(*all));
    *count = 0;
    for (int64_t number = span->first; top->ends && number <= span->last; ++number) {
        const struct ended_second *const s = &top->ends->seconds[(uint64_t)number % WINDOW_SECONDS];
        for (unsigned i = 0; s->number == number && i < s->count; ++i)
            all[(*count)++] = &s->requests[i];
    }
    qsort(all, *count, sizeof(const struct top_ended *), ended_by_total);
    return all;
}
