/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * recorder.h - times of a flight recorder's ring, which has ANCHOR records instead of blocks with anchors.
 */
#ifndef SQT_RECORDER_H
#define SQT_RECORDER_H

#include "origin.h"

/* Of the `*count` records in the reader's buffer, numbered from `first`: how many go by one line, and that line.
 * *unsure: the clock may have stepped among them.  Returns 0, or -1 if times are impossible. */
int sqt_recorder_line(struct sqt_origin_reader *reader, uint64_t first, size_t *count, struct sqt_line *line,
                      int *unsure);

#endif
