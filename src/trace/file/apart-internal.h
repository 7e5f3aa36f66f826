/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * apart-internal.h - the disk work of a thread, in a process of its own that shares the memory.
 *
 * A system call on a disk that does not answer may sleep uninterruptibly.  A thread of Squid that did so would hold
 * Squid: setresuid() of the C library waits until each thread has followed, and a process has not ended before its last
 * thread has.  So a thread lets such calls be made by a helper process:
 *
 *     the thread                             the helper
 *     sqt_apart_call(work)         ->        runs work
 *     sleeps, interruptibly                  sleeps, perhaps uninterruptibly
 *     returns its result           <-
 *
 * Memory and the thread's table of descriptors are shared.  The helper works with the thread's own thread-local storage,
 * as the thread uses none of it meanwhile; so work may be any code that starts no thread and does not ask for its pid.
 * The helper has the effective user that Squid had when it began, for good, and is killed when the thread dies.  Its real
 * and saved users are Squid's, so that other processes of Squid's user can trace it as little as Squid.
 */
#ifndef SQT_APART_INTERNAL_H
#define SQT_APART_INTERNAL_H

#include <stdint.h>

/* The calling thread gets a helper.  Where it cannot have one, it makes its calls itself. */
void sqt_apart_begin(void);

/* Ends the calling thread's helper. */
void sqt_apart_end(void);

typedef long sqt_apart_work(void *context);

/* Runs work in the calling thread's helper, if it has one, and returns its result, with errno.  Work may call this again.
 * If the helper dies, this returns -1 with errno ECHILD. */
long sqt_apart_call(sqt_apart_work *work, void *context);

/* Nanoseconds that such work of the calling thread has taken, from the call until it was done. */
uint64_t sqt_apart_worked_ns(void);

/* The process id of the calling thread's helper; 0: it has none. */
int sqt_apart_pid(void);

#endif
