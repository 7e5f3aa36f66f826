/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * otlp.c - see otlp.h.
 */
#include "otlp.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "blocks.h"
#include "format/span-id.h"
#include "keep.h"
#include "row/cells.h"
#include "row/kept.h"
#include "spans.h"

/* Bytes of the stages of all requests that are not over. */
#define OTLP_STAGE_BYTES ((size_t)16 << 20)
/* For so long spans wait for a request: ns. */
#define OTLP_PATIENCE INT64_C(600000000000)

struct sqt_otlp {
    struct sqt_otlp_settings settings;
    struct sqt_otlp_keep keep;
    struct sqt_otlp_blocks blocks;
    struct sqt_keep stages;     /* of requests that are not over */
    struct sqt_otlp_text part;  /* a span without its place */
    struct sqt_otlp_text spans; /* of the object that is made */
    unsigned span_count;
    uint64_t forgotten;
    struct {
        uint64_t ring, record, index; /* of the last of a kind */
        int64_t begin;
    } last[SQT_OTLP_KINDS];
};

struct sqt_otlp *
sqt_otlp_new(const struct sqt_otlp_settings *settings)
{
    struct sqt_otlp *const o = sqt_zeroed(1, sizeof(*o));
    o->settings = *settings;
    o->stages.left = OTLP_STAGE_BYTES;
    return o;
}

/* ---- whose they are ---- */

/* A number of the ring. */
static uint64_t
otlp_ring(const struct sqt_origin *origin)
{
    uint64_t halves[2];
    memcpy(halves, origin->identity.ring_id, sizeof(halves));
    return halves[0] ^ halves[1];
}

static uint64_t
otlp_wall(const struct sqt_otlp *o, const struct sqt_origin *origin)
{
    const int64_t wall = sqt_origin_wall_ns(origin);
    return wall != INT64_MIN ? (uint64_t)wall : o->settings.start_ns;
}

/* A later segment may name a host that an earlier one could not. */
static struct sqt_otlp_resource *
otlp_resource(struct sqt_otlp *o, const struct sqt_origin *origin)
{
    struct sqt_otlp_resource *resource = sqt_otlp_find_resource(&o->keep, origin->identity.ring_id);
    const int named = sqt_origin_text(origin, SQT_DEF_HOST, 0) != NULL;
    if (!resource)
        resource = sqt_otlp_new_resource(&o->keep, origin->identity.ring_id);
    if (!resource->text.size || (named && !resource->named)) {
        resource->text.size = 0;
        resource->named = named;
        sqt_otlp_resource_text(&resource->text, origin);
    }
    return resource;
}

/* Where the request stands in its trace.  Whatever chooses another trace for it does so here, by the members of the
 * transaction; spans that wait for it, and samplers, take it from there. */
static void
otlp_place_request(struct sqt_otlp_ids *ids, const struct sqt_xact *xact)
{
    sqt_otlp_request_ids(ids, xact->origin->identity.ring_id, xact->id);
    if (!xact->context)
        return;
    sqt_otlp_put_id(ids->trace, xact->context->trace_high);
    sqt_otlp_put_id(ids->trace + 8, xact->context->trace_low);
    sqt_otlp_put_id(ids->parent, xact->context->parent);
    ids->flags = (xact->context->flags & SQT_OTLP_TRACE_FLAGS) | SQT_OTLP_REMOTE_PARENT;
}

/* The key of a transaction: its trace id, as it is derived. */
static uint64_t
otlp_key(const struct sqt_origin *origin, uint64_t xact)
{
    struct sqt_otlp_ids ids;
    uint64_t key;
    sqt_otlp_request_ids(&ids, origin->identity.ring_id, xact);
    memcpy(&key, ids.trace, sizeof(key));
    return key;
}

/* Numbers a span among those of its kind that the same record ended; or, if none did, that began at the same time. */
static uint64_t
otlp_index(struct sqt_otlp *o, enum sqt_otlp_kind kind, const struct sqt_origin *origin, uint64_t record, int64_t begin)
{
    const uint64_t ring = otlp_ring(origin);
    const int again = o->last[kind].ring == ring && o->last[kind].record == record &&
                      (record != UINT64_MAX || o->last[kind].begin == begin);
    o->last[kind].index = again ? o->last[kind].index + 1 : 0;
    o->last[kind].ring = ring;
    o->last[kind].record = record;
    o->last[kind].begin = begin;
    return o->last[kind].index;
}

static void
otlp_child_id(struct sqt_otlp *o, uint8_t id[8], enum sqt_otlp_kind kind, const struct sqt_origin *origin,
              uint64_t record, int64_t begin)
{
    const uint64_t index = otlp_index(o, kind, origin, record, begin);
    const uint64_t numbers[3] = {record, index, record == UINT64_MAX ? (uint64_t)begin : 0};
    sqt_otlp_span_id(id, origin->identity.ring_id, kind, numbers);
}

/* ---- telling ---- */

static int
otlp_none(const uint8_t id[8])
{
    static const uint8_t none[8];
    return memcmp(id, none, sizeof(none)) == 0;
}

/* Adds a span to the object that is made: its place, and the part. */
static void
otlp_add(struct sqt_otlp *o, const struct sqt_otlp_ids *ids, const char *part, size_t size, int outside)
{
    struct sqt_otlp_text *const t = &o->spans;
    sqt_otlp_put(t, o->span_count++ ? ",{\"traceId\":\"" : "{\"traceId\":\"");
    sqt_otlp_hex(t, ids->trace, sizeof(ids->trace));
    sqt_otlp_put(t, "\",\"spanId\":\"");
    sqt_otlp_hex(t, ids->span, sizeof(ids->span));
    if (!otlp_none(ids->parent)) {
        sqt_otlp_put(t, "\",\"parentSpanId\":\"");
        sqt_otlp_hex(t, ids->parent, sizeof(ids->parent));
    }
    sqt_otlp_put(t, "\",\"flags\":");
    sqt_otlp_unsigned(t, ids->flags);
    sqt_otlp_put(t, ",");
    sqt_otlp_bytes(t, part, size);
    if (outside)
        sqt_otlp_flag_attribute(t, "squid.", "outside_request", 1);
    sqt_otlp_put(t, "]}");
}

/* Begins an object. */
static void
otlp_open(struct sqt_otlp *o, const struct sqt_otlp_resource *resource)
{
    o->spans.size = 0;
    o->span_count = 0;
    sqt_otlp_put(&o->spans, "{\"resource\":");
    sqt_otlp_bytes(&o->spans, resource->text.bytes, resource->text.size);
    sqt_otlp_put(&o->spans,
                 ",\"scopeSpans\":[{\"scope\":{\"name\":\"sqtrace\",\"version\":\"" PACKAGE_VERSION "\"},\"spans\":[");
}

static void
otlp_close(struct sqt_otlp *o)
{
    sqt_otlp_put(&o->spans, "]}]}");
    if (o->span_count)
        o->settings.take(o->settings.context, o->spans.bytes, o->spans.size, o->span_count);
}

/* A child of an entry, as its verdict wants it. */
static void
otlp_add_child(struct sqt_otlp *o, const struct sqt_otlp_entry *e, const struct sqt_otlp_child *child, const char *part,
               size_t size)
{
    struct sqt_otlp_ids ids = e->ids;
    const int parent = e->verdict == SQT_OTLP_TOLD || e->verdict == SQT_OTLP_WAITS;
    memcpy(ids.span, child->span, sizeof(ids.span));
    memset(ids.parent, 0, sizeof(ids.parent));
    ids.flags &= SQT_OTLP_TRACE_FLAGS;
    if (parent)
        memcpy(ids.parent, e->ids.span, sizeof(ids.parent));
    otlp_add(o, &ids, part, size, e->verdict == SQT_OTLP_TOLD && (child->begin < e->begin || child->end > e->end));
}

/* Head sampling.  Where the client named the trace, it has made the choice, as for OpenTelemetry's sampler ParentBased. */
static int
otlp_head_keeps(const struct sqt_otlp_sampling *s, const struct sqt_otlp_ids *ids)
{
    return ids->flags & SQT_OTLP_REMOTE_PARENT ? (ids->flags & 1) != 0 : sqt_otlp_sampled(ids->trace, s->head);
}

/* Whether spans of a trace are told without their request. */
static int
otlp_wants_trace(const struct sqt_otlp *o, const struct sqt_otlp_ids *ids, int64_t begin)
{
    const struct sqt_otlp_settings *const s = &o->settings;
    const int tail = s->sampling.slow || s->sampling.failed;
    return !s->picks && (!s->wants || s->wants(s->context, begin, NULL)) && otlp_head_keeps(&s->sampling, ids) &&
           (!tail || sqt_otlp_sampled(ids->trace, s->sampling.rest));
}

/* Tells the children of an entry; its request is not known. */
static void
otlp_tell_children(struct sqt_otlp *o, struct sqt_otlp_entry *e)
{
    otlp_open(o, e->resource);
    for (const struct sqt_otlp_child *c = e->children; c; c = c->next)
        if (otlp_wants_trace(o, &e->ids, c->begin))
            otlp_add_child(o, e, c, c->text, c->size);
    otlp_close(o);
}

/* Gives up waiting for the request of an entry, which may still come: the spans name it as their parent.  Where only a request
 * says whether they are told, they are forgotten.  forced: only because there are too many. */
static void
otlp_give_up(struct sqt_otlp *o, struct sqt_otlp_entry *e, int forced)
{
    const struct sqt_otlp_sampling *const s = &o->settings.sampling;
    if (o->settings.picks || s->slow || s->failed)
        for (const struct sqt_otlp_child *c = e->children; (forced || e->asked) && c; c = c->next)
            o->forgotten += (unsigned)otlp_head_keeps(s, &e->ids);
    else
        otlp_tell_children(o, e);
    sqt_otlp_drop(&o->keep, e);
}

/* Makes room for another open transaction, or for another span of an open one. */
static void
otlp_make_room(struct sqt_otlp *o, int64_t now)
{
    struct sqt_otlp_entry *e;
    while ((e = sqt_otlp_too_many(&o->keep)))
        otlp_give_up(o, e, 1);
    while ((e = o->keep.open.first) && now - e->since > OTLP_PATIENCE)
        otlp_give_up(o, e, 0);
}

static struct sqt_otlp_entry *
otlp_entry(struct sqt_otlp *o, const struct sqt_origin *origin, uint64_t xact, int64_t now)
{
    const uint64_t key = otlp_key(origin, xact);
    otlp_make_room(o, now);
    struct sqt_otlp_entry *e = sqt_otlp_find(&o->keep, key);
    if (e && e->verdict == SQT_OTLP_WAITS && now > e->since) {
        e->since = now;
        sqt_otlp_goes_on(&o->keep, e);
    }
    if (e)
        return e;
    e = sqt_otlp_enter(&o->keep, key, otlp_resource(o, origin));
    e->since = now;
    sqt_otlp_request_ids(&e->ids, origin->identity.ring_id, xact);
    return e;
}

/* ---- spans of requests ---- */

/* The part of a child is made. */
static void
otlp_child(struct sqt_otlp *o, const struct sqt_origin *origin, uint64_t xact, const struct sqt_otlp_child *child)
{
    if (!xact || xact & SQT_UNNAMED) {
        struct sqt_otlp_ids ids = {.flags = 1};
        memcpy(ids.span, child->span, sizeof(ids.span));
        sqt_otlp_own_trace(ids.trace, child->span, origin->identity.ring_id);
        if (!otlp_wants_trace(o, &ids, child->begin))
            return;
        otlp_open(o, otlp_resource(o, origin));
        otlp_add(o, &ids, o->part.bytes, o->part.size, 0);
        otlp_close(o);
        return;
    }
    struct sqt_otlp_entry *const e = otlp_entry(o, origin, xact, child->end);
    if (e->verdict == SQT_OTLP_WAITS) {
        sqt_otlp_wait(&o->keep, e, child, &o->part);
    } else if (e->verdict == SQT_OTLP_TOLD ||
               (e->verdict == SQT_OTLP_NO_REQUEST && otlp_wants_trace(o, &e->ids, child->begin))) {
        otlp_open(o, e->resource);
        otlp_add_child(o, e, child, o->part.bytes, o->part.size);
        otlp_close(o);
    }
}

void
sqt_otlp_connection(struct sqt_otlp *o, const struct sqt_attempt *a, uint64_t record)
{
    struct sqt_otlp_child child = {.begin = a->begin, .end = sqt_durations_unknown(a->outcome) ? a->begin : a->end};
    otlp_child_id(o, child.span, SQT_OTLP_TRY, a->origin, record, a->begin);
    o->part.size = 0;
    sqt_otlp_connection_text(&o->part, a, otlp_wall(o, a->origin));
    otlp_child(o, a->origin, a->xact, &child);
}

/* Its id is the one that the server got.  So it needs no number of a record. */
void
sqt_otlp_sent(struct sqt_otlp *o, const struct sqt_try_row *try, uint64_t record)
{
    const struct sqt_origin *const origin = try->xact->origin;
    struct sqt_otlp_child child = {.begin = try->begin,
                                   .end = sqt_durations_unknown(try->outcome) ? try->begin : try->end};
    (void)record;
    sqt_otlp_put_id(child.span, sqt_span_try(origin->identity.ring_id, try->xact->id, try->number));
    o->part.size = 0;
    sqt_otlp_try_text(&o->part, try, otlp_wall(o, origin));
    otlp_child(o, origin, try->xact->id, &child);
}

void
sqt_otlp_waited(struct sqt_otlp *o, const struct sqt_wait *wait, uint64_t record)
{
    struct sqt_otlp_child child = {.begin = wait->begin, .end = sqt_wait_unknown(wait) ? wait->begin : wait->end};
    otlp_child_id(o, child.span, SQT_OTLP_WAIT, wait->origin, record, wait->begin);
    o->part.size = 0;
    sqt_otlp_wait_text(&o->part, wait, otlp_wall(o, wait->origin));
    otlp_child(o, wait->origin, wait->xact, &child);
}

/* ---- swaps ---- */

void
sqt_otlp_io(struct sqt_otlp *o, const struct sqt_io *io)
{
    sqt_otlp_block(&o->blocks, io, otlp_wall(o, io->swap->origin));
}

void
sqt_otlp_swap(struct sqt_otlp *o, struct sqt_swap *swap, uint64_t record)
{
    const struct sqt_otlp_events *const events = swap->user;
    struct sqt_otlp_child child = {.begin = swap->begin,
                                   .end = sqt_durations_unknown(swap->outcome) ? swap->begin : swap->end};
    otlp_child_id(o, child.span, SQT_OTLP_SWAP, swap->origin, record, swap->begin);
    o->part.size = 0;
    sqt_otlp_swap_text(&o->part, swap, events ? &events->text : NULL, events ? events->dropped : 0,
                       otlp_wall(o, swap->origin));
    sqt_otlp_blocks_drop(&o->blocks, swap);
    otlp_child(o, swap->origin, swap->xact, &child);
}

/* ---- stages ---- */

/* Spans wait for a request for as long as it goes from stage to stage; if that takes too long, they are told in its trace. */
static void
otlp_goes_on(struct sqt_otlp *o, const struct sqt_charge *charge)
{
    const struct sqt_xact *const xact = charge->xact;
    struct sqt_otlp_entry *const e =
        o->keep.open.count ? sqt_otlp_find(&o->keep, otlp_key(xact->origin, xact->id)) : NULL;
    if (!e || e->verdict != SQT_OTLP_WAITS)
        return;
    otlp_place_request(&e->ids, xact);
    e->asked = 1;
    e->since = charge->until > e->since ? charge->until : e->since;
    sqt_otlp_goes_on(&o->keep, e);
}

void
sqt_otlp_charge(struct sqt_otlp *o, const struct sqt_charge *charge)
{
    otlp_goes_on(o, charge);
    if (o->settings.sampling.stages)
        sqt_keep_charge(&o->stages, charge);
}

void
sqt_otlp_recharge(struct sqt_otlp *o, const struct sqt_charge *charge)
{
    (void)o;
    if (charge->xact->user)
        sqt_keep_recharge(charge);
}

/* The next time that a request spent in a stage.  Returns 0 behind the last one. */
static int
otlp_next_stage(const struct sqt_xact *xact, size_t *i, struct sqt_tile *tile)
{
    while (sqt_keep_tile(xact, i, tile))
        if (tile->stage != SQT_UNACCOUNTED)
            return 1;
    return 0;
}

static uint64_t
otlp_stages_left_out(const struct sqt_xact *xact)
{
    const struct sqt_kept *const kept = xact->user;
    struct sqt_tile tile;
    uint64_t count = 0;
    for (size_t i = 0; otlp_next_stage(xact, &i, &tile);)
        ++count;
    return (count > SQT_OTLP_STAGES ? count - SQT_OTLP_STAGES : 0) + (kept && kept->until != INT64_MAX);
}

/* Tells the stages of a request that is told. */
static void
otlp_tell_stages(struct sqt_otlp *o, const struct sqt_otlp_entry *e, const struct sqt_xact *xact, uint64_t record)
{
    struct sqt_tile tile;
    size_t i = 0;
    for (uint64_t n = 0; n < SQT_OTLP_STAGES && otlp_next_stage(xact, &i, &tile); ++n) {
        const uint64_t numbers[3] = {xact->id, n, record};
        struct sqt_otlp_child child = {.begin = tile.from, .end = tile.until};
        sqt_otlp_span_id(child.span, xact->origin->identity.ring_id, SQT_OTLP_STAGE, numbers);
        o->part.size = 0;
        sqt_otlp_stage_text(&o->part, &tile, otlp_wall(o, xact->origin));
        otlp_add_child(o, e, &child, o->part.bytes, o->part.size);
    }
}

/* ---- requests ---- */

/* Head sampling first; of what it keeps, tail sampling. */
static int
otlp_keeps(const struct sqt_otlp_sampling *s, const struct sqt_xact *xact, const struct sqt_otlp_ids *ids,
           const union sqt_cell *row)
{
    const int64_t total = row[SQT_CELL(requests, total_ns)].number;
    if (!otlp_head_keeps(s, ids))
        return 0;
    if (!s->slow && !s->failed)
        return 1;
    return (s->slow && total != SQT_CELL_MISSING && total >= s->slow) ||
           (s->failed && sqt_otlp_request_failed(xact, row)) || sqt_otlp_sampled(ids->trace, s->rest);
}

static void
otlp_tell_request(struct sqt_otlp *o, struct sqt_otlp_entry *e, const struct sqt_xact *xact, const union sqt_cell *row,
                  uint64_t record)
{
    const int stages = o->settings.sampling.stages && !sqt_durations_unknown(xact->outcome);
    const uint64_t left_out = stages ? otlp_stages_left_out(xact) : 0;
    o->part.size = 0;
    sqt_otlp_request_text(&o->part, xact, row, otlp_wall(o, xact->origin));
    if (left_out)
        sqt_otlp_number_attribute(&o->part, "squid.", "stages_left_out", (int64_t)left_out);
    otlp_open(o, e->resource);
    otlp_add(o, &e->ids, o->part.bytes, o->part.size, 0);
    for (const struct sqt_otlp_child *c = e->children; c; c = c->next)
        otlp_add_child(o, e, c, c->text, c->size);
    if (stages)
        otlp_tell_stages(o, e, xact, record);
    otlp_close(o);
}

void
sqt_otlp_request(struct sqt_otlp *o, const struct sqt_xact *xact, uint64_t record)
{
    const struct sqt_otlp_settings *const s = &o->settings;
    union sqt_cell row[SQT_CELLS(requests)];
    struct sqt_otlp_entry *const e = otlp_entry(o, xact->origin, xact->id, xact->end);
    const int another = e->verdict != SQT_OTLP_WAITS;
    sqt_request_cells(row, xact);
    otlp_place_request(&e->ids, xact);
    if (another) { /* a request with this id was over before: this one gets a span of its own */
        const uint64_t numbers[3] = {xact->id, record, (uint64_t)xact->end};
        sqt_otlp_span_id(e->ids.span, xact->origin->identity.ring_id, SQT_OTLP_REQUEST, numbers);
    }
    e->begin = xact->begin == SQT_MISSING ? xact->end : xact->begin;
    e->end = sqt_durations_unknown(xact->outcome) ? e->begin : xact->end;
    const int wanted =
        otlp_keeps(&s->sampling, xact, &e->ids, row) && (!s->wants || s->wants(s->context, e->begin, row));
    e->verdict = wanted ? SQT_OTLP_TOLD : SQT_OTLP_LEFT_OUT;
    if (wanted)
        otlp_tell_request(o, e, xact, row, record);
    sqt_keep_drop(&o->stages, xact->user);
    sqt_otlp_drop_children(&o->keep, e);
    if (!another)
        sqt_otlp_end(&o->keep, e);
}

void
sqt_otlp_unlogged(struct sqt_otlp *o, const struct sqt_xact *xact)
{
    struct sqt_otlp_entry *const e = sqt_otlp_find(&o->keep, otlp_key(xact->origin, xact->id));
    sqt_keep_drop(&o->stages, xact->user);
    if (!e || e->verdict != SQT_OTLP_WAITS)
        return;
    e->verdict = SQT_OTLP_NO_REQUEST;
    otlp_tell_children(o, e);
    sqt_otlp_drop_children(&o->keep, e);
    sqt_otlp_end(&o->keep, e);
}

/* ---- the end ---- */

uint64_t
sqt_otlp_forgotten(const struct sqt_otlp *o)
{
    return o->forgotten;
}

void
sqt_otlp_finish(struct sqt_otlp *o)
{
    struct sqt_otlp_entry *e;
    while ((e = o->keep.open.first)) {
        e->verdict = SQT_OTLP_NO_REQUEST;
        otlp_tell_children(o, e);
        sqt_otlp_end(&o->keep, e);
    }
}

void
sqt_otlp_free(struct sqt_otlp *o)
{
    if (!o)
        return;
    sqt_otlp_keep_free(&o->keep);
    sqt_keep_free(&o->stages);
    sqt_otlp_blocks_free(&o->blocks);
    sqt_otlp_text_free(&o->part);
    sqt_otlp_text_free(&o->spans);
    free(o);
}
