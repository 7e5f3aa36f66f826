/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * objects.c - see objects.h.
 */
#include "objects.h"

#include <stdlib.h>

#include "memory.h"
#include "scatter.h"

#define MARKS UINT64_C(15)
#define FIRST_ROOM 16

/* Where an object belongs is a random matter, so no trace can make them collide.  An id that is no hash (small numbers in tests) becomes like one; different ids stay different. */
static uint64_t
mixed(const struct sqt_objects *objects, uint64_t id)
{
    return sqt_scattered(id, objects->scatter);
}

/* The highest byte picks the part, the bits below it the place to begin at. */
static struct sqt_objects_part *
objects_part_of(const struct sqt_objects *objects, uint64_t hash)
{
    return (struct sqt_objects_part *)&objects->parts[hash >> 56];
}

static size_t
first_slot(const struct sqt_objects_part *part, uint64_t hash)
{
    return (size_t)(((unsigned __int128)(hash << 8) * part->room) >> 64);
}

static uint64_t *
objects_slot_of(const struct sqt_objects_part *part, uint64_t hash)
{
    const uint64_t key = hash & ~MARKS;
    size_t i = first_slot(part, hash);
    while (part->slots[i] && (part->slots[i] & ~MARKS) != key)
        i = i + 1 == part->room ? 0 : i + 1;
    return &part->slots[i];
}

/* At most 7 of 8 slots are used, and a fuller table grows by a half. */
static void
objects_grow(struct sqt_objects_part *part)
{
    struct sqt_objects_part bigger = {.room = part->room ? part->room + part->room / 2 : FIRST_ROOM,
                                      .used = part->used};
    bigger.slots = sqt_zeroed(bigger.room, sizeof(*bigger.slots));
    for (size_t i = 0; i < part->room; ++i)
        if (part->slots[i])
            *objects_slot_of(&bigger, part->slots[i]) = part->slots[i];
    free(part->slots);
    *part = bigger;
}

unsigned
sqt_objects_mark(struct sqt_objects *objects, uint64_t hash, unsigned marks)
{
    if (!objects->scatter)
        objects->scatter = sqt_scatter();
    hash = mixed(objects, hash);
    struct sqt_objects_part *const part = objects_part_of(objects, hash);
    if ((part->used + 1) * 8 > part->room * 7)
        objects_grow(part);
    uint64_t *const slot = objects_slot_of(part, hash);
    const unsigned before = *slot & MARKS;
    if (!*slot && objects->used == SQT_OBJECTS_MOST) {
        ++objects->beyond;
        return MARKS;
    }
    if (!*slot) {
        ++part->used;
        ++objects->used;
    }
    *slot = (hash & ~MARKS) | before | marks;
    return before;
}

unsigned
sqt_objects_marks(const struct sqt_objects *objects, uint64_t hash)
{
    hash = mixed(objects, hash);
    const struct sqt_objects_part *const part = objects_part_of(objects, hash);
    return part->room ? *objects_slot_of(part, hash) & MARKS : 0;
}

void
sqt_objects_expect(const struct sqt_objects *objects, uint64_t hash)
{
    hash = mixed(objects, hash);
    const struct sqt_objects_part *const part = objects_part_of(objects, hash);
    if (part->room)
        __builtin_prefetch(&part->slots[first_slot(part, hash)], 1);
}

void
sqt_objects_free(struct sqt_objects *objects)
{
    for (unsigned i = 0; i < SQT_OBJECTS_PARTS; ++i)
        free(objects->parts[i].slots);
}
