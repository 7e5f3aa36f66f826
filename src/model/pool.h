/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pool.h - objects of one size, handed out and taken back without malloc, and linked as long as they are in use.
 *
 * The first member of such an object is a struct sqt_pooled.  A serial, new for each use, tells whether a pointer
 * kept elsewhere still means the same object.
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
};

void sqt_pool_init(struct sqt_pool *pool, size_t size);
void sqt_pool_free(struct sqt_pool *pool);

/* A zeroed object. */
void *sqt_pool_get(struct sqt_pool *pool);
void sqt_pool_put(struct sqt_pool *pool, void *object);

/* calloc that ends the program with a line when there is no memory: a decoder cannot go on without. */
void *sqt_zeroed(size_t count, size_t size);

/* realloc in the same manner. */
void *sqt_resized(void *memory, size_t size);

#endif
