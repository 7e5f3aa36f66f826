/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * syscalls.h - the account of one thread's system calls in one window of time, and its rows.
 */
#ifndef SQT_SYSCALLS_H
#define SQT_SYSCALLS_H

#include <stdio.h>

#include "pass/family.h"

/* Classes that an account can hold: more than calls.def has. */
#define SQT_ACCOUNT_CALLS 64

/* Threads of a process that are told apart, and of all processes together; Squid has one for each helper thread of aufs. */
#define SQT_ACCOUNT_THREADS 96
#define SQT_ACCOUNT_ALL_THREADS 4096

struct sqt_account {
    int64_t begin, end; /* ns */
    int64_t kid;        /* or the process */
    const char *thread;
    uint64_t used; /* bits of calls */
    struct sqt_account_call {
        const char *name; /* NULL: none was made */
        uint64_t count;
        int64_t ns, longest;
    } calls[SQT_ACCOUNT_CALLS];
};

/* A sum that stops at the largest and the smallest number. */
static inline int64_t
sqt_account_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? b < 0 ? -INT64_MAX : INT64_MAX : sum;
}

/* No call was made. */
static inline void
sqt_account_clear(struct sqt_account *account)
{
    for (; account->used; account->used &= account->used - 1)
        account->calls[__builtin_ctzll(account->used)] = (struct sqt_account_call){NULL, 0, 0, 0};
}

/* Rows by name, and before them `misc`: the time between the calls, which is one time more than there are calls. */
void sqt_account_rows(struct sqt_job *job, const struct sqt_account *account);

/* Rows of the figure syscall-trend: of opens, reads and writes of files, or of the classes that --where picks. */
void sqt_account_trend(struct sqt_job *job, const struct sqt_account *account);

/* The table from what such a program printed into that file.  Returns 0, or -1 with one line in error. */
struct sqt_tracer;
int sqt_syscalls_of_tracer(struct sqt_job *job, const struct sqt_tracer *tracer, FILE *file, const char *name,
                           char *error, size_t error_size);

#endif
