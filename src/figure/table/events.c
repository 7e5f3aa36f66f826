/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * events.c - the table of records, row by row.  (With all columns and no condition, sqtrace-dump lets the sink print
 * the records itself, which is several times faster.)
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pass/family.h"
#include "format/event-xid.h"
#include "row/raw.h"

#define CELL(name) row[SQT_CELL(events, name)]

/* Of each process: who it is, and the transactions of its store I/Os. */
struct events_process {
    uint8_t ring[16];
    struct sqt_event_xids xids;
};

struct events {
    struct events_process **processes; /* by index of their origins; NULL: not seen */
    unsigned count;
    unsigned char names[SQT_EVENTS]; /* enum sqt_event_names */
};

static void
events_start(struct sqt_job *job)
{
    struct events *const e = job->state = sqt_zeroed(1, sizeof(*e));
    for (unsigned i = 0; i < SQT_EVENTS; ++i)
        e->names[i] = (unsigned char)sqt_event_names_of(i);
}

static void
events_end(struct sqt_job *job)
{
    struct events *const e = job->state;
    for (unsigned i = 0; i < e->count; ++i)
        sqt_freed(e->processes[i]);
    sqt_freed(e->processes);
    sqt_freed(e);
}

/* An origin that was forgotten leaves its index to another one. */
static struct sqt_event_xids *
events_xids(struct events *e, const struct sqt_origin *origin)
{
    if (origin->index >= e->count) {
        e->processes = sqt_resized(e->processes, (origin->index + 1) * sizeof(struct events_process *));
        while (e->count <= origin->index)
            e->processes[e->count++] = NULL;
    }
    struct events_process *p = e->processes[origin->index];
    if (!p)
        p = e->processes[origin->index] = sqt_zeroed(1, sizeof(*p));
    else if (memcmp(p->ring, origin->identity.ring_id, sizeof(p->ring)) != 0)
        memset(p, 0, sizeof(*p));
    memcpy(p->ring, origin->identity.ring_id, sizeof(p->ring));
    return &p->xids;
}

static void
record_row(struct sqt_job *job, const struct sqt_run *run, size_t i, uint64_t xid)
{
    const struct sqt_record *const r = &run->records[i];
    union sqt_cell row[SQT_CELLS(events) + SQT_RAW_TEXT];
    char id[64], arg[64], aux[64];
    const struct sqt_event_info *const event = r->event < SQT_EVENTS ? &sqt_events[r->event] : NULL;
    CELL(time_s).number = sqt_line_ns(&run->line, r->time);
    CELL(kid).number = run->origin->identity.kid;
    CELL(event).text = sqt_origin_event_name(run->origin, r->event);
    CELL(id).number = (int64_t)r->id;
    CELL(arg).number = (int64_t)r->arg;
    CELL(aux).number = r->aux;
    CELL(xid).number = xid ? (int64_t)xid : SQT_CELL_MISSING;
    (&CELL(id))[SQT_RAW_TEXT].text = event ? sqt_raw_text(run, event->id.kind, r->id, id) : NULL;
    (&CELL(arg))[SQT_RAW_TEXT].text = event ? sqt_raw_text(run, event->arg.kind, r->arg, arg) : NULL;
    (&CELL(aux))[SQT_RAW_TEXT].text = event ? sqt_raw_text(run, event->aux.kind, r->aux, aux) : NULL;
    job->source = (struct sqt_row_source){.origin = run->origin,
                                          .record = run->first == UINT64_MAX ? UINT64_MAX : run->first + i};
    if (sqt_job_wants(job, CELL(time_s).number, row))
        sqt_job_row(job, row);
}

static void
events(struct sqt_job *job, const struct sqt_run *run)
{
    struct events *const e = job->state;
    struct sqt_event_xids *const xids = events_xids(e, run->origin);
    for (size_t i = 0; i < run->count && !job->done; ++i) {
        const struct sqt_record *const r = &run->records[i];
        const unsigned names = r->event < SQT_EVENTS ? e->names[r->event] : SQT_NAMES_NONE;
        record_row(job, run, i, sqt_event_xid(xids, r, (enum sqt_event_names)names));
    }
}

const struct sqt_family sqt_family_events = {
    .where = {SQT_TABLE_events}, .where_count = 1, .start = events_start, .run = events, .end = events_end};
