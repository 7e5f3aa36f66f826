/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * chrome.c - requests and disks as trace-event JSON, which Perfetto and Chromium draw.
 *
 *     process "kid 1, worker, pid 4711"
 *         request   disk_hit -------------------------------------------------     an asynchronous span
 *         stage     |access|lookup|swap_in_open|  swap_in_first  |proxy_reply|     what each ns was charged to
 *         phase                                |queue|service|                     of the blocks that it waited for
 *     thread "ufs /cache"
 *         block                                 read --------------                a slice
 *         phase                                 queue|service|notice
 *
 * Blocks of one disk that overlap stand in as many threads as are needed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "chrome-keep.h"
#include "json.h"
#include "sink.h"

#define BUDGET ((size_t)32 << 20) /* bytes that may wait for the ends of requests */
#define DISKS 64                  /* Squid has no more */
#define LANES 256                 /* most threads of a disk; what overlaps more shares the last */
#define THREADS 1000              /* thread numbers of a disk: 1000 * (disk + 1) + lane */
#define REQUESTS 0                /* the thread of requests and losses */

struct disk {
    int64_t until[LANES]; /* ns; the end of the last block */
    unsigned lanes;
};

struct process {
    struct disk *disks[DISKS];
};

struct chrome {
    struct sqt_sink *sink;
    struct sqt_out *out;
    struct sqt_keep keep;
    struct process **processes; /* by the origin's index; NULL: not named yet */
    size_t process_count;
    uint64_t serial; /* of the request printed last */
    int some;        /* an event is out */
};

/* ---- events ---- */

/* Begins an event, up to and without its closing brace. */
static void
chrome_event(struct chrome *c, char phase, const char *category, const char *name, const struct sqt_origin *origin,
             uint64_t thread, int64_t at)
{
    sqt_json_print(c->out, "%s{\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%llu,\"ts\":",
                   c->some ? ",\n" : "\n", phase, category, name, origin->index + 1, (unsigned long long)thread);
    sqt_json_us(c->out, at);
    c->some = 1;
}

/* Begins a span inside the request that is being printed, or ends it. */
static void
inside(struct chrome *c, char phase, const char *name, const struct sqt_origin *origin, int64_t at)
{
    chrome_event(c, phase, "request", name, origin, REQUESTS, at);
    sqt_json_print(c->out, ",\"id\":\"%llu\"", (unsigned long long)c->serial);
}

static void
end(struct chrome *c)
{
    sqt_json_print(c->out, "}");
}

static void
slice(struct chrome *c, const char *category, const char *name, const struct sqt_origin *origin, uint64_t thread,
      int64_t at, int64_t lasts)
{
    chrome_event(c, 'X', category, name, origin, thread, at);
    sqt_json_print(c->out, ",\"dur\":");
    sqt_json_us(c->out, lasts);
}

/* ---- processes and threads ---- */

static void
name_thing(struct chrome *c, const char *what, const struct sqt_origin *origin, uint64_t thread, const char *name)
{
    sqt_json_print(c->out, "%s{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%u,\"tid\":%llu,\"args\":{\"name\":",
                   c->some ? ",\n" : "\n", what, origin->index + 1, (unsigned long long)thread);
    sqt_json_string(c->out, name);
    sqt_json_print(c->out,
                   "}},\n{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%u,\"tid\":%llu,"
                   "\"args\":{\"sort_index\":%llu}}",
                   what, origin->index + 1, (unsigned long long)thread,
                   (unsigned long long)(thread ? thread : origin->identity.kid));
    c->some = 1;
}

static struct process *
chrome_process_of(struct chrome *c, const struct sqt_origin *origin)
{
    if (origin->index >= c->process_count) {
        c->processes = sqt_resized(c->processes, (origin->index + 1) * sizeof(*c->processes));
        while (c->process_count <= origin->index)
            c->processes[c->process_count++] = NULL;
    }
    if (!c->processes[origin->index]) {
        char name[80];
        c->processes[origin->index] = sqt_zeroed(1, sizeof(struct process));
        snprintf(name, sizeof(name), "kid %u, pid %u", origin->identity.kid, origin->identity.pid);
        name_thing(c, "process", origin, REQUESTS, name);
        name_thing(c, "thread", origin, REQUESTS, "requests");
    }
    return c->processes[origin->index];
}

/* A thread of the disk that is free at that time.  Blocks come in the order of their ends, so nothing that was
 * placed before can overlap what begins after the last end in its thread. */
static uint64_t
chrome_thread_of(struct chrome *c, const struct sqt_io *io)
{
    struct process *const process = chrome_process_of(c, io->swap->origin);
    const unsigned dir = io->swap->dir < DISKS ? io->swap->dir : DISKS - 1;
    if (!process->disks[dir])
        process->disks[dir] = sqt_zeroed(1, sizeof(struct disk));
    struct disk *const disk = process->disks[dir];
    unsigned lane = 0;
    while (lane < disk->lanes && disk->until[lane] > io->asked)
        ++lane;
    if (lane == LANES)
        --lane;
    const uint64_t thread = THREADS * (dir + UINT64_C(1)) + lane;
    if (lane == disk->lanes) {
        const char *const text = sqt_origin_text(io->swap->origin, SQT_DEF_DIR, io->swap->dir);
        char name[300];
        ++disk->lanes;
        if (lane)
            snprintf(name, sizeof(name), "%s (%u)", text ? text : "cache_dir", lane + 1);
        else
            snprintf(name, sizeof(name), "%s", text ? text : "cache_dir");
        name_thing(c, "thread", io->swap->origin, thread, name);
    }
    disk->until[lane] = io->done;
    return thread;
}

/* ---- disks ---- */

#define CELL(name) row[SQT_CELL(ios, name)]

struct phase {
    const char *name;
    int64_t from, until;
};

/* What a block's time went to, in order. */
static void
phases_of(const union sqt_cell *row, struct phase phases[3])
{
    int64_t at = CELL(time_s).number;
    if (CELL(queue_ns).number == SQT_CELL_MISSING) { /* its time was up, and nobody knows where it was */
        const int64_t done = at + CELL(total_ns).number;
        phases[0] = (struct phase){"queue", at, at};
        phases[1] = (struct phase){"service", done, done};
        phases[2] = (struct phase){"notice", done, done};
        return;
    }
    phases[0] = (struct phase){"queue", at, at + CELL(queue_ns).number};
    at = phases[0].until;
    phases[1] = (struct phase){"service", at, at + CELL(service_ns).number};
    at = phases[1].until;
    phases[2] = (struct phase){"notice", at, at + CELL(notice_ns).number};
}

static void
print_block(struct chrome *c, const struct sqt_origin *origin, const union sqt_cell *row, uint64_t thread)
{
    struct phase phases[3];
    slice(c, "block", *CELL(direction).text == 'o' ? "write" : "read", origin, thread, CELL(time_s).number,
          CELL(total_ns).number);
    sqt_json_print(c->out, ",\"args\":{");
    sqt_json_cells(c->out, &sqt_tables[SQT_TABLE_ios], row, SQT_CELL(ios, sio), SQT_CELLS(ios), 0);
    sqt_json_print(c->out, "}");
    end(c);
    phases_of(row, phases);
    for (unsigned i = 0; i < 3; ++i)
        if (phases[i].until > phases[i].from) {
            slice(c, "phase", phases[i].name, origin, thread, phases[i].from, phases[i].until - phases[i].from);
            end(c);
        }
}

static void
chrome_io(void *context, const struct sqt_io *io)
{
    struct sqt_job *const job = context;
    struct chrome *const c = job->state;
    struct sqt_xact *const reader = io->swap->out ? NULL : sqt_swap_reader(io->swap);
    union sqt_cell row[SQT_CELLS(ios)];
    sqt_sink_header(c->sink);
    sqt_io_cells(row, io);
    const uint64_t thread = chrome_thread_of(c, io);
    if (reader)
        sqt_keep_block(&c->keep, reader, row, thread);
    if (!job->where && io->asked >= job->since && io->asked < job->until)
        print_block(c, io->swap->origin, row, thread);
}

/* ---- requests ---- */

static void
chrome_charge(void *context, const struct sqt_charge *charge)
{
    struct sqt_job *const job = context;
    struct chrome *const c = job->state;
    sqt_keep_charge(&c->keep, charge);
}

static void
chrome_recharge(void *context, const struct sqt_charge *charge)
{
    (void)context;
    sqt_keep_recharge(charge);
}

static const char *
stage_name(unsigned stage)
{
    return stage == SQT_UNACCOUNTED ? "unaccounted" : sqt_stages[stage].name;
}

/* Prints what the blocks were at while the request waited for them; *block is the first that may still matter.  Where
 * several were under way, each is shown from where the one before it was over. */
static void
print_phases(struct chrome *c, const struct sqt_xact *xact, const struct sqt_tile *tile, size_t *block)
{
    const struct sqt_kept *const kept = xact->user;
    int64_t cursor = tile->from;
    for (size_t i = *block; i < kept->block_count && cursor < tile->until; ++i) {
        const union sqt_cell *const row = kept->blocks[i].row;
        struct phase phases[3];
        phases_of(row, phases);
        if (phases[2].until <= tile->from)
            *block = i + 1;
        for (unsigned p = 0; p < 3; ++p) {
            const int64_t from = phases[p].from > cursor ? phases[p].from : cursor;
            const int64_t until = phases[p].until < tile->until ? phases[p].until : tile->until;
            if (from >= until)
                continue;
            inside(c, 'b', phases[p].name, xact->origin, from);
            sqt_json_print(c->out, ",\"args\":{\"sio\":%lld,\"index\":%lld,\"size_bytes\":%lld}}",
                           (long long)CELL(sio).number, (long long)CELL(index).number,
                           (long long)CELL(size_bytes).number);
            inside(c, 'e', phases[p].name, xact->origin, until);
            end(c);
            cursor = until;
        }
        if (phases[0].from >= tile->until)
            break;
    }
}

static void
print_stages(struct chrome *c, const struct sqt_xact *xact)
{
    const struct sqt_kept *const kept = xact->user;
    int64_t sums[SQT_STAGES + 1];
    struct sqt_tile tile;
    size_t block = 0, i = 0;
    for (unsigned s = 0; s <= SQT_UNACCOUNTED; ++s)
        sums[s] = xact->stages.ns[s];
    while (sqt_keep_tile(xact, &i, &tile)) {
        inside(c, 'b', stage_name(tile.stage), xact->origin, tile.from);
        end(c);
        if (tile.stage == SQT_STAGE_SWAP_IN_FIRST || tile.stage == SQT_STAGE_SWAP_IN_REST)
            print_phases(c, xact, &tile, &block);
        inside(c, 'e', stage_name(tile.stage), xact->origin, tile.until);
        end(c);
        sums[tile.stage] -= tile.until - tile.from;
    }
    if (!kept || kept->until == INT64_MAX)
        return;
    inside(c, 'b', "more_stages", xact->origin, kept->until);
    sqt_json_print(c->out, ",\"args\":{");
    for (unsigned s = 0, some = 0; s <= SQT_UNACCOUNTED; ++s)
        if (sums[s])
            sqt_json_print(c->out, "%s\"%s_ns\":%lld", some++ ? "," : "", stage_name(s), (long long)sums[s]);
    sqt_json_print(c->out, "}}");
    inside(c, 'e', "more_stages", xact->origin, xact->end);
    end(c);
}

#undef CELL
#define CELL(name) row[SQT_CELL(requests, name)]

/* picked: only such requests are printed, and with each the blocks that it read. */
static void
print_request(struct chrome *c, const struct sqt_xact *xact, const union sqt_cell *row, int picked)
{
    const struct sqt_kept *const kept = xact->user;
    const char *const name = CELL(class).text ? CELL(class).text : CELL(outcome).text;
    const int known = !sqt_durations_unknown(xact->outcome); /* else it is an instant */
    const int64_t at = xact->begin == SQT_MISSING ? xact->end : xact->begin;
    chrome_process_of(c, xact->origin);
    ++c->serial;
    inside(c, known ? 'b' : 'n', name, xact->origin, at);
    sqt_json_print(c->out, ",\"args\":{");
    const int some = sqt_json_cells(c->out, &sqt_tables[SQT_TABLE_requests], row, SQT_CELL(requests, xid),
                                    SQT_CELL(requests, stages), 0);
    sqt_json_cells(c->out, &sqt_tables[SQT_TABLE_requests], row, SQT_CELL(requests, unaccounted_ns),
                   SQT_CELL(requests, late_stages), some);
    sqt_json_print(c->out, "}");
    end(c);
    if (known) {
        print_stages(c, xact);
        inside(c, 'e', name, xact->origin, xact->end);
        end(c);
    }
    for (size_t i = 0; kept && picked && i < kept->block_count; ++i)
        print_block(c, xact->origin, kept->blocks[i].row, kept->blocks[i].thread);
}

static void
chrome_request(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    struct chrome *const c = job->state;
    union sqt_cell row[SQT_CELLS(requests)];
    sqt_request_cells(row, xact);
    if (!job->done && sqt_job_wants(job, xact->begin == SQT_MISSING ? xact->end : xact->begin, row)) {
        sqt_sink_header(c->sink);
        print_request(c, xact, row, job->where != NULL);
        ++c->sink->rows;
        job->done = c->out->error || c->out->gone;
    }
    sqt_keep_drop(&c->keep, xact->user);
}

static void
chrome_unlogged(void *context, const struct sqt_xact *xact)
{
    struct sqt_job *const job = context;
    sqt_keep_drop(&((struct chrome *)job->state)->keep, xact->user);
}

static void
chrome_loss(void *context, const struct sqt_loss_row *loss)
{
    struct sqt_job *const job = context;
    struct chrome *const c = job->state;
    if (loss->from < job->since || loss->from >= job->until)
        return;
    sqt_sink_header(c->sink);
    chrome_process_of(c, loss->origin);
    slice(c, "loss", "records lost", loss->origin, REQUESTS, loss->from, loss->until - loss->from);
    sqt_json_print(c->out, ",\"args\":{\"records\":%llu,\"reason\":\"%s\"}", (unsigned long long)loss->records,
                   sqt_loss_reason(loss->reason));
    end(c);
}

/* ---- begin and end ---- */

static void
chrome_start(struct sqt_job *job)
{
    struct chrome *const c = job->state = sqt_zeroed(1, sizeof(*c));
    c->sink = job->context;
    c->out = &c->sink->out;
    c->keep.left = BUDGET;
}

static void
chrome_finish(struct sqt_job *job)
{
    struct chrome *const c = job->state;
    for (size_t i = 0; i < c->process_count; ++i) {
        for (unsigned dir = 0; c->processes[i] && dir < DISKS; ++dir)
            free(c->processes[i]->disks[dir]);
        free(c->processes[i]);
    }
    free(c->processes);
    sqt_keep_free(&c->keep);
    free(c);
}

const struct sqt_family sqt_chrome_family = {
    .where = {SQT_TABLE_requests},
    .where_count = 1,
    .start = chrome_start,
    .consumer = {.charge = chrome_charge,
                 .recharge = chrome_recharge,
                 .request = chrome_request,
                 .unlogged = chrome_unlogged,
                 .io = chrome_io,
                 .loss = chrome_loss},
    .finish = chrome_finish,
};

/* ---- the frame around the events ---- */

void
sqt_chrome_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    const char *const list = sink->headed ? "\n],\n\"account\":[" : "{\"about\":[";
    char line[4000];
    snprintf(line, sizeof(line), "%s: %s", key, text);
    sqt_json_print(&sink->out, "%s\n", sink->comments++ ? "," : list);
    sqt_json_string(&sink->out, line);
}

void
sqt_chrome_header(struct sqt_sink *sink)
{
    sqt_json_print(&sink->out, "%s\"displayTimeUnit\":\"ms\",\n\"traceEvents\":[", sink->comments ? "\n],\n" : "{");
    sink->comments = 0;
}

void
sqt_chrome_finish(struct sqt_sink *sink)
{
    sqt_json_print(&sink->out, "\n]}\n");
}
