/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * syscalls.h - the account of one thread's system calls in one window of time, and its rows.
 */
#ifndef SQT_SYSCALLS_H
#define SQT_SYSCALLS_H

#include <stdio.h>

#include "family.h"

/* Classes that an account can hold: more than calls.def has. */
#define SQT_ACCOUNT_CALLS 64

struct sqt_account {
    int64_t begin, end; /* ns */
    int64_t kid;        /* or the process */
    const char *thread;
    struct sqt_account_call {
        const char *name; /* NULL: none was made */
        uint64_t count;
        int64_t ns, longest;
    } calls[SQT_ACCOUNT_CALLS];
};

/* Rows by name, and before them `misc`: the time between the calls, which is one time more than there are calls. */
void sqt_account_rows(struct sqt_job *job, const struct sqt_account *account);

/* Rows of the figure syscall-trend: of opens, reads and writes of files, or of the classes that --where picks. */
void sqt_account_trend(struct sqt_job *job, const struct sqt_account *account);

/* The table from what such a program printed into that file.  Returns 0, or -1 with one line in error. */
struct sqt_tracer;
int sqt_syscalls_of_tracer(struct sqt_job *job, const struct sqt_tracer *tracer, FILE *file, const char *name,
                           char *error, size_t error_size);

#endif
