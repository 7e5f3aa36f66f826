/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * idmap.c - see idmap.h.
 */
#include "idmap.h"

#include <stdlib.h>

#include "scatter.h"
#include "memory.h"

#define FIRST_ROOM 16

#define NEIGHBOURS 4 /* ids in a row that share a cache line, as most are used in the order of their numbers */

static inline size_t
home(const struct sqt_idmap *map, uint64_t id)
{
    const uint64_t line = sqt_scattered(id / NEIGHBOURS, map->scatter) >> map->shift;
    return (size_t)((line & ~(uint64_t)(NEIGHBOURS - 1)) | (id & (NEIGHBOURS - 1)));
}

/* The slot of id, or the free one where it belongs. */
static inline size_t
idmap_find(const struct sqt_idmap *map, uint64_t id)
{
    size_t i = home(map, id);
    while (map->slots[i].value && map->slots[i].id != id)
        i = (i + 1) & (map->room - 1);
    return i;
}

void *
sqt_idmap_get(const struct sqt_idmap *map, uint64_t id)
{
    return map->used ? map->slots[idmap_find(map, id)].value : NULL;
}

static void
idmap_grow(struct sqt_idmap *map)
{
    const struct sqt_idmap old = *map;
    map->room = old.room ? old.room * 2 : FIRST_ROOM;
    map->scatter = sqt_scatter();
    map->shift = 64 - (unsigned)__builtin_ctzll(map->room);
    if (map->left && old.room) {
        const size_t more = old.room * sizeof(*map->slots);
        const size_t taken = *map->left < more ? *map->left : more;
        *map->left -= taken;
        map->taken += taken;
    }
    map->slots = sqt_zeroed(map->room, sizeof(*map->slots));
    for (size_t i = 0; i < old.room; ++i)
        if (old.slots[i].value)
            map->slots[idmap_find(map, old.slots[i].id)] = old.slots[i];
    sqt_freed(old.slots);
}

void
sqt_idmap_put(struct sqt_idmap *map, uint64_t id, void *value)
{
    if (map->used * 2 >= map->room)
        idmap_grow(map);
    struct sqt_idmap_slot *const slot = &map->slots[idmap_find(map, id)];
    if (!slot->value)
        ++map->used;
    slot->id = id;
    slot->value = value;
}

void *
sqt_idmap_take(struct sqt_idmap *map, uint64_t id)
{
    if (!map->used)
        return NULL;
    size_t hole = idmap_find(map, id);
    void *const value = map->slots[hole].value;
    if (!value)
        return NULL;
    --map->used;
    /* Move up what was pushed past the hole, so that no search ends early. */
    for (size_t i = (hole + 1) & (map->room - 1); map->slots[i].value; i = (i + 1) & (map->room - 1)) {
        const size_t from_home = (i - home(map, map->slots[i].id)) & (map->room - 1);
        if (from_home >= ((i - hole) & (map->room - 1))) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole].value = NULL;
    return value;
}

void
sqt_idmap_free(struct sqt_idmap *map)
{
    sqt_freed(map->slots);
    if (map->left)
        *map->left += map->taken;
    map->slots = NULL;
    map->room = map->used = map->taken = 0;
}
