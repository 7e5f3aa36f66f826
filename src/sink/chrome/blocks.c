/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * blocks.c - the blocks of swaps, in the tracks of their cache_dirs.
 */
#include "chrome.h"

#define CELL(name) row[SQT_CELL(ios, name)]

void
sqt_chrome_parts(const union sqt_cell *row, struct sqt_part parts[SQT_IO_PARTS])
{
    int64_t at = CELL(time_s).number;
    if (CELL(queue_ns).number == SQT_CELL_MISSING) { /* its time was up, and nobody knows where it was */
        const int64_t done = at + (CELL(total_ns).number == SQT_CELL_MISSING ? 0 : CELL(total_ns).number);
        parts[SQT_IO_QUEUE] = (struct sqt_part){"queue", at, at};
        parts[SQT_IO_SERVICE] = (struct sqt_part){"service", done, done};
        parts[SQT_IO_NOTICE] = (struct sqt_part){"notice", done, done};
        return;
    }
    parts[SQT_IO_QUEUE] = (struct sqt_part){"queue", at, at + CELL(queue_ns).number};
    at = parts[SQT_IO_QUEUE].until;
    parts[SQT_IO_SERVICE] = (struct sqt_part){"service", at, at + CELL(service_ns).number};
    at = parts[SQT_IO_SERVICE].until;
    parts[SQT_IO_NOTICE] = (struct sqt_part){"notice", at, at + CELL(notice_ns).number};
}

/* The slice is the I/O itself, which one thread or process does after the other: so a track has as many threads as its
 * cache_dir has.  After a timeout the parts are not known: the slice is all of the block's time, and it counts as queue. */
struct sqt_linked_block
sqt_chrome_block(struct sqt_chrome *c, const struct sqt_origin *origin, const union sqt_cell *row)
{
    const int write = *CELL(direction).text == 'o';
    const unsigned track = sqt_track_of_disk((uint32_t)CELL(dir).number);
    struct sqt_part parts[SQT_IO_PARTS];
    struct sqt_linked_block block = {.asked = CELL(time_s).number};
    sqt_chrome_parts(row, parts);
    if (CELL(queue_ns).number == SQT_CELL_MISSING)
        parts[SQT_IO_QUEUE].until = parts[SQT_IO_SERVICE].from;
    block.from = CELL(queue_ns).number == SQT_CELL_MISSING ? block.asked : parts[SQT_IO_SERVICE].from;
    block.until = parts[SQT_IO_SERVICE].until;
    if (CELL(total_ns).number != SQT_CELL_MISSING)
        block.place = sqt_track_place(&c->tracks, origin, track, block.from, block.until);
    if (block.place.thread)
        sqt_event_slice(&c->events, "block", write ? "write" : "read", sqt_block_colours[write], block.place,
                        block.from, block.until);
    else
        sqt_event_instant(&c->events, "block", write ? "write" : "read", sqt_track_first(&c->tracks, origin, track),
                          block.asked);
    sqt_json_text(c->events.out, ",\"args\":{");
    sqt_json_cells(c->events.out, &sqt_tables[SQT_TABLE_ios], row, SQT_CELL(ios, sio), SQT_CELLS(ios), 0);
    sqt_json_text(c->events.out, "}");
    sqt_event_end(&c->events);
    for (unsigned i = 0; i < SQT_IO_PARTS; ++i)
        sqt_counters_add(&c->counters, origin, track, i, parts[i].from, parts[i].until);
    return block;
}

void
sqt_chrome_io(void *context, const struct sqt_io *io)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    struct sqt_xact *const reader = io->swap->out ? NULL : sqt_swap_reader(io->swap);
    union sqt_cell row[SQT_CELLS(ios)];
    sqt_sink_header(c->sink);
    sqt_io_cells(row, io);
    if (reader)
        sqt_keep_block(&c->keep, reader, row);
    if (!sqt_chrome_wants(job, io->asked))
        return;
    const struct sqt_linked_block block = sqt_chrome_block(c, io->swap->origin, row);
    if (sqt_block_can_be_linked(&block) && CELL(xid).number != SQT_CELL_MISSING)
        sqt_links_block(&c->links, io->swap->xact, &block);
}
