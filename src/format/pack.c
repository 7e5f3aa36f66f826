/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pack.c - see pack.h.
 */
#include "pack-internal.h"

#include <string.h>

uint16_t
sqt_pack_slot(enum sqt_predictor predictor, unsigned kind, unsigned event)
{
    switch (predictor) {
    case SQT_PREDICT_KIND:
        return (uint16_t)(SLOT_KIND + kind);
    case SQT_PREDICT_EVENT:
        return (uint16_t)(SLOT_EVENT + event);
    case SQT_PREDICT_TIME:
        return SLOT_TIME;
    case SQT_PREDICT_ZERO:
        break;
    }
    return SLOT_ZERO;
}

void
sqt_pack_table_init(struct sqt_pack_table *t)
{
    memset(t, 0, sizeof(*t));
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        const struct sqt_event_info *e = &sqt_events[i];
        t->id[i] = sqt_pack_slot(sqt_kinds[e->id.kind].predictor, e->id.kind, i);
        t->arg[i] = sqt_pack_slot(sqt_kinds[e->arg.kind].predictor, e->arg.kind, i);
        t->aux[i] = sqt_pack_slot(sqt_kinds[e->aux.kind].predictor, e->aux.kind, i);
    }
}

size_t
sqt_pack_bound(size_t count)
{
    return 6 * sizeof(uint32_t) + count * (1 + 2 + 4 * VARINT_MAX);
}

static inline __attribute__((always_inline)) uint8_t *
pack_put_field(struct pack_prediction *x, unsigned event, enum field field, uint64_t v, uint8_t *p)
{
    p = pack_put(p, zigzag(v - x->value[x->slot[event][field].from]));
    x->value[x->slot[event][field].to] = v;
    return p;
}

/* Where the next record goes in each column. */
struct pack_heads {
    uint8_t *at[COLUMNS];
};

/* Runs of flags are short, so a run is written with each of its records, until the next one has others: no jump that
 * could not be foreseen. */
static void
pack_put_events(struct pack_heads *h, unsigned *run, const struct sqt_record *records, size_t count, int last)
{
    uint8_t *events = h->at[COLUMN_EVENT], *flags = h->at[COLUMN_FLAGS];
    unsigned length = *run;
    for (const struct sqt_record *r = records; r < records + count; ++r) {
        *events++ = (uint8_t)r->event;
        flags[0] = (uint8_t)r->flags;
        flags[1] = (uint8_t)length;
        const unsigned ends = (last && r + 1 == records + count) || (uint8_t)r[1].flags != flags[0] || length == 255;
        flags += 2 * ends;
        length = ends ? 0 : length + 1;
    }
    *run = length;
    h->at[COLUMN_EVENT] = events;
    h->at[COLUMN_FLAGS] = flags;
}

static void
pack_put_times(struct pack_heads *h, uint64_t before, const struct sqt_record *records, size_t count)
{
    uint8_t *p = h->at[COLUMN_TIME];
    for (size_t i = 0; i < count; ++i) {
        p = pack_put_two(p, records[i].time - before);
        before = records[i].time;
    }
    h->at[COLUMN_TIME] = p;
}

static void
pack_put_fields(struct pack_heads *h, struct pack_prediction *x, const struct sqt_record *records, size_t count)
{
    uint8_t *ids = h->at[COLUMN_ID], *args = h->at[COLUMN_ARG], *auxs = h->at[COLUMN_AUX];
    for (const struct sqt_record *r = records; r < records + count; ++r) {
        const unsigned event = r->event & 0xff;
        x->value[VALUE_TIME] = r->time;
        ids = pack_put_field(x, event, FIELD_ID, r->id, ids);
        args = pack_put_field(x, event, FIELD_ARG, r->arg, args);
        auxs = pack_put_field(x, event, FIELD_AUX, r->aux, auxs);
    }
    h->at[COLUMN_ID] = ids;
    h->at[COLUMN_ARG] = args;
    h->at[COLUMN_AUX] = auxs;
}

/* Records that are looked at once for each column: they stay in the first-level cache meanwhile. */
#define CHUNK 32u

size_t
sqt_pack(const struct sqt_pack_table *t, const struct sqt_record *records, size_t count, uint8_t *out)
{
    static const unsigned most[COLUMNS] = {1, 2, VARINT_MAX, VARINT_MAX, VARINT_MAX, VARINT_MAX};
    struct pack_prediction x;
    struct pack_heads h;
    uint8_t *start[COLUMNS], *p = out;
    unsigned run = 0;

    pack_prediction_init(&x, t);
    for (unsigned c = 0; c < COLUMNS; ++c) { /* as far apart as they may need */
        start[c] = h.at[c] = p + sizeof(uint32_t);
        p = start[c] + count * most[c];
    }
    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t n = count - i < CHUNK ? count - i : CHUNK;
        pack_put_events(&h, &run, records + i, n, i + n == count);
        pack_put_times(&h, records[i ? i - 1 : 0].time, records + i, n);
        pack_put_fields(&h, &x, records + i, n);
    }
    p = out;
    for (unsigned c = 0; c < COLUMNS; ++c) { /* a column is preceded by its length */
        const uint32_t size = (uint32_t)(h.at[c] - start[c]);
        memcpy(p, &size, sizeof(size));
        memmove(p + sizeof(size), start[c], size);
        p += sizeof(size) + size;
    }
    return (size_t)(p - out);
}
