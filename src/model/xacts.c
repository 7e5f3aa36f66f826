/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * xacts.c - transactions: their ids, their stages, their ends.
 */
#include "base/digits.h"
#include "model-internal.h"

/* Stages that one transaction can have open several times over: parallel connection attempts, look-ups and
 * uses of helpers, several swap-ins (Vary, a revalidation). */
#define NESTING \
    (1u << SQT_STAGE_CONNECT | 1u << SQT_STAGE_DNS | 1u << SQT_STAGE_HELPER | 1u << SQT_STAGE_SWAP_IN_OPEN | \
     1u << SQT_STAGE_SWAP_IN_FIRST | 1u << SQT_STAGE_SWAP_IN_REST)

/* Stages in which a transaction has a connection to a server, or tries to get one. */
#define WITH_SERVER \
    (1u << SQT_STAGE_CONNECT | 1u << SQT_STAGE_TLS | 1u << SQT_STAGE_REQUEST_SEND | 1u << SQT_STAGE_CLIENT_BODY | \
     1u << SQT_STAGE_SERVER_WAIT | 1u << SQT_STAGE_SERVER_REPLY | 1u << SQT_STAGE_TUNNEL)

#define REPLY (1u << SQT_STAGE_SERVER_REPLY)
#define HELD (1u << SQT_STAGE_HELD_BACK)

static inline struct sqt_xact *
xacts_find(const struct sqt_process_state *process, uint64_t id)
{
    return sqt_idmap_get(&process->xacts.ids, id);
}

/* Whether a transaction that is not here began before the part of the trace that is read.  Ids grow. */
static int
xacts_is_earlier(const struct sqt_process_state *process, uint64_t id)
{
    const uint64_t first = id & SQT_UNNAMED ? process->first_xact : process->first_named;
    return process->origin->late && (!first || id < first);
}

static void
xacts_enter(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    struct sqt_xact *other = xacts_find(process, xact->id);
    if (other && other->epoch != process->epoch) {
        sqt_xact_give_up(process, other, now); /* its id is used anew */
        other = xacts_find(process, xact->id);
    }
    xact->older = other;
    if (other)
        other->newer = xact;
    sqt_idmap_put(&process->xacts.ids, xact->id, xact);
}

static void
xacts_leave(struct sqt_process_state *process, struct sqt_xact *xact)
{
    if (xact->newer)
        xact->newer->older = xact->older;
    else if (xact->older)
        sqt_idmap_put(&process->xacts.ids, xact->id, xact->older);
    else
        sqt_idmap_take(&process->xacts.ids, xact->id);
    if (xact->older)
        xact->older->newer = xact->newer;
    xact->older = xact->newer = NULL;
}

static struct sqt_xact *
xacts_make(struct sqt_process_state *process, struct sqt_xact *xact, uint64_t id, int64_t begin)
{
    process->first_xact = process->first_xact ? process->first_xact : id;
    xact->origin = process->origin;
    xact->id = id;
    xact->begin = begin;
    xact->client_connect = xact->client_tls = xact->accept_wait = xact->read_wait = xact->sending = xact->first_byte =
        SQT_MISSING;
    xact->unparsed = xact->read_last = SQT_MISSING;
    xact->server_from = xact->server_until = SQT_MISSING;
    xact->before.until = begin;
    sqt_spans_begin(&xact->stages, begin);
    xact->stages.nests = NESTING;
    xact->reply_charged = SQT_MISSING;
    xact->neighbor = xact->method = xact->tag = xact->server = xact->listener = xact->dir = xact->failed_server =
        UINT32_MAX;
    xact->size = xact->sent = xact->range = SQT_MISSING;
    xact->tunnel_first = xact->tunnel_held = xact->tunnel_unsent = xact->tunnel_uploaded = xact->tunnel_rest =
        xact->tunnel_came = SQT_MISSING;
    xact->reply_source = -1;
    xact->reused = -1;
    xact->epoch = process->epoch;
    /* Of the pass that it begins in, what came before it is not its own, be it short or long. */
    const struct sqt_loop_state *const loop = &process->loop;
    xact->held = loop->sampled.ticks ? 0 : SQT_MISSING;
    xact->held_before =
        loop->lasted + loop->held_else + (loop->works && begin != SQT_MISSING ? begin - loop->row.work : 0);
    return xact;
}

static void
xact_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_make(process, sqt_thing_new(process, &process->xacts), record->id, now);
    xact->conn = record->arg;
    xacts_enter(process, xact, now);
    sqt_client_add(process, xact, now);
}

static void
xact_named(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->arg);
    if (!xact)
        return;
    xacts_leave(process, xact);
    process->first_named = process->first_named ? process->first_named : record->id;
    xact->id = record->id;
    xact->method = record->aux;
    xacts_enter(process, xact, now);
}

/* What is all zeroes is no id. */
static void
xact_context(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact || !more || record[1].event != SQT_EV_PART_TRACE_ID || !(record[1].id | record[1].arg) || !record->arg)
        return;
    if (!xact->context && !sqt_pool_full(&process->context_pool))
        xact->context = sqt_pool_get(&process->context_pool);
    struct sqt_context *const c = xact->context;
    if (!c)
        return;
    c->trace_high = record[1].id;
    c->trace_low = record[1].arg;
    c->parent = record->arg;
    c->flags = record->aux & 0xff;
    c->forwarded = (record->aux & SQT_CONTEXT_FORWARDED) != 0;
    *sqt_put_hex(sqt_put_hex(c->trace_text, c->trace_high), c->trace_low) = '\0';
    *sqt_put_hex(c->parent_text, c->parent) = '\0';
}

static void
xact_note(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    const char *const text = xact ? sqt_origin_text(xact->origin, SQT_DEF_NOTE, (uint32_t)record->arg) : NULL;
    if (!text)
        return;
    if (!xact->notes && !sqt_pool_full(&process->notes_pool))
        xact->notes = sqt_pool_get(&process->notes_pool);
    if (xact->notes)
        sqt_notes_add(xact->notes, text);
}

static void
xact_denied(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (xact)
        xact->denied_by = (uint32_t)record->arg;
}

static void
xact_asks_range(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    xact->range = sqt_bytes(record->arg);
    xact->range_open = record->aux & 1;
}

static void
xact_not_taken(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    struct sqt_xact *const xact = record->aux ? xacts_find(process, record->id) : NULL;
    if (xact)
        xact->not_taken = 1;
}

static void
xact_not_kept(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (xact)
        xact->not_kept = record->aux < SQT_UNKEPTS ? (unsigned char)record->aux : SQT_UNKEPT_NONE;
}

static void
apply(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, unsigned event)
{
    sqt_xact_charge(process, xact, now);
    sqt_spans_close(&xact->stages, sqt_events[event].closes);
    sqt_spans_open(&xact->stages, sqt_events[event].opens);
    if (__builtin_expect(xact->follow != NULL, 0))
        sqt_follow_check(xact, now);
    if (!((sqt_events[event].opens | sqt_events[event].closes) & WITH_SERVER))
        return;
    if (xact->stages.open & WITH_SERVER) {
        xact->server_until = SQT_MISSING;
        if (xact->server_from == SQT_MISSING)
            xact->server_from = now;
    } else if (xact->server_from != SQT_MISSING && xact->server_until == SQT_MISSING) {
        xact->server_until = now;
    }
}

void
sqt_xact_stages(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    apply(process, xact, now, record->event);
    if (record->event == SQT_EV_DISPATCH)
        sqt_forward_begins(process, xact, now, record);
    else if (record->event == SQT_EV_SERVER_DONE)
        sqt_forward_ends(process, xact, now, record->aux ? SQT_OUTCOME_ERROR : SQT_OUTCOME_COMPLETE);
}

static void
xact_lookup(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    sqt_follow_old(process, xact, now);
    apply(process, xact, now, record->event);
    if (record->arg)
        xact->object = record->arg;
}

static void
xact_ready(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    sqt_follow_old(process, xact, now);
    apply(process, xact, now, record->event);
    xact->reply_source = (int)record->aux;
}

/* The tunnel is closed. */
static void
xact_tunnelled(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    if (record->aux)
        xact->cut_off = SQT_OUTCOME_TIMEOUT;
    if (record->arg)
        xact->tunnel_first = sqt_ticks_ns(process, record->arg);
    for (unsigned i = 1; i <= more; ++i)
        if (record[i].event == SQT_EV_PART_TUNNEL_HELD) {
            xact->tunnel_held = sqt_ticks_ns(process, record[i].arg);
            xact->tunnel_pool = record[i].aux;
        } else if (record[i].event == SQT_EV_PART_TUNNEL_UPLOAD) {
            xact->tunnel_uploaded = sqt_bytes(record[i].id);
            xact->tunnel_unsent = sqt_ticks_ns(process, record[i].arg);
        } else if (record[i].event == SQT_EV_PART_TUNNEL_DOWNLOAD) {
            xact->tunnel_came = sqt_bytes(record[i].id);
            xact->tunnel_rest = sqt_ticks_ns(process, record[i].arg);
        }
}

static void
xact_collapsed(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    apply(process, xact, now, record->event);
    xact->flags |= SQT_XACT_COLLAPSED;
    sqt_follow_begin(process, xact, now, record->arg, record->aux);
}

static void
xact_held(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    apply(process, xact, now, record->event);
    if (!record->aux)
        return; /* a slow client, or a trace that does not know of delay pools */
    xact->pool = record->aux;
    sqt_spans_open(&xact->stages, HELD);
}

static void
xact_neighbor(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    xact->neighbor = (uint32_t)record->arg;
    if (xact->neighbors_heard_count < SQT_HEARD)
        xact->neighbors_heard[xact->neighbors_heard_count] = xact->neighbor;
    ++xact->neighbors_heard_count;
}

static void
xact_neighbors_asked(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (xact)
        xact->neighbors_asked = record->aux;
}

/* Who answered last is not whom it waited for, if the others never did. */
static void
xact_neighbors_done(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)now, (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact || record->aux != 1)
        return;
    xact->neighbor = UINT32_MAX;
    const int64_t missing = (int64_t)xact->neighbors_asked - sqt_bytes(record->arg);
    xact->neighbors_missing = missing < 0 ? 0 : missing < INT32_MAX ? (int32_t)missing : INT32_MAX;
}

static void
xact_retried(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    apply(process, xact, now, record->event);
    sqt_forward_ends(process, xact, now, SQT_OUTCOME_ERROR);
    sqt_tries_fail(process, xact);
}

static void
xact_written(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    apply(process, xact, now, record->event);
    if (record->arg && !record->aux && xact->first_byte == SQT_MISSING)
        xact->first_byte = now;
}

static void
xact_server_read(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact) {
        const struct sqt_late_read row = {process->origin, now, record->id, sqt_bytes(record->arg)};
        if (process->consumer->late_read && !xacts_is_earlier(process, record->id))
            process->consumer->late_read(process->consumer->context, &row);
        return;
    }
    xact->fetched = sqt_bytes((uint64_t)xact->fetched + (uint64_t)sqt_bytes(record->arg));
    xact->read_last = record->arg ? now : xact->read_last;
    xact->bytes_came |= record->arg != 0;
    const uint32_t open = xact->stages.open;
    if (open & REPLY) {
        apply(process, xact, now, record->event);
        return;
    }
    sqt_xact_charge(process, xact, now);
    xact->reply_charged = xact->stages.seen & REPLY ? xact->stages.ns[SQT_STAGE_SERVER_REPLY] : -1;
    xact->reply_opened = now;
    xact->reply_closed = open & sqt_events[record->event].closes & ~HELD;
    apply(process, xact, now, record->event);
}

/* An interim response with nothing behind it: the final one has not begun, so what was charged to server_reply since
 * it opened goes back to what was open before. */
static void
xact_server_1xx(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact || record->arg || !(xact->stages.open & REPLY) || xact->reply_charged == SQT_MISSING)
        return;
    struct sqt_spans *const s = &xact->stages;
    sqt_xact_charge(process, xact, now);
    const int never = xact->reply_charged < 0;
    const int64_t before = never ? 0 : xact->reply_charged;
    const int64_t back = s->ns[SQT_STAGE_SERVER_REPLY] - before;
    s->ns[SQT_STAGE_SERVER_REPLY] = before;
    sqt_spans_close(s, REPLY);
    if (never)
        s->seen &= ~REPLY;
    sqt_spans_open(s, xact->reply_closed); /* the request was not sent in full yet */
    const uint32_t below = s->open & ~(REPLY | (REPLY - 1));
    const unsigned instead = below ? (unsigned)__builtin_ctz(below) : SQT_UNACCOUNTED;
    s->ns[instead] += back;
    if (process->consumer->recharge && back)
        process->consumer->recharge(process->consumer->context, &(struct sqt_charge){.xact = xact,
                                                                                     .stage = instead,
                                                                                     .from = xact->reply_opened,
                                                                                     .until = now,
                                                                                     .was = SQT_STAGE_SERVER_REPLY});
    xact->reply_charged = SQT_MISSING;
}

static void
xacts_drop_parts(struct sqt_process_state *process, struct sqt_xact *xact)
{
    if (xact->held_in)
        sqt_pool_put(&process->held_pool, xact->held_in);
    if (xact->context)
        sqt_pool_put(&process->context_pool, xact->context);
    if (xact->notes)
        sqt_pool_put(&process->notes_pool, xact->notes);
    xact->held_in = NULL;
    xact->context = NULL;
    xact->notes = NULL;
}

static void
xacts_hand_out(struct sqt_process_state *process, struct sqt_xact *xact)
{
    const struct sqt_model_room *const room = process->room;
    xact->logged = NULL;
    if (room->logged && !(xact->id & SQT_UNNAMED))
        xact->logged = room->logged(room->log, xact->origin, xact->id, xact->end);
    if (process->consumer->request)
        process->consumer->request(process->consumer->context, xact);
}

static void
xacts_close(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, enum sqt_outcome outcome)
{
    sqt_xact_charge(process, xact, now);
    sqt_forward_ends(process, xact, now, outcome);
    sqt_follow_leave(process, xact, now);
    sqt_wait_cut_off(process, xact, now);
    xact->end = now;
    xact->outcome = sqt_outcome_of(process, xact->epoch, xact->begin, outcome);
    xacts_hand_out(process, xact);
    sqt_follow_drop(process, xact);
    xacts_drop_parts(process, xact);
    xacts_leave(process, xact);
    sqt_client_remove(xact);
    sqt_pool_put(&process->xacts.pool, xact);
}

/* It has no line in access.log, and no row. */
static void
xact_unlogged(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = xacts_find(process, record->id);
    if (!xact)
        return;
    sqt_follow_leave(process, xact, now);
    if (process->consumer->unlogged)
        process->consumer->unlogged(process->consumer->context, xact);
    sqt_follow_drop(process, xact);
    xacts_drop_parts(process, xact);
    xacts_leave(process, xact);
    sqt_client_remove(xact);
    sqt_pool_put(&process->xacts.pool, xact);
}

void
sqt_xact_give_up(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    process->given_up[process->given_up_next++ % SQT_GIVEN_UP] = xact->id;
    xacts_close(process, xact, now, SQT_OUTCOME_LOST);
}

static int
was_given_up(const struct sqt_process_state *process, uint64_t id)
{
    for (unsigned i = 0; i < SQT_GIVEN_UP; ++i)
        if (process->given_up[i] == id)
            return 1;
    return 0;
}

/* Takes what the end itself says, which is known even when nothing else is. */
static enum sqt_outcome
take_end(struct sqt_xact *xact, const struct sqt_record *record, unsigned more)
{
    xact->tag = (uint32_t)record->arg;
    xact->status = record->aux;
    for (unsigned i = 1; i <= more; ++i) {
        const struct sqt_record *const part = &record[i];
        if (part->event == SQT_EV_PART_XACT_SIZES) {
            xact->size = part->id == UINT64_MAX ? SQT_MISSING : sqt_bytes(part->id);
            xact->sent = sqt_bytes(part->arg);
            xact->tries = part->aux;
        } else if (part->event == SQT_EV_PART_XACT_FLAGS) {
            if (part->id)
                xact->object = part->id;
            if (!xact->conn)
                xact->conn = part->arg;
            xact->flags |= part->aux & ~(SQT_XACT_MISS_MASK << SQT_XACT_MISS_SHIFT);
            xact->miss = part->aux >> SQT_XACT_MISS_SHIFT & SQT_XACT_MISS_MASK;
        }
    }
    return xact->flags & SQT_XACT_TIMEDOUT         ? SQT_OUTCOME_TIMEOUT
           : xact->flags & SQT_XACT_ABORTED        ? SQT_OUTCOME_ABORTED
           : xact->cut_off != SQT_OUTCOME_COMPLETE ? xact->cut_off
                                                   : xact->handshake;
}

static void
xact_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_xact *xact = xacts_find(process, record->id);
    if (!xact) {
        /* Its begin is missing: all that is known is its end. */
        if (was_given_up(process, record->id) || xacts_is_earlier(process, record->id))
            return;
        xact = xacts_make(process, sqt_pool_get(&process->xacts.pool), record->id, SQT_MISSING);
        take_end(xact, record, more);
        xact->end = now;
        xact->outcome = SQT_OUTCOME_LOST;
        xacts_hand_out(process, xact);
        sqt_pool_put(&process->xacts.pool, xact);
        return;
    }
    xacts_close(process, xact, now, take_end(xact, record, more));
}

static void
xacts_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    if (outcome == SQT_OUTCOME_LOST)
        sqt_xact_give_up(process, thing, process->now);
    else
        xacts_close(process, thing, process->now, outcome);
}

const struct sqt_thing_kind sqt_thing_xacts = {
    .words = "transactions",
    .size = sizeof(struct sqt_xact),
    .begin = offsetof(struct sqt_xact, begin),
    .epoch = offsetof(struct sqt_xact, epoch),
    .cut_off = xacts_cut_off,
    .charges = (const struct sqt_subscription[]){{SQT_EV_LOOKUP_END, xact_lookup},
                                                 {SQT_EV_COLLAPSED, xact_collapsed},
                                                 {SQT_EV_REPLY_READY, xact_ready},
                                                 {SQT_EV_REPLY_WRITTEN, xact_written},
                                                 {SQT_EV_SERVER_READ, xact_server_read},
                                                 {SQT_EV_RETRY, xact_retried},
                                                 {SQT_EV_SERVER_HELD, xact_held},
                                                 {0}},
    .events = (const struct sqt_subscription[]){{SQT_EV_XACT_BEGIN, xact_begin},
                                                {SQT_EV_XACT_NAMED, xact_named},
                                                {SQT_EV_TRACE_CONTEXT, xact_context},
                                                {SQT_EV_NOTE, xact_note},
                                                {SQT_EV_DENIED, xact_denied},
                                                {SQT_EV_RANGE, xact_asks_range},
                                                {SQT_EV_NOT_KEPT, xact_not_kept},
                                                {SQT_EV_XACT_END, xact_end},
                                                {SQT_EV_XACT_UNLOGGED, xact_unlogged},
                                                {SQT_EV_SERVER_1XX, xact_server_1xx},
                                                {SQT_EV_NEIGHBORS_ASKED, xact_neighbors_asked},
                                                {SQT_EV_NEIGHBOR_ANSWER, xact_neighbor},
                                                {SQT_EV_NEIGHBORS_DONE, xact_neighbors_done},
                                                {SQT_EV_TUNNEL_END, xact_tunnelled},
                                                {SQT_EV_SWAP_REFUSED, xact_not_taken},
                                                {0}}};
