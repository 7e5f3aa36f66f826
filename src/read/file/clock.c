/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clock.c - see clock.h.
 */
#include "clock.h"

/* Anchors closer than this say too little about the rate. */
#define ANCHORS_APART_NS 1000000u

/* A rate further from the nominal one than this comes from anchors that are wrong. */
#define RATE_TOLERANCE 0.01

/* Ticks a second that a clock can have. */
#define RATE_MIN UINT64_C(1000000)
#define RATE_MAX UINT64_C(1000000000000)

static int
in_span(const struct sqt_line *line, uint64_t ticks)
{
    const double ns = (double)(int64_t)(ticks - line->base_ticks) * line->ns_per_tick;
    return ns > -SQT_SPAN_MAX_NS && ns < SQT_SPAN_MAX_NS;
}

/* The slope of the line through two anchors; 0 if they say nothing of it. */
static double
slope(const struct sqt_anchor *from, const struct sqt_anchor *to, uint64_t apart_ns)
{
    if (to->ticks <= from->ticks || to->monotonic_ns < from->monotonic_ns + apart_ns)
        return 0;
    return (double)(to->monotonic_ns - from->monotonic_ns) / (double)(to->ticks - from->ticks);
}

int
sqt_clock_line(const struct sqt_identity *identity, const struct sqt_anchor *from, const struct sqt_anchor *to,
               uint64_t time_first, uint64_t time_last, int64_t offset_ns, struct sqt_line *line)
{
    const double nominal = 1e9 / (double)identity->ticks_per_second;

    if (time_last >= SQT_TICKS_MAX || from->ticks >= SQT_TICKS_MAX || to->ticks >= SQT_TICKS_MAX)
        return -1;
    if (from->monotonic_ns >= SQT_MONOTONIC_MAX || to->monotonic_ns >= SQT_MONOTONIC_MAX)
        return -1;
    line->base_ticks = from->ticks;
    line->base_ns = (int64_t)from->monotonic_ns + offset_ns;
    line->ns_per_tick = nominal;
    if (sqt_clock_stepped(from, to)) {
        /* Whatever lies between them is between them: then time goes on behind the later one. */
        const double rate = slope(to, from, 1);
        if (rate > 0)
            line->ns_per_tick = rate;
        return in_span(line, time_first) && in_span(line, time_last) ? 0 : -1;
    }
    const double rate = slope(from, to, ANCHORS_APART_NS);
    if (rate > nominal * (1 - RATE_TOLERANCE) && rate < nominal * (1 + RATE_TOLERANCE))
        line->ns_per_tick = rate;
    return in_span(line, time_first) && in_span(line, time_last) ? 0 : -1;
}

int
sqt_clock_makes_sense(const struct sqt_identity *identity)
{
    return identity->ticks_per_second >= RATE_MIN && identity->ticks_per_second <= RATE_MAX &&
           identity->start.monotonic_ns < SQT_MONOTONIC_MAX && identity->start.realtime_ns < SQT_REALTIME_MAX;
}
