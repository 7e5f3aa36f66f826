/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * swaps.c - swap-ins and swap-outs, their blocks, and what they cost their reader.
 *
 *     open asked   opened  read    done  read    done    close   closed
 *     |----open----|       |-first--|    |-rest--|       |-close-|
 *                   -idle-           idle         -idle--
 *
 * Of the phases open at a time the first of open, first, rest, close is charged; none: idle.  So they add up.
 */
#include "model-internal.h"

#define PHASE(name) (1u << SQT_SWAP_##name)
#define STAGE(name) (1u << SQT_STAGE_##name)

static inline struct sqt_swap *
swaps_find(const struct sqt_process_state *process, uint64_t sio)
{
    return sqt_idmap_get(&process->swaps.ids, sio);
}

struct sqt_xact *
sqt_swap_reader(const struct sqt_swap *swap)
{
    return swap->reader && swap->reader->pooled.serial == swap->reader_serial ? swap->reader : NULL;
}

static void
reader_opens(struct sqt_process_state *process, const struct sqt_swap *swap, int64_t now, uint32_t stages)
{
    struct sqt_xact *const reader = sqt_swap_reader(swap);
    if (reader) {
        sqt_xact_charge(process, reader, now);
        sqt_spans_open(&reader->stages, stages);
    }
}

static void
reader_closes(struct sqt_process_state *process, const struct sqt_swap *swap, int64_t now, uint32_t stages)
{
    struct sqt_xact *const reader = sqt_swap_reader(swap);
    if (reader) {
        sqt_xact_charge(process, reader, now);
        sqt_spans_close(&reader->stages, stages);
    }
}

static void
end_io(struct sqt_process_state *process, struct sqt_io *io, int64_t now)
{
    struct sqt_swap *const swap = io->swap;
    sqt_spans_charge(&swap->phases, now);
    sqt_spans_close(&swap->phases, io->index ? PHASE(REST) : PHASE(FIRST));
    if (!swap->out)
        reader_closes(process, swap, now, 1u << io->stage);
    sqt_pool_put(&process->ios.pool, io);
}

static void
swaps_end(struct sqt_process_state *process, struct sqt_swap *swap, int64_t now, enum sqt_outcome outcome)
{
    sqt_spans_charge(&swap->phases, now);
    swap->end = now;
    swap->outcome = sqt_outcome_of(process, swap->epoch, swap->begin, outcome);
    if (process->consumer->swap)
        process->consumer->swap(process->consumer->context, swap);
    if (swap->opening)
        reader_closes(process, swap, now, STAGE(SWAP_IN_OPEN));
    while (swap->first_io) {
        struct sqt_io *const io = swap->first_io;
        sqt_block_unlink(process, io);
        end_io(process, io, now);
    }
    if (swaps_find(process, swap->sio) == swap)
        sqt_idmap_take(&process->swaps.ids, swap->sio);
    sqt_pool_put(&process->swaps.pool, swap);
}

static void
swap_open(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_swap *const old = swaps_find(process, record->id);
    if (old)
        swaps_end(process, old, now, SQT_OUTCOME_ABORTED);
    struct sqt_swap *const swap = sqt_thing_new(process, &process->swaps);
    swap->origin = process->origin;
    swap->sio = record->id;
    swap->xact = record->arg;
    swap->dir = record->aux;
    swap->out = record->event == SQT_EV_SWAPOUT_OPEN;
    swap->begin = now;
    swap->epoch = process->epoch;
    swap->image = SQT_MISSING;
    swap->opening = 1;
    sqt_spans_begin(&swap->phases, now);
    swap->phases.nests = PHASE(FIRST) | PHASE(REST);
    sqt_spans_open(&swap->phases, PHASE(OPEN));
    if (more && record[1].event == SQT_EV_PART_SWAP_FILE) {
        swap->object = record[1].id;
        swap->file = record[1].arg;
        swap->update = record[1].aux & 1;
    }
    sqt_idmap_put(&process->swaps.ids, swap->sio, swap);
    sqt_diskop_asked(process, swap, swap->out ? SQT_DISK_CREATE : SQT_DISK_OPEN, now);
    struct sqt_xact *const reader =
        swap->out || swap->update || !swap->xact ? NULL : sqt_idmap_get(&process->xacts.ids, swap->xact);
    if (reader) {
        swap->reader = reader;
        swap->reader_serial = reader->pooled.serial;
        ++reader->swap_ins;
        reader->dir = swap->dir;
        reader_opens(process, swap, now, sqt_events[record->event].opens);
    }
}

static void
swap_opened(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_swap *const swap = swaps_find(process, record->id);
    sqt_diskop_told(process, record, more);
    if (!swap || !swap->opening)
        return;
    sqt_spans_charge(&swap->phases, now);
    sqt_spans_close(&swap->phases, PHASE(OPEN));
    swap->opening = 0;
    if (!more)
        sqt_diskop_inline(process, swap, swap->out ? SQT_DISK_CREATE : SQT_DISK_OPEN, swap->begin, now, SQT_MISSING,
                          record->aux ? SQT_OUTCOME_ERROR : SQT_OUTCOME_COMPLETE);
    if (record->aux)
        swap->failure = SQT_OUTCOME_ERROR;
    reader_closes(process, swap, now, sqt_events[record->event].closes);
}

/* The oldest I/O of all has lost its end, and so has its swap. */
static void
lose_oldest(struct sqt_process_state *process, int64_t now)
{
    struct sqt_io *const io = process->ios.pool.first;
    sqt_bound_met(process, &process->ios);
    io->swap->failure = SQT_OUTCOME_LOST;
    sqt_block_unlink(process, io);
    end_io(process, io, now);
}

static void
swap_ask(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_swap *const swap = swaps_find(process, record->id);
    if (!swap)
        return;
    sqt_diskop_asked(process, swap, swap->out ? SQT_DISK_WRITE : SQT_DISK_READ, now);
    while (sqt_pool_full(&process->ios.pool))
        lose_oldest(process, now);
    struct sqt_io *const io = sqt_block_ask(process, swap, record->arg);
    if (more && record[1].event == SQT_EV_PART_SLOT)
        swap->slot_header = (int64_t)(record[1].arg & SQT_IO_BYTES);
    io->wanted = record->aux;
    io->asked = now;
    io->stage = io->index ? SQT_STAGE_SWAP_IN_REST : SQT_STAGE_SWAP_IN_FIRST;
    sqt_spans_charge(&swap->phases, now);
    sqt_spans_open(&swap->phases, io->index ? PHASE(REST) : PHASE(FIRST));
    if (sqt_events[record->event].opens)
        reader_opens(process, swap, now, 1u << io->stage);
}

static int64_t
swaps_between(int64_t low, int64_t value, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Without stamps the I/O ran in the main thread between the two records. */
static void
swaps_split(const struct sqt_process_state *process, struct sqt_io *io, const struct sqt_record *record, unsigned more)
{
    int64_t begin = io->asked, end = io->done;
    for (unsigned i = 1; i <= more; ++i) {
        const struct sqt_record *const part = &record[i];
        if (part->event == SQT_EV_PART_DISKOP_IO) {
            begin = sqt_line_ns(&process->line, part->id);
            end = sqt_line_ns(&process->line, part->arg);
        } else if (part->event == SQT_EV_PART_STAMP && part->arg && part->aux == SQT_STAMP_OLD_BEGIN) {
            begin = sqt_line_ns(&process->line, part->arg);
        } else if (part->event == SQT_EV_PART_STAMP && part->arg && part->aux == SQT_STAMP_OLD_END) {
            end = sqt_line_ns(&process->line, part->arg);
        }
    }
    begin = swaps_between(io->asked, begin, io->done);
    end = swaps_between(begin, end, io->done);
    io->queue = begin - io->asked;
    io->service = end - begin;
    io->notice = io->done - end;
}

/* Nobody knows where an I/O was when its time was up, or while a clock stepped. */
static void
split_unknown(struct sqt_io *io)
{
    io->queue = io->service = io->notice = SQT_MISSING;
}

/* A reader waited for a block. */
static void
reader_waited(struct sqt_xact *reader, const struct sqt_io *io)
{
    if (io->queue == SQT_MISSING)
        return;
    reader->read_parts[SQT_IO_QUEUE] = sqt_sum(reader->read_parts[SQT_IO_QUEUE], io->queue);
    reader->read_parts[SQT_IO_SERVICE] = sqt_sum(reader->read_parts[SQT_IO_SERVICE], io->service);
    reader->read_parts[SQT_IO_NOTICE] = sqt_sum(reader->read_parts[SQT_IO_NOTICE], io->notice);
}

static void
swap_done(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_diskop_told(process, record, more);
    struct sqt_swap *const swap = swaps_find(process, record->id);
    struct sqt_io *const io = swap ? sqt_block_take(process, swap, record->arg) : NULL;
    if (!io)
        return;
    io->done = now;
    io->outcome = sqt_io_outcome(record->aux);
    const int complete = io->outcome == SQT_OUTCOME_COMPLETE;
    io->size = complete ? (int64_t)record->aux : 0;
    if (io->outcome == SQT_OUTCOME_TIMEOUT)
        split_unknown(io);
    else
        swaps_split(process, io, record, more);
    if (!more)
        sqt_diskop_inline(process, swap, swap->out ? SQT_DISK_WRITE : SQT_DISK_READ, io->asked, now,
                          complete ? sqt_sum(io->size, swap->slot_header) : 0, io->outcome);
    ++swap->ios;
    swap->size = sqt_sum(swap->size, io->size);
    if (swap->failure == SQT_OUTCOME_COMPLETE)
        swap->failure = io->outcome;
    if (sqt_stepped_since(process, io->asked)) {
        io->outcome = SQT_OUTCOME_CLOCK;
        split_unknown(io);
    }
    struct sqt_xact *const reader = swap->out ? NULL : sqt_swap_reader(swap);
    if (reader)
        reader_waited(reader, io);
    if (reader && complete)
        ++reader->disk_reads;
    else if (reader && reader->reply_source >= 0 && reader->cut_off == SQT_OUTCOME_COMPLETE)
        reader->cut_off = sqt_io_outcome(record->aux);
    if (process->consumer->io)
        process->consumer->io(process->consumer->context, io);
    const uint64_t until = record->arg + (uint64_t)io->size;
    const uint64_t wanted = io->offset + io->wanted;
    end_io(process, io, now);
    /* The store may write several blocks at once: those that this completion covers are done too. */
    for (uint64_t at = wanted; swap->out && at < until;) {
        struct sqt_io *const covered = sqt_block_take(process, swap, at);
        if (!covered)
            break;
        at = covered->wanted ? at + covered->wanted : until;
        end_io(process, covered, now);
    }
}

static void
swap_close(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_swap *const swap = swaps_find(process, record->id);
    if (!swap)
        return;
    sqt_diskop_asked(process, swap, SQT_DISK_CLOSE, now);
    sqt_spans_charge(&swap->phases, now);
    sqt_spans_open(&swap->phases, PHASE(CLOSE));
    swap->close_asked = now;
    if (swap->out && record->aux)
        swap->outcome = SQT_OUTCOME_ABORTED;
}

static void
swap_closed(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_diskop_told(process, record, more);
    struct sqt_swap *const swap = swaps_find(process, record->id);
    if (!swap)
        return;
    if (swap->out)
        swap->image = sqt_bytes(record->arg);
    if (!more && swap->close_asked)
        sqt_diskop_inline(process, swap, SQT_DISK_CLOSE, swap->close_asked, now, SQT_MISSING,
                          record->aux ? SQT_OUTCOME_ERROR : SQT_OUTCOME_COMPLETE);
    swaps_end(process, swap, now,
              swap->failure != SQT_OUTCOME_COMPLETE ? swap->failure
              : record->aux                         ? SQT_OUTCOME_ERROR
                                                    : swap->outcome);
}

static void
swaps_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    swaps_end(process, thing, process->now, outcome);
}

const struct sqt_thing_kind sqt_thing_swaps = {
    .words = "swaps",
    .size = sizeof(struct sqt_swap),
    .begin = offsetof(struct sqt_swap, begin),
    .epoch = offsetof(struct sqt_swap, epoch),
    .cut_off = swaps_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_SWAPIN_OPEN, swap_open},
                                                {SQT_EV_SWAPIN_OPENED, swap_opened},
                                                {SQT_EV_SWAPIN_READ, swap_ask},
                                                {SQT_EV_SWAPIN_READ_DONE, swap_done},
                                                {SQT_EV_SWAPIN_CLOSE, swap_close},
                                                {SQT_EV_SWAPIN_CLOSED, swap_closed},
                                                {SQT_EV_SWAPOUT_OPEN, swap_open},
                                                {SQT_EV_SWAPOUT_OPENED, swap_opened},
                                                {SQT_EV_SWAPOUT_WRITE, swap_ask},
                                                {SQT_EV_SWAPOUT_WRITTEN, swap_done},
                                                {SQT_EV_SWAPOUT_CLOSE, swap_close},
                                                {SQT_EV_SWAPOUT_CLOSED, swap_closed},
                                                {0}}};
