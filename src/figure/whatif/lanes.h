/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lanes.h - questions that one queue gives to servers that are all alike, first come first served: replayed with another
 * number of servers.  (The recursion of Kiefer and Wolfowitz, On the theory of queues with many servers, 1955.)
 */
#ifndef SQT_WHATIF_LANES_H
#define SQT_WHATIF_LANES_H

#include <stdint.h>

struct sqt_lanes {
    unsigned count;
    int64_t *free_at; /* ns: a heap of when each server is free, the earliest first */
};

void sqt_lanes_init(struct sqt_lanes *lanes, unsigned count);

/* A question comes, not before the one before it, and takes that long.  Returns when a server takes it up. */
int64_t sqt_lanes_take(struct sqt_lanes *lanes, int64_t now, int64_t service);

void sqt_lanes_free(struct sqt_lanes *lanes);

#endif
