/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * relay.c - see relay.h.
 *
 * Batches go round: the one side fills the next, the other empties the oldest that is full.
 *
 *     [ emptied ][ emptying ][ full ][ filling ]
 *
 * Without a thread there is one, emptied when it is full.
 */
#include "relay.h"

#include <pthread.h>
#include <stdlib.h>

#include "../model/pool.h"

#define BATCHES 4
#define BATCH ((size_t)128 << 10)

struct batch {
    size_t used, count;
    struct sqt_relay_fact facts[SQT_RELAY_FACTS];
    _Alignas(8) unsigned char bytes[BATCH];
};

struct sqt_relay {
    sqt_relay_function *function;
    void *context;
    int threaded;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned long filled, emptied; /* batches so far */
    int ending;
    struct batch batches[BATCHES];
};

static void
empty(const struct sqt_relay *r, struct batch *batch)
{
    r->function(r->context, batch->facts, batch->count);
    batch->used = batch->count = 0;
}

static void *
empty_all(void *argument)
{
    struct sqt_relay *const r = argument;
    pthread_mutex_lock(&r->mutex);
    for (;;) {
        while (r->emptied == r->filled && !r->ending)
            pthread_cond_wait(&r->changed, &r->mutex);
        if (r->emptied == r->filled)
            break;
        struct batch *const batch = &r->batches[r->emptied % BATCHES];
        pthread_mutex_unlock(&r->mutex);
        empty(r, batch);
        pthread_mutex_lock(&r->mutex);
        ++r->emptied;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

struct sqt_relay *
sqt_relay_new(sqt_relay_function *function, void *context, int threaded)
{
    struct sqt_relay *const r = sqt_zeroed(1, sizeof(*r));
    r->function = function;
    r->context = context;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    r->threaded = threaded && pthread_create(&r->thread, NULL, empty_all, r) == 0;
    return r;
}

/* The batch being filled is full; waits for the next to be empty. */
static void
hand_over(struct sqt_relay *r)
{
    if (!r->threaded) {
        empty(r, &r->batches[0]);
        return;
    }
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
    const struct batch *const now = &r->batches[r->filled % BATCHES];
    if (now->used + size > BATCH || now->count == SQT_RELAY_FACTS)
        hand_over(r);
    struct batch *const batch = &r->batches[r->filled % BATCHES];
    void *const fact = &batch->bytes[batch->used];
    batch->facts[batch->count++] = (struct sqt_relay_fact){kind, fact};
    batch->used += size;
    return fact;
}

void
sqt_relay_finish(struct sqt_relay *r)
{
    hand_over(r);
    if (r->threaded) {
        pthread_mutex_lock(&r->mutex);
        r->ending = 1;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->mutex);
        pthread_join(r->thread, NULL);
    }
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->changed);
    free(r);
}
