/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pool.c - see pool.h.
 */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_OBJECTS 64

static void
no_memory(void)
{
    fputs("sqtrace: out of memory\n", stderr);
    exit(1);
}

void *
sqt_zeroed(size_t count, size_t size)
{
    void *const memory = calloc(count, size);
    if (!memory)
        no_memory();
    return memory;
}

void *
sqt_resized(void *memory, size_t size)
{
    void *const resized = realloc(memory, size);
    if (!resized)
        no_memory();
    return resized;
}

void
sqt_pool_init(struct sqt_pool *pool, size_t size)
{
    memset(pool, 0, sizeof(*pool));
    pool->size = (size + 7) & ~(size_t)7;
}

void
sqt_pool_free(struct sqt_pool *pool)
{
    for (void *chunk = pool->chunks, *next; chunk; chunk = next) {
        next = *(void **)chunk;
        free(chunk);
    }
    sqt_pool_init(pool, pool->size);
}

/* A chunk is a pointer to the next chunk, then its objects. */
static void
add_chunk(struct sqt_pool *pool)
{
    char *const chunk = sqt_zeroed(1, sizeof(void *) + CHUNK_OBJECTS * pool->size);
    *(void **)(void *)chunk = pool->chunks;
    pool->chunks = chunk;
    for (unsigned i = 0; i < CHUNK_OBJECTS; ++i) {
        struct sqt_pooled *const object = (void *)(chunk + sizeof(void *) + i * pool->size);
        object->next = pool->unused;
        pool->unused = object;
    }
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
    object->previous = pool->last;
    if (pool->last)
        ((struct sqt_pooled *)pool->last)->next = object;
    else
        pool->first = object;
    pool->last = object;
    ++pool->used;
    return object;
}

void
sqt_pool_put(struct sqt_pool *pool, void *put)
{
    struct sqt_pooled *const object = put;
    if (object->previous)
        ((struct sqt_pooled *)object->previous)->next = object->next;
    else
        pool->first = object->next;
    if (object->next)
        ((struct sqt_pooled *)object->next)->previous = object->previous;
    else
        pool->last = object->previous;
    object->serial = 0;
    object->next = pool->unused;
    pool->unused = object;
    --pool->used;
}
