/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * days.c - how many days a run makes folders for; see run.h.
 *
 * The day of a row is what the trace says, and a trace of some KB may say thousands of them.
 */
#include "run.h"

static int
days_have(const int64_t *days, unsigned count, int64_t day)
{
    while (count)
        if (days[--count] == day)
            return 1;
    return 0;
}

int64_t
ship_day(struct ship *ship, struct ship_ring *ring, int64_t day)
{
    if (day == SHIP_NO_DAY || days_have(ring->days, ring->day_count, day))
        return day;
    const int known = days_have(ship->days, ship->day_count, day);
    if (ring->day_count == SHIP_RING_DAYS || (!known && ship->day_count == SHIP_RUN_DAYS)) {
        ++ship->undated;
        return SHIP_NO_DAY;
    }
    if (!known)
        ship->days[ship->day_count++] = day;
    return ring->days[ring->day_count++] = day;
}
