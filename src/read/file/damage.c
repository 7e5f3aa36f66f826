/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * damage.c - see damage.h.
 */
#include "damage.h"

#include <string.h>

#include "clock.h"

void
sqt_header_mend(struct sqt_segment_header *header, int fd, uint64_t begin, uint64_t end)
{
    struct sqt_diagnostics nobody = {.muted = 1};
    struct sqt_segment segment;
    struct sqt_input input;
    struct sqt_block block;
    int damaged = 0;

    sqt_input_init(&input, fd, 0, end);
    sqt_segment_begin(&segment, input, begin, "", header, &nobody);
    while (sqt_segment_next(&segment, &damaged))
        if (segment.frame.type == SQT_FRAME_BLOCK && segment.frame.size >= sizeof(block)) {
            struct sqt_identity who = header->identity;
            memcpy(&block, segment.payload, sizeof(block));
            memcpy(header->identity.ring_id, block.ring_id, sizeof(block.ring_id));
            if (block.from.monotonic_ns < SQT_MONOTONIC_MAX && block.from.realtime_ns < SQT_REALTIME_MAX)
                who.start = block.from;
            /* A rate that is far from what the header says shows where the damage is. */
            const uint64_t ns = block.to.monotonic_ns - block.from.monotonic_ns;
            const uint64_t ticks = block.to.ticks - block.from.ticks;
            const double measured = (double)ticks * 1e9 / (double)ns, said = (double)who.ticks_per_second;
            if (ns >= 1000000 && ns < SQT_MONOTONIC_MAX && ticks < UINT64_C(1) << 50 &&
                (said < measured * 0.99 || said > measured * 1.01))
                who.ticks_per_second = (uint64_t)measured;
            memcpy(who.ring_id, block.ring_id, sizeof(who.ring_id));
            if (sqt_clock_makes_sense(&who))
                header->identity = who;
            break;
        }
    sqt_segment_leave(&segment);
}
