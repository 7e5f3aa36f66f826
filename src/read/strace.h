/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * strace.h - system calls from what `strace -f -ttt -T -yy` or `perf trace` printed.
 */
#ifndef SQT_STRACE_H
#define SQT_STRACE_H

#include <stdint.h>

/* What the descriptor of a call was. */
enum sqt_traced_fd { SQT_TRACED_NO_FD, SQT_TRACED_FILE, SQT_TRACED_PIPE, SQT_TRACED_OTHER };

struct sqt_traced_call {
    uint32_t thread;       /* the kernel's number */
    char name[32];         /* as the kernel calls it */
    enum sqt_traced_fd fd; /* of the first argument */
    int writes;            /* an open: for writing */
    int64_t begin;         /* ns since the epoch (strace), or since it was started (perf trace) */
    int64_t ns;            /* how long it took */
};

enum sqt_strace_line {
    SQT_STRACE_CALL,    /* a call that is over */
    SQT_STRACE_NOTHING, /* a signal, an exit, a call that goes on, an empty line */
    SQT_STRACE_NO_TIME, /* a call without its duration: strace without -T */
    SQT_STRACE_STRANGE  /* not understood */
};

struct sqt_strace;
struct sqt_strace *sqt_strace_new(void);

/* Calls that have begun and not ended, at once; further ones are left out until some end. */
#define SQT_STRACE_OPEN_MOST 4096
/* How many were left out. */
uint64_t sqt_strace_beyond(const struct sqt_strace *strace);

/* Take one line, without its newline. */
enum sqt_strace_line sqt_strace_take(struct sqt_strace *strace, const char *line, struct sqt_traced_call *call);
enum sqt_strace_line sqt_perf_take(struct sqt_strace *strace, const char *line, struct sqt_traced_call *call);

/* The programs that print such lines. */
struct sqt_tracer {
    const char *name;    /* as --from has it */
    const char *command; /* what makes such lines */
    enum sqt_strace_line (*take)(struct sqt_strace *strace, const char *line, struct sqt_traced_call *call);
};

/* NULL if there is none of that name. */
const struct sqt_tracer *sqt_tracer_find(const char *name);

void sqt_strace_free(struct sqt_strace *strace);

#endif
