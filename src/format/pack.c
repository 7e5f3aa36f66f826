/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pack.c - see pack.h.
 */
#include "pack.h"

#include <string.h>

/* One byte a value of up to ten. */
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

static uint64_t
zigzag(uint64_t d)
{
    return (d << 1) ^ (uint64_t)((int64_t)d >> 63);
}

static uint64_t
unzigzag(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

static uint8_t *
pack_put(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* Returns NULL if the varint does not end before `end` or does not fit 64 bits. */
static inline const uint8_t *
get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    if (__builtin_expect(p < end && *p < 0x80, 1)) {
        *v = *p;
        return p + 1;
    }
    if (__builtin_expect(end - p > 1 && p[1] < 0x80, 1)) {
        *v = (uint64_t)p[1] << 7 | (p[0] & 0x7f);
        return p + 2;
    }
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

/* A column is preceded by its length, which is known when it ends. */
static uint8_t *
close_column(uint8_t *start, uint8_t *end)
{
    const uint32_t size = (uint32_t)(end - start - sizeof(uint32_t));
    memcpy(start, &size, sizeof(size));
    return end;
}

#define PACK_COLUMN(field)                                             \
    do {                                                               \
        column = p;                                                    \
        p += sizeof(uint32_t);                                         \
        memset(expected, 0, sizeof(expected));                         \
        for (size_t i = 0; i < count; ++i) {                           \
            const unsigned slot = t->field[records[i].event & 0xff];   \
            const uint64_t v = records[i].field;                       \
            expected[SLOT_ZERO] = 0;                                   \
            expected[SLOT_TIME] = records[i].time;                     \
            p = pack_put(p, zigzag(v - expected[slot]));                    \
            expected[slot] = v;                                        \
        }                                                              \
        p = close_column(column, p);                                   \
    } while (0)

size_t
sqt_pack(const struct sqt_pack_table *t, const struct sqt_record *records, size_t count, uint8_t *out)
{
    uint8_t *p = out;
    uint8_t *column = p;

    p += sizeof(uint32_t);
    for (size_t i = 0; i < count; ++i)
        *p++ = (uint8_t)records[i].event;
    p = close_column(column, p);

    column = p;
    p += sizeof(uint32_t);
    for (size_t i = 0; i < count;) {
        const uint8_t flags = (uint8_t)records[i].flags;
        size_t run = 1;
        while (run < 256 && i + run < count && (uint8_t)records[i + run].flags == flags)
            ++run;
        *p++ = flags;
        *p++ = (uint8_t)(run - 1);
        i += run;
    }
    p = close_column(column, p);

    column = p;
    p += sizeof(uint32_t);
    uint64_t before = count ? records[0].time : 0;
    for (size_t i = 0; i < count; ++i) {
        p = pack_put(p, records[i].time - before);
        before = records[i].time;
    }
    p = close_column(column, p);

    uint64_t expected[SLOTS];
    PACK_COLUMN(id);
    PACK_COLUMN(arg);
    PACK_COLUMN(aux);
    return (size_t)(p - out);
}

/* Takes the next column off the bytes; returns 0 if it is not whole. */
static int
open_column(const uint8_t **p, const uint8_t *end, const uint8_t **column_end)
{
    uint32_t size;
    if ((size_t)(end - *p) < sizeof(size))
        return 0;
    memcpy(&size, *p, sizeof(size));
    *p += sizeof(size);
    if (size > (size_t)(end - *p))
        return 0;
    *column_end = *p + size;
    return 1;
}

#define UNPACK_COLUMN(field, type)                                     \
    do {                                                               \
        if (!open_column(&p, end, &column_end))                        \
            return -1;                                                 \
        memset(expected, 0, sizeof(expected));                         \
        for (size_t i = 0; i < count; ++i) {                           \
            const unsigned slot = t->field[records[i].event & 0xff];   \
            uint64_t z;                                                \
            p = get(p, column_end, &z);                                \
            if (!p)                                                    \
                return -1;                                             \
            expected[SLOT_ZERO] = 0;                                   \
            expected[SLOT_TIME] = records[i].time;                     \
            const uint64_t v = expected[slot] + unzigzag(z);           \
            records[i].field = (type)v;                                \
            expected[slot] = v;                                        \
        }                                                              \
        if (p != column_end)                                           \
            return -1;                                                 \
    } while (0)

int
sqt_unpack(const struct sqt_pack_table *t, const uint8_t *in, size_t size, uint64_t time_first,
           struct sqt_record *records, size_t count)
{
    const uint8_t *p = in, *const end = in + size;
    const uint8_t *column_end;

    if (!open_column(&p, end, &column_end) || (size_t)(column_end - p) != count)
        return -1;
    for (size_t i = 0; i < count; ++i)
        records[i].event = *p++;

    if (!open_column(&p, end, &column_end))
        return -1;
    for (size_t i = 0; i < count;) {
        if (column_end - p < 2 || (size_t)p[1] + 1 > count - i)
            return -1;
        for (size_t run = (size_t)p[1] + 1; run; --run)
            records[i++].flags = p[0];
        p += 2;
    }
    if (p != column_end)
        return -1;

    if (!open_column(&p, end, &column_end))
        return -1;
    uint64_t time = time_first;
    for (size_t i = 0; i < count; ++i) {
        uint64_t d;
        p = get(p, column_end, &d);
        if (!p)
            return -1;
        time += d;
        records[i].time = time;
    }
    if (p != column_end)
        return -1;

    uint64_t expected[SLOTS];
    UNPACK_COLUMN(id, uint64_t);
    UNPACK_COLUMN(arg, uint64_t);
    UNPACK_COLUMN(aux, uint32_t);
    return p == end ? 0 : -1;
}
