/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * crew.c - see crew.h.
 */
/* sched_getaffinity */
#define _GNU_SOURCE

#include "crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct sqt_crew {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* there is more to do, or something is done */
    struct {
        struct sqt_task *next; /* to be done */
        int busy;              /* one is being done */
    } lanes[SQT_LANES];
    int ending;
    unsigned count;
    pthread_t threads[SQT_LANES];
};

unsigned
sqt_processors(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

/* Does the next task of a lane.  Returns 0 if there is none that could be done now. */
static int
do_one(struct sqt_crew *c)
{
    unsigned lane = 0;
    while (lane < SQT_LANES && (!c->lanes[lane].next || c->lanes[lane].busy))
        ++lane;
    if (lane == SQT_LANES)
        return 0;
    struct sqt_task *const task = c->lanes[lane].next;
    c->lanes[lane].next = task->next;
    c->lanes[lane].busy = 1;
    pthread_mutex_unlock(&c->mutex);
    task->function(task->context);
    pthread_mutex_lock(&c->mutex);
    c->lanes[lane].busy = 0;
    task->given = 0;
    pthread_cond_broadcast(&c->changed);
    return 1;
}

static void *
crew_work(void *argument)
{
    struct sqt_crew *const c = argument;
    pthread_mutex_lock(&c->mutex);
    while (!c->ending)
        if (!do_one(c))
            pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

struct sqt_crew *
sqt_crew_new(unsigned threads)
{
    struct sqt_crew *const c = threads ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    while (c->count < threads && c->count < SQT_LANES && pthread_create(&c->threads[c->count], NULL, crew_work, c) == 0)
        ++c->count;
    if (c->count)
        return c;
    sqt_crew_free(c);
    return NULL;
}

void
sqt_crew_free(struct sqt_crew *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->mutex);
    c->ending = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    while (c->count)
        pthread_join(c->threads[--c->count], NULL);
    pthread_mutex_destroy(&c->mutex);
    pthread_cond_destroy(&c->changed);
    free(c);
}

void
sqt_crew_give(struct sqt_crew *c, enum sqt_lane lane, struct sqt_task *task)
{
    pthread_mutex_lock(&c->mutex);
    struct sqt_task **end = &c->lanes[lane].next;
    while (*end)
        end = &(*end)->next;
    *end = task;
    task->next = NULL;
    task->given = 1;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

void
sqt_crew_wait(struct sqt_crew *c, struct sqt_task *task)
{
    pthread_mutex_lock(&c->mutex);
    while (task->given)
        if (!do_one(c))
            pthread_cond_wait(&c->changed, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}
