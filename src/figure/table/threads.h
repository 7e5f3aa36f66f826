/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * threads.h - an account of system calls for each thread of a process, window after window.
 */
#ifndef SQT_THREADS_H
#define SQT_THREADS_H

#include "base/idmap.h"
#include "syscalls.h"

/* Threads that are kept at once; those beyond are left out and counted.  Squid has some tens. */
#define SQT_THREADS_MOST 4096
/* A thread that made no call for so many windows is over: it has no rows any more. */
#define SQT_THREADS_IDLE 100

struct sqt_thread {
    uint32_t number;
    unsigned idle; /* windows since its last call */
    struct sqt_account account;
    char name[24];                      /* for the account, where there is no definition */
    char *own_names[SQT_ACCOUNT_CALLS]; /* names in the account that are freed at the end of the window; NULL: none */
};

struct sqt_threads {
    struct sqt_idmap by_number;
    struct sqt_thread **all;
    size_t count, room;
    uint64_t beyond; /* calls of threads beyond SQT_THREADS_MOST */
};

/* The thread, which makes a call now.  NULL, and counted, if there are too many. */
struct sqt_thread *sqt_threads_call(struct sqt_threads *threads, uint32_t number);

/* Hands over each thread's account, in the order of their numbers, and begins the next window with empty ones. */
void sqt_threads_close(struct sqt_threads *threads, void (*take)(void *context, struct sqt_thread *thread),
                       void *context);

/* Says what was left out. */
void sqt_threads_note(const struct sqt_threads *threads, struct sqt_job *job);

void sqt_threads_free(struct sqt_threads *threads);

#endif
