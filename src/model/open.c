/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * open.c - what is open in the model now, for those who show a running Squid; and that no more can be open.
 */
#include "model-internal.h"

void
sqt_bound_met(struct sqt_process_state *process, const struct sqt_open_things *open)
{
    if (process->room->told[open - process->open]++ || !process->consumer->bound)
        return;
    const struct sqt_bound_row row = {
        .origin = process->origin, .at = process->now, .what = open->kind->words, .open = open->pool.used};
    process->consumer->bound(process->consumer->context, &row);
}

void *
sqt_thing_new(struct sqt_process_state *process, struct sqt_open_things *open)
{
    while (sqt_pool_full(&open->pool) || sqt_idmap_full(&open->ids)) {
        sqt_bound_met(process, open);
        open->kind->cut_off(process, open->pool.first, SQT_OUTCOME_LOST);
    }
    return sqt_pool_get(&open->pool);
}

void
sqt_thing_forget(struct sqt_open_things *open, uint64_t id, void *thing)
{
    if (sqt_idmap_get(&open->ids, id) == thing)
        sqt_idmap_take(&open->ids, id);
    sqt_pool_put(&open->pool, thing);
}

/* The kind of wait in which a transaction of that stage has a helper or service to name; SQT_NAMED_STAGES: none. */
static enum sqt_named_stage
open_named_stage(unsigned stage)
{
    return stage == SQT_STAGE_HELPER     ? SQT_NAMED_HELPER
           : stage == SQT_STAGE_REDIRECT ? SQT_NAMED_REDIRECT
           : stage == SQT_STAGE_ADAPT    ? SQT_NAMED_ADAPT
                                         : SQT_NAMED_STAGES;
}

/* Each transaction learns its oldest wait of the stage that it is in. */
static void
open_find_waits(struct sqt_process_state *process)
{
    for (struct sqt_xact *x = process->xacts.pool.first; x; x = x->pooled.next)
        x->asked = NULL;
    for (const struct sqt_wait *w = process->waits.pool.first; w; w = w->pooled.next) {
        struct sqt_xact *const x = w->xact ? sqt_idmap_get(&process->xacts.ids, w->xact) : NULL;
        if (x && !x->asked && w->stage == open_named_stage(sqt_spans_charged(&x->stages)))
            x->asked = w;
    }
}

static struct sqt_open_request
open_request(const struct sqt_process_state *process, const struct sqt_xact *x)
{
    const unsigned stage = sqt_spans_charged(&x->stages);
    return (struct sqt_open_request){
        .xact = x,
        .stage = stage,
        .since = sqt_spans_since(&x->stages),
        .wait = x->asked,
        .leader = stage == SQT_STAGE_COLLAPSED_WAIT && x->follow ? x->follow->leader : NULL,
        .sure = x->epoch == process->epoch && !sqt_stepped_since(process, x->begin),
    };
}

void
sqt_model_open_requests(struct sqt_model *model, void (*tell)(void *context, const struct sqt_open_request *open),
                        void *context)
{
    for (size_t i = 0; i < model->count; ++i) {
        struct sqt_process_state *const process = model->processes[i];
        if (!process)
            continue;
        open_find_waits(process);
        for (const struct sqt_xact *x = process->xacts.pool.first; x; x = x->pooled.next) {
            const struct sqt_open_request open = open_request(process, x);
            tell(context, &open);
        }
    }
}

/* The disk call that a record of a swap announces, if the main thread makes it: its end is the next record then. */
static enum sqt_disk_op
open_disk_call(const struct sqt_process_state *process, const struct sqt_swap **of)
{
    static const struct {
        unsigned event;
        enum sqt_disk_op op;
    } calls[] = {
        {SQT_EV_SWAPIN_OPEN, SQT_DISK_OPEN},    {SQT_EV_SWAPIN_READ, SQT_DISK_READ},
        {SQT_EV_SWAPIN_CLOSE, SQT_DISK_CLOSE},  {SQT_EV_SWAPOUT_OPEN, SQT_DISK_CREATE},
        {SQT_EV_SWAPOUT_WRITE, SQT_DISK_WRITE}, {SQT_EV_SWAPOUT_CLOSE, SQT_DISK_CLOSE},
    };
    unsigned i = 0;
    while (i < sizeof(calls) / sizeof(*calls) && calls[i].event != process->last_event)
        ++i;
    *of = i < sizeof(calls) / sizeof(*calls) ? sqt_idmap_get(&process->swaps.ids, process->last_id) : NULL;
    return *of && !((*of)->elsewhere >> calls[i].op & 1) ? calls[i].op : SQT_DISK_OTHER;
}

void
sqt_model_open_loops(const struct sqt_model *model, void (*tell)(void *context, const struct sqt_open_loop *loop),
                     void *context)
{
    for (size_t i = 0; i < model->count; ++i) {
        const struct sqt_process_state *const process = model->processes[i];
        if (!process)
            continue;
        const struct sqt_loop_state *const loop = &process->loop;
        const struct sqt_swap *swap;
        const enum sqt_disk_op call = open_disk_call(process, &swap);
        const struct sqt_open_loop open = {
            .origin = process->origin,
            .works = loop->works   ? 1
                     : loop->waits ? 0
                                   : -1,
            .since = loop->works   ? loop->row.work
                     : loop->waits ? loop->row.begin
                                   : process->now,
            .told = process->now,
            .event = process->last_event,
            .disk_call = call,
            .dir = swap ? swap->dir : UINT32_MAX,
            .xact = process->last_event < SQT_EVENTS && sqt_events[process->last_event].id.kind == SQT_KIND_XACT
                        ? sqt_idmap_get(&process->xacts.ids, process->last_id)
                        : NULL,
        };
        tell(context, &open);
    }
}

/* ---- what is still waited for ---- */

/* Whether one of them began in that time; the oldest come first. */
static int
open_some_began(const struct sqt_open_things *open, int64_t since, int64_t until)
{
    const struct sqt_pooled *x = open->kind->begin ? open->pool.first : NULL;
    while (x && sqt_thing_begin(open->kind, x) < until) {
        if (sqt_thing_begin(open->kind, x) >= since)
            return 1;
        x = x->next;
    }
    return 0;
}

static int
open_is_put_off(const struct sqt_process_state *process, int64_t since, int64_t until)
{
    for (unsigned i = 0; process->put_off && i < SQT_MODEL_LISTENERS; ++i) {
        const struct sqt_put_off *const p = &process->put_off[i];
        if (p->open && p->begin >= since && p->begin < until)
            return 1;
    }
    return 0;
}

static int
open_other_began(const struct sqt_process_state *process, int64_t since, int64_t until)
{
    const struct sqt_loop_state *const loop = &process->loop;
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i)
        if (&process->open[i] != &process->xacts && open_some_began(&process->open[i], since, until))
            return 1;
    return process->now < until || open_is_put_off(process, since, until) ||
           ((loop->waits || loop->works) && loop->row.begin >= since && loop->row.begin < until);
}

static int
open_began(const struct sqt_process_state *process, int64_t since, int64_t until)
{
    return open_some_began(&process->xacts, since, until) || open_other_began(process, since, until);
}

int
sqt_model_is_open(const struct sqt_model *model, int64_t since, int64_t until)
{
    for (size_t i = 0; i < model->count; ++i) {
        const struct sqt_process_state *const process = model->processes[i];
        if (process && !process->origin->over && open_began(process, since, until))
            return 1;
    }
    return 0;
}

/* Whether no other transaction can matter to it any more: it will follow none, nor look for an object. */
static int
open_is_settled(const struct sqt_xact *x)
{
    return !x->follow &&
           (x->reply_source >= 0 || x->first_byte != SQT_MISSING || x->stages.open >> SQT_STAGE_TUNNEL & 1);
}

void
sqt_model_settle(struct sqt_model *model, int64_t since, int64_t until)
{
    for (size_t i = 0; i < model->count && !model->settled; ++i) {
        const struct sqt_process_state *const process = model->processes[i];
        if (!process || process->origin->over)
            continue;
        if (open_other_began(process, since, until))
            return;
        for (const struct sqt_xact *x = process->xacts.pool.first; x && x->begin < until; x = x->pooled.next)
            if (x->begin >= since && !open_is_settled(x))
                return;
    }
    model->settled = 1;
}
