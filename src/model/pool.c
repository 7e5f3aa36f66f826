/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pool.c - see pool.h.
 */
#include "pool.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_OBJECTS 4
#define CHUNK_OBJECTS 64

void
sqt_pool_init(struct sqt_pool *pool, size_t size, size_t *left)
{
    memset(pool, 0, sizeof(*pool));
    pool->size = (size + 7) & ~(size_t)7;
    pool->chunk_objects = FIRST_OBJECTS;
    pool->left = left;
}

void
sqt_pool_free(struct sqt_pool *pool)
{
    for (void *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = *(void **)chunk;
        free(chunk);
    }
    if (pool->left)
        *pool->left += pool->taken;
    sqt_pool_init(pool, pool->size, pool->left);
}

/* A chunk is a pointer to the next chunk, then its objects. */
static void
add_chunk(struct sqt_pool *pool)
{
    const unsigned count = pool->chunk_objects;
    char *const chunk = sqt_zeroed(1, sizeof(void *) + count * pool->size);
    *(void **)(void *)chunk = pool->chunks;
    pool->chunks = chunk;
    for (unsigned i = 0; i < count; ++i) {
        struct sqt_pooled *const object = (void *)(chunk + sizeof(void *) + i * pool->size);
        object->next = pool->unused;
        pool->unused = object;
    }
    if (pool->left) {
        const size_t taken = *pool->left < count * pool->size ? *pool->left : count * pool->size;
        *pool->left -= taken;
        pool->taken += taken;
    }
    if (count < CHUNK_OBJECTS)
        pool->chunk_objects = 2 * count;
}

static void
pool_append(struct sqt_pool *pool, struct sqt_pooled *object)
{
    object->previous = pool->last;
    object->next = NULL;
    if (pool->last)
        ((struct sqt_pooled *)pool->last)->next = object;
    else
        pool->first = object;
    pool->last = object;
}

static void
pool_take_out(struct sqt_pool *pool, const struct sqt_pooled *object)
{
    if (object->previous)
        ((struct sqt_pooled *)object->previous)->next = object->next;
    else
        pool->first = object->next;
    if (object->next)
        ((struct sqt_pooled *)object->next)->previous = object->previous;
    else
        pool->last = object->previous;
}

void *
sqt_pool_get(struct sqt_pool *pool)
{
    if (!pool->unused)
        add_chunk(pool);
    struct sqt_pooled *const object = pool->unused;
    pool->unused = object->next;
    memset(object, 0, pool->size);
    object->serial = ++pool->serial;
    pool_append(pool, object);
    ++pool->used;
    return object;
}

void
sqt_pool_put(struct sqt_pool *pool, void *put)
{
    struct sqt_pooled *const object = put;
    pool_take_out(pool, object);
    object->serial = 0;
    object->next = pool->unused;
    pool->unused = object;
    --pool->used;
}

void
sqt_pool_renew(struct sqt_pool *pool, void *object)
{
    pool_take_out(pool, object);
    pool_append(pool, object);
}
