/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * clients.c - client connections: which read brought the first byte of a request.
 *
 * The bytes of a connection are counted.  When a request is parsed, its header ends where the bytes left in the
 * buffer begin:
 *
 *     reads       |----1----|---2---|------3------|
 *     stream      ....GET / HTTP/1.1..............
 *                     ^first byte     ^header ends ^bytes read so far
 *
 * And what was before a connection: how long it waited to be accepted, and accepts that Squid put off.
 */
#include "base/memory.h"
#include "model-internal.h"

void
sqt_client_drop(struct sqt_process_state *process, struct sqt_client *client)
{
    while (client->xacts)
        sqt_client_remove(client->xacts);
    sqt_idmap_take(&process->clients.ids, client->id);
    sqt_pool_put(&process->clients.pool, client);
}

static struct sqt_client *
clients_add(struct sqt_process_state *process, uint64_t id)
{
    struct sqt_client *const client = sqt_thing_new(process, &process->clients);
    client->id = id;
    client->epoch = client->swept = process->epoch;
    client->touched = process->now;
    client->accepted = client->parsed = client->waiting = client->tls_begin = client->tls = SQT_MISSING;
    client->read_wait = client->accept_wait = client->sending = client->first_read = SQT_MISSING;
    client->listener = UINT32_MAX;
    sqt_idmap_put(&process->clients.ids, id, client);
    return client;
}

/* What the accept of an old connection says.  It counts for a first request only. */
static void
clients_ask(struct sqt_process_state *process, struct sqt_client *client)
{
    struct sqt_accepted a;
    client->unasked = 0;
    if (!process->room->accepted(process->room->accepted_context, process->origin, client->id, &a))
        return;
    client->listener = a.listener;
    if (a.used || client->parsed != SQT_MISSING)
        return;
    client->unsure = a.unsure;
    if (a.unsure)
        return;
    client->accepted = client->touched = a.at;
    client->accept_wait = a.waited >= 0 ? a.waited : SQT_MISSING;
    if (a.tls >= 0 && client->tls_begin == SQT_MISSING && client->tls == SQT_MISSING) {
        client->tls = a.tls;
        client->handshake = sqt_connect_outcome(a.tls_end);
    }
}

static int
clients_is_old(const struct sqt_process_state *process, uint64_t id)
{
    return process->room->accepted && process->origin->late && id < process->accepted_least;
}

/* The connection, also one that was accepted before the trace began.  After a loss its bytes cannot be counted on. */
static struct sqt_client *
clients_find(struct sqt_process_state *process, uint64_t id)
{
    struct sqt_client *client = sqt_idmap_get(&process->clients.ids, id);
    if (!client) {
        client = clients_add(process, id);
        client->unasked = clients_is_old(process, id);
    }
    if (client->unasked && process->now >= process->room->accepted_since &&
        process->now < process->room->accepted_until)
        clients_ask(process, client);
    if (client->epoch != process->epoch) {
        client->epoch = process->epoch;
        sqt_pool_renew(&process->clients.pool, client);
        client->accepted = client->parsed = client->waiting = client->tls_begin = client->tls = SQT_MISSING;
        client->read_wait = client->accept_wait = client->sending = client->first_read = SQT_MISSING;
        client->read_count = 0;
        client->bytes = 0;
    }
    /* Nor can be said how long ago anything was, once a clock stepped. */
    if (sqt_stepped_since(process, client->touched)) {
        client->accepted = client->parsed = client->waiting = client->tls_begin = client->tls = SQT_MISSING;
        client->read_wait = client->sending = client->first_read = SQT_MISSING;
        client->read_count = 0;
    }
    client->touched = process->now;
    return client;
}

/* A loss hid the end of a transaction: the next request of its connection, or the connection's end, is past it. */
static void
give_up_lost(struct sqt_process_state *process, struct sqt_client *client, int64_t now)
{
    if (client->swept == process->epoch)
        return;
    client->swept = process->epoch;
    for (struct sqt_xact *x = client->xacts, *next; x; x = next) {
        next = x->client_next;
        if (x->epoch != process->epoch)
            sqt_xact_give_up(process, x, now);
    }
}

/* ---- before a connection ---- */

/* Whether Squid put off accepts of that port while the connection waited. */
static int
was_put_off(const struct sqt_process_state *process, const struct sqt_accept_row *row)
{
    const struct sqt_put_off *const p =
        process->put_off && row->listener < SQT_MODEL_LISTENERS ? &process->put_off[row->listener] : NULL;
    if (!p || row->waited == SQT_MISSING)
        return 0;
    return p->open || (p->ended != SQT_MISSING && p->ended >= row->at - row->waited);
}

/* What PART_LISTENER says; all is unknown without one. */
static struct sqt_accept_row
clients_accepted(const struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_accept_row row = {.origin = process->origin, .at = now, .listener = UINT32_MAX, .waited = SQT_MISSING};
    if (more && record[1].event == SQT_EV_PART_LISTENER) {
        row.listener = record[1].aux;
        if (record[1].arg <= UINT32_MAX)
            row.waited = (int64_t)record[1].arg * 1000000;
        row.put_off = was_put_off(process, &row);
    }
    return row;
}

static void
tell_put_off(struct sqt_process_state *process, uint64_t listener, int64_t now)
{
    struct sqt_put_off *const p = &process->put_off[listener];
    const struct sqt_put_off_row row = {
        .origin = process->origin,
        .begin = p->begin,
        .end = now,
        .known = p->epoch == process->epoch && !sqt_stepped_since(process, p->begin),
        .listener = (uint32_t)listener,
        .descriptors = p->descriptors,
        .limit = p->limit,
    };
    p->open = 0;
    p->ended = now;
    if (process->consumer->put_off)
        process->consumer->put_off(process->consumer->context, &row);
}

static void
accept_put_off(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    if (record->id >= SQT_MODEL_LISTENERS)
        return;
    if (!process->put_off)
        process->put_off = sqt_zeroed(SQT_MODEL_LISTENERS, sizeof(*process->put_off));
    if (process->put_off[record->id].open)
        tell_put_off(process, record->id, now);
    struct sqt_put_off *const p = &process->put_off[record->id];
    const int64_t ended = p->begin ? p->ended : SQT_MISSING;
    *p = (struct sqt_put_off){.open = 1,
                              .epoch = process->epoch,
                              .limit = record->aux,
                              .begin = now,
                              .ended = ended,
                              .descriptors = record->arg};
}

static void
accept_resumed(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    if (record->id < SQT_MODEL_LISTENERS && process->put_off && process->put_off[record->id].open)
        tell_put_off(process, record->id, now);
}

void
sqt_put_off_finish(struct sqt_process_state *process)
{
    for (unsigned i = 0; process->put_off && i < SQT_MODEL_LISTENERS; ++i)
        if (process->put_off[i].open)
            tell_put_off(process, i, process->now);
}

/* ---- connections ---- */

static void
client_accept(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    const struct sqt_accept_row row = clients_accepted(process, now, record, more);
    struct sqt_client *const old = sqt_idmap_get(&process->clients.ids, record->id);
    if (old) {
        give_up_lost(process, old, now);
        sqt_client_drop(process, old);
    }
    struct sqt_client *const client = clients_add(process, record->id);
    client->accepted = now;
    client->accept_wait = row.waited;
    client->put_off = row.put_off;
    client->listener = row.listener;
    if (record->id < process->accepted_least)
        process->accepted_least = record->id;
    if (process->consumer->accept)
        process->consumer->accept(process->consumer->context, &row);
}

static void
client_close(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    const struct sqt_client_closed_row row = {.origin = process->origin, .at = now};
    (void)more;
    struct sqt_client *const client = sqt_idmap_get(&process->clients.ids, record->id);
    if (process->consumer->client_closed)
        process->consumer->client_closed(process->consumer->context, &row);
    if (!client)
        return;
    give_up_lost(process, client, now);
    sqt_client_drop(process, client);
}

static void
client_tls_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    clients_find(process, record->id)->tls_begin = now;
}

/* The handshake is that of the transaction under way, which is a CONNECT that is bumped, or else of the next one. */
static void
client_tls_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_client *const client = clients_find(process, record->id);
    if (client->tls_begin == SQT_MISSING)
        return;
    const int64_t tls = now - client->tls_begin;
    const enum sqt_outcome outcome = sqt_connect_outcome(record->aux);
    client->tls_begin = SQT_MISSING;
    if (client->xacts) {
        client->xacts->client_tls = tls;
        client->xacts->handshake = outcome;
        /* Squid itself reads the hello of a client whose CONNECT it bumps. */
        client->xacts->handshake_mute = client->last_read <= now - tls && !client->more_came;
        const int64_t polled = sqt_loop_since_poll(process, now);
        /* Closed by Squid, and nothing was wrong with it: a handshake that fails is an error. */
        client->xacts->handshake_ended = outcome == SQT_OUTCOME_ABORTED && !client->xacts->handshake_mute &&
                                         polled != SQT_MISSING && client->last_read >= now - polled;
    } else {
        client->tls = tls;
        client->handshake = outcome;
    }
}

/* Nanoseconds of work in long passes so far, with all of the one under way. */
static int64_t
clients_held(const struct sqt_process_state *process, int64_t now)
{
    const int64_t here = sqt_loop_since_poll(process, now);
    return sqt_sum(process->loop.lasted, here == SQT_MISSING ? 0 : here);
}

static void
client_read(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    if (!record->arg)
        return;
    struct sqt_client *const client = clients_find(process, record->id);
    if (!record->aux)
        client->read_count = 0; /* all that came before was used up */
    if (client->read_count < SQT_CLIENT_READS) {
        client->reads[client->read_count].offset = client->bytes;
        client->reads[client->read_count].held = clients_held(process, now);
        client->reads[client->read_count].wait = sqt_loop_since_poll(process, now);
        client->reads[client->read_count++].time = now;
    } /* else: taken for a part of the read before it */
    client->last_read = now;
    client->last_held = clients_held(process, now);
    if (!client->xacts && client->first_read == SQT_MISSING) { /* else it may be a body */
        client->first_read = now;
        client->first_held = client->last_held;
        client->first_offset = client->bytes;
    }
    client->bytes += record->arg; /* may wrap around, as offsets then do */
}

/* The read that brought the byte at that offset: its number from 1 on; 0 if that was before the trace. */
static unsigned
clients_read_of(const struct sqt_client *client, uint64_t offset)
{
    unsigned i = 0;
    while (i < client->read_count && client->reads[i].offset <= offset)
        ++i;
    return i;
}

/* How long its client sent a header of so many bytes, the last of which just came.  What came before it is none of it: a
 * header of the PROXY protocol, or an empty line behind a body.  read: as clients_read_of(). */
static int64_t
clients_sending(const struct sqt_client *client, uint64_t header, unsigned read)
{
    const int whole = client->first_read != SQT_MISSING && client->bytes - client->first_offset == header;
    if (!whole && !read)
        return SQT_MISSING;
    const int64_t first = whole ? client->first_read : client->reads[read - 1].time;
    const int64_t held = client->last_held - (whole ? client->first_held : client->reads[read - 1].held);
    const int64_t sending = client->last_read - first - (held > 0 ? held : 0);
    return sending > 0 ? sending : 0;
}

static void
client_parsed(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_client *const client = clients_find(process, record->id);
    give_up_lost(process, client, now);
    const uint64_t header_and_left = record->arg + record->aux;
    const unsigned read =
        header_and_left <= client->bytes ? clients_read_of(client, client->bytes - header_and_left) : 0;
    int64_t since = SQT_MISSING;
    client->read_wait = read ? client->reads[read - 1].wait : SQT_MISSING;
    client->sending = record->aux ? SQT_MISSING : clients_sending(client, record->arg, read);
    client->first_read = SQT_MISSING;
    if (client->accepted != SQT_MISSING) {
        since = client->accepted;
    } else if (read) {
        since = client->reads[read - 1].time;
        if (client->parsed > since)
            since = client->parsed;
    }
    client->waiting = since == SQT_MISSING || client->unsure ? SQT_MISSING : now - since;
    client->accepted = SQT_MISSING;
    client->unsure = 0;
    client->parsed = now;
    client->more_came = record->aux > 0;
    /* Reads whose bytes are all used up are of no more use. */
    const uint64_t used = record->aux <= client->bytes ? client->bytes - record->aux : 0;
    unsigned first = 0;
    while (first + 1 < client->read_count && client->reads[first + 1].offset <= used)
        ++first;
    for (unsigned i = 0; first && i + first < client->read_count; ++i)
        client->reads[i] = client->reads[i + first];
    client->read_count -= first;
}

/* When the first bytes were read of a request that was not parsed; SQT_MISSING: it was, or there are none. */
static int64_t
clients_unparsed(const struct sqt_client *client)
{
    for (unsigned i = 0; client->waiting == SQT_MISSING && i < client->read_count; ++i)
        if (client->parsed == SQT_MISSING || client->reads[i].time > client->parsed)
            return client->reads[i].time;
    return SQT_MISSING;
}

void
sqt_client_add(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    if (!xact->conn)
        return;
    struct sqt_client *const client = clients_find(process, xact->conn);
    give_up_lost(process, client, now);
    xact->client_connect = client->waiting;
    client->waiting = SQT_MISSING;
    xact->read_wait = client->read_wait;
    client->read_wait = SQT_MISSING;
    xact->sending = client->sending;
    client->sending = SQT_MISSING;
    xact->client_tls = client->tls;
    xact->tls_before = client->tls != SQT_MISSING;
    xact->handshake = client->handshake;
    client->tls = SQT_MISSING;
    const int64_t unparsed = clients_unparsed(client);
    if (unparsed != SQT_MISSING) {
        xact->unparsed = now - unparsed;
        xact->sending = client->last_read - unparsed;
        const int64_t polled = sqt_loop_since_poll(process, now);
        xact->turned_away = polled != SQT_MISSING && client->last_read >= now - polled;
    }
    xact->accept_wait = client->accept_wait;
    client->accept_wait = SQT_MISSING;
    xact->put_off = client->put_off;
    xact->listener = client->listener;
    client->handshake = SQT_OUTCOME_COMPLETE;
    xact->client = client;
    xact->client_next = client->xacts;
    if (client->xacts)
        client->xacts->client_previous = xact;
    client->xacts = xact;
}

void
sqt_client_remove(struct sqt_xact *xact)
{
    if (!xact->client)
        return;
    if (xact->client_previous)
        xact->client_previous->client_next = xact->client_next;
    else
        xact->client->xacts = xact->client_next;
    if (xact->client_next)
        xact->client_next->client_previous = xact->client_previous;
    xact->client = NULL;
    xact->client_next = xact->client_previous = NULL;
}

static void
clients_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    (void)outcome;
    sqt_client_drop(process, thing);
}

const struct sqt_thing_kind sqt_thing_clients = {
    .words = "client connections",
    .size = sizeof(struct sqt_client),
    .cut_off = clients_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_CONN_ACCEPT, client_accept},
                                                {SQT_EV_CONN_CLOSE, client_close},
                                                {SQT_EV_ACCEPT_PUT_OFF, accept_put_off},
                                                {SQT_EV_ACCEPT_RESUMED, accept_resumed},
                                                {SQT_EV_CLIENT_TLS_BEGIN, client_tls_begin},
                                                {SQT_EV_CLIENT_TLS_END, client_tls_end},
                                                {SQT_EV_CLIENT_READ, client_read},
                                                {SQT_EV_REQUEST_PARSED, client_parsed},
                                                {0}}};
