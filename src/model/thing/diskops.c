/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * diskops.c - operations of files: those that threads and other processes do, from their stamps, and those that the
 * main thread does itself, from the records of swaps.
 *
 *     asked  queued          taken up      done  put back   noticed   handler returns
 *     |------|---------------|-------------|-----|----------|---------|
 *     enqueued   dequeued          io       copy  complete   finished
 *
 * Of one that the main thread does only io is known: it is asked for and done in one go.
 */
#include "model/model-internal.h"

#include <string.h>

static inline struct sqt_diskop *
diskops_find(const struct sqt_process_state *process, uint64_t serial)
{
    return sqt_idmap_get(&process->diskops.ids, serial);
}

static void
forget(struct sqt_process_state *process, struct sqt_diskop *op)
{
    sqt_thing_forget(&process->diskops, op->serial, op);
}

static void
diskops_tell(const struct sqt_process_state *process, const struct sqt_diskop *op)
{
    if (process->consumer->diskop)
        process->consumer->diskop(process->consumer->context, op);
}

/* Whether a record that says more of it may be missing. */
static int
is_lost(const struct sqt_process_state *process, const struct sqt_diskop *op)
{
    return op->epoch != process->epoch || op->pooled.serial <= process->unheard;
}

static enum sqt_outcome
outcome_of(const struct sqt_process_state *process, const struct sqt_diskop *op, enum sqt_outcome outcome)
{
    return sqt_outcome_of(process, is_lost(process, op) ? ~process->epoch : process->epoch, op->begin, outcome);
}

/* Ends one whose end is not in the trace, and forgets it. */
static void
diskops_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    struct sqt_diskop *const op = thing;
    if (!op->timed_out) {
        op->stages[SQT_DISKOP_ENQUEUED] = op->queued - op->begin;
        op->end = process->now;
        op->outcome = outcome_of(process, op, outcome);
        diskops_tell(process, op);
    }
    forget(process, op);
}

static void
clear_stages(struct sqt_diskop *op)
{
    for (unsigned i = 0; i < SQT_DISKOP_STAGES; ++i)
        op->stages[i] = SQT_MISSING;
}

/* An operation of serial that was asked for at `asked` and is queued now. */
static void
diskops_begin(struct sqt_process_state *process, int64_t now, uint64_t serial, const struct sqt_question *question,
              uint64_t depth)
{
    struct sqt_diskop *const old = diskops_find(process, serial);
    if (old)
        forget(process, old);
    struct sqt_diskop *const op = sqt_thing_new(process, &process->diskops);
    op->origin = process->origin;
    op->serial = serial;
    op->sio = question->sio;
    op->dir = question->dir;
    op->op = question->op;
    op->depth = (int64_t)depth;
    op->begin = question->at < now ? question->at : now;
    op->queued = now;
    op->queue = SQT_QUEUE_FIRST;
    op->size = SQT_MISSING;
    op->epoch = process->epoch;
    clear_stages(op);
    sqt_idmap_put(&process->diskops.ids, op->serial, op);
    struct sqt_swap *const swap = op->sio ? sqt_idmap_get(&process->swaps.ids, op->sio) : NULL;
    if (swap)
        swap->elsewhere |= 1u << op->op;
}

static void
diskop_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    if (!more || record[1].event != SQT_EV_PART_DISKOP)
        return;
    const struct sqt_question question = {.sio = record->arg,
                                          .dir = record->aux,
                                          .at = sqt_line_ns(&process->line, record[1].id),
                                          .op = record[1].aux < SQT_DISK_OPS ? record[1].aux : SQT_DISK_OTHER};
    diskops_begin(process, now, record->id, &question, record[1].arg);
}

void
sqt_diskop_asked(struct sqt_process_state *process, struct sqt_swap *swap, enum sqt_disk_op op, int64_t now)
{
    process->question =
        (struct sqt_question){.sio = swap->sio, .op = op, .dir = swap->dir, .at = now, .epoch = process->epoch};
    swap->question = process->question;
}

static void
diskop_queued(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_question question = process->question;
    /* A queue to a disker takes answers before it takes a question, and Squid 5 goes on with other swaps then. */
    const struct sqt_swap *const swap =
        question.sio == record->arg ? NULL : sqt_idmap_get(&process->swaps.ids, record->arg);
    if (swap)
        question = swap->question;
    /* After a loss the question may be another one. */
    if (!question.at || question.sio != record->arg || question.epoch != process->epoch)
        question = (struct sqt_question){.sio = record->arg, .op = SQT_DISK_OTHER, .dir = UINT32_MAX, .at = now};
    diskops_begin(process, now, record->id, &question, record->aux);
}

void
sqt_diskop_told(struct sqt_process_state *process, const struct sqt_record *record, unsigned more)
{
    if (!more || record[1].event != SQT_EV_PART_DISKOP_IO)
        return;
    process->told.sio = record->id;
    process->told.epoch = process->epoch;
    process->told.service = record[1];
}

/* The record with the stamps of an operation's service, NULL if nobody knows them. */
static const struct sqt_record *
service_of(const struct sqt_process_state *process, const struct sqt_diskop *op, const struct sqt_record *end,
           unsigned more)
{
    if (more)
        return end[1].event == SQT_EV_PART_DISKOP_IO ? &end[1] : NULL;
    const int told = op->sio && process->told.sio == op->sio && process->told.epoch == process->epoch;
    return told && !(end->aux & (SQT_IO_TIMED_OUT | SQT_IO_CANCELLED)) ? &process->told.service : NULL;
}

/* Takes the operation's times from the record of its end and the parts that follow it; puts times that disagree in order. */
static void
read_end(const struct sqt_process_state *process, struct sqt_diskop *op, int64_t now, const struct sqt_record *record,
         unsigned more)
{
    int64_t at[SQT_DISKOP_STAGES + 1] = {op->begin, op->queued, 0, 0, 0, sqt_line_ns(&process->line, record->arg), now};
    const struct sqt_record *const service = service_of(process, op, record, more);
    if (service) {
        at[2] = sqt_line_ns(&process->line, service->id);
        at[3] = sqt_line_ns(&process->line, service->arg);
        at[4] = sqt_line_ns(&process->line, service->arg + service->aux);
        if (more > 1 && record[2].event == SQT_EV_PART_STAMP && record[2].aux == SQT_STAMP_SECOND_QUEUE) {
            at[1] = sqt_line_ns(&process->line, record[2].arg);
            op->queue = SQT_QUEUE_SECOND;
        } else if (at[1] > at[2])
            at[1] = at[2]; /* who does it may be faster than the record that it was queued */
    } else {
        at[2] = at[3] = at[4] = at[1];
    }
    for (unsigned i = 1; i <= SQT_DISKOP_STAGES; ++i) {
        at[i] = at[i] > now ? now : at[i] < at[i - 1] ? at[i - 1] : at[i];
        op->stages[i - 1] = at[i] - at[i - 1];
    }
    if (!service) /* nobody knows where it was until its time was up */
        op->stages[SQT_DISKOP_DEQUEUED] = op->stages[SQT_DISKOP_IO] = op->stages[SQT_DISKOP_COPY] = SQT_MISSING;
    op->end = now;
    const enum sqt_outcome outcome = sqt_io_outcome(record->aux);
    op->outcome = outcome_of(process, op, outcome);
    if (op->op == SQT_DISK_READ || op->op == SQT_DISK_WRITE)
        op->size = op->outcome != SQT_OUTCOME_LOST && outcome == SQT_OUTCOME_COMPLETE
                       ? (int64_t)(record->aux & SQT_IO_BYTES)
                       : 0;
}

static void
diskop_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_diskop *const op = diskops_find(process, record->id);
    if (!op || op->timed_out)
        return;
    read_end(process, op, now, record, more);
    process->told.sio = 0; /* it was told for this operation alone */
    diskops_tell(process, op);
    op->timed_out = sqt_io_outcome(record->aux) == SQT_OUTCOME_TIMEOUT && op->outcome != SQT_OUTCOME_LOST;
    if (!op->timed_out) /* else its answer may still come */
        forget(process, op);
}

static void
diskop_late(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_diskop *const op = diskops_find(process, record->id);
    if (!op || !op->timed_out)
        return;
    read_end(process, op, now, record, more);
    op->late = 1;
    diskops_tell(process, op);
    forget(process, op);
}

void
sqt_diskop_switched_off(struct sqt_process_state *process)
{
    process->unheard = process->diskops.pool.serial;
}

/* ---- the main thread itself ---- */

static void
tell_inline(struct sqt_process_state *process, uint64_t sio, enum sqt_disk_op what, uint32_t dir, int64_t begin,
            int64_t end, int64_t size, enum sqt_outcome outcome)
{
    const int stepped = sqt_stepped_since(process, begin);
    if (!stepped)
        sqt_loop_io(process, what, dir, begin, end);
    struct sqt_diskop op = {.origin = process->origin,
                            .sio = sio,
                            .op = what,
                            .dir = dir,
                            .begin = begin,
                            .end = end,
                            .depth = SQT_MISSING,
                            .size = size,
                            .outcome = stepped ? SQT_OUTCOME_CLOCK : outcome};
    clear_stages(&op);
    if (!stepped)
        op.stages[SQT_DISKOP_IO] = end - begin;
    diskops_tell(process, &op);
}

void
sqt_diskop_inline(struct sqt_process_state *process, const struct sqt_swap *swap, enum sqt_disk_op op, int64_t begin,
                  int64_t end, int64_t size, enum sqt_outcome outcome)
{
    if (swap->elsewhere >> op & 1 || outcome == SQT_OUTCOME_TIMEOUT)
        return;
    /* A swap of rock opens and closes nothing. */
    const char *const type = sqt_origin_text(process->origin, SQT_DEF_DIR, swap->dir);
    if (type && !strncmp(type, "rock ", 5) && op != SQT_DISK_READ && op != SQT_DISK_WRITE)
        return;
    tell_inline(process, swap->sio, op, swap->dir, begin, end, size, outcome);
}

static void
diskops_unlink(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    process->question =
        (struct sqt_question){.op = SQT_DISK_UNLINK, .dir = (uint32_t)record->id, .at = now, .epoch = process->epoch};
    process->unlink.dir = record->id;
    process->unlink.begin = now;
}

static void
diskops_unlinked(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    if (process->unlink.begin && record->id == process->unlink.dir)
        tell_inline(process, 0, SQT_DISK_UNLINK, (uint32_t)record->id, process->unlink.begin, now, SQT_MISSING,
                    SQT_OUTCOME_COMPLETE);
    process->unlink.begin = 0;
}

const struct sqt_thing_kind sqt_thing_diskops = {
    .words = "disk operations",
    .size = sizeof(struct sqt_diskop),
    .begin = offsetof(struct sqt_diskop, begin),
    .cut_off = diskops_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_UNLINK, diskops_unlink},
                                                {SQT_EV_UNLINKED, diskops_unlinked},
                                                {SQT_EV_DISKOP_BEGIN, diskop_begin},
                                                {SQT_EV_DISKOP_QUEUED, diskop_queued},
                                                {SQT_EV_DISKOP_END, diskop_end},
                                                {SQT_EV_DISKOP_LATE, diskop_late},
                                                {0}}};
