/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pack.c - see pack.h.
 */
#include "pack.h"

#include <string.h>

/* Bytes of the longest varint. */
#define VARINT_MAX 10

/* Slots of what the fields of coming records are expected to be. */
enum { SLOT_ZERO, SLOT_TIME, SLOT_KIND, SLOT_EVENT = SLOT_KIND + 256, SLOTS = SLOT_EVENT + 256 };

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

/* ---- varints: seven bits a byte, the lowest first; bit 7 says that another byte follows ---- */

static inline uint64_t
zigzag(uint64_t d)
{
    return (d << 1) ^ (uint64_t)((int64_t)d >> 63);
}

static inline uint64_t
unzigzag(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

/* The lower 56 bits of v, seven in each byte. */
static inline uint64_t
spread(uint64_t v)
{
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
    return (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* And back; bit 7 of each byte is ignored. */
static inline uint64_t
gather(uint64_t w)
{
    w = (w & UINT64_C(0x007f007f007f007f)) | (w & UINT64_C(0x7f007f007f007f00)) >> 1;
    w = (w & UINT64_C(0x00003fff00003fff)) | (w & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (w & UINT64_C(0x000000000fffffff)) | (w & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Three bytes and more. */
static __attribute__((noinline)) uint8_t *
put_long(uint8_t *p, uint64_t v)
{
    const uint64_t more = UINT64_C(0x8080808080808080); /* in each byte: another one follows */
    const unsigned top = (unsigned)(v >> 56), bytes = (9 * (64 - (unsigned)__builtin_clzll(v | 1)) + 64) / 64;
    const uint64_t w = spread(v) | (top ? more : more >> (72 - 8 * bytes));
    memcpy(p, &w, sizeof(w));
    if (top) {
        p[8] = (uint8_t)(top | (top > 0x7f) << 7);
        p[9] = (uint8_t)(top >> 7);
    }
    return p + bytes;
}

/* Writes v, which mostly takes a byte.  Up to VARINT_MAX bytes from p on may change, whatever v takes of them. */
static inline __attribute__((always_inline)) uint8_t *
put(uint8_t *p, uint64_t v)
{
    if (__builtin_expect(v < 0x80, 1)) {
        *p = (uint8_t)v;
        return p + 1;
    }
    if (__builtin_expect(v >> 14 != 0, 0))
        return put_long(p, v);
    p[0] = (uint8_t)(v | 0x80);
    p[1] = (uint8_t)(v >> 7);
    return p + 2;
}

/* The same for a value that takes a byte or two, without a jump that could not be foreseen. */
static inline __attribute__((always_inline)) uint8_t *
put_two(uint8_t *p, uint64_t v)
{
    if (__builtin_expect(v >> 14 != 0, 0))
        return put_long(p, v);
    const unsigned two = v > 0x7f;
    const uint16_t w = (uint16_t)((v & 0x7f) | two << 7 | v >> 7 << 8);
    memcpy(p, &w, sizeof(w));
    return p + 1 + two;
}

/* Reads one that must end before `end`.  Returns NULL if it does not, or does not fit 64 bits. */
static const uint8_t *
get_checked(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    uint64_t r = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        const uint8_t b = *p++;
        r |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            *v = r;
            return shift == 63 && b > 1 ? NULL : p;
        }
    }
    return NULL;
}

/* A varint that was read, and what is behind it. */
struct got {
    const uint8_t *next;
    uint64_t value;
};

/* Two bytes and more.  Sets *failed if it does not fit 64 bits. */
static __attribute__((noinline)) struct got
get_long(const uint8_t *p, int *failed)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    const uint64_t ends = ~w & UINT64_C(0x8080808080808080);
    if (ends)
        return (struct got){p + (__builtin_ctzll(ends) + 1) / 8, gather(w & (ends ^ (ends - 1)))};
    const uint64_t nine = gather(w) | (uint64_t)(p[8] & 0x7f) << 56;
    if (p[8] < 0x80)
        return (struct got){p + 9, nine};
    *failed |= p[9] > 1;
    return (struct got){p + 10, nine | (uint64_t)p[9] << 63};
}

/* Reads one, which is mostly a byte, where VARINT_MAX bytes may be read from p on. */
static inline __attribute__((always_inline)) struct got
get(const uint8_t *p, int *failed)
{
    if (__builtin_expect(p[0] < 0x80, 1))
        return (struct got){p + 1, p[0]};
    return get_long(p, failed);
}

/* The same for one of a byte or two, without a jump that could not be foreseen. */
static inline __attribute__((always_inline)) struct got
get_two(const uint8_t *p, int *failed)
{
    uint16_t w;
    memcpy(&w, p, sizeof(w));
    if (__builtin_expect((w & 0x8080) == 0x8080, 0))
        return get_long(p, failed);
    const unsigned two = w >> 7 & 1;
    return (struct got){p + 1 + two, (w & 0x7fu) | (w >> 1 & 0x3f80u & (0u - two))};
}

/* ---- what fields are expected to be ---- */

enum field { FIELD_ID, FIELD_ARG, FIELD_AUX, FIELDS };

/* Values of all fields by slot.  What is expected to be 0 or the time is read from a slot that others share, and goes
 * to one that nobody reads. */
enum { VALUE_ZERO, VALUE_TIME, VALUE_UNREAD, VALUE_FIRST };

struct prediction {
    struct {
        uint16_t from, to;
    } slot[256][FIELDS];
    uint64_t value[VALUE_FIRST + FIELDS * SLOTS];
};

static void
predict(struct prediction *p, unsigned event, enum field field, uint16_t slot)
{
    const int own = slot >= SLOT_KIND;
    const uint16_t place = (uint16_t)(VALUE_FIRST + field * SLOTS + slot);
    p->slot[event][field].from = own ? place : slot == SLOT_TIME ? VALUE_TIME : VALUE_ZERO;
    p->slot[event][field].to = own ? place : VALUE_UNREAD;
}

static void
prediction_init(struct prediction *p, const struct sqt_pack_table *t)
{
    for (unsigned event = 0; event < 256; ++event) {
        predict(p, event, FIELD_ID, t->id[event]);
        predict(p, event, FIELD_ARG, t->arg[event]);
        predict(p, event, FIELD_AUX, t->aux[event]);
    }
    memset(p->value, 0, sizeof(p->value));
}

/* ---- packing ---- */

enum column { COLUMN_EVENT, COLUMN_FLAGS, COLUMN_TIME, COLUMN_ID, COLUMN_ARG, COLUMN_AUX, COLUMNS };

static inline __attribute__((always_inline)) uint8_t *
put_field(struct prediction *x, unsigned event, enum field field, uint64_t v, uint8_t *p)
{
    p = put(p, zigzag(v - x->value[x->slot[event][field].from]));
    x->value[x->slot[event][field].to] = v;
    return p;
}

/* Where the next record goes in each column. */
struct heads {
    uint8_t *at[COLUMNS];
};

/* Runs of flags are short, so a run is written with each of its records, until the next one has others: no jump that
 * could not be foreseen. */
static void
put_events(struct heads *h, unsigned *run, const struct sqt_record *records, size_t count, int last)
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
put_times(struct heads *h, uint64_t before, const struct sqt_record *records, size_t count)
{
    uint8_t *p = h->at[COLUMN_TIME];
    for (size_t i = 0; i < count; ++i) {
        p = put_two(p, records[i].time - before);
        before = records[i].time;
    }
    h->at[COLUMN_TIME] = p;
}

static void
put_fields(struct heads *h, struct prediction *x, const struct sqt_record *records, size_t count)
{
    uint8_t *ids = h->at[COLUMN_ID], *args = h->at[COLUMN_ARG], *auxs = h->at[COLUMN_AUX];
    for (const struct sqt_record *r = records; r < records + count; ++r) {
        const unsigned event = r->event & 0xff;
        x->value[VALUE_TIME] = r->time;
        ids = put_field(x, event, FIELD_ID, r->id, ids);
        args = put_field(x, event, FIELD_ARG, r->arg, args);
        auxs = put_field(x, event, FIELD_AUX, r->aux, auxs);
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
    struct prediction x;
    struct heads h;
    uint8_t *start[COLUMNS], *p = out;
    unsigned run = 0;

    prediction_init(&x, t);
    for (unsigned c = 0; c < COLUMNS; ++c) { /* as far apart as they may need */
        start[c] = h.at[c] = p + sizeof(uint32_t);
        p = start[c] + count * most[c];
    }
    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t n = count - i < CHUNK ? count - i : CHUNK;
        put_events(&h, &run, records + i, n, i + n == count);
        put_times(&h, records[i ? i - 1 : 0].time, records + i, n);
        put_fields(&h, &x, records + i, n);
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

/* ---- unpacking ---- */

/* Takes the next column off the bytes; returns 0 if it is not whole. */
static int
open_column(const uint8_t **p, const uint8_t *end, const uint8_t **column, const uint8_t **column_end)
{
    uint32_t size;
    if ((size_t)(end - *p) < sizeof(size))
        return 0;
    memcpy(&size, *p, sizeof(size));
    *p += sizeof(size);
    if (size > (size_t)(end - *p))
        return 0;
    *column = *p;
    *column_end = *p += size;
    return 1;
}

/* Whether the runs of flags are those of `count` records. */
static int
flags_fit(const uint8_t *p, const uint8_t *end, size_t count)
{
    size_t records = 0;
    for (; end - p >= 2 && records <= count; p += 2)
        records += (size_t)p[1] + 1;
    return p == end && records == count;
}

/* Where the next record is in each column. */
struct cursor {
    const uint8_t *at[COLUMNS], *end[COLUMNS];
    unsigned run; /* records of the current run of flags so far */
    uint64_t time;
    int failed;
};

static struct got
get_last(const uint8_t *p, const uint8_t *end, int *failed)
{
    struct got got = {p, 0};
    const uint8_t *const next = get_checked(p, end, &got.value);
    *failed |= !next;
    got.next = next ? next : p;
    return got;
}

static inline __attribute__((always_inline)) uint64_t
expect(struct prediction *x, unsigned event, enum field field, uint64_t z)
{
    const uint64_t v = x->value[x->slot[event][field].from] + unzigzag(z);
    x->value[x->slot[event][field].to] = v;
    return v;
}

static inline __attribute__((always_inline)) void
get_events(struct cursor *c, struct sqt_record *records, size_t count)
{
    const uint8_t *const events = c->at[COLUMN_EVENT], *flags = c->at[COLUMN_FLAGS];
    unsigned run = c->run;
    for (size_t i = 0; i < count; ++i) {
        records[i].event = events[i];
        records[i].flags = flags[0];
        const unsigned ends = run == flags[1];
        flags += 2 * ends;
        run = ends ? 0 : run + 1;
    }
    c->at[COLUMN_EVENT] += count;
    c->at[COLUMN_FLAGS] = flags;
    c->run = run;
}

static inline __attribute__((always_inline)) void
get_times(struct cursor *c, int checked, struct sqt_record *records, size_t count)
{
    const uint8_t *p = c->at[COLUMN_TIME];
    uint64_t time = c->time;
    for (size_t i = 0; i < count; ++i) {
        const struct got got = checked ? get_last(p, c->end[COLUMN_TIME], &c->failed) : get_two(p, &c->failed);
        records[i].time = time += got.value;
        p = got.next;
    }
    c->at[COLUMN_TIME] = p;
    c->time = time;
}

static inline __attribute__((always_inline)) uint64_t
get_field(struct prediction *x, struct cursor *c, int checked, unsigned event, enum field field, const uint8_t **p)
{
    const struct got got = checked ? get_last(*p, c->end[COLUMN_ID + field], &c->failed) : get(*p, &c->failed);
    *p = got.next;
    return expect(x, event, field, got.value);
}

static inline __attribute__((always_inline)) void
get_fields(struct prediction *x, struct cursor *c, int checked, struct sqt_record *records, size_t count)
{
    const uint8_t *ids = c->at[COLUMN_ID], *args = c->at[COLUMN_ARG], *auxs = c->at[COLUMN_AUX];
    for (struct sqt_record *r = records; r < records + count; ++r) {
        const unsigned event = r->event & 0xff;
        x->value[VALUE_TIME] = r->time;
        r->id = get_field(x, c, checked, event, FIELD_ID, &ids);
        r->arg = get_field(x, c, checked, event, FIELD_ARG, &args);
        r->aux = (uint32_t)get_field(x, c, checked, event, FIELD_AUX, &auxs);
    }
    c->at[COLUMN_ID] = ids;
    c->at[COLUMN_ARG] = args;
    c->at[COLUMN_AUX] = auxs;
}

/* The next count records.  checked: nothing behind the end of a column may be read. */
static inline __attribute__((always_inline)) void
get_records(struct prediction *x, struct cursor *c, int checked, struct sqt_record *records, size_t count)
{
    get_events(c, records, count);
    get_times(c, checked, records, count);
    get_fields(x, c, checked, records, count);
}

/* Records whose bounds are checked at once. */
#define GROUP 32u

/* Whether GROUP varints can be read from each column without looking where the bytes end. */
static int
far_from_end(const struct cursor *c, const uint8_t *end)
{
    int far = 1;
    for (unsigned i = COLUMN_TIME; i < COLUMNS; ++i)
        far &= end - c->at[i] >= (ptrdiff_t)(GROUP * VARINT_MAX);
    return far;
}

int
sqt_unpack(const struct sqt_pack_table *t, const uint8_t *in, size_t size, uint64_t time_first,
           struct sqt_record *records, size_t count)
{
    const uint8_t *p = in, *const end = in + size;
    struct prediction x;
    struct cursor c = {.time = time_first};

    for (unsigned i = 0; i < COLUMNS; ++i)
        if (!open_column(&p, end, &c.at[i], &c.end[i]))
            return -1;
    if (p != end || (size_t)(c.end[COLUMN_EVENT] - c.at[COLUMN_EVENT]) != count ||
        !flags_fit(c.at[COLUMN_FLAGS], c.end[COLUMN_FLAGS], count))
        return -1;
    prediction_init(&x, t);
    for (size_t i = 0; i < count && !c.failed; i += GROUP) {
        if (count - i >= GROUP && far_from_end(&c, end))
            get_records(&x, &c, 0, records + i, GROUP);
        else
            get_records(&x, &c, 1, records + i, count - i < GROUP ? count - i : GROUP);
    }
    for (unsigned i = COLUMN_TIME; i < COLUMNS; ++i)
        if (c.at[i] != c.end[i])
            return -1;
    return c.failed ? -1 : 0;
}
