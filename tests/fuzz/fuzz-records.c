/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fuzz-records.c - changes of the records of a block: single fields, ids that repeat, whole units, times.
 */
#include "fuzz.h"

#include <string.h>

struct change {
    struct sqt_record *records;
    size_t count;
    struct fuzz_random *random;
};

static uint64_t
below(const struct change *c, uint64_t limit)
{
    return fuzz_below(c->random, limit);
}

static struct sqt_record *
any(const struct change *c)
{
    return &c->records[below(c, c->count)];
}

static int
is_part(unsigned event)
{
    return event && event < SQT_EVENTS && strncmp(sqt_events[event].name, "PART_", 5) == 0;
}

static unsigned
any_event(const struct change *c, int part)
{
    for (;;) {
        const unsigned event = 1 + (unsigned)below(c, SQT_EVENTS - 1);
        if (is_part(event) == part)
            return event;
    }
}

/* A value that means something: one that is elsewhere, one near it, a small one, or one at a limit. */
static uint64_t
value(const struct change *c, uint64_t now)
{
    const struct sqt_record *const r = any(c);
    switch (below(c, 12)) {
    case 0:
    case 1:
    case 2:
        return r->id;
    case 3:
    case 4:
        return r->arg;
    case 5:
        return r->aux;
    case 6:
        return r->time + below(c, 3) - 1;
    case 7:
        return now + below(c, 3) - 1;
    case 8:
        return now ^ UINT64_C(1) << below(c, 64);
    case 9:
        return fuzz_edge(c->random);
    default:
        return below(c, 8);
    }
}

static void
change_field(struct change *c)
{
    struct sqt_record *const r = any(c);
    switch (below(c, 5)) {
    case 0:
        r->id = value(c, r->id);
        break;
    case 1:
        r->arg = value(c, r->arg);
        break;
    case 2:
        r->aux = (uint32_t)value(c, r->aux);
        break;
    case 3:
        r->event = (uint16_t)(below(c, 16) ? any_event(c, is_part(r->event)) : below(c, 256));
        break;
    default:
        r->flags ^= (uint16_t)(1u << below(c, 8));
    }
}

/* How many records the unit has that begins there. */
static size_t
unit_length(const struct change *c, size_t at)
{
    size_t n = 1;
    while (at + n < c->count && n < SQT_UNIT_MAX && (c->records[at + n].flags & SQT_FLAG_PART))
        ++n;
    return n;
}

static size_t
any_unit(const struct change *c)
{
    size_t at = below(c, c->count);
    while (at && (c->records[at].flags & SQT_FLAG_PART))
        --at;
    return at;
}

static void
remove_records(struct change *c, size_t at, size_t n)
{
    if (n >= c->count)
        return;
    memmove(&c->records[at], &c->records[at + n], (c->count - at - n) * sizeof(*c->records));
    c->count -= n;
}

static int
insert_records(struct change *c, size_t at, const struct sqt_record *records, size_t n)
{
    struct sqt_record copy[SQT_UNIT_MAX * 8];
    if (c->count + n > FUZZ_RECORDS || n > sizeof(copy) / sizeof(*copy))
        return 0;
    memcpy(copy, records, n * sizeof(*records));
    memmove(&c->records[at + n], &c->records[at], (c->count - at) * sizeof(*c->records));
    memcpy(&c->records[at], copy, n * sizeof(*copy));
    c->count += n;
    return 1;
}

/* A new unit: of any event, of the one that ends another's, or with parts. */
static void
insert_new(struct change *c)
{
    struct sqt_record unit[SQT_UNIT_MAX];
    const size_t at = any_unit(c), behind = at + unit_length(c, at);
    const struct sqt_record *const model = &c->records[at];
    const unsigned pair = model->event < SQT_EVENTS ? sqt_events[model->event].pair : SQT_EV_NONE_;
    size_t n = 1;
    memset(unit, 0, sizeof(unit));
    unit[0] = *model;
    unit[0].event = (uint16_t)(pair && below(c, 2) ? pair : any_event(c, 0));
    for (; n < SQT_UNIT_MAX && below(c, 3) == 0; ++n) {
        unit[n] = *any(c);
        unit[n].event = (uint16_t)any_event(c, 1);
        unit[n].time = unit[0].time;
    }
    make_unit(unit, (unsigned)n);
    insert_records(c, below(c, 2) ? behind : any_unit(c), unit, n);
}

/* Some units stand a second time, elsewhere or behind themselves. */
static void
repeat(struct change *c)
{
    const size_t from = any_unit(c);
    size_t n = unit_length(c, from);
    for (uint64_t more = below(c, 8); more && n + SQT_UNIT_MAX <= SQT_UNIT_MAX * 8 && from + n < c->count; --more)
        n += unit_length(c, from + n);
    struct sqt_record copy[SQT_UNIT_MAX * 8];
    memcpy(copy, &c->records[from], n * sizeof(*copy));
    const uint64_t shift = below(c, 2) ? below(c, 100) : 0;
    for (size_t i = 0; i < n; ++i)
        copy[i].id += shift;
    insert_records(c, below(c, 2) ? from + n : any_unit(c), copy, n);
}

static void
remove_units(struct change *c)
{
    const size_t at = any_unit(c);
    size_t n = unit_length(c, at);
    for (uint64_t more = below(c, 6); more && at + n < c->count; --more)
        n += unit_length(c, at + n);
    remove_records(c, at, n);
}

/* All records with an id get another. */
static void
rename_id(struct change *c)
{
    const uint64_t from = any(c)->id, to = value(c, from);
    for (size_t i = 0; i < c->count; ++i) {
        if (c->records[i].id == from)
            c->records[i].id = to;
        if (c->records[i].arg == from && below(c, 2))
            c->records[i].arg = to;
    }
}

static void
swap_units(struct change *c)
{
    const size_t a = any_unit(c), n = unit_length(c, a), b = a + n;
    struct sqt_record copy[SQT_UNIT_MAX];
    if (b >= c->count)
        return;
    const size_t m = unit_length(c, b);
    memcpy(copy, &c->records[a], n * sizeof(*copy));
    memmove(&c->records[a], &c->records[b], m * sizeof(*copy));
    memcpy(&c->records[a + m], copy, n * sizeof(*copy));
}

/* From a record on, all come later; or all times are stretched. */
static void
change_times(struct change *c)
{
    const size_t from = below(c, c->count);
    const uint64_t base = c->records[0].time, factor = 2 + below(c, 1000);
    const uint64_t shift = below(c, 4) ? UINT64_C(1) << below(c, 44) : fuzz_edge(c->random);
    const uint64_t how = below(c, 3);
    for (size_t i = from; i < c->count; ++i) {
        uint64_t *const time = &c->records[i].time;
        if (how == 0)
            *time += shift;
        else if (how == 1)
            *time = base + (*time - base) * factor;
        else
            *time = base + (*time - base) / factor;
    }
}

static void
cut(struct change *c)
{
    if (below(c, 8))
        return;
    if (below(c, 2))
        c->count = any_unit(c) + 1;
    else
        remove_records(c, 0, any_unit(c));
}

/* A unit says how many records it has, and time does not go back. */
static void
mend(struct change *c)
{
    uint64_t time = c->records[0].time;
    for (size_t i = 0, n; i < c->count; i += n) {
        n = unit_length(c, i);
        make_unit(&c->records[i], (unsigned)n);
        for (size_t k = i; k < i + n; ++k) {
            if (c->records[k].time < time)
                c->records[k].time = time;
            time = c->records[k].time;
        }
    }
}

size_t
fuzz_records_mutate(struct sqt_record *records, size_t count, struct fuzz_random *random)
{
    static void (*const changes[])(struct change *) = {
        change_field, change_field, change_field, insert_new, insert_new,   repeat,
        repeat,       remove_units, rename_id,    swap_units, change_times, cut,
    };
    struct change c = {records, count, random};
    for (uint64_t n = 1 + fuzz_below(random, fuzz_below(random, 4) ? 3 : 24); n; --n)
        changes[fuzz_below(random, sizeof(changes) / sizeof(*changes))](&c);
    if (fuzz_below(random, 16))
        mend(&c);
    return c.count;
}
