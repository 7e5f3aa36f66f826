/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * requests.c - requests, their stages, and the parts of the blocks that they waited for.
 */
#include "chrome.h"

void
sqt_chrome_charge(void *context, const struct sqt_charge *charge)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    sqt_keep_charge(&c->keep, charge);
}

void
sqt_chrome_recharge(void *context, const struct sqt_charge *charge)
{
    (void)context;
    sqt_keep_recharge(charge);
}

static const char *
requests_stage_name(unsigned stage)
{
    return stage == SQT_UNACCOUNTED ? "unaccounted" : sqt_stages[stage].name;
}

#define CELL(name) row[SQT_CELL(ios, name)]

static void
requests_part(struct sqt_chrome *c, const union sqt_cell *row, unsigned part, const char *name,
              struct sqt_chrome_place place, int64_t from, int64_t until)
{
    sqt_event_slice(&c->events, "part", name, sqt_part_colours[part], place, from, until);
    sqt_json_print(c->events.out, ",\"args\":{\"sio\":%lld,\"index\":%lld,\"size_bytes\":%lld}",
                   (long long)CELL(sio).number, (long long)CELL(index).number, (long long)CELL(size_bytes).number);
    sqt_event_end(&c->events);
}

/* Prints what the blocks were at while the request waited for them; *block is the first that may still matter.  Where
 * several were under way, each is shown from where the one before it was over. */
static void
requests_parts(struct sqt_chrome *c, const struct sqt_kept *kept, struct sqt_chrome_place place,
               const struct sqt_tile *tile, size_t *block)
{
    int64_t cursor = tile->from;
    for (size_t i = *block; i < kept->block_count && cursor < tile->until; ++i) {
        const union sqt_cell *const row = kept->blocks[i].row;
        struct sqt_part parts[SQT_IO_PARTS];
        sqt_chrome_parts(row, parts);
        if (parts[SQT_IO_NOTICE].until <= tile->from)
            *block = i + 1;
        for (unsigned p = 0; p < SQT_IO_PARTS; ++p) {
            const int64_t from = parts[p].from > cursor ? parts[p].from : cursor;
            const int64_t until = parts[p].until < tile->until ? parts[p].until : tile->until;
            if (from >= until)
                continue;
            requests_part(c, row, p, parts[p].name, place, from, until);
            cursor = until;
        }
        if (parts[SQT_IO_QUEUE].from >= tile->until)
            break;
    }
}

static void
requests_stage(struct sqt_chrome *c, const struct sqt_xact *xact, struct sqt_chrome_place place,
               const struct sqt_tile *tile, size_t *block)
{
    sqt_event_slice(&c->events, "stage", requests_stage_name(tile->stage), sqt_stage_colours[tile->stage], place,
                    tile->from, tile->until);
    sqt_event_end(&c->events);
    if (tile->stage == SQT_STAGE_SWAP_IN_FIRST || tile->stage == SQT_STAGE_SWAP_IN_REST)
        requests_parts(c, xact->user, place, tile, block);
    if (tile->stage == SQT_STAGE_SERVER_WAIT)
        sqt_chrome_server_wait(c, xact, tile->from, tile->until);
}

static void
requests_stages(struct sqt_chrome *c, const struct sqt_xact *xact, struct sqt_chrome_place place)
{
    const struct sqt_kept *const kept = xact->user;
    int64_t sums[SQT_STAGES + 1];
    struct sqt_tile tile;
    size_t block = 0, i = 0;
    for (unsigned s = 0; s <= SQT_UNACCOUNTED; ++s)
        sums[s] = xact->stages.ns[s];
    while (sqt_keep_tile(xact, &i, &tile)) {
        requests_stage(c, xact, place, &tile, &block);
        sums[tile.stage] -= tile.until - tile.from;
    }
    if (!kept || kept->until == INT64_MAX)
        return;
    sqt_event_slice(&c->events, "stage", "more_stages", NULL, place, kept->until, xact->end);
    sqt_json_text(c->events.out, ",\"args\":{");
    for (unsigned s = 0, some = 0; s <= SQT_UNACCOUNTED; ++s)
        if (sums[s])
            sqt_json_print(c->events.out, "%s\"%s_ns\":%lld", some++ ? "," : "", requests_stage_name(s),
                           (long long)sums[s]);
    sqt_json_text(c->events.out, "}");
    sqt_event_end(&c->events);
}

#undef CELL
#define CELL(name) row[SQT_CELL(requests, name)]

static void
requests_cells(struct sqt_chrome *c, const union sqt_cell *row)
{
    struct sqt_out *const out = c->events.out;
    sqt_json_text(out, ",\"args\":{");
    const struct sqt_table *const table = &sqt_tables[SQT_TABLE_requests];
    int some = sqt_json_cells(out, table, row, SQT_CELL(requests, xid), SQT_CELL(requests, stages), 0);
    some = sqt_json_cells(out, table, row, SQT_CELL(requests, unaccounted_ns), SQT_CELL(requests, late_stages), some);
    sqt_json_cells(out, table, row, SQT_CELL(requests, read_wait_ns), SQT_CELL(requests, trace_id), some);
    sqt_json_text(out, "}");
    sqt_event_end(&c->events);
}

/* Nobody knows how long a lost request took: it is an instant. */
static struct sqt_linked_slice
requests_slice(struct sqt_chrome *c, const struct sqt_xact *xact, const union sqt_cell *row, enum sqt_class class)
{
    const char *const name = CELL(class).text ? CELL(class).text : CELL(outcome).text;
    const char *const colour = CELL(class).text ? sqt_class_colours[class] : NULL;
    struct sqt_linked_slice slice = {.from = xact->begin == SQT_MISSING ? xact->end : xact->begin, .until = xact->end};
    if (!sqt_durations_unknown(xact->outcome))
        slice.place = sqt_track_place(&c->tracks, xact->origin, SQT_TRACK_REQUESTS, slice.from, slice.until);
    if (slice.place.thread)
        sqt_event_slice(&c->events, "request", name, colour, slice.place, slice.from, slice.until);
    else
        sqt_event_instant(&c->events, "request", name, sqt_track_first(&c->tracks, xact->origin, SQT_TRACK_REQUESTS),
                          slice.from);
    requests_cells(c, row);
    return slice;
}

/* The blocks that a picked request has read. */
static void
requests_blocks(struct sqt_chrome *c, const struct sqt_xact *xact, const struct sqt_linked_slice *request)
{
    const struct sqt_kept *const kept = xact->user;
    for (size_t i = 0; kept && i < kept->block_count; ++i) {
        const struct sqt_linked_block block = sqt_chrome_block(c, xact->origin, kept->blocks[i].row);
        if (request->place.thread && sqt_block_can_be_linked(&block) && block.asked >= request->from)
            sqt_links_arrow(&c->events, request, &block);
    }
}

static void
requests_print(struct sqt_job *job, const struct sqt_xact *xact, const union sqt_cell *row, enum sqt_class class)
{
    struct sqt_chrome *const c = job->state;
    const struct sqt_linked_slice slice = requests_slice(c, xact, row, class);
    if (!sqt_durations_unknown(xact->outcome))
        sqt_counters_add(&c->counters, xact->origin, SQT_TRACK_REQUESTS, 0, slice.from, slice.until);
    if (slice.place.thread)
        requests_stages(c, xact, slice.place);
    if (job->where)
        requests_blocks(c, xact, &slice);
    else if (slice.place.thread && slice.until > slice.from && CELL(xid).number != SQT_CELL_MISSING)
        sqt_links_request(&c->links, xact->id, &slice);
}

void
sqt_chrome_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct sqt_chrome *const c = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    const enum sqt_class class = sqt_request_cells(row, xact);
    if (!job->done && sqt_job_wants(job, xact->begin == SQT_MISSING ? xact->end : xact->begin, row)) {
        sqt_sink_header(c->sink);
        requests_print(job, xact, row, class);
        ++c->sink->rows;
        job->done = c->events.out->error || c->events.out->gone;
    }
    sqt_keep_drop(&c->keep, xact->user);
}

void
sqt_chrome_unlogged(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    sqt_keep_drop(&((struct sqt_chrome *)job->state)->keep, xact->user);
}
