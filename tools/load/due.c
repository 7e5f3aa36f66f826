/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * due.c - when the requests of a phase with a rate are due: where the integral of the rate reaches their number.
 */
#include <math.h>

#include "load.h"

int64_t
phase_due_time(const struct phase *p, double i)
{
    const double t = (double)p->duration / LOAD_SECOND, slope = t > 0 ? (p->end_rate - p->rate) / t : 0;
    if (fabs(slope) < 1e-9)
        return load_ns(i / p->rate * LOAD_SECOND);
    const double root = p->rate * p->rate + 2 * slope * i;
    return root < 0 ? LOAD_NEVER : load_ns((sqrt(root) - p->rate) / slope * LOAD_SECOND);
}

uint64_t
phase_due_count(const struct phase *p, int64_t ns)
{
    if (p->duration && ns > p->duration)
        ns = p->duration;
    const double t = (double)ns / LOAD_SECOND, whole = (double)p->duration / LOAD_SECOND;
    const double slope = whole > 0 ? (p->end_rate - p->rate) / whole : 0;
    const uint64_t count = (uint64_t)sqt_whole(ceil(p->rate * t + slope * t * t / 2));
    return p->requests && count > p->requests ? p->requests : count;
}
