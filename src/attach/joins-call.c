/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-call.c - see joins-call.h.
 */
#include "joins-call.h"

#include <stdlib.h>

#include "base/memory.h"

#define JOINS_ADDRESS_BITS 56
#define JOINS_ALLOCATION 16 /* bytes that malloc() may add to an object */

/* ---- objects ---- */

static uint64_t
joins_key(enum sqt_joins_kind kind, uint64_t address)
{
    return (uint64_t)kind << JOINS_ADDRESS_BITS | (address & ((UINT64_C(1) << JOINS_ADDRESS_BITS) - 1));
}

void
sqt_joins_bind(struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address, uint64_t number)
{
    if (address)
        sqt_idmap_put(&joins->objects, joins_key(kind, address), (void *)(uintptr_t)number);
}

void
sqt_joins_unbind(struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address)
{
    sqt_idmap_take(&joins->objects, joins_key(kind, address));
}

uint64_t
sqt_joins_bound(const struct sqt_joins *joins, enum sqt_joins_kind kind, uint64_t address)
{
    return (uint64_t)(uintptr_t)sqt_idmap_get(&joins->objects, joins_key(kind, address));
}

void
sqt_joins_name(struct sqt_joins *joins, struct sqt_joins_xact *xact, enum sqt_joins_kind kind, uint64_t address,
               uint64_t number)
{
    if (!address || sqt_joins_bound(joins, kind, address) == number)
        return;
    sqt_joins_bind(joins, kind, address, number);
    if (xact->name_count == xact->name_room) {
        const unsigned room = xact->name_room ? 2 * xact->name_room : 16;
        joins->name_room += room - xact->name_room;
        xact->name_room = room;
        xact->names = sqt_resized(xact->names, xact->name_room * sizeof(*xact->names));
    }
    xact->names[xact->name_count++] = (struct sqt_joins_name){joins_key(kind, address), number};
}

void
sqt_joins_own(struct sqt_joins_call *call, enum sqt_joins_kind kind, unsigned value)
{
    sqt_joins_name(call->joins, call->xact, kind, call->event->values[value], call->xact->number);
}

/* ---- the transaction of a call ---- */

struct sqt_joins_xact *
sqt_joins_of(struct sqt_joins_call *call, enum sqt_joins_kind kind, unsigned value)
{
    struct sqt_joins *const joins = call->joins;
    const uint64_t number = sqt_joins_bound(joins, kind, call->event->values[value]);
    call->xact = number ? sqt_idmap_get(&joins->xacts, number) : NULL;
    if (!number)
        ++joins->unknown;
    if (call->xact)
        joins->current = number;
    return call->xact;
}

struct sqt_joins_xact *
sqt_joins_after(struct sqt_joins_call *call, enum sqt_attach_row row)
{
    struct sqt_joins *const joins = call->joins;
    call->xact = joins->before == row ? sqt_idmap_get(&joins->xacts, joins->before_xact) : NULL;
    return call->xact;
}

struct sqt_joins_xact *
sqt_joins_xact_new(struct sqt_joins_call *call)
{
    struct sqt_joins *const joins = call->joins;
    struct sqt_joins_xact *const xact = sqt_zeroed(1, sizeof(*xact));
    xact->number = ++joins->last_xact;
    xact->ready = -1;
    sqt_idmap_put(&joins->xacts, xact->number, xact);
    joins->current = xact->number;
    return call->xact = xact;
}

static void
joins_xact_free(struct sqt_joins *joins, struct sqt_joins_xact *xact)
{
    if (!xact)
        return;
    joins->name_room -= xact->name_room;
    free(xact->names);
    free(xact);
}

/* A name may be another transaction's by now. */
void
sqt_joins_xact_drop(struct sqt_joins *joins, uint64_t number)
{
    struct sqt_joins_xact *const xact = sqt_idmap_take(&joins->xacts, number);
    for (unsigned i = 0; xact && i < xact->name_count; ++i)
        if ((uintptr_t)sqt_idmap_get(&joins->objects, xact->names[i].key) == xact->names[i].number)
            sqt_idmap_take(&joins->objects, xact->names[i].key);
    joins_xact_free(joins, xact);
}

void
sqt_joins_xacts_forget(struct sqt_joins *joins)
{
    for (size_t i = 0; i < joins->xacts.room; ++i)
        joins_xact_free(joins, joins->xacts.slots[i].value);
    sqt_idmap_free(&joins->xacts);
    sqt_idmap_free(&joins->objects);
    joins->current = joins->before_xact = 0;
    joins->before = SQT_ATTACH_ROWS;
    joins->tag_unclaimed = 0;
}

size_t
sqt_joins_map_bytes(const struct sqt_idmap *map, size_t each)
{
    return map->room * sizeof(*map->slots) + map->used * (each + JOINS_ALLOCATION);
}

size_t
sqt_joins_xacts_bytes(const struct sqt_joins *joins)
{
    return sqt_joins_map_bytes(&joins->xacts, sizeof(struct sqt_joins_xact)) +
           joins->name_room * sizeof(struct sqt_joins_name) + joins->objects.room * sizeof(*joins->objects.slots);
}

/* ---- records ---- */

void
sqt_joins_emit_of(const struct sqt_joins_call *call, enum sqt_event event, uint64_t id, uint64_t arg, uint32_t aux)
{
    const struct sqt_record record = {.time = call->time, .id = id, .arg = arg, .aux = aux, .event = event};
    call->joins->emit(call->joins->context, &record, 1);
}

void
sqt_joins_emit(const struct sqt_joins_call *call, enum sqt_event event, uint64_t arg, uint32_t aux)
{
    sqt_joins_emit_of(call, event, SQT_UNNAMED | call->xact->number, arg, aux);
}

void
sqt_joins_open(const struct sqt_joins_call *call, enum sqt_joins_pair pair, enum sqt_event event, uint64_t arg,
               uint32_t aux)
{
    call->xact->open |= pair;
    sqt_joins_emit(call, event, arg, aux);
}

void
sqt_joins_close(const struct sqt_joins_call *call, enum sqt_joins_pair pair, enum sqt_event event, uint64_t arg,
                uint32_t aux)
{
    if (!(call->xact->open & pair))
        return;
    call->xact->open &= ~(unsigned)pair;
    sqt_joins_emit(call, event, arg, aux);
}
