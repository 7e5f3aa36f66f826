/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * model.c - which event is whose, and the end of a trace.
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

/* Who is called for an event, in this order.  For one of a transaction that is not here, and opens or closes stages in
 * events.def, it is sqt_xact_stages(). */
static sqt_handler *const subscribers[SQT_EVENTS][SQT_SUBSCRIBERS] = {
    [SQT_EV_LOST] = {sqt_lost},
    [SQT_EV_CLOCK_STEP] = {sqt_clock_step},
    [SQT_EV_CONN_ACCEPT] = {sqt_client_accept},
    [SQT_EV_CONN_CLOSE] = {sqt_client_close},
    [SQT_EV_ACCEPT_PUT_OFF] = {sqt_accept_put_off},
    [SQT_EV_ACCEPT_RESUMED] = {sqt_accept_resumed},
    [SQT_EV_CLIENT_TLS_BEGIN] = {sqt_client_tls_begin},
    [SQT_EV_CLIENT_TLS_END] = {sqt_client_tls_end},
    [SQT_EV_CLIENT_READ] = {sqt_client_read},
    [SQT_EV_REQUEST_PARSED] = {sqt_client_parsed},
    [SQT_EV_XACT_BEGIN] = {sqt_xact_begin},
    [SQT_EV_XACT_NAMED] = {sqt_xact_named},
    [SQT_EV_TRACE_CONTEXT] = {sqt_xact_context},
    [SQT_EV_NOTE] = {sqt_xact_note},
    [SQT_EV_DENIED] = {sqt_xact_denied},
    [SQT_EV_RANGE] = {sqt_xact_asks_range},
    [SQT_EV_NOT_KEPT] = {sqt_xact_not_kept},
    [SQT_EV_XACT_END] = {sqt_xact_end},
    [SQT_EV_XACT_UNLOGGED] = {sqt_xact_unlogged},
    [SQT_EV_LOOKUP_END] = {sqt_xact_lookup},
    [SQT_EV_COLLAPSED] = {sqt_xact_collapsed},
    [SQT_EV_REPLY_READY] = {sqt_xact_ready},
    [SQT_EV_REPLY_WRITTEN] = {sqt_xact_written},
    [SQT_EV_SERVER_READ] = {sqt_xact_server_read, sqt_digest_server_read},
    [SQT_EV_SERVER_1XX] = {sqt_xact_server_1xx},
    [SQT_EV_SERVER_HEADER] = {sqt_xact_stages, sqt_digest_server_header},
    [SQT_EV_SERVER_DONE] = {sqt_xact_stages, sqt_digest_server_done},
    [SQT_EV_NEIGHBORS_ASKED] = {sqt_xact_neighbors_asked},
    [SQT_EV_NEIGHBOR_ANSWER] = {sqt_xact_neighbor},
    [SQT_EV_NEIGHBORS_DONE] = {sqt_xact_neighbors_done},
    [SQT_EV_RETRY] = {sqt_xact_retried, sqt_digest_server_done},
    [SQT_EV_FORWARD_BEGIN] = {sqt_tries_begin},
    [SQT_EV_SERVER_HELD] = {sqt_xact_held},
    [SQT_EV_FORWARD_END] = {sqt_xact_stages, sqt_digest_server_done},
    [SQT_EV_CONNECT_BEGIN] = {sqt_connect_begin},
    [SQT_EV_CONNECT_END] = {sqt_connect_end},
    [SQT_EV_CONNECT_REUSED] = {sqt_connect_reused},
    [SQT_EV_TLS_BEGIN] = {sqt_tls_begin},
    [SQT_EV_TLS_END] = {sqt_tls_end},
    [SQT_EV_DISPATCH] = {sqt_server_used},
    [SQT_EV_TUNNEL_BEGIN] = {sqt_server_used},
    [SQT_EV_TUNNEL_END] = {sqt_xact_stages, sqt_xact_tunnelled},
    [SQT_EV_SERVER_CLOSE] = {sqt_server_close},
    [SQT_EV_FATAL] = {sqt_incident},
    [SQT_EV_CHILD_STARTED] = {sqt_incident},
    [SQT_EV_CHILD_DIED] = {sqt_incident},
    [SQT_EV_SERVICE_STATE] = {sqt_incident},
    [SQT_EV_PEER_PROBED] = {sqt_incident},
    [SQT_EV_CONN_OVER_LIMIT] = {sqt_incident},
    [SQT_EV_CLIENT_RESENT] = {sqt_incident},
    [SQT_EV_LIST_READ] = {sqt_incident},
    [SQT_EV_DIR_REBUILT] = {sqt_incident},
    [SQT_EV_SWAP_LOGS_WRITTEN] = {sqt_incident},
    [SQT_EV_HELPER_BEGIN] = {sqt_helper_begin},
    [SQT_EV_HELPER_END] = {sqt_helper_end},
    [SQT_EV_ADAPT_SERVICE] = {sqt_service_asked},
    [SQT_EV_ADAPT_ADMITTED] = {sqt_service_admits},
    [SQT_EV_ADAPT_FAILED] = {sqt_service_failed},
    [SQT_EV_ADAPT_END] = {sqt_xact_stages, sqt_service_done},
    [SQT_EV_QUERY_END] = {sqt_query_end},
    [SQT_EV_WAIT_BEGIN] = {sqt_loop_wait},
    [SQT_EV_WAIT_END] = {sqt_loop_work},
    [SQT_EV_HEARTBEAT_LATE] = {sqt_heartbeat_late},
    [SQT_EV_LOOP_SAMPLE] = {sqt_loop_sampled},
    [SQT_EV_CALLS] = {sqt_calls_some},
    [SQT_EV_CALLS_TOLD] = {sqt_calls_told},
    [SQT_EV_SAMPLE] = {sqt_resource_sampled},
    [SQT_EV_SWAPIN_OPEN] = {sqt_swap_open},
    [SQT_EV_SWAPIN_OPENED] = {sqt_swap_opened},
    [SQT_EV_SWAPIN_READ] = {sqt_swap_ask},
    [SQT_EV_SWAPIN_READ_DONE] = {sqt_swap_done},
    [SQT_EV_SWAPIN_CLOSE] = {sqt_swap_close},
    [SQT_EV_SWAPIN_CLOSED] = {sqt_swap_closed},
    [SQT_EV_SWAPOUT_OPEN] = {sqt_swap_open},
    [SQT_EV_SWAPOUT_OPENED] = {sqt_swap_opened},
    [SQT_EV_SWAPOUT_WRITE] = {sqt_swap_ask},
    [SQT_EV_SWAPOUT_WRITTEN] = {sqt_swap_done},
    [SQT_EV_SWAPOUT_CLOSE] = {sqt_swap_close},
    [SQT_EV_SWAPOUT_CLOSED] = {sqt_swap_closed},
    [SQT_EV_SWAP_REFUSED] = {sqt_xact_not_taken},
    [SQT_EV_UNLINK] = {sqt_unlink},
    [SQT_EV_UNLINKED] = {sqt_unlinked},
    [SQT_EV_START] = {model_setup},
    [SQT_EV_RECONFIGURE] = {reconfigured, model_setup},
    [SQT_EV_ROTATE] = {model_setup},
    [SQT_EV_STOP] = {model_setup},
    [SQT_EV_DISKOP_BEGIN] = {sqt_diskop_begin},
    [SQT_EV_DISKOP_QUEUED] = {sqt_diskop_queued},
    [SQT_EV_DISKOP_END] = {sqt_diskop_end},
    [SQT_EV_DISKOP_LATE] = {sqt_diskop_late},
    [SQT_EV_DIGEST_KEY] = {sqt_digest_look},
    [SQT_EV_DIGEST_LOOKUP] = {sqt_digest_look},
    [SQT_EV_DIGEST_NONE] = {sqt_digest_look},
    [SQT_EV_DIGEST_HIT] = {sqt_digest_ask},
    [SQT_EV_DIGEST_REBUILD] = {sqt_digest_rebuilt},
    [SQT_EV_DIGEST_REWRITE] = {sqt_digest_rewritten},
    [SQT_EV_DIGEST_FETCH_BEGIN] = {sqt_digest_ask},
    [SQT_EV_DIGEST_FETCH_END] = {sqt_digest_fetched},
};

struct sqt_model *
sqt_model_new(const struct sqt_consumer *consumer)
{
    struct sqt_model *const model = sqt_zeroed(1, sizeof(*model));
    model->consumer = *consumer;
    model->room.left = SQT_MODEL_BYTES;
    for (unsigned i = 1; i < SQT_EVENTS; ++i) {
        const struct sqt_event_info *const event = &sqt_events[i];
        model->names[i] = (unsigned char)sqt_event_names_of(i);
        memcpy(model->handlers[i], subscribers[i], sizeof(model->handlers[i]));
        if (!subscribers[i][0] && event->id.kind == SQT_KIND_XACT && (event->opens | event->closes))
            model->handlers[i][0] = sqt_xact_stages;
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
    sqt_pool_init(&process->xact_pool, sizeof(struct sqt_xact), left);
    sqt_pool_init(&process->client_pool, sizeof(struct sqt_client), left);
    sqt_pool_init(&process->swap_pool, sizeof(struct sqt_swap), left);
    sqt_pool_init(&process->io_pool, sizeof(struct sqt_io), left);
    sqt_pool_init(&process->attempt_pool, sizeof(struct sqt_attempt), left);
    sqt_pool_init(&process->diskop_pool, sizeof(struct sqt_diskop), left);
    sqt_pool_init(&process->digest_pool, sizeof(struct sqt_digest), left);
    sqt_pool_init(&process->follow_pool, sizeof(struct sqt_follow), left);
    sqt_pool_init(&process->held_pool, sizeof(struct sqt_held), left);
    sqt_pool_init(&process->context_pool, sizeof(struct sqt_context), left);
    sqt_pool_init(&process->notes_pool, sizeof(struct sqt_notes), left);
    sqt_pool_init(&process->wait_pool, sizeof(struct sqt_wait), left);
    sqt_pool_init(&process->conn_pool, sizeof(struct sqt_server_conn), left);
    process->xacts.left = process->clients.left = process->swaps.left = process->attempts.left = left;
    process->diskops.left = process->digests.left = process->ios.left = left;
    process->helpers.left = process->services.left = process->conns.left = left;
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
        return sqt_idmap_get(&process->xacts, record->id) ||
               (record->event == SQT_EV_XACT_NAMED && sqt_idmap_get(&process->xacts, record->arg));
    case SQT_NAMES_OPENS_SIO:
        return sqt_idmap_get(&process->xacts, record->arg) != NULL;
    case SQT_NAMES_SIO:
        return sqt_idmap_get(&process->swaps, record->id) != NULL;
    case SQT_NAMES_OPENS_OP:
        return sqt_idmap_get(&process->swaps, record->arg) != NULL;
    case SQT_NAMES_OP:
        return sqt_idmap_get(&process->diskops, record->id) != NULL;
    case SQT_NAMES_NONE:
        break;
    }
    return sqt_events[record->event].id.kind != SQT_KIND_CONN || sqt_idmap_get(&process->clients, record->id);
}

void
sqt_model_run(struct sqt_model *model, const struct sqt_run *run)
{
    static sqt_handler *const none[SQT_SUBSCRIBERS] = {NULL};
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
        for (unsigned s = 0; s < SQT_SUBSCRIBERS && called[s]; ++s)
            called[s](process, process->now, record, (unsigned)more);
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

enum thing_kind { XACT, SWAP, ATTEMPT, DISKOP, DIGEST, WAIT };
struct thing {
    int64_t begin;
    void *object;
    uint32_t order; /* among those of one begin */
    unsigned kind : 3;
    unsigned process : 29; /* the origin's index */
};

static int
model_by_begin(const void *one, const void *two)
{
    const struct thing *const a = one, *const b = two;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static size_t
collect(const struct sqt_process_state *process, struct thing *things, size_t count)
{
    const unsigned index = process->origin->index & ((1u << 29) - 1);
    for (struct sqt_xact *x = process->xact_pool.first; x; x = x->pooled.next, ++count)
        things[count] = (struct thing){x->begin, x, (uint32_t)count, XACT, index};
    for (struct sqt_swap *s = process->swap_pool.first; s; s = s->pooled.next, ++count)
        things[count] = (struct thing){s->begin, s, (uint32_t)count, SWAP, index};
    for (struct sqt_attempt *a = process->attempt_pool.first; a; a = a->pooled.next, ++count)
        things[count] = (struct thing){a->begin, a, (uint32_t)count, ATTEMPT, index};
    for (struct sqt_diskop *o = process->diskop_pool.first; o; o = o->pooled.next, ++count)
        things[count] = (struct thing){o->begin, o, (uint32_t)count, DISKOP, index};
    for (struct sqt_digest *d = process->digest_pool.first; d; d = d->pooled.next, ++count)
        things[count] = (struct thing){d->begin, d, (uint32_t)count, DIGEST, index};
    for (struct sqt_wait *w = process->wait_pool.first; w; w = w->pooled.next, ++count)
        things[count] = (struct thing){w->begin, w, (uint32_t)count, WAIT, index};
    return count;
}

static size_t
model_count_open(const struct sqt_process_state *process)
{
    return process->xact_pool.used + process->swap_pool.used + process->attempt_pool.used + process->diskop_pool.used +
           process->digest_pool.used + process->wait_pool.used;
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
        switch ((enum thing_kind)things[i].kind) {
        case XACT:
            sqt_xact_close(process, things[i].object, process->now, SQT_OUTCOME_UNFINISHED);
            break;
        case SWAP:
            sqt_swap_end(process, things[i].object, process->now, SQT_OUTCOME_UNFINISHED);
            break;
        case ATTEMPT:
            sqt_attempt_end(process, things[i].object, process->now, SQT_OUTCOME_UNFINISHED);
            break;
        case DISKOP:
            sqt_diskop_leave(process, things[i].object);
            break;
        case DIGEST:
            sqt_digest_end(process, things[i].object, process->now, SQT_DIGEST_RESULT_UNFINISHED);
            break;
        case WAIT:
            sqt_wait_leave(process, things[i].object);
        }
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
    sqt_idmap_free(&process->xacts);
    sqt_idmap_free(&process->clients);
    sqt_idmap_free(&process->swaps);
    sqt_idmap_free(&process->attempts);
    sqt_idmap_free(&process->diskops);
    sqt_idmap_free(&process->digests);
    sqt_idmap_free(&process->helpers);
    sqt_idmap_free(&process->services);
    sqt_idmap_free(&process->conns);
    sqt_idmap_free(&process->ios);
    sqt_pool_free(&process->xact_pool);
    sqt_pool_free(&process->client_pool);
    sqt_pool_free(&process->swap_pool);
    sqt_pool_free(&process->io_pool);
    sqt_pool_free(&process->attempt_pool);
    sqt_pool_free(&process->diskop_pool);
    sqt_pool_free(&process->digest_pool);
    sqt_pool_free(&process->follow_pool);
    sqt_pool_free(&process->held_pool);
    sqt_pool_free(&process->context_pool);
    sqt_pool_free(&process->notes_pool);
    sqt_pool_free(&process->wait_pool);
    sqt_pool_free(&process->conn_pool);
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
        for (struct sqt_follow *f = model->processes[i] ? model->processes[i]->follow_pool.first : NULL; f;
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
