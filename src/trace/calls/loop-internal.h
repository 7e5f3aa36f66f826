/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loop-internal.h - what the event loop does, inside libsqtrace.
 */
#ifndef SQT_LOOP_INTERNAL_H
#define SQT_LOOP_INTERNAL_H

/* Nothing is known of the pass that the loop is in.  Before the group loop is switched on. */
void sqt_loop_restart(void);

/* Whether the main thread is in the work of a pass, and not in a wait.  *began, unless NULL: when the pass began, in ticks
 * without an offset, which is the same for all looks at one pass.  Any thread. */
int sqt_loop_is_working(uint64_t *began);

#endif
