/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * stream.c - merges origins by time; see stream.h.
 */
#include "read/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "read/file/clock.h"
#include "stream-internal.h"

static int
by_key(const void *a, const void *b)
{
    const struct sqt_origin_reader *const x = *(struct sqt_origin_reader *const *)a,
                                          *const y = *(struct sqt_origin_reader *const *)b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->public.identity.kid < y->public.identity.kid ? -1 : x->public.identity.kid > y->public.identity.kid;
}

/* Looks at the first record of each origin, so that they can be opened in the order of time, each when its time
 * comes, and so that the stream's start is known. */
static void
look_ahead(struct sqt_stream *s)
{
    struct sqt_source_list *const l = &s->sources;
    s->waiting = sqt_zeroed(l->origin_count + 1, sizeof(struct sqt_origin_reader *));
    s->open = sqt_zeroed(l->origin_count + 1, sizeof(struct sqt_origin_reader *));
    int64_t start = INT64_MAX;
    s->diagnostics.muted = 1;
    for (size_t i = 0; i < l->origin_count; ++i) {
        struct sqt_origin_reader *const o = l->origins[i];
        if (sqt_origin_reader_load(o)) {
            o->placed_by_ring = o->from_ring && o->ring.owned;
            if (o->key < start) {
                start = o->key;
                s->wall_ns = (uint64_t)(o->key - o->offset_ns + o->wall_ns);
            }
        } else
            o->key = INT64_MIN; /* opened at once, to say what is wrong with it */
        sqt_origin_reader_rewind(o);
        s->waiting[s->waiting_count++] = o;
    }
    s->diagnostics.muted = 0;
    if (start == INT64_MAX) { /* no record at all */
        start = (int64_t)l->origins[0]->public.identity.start.realtime_ns;
        s->wall_ns = (uint64_t)start;
    }
    s->start_ns = (uint64_t)start;
    for (size_t i = 0; i < s->waiting_count; ++i) {
        struct sqt_origin_reader *const o = s->waiting[i];
        const int64_t too_late = sqt_stream_align(s, o);
        if (o->key == INT64_MIN)
            continue;
        o->key -= (int64_t)s->start_ns + too_late;
        /* What was in the ring may be in a segment when its time comes, and with other anchors. */
        o->first_ns = o->last_ns = o->key;
    }
    qsort(s->waiting, s->waiting_count, sizeof(*s->waiting), by_key);
}

struct sqt_stream *
sqt_stream_open(const char *const *paths, size_t count, sqt_diagnosis_function *report, void *context)
{
    struct sqt_stream *const s = sqt_zeroed(1, sizeof(*s));
    s->looked_now = sqt_monotonic_ns();
    s->diagnostics.function = report;
    s->diagnostics.context = context;
    s->sources.diagnostics = &s->diagnostics;
    s->sources.unpacker = &s->unpacker;
    s->sources.ahead = &s->ahead;
    for (size_t i = 0; i < count; ++i)
        sqt_sources_add(&s->sources, paths[i]);
    sqt_sources_complete(&s->sources);
    if (s->sources.origin_count == 0) {
        sqt_stream_close(s);
        return NULL;
    }
    look_ahead(s);
    return s;
}

void
sqt_stream_share(struct sqt_stream *s, struct sqt_crew *crew)
{
    s->ahead.crew = crew;
}

void
sqt_stream_keep_kids(struct sqt_stream *s, const uint32_t *kids, size_t count)
{
    free(s->kids);
    s->kid_count = 0;
    s->kids = sqt_allocated((count + 1) * sizeof(*kids));
    for (; s->kid_count < count; ++s->kid_count)
        s->kids[s->kid_count] = kids[s->kid_count];
}

void
sqt_stream_show_ring(struct sqt_stream *s, const struct sqt_origin *origin, const uint8_t *id)
{
    for (size_t i = 0; i < s->sources.origin_count; ++i)
        if (&s->sources.origins[i]->public == origin)
            memcpy(s->sources.origins[i]->public.shown_ring, id, sizeof(origin->shown_ring));
}

static void
stream_add_extent(struct sqt_extent *all, const struct sqt_extent *one)
{
    all->last_ns = one->last_ns > all->last_ns ? one->last_ns : all->last_ns;
    all->records += one->records;
    all->lost += one->lost;
    all->lost_known &= one->lost_known;
    all->overwritten += one->overwritten;
    all->recorder |= one->recorder;
}

void
sqt_stream_extent(const struct sqt_stream *s, struct sqt_extent *extent)
{
    memset(extent, 0, sizeof(*extent));
    extent->lost_known = 1;
    if (sqt_stream_is_log(s)) {
        sqt_stream_log_extent(s, extent);
        return;
    }
    for (size_t i = 0; i < s->waiting_count; ++i)
        if (sqt_stream_wants(s, s->waiting[i]))
            stream_add_extent(extent, sqt_origin_reader_extent(s->waiting[i]));
}

/* Whether one that waits must wait until another one ends. */
static int
stream_is_full(const struct sqt_stream *s)
{
    if (s->followed && s->sources.kept >= SQT_FOLLOW_KEPT_MOST)
        return 1;
    if (s->open_count < SQT_OPEN_MOST || !s->followed)
        return s->open_count >= SQT_OPEN_MOST;
    for (size_t i = 0; i < s->open_count; ++i)
        if (s->open[i]->writer_gone || s->open[i]->ended || s->open[i]->finished)
            return 1;
    return 0;
}

/* Opens the origins whose time has come. */
static void
stream_open_due(struct sqt_stream *s)
{
    while (s->waiting_next < s->waiting_count) {
        struct sqt_origin_reader *const o = s->waiting[s->waiting_next];
        if (!sqt_stream_wants(s, o)) {
            ++s->waiting_next;
            sqt_stream_pass_over(s, o);
            continue;
        }
        for (size_t i = 0; i < s->open_count; ++i)
            if (s->open[i]->left && s->open[i]->key < o->key)
                return;
        if (stream_is_full(s)) {
            if (!s->told_open && !s->followed)
                sqt_diagnose(&s->diagnostics, SQT_WARNING,
                             "kid %" PRIu32 ", pid %" PRIu32 ": more than %u processes wrote at a "
                             "time; its rows, and others, come later than their times",
                             o->public.identity.kid, o->public.identity.pid, SQT_OPEN_MOST);
            s->told_open = 1;
            return;
        }
        ++s->waiting_next;
        o->public.index = sqt_stream_free_index(s);
        ++s->opened;
        if (sqt_origin_reader_load(o) || sqt_stream_settle(s, o))
            s->open[s->open_count++] = o;
    }
}

/* Whether an origin of that time or an earlier one has to wait until another one ends. */
static int
stream_is_overdue(const struct sqt_stream *s, int64_t key)
{
    return s->waiting_next < s->waiting_count && s->waiting[s->waiting_next]->key <= key && stream_is_full(s);
}

/* Removes what was handed out last. */
static void
stream_advance(struct sqt_stream *s)
{
    struct sqt_origin_reader *const o = s->current;
    if (!o)
        return;
    s->current = NULL;
    if (o->left) {
        o->key = sqt_line_ns(&o->out_line, o->records->time);
        return;
    }
    const int loaded = sqt_stream_load(s, o);
    if (loaded > 0)
        o->taken_at = s->looked_now;
    if (loaded || sqt_stream_settle(s, o))
        return;
    o->public.over = 1;
    for (size_t i = 0; i < s->open_count; ++i)
        if (s->open[i] == o)
            s->open[i--] = s->open[--s->open_count];
}

/* Origins that have been read to their ends while they had nothing to hand out. */
static void
stream_drop_ended(struct sqt_stream *s)
{
    for (size_t i = 0; i < s->open_count; ++i) {
        struct sqt_origin_reader *const o = s->open[i];
        if (o->left || !(o->ended || o->finished))
            continue;
        if (!sqt_stream_load(s, o) && !sqt_stream_settle(s, o))
            s->open[i--] = s->open[--s->open_count];
    }
}

/* How many records of o come before `limit`; at least one, and whole units. */
static size_t
run_length(const struct sqt_origin_reader *o, int64_t limit)
{
    const struct sqt_record *const r = o->records;
    size_t n = 1, step = 1;
    if (sqt_line_ns(&o->out_line, r[o->left - 1].time) <= limit)
        return o->left;
    /* Runs are mostly short: steps that double find the end fast, and then the half-way points between. */
    while (n + step < o->left && sqt_line_ns(&o->out_line, r[n + step - 1].time) <= limit) {
        n += step;
        step *= 2;
    }
    for (; step; step /= 2)
        while (n + step <= o->left && sqt_line_ns(&o->out_line, r[n + step - 1].time) <= limit)
            n += step;
    while (n < o->left && (r[n].flags & SQT_FLAG_PART))
        ++n;
    return n;
}

/* Number of the record behind one that the reader made. */
static uint64_t
stream_behind_lost(const struct sqt_origin_reader *o)
{
    return o->count > o->skip ? o->first + o->skip : o->next;
}

int
sqt_stream_next(struct sqt_stream *s, struct sqt_run *run)
{
    if (sqt_stream_is_log(s))
        return sqt_stream_next_logged(s, run);
    stream_advance(s);
    if (s->waits)
        sqt_stream_load_waiting(s);
    stream_open_due(s);
    if (s->followed)
        stream_drop_ended(s);
    struct sqt_origin_reader *first = NULL;
    for (size_t i = 0; i < s->open_count; ++i)
        if (s->open[i]->left && (!first || s->open[i]->key < first->key))
            first = s->open[i];
    if (!first || !sqt_stream_lets(s, first))
        return 0;
    int64_t limit =
        s->waiting_next < s->waiting_count && !stream_is_full(s) ? s->waiting[s->waiting_next]->key : INT64_MAX;
    for (size_t i = 0; i < s->open_count; ++i)
        if (s->open[i] != first && s->open[i]->left && s->open[i]->key < limit)
            limit = s->open[i]->key;
    if ((s->followed || s->final) && s->limit < limit)
        limit = s->limit;

    const size_t n = limit == INT64_MAX ? first->left : run_length(first, limit);
    run->overdue = s->waits || stream_is_overdue(s, first->key);
    run->origin = &first->public;
    run->records = first->records;
    run->count = n;
    run->first = first->number;
    run->next = first->number != UINT64_MAX ? first->number + n : stream_behind_lost(first);
    run->line = first->out_line;
    run->unsure = first->unsure;
    run->logged = NULL;
    run->logged_count = 0;
    first->records += n;
    first->left -= n;
    if (first->number != UINT64_MAX)
        first->number += n;
    s->current = first;
    return 1;
}

void
sqt_stream_close(struct sqt_stream *s)
{
    if (!s)
        return;
    if (s->log)
        sqt_stream_log_close(s);
    sqt_sources_free(&s->sources);
    sqt_unpacker_free(&s->ahead.unpacker);
    sqt_unpacker_free(&s->unpacker);
    free(s->waiting);
    free(s->open);
    free(s->kids);
    free(s);
}

uint64_t
sqt_stream_start_ns(const struct sqt_stream *s)
{
    return s->wall_ns;
}

unsigned
sqt_stream_problems(const struct sqt_stream *s)
{
    return s->diagnostics.problems;
}

size_t
sqt_stream_origins(const struct sqt_stream *s)
{
    return s->waiting_count;
}

const struct sqt_origin *
sqt_stream_origin(const struct sqt_stream *s, size_t i)
{
    return &s->waiting[i]->public;
}

const char *
sqt_origin_text(const struct sqt_origin *origin, unsigned kind, uint32_t number)
{
    const struct sqt_origin_reader *const o = (const struct sqt_origin_reader *)origin;
    return sqt_dictionary_text(o->log_dictionary ? o->log_dictionary : &o->dictionary, kind, number);
}

const char *
sqt_origin_event_name(const struct sqt_origin *origin, unsigned event)
{
    return sqt_dictionary_event_name(&((const struct sqt_origin_reader *)origin)->dictionary, event);
}
