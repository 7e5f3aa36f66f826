/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.c - resource samples.
 */
#include "model-internal.h"

void
sqt_sampled(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    const struct sqt_sample_row row = {
        .origin = life->origin,
        .at = sqt_line_ns(&life->line, record->arg),
        .what = record->aux,
        .value = record->id,
    };
    if (life->consumer->sample)
        life->consumer->sample(life->consumer->context, &row);
}
