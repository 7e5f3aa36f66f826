/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * relay.c - see relay.h.
 *
 * Batches go round: the one side fills the next, the other empties the oldest that is full.
 *
 *     [ emptied ][ emptying ][ full ][ filling ]
 */
#include "relay.h"

#include <pthread.h>
#include <stdlib.h>

#include "../model/pool.h"

#define BATCHES 4
#define BATCH ((size_t)128 << 10)

struct head {
    unsigned kind;
    unsigned size; /* of the fact behind it, up to the next head */
};

struct sqt_relay {
    sqt_relay_function *function;
    void *context;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned long filled, emptied; /* batches so far */
    int ending;
    struct {
        size_t used;
        _Alignas(8) unsigned char bytes[BATCH];
    } batches[BATCHES];
};

static void *
empty(void *argument)
{
    struct sqt_relay *const r = argument;
    pthread_mutex_lock(&r->mutex);
    for (;;) {
        while (r->emptied == r->filled && !r->ending)
            pthread_cond_wait(&r->changed, &r->mutex);
        if (r->emptied == r->filled)
            break;
        const unsigned i = r->emptied % BATCHES;
        pthread_mutex_unlock(&r->mutex);
        for (size_t at = 0; at < r->batches[i].used;) {
            const struct head *const head = (const struct head *)(const void *)&r->batches[i].bytes[at];
            r->function(r->context, head->kind, head + 1);
            at += sizeof(*head) + head->size;
        }
        r->batches[i].used = 0;
        pthread_mutex_lock(&r->mutex);
        ++r->emptied;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

struct sqt_relay *
sqt_relay_new(sqt_relay_function *function, void *context)
{
    struct sqt_relay *const r = sqt_zeroed(1, sizeof(*r));
    r->function = function;
    r->context = context;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    if (pthread_create(&r->thread, NULL, empty, r) == 0)
        return r;
    free(r);
    return NULL;
}

/* The batch being filled is full; waits for the next to be empty. */
static void
hand_over(struct sqt_relay *r)
{
    pthread_mutex_lock(&r->mutex);
    ++r->filled;
    pthread_cond_broadcast(&r->changed);
    while (r->filled - r->emptied == BATCHES)
        pthread_cond_wait(&r->changed, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
}

void *
sqt_relay_next(struct sqt_relay *r, unsigned kind, size_t size)
{
    size = (size + 7) / 8 * 8;
    if (r->batches[r->filled % BATCHES].used + sizeof(struct head) + size > BATCH)
        hand_over(r);
    unsigned char *const at = &r->batches[r->filled % BATCHES].bytes[r->batches[r->filled % BATCHES].used];
    struct head *const head = (struct head *)(void *)at;
    *head = (struct head){kind, (unsigned)size};
    r->batches[r->filled % BATCHES].used += sizeof(*head) + size;
    return head + 1;
}

void
sqt_relay_finish(struct sqt_relay *r)
{
    pthread_mutex_lock(&r->mutex);
    ++r->filled;
    r->ending = 1;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
    pthread_join(r->thread, NULL);
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->changed);
    free(r);
}
