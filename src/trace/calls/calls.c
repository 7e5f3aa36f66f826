/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls.c - see calls-internal.h.
 */
#define _GNU_SOURCE
#include "calls-internal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Descriptors that are remembered; how often a thread that is adding a call up is asked again in a pass of the loop, and
 * at the end, where it is waited for. */
#define DESCRIPTORS 65536
#define TRIES 20
#define RESTS 1000

static const char *const names[SQT_CALLS] = {
#define SQT_CALL(NAME, name, kernel, doc) [SQT_CALL_##NAME] = #name,
#include "format/calls.def"
};

/* Written by its thread alone, and only added to; `longest` is taken away by the main thread. */
struct account {
    uint64_t count;
    uint64_t ticks;
    uint64_t longest;
};

struct thread {
    struct thread *next;
    uint32_t number;
    uint32_t tid;
    const char *name; /* NULL: by tid */
    /* A sequence lock over the accounts, in calls of all classes: how many the thread began to add, and how many it has
     * added.  The accounts are consistent if both are equal.  A thread with no new call is skipped. */
    uint64_t begun, made;
    uint64_t made_told;
    struct account calls[SQT_CALLS];
    struct account told[SQT_CALLS]; /* the main thread's */
};

/* All threads that ever made a call: a list that only grows, at its head. */
static struct thread *threads;
static uint32_t thread_count;
static __thread struct thread *calls_mine;
/* What descriptors are: the process's, or those of a thread that left its table; NULL: it remembers nothing. */
static uint8_t shared[DESCRIPTORS];
static __thread uint8_t *descriptors = shared;
static int restart = 1;

static struct thread *
this_thread(void)
{
    if (calls_mine)
        return calls_mine;
    const int saved = errno;
    struct thread *const t = calloc(1, sizeof(*t));
    if (t) {
        t->tid = (uint32_t)gettid();
        t->number = __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
        t->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&threads, &t->next, t, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        calls_mine = t;
    }
    errno = saved;
    return t;
}

void
sqt_calls_name_thread(const char *name)
{
    struct thread *const t = this_thread();
    if (t)
        __atomic_store_n(&t->name, name, __ATOMIC_RELAXED);
}

void
sqt_call_took(enum sqt_call call, uint64_t begin, uint64_t end)
{
    /* The clock is 0 once tracing has ended, and that of another core may be a little behind. */
    const uint64_t took = end > begin ? end - begin : 0;
    struct thread *const t = this_thread();
    if (!t)
        return;
    struct account *const a = &t->calls[call];
    __atomic_store_n(&t->begun, t->made + 1, __ATOMIC_RELAXED);
    /* Released, as the others: who sees one of them sees that it was begun. */
    __atomic_store_n(&a->ticks, a->ticks + took, __ATOMIC_RELEASE);
    uint64_t longest = __atomic_load_n(&a->longest, __ATOMIC_RELAXED);
    while (took > longest &&
           !__atomic_compare_exchange_n(&a->longest, &longest, took, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&t->made, t->made + 1, __ATOMIC_RELEASE);
}

void
sqt_fd_set(int fd, enum sqt_fd what)
{
    if (fd >= 0 && fd < DESCRIPTORS && descriptors)
        __atomic_store_n(&descriptors[fd], (uint8_t)what, __ATOMIC_RELAXED);
}

enum sqt_fd
sqt_fd_get(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS && descriptors ? (enum sqt_fd)__atomic_load_n(&descriptors[fd], __ATOMIC_RELAXED)
                                                      : SQT_FD_UNKNOWN;
}

void
sqt_fd_apart(void)
{
    descriptors = calloc(DESCRIPTORS, sizeof(*descriptors)); /* all SQT_FD_UNKNOWN */
}

void
sqt_fd_apart_end(void)
{
    if (descriptors != shared)
        free(descriptors);
    descriptors = NULL;
}

/* ---- the main thread ---- */

void
sqt_calls_restart(void)
{
    restart = 1;
    /* What was opened and closed meanwhile is not known. */
    for (unsigned fd = 0; fd < DESCRIPTORS; ++fd)
        __atomic_store_n(&shared[fd], SQT_FD_UNKNOWN, __ATOMIC_RELAXED);
}

static void
define_thread(const struct thread *t)
{
    char text[32];
    if (sqt_defined(SQT_DEF_THREAD, t->number))
        return;
    const char *const name = __atomic_load_n(&t->name, __ATOMIC_RELAXED);
    if (name)
        snprintf(text, sizeof(text), "%s", name);
    else
        snprintf(text, sizeof(text), "thread %u", (unsigned)t->tid);
    sqt_define(SQT_DEF_THREAD, t->number, text);
}

/* Count, time and longest are of the same calls, or are left for the next time: 1 if the thread was always at it. */
static int
trace_calls_tell(struct thread *t, enum sqt_call call)
{
    struct account *const now = &t->calls[call], *const told = &t->told[call];
    uint64_t made, count, ticks;
    unsigned tries = 0;
    do {
        if (tries++ == TRIES)
            return 1;
        made = __atomic_load_n(&t->made, __ATOMIC_ACQUIRE);
        count = __atomic_load_n(&now->count, __ATOMIC_ACQUIRE);
        if (count == told->count)
            return 0;
        const uint64_t longest = __atomic_exchange_n(&now->longest, 0, __ATOMIC_ACQUIRE);
        if (longest > told->longest)
            told->longest = longest;
        ticks = __atomic_load_n(&now->ticks, __ATOMIC_ACQUIRE);
    } while (__atomic_load_n(&t->begun, __ATOMIC_RELAXED) != made);

    if (!restart) {
        struct sqt_record unit[2] = {{0}};
        define_thread(t);
        unit[0].event = SQT_EV_CALLS;
        unit[0].id = count - told->count;
        unit[0].arg = ticks - told->ticks;
        unit[0].aux = sqt_define(SQT_DEF_CALL, call, names[call]);
        unit[1].event = SQT_EV_PART_CALLS;
        unit[1].arg = told->longest;
        unit[1].aux = t->number;
        sqt_emit_unit(unit, 2);
    }
    told->count = count;
    told->ticks = ticks;
    told->longest = 0;
    return 0;
}

/* Tells what threads did since the last time.  Returns the accounts that were left for the next. */
static unsigned
tell_threads(void)
{
    unsigned all_left = 0;
    for (struct thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next) {
        const uint64_t made = __atomic_load_n(&t->made, __ATOMIC_ACQUIRE);
        unsigned left = 0;
        for (unsigned call = 0; made != t->made_told && call < SQT_CALLS; ++call)
            left += (unsigned)trace_calls_tell(t, call);
        if (!left)
            t->made_told = made;
        all_left += left;
    }
    return all_left;
}

void
sqt_calls_tell(void)
{
    const uint64_t until = sqt_read_clock(sqt_clock);
    const unsigned left = tell_threads();
    sqt_emit(SQT_EV_CALLS_TOLD, 0, until, (uint32_t)restart);
    if (!left)
        restart = 0;
}

void
sqt_calls_tell_rest(void)
{
    for (unsigned i = 0; i < RESTS && tell_threads(); ++i)
        sched_yield();
    sqt_calls_tell();
}
