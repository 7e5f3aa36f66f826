/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * rows.c - the rows of sqtrace-top's tables, from what is known now.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "live/live.h"
#include "top.h"

/* A pass that lasts for longer blocks the loop. */
#define ROWS_BLOCKED_NS INT64_C(100000000)
/* A flusher that has not run for longer says that the process does not run. */
#define ROWS_SILENT_NS INT64_C(1000000000)

/* Where rows go, how many more are wanted, and the two stretches of time. */
struct rows {
    const struct top *top;
    sqt_row_function *row;
    void *context;
    int64_t left;
    struct window_span now, before;
};

static void
top_rows_put(struct rows *r, const union sqt_cell *row)
{
    if (r->left != 0 && r->row(r->context, row) && r->left > 0)
        --r->left;
}

/* Thousandths of a rate or an average; missing where there is no time. */
static int64_t
rows_milli(double amount, const struct window_span *span)
{
    return span->seconds > 0 ? sqt_whole(1000 * amount / span->seconds + 0.5) : SQT_CELL_MISSING;
}

static const char *
rows_text(const char *text)
{
    return *text ? text : NULL;
}

static const char *
rows_stage(unsigned stage)
{
    return stage < SQT_STAGES ? sqt_stages[stage].name : NULL;
}

/* ---- requests ---- */

static void
rows_requests(struct rows *r)
{
    union sqt_cell row[TOP_CELLS(requests)];
    for (size_t i = 0; i < r->top->flight_count; ++i) {
        const struct top_flight *const f = &r->top->flights[i];
        row[TOP_CELL(requests, age_ns)].number = r->top->now - f->begin;
        row[TOP_CELL(requests, stage)].text = rows_stage(f->stage);
        row[TOP_CELL(requests, stage_ns)].number = r->top->now - f->since;
        row[TOP_CELL(requests, on)].text = rows_text(f->on);
        row[TOP_CELL(requests, whom)].text = rows_text(f->whom);
        row[TOP_CELL(requests, method)].text = rows_text(f->method);
        row[TOP_CELL(requests, xid)].number = f->xid & SQT_UNNAMED ? SQT_CELL_MISSING : (int64_t)f->xid;
        row[TOP_CELL(requests, conn)].number = f->conn ? (int64_t)f->conn : SQT_CELL_MISSING;
        row[TOP_CELL(requests, kid)].number = f->kid;
        row[TOP_CELL(requests, sure)].number = f->sure;
        top_rows_put(r, row);
    }
}

/* ---- classes ---- */

static void
rows_merge(struct window_class *into, const struct window_class *from)
{
    into->count += from->count;
    for (unsigned i = 0; i < WINDOW_BUCKETS; ++i)
        into->buckets[i] += from->buckets[i];
}

static void
rows_class(struct rows *r, const char *name, const struct window_class *now, const struct window_class *before)
{
    union sqt_cell row[TOP_CELLS(classes)];
    row[TOP_CELL(classes, class)].text = name;
    row[TOP_CELL(classes, now_per_s)].number = rows_milli((double)now->count, &r->now);
    row[TOP_CELL(classes, now_p50_ns)].number = window_quantile(now, 500);
    row[TOP_CELL(classes, now_p99_ns)].number = window_quantile(now, 990);
    row[TOP_CELL(classes, before_per_s)].number = rows_milli((double)before->count, &r->before);
    row[TOP_CELL(classes, before_p50_ns)].number = window_quantile(before, 500);
    row[TOP_CELL(classes, before_p99_ns)].number = window_quantile(before, 990);
    top_rows_put(r, row);
}

static void
rows_classes(struct rows *r)
{
    struct window_class all[2], one[2];
    memset(all, 0, sizeof(all));
    for (unsigned pass = 0; pass < 2; ++pass) /* the sum comes first */
        for (unsigned c = 0; c < SQT_CLASSES; ++c) {
            window_sum_class(&r->top->window, &r->now, c, &one[0]);
            window_sum_class(&r->top->window, &r->before, c, &one[1]);
            if (pass && one[0].count + one[1].count)
                rows_class(r, sqt_classes[c].name, &one[0], &one[1]);
            for (unsigned i = 0; i < 2 && !pass; ++i)
                rows_merge(&all[i], &one[i]);
            if (!pass && c == SQT_CLASSES - 1)
                rows_class(r, "all", &all[0], &all[1]);
        }
}

/* ---- stages ---- */

struct rows_stage {
    unsigned stage;
    int64_t ns[2]; /* now, before */
};

static int
rows_by_time(const void *one, const void *two)
{
    const struct rows_stage *const a = one, *const b = two;
    const unsigned by = a->ns[0] != b->ns[0] ? 0 : 1;
    return (a->ns[by] < b->ns[by]) - (a->ns[by] > b->ns[by]);
}

static int64_t
rows_stage_ns(const struct rows *r, const struct window_span *span, unsigned stage)
{
    return window_sum_stage(&r->top->window, span, stage) + window_sum_stage(&r->top->open, span, stage);
}

static void
rows_stages(struct rows *r)
{
    struct rows_stage stages[SQT_STAGES + 1];
    union sqt_cell row[TOP_CELLS(stages)];
    double all[2] = {0, 0};
    for (unsigned s = 0; s <= SQT_STAGES; ++s) {
        stages[s] = (struct rows_stage){s, {rows_stage_ns(r, &r->now, s), rows_stage_ns(r, &r->before, s)}};
        all[0] += (double)stages[s].ns[0];
        all[1] += (double)stages[s].ns[1];
    }
    qsort(stages, SQT_STAGES + 1, sizeof(*stages), rows_by_time);
    for (unsigned i = 0; i <= SQT_STAGES; ++i) {
        const struct rows_stage *const s = &stages[i];
        if (!s->ns[0] && !s->ns[1])
            continue;
        row[TOP_CELL(stages, stage)].text = rows_stage(s->stage);
        row[TOP_CELL(stages, now_requests)].number = rows_milli((double)s->ns[0] / 1e9, &r->now);
        row[TOP_CELL(stages, before_requests)].number = rows_milli((double)s->ns[1] / 1e9, &r->before);
        row[TOP_CELL(stages, now_share_pct)].number = sqt_percent((double)s->ns[0], all[0]);
        row[TOP_CELL(stages, before_share_pct)].number = sqt_percent((double)s->ns[1], all[1]);
        top_rows_put(r, row);
    }
}

/* ---- waits ---- */

static struct top_uses
rows_uses(const struct top_waited *waited, const struct window_span *span)
{
    struct top_uses sum = {.number = 0};
    for (int64_t number = span->first; number <= span->last; ++number) {
        const struct top_uses *const uses = &waited->seconds[(uint64_t)number % WINDOW_SECONDS];
        if (uses->number != number)
            continue;
        sum.count += uses->count;
        sum.failed += uses->failed;
        sum.ns += uses->ns;
    }
    return sum;
}

struct rows_waited {
    const struct top_waited *waited;
    struct top_uses now, before;
};

/* Those that most requests wait for come first, then those that took most time. */
static int
rows_by_waiting(const void *one, const void *two)
{
    const struct rows_waited *const a = one, *const b = two;
    if (a->waited->waiting != b->waited->waiting)
        return a->waited->waiting < b->waited->waiting ? 1 : -1;
    if (a->now.ns != b->now.ns)
        return a->now.ns < b->now.ns ? 1 : -1;
    return strcmp(a->waited->named.name, b->waited->named.name);
}

static void
rows_waited(struct rows *r, const struct rows_waited *w)
{
    union sqt_cell row[TOP_CELLS(waits)];
    char on[2 * TOP_NAME];
    snprintf(on, sizeof(on), "%s", w->waited->named.name);
    char *const space = strchr(on, ' '); /* there is none in "other" */
    if (space)
        *space = '\0';
    row[TOP_CELL(waits, on)].text = on;
    row[TOP_CELL(waits, whom)].text = space && strcmp(space + 1, "-") != 0 ? space + 1 : NULL;
    row[TOP_CELL(waits, waiting)].number = w->waited->waiting;
    row[TOP_CELL(waits, oldest_ns)].number = w->waited->waiting ? w->waited->oldest : SQT_CELL_MISSING;
    row[TOP_CELL(waits, now_per_s)].number = rows_milli(w->now.count, &r->now);
    row[TOP_CELL(waits, now_mean_ns)].number = w->now.count ? sqt_whole(w->now.ns / w->now.count) : SQT_CELL_MISSING;
    row[TOP_CELL(waits, now_failed)].number = w->now.failed;
    row[TOP_CELL(waits, before_per_s)].number = rows_milli(w->before.count, &r->before);
    row[TOP_CELL(waits, before_mean_ns)].number =
        w->before.count ? sqt_whole(w->before.ns / w->before.count) : SQT_CELL_MISSING;
    top_rows_put(r, row);
}

static void
rows_waits(struct rows *r)
{
    struct rows_waited *const all = sqt_zeroed(TOP_WAITED_MOST + 1, sizeof(*all));
    size_t count = 0;
    for (const struct sqt_name_entry *e = r->top->waited.first; e; e = e->next) {
        struct rows_waited *const w = &all[count];
        w->waited = (const struct top_waited *)e;
        w->now = rows_uses(w->waited, &r->now);
        w->before = rows_uses(w->waited, &r->before);
        count += w->waited->waiting || w->now.count || w->before.count;
    }
    qsort(all, count, sizeof(*all), rows_by_waiting);
    for (size_t i = 0; i < count; ++i)
        rows_waited(r, &all[i]);
    free(all);
}

/* ---- loops ---- */

static struct top_work
rows_work(const struct top_process *p, const struct window_span *span)
{
    struct top_work sum = {.activity = UINT32_MAX};
    for (int64_t number = span->first; number <= span->last; ++number) {
        const struct top_work *const work = &p->seconds[(uint64_t)number % WINDOW_SECONDS];
        if (work->number != number)
            continue;
        sum.passes += work->passes;
        sum.busy += work->busy;
        if (work->longest > sum.longest) {
            sum.longest = work->longest;
            sum.activity = work->activity;
        }
    }
    return sum;
}

/* What the main thread does at the moment, and for how long. */
static const char *
rows_loop_state(const struct rows *r, const struct sqt_open_loop *loop, int64_t *ns)
{
    const int64_t silent = sqt_origin_silent(loop->origin);
    *ns = silent;
    if (r->top->live_now && silent > ROWS_SILENT_NS)
        return "silent";
    *ns = r->top->now - loop->since;
    if (loop->works < 0)
        return NULL;
    return !loop->works ? "waits" : *ns >= ROWS_BLOCKED_NS ? "blocked" : "works";
}

static void
rows_loop(void *context, const struct sqt_open_loop *loop)
{
    struct rows *const r = context;
    const struct top_process *const p = loop->origin->user;
    union sqt_cell row[TOP_CELLS(loops)];
    if (!p || p->ended)
        return;
    const struct top_work now = rows_work(p, &r->now), before = rows_work(p, &r->before);
    const struct top_work *const longest = now.longest > before.longest ? &now : &before;
    row[TOP_CELL(loops, kid)].number = loop->origin->identity.kid;
    row[TOP_CELL(loops, state)].text = rows_loop_state(r, loop, &row[TOP_CELL(loops, since_ns)].number);
    row[TOP_CELL(loops, last_event)].text = rows_text(p->last_event);
    row[TOP_CELL(loops, now_busy_pct)].number = sqt_percent((double)now.busy, 1e9 * r->now.seconds);
    row[TOP_CELL(loops, before_busy_pct)].number = sqt_percent((double)before.busy, 1e9 * r->before.seconds);
    row[TOP_CELL(loops, now_passes_per_s)].number = rows_milli(now.passes, &r->now);
    row[TOP_CELL(loops, longest_ns)].number = longest->longest;
    row[TOP_CELL(loops, activity)].text =
        longest->activity == UINT32_MAX ? NULL : sqt_origin_text(loop->origin, SQT_DEF_ACTIVITY, longest->activity);
    row[TOP_CELL(loops, pid)].number = loop->origin->identity.pid;
    top_rows_put(r, row);
}

/* ---- findings ---- */

static void
rows_findings(struct rows *r)
{
    const struct top *const top = r->top;
    unsigned count;
    const struct sqt_live_finding *const found = sqt_live_found(top->live, &count);
    for (unsigned i = 0; i < count; ++i) {
        union sqt_cell row[TOP_CELLS(findings)];
        row[TOP_CELL(findings, rank)] = found[i].row[SQT_CELL(findings, rank)];
        row[TOP_CELL(findings, cause)] = found[i].row[SQT_CELL(findings, cause)];
        row[TOP_CELL(findings, culprit)] = found[i].row[SQT_CELL(findings, culprit)];
        row[TOP_CELL(findings, harm)] = found[i].row[SQT_CELL(findings, harm)];
        row[TOP_CELL(findings, requests)] = found[i].row[SQT_CELL(findings, requests)];
        row[TOP_CELL(findings, failures)] = found[i].row[SQT_CELL(findings, failures)];
        row[TOP_CELL(findings, waiting_ns)] = found[i].row[SQT_CELL(findings, waiting_s)];
        row[TOP_CELL(findings, since_ns)].number = top->now - SQT_LIVE_NUMBER(&found[i], time_s);
        row[TOP_CELL(findings, until_ns)].number = top->now - SQT_LIVE_NUMBER(&found[i], until_s);
        row[TOP_CELL(findings, sentence)] = found[i].row[SQT_CELL(findings, sentence)];
        row[TOP_CELL(findings, advice)] = found[i].row[SQT_CELL(findings, advice)];
        top_rows_put(r, row);
    }
}

/* ---- requests that are over ---- */

static void
rows_ended(struct rows *r)
{
    size_t count;
    const struct top_ended **const all = top_ended_of(r->top, &r->now, &count);
    union sqt_cell row[TOP_CELLS(ended)];
    for (size_t i = 0; i < count; ++i) {
        const struct top_ended *const e = all[i];
        row[TOP_CELL(ended, total_ns)].number = e->total;
        row[TOP_CELL(ended, ago_ns)].number = r->top->now - e->end;
        row[TOP_CELL(ended, longest_stage)].text = e->stage;
        row[TOP_CELL(ended, client)].text = rows_text(e->client);
        row[TOP_CELL(ended, url_host)].text = rows_text(e->host);
        row[TOP_CELL(ended, user_name)].text = rows_text(e->user);
        row[TOP_CELL(ended, status)].number = e->status;
        row[TOP_CELL(ended, server)].text = rows_text(e->server);
        row[TOP_CELL(ended, class)].text = e->class;
        row[TOP_CELL(ended, xid)].number = e->xid & SQT_UNNAMED ? SQT_CELL_MISSING : (int64_t)e->xid;
        row[TOP_CELL(ended, method)].text = rows_text(e->method);
        row[TOP_CELL(ended, url)].text = rows_text(e->url);
        row[TOP_CELL(ended, conn)].number = e->conn ? (int64_t)e->conn : SQT_CELL_MISSING;
        row[TOP_CELL(ended, kid)].number = e->kid;
        top_rows_put(r, row);
    }
    free(all);
}

/* ---- totals ---- */

static void
rows_count(const struct rows *r, const struct window_span *span, uint64_t *ended, int64_t *hit_ratio)
{
    uint64_t hits = 0, misses = 0;
    struct window_class one;
    *ended = 0;
    for (unsigned c = 0; c < SQT_CLASSES; ++c) {
        window_sum_class(&r->top->window, span, c, &one);
        *ended += one.count;
        hits += SQT_HITS >> c & 1 ? one.count : 0;
        misses += SQT_MISSES >> c & 1 ? one.count : 0;
    }
    *hit_ratio = sqt_percent((double)hits, (double)(hits + misses));
}

static void
rows_totals(struct rows *r)
{
    union sqt_cell row[TOP_CELLS(totals)];
    uint64_t now, before;
    rows_count(r, &r->now, &now, &row[TOP_CELL(totals, now_hit_ratio_pct)].number);
    rows_count(r, &r->before, &before, &row[TOP_CELL(totals, before_hit_ratio_pct)].number);
    row[TOP_CELL(totals, in_flight)].number = (int64_t)r->top->in_flight;
    row[TOP_CELL(totals, begun_before)].number = (int64_t)r->top->begun_before;
    row[TOP_CELL(totals, now_per_s)].number = rows_milli((double)now, &r->now);
    row[TOP_CELL(totals, before_per_s)].number = rows_milli((double)before, &r->before);
    row[TOP_CELL(totals, lost)].number =
        (int64_t)(window_sum_lost(&r->top->window, &r->now) + window_sum_lost(&r->top->window, &r->before) +
                  sqt_stream_losing(r->top->stream));
    row[TOP_CELL(totals, now_width_ns)].number = (int64_t)(1e9 * r->now.seconds);
    row[TOP_CELL(totals, before_width_ns)].number = (int64_t)(1e9 * r->before.seconds);
    top_rows_put(r, row);
}

void
top_rows(const struct top *top, unsigned table, int64_t limit, sqt_row_function *row, void *context)
{
    struct rows r = {.top = top,
                     .row = row,
                     .context = context,
                     .left = limit ? limit : -1,
                     .now = window_now(top->now, top->request->now, top->begin),
                     .before = window_before(top->now, top->request->now, top->begin)};
    switch ((enum top_table)table) {
    case TOP_TABLE_requests:
        rows_requests(&r);
        break;
    case TOP_TABLE_classes:
        rows_classes(&r);
        break;
    case TOP_TABLE_stages:
        rows_stages(&r);
        break;
    case TOP_TABLE_waits:
        rows_waits(&r);
        break;
    case TOP_TABLE_loops:
        sqt_model_open_loops(top->model, rows_loop, &r);
        break;
    case TOP_TABLE_totals:
        rows_totals(&r);
        break;
    case TOP_TABLE_findings:
        rows_findings(&r);
        break;
    case TOP_TABLE_ended:
        rows_ended(&r);
        break;
    case TOP_TABLES:
        break;
    }
}
