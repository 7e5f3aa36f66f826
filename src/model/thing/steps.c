/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * steps.c - steps of clocks.
 *
 * A row that was open across one is marked, since nobody knows how long it took.
 */
#include "model/model-internal.h"

const char *
sqt_step_kind_name(uint32_t kind)
{
    static const char *const names[SQT_STEP_KINDS] = {
        [SQT_STEP_BACK] = "back",           [SQT_STEP_FORWARD] = "forward",           [SQT_STEP_SUSPEND] = "suspend",
        [SQT_STEP_WALL_BACK] = "wall_back", [SQT_STEP_WALL_FORWARD] = "wall_forward",
    };
    return kind < SQT_STEP_KINDS && names[kind] ? names[kind] : "unknown";
}

int64_t
sqt_step_ns(const struct sqt_step_row *step)
{
    const int64_t size = step->size_ns <= INT64_MAX ? (int64_t)step->size_ns : INT64_MAX;
    return step->kind == SQT_STEP_BACK || step->kind == SQT_STEP_WALL_BACK ? -size : size;
}

struct sqt_step_row
sqt_step_of(const struct sqt_origin *origin, const struct sqt_line *line, const struct sqt_record *record,
            struct sqt_jump *jump)
{
    if (record->aux == SQT_STEP_FORWARD && record->arg < INT64_MAX / 2)
        *jump = (struct sqt_jump){origin, record->id, record->arg};
    /* The line is of the time after the step: it places ticks before a jump too early by the jump. */
    const uint64_t early = jump->origin == origin && jump->from == record->id ? jump->size_ns : 0;
    struct sqt_step_row row = {.origin = origin,
                               .from = sqt_line_ns(line, record->id) + (int64_t)early,
                               .until = sqt_line_ns(line, record->time),
                               .kind = record->aux,
                               .size_ns = record->arg};
    if (row.from > row.until)
        row.from = row.until;
    return row;
}

static void
clock_step(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    if (process->consumer->step) {
        const struct sqt_step_row row = sqt_step_of(process->origin, &process->line, record, &process->jump);
        process->consumer->step(process->consumer->context, &row);
    }
    if (sqt_step_hides_durations(record->aux))
        process->stepped = now;
}

const struct sqt_thing_kind sqt_thing_steps = {
    .events = (const struct sqt_subscription[]){{SQT_EV_CLOCK_STEP, clock_step}, {0}}};
