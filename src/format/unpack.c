/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * unpack.c - see pack.h.
 */
#include "pack-internal.h"

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
pack_flags_fit(const uint8_t *p, const uint8_t *end, size_t count)
{
    size_t records = 0;
    for (; end - p >= 2 && records <= count; p += 2)
        records += (size_t)p[1] + 1;
    return p == end && records == count;
}

/* Where the next record is in each column. */
struct pack_cursor {
    const uint8_t *at[COLUMNS], *end[COLUMNS];
    unsigned run; /* records of the current run of flags so far */
    uint64_t time;
    int failed;
};

static struct pack_got
pack_get_last(const uint8_t *p, const uint8_t *end, int *failed)
{
    struct pack_got got = {p, 0};
    const uint8_t *const next = pack_get_checked(p, end, &got.value);
    *failed |= !next;
    got.next = next ? next : p;
    return got;
}

static inline __attribute__((always_inline)) uint64_t
pack_expected(struct pack_prediction *x, unsigned event, enum field field, uint64_t z)
{
    const uint64_t v = x->value[x->slot[event][field].from] + unzigzag(z);
    x->value[x->slot[event][field].to] = v;
    return v;
}

static inline __attribute__((always_inline)) void
pack_get_events(struct pack_cursor *c, struct sqt_record *records, size_t count)
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
pack_get_times(struct pack_cursor *c, int checked, struct sqt_record *records, size_t count)
{
    const uint8_t *p = c->at[COLUMN_TIME];
    uint64_t time = c->time;
    for (size_t i = 0; i < count; ++i) {
        const struct pack_got got =
            checked ? pack_get_last(p, c->end[COLUMN_TIME], &c->failed) : pack_get_two(p, &c->failed);
        records[i].time = time += got.value;
        p = got.next;
    }
    c->at[COLUMN_TIME] = p;
    c->time = time;
}

static inline __attribute__((always_inline)) uint64_t
pack_get_field(struct pack_prediction *x, struct pack_cursor *c, int checked, unsigned event, enum field field,
               const uint8_t **p)
{
    const struct pack_got got =
        checked ? pack_get_last(*p, c->end[COLUMN_ID + field], &c->failed) : pack_get(*p, &c->failed);
    *p = got.next;
    return pack_expected(x, event, field, got.value);
}

static inline __attribute__((always_inline)) void
pack_get_fields(struct pack_prediction *x, struct pack_cursor *c, int checked, struct sqt_record *records, size_t count)
{
    const uint8_t *ids = c->at[COLUMN_ID], *args = c->at[COLUMN_ARG], *auxs = c->at[COLUMN_AUX];
    for (struct sqt_record *r = records; r < records + count; ++r) {
        const unsigned event = r->event & 0xff;
        x->value[VALUE_TIME] = r->time;
        r->id = pack_get_field(x, c, checked, event, FIELD_ID, &ids);
        r->arg = pack_get_field(x, c, checked, event, FIELD_ARG, &args);
        r->aux = (uint32_t)pack_get_field(x, c, checked, event, FIELD_AUX, &auxs);
    }
    c->at[COLUMN_ID] = ids;
    c->at[COLUMN_ARG] = args;
    c->at[COLUMN_AUX] = auxs;
}

/* The next count records.  checked: nothing behind the end of a column may be read. */
static inline __attribute__((always_inline)) void
pack_get_records(struct pack_prediction *x, struct pack_cursor *c, int checked, struct sqt_record *records,
                 size_t count)
{
    pack_get_events(c, records, count);
    pack_get_times(c, checked, records, count);
    pack_get_fields(x, c, checked, records, count);
}

/* Records whose bounds are checked at once. */
#define GROUP 32u

/* Whether GROUP varints can be read from each column without looking where the bytes end. */
static int
pack_far_from_end(const struct pack_cursor *c, const uint8_t *end)
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
    struct pack_prediction x;
    struct pack_cursor c = {.time = time_first};

    for (unsigned i = 0; i < COLUMNS; ++i)
        if (!open_column(&p, end, &c.at[i], &c.end[i]))
            return -1;
    if (p != end || (size_t)(c.end[COLUMN_EVENT] - c.at[COLUMN_EVENT]) != count ||
        !pack_flags_fit(c.at[COLUMN_FLAGS], c.end[COLUMN_FLAGS], count))
        return -1;
    pack_prediction_init(&x, t);
    for (size_t i = 0; i < count && !c.failed; i += GROUP) {
        if (count - i >= GROUP && pack_far_from_end(&c, end))
            pack_get_records(&x, &c, 0, records + i, GROUP);
        else
            pack_get_records(&x, &c, 1, records + i, count - i < GROUP ? count - i : GROUP);
    }
    for (unsigned i = COLUMN_TIME; i < COLUMNS; ++i)
        if (c.at[i] != c.end[i])
            return -1;
    return c.failed ? -1 : 0;
}
