/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * threads.c - see threads.h.
 */
#include "threads.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct sqt_thread *
sqt_threads_call(struct sqt_threads *t, uint32_t number)
{
    struct sqt_thread *thread = sqt_idmap_get(&t->by_number, number);
    if (!thread && t->count == SQT_THREADS_MOST) {
        ++t->beyond;
        return NULL;
    }
    if (!thread) {
        if (t->count == t->room) {
            t->room = t->room ? t->room * 2 : 16;
            t->all = sqt_resized(t->all, t->room * sizeof(*t->all));
        }
        thread = t->all[t->count++] = sqt_zeroed(1, sizeof(*thread));
        thread->number = number;
        sqt_idmap_put(&t->by_number, number, thread);
    }
    thread->idle = 0;
    return thread;
}

static int
by_number(const void *a, const void *b)
{
    const struct sqt_thread *const x = *(struct sqt_thread *const *)a, *const y = *(struct sqt_thread *const *)b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void
threads_empty(struct sqt_thread *thread)
{
    if (!thread->account.used)
        return;
    for (unsigned i = 0; i < SQT_ACCOUNT_CALLS; ++i)
        sqt_freed(thread->own_names[i]);
    memset(thread->own_names, 0, sizeof(thread->own_names));
    memset(&thread->account, 0, sizeof(thread->account));
}

void
sqt_threads_close(struct sqt_threads *t, void (*take)(void *context, struct sqt_thread *thread), void *context)
{
    size_t left = 0;
    if (t->count)
        qsort(t->all, t->count, sizeof(*t->all), by_number);
    for (size_t i = 0; i < t->count; ++i) {
        struct sqt_thread *const thread = t->all[i];
        take(context, thread);
        threads_empty(thread);
        if (thread->idle++ < SQT_THREADS_IDLE) {
            t->all[left++] = thread;
        } else {
            sqt_idmap_take(&t->by_number, thread->number);
            sqt_freed(thread);
        }
    }
    t->count = left;
}

void
sqt_threads_note(const struct sqt_threads *t, struct sqt_job *job)
{
    char text[96];
    if (!t->beyond)
        return;
    snprintf(text, sizeof(text), "%llu calls of more than %d threads are left out", (unsigned long long)t->beyond,
             SQT_THREADS_MOST);
    job->note(job->context, "threads", text);
}

void
sqt_threads_free(struct sqt_threads *t)
{
    for (size_t i = 0; i < t->count; ++i) {
        threads_empty(t->all[i]);
        sqt_freed(t->all[i]);
    }
    sqt_freed(t->all);
    sqt_idmap_free(&t->by_number);
}
