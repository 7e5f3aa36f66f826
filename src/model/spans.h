/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * spans.h - time charged to stages by precedence.
 *
 * Stages are bits; a lower bit takes precedence.  Each nanosecond goes to the lowest bit that is open, or to
 * SQT_UNACCOUNTED when none is, so the sum over ns[] is the time since the start, always.
 *
 *     REPLY_WAIT    (bit 17)      ____________________
 *     SWAP_IN_REST  (bit 3)           _______
 *     PROXY_REPLY   (bit 0)       ____       ____
 *     charged                  u  0000 333333 0000 17.
 */
#ifndef SQT_SPANS_H
#define SQT_SPANS_H

#include <stdint.h>

#include "../format/format.h"

#define SQT_UNACCOUNTED SQT_STAGES

struct sqt_spans {
    int64_t last;               /* ns; charged up to here */
    int64_t since;              /* ns; `stage` has been charged from then up to `last` */
    uint32_t stage;             /* charged last; SQT_UNACCOUNTED when none was */
    uint32_t open;              /* stages that are open */
    uint32_t seen;              /* stages that were ever open */
    uint32_t nests;             /* stages that can be open several times over: they are counted */
    uint16_t depth[SQT_STAGES]; /* of the nesting ones: beyond 65,535 they are not counted */
    int64_t ns[SQT_STAGES + 1];
};

/* Nothing is open, and time is charged from then on. */
static inline void
sqt_spans_begin(struct sqt_spans *s, int64_t now)
{
    s->last = s->since = now;
    s->stage = SQT_UNACCOUNTED;
}

/* The stage that time is charged to now. */
static inline unsigned
sqt_spans_charged(const struct sqt_spans *s)
{
    return s->open ? (unsigned)__builtin_ctz(s->open) : SQT_UNACCOUNTED;
}

static inline void
sqt_spans_charge(struct sqt_spans *s, int64_t now)
{
    const unsigned stage = sqt_spans_charged(s);
    if (stage != s->stage && now > s->last) {
        s->stage = stage;
        s->since = s->last;
    }
    s->ns[stage] += now - s->last;
    s->last = now;
}

/* Since when time goes to the stage that is charged now, without a break. */
static inline int64_t
sqt_spans_since(const struct sqt_spans *s)
{
    return s->stage == sqt_spans_charged(s) ? s->since : s->last;
}

static inline void
sqt_spans_open(struct sqt_spans *s, uint32_t stages)
{
    s->open |= stages;
    s->seen |= stages;
    for (uint32_t counted = stages & s->nests; counted; counted &= counted - 1)
        s->depth[__builtin_ctz(counted)] += s->depth[__builtin_ctz(counted)] < UINT16_MAX;
}

static inline void
sqt_spans_close(struct sqt_spans *s, uint32_t stages)
{
    s->open &= ~(stages & ~s->nests);
    for (uint32_t counted = stages & s->nests; counted; counted &= counted - 1) {
        const unsigned stage = (unsigned)__builtin_ctz(counted);
        if (s->depth[stage] && --s->depth[stage] == 0)
            s->open &= ~(1u << stage);
    }
}

#endif
