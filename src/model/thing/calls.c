/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * calls.c - the account of system calls, as far as it was told.
 */
#include "model/model-internal.h"

/* More calls than this are as many as that: sums of them stay numbers. */
#define CALLS_MAX (UINT64_C(1) << 40)

static void
calls_some(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    if (!more || record[1].event != SQT_EV_PART_CALLS || !process->consumer->calls)
        return;
    const int stepped = sqt_stepped_since(process, process->calls_told); /* then nobody knows how long they took */
    const struct sqt_calls_row row = {
        .origin = process->origin,
        .at = now,
        .call = record->aux,
        .thread = record[1].aux,
        .count = record->id < CALLS_MAX ? record->id : CALLS_MAX,
        .ns = stepped ? 0 : sqt_ticks_ns(process, record->arg),
        .longest_ns = stepped ? 0 : sqt_ticks_ns(process, record[1].arg),
    };
    process->consumer->calls(process->consumer->context, &row);
}

static void
calls_told(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    const struct sqt_calls_row row = {
        .origin = process->origin,
        .at = sqt_line_ns(&process->line, record->arg),
        .call = UINT32_MAX,
        .begins = record->aux != 0,
    };
    process->calls_told = now;
    if (process->consumer->calls)
        process->consumer->calls(process->consumer->context, &row);
}

const struct sqt_thing_kind sqt_thing_calls = {
    .events = (const struct sqt_subscription[]){{SQT_EV_CALLS, calls_some}, {SQT_EV_CALLS_TOLD, calls_told}, {0}}};
