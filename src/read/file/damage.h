/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * damage.h - what can be saved of a segment whose header is damaged.
 */
#ifndef SQT_DAMAGE_H
#define SQT_DAMAGE_H

#include "segment.h"

/* Takes from the first good block of the segment at begin..end of fd what its header says too: the ring's id, a
 * moment on all clocks, and how fast the trace's clock runs. */
void sqt_header_mend(struct sqt_segment_header *header, int fd, uint64_t begin, uint64_t end);

#endif
