/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * trace_leftovers.h - what the tests of limits share: the service "test" of a place, and other processes of it.
 */
#ifndef TRACE_LEFTOVERS_H
#define TRACE_LEFTOVERS_H

#include "trace/leftover/leftover-internal.h"
#include "trace_support.h"

/* What the functions on leftovers and bounds need: the service "test", whose run has that base.  The caller closes its
 * directory. */
struct sqt_leftovers place_leftovers(const struct place *place, const char *base);
extern struct sqt_mailbox place_mailbox;

/* A pointer file as a process of that run has it; it holds the lock until the descriptor that this returns is closed. */
int place_pointer(const struct place *place, const char *base, const char *id);

/* A closed segment that has a header with that run, a size, and a time so long ago. */
void place_segment(const struct place *place, const char *name, uint32_t run, int64_t age_ns, off_t size);

/* Files of a directory whose locks somebody holds: the disk process of a process that was killed ends a little later. */
unsigned place_locked(const char *directory);

#endif
