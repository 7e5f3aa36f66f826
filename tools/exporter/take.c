/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * take.c - rows that ended, into the series of the families of their table.
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/visible.h"
#include "exporter.h"
#include "row/cells.h"
#include "row/facts.h"

/* Bytes of a label's value; what is longer is cut. */
#define LABEL 128

/* ---- rows ---- */

/* The text of a label.  Returns 0, or -1 if the row has none. */
static int
take_label(const struct export_label_info *label, const union sqt_cell *row, char *text)
{
    const union sqt_cell cell = row[label->cell];
    if (sqt_cell_missing(label->type, cell))
        return -1;
    if (label->type == SQT_TYPE_TEXT)
        sqt_visible_text(text, LABEL, cell.text);
    else
        snprintf(text, LABEL, "%lld", (long long)cell.number);
    return 0;
}

/* The label set of a row; made: the values of labels that the row does not have, in their order.  NULL if a label is
 * missing. */
static struct export_child *
take_child(const struct exporter *e, enum export_family family, const union sqt_cell *row, const char *const *made)
{
    const struct export_family_info *const info = &export_families()[family];
    char texts[EXPORT_LABELS_MOST][LABEL];
    const char *labels[EXPORT_LABELS_MOST];
    for (unsigned i = 0; i < info->label_count; ++i) {
        labels[i] = texts[i];
        if (info->labels[i].cell < 0)
            sqt_visible_text(texts[i], LABEL, *made++);
        else if (take_label(&info->labels[i], row, texts[i]) != 0)
            return NULL;
    }
    return export_series_get(e->series, family, labels);
}

/* A metric of a row; one that the row does not have is left out. */
static void
take_metric(const struct exporter *e, struct export_child *child, enum export_metric metric, const union sqt_cell *row,
            const struct export_exemplar *exemplar)
{
    const struct export_metric_info *const info = &export_metrics[metric];
    const struct sqt_table *const table = &sqt_tables[export_families()[info->family].table];
    if (info->cell < 0 || sqt_cell_missing(table->columns[info->cell].type, row[info->cell]))
        return;
    if (info->unit == EXPORT_ROWS)
        export_series_add(child, metric, 1);
    else if (info->kind == EXPORT_HISTOGRAM)
        export_series_observe(e->series, child, row[info->cell].number, exemplar);
    else
        export_series_add(child, metric, row[info->cell].number);
}

static void
exporter_take_row(const struct exporter *e, enum export_family family, const union sqt_cell *row,
                  const struct export_exemplar *exemplar)
{
    const struct export_family_info *const info = &export_families()[family];
    struct export_child *const child = take_child(e, family, row, NULL);
    for (unsigned i = 0; child && i < info->slots; ++i)
        take_metric(e, child, info->first + i, row, exemplar);
}

/* ---- requests ---- */

static struct export_exemplar
take_exemplar(const struct sqt_xact *xact)
{
    struct export_exemplar exemplar = {.kid = xact->origin->identity.kid, .xid = xact->id, .wall_ns = 0};
    const int64_t wall = sqt_origin_wall_ns(xact->origin);
    memcpy(exemplar.ring, xact->origin->identity.ring_id, sizeof(exemplar.ring));
    if (wall != INT64_MIN && !(xact->id & SQT_UNNAMED))
        exemplar.wall_ns = wall + xact->end;
    return exemplar;
}

static void
take_stages(const struct exporter *e, const union sqt_cell *row, struct export_exemplar *exemplar)
{
    const char *const class = row[SQT_CELL(requests, class)].text;
    for (unsigned i = 0; i < SQT_STAGES; ++i) {
        const int64_t ns = row[SQT_STAGE_CELL(i)].number;
        if (ns == SQT_CELL_MISSING)
            continue;
        const char *const made[] = {e->request.detail ? class : "", sqt_stages[sqt_stage_columns[i]].name};
        struct export_child *const child = take_child(e, EXPORT_FAMILY_stage, row, made);
        exemplar->value = ns;
        export_series_observe(e->series, child, ns, exemplar);
    }
}

static void
take_response(const struct exporter *e, const union sqt_cell *row)
{
    static const char *const classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    const int64_t class = row[SQT_CELL(requests, status)].number / 100;
    const char *const *const made = &classes[class >= 1 && class <= 5 ? class : 0];
    export_series_add(take_child(e, EXPORT_FAMILY_response, row, made), EXPORT_response_responses, 1);
}

/* The parts of the hit ratio. */
static void
take_lookup(const struct exporter *e, const struct sqt_request_fact *fact)
{
    const int hit = SQT_HITS >> fact->class & 1;
    const char *const made = hit ? "hit" : "miss";
    const int64_t sent = fact->row[SQT_CELL(requests, sent_bytes)].number;
    if (!hit && !(SQT_MISSES >> fact->class & 1))
        return;
    struct export_child *const child = take_child(e, EXPORT_FAMILY_lookup, fact->row, &made);
    export_series_add(child, EXPORT_lookup_requests, 1);
    export_series_add(child, EXPORT_lookup_sent, sent == SQT_CELL_MISSING ? 0 : sent);
}

static int
take_has_failed(const union sqt_cell *row)
{
    const char *const outcome = row[SQT_CELL(requests, outcome)].text;
    return outcome == sqt_outcome_names[SQT_OUTCOME_ERROR] || outcome == sqt_outcome_names[SQT_OUTCOME_TIMEOUT];
}

static void
take_notes(const struct exporter *e, const struct sqt_notes *notes, const union sqt_cell *row)
{
    const int64_t total = row[SQT_CELL(requests, total_ns)].number, sent = row[SQT_CELL(requests, sent_bytes)].number;
    for (unsigned i = 0; notes && i < notes->count; ++i) {
        const char *const made[] = {notes->of[i].name, notes->of[i].value};
        struct export_child *const child = take_child(e, EXPORT_FAMILY_note, row, made);
        export_series_add(child, EXPORT_note_requests, 1);
        export_series_add(child, EXPORT_note_duration, total == SQT_CELL_MISSING ? 0 : total);
        export_series_add(child, EXPORT_note_errors, take_has_failed(row));
        export_series_add(child, EXPORT_note_sent, sent == SQT_CELL_MISSING ? 0 : sent);
    }
}

/* What never got a log line is told by its outcome alone. */
static void
exporter_take_request(void *context, const struct sqt_xact *xact)
{
    struct exporter *const e = context;
    struct sqt_request_fact fact;
    const union sqt_cell *const row = fact.row;
    exporter_spans_request(context, xact);
    sqt_request_fact(&fact, xact);
    exporter_watch_request(e, &fact);
    if (!exporter_counts(e, xact->end))
        return;
    struct export_exemplar exemplar = take_exemplar(xact);
    exporter_take_row(e, EXPORT_FAMILY_outcome, row, NULL);
    if (!row[SQT_CELL(requests, class)].text)
        return;
    exemplar.value = row[SQT_CELL(requests, total_ns)].number;
    exporter_take_row(e, EXPORT_FAMILY_request, row, &exemplar);
    exporter_take_row(e, EXPORT_FAMILY_server, row, NULL);
    take_response(e, row);
    take_notes(e, xact->notes, row);
    take_lookup(e, &fact);
    take_stages(e, row, &exemplar);
}

/* ---- whom and what Squid waits for ---- */

static void
exporter_take_connection(void *context, const struct sqt_attempt *attempt)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(connections)];
    exporter_spans_connection(context, attempt);
    if (!exporter_counts(e, attempt->end))
        return;
    sqt_connection_cells(row, attempt);
    exporter_take_row(e, EXPORT_FAMILY_connection, row, NULL);
}

static void
take_wait(void *context, const struct sqt_wait *wait)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(waits)];
    exporter_spans_wait(context, wait);
    top_watch_wait(&((struct exporter *)context)->watch, wait);
    if (!exporter_counts(e, wait->end))
        return;
    sqt_wait_cells(row, wait);
    exporter_take_row(e, EXPORT_FAMILY_service, row, NULL);
}

static void
take_swap(void *context, struct sqt_swap *swap)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(swaps)];
    struct sqt_row_text text;
    exporter_spans_swap(context, swap);
    if (!exporter_counts(e, swap->end))
        return;
    sqt_swap_cells(row, swap, &text);
    exporter_take_row(e, EXPORT_FAMILY_swap, row, NULL);
}

static void
take_diskop(void *context, const struct sqt_diskop *op)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(diskops)];
    struct sqt_row_text text;
    if (!exporter_counts(e, op->end))
        return;
    sqt_diskop_cells(row, op, &text);
    exporter_take_row(e, EXPORT_FAMILY_diskop, row, NULL);
    exporter_take_row(e, EXPORT_FAMILY_diskop_result, row, NULL);
}

/* ---- the event loop ---- */

/* Passes are many: only the cells that a family needs are made. */
static void
take_loop(void *context, const struct sqt_loop_row *pass)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(loops)];
    top_watch_loop(&((struct exporter *)context)->watch, pass);
    if (!exporter_counts(e, pass->end) || pass->unknown)
        return;
    row[SQT_CELL(loops, kid)].number = pass->origin->identity.kid;
    row[SQT_CELL(loops, wait_ns)].number = pass->work - pass->begin;
    row[SQT_CELL(loops, work_ns)].number = pass->end - pass->work;
    exporter_take_row(e, EXPORT_FAMILY_loop, row, NULL);
}

static void
take_loop_sample(void *context, const struct sqt_loop_sample_row *sample)
{
    static const char *const states[SQT_LOOP_PARTS] = {[SQT_LOOP_COMPUTING] = "computing",
                                                       [SQT_LOOP_BLOCKED] = "blocked",
                                                       [SQT_LOOP_QUEUED] = "queued",
                                                       [SQT_LOOP_STOPPED] = "stopped",
                                                       [SQT_LOOP_IDLE] = "idle"};
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(loop_time)];
    row[SQT_CELL(loop_time, kid)].number = sample->origin->identity.kid;
    for (unsigned i = 0; i < SQT_LOOP_PARTS && exporter_counts(e, sample->until); ++i)
        export_series_add(take_child(e, EXPORT_FAMILY_loop_time, row, &states[i]), EXPORT_loop_time_time,
                          sample->parts[i]);
}

/* ---- the tracer ---- */

static void
take_loss(void *context, const struct sqt_loss_row *loss)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(losses)];
    top_watch_loss(&((struct exporter *)context)->watch, loss);
    row[SQT_CELL(losses, kid)].number = loss->origin->identity.kid;
    row[SQT_CELL(losses, reason)].text = sqt_loss_reason(loss->reason);
    row[SQT_CELL(losses, records)].number = (int64_t)loss->records;
    if (exporter_counts(e, loss->until))
        exporter_take_row(e, EXPORT_FAMILY_loss, row, NULL);
}

static void
take_calls(void *context, const struct sqt_calls_row *calls)
{
    const struct exporter *const e = context;
    union sqt_cell row[SQT_CELLS(syscalls)];
    if (calls->call == UINT32_MAX || !exporter_counts(e, calls->at))
        return;
    const char *const thread = sqt_origin_text(calls->origin, SQT_DEF_THREAD, calls->thread);
    if (!thread || strcmp(thread, "flusher") != 0)
        return;
    row[SQT_CELL(syscalls, kid)].number = calls->origin->identity.kid;
    row[SQT_CELL(syscalls, count)].number = (int64_t)calls->count;
    row[SQT_CELL(syscalls, total_s)].number = calls->ns;
    exporter_take_row(e, EXPORT_FAMILY_flusher, row, NULL);
}

/* What records themselves count.  Their events are numbered as ours: a number never changes its meaning. */
static void
take_traffic(struct exporter *e, const struct sqt_run *run, const union sqt_cell *row)
{
    static const struct {
        unsigned event;
        enum export_metric metric;
        int bytes;
    } counted[] = {
        {SQT_EV_CLIENT_READ, EXPORT_traffic_received, 1}, {SQT_EV_CONN_ACCEPT, EXPORT_traffic_accepted, 0},
        {SQT_EV_CONN_CLOSE, EXPORT_traffic_closed, 0},    {SQT_EV_DISPATCH, EXPORT_traffic_dispatched, 0},
        {SQT_EV_SERVER_READ, EXPORT_traffic_fetched, 1},
    };
    enum { COUNTED = sizeof(counted) / sizeof(*counted) };
    int64_t sums[COUNTED] = {0};
    struct export_child *child = NULL;
    for (size_t i = 0; i < run->count; ++i)
        for (unsigned k = 0; k < COUNTED; ++k)
            if (run->records[i].event == counted[k].event && !(run->records[i].flags & SQT_FLAG_PART))
                sums[k] += counted[k].bytes ? (int64_t)(run->records[i].arg & INT32_MAX) : 1;
    for (unsigned k = 0; k < COUNTED; ++k)
        if (sums[k]) {
            child = child ? child : take_child(e, EXPORT_FAMILY_traffic, row, NULL);
            export_series_add(child, counted[k].metric, sums[k]);
        }
}

void
exporter_take_records(struct exporter *e, const struct sqt_run *run)
{
    union sqt_cell row[SQT_CELLS(events)];
    const int64_t last = run->count ? sqt_line_ns(&run->line, run->records[run->count - 1].time) : 0;
    const int64_t wall = sqt_origin_wall_ns(run->origin);
    if (!run->count || run->first == UINT64_MAX)
        return;
    if (wall != INT64_MIN && wall + last > e->trace.last_wall_ns)
        e->trace.last_wall_ns = wall + last;
    e->trace.last_ns = last;
    row[SQT_CELL(events, kid)].number = run->origin->identity.kid;
    if (exporter_counts(e, last)) {
        take_traffic(e, run, row);
        export_series_add(take_child(e, EXPORT_FAMILY_tracer, row, NULL), EXPORT_tracer_records, (int64_t)run->count);
    }
}

/* ---- the exporter ---- */

static int64_t
take_resident_bytes(void)
{
    long pages = 0;
    FILE *const file = sqt_fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* What became of spans. */
static void
take_sent(const struct exporter *e)
{
    if (!e->sender)
        return;
    const struct export_sent *const sent = export_sender_sent(e->sender);
    struct export_child *const child = export_series_get(e->series, EXPORT_FAMILY_otlp, NULL);
    const uint64_t waited = exporter_spans_forgotten(e);
    export_series_set(child, EXPORT_otlp_sent, (int64_t)sent->sent);
    export_series_set(child, EXPORT_otlp_dropped, (int64_t)(sent->full + sent->refused + sent->expired + waited));
    export_series_set(child, EXPORT_otlp_full, (int64_t)sent->full);
    export_series_set(child, EXPORT_otlp_refused, (int64_t)sent->refused);
    export_series_set(child, EXPORT_otlp_expired, (int64_t)sent->expired);
    export_series_set(child, EXPORT_otlp_waited, (int64_t)waited);
    export_series_set(child, EXPORT_otlp_retries, (int64_t)sent->retries);
    export_series_set(child, EXPORT_otlp_queue, (int64_t)sent->queued);
}

void
exporter_take_own(struct exporter *e)
{
    struct export_child *const own = export_series_get(e->series, EXPORT_FAMILY_exporter, NULL);
    export_series_set(own, EXPORT_exporter_up, exporter_reads(e));
    exporter_flight_take(e);
    export_series_set(own, EXPORT_exporter_squid, exporter_squid_is_up(e));
    export_series_set(own, EXPORT_exporter_silent, exporter_silent_processes(e));
    if (e->trace.last_wall_ns)
        export_series_set(own, EXPORT_exporter_last_record, e->trace.last_wall_ns);
    export_series_set(own, EXPORT_exporter_losing, exporter_reads(e) ? (int64_t)sqt_stream_losing(e->trace.stream) : 0);
    export_series_set(own, EXPORT_exporter_findings, e->findings);
    export_series_set(own, EXPORT_exporter_problems, (int64_t)e->messages.problems);
    export_series_set(own, EXPORT_exporter_scrapes, (int64_t)e->scrapes);
    export_series_set(own, EXPORT_exporter_refused, (int64_t)e->refused);
    export_series_set(own, EXPORT_exporter_other, (int64_t)export_series_others(e->series));
    export_series_set(own, EXPORT_exporter_series, export_series_count(e->series));
    export_series_set(own, EXPORT_exporter_cpu, exporter_now(CLOCK_PROCESS_CPUTIME_ID));
    export_series_set(own, EXPORT_exporter_memory, take_resident_bytes());
    export_series_set(own, EXPORT_exporter_start, e->trace.started_ns);
    take_sent(e);
}

/* A bound that the model met is a message of its own: follow.c. */
const struct sqt_consumer exporter_consumer = {
    .request = exporter_take_request,
    .connection = exporter_take_connection,
    .wait = take_wait,
    .swap = take_swap,
    .diskop = take_diskop,
    .loop = take_loop,
    .loop_sample = take_loop_sample,
    .loss = take_loss,
    .calls = take_calls,
    .sample = exporter_take_sample,
};
