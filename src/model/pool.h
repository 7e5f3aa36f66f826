/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pool.h - objects of one size, handed out and taken back without malloc, and linked as long as they are in use.
 *
 * The first member of such an object is a struct sqt_pooled.  A serial, new for each use, tells whether a pointer
 * kept elsewhere still means the same object.
 *
 * Pools and maps (idmap.h) may share a budget of bytes.  When it is spent, a pool is full: its user then puts back the
 * oldest object before it gets another.  A few objects of each pool are always there, whatever the others took.
 */
#ifndef SQT_POOL_H
#define SQT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct sqt_pooled {
    uint64_t serial; /* 0: not in use */
    void *next, *previous;
};

struct sqt_pool {
    size_t size;     /* bytes of an object */
    uint64_t serial; /* of the object handed out last */
    size_t used;     /* objects in use */
    void *unused;    /* linked by next */
    void *first;     /* those in use, the oldest first */
    void *last;
    void *chunks;
    unsigned chunk_objects; /* of the next chunk */
    size_t *left;           /* bytes of the budget; NULL: no bound */
    size_t taken;           /* of them */
};

/* left: the budget, which must live as long as the pool; NULL: no bound. */
void sqt_pool_init(struct sqt_pool *pool, size_t size, size_t *left);
/* Frees all objects, and gives their bytes back to the budget. */
void sqt_pool_free(struct sqt_pool *pool);

/* Whether there is no room for another object until one is put back. */
static inline int
sqt_pool_full(const struct sqt_pool *pool)
{
    return __builtin_expect(!pool->unused && pool->used && pool->left && *pool->left < pool->chunk_objects * pool->size,
                            0);
}

/* A zeroed object. */
void *sqt_pool_get(struct sqt_pool *pool);
void sqt_pool_put(struct sqt_pool *pool, void *object);

/* Makes an object in use the newest. */
void sqt_pool_renew(struct sqt_pool *pool, void *object);

#endif
