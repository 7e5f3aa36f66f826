/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model.c - records go to those that listen to their events, and the end of a trace.
 */
#include "base/memory.h"
#include "format/event-xid.h"
#include "model-internal.h"

#include <stdlib.h>
#include <string.h>

const char *const sqt_outcome_names[SQT_OUTCOMES] = {
    [SQT_OUTCOME_COMPLETE] = "complete",     [SQT_OUTCOME_ABORTED] = "aborted", [SQT_OUTCOME_TIMEOUT] = "timeout",
    [SQT_OUTCOME_ERROR] = "error",           [SQT_OUTCOME_LOST] = "lost",       [SQT_OUTCOME_CLOCK] = "clock",
    [SQT_OUTCOME_UNFINISHED] = "unfinished",
};

const char *const sqt_disk_op_names[SQT_DISK_OPS] = {
    [SQT_DISK_OTHER] = "other", [SQT_DISK_OPEN] = "open",   [SQT_DISK_CREATE] = "create", [SQT_DISK_READ] = "read",
    [SQT_DISK_WRITE] = "write", [SQT_DISK_CLOSE] = "close", [SQT_DISK_UNLINK] = "unlink",
};

static void
reconfigured(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    if (!(record->id & SQT_GROUP_DISKOP))
        sqt_diskop_switched_off(process);
    if (!(record->id & SQT_GROUP_LOOP))
        sqt_loop_switched_off(process);
}

static void
model_setup(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    const struct sqt_setup_row row = {.origin = process->origin,
                                      .at = now,
                                      .event = record->event,
                                      .groups = record->id,
                                      .ring_kb = record->event == SQT_EV_START ? record->aux : 0,
                                      .goes_on = record->event == SQT_EV_STOP && record->aux == 1};
    if (process->consumer->setup)
        process->consumer->setup(process->consumer->context, &row);
}

const struct sqt_thing_kind sqt_thing_setups = {
    .events = (const struct sqt_subscription[]){{SQT_EV_START, model_setup},
                                                {SQT_EV_RECONFIGURE, reconfigured},
                                                {SQT_EV_RECONFIGURE, model_setup},
                                                {SQT_EV_ROTATE, model_setup},
                                                {SQT_EV_STOP, model_setup},
                                                {0}}};

static const struct sqt_thing_kind *const model_kinds[SQT_THING_COUNT] = {
#define SQT_THING(name) [SQT_THING_##name] = &sqt_thing_##name,
    SQT_THING_KINDS(SQT_THING)
#undef SQT_THING
};

static void
model_call(struct sqt_model *model, unsigned event, sqt_handler *handler)
{
    sqt_handler **const handlers = model->handlers[event];
    unsigned i = 0;
    while (handlers[i])
        ++i;
    if (i == SQT_SUBSCRIBERS)
        abort(); /* SQT_SUBSCRIBERS is too few */
    handlers[i] = handler;
}

static void
model_subscribe(struct sqt_model *model, const struct sqt_subscription *list)
{
    for (; list && list->handler; ++list)
        model_call(model, list->event, list->handler);
}

static int
model_has_stages(unsigned event)
{
    const struct sqt_event_info *const info = &sqt_events[event];
    return info->id.kind == SQT_KIND_XACT && (info->opens | info->closes);
}

/* Whether one of the kinds opens and closes the stages of that event. */
static int
model_is_charged(unsigned event)
{
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i)
        for (const struct sqt_subscription *s = model_kinds[i]->charges; s && s->handler; ++s)
            if (s->event == event)
                return 1;
    return 0;
}

struct sqt_model *
sqt_model_new(const struct sqt_consumer *consumer)
{
    struct sqt_model *const model = sqt_zeroed(1, sizeof(*model));
    model->consumer = *consumer;
    model->room.left = SQT_MODEL_BYTES;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        model->names[i] = (unsigned char)sqt_event_names_of(i);
        if (model_has_stages(i) && !model_is_charged(i))
            model_call(model, i, sqt_xact_stages);
    }
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i) {
        model_subscribe(model, model_kinds[i]->charges);
        model_subscribe(model, model_kinds[i]->events);
    }
    return model;
}

void
sqt_model_join(struct sqt_model *model, sqt_logged_function *logged, void *context)
{
    model->room.logged = logged;
    model->room.log = context;
}

void
sqt_model_look_back(struct sqt_model *model, sqt_accepted_function *accepted, void *context, int64_t since,
                    int64_t until)
{
    model->room.accepted = accepted;
    model->room.accepted_context = context;
    model->room.accepted_since = since;
    model->room.accepted_until = until;
}

static void
init_pools(struct sqt_process_state *process)
{
    size_t *const left = &process->room->left;
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i) {
        struct sqt_open_things *const open = &process->open[i];
        open->kind = model_kinds[i];
        open->ids.left = left;
        if (open->kind->size)
            sqt_pool_init(&open->pool, open->kind->size, left);
    }
    process->services.left = left;
    sqt_pool_init(&process->held_pool, sizeof(struct sqt_held), left);
    sqt_pool_init(&process->context_pool, sizeof(struct sqt_context), left);
    sqt_pool_init(&process->notes_pool, sizeof(struct sqt_notes), left);
}

static struct sqt_process_state *
model_process_of(struct sqt_model *model, const struct sqt_run *run)
{
    const struct sqt_origin *const origin = run->origin;
    if (origin->index >= model->count) {
        const size_t count = origin->index + 1;
        model->processes = sqt_resized(model->processes, count * sizeof(*model->processes));
        while (model->count < count)
            model->processes[model->count++] = NULL;
    }
    struct sqt_process_state *process = model->processes[origin->index];
    if (process)
        return process;
    process = model->processes[origin->index] = sqt_zeroed(1, sizeof(*process));
    process->consumer = &model->consumer;
    process->origin = origin;
    process->now = SQT_MISSING;
    process->stepped = INT64_MIN;
    const int begins = !run->first || run->first == UINT64_MAX;
    process->loop.whole = begins ? INT64_MIN : sqt_line_ns(&run->line, run->records->time);
    process->accepted_least = UINT64_MAX;
    process->room = &model->room;
    model->room.kids[origin->identity.kid % SQT_MODEL_KIDS] = process;
    init_pools(process);
    return process;
}

/* The lines of two blocks may disagree by some nanoseconds where they meet. */
static inline void
model_goes_on(struct sqt_process_state *process, const struct sqt_run *run, const struct sqt_record *record)
{
    const int64_t at = sqt_line_ns(&run->line, record->time);
    if (at > process->now)
        process->now = at;
}

/* The last unit of the run is the process's last sign of life. */
static void
model_note_last(struct sqt_process_state *process, const struct sqt_run *run)
{
    size_t last = run->count;
    while (last > 1 && run->records[last - 1].flags & SQT_FLAG_PART)
        --last;
    if (last) {
        process->last_event = run->records[last - 1].event;
        process->last_id = run->records[last - 1].id;
        model_goes_on(process, run, &run->records[last - 1]);
    }
}

/* Whether the record is of something that is known, or of nothing in particular. */
static int
model_concerns(const struct sqt_model *model, const struct sqt_process_state *process, const struct sqt_record *record)
{
    switch ((enum sqt_event_names)model->names[record->event]) {
    case SQT_NAMES_XACT:
        return sqt_idmap_get(&process->xacts.ids, record->id) ||
               (record->event == SQT_EV_XACT_NAMED && sqt_idmap_get(&process->xacts.ids, record->arg));
    case SQT_NAMES_OPENS_SIO:
        return sqt_idmap_get(&process->xacts.ids, record->arg) != NULL;
    case SQT_NAMES_SIO:
        return sqt_idmap_get(&process->swaps.ids, record->id) != NULL;
    case SQT_NAMES_OPENS_OP:
        return sqt_idmap_get(&process->swaps.ids, record->arg) != NULL;
    case SQT_NAMES_OP:
        return sqt_idmap_get(&process->diskops.ids, record->id) != NULL;
    case SQT_NAMES_NONE:
        break;
    }
    return sqt_events[record->event].id.kind != SQT_KIND_CONN || sqt_idmap_get(&process->clients.ids, record->id);
}

void
sqt_model_run(struct sqt_model *model, const struct sqt_run *run)
{
    static sqt_handler *const none[] = {NULL};
    model->run = run;
    for (size_t i = 0; i < run->logged_count; ++i) {
        model->origin = run->logged[i].origin;
        sqt_logged_hand_out(&model->consumer, &run->logged[i]);
    }
    if (!run->count)
        return;
    struct sqt_process_state *const process = model_process_of(model, run);
    process->line = run->line;
    model->origin = run->origin;
    if (process->unsure && !run->unsure)
        process->stepped = process->now + 1;
    process->unsure = run->unsure;
    for (size_t i = 0; i < run->count; ++i) {
        const struct sqt_record *const record = &run->records[i];
        size_t more = record->flags & SQT_FLAG_MORE;
        if (more > run->count - i - 1)
            more = run->count - i - 1;
        sqt_handler *const *called = record->event < SQT_EVENTS ? model->handlers[record->event] : none;
        if (__builtin_expect(model->settled, 0) && !(*called && model_concerns(model, process, record))) {
            i += more;
            continue;
        }
        model->at = i;
        model_goes_on(process, run, record);
        for (; *called; ++called)
            (*called)(process, process->now, record, (unsigned)more);
        i += more;
    }
    model_note_last(process, run);
}

const struct sqt_origin *
sqt_model_origin(const struct sqt_model *model)
{
    return model->origin;
}

uint64_t
sqt_model_record(const struct sqt_model *model)
{
    return model->run && model->run->first != UINT64_MAX ? model->run->first + model->at : UINT64_MAX;
}

/* ---- the end ---- */

struct thing {
    int64_t begin;
    void *object;
    uint32_t order; /* among those of one begin */
    unsigned kind : 5;
    unsigned process : 27; /* the origin's index */
};
SQT_ASSERT(SQT_THING_COUNT <= 1u << 5, "a kind of things fits");

static int
model_by_begin(const void *one, const void *two)
{
    const struct thing *const a = one, *const b = two;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Whether the end of a trace hands out those that are open. */
static int
model_is_handed_out(const struct sqt_thing_kind *kind)
{
    return kind->begin && kind->cut_off;
}

static size_t
collect(const struct sqt_process_state *process, struct thing *things, size_t count)
{
    const unsigned index = process->origin->index & ((1u << 27) - 1);
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i) {
        const struct sqt_open_things *const open = &process->open[i];
        struct sqt_pooled *x = model_is_handed_out(open->kind) ? open->pool.first : NULL;
        for (; x; x = x->next, ++count)
            things[count] = (struct thing){sqt_thing_begin(open->kind, x), x, (uint32_t)count, i, index};
    }
    return count;
}

static size_t
model_count_open(const struct sqt_process_state *process)
{
    size_t count = 0;
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i)
        count += model_is_handed_out(process->open[i].kind) ? process->open[i].pool.used : 0;
    return count;
}

/* Gives each of `count` processes, some of which may be NULL, a last word. */
static void
model_each(struct sqt_model *model, struct sqt_process_state *const *processes, size_t count,
           void (*function)(struct sqt_process_state *process))
{
    for (size_t i = 0; i < count; ++i)
        if (processes[i]) {
            model->origin = processes[i]->origin;
            function(processes[i]);
        }
}

/* Closes all that is open in `count` processes from `processes` on, some of which may be NULL, in the order of the begins. */
static void
model_close(struct sqt_model *model, struct sqt_process_state *const *processes, size_t process_count)
{
    size_t count = 0;
    model->run = NULL;
    model_each(model, processes, process_count, sqt_stops_finish);
    model_each(model, processes, process_count, sqt_put_off_finish);
    for (size_t i = 0; i < process_count; ++i)
        count += processes[i] ? model_count_open(processes[i]) : 0;
    if (!count)
        return;
    struct thing *const things = sqt_zeroed(count, sizeof(*things));
    count = 0;
    for (size_t i = 0; i < process_count; ++i)
        if (processes[i])
            count = collect(processes[i], things, count);
    qsort(things, count, sizeof(*things), model_by_begin);
    for (size_t i = 0; i < count; ++i) {
        struct sqt_process_state *const process = model->processes[things[i].process];
        model->origin = process->origin;
        model_kinds[things[i].kind]->cut_off(process, things[i].object, SQT_OUTCOME_UNFINISHED);
    }
    free(things);
}

void
sqt_model_finish(struct sqt_model *model)
{
    model_close(model, model->processes, model->count);
}

void
sqt_model_finish_now(struct sqt_model *model, const struct sqt_now *now)
{
    for (size_t i = 0; i < model->count; ++i) {
        struct sqt_process_state *const process = model->processes[i];
        const int64_t silent = process ? now->silent(process->origin) : -1;
        if (silent >= 0 && silent < SQT_NOW_SILENT && now->ns > process->now)
            process->now = now->ns;
    }
    sqt_model_finish(model);
}

static struct sqt_process_state **
model_process_at(const struct sqt_model *model, const struct sqt_origin *origin)
{
    return origin->index < model->count ? &model->processes[origin->index] : NULL;
}

void
sqt_model_end(struct sqt_model *model, const struct sqt_origin *origin)
{
    struct sqt_process_state **const at = model_process_at(model, origin);
    if (at && *at)
        model_close(model, at, 1);
}

static void
model_free_process(struct sqt_process_state *process)
{
    if (!process)
        return;
    for (unsigned i = 0; i < SQT_THING_COUNT; ++i) {
        sqt_idmap_free(&process->open[i].ids);
        sqt_pool_free(&process->open[i].pool);
    }
    sqt_idmap_free(&process->services);
    sqt_pool_free(&process->held_pool);
    sqt_pool_free(&process->context_pool);
    sqt_pool_free(&process->notes_pool);
    free(process->loop.stops);
    free(process->put_off);
    free(process);
}

void
sqt_model_forget(struct sqt_model *model, const struct sqt_origin *origin)
{
    struct sqt_process_state **const at = model_process_at(model, origin);
    if (!at || !*at)
        return;
    for (size_t i = 0; i < model->count; ++i)
        for (struct sqt_follow *f = model->processes[i] ? model->processes[i]->follows.pool.first : NULL; f;
             f = f->pooled.next)
            if (f->origin == origin) {
                f->origin = NULL;
                f->server = UINT32_MAX;
            }
    for (unsigned i = 0; i < SQT_MODEL_KIDS; ++i)
        if (model->room.kids[i] == *at)
            model->room.kids[i] = NULL;
    model_free_process(*at);
    *at = NULL;
    if (model->origin == origin)
        model->origin = NULL;
}

void
sqt_model_free(struct sqt_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < model->count; ++i)
        model_free_process(model->processes[i]);
    free(model->processes);
    free(model);
}
