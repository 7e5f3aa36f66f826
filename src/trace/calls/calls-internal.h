/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls-internal.h - the account of system calls: what the wrappers and the rest of libsqtrace share.
 *
 * Each thread adds up its own calls by class; the main thread tells the differences once a pass of the event loop.  So
 * an account never overflows, whatever a thread does, and no thread but the main one touches the ring.
 */
#ifndef SQT_CALLS_INTERNAL_H
#define SQT_CALLS_INTERNAL_H

#include "trace/sqtrace.h"

enum sqt_call {
#define SQT_CALL(NAME, name, kernel, doc) SQT_CALL_##NAME,
#include "format/calls.def"
    SQT_CALLS
};

/* From now on the wrappers make their calls that way, a sum of these.  0: through the C library, and nobody looks.
 * Async-signal-safe, any thread.  A program that is not linked with the wrappers does not have it. */
enum { SQT_CALLS_DIRECT = 1, SQT_CALLS_TIMED = 2 };
void sqt_calls_go(uint32_t way);

/* The clock, 0 while nothing is traced.  Any thread. */
static inline uint64_t
sqt_call_clock(void)
{
    return sqt_read_clock(__atomic_load_n(&sqt_clock, __ATOMIC_RELAXED));
}

/* Adds a call that lasted from begin to end (ticks, begin not 0) to the calling thread's account.  Keeps errno.  Any
 * thread. */
void sqt_call_took(enum sqt_call call, uint64_t begin, uint64_t end);

/* What a descriptor is. */
enum sqt_fd { SQT_FD_UNKNOWN, SQT_FD_FILE, SQT_FD_PIPE, SQT_FD_OTHER };

/* Notes what a descriptor is; those out of range are looked up each time.  Any thread. */
void sqt_fd_set(int fd, enum sqt_fd what);
enum sqt_fd sqt_fd_get(int fd);

/* The calling thread has left the process's table of descriptors: what it notes and asks from now on is of its own, of which
 * nothing is known yet.  sqt_fd_apart_end(): before the thread ends. */
void sqt_fd_apart(void);
void sqt_fd_apart_end(void);

/* The calling thread's calls stand under that name, which lives as long as the process. */
void sqt_calls_name_thread(const char *name);

/* Tells the system calls that all threads made since it was called last.  The main thread, when
 * sqt_on(SQT_GROUP_SYSCALL). */
void sqt_calls_tell(void);

/* sqt_calls_tell(), and waits for threads that are adding a call up.  The main thread, before tracing ends. */
void sqt_calls_tell_rest(void);

/* A new account: calls made before are not told. */
void sqt_calls_restart(void);

#endif
