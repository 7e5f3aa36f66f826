/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * events.c - the table of records, row by row.  (With all columns and no condition, sqtrace-dump lets the sink print
 * the records itself, which is several times faster.)
 */
#include "pass/family.h"
#include "row/raw.h"

#define CELL(name) row[SQT_CELL(events, name)]

static void
record_row(struct sqt_job *job, const struct sqt_run *run, size_t i)
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
    for (size_t i = 0; i < run->count && !job->done; ++i)
        record_row(job, run, i);
}

const struct sqt_family sqt_family_events = {.where = {SQT_TABLE_events}, .where_count = 1, .run = events};
