/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loops.c - passes of the event loop: a wait, and the work until the next one.
 *
 *     wait begins   wait ends                      wait begins
 *     |----wait-----|---------------work-----------|
 *                       |--longest activity--|
 *
 * An I/O of the store without stamps ran in the main thread: the loop stood still meanwhile.  The longest of a pass is
 * kept beside the longest activity, which has it inside.
 */
#include "model-internal.h"

void
sqt_loop_wait(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_loop_state *const p = &life->loop;
    if (p->works && p->epoch == life->epoch && (life->consumer->loop || life->consumer->stop)) {
        struct sqt_loop_row row = p->row;
        row.origin = life->origin;
        row.end = now;
        row.unknown = sqt_stepped_since(life, row.begin);
        if (more && record[1].event == SQT_EV_PART_ACTIVITY) {
            row.activity = record[1].aux;
            row.activity_ns = sqt_line_ns(&life->line, record[1].arg) - sqt_line_ns(&life->line, record[1].id);
            if (row.activity_ns < 0)
                row.activity_ns = 0;
        }
        if (life->consumer->loop)
            life->consumer->loop(life->consumer->context, &row);
        if (!row.unknown)
            sqt_stops_pass(life, &row);
    }
    p->works = 0;
    p->waits = 1;
    p->epoch = life->epoch;
    const uint64_t most_ms = INT64_MAX / 1000000;
    p->row = (struct sqt_loop_row){.begin = now,
                                   .activity = UINT32_MAX,
                                   .timeout = record->arg > most_ms ? INT64_MAX : (int64_t)record->arg * 1000000};
}

void
sqt_loop_work(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_loop_state *const p = &life->loop;
    if (!p->waits)
        return;
    p->waits = 0;
    p->works = 1;
    p->row.work = now;
    p->row.ready = record->arg;
    p->row.interrupted = record->aux != 0;
}

void
sqt_loop_switched_off(struct sqt_life *life)
{
    life->loop.waits = life->loop.works = 0;
}

void
sqt_loop_io(struct sqt_life *life, enum sqt_disk_op op, uint32_t dir, int64_t begin, int64_t end)
{
    struct sqt_loop_row *const row = &life->loop.row;
    if (!life->loop.works || begin < row->work || end - begin <= row->disk_ns)
        return;
    row->disk_ns = end - begin;
    row->disk_call = op;
    row->dir = dir;
}
