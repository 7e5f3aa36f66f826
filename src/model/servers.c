/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * servers.c - attempts to get a server connection.
 *
 * An attempt that connected goes on until its TLS handshake is over, if one follows; whether one does shows in what
 * the connection is used for next.
 *
 *     CONNECT_BEGIN .. CONNECT_END                              DISPATCH, TUNNEL_BEGIN: without TLS
 *     CONNECT_BEGIN .. CONNECT_END  TLS_BEGIN .. TLS_END
 *     CONNECT_BEGIN .. CONNECT_END                              CONNECT_BEGIN: a peer is asked, the next attempt
 */
#include "model-internal.h"

#define PEER_KIND_SPARE (UINT32_C(1) << 31)

static void
attempts_end(struct sqt_process_state *process, struct sqt_attempt *attempt, int64_t now, enum sqt_outcome outcome)
{
    attempt->end = now;
    attempt->outcome = sqt_outcome_of(process, attempt->epoch, attempt->begin, outcome);
    if (process->consumer->connection)
        process->consumer->connection(process->consumer->context, attempt);
    sqt_thing_forget(&process->attempts, attempt->conn, attempt);
}

/* The version of IP, where the record says which server it is. */
static unsigned
servers_version(const struct sqt_record *record, unsigned more)
{
    const uint64_t version = more && record[1].event == SQT_EV_PART_SERVER ? record[1].id : 0;
    return version == 4 || version == 6 ? (unsigned)version : 0;
}

/* Which server it is; a CONNECT through a peer and an FTP data connection do not say. */
static uint32_t
servers_named(const struct sqt_record *record, unsigned more)
{
    return more && record[1].event == SQT_EV_PART_SERVER ? record[1].aux : UINT32_MAX;
}

static void
servers_set(struct sqt_xact *xact, uint32_t server)
{
    if (xact && server != UINT32_MAX)
        xact->server = server;
}

static struct sqt_attempt *
servers_add(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_attempt *const attempt = sqt_thing_new(process, &process->attempts);
    attempt->origin = process->origin;
    attempt->conn = record->arg;
    attempt->xact = record->id;
    attempt->peer_kind = record->aux & ~PEER_KIND_SPARE;
    attempt->server = servers_named(record, more);
    attempt->version = servers_version(record, more);
    attempt->spare = (record->aux & PEER_KIND_SPARE) != 0;
    attempt->begin = now;
    attempt->connected = attempt->tls = SQT_MISSING;
    attempt->epoch = process->epoch;
    return attempt;
}

/* No more will come of it. */
static void
servers_settle(struct sqt_process_state *process, uint64_t conn, int64_t now)
{
    struct sqt_attempt *const attempt = sqt_idmap_get(&process->attempts.ids, conn);
    if (attempt)
        attempts_end(process, attempt, now,
                     attempt->connected != SQT_MISSING && attempt->tls == SQT_MISSING ? SQT_OUTCOME_COMPLETE
                                                                                      : SQT_OUTCOME_ABORTED);
}

static void
connect_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    servers_settle(process, record->arg, now);
    if (!(record->aux & PEER_KIND_SPARE))
        servers_set(sqt_idmap_get(&process->xacts.ids, record->id), servers_named(record, more));
    sqt_idmap_put(&process->attempts.ids, record->arg, servers_add(process, now, record, more));
}

static void
connect_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_xact *const xact = sqt_idmap_get(&process->xacts.ids, record->id);
    if (xact && record->aux == SQT_CONNECT_OK)
        xact->reused = 0;
    struct sqt_attempt *const attempt = sqt_idmap_get(&process->attempts.ids, record->arg);
    if (!attempt)
        return;
    if (record->aux == SQT_CONNECT_OK) {
        servers_set(xact, attempt->server);
        attempt->connected = now;
        sqt_conn_opens(process, attempt, now);
        return;
    }
    if (more && record[1].event == SQT_EV_PART_CONNECT_ERROR) {
        attempt->error = record[1].aux;
        attempt->local_port = (unsigned)(record[1].id & UINT16_MAX);
    }
    attempts_end(process, attempt, now, sqt_connect_outcome(record->aux));
}

static void
tls_begin(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_attempt *const attempt = sqt_idmap_get(&process->attempts.ids, record->arg);
    if (attempt)
        attempt->tls = now;
}

static void
tls_end(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_attempt *const attempt = sqt_idmap_get(&process->attempts.ids, record->arg);
    if (attempt)
        attempts_end(process, attempt, now, sqt_connect_outcome(record->aux));
}

/* The connection is put to use. */
static void
server_used(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    servers_settle(process, record->arg, now);
}

static void
connect_reused(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_xact *const xact = sqt_idmap_get(&process->xacts.ids, record->id);
    if (xact)
        xact->reused = 1;
    servers_set(xact, servers_named(record, more));
    struct sqt_attempt *const attempt = servers_add(process, now, record, more);
    attempt->reused = 1;
    attempts_end(process, attempt, now, SQT_OUTCOME_COMPLETE);
}

/* An attempt that is still open when its connection is closed was given up without a word; one that connected was
 * not wanted any more. */
static void
server_close(struct sqt_process_state *process, int64_t now, const struct sqt_record *record, unsigned more)
{
    servers_settle(process, record->id, now);
    sqt_conn_closes(process, now, record, more);
}

static void
attempts_cut_off(struct sqt_process_state *process, void *thing, enum sqt_outcome outcome)
{
    attempts_end(process, thing, process->now, outcome);
}

const struct sqt_thing_kind sqt_thing_attempts = {
    .words = "connection attempts",
    .size = sizeof(struct sqt_attempt),
    .begin = offsetof(struct sqt_attempt, begin),
    .epoch = offsetof(struct sqt_attempt, epoch),
    .cut_off = attempts_cut_off,
    .events = (const struct sqt_subscription[]){{SQT_EV_CONNECT_BEGIN, connect_begin},
                                                {SQT_EV_CONNECT_END, connect_end},
                                                {SQT_EV_CONNECT_REUSED, connect_reused},
                                                {SQT_EV_TLS_BEGIN, tls_begin},
                                                {SQT_EV_TLS_END, tls_end},
                                                {SQT_EV_DISPATCH, server_used},
                                                {SQT_EV_TUNNEL_BEGIN, server_used},
                                                {SQT_EV_SERVER_CLOSE, server_close},
                                                {0}}};
