/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * samples.c - resource samples.
 */
#include "model/model-internal.h"

static void
resource_sampled(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    const struct sqt_sample_row row = {
        .origin = process->origin,
        .at = sqt_line_ns(&process->line, record->arg),
        .what = record->aux,
        .value = record->id,
    };
    if (process->consumer->sample)
        process->consumer->sample(process->consumer->context, &row);
}

const struct sqt_thing_kind sqt_thing_samples = {
    .events = (const struct sqt_subscription[]){{SQT_EV_SAMPLE, resource_sampled}, {0}}};
