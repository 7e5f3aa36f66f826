/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * losses.c - stretches of lost records, and what they leave open for ever.
 */
#include "model/model-internal.h"

/* Most things that losses may leave behind, waiting for an end that may be among the lost: some 10 MB. */
#define LEFT_BEHIND 8192
/* Most connections with transactions that a loss looks at. */
#define PASSED_MOST 16

const char *
sqt_loss_reason(uint32_t reason)
{
    static const char *const names[] = {[SQT_LOSS_RING_FULL] = "ring full",
                                        [SQT_LOSS_DAMAGED] = "damaged",
                                        [SQT_LOSS_MISSING] = "missing segment",
                                        [SQT_LOSS_OVERWRITTEN] = "overwritten",
                                        [SQT_LOSS_SAMPLED] = "sampled"};
    return reason < sizeof(names) / sizeof(*names) && names[reason] ? names[reason] : "unknown";
}

static int
losses_left_behind(const struct sqt_process_state *process, const struct sqt_open_things *open)
{
    const void *const oldest = open->pool.first;
    return oldest && *(const uint32_t *)((const char *)oldest + open->kind->epoch) + 1 < process->epoch;
}

/* What began before the last loss and has not ended by this one is most likely over.  Pools have the oldest first, so
 * what stays is looked at once. */
static void
sweep(struct sqt_process_state *process)
{
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i) {
        struct sqt_open_things *const open = &process->open[i];
        if (open->kind->epoch && open->pool.used > LEFT_BEHIND)
            while (losses_left_behind(process, open))
                open->kind->cut_off(process, open->pool.first, SQT_OUTCOME_LOST);
    }
    /* A connection that lives after all is met again at its next read. */
    if (process->clients.pool.used > LEFT_BEHIND) {
        unsigned passed = 0; /* looked at again when the others have been */
        for (struct sqt_client *c;
             (c = process->clients.pool.first) && c->epoch + 1 < process->epoch && passed < PASSED_MOST;)
            if (!c->xacts) {
                sqt_client_drop(process, c);
            } else {
                sqt_pool_renew(&process->clients.pool, c);
                ++passed;
            }
    }
}

static void
losses_lost(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    ++process->epoch;
    process->loop.whole = now;
    if (process->consumer->loss) {
        struct sqt_loss_row row = {
            .origin = process->origin,
            .from = sqt_line_ns(&process->line, record->id),
            .until = now,
            .records = record->arg,
            .reason = record->aux,
        };
        if (row.from > now)
            row.from = now;
        process->consumer->loss(process->consumer->context, &row);
    }
    sweep(process);
}

const struct sqt_thing_kind sqt_thing_losses = {.events =
                                                    (const struct sqt_subscription[]){{SQT_EV_LOST, losses_lost}, {0}}};
