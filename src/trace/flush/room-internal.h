/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * room-internal.h - how much a flusher may write, and when it begins a new segment.
 *
 * All functions are called by the flusher's thread.
 */
#ifndef SQT_ROOM_INTERNAL_H
#define SQT_ROOM_INTERNAL_H

#include "flusher-internal.h"

/* Applies the bounds now, and notes what is left. */
void sqt_room_keep(struct sqt_flusher *flusher);

/* Looks whether anything may be written, once this process has written its share of what was left, or a second later.
 * Returns flusher->room.left: 0 for no. */
uint64_t sqt_room_look(struct sqt_flusher *flusher);

/* Why nothing may be written. */
const char *sqt_room_why(const struct sqt_flusher *flusher);

/* So many bytes were written. */
void sqt_room_used(struct sqt_flusher *flusher, uint64_t bytes);

/* Once a minute, deletes what is too old.  Called often. */
void sqt_room_ages(struct sqt_flusher *flusher);

/* Whether the segment has its size; and whether it has its age. */
int sqt_room_is_full(const struct sqt_flusher *flusher);
int sqt_room_is_old(const struct sqt_flusher *flusher);

#endif
