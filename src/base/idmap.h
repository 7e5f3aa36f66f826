/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * idmap.h - from an id of a trace to the object that stands for it: open addressing with linear probing.
 *
 * Where an id belongs depends on a random number of this process, so no trace can make them collide.
 */
#ifndef SQT_IDMAP_H
#define SQT_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct sqt_idmap_slot {
    uint64_t id;
    void *value; /* NULL: free */
};

struct sqt_idmap {
    struct sqt_idmap_slot *slots;
    size_t room; /* a power of two, 0 before the first entry */
    size_t used;
    uint64_t scatter;
    unsigned shift; /* of the hash of an id: its home */
    size_t *left;   /* bytes of a budget that its slots are taken from (pool.h); NULL: no bound */
    size_t taken;   /* of them */
};

/* Whether the budget leaves no room for an id more until one is taken out. */
static inline int
sqt_idmap_full(const struct sqt_idmap *map)
{
    return __builtin_expect(
        map->used * 2 >= map->room && map->used && map->left && *map->left < map->room * sizeof(*map->slots), 0);
}

void *sqt_idmap_get(const struct sqt_idmap *map, uint64_t id);

/* Makes value, which is not NULL, stand for id; it takes the place of what stood for it before. */
void sqt_idmap_put(struct sqt_idmap *map, uint64_t id, void *value);

/* Forgets id; returns what stood for it, NULL if nothing did. */
void *sqt_idmap_take(struct sqt_idmap *map, uint64_t id);

/* Frees the slots, and gives their bytes back to the budget. */
void sqt_idmap_free(struct sqt_idmap *map);

#endif
