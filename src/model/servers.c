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

enum sqt_outcome
sqt_connect_outcome(uint32_t aux)
{
    static const enum sqt_outcome outcomes[] = {
        [SQT_CONNECT_OK] = SQT_OUTCOME_COMPLETE,
        [SQT_CONNECT_FAILED] = SQT_OUTCOME_ERROR,
        [SQT_CONNECT_TIMEOUT] = SQT_OUTCOME_TIMEOUT,
        [SQT_CONNECT_CANCELLED] = SQT_OUTCOME_ABORTED,
    };
    return aux < sizeof(outcomes) / sizeof(*outcomes) ? outcomes[aux] : SQT_OUTCOME_ERROR;
}

void
sqt_attempt_end(struct sqt_life *life, struct sqt_attempt *attempt, int64_t now, enum sqt_outcome outcome)
{
    attempt->end = now;
    attempt->outcome = sqt_outcome_of(life, attempt->epoch, attempt->begin, outcome);
    if (life->consumer->connection)
        life->consumer->connection(life->consumer->context, attempt);
    if (sqt_idmap_get(&life->attempts, attempt->conn) == attempt)
        sqt_idmap_take(&life->attempts, attempt->conn);
    sqt_pool_put(&life->attempt_pool, attempt);
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
servers_add(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    while (sqt_pool_full(&life->attempt_pool) || sqt_idmap_full(&life->attempts)) {
        sqt_bound_met(life, SQT_OPEN_ATTEMPT, life->attempt_pool.used);
        sqt_attempt_end(life, life->attempt_pool.first, now, SQT_OUTCOME_LOST);
    }
    struct sqt_attempt *const attempt = sqt_pool_get(&life->attempt_pool);
    attempt->origin = life->origin;
    attempt->conn = record->arg;
    attempt->xact = record->id;
    attempt->peer_kind = record->aux & ~PEER_KIND_SPARE;
    attempt->server = servers_named(record, more);
    attempt->spare = (record->aux & PEER_KIND_SPARE) != 0;
    attempt->begin = now;
    attempt->connected = attempt->tls = SQT_MISSING;
    attempt->epoch = life->epoch;
    return attempt;
}

/* No more will come of it. */
static void
servers_settle(struct sqt_life *life, uint64_t conn, int64_t now)
{
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, conn);
    if (attempt)
        sqt_attempt_end(life, attempt, now,
                        attempt->connected != SQT_MISSING && attempt->tls == SQT_MISSING ? SQT_OUTCOME_COMPLETE
                                                                                         : SQT_OUTCOME_ABORTED);
}

void
sqt_connect_begin(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    servers_settle(life, record->arg, now);
    if (!(record->aux & PEER_KIND_SPARE))
        servers_set(sqt_idmap_get(&life->xacts, record->id), servers_named(record, more));
    sqt_idmap_put(&life->attempts, record->arg, servers_add(life, now, record, more));
}

void
sqt_connect_end(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    struct sqt_xact *const xact = sqt_idmap_get(&life->xacts, record->id);
    if (xact && record->aux == SQT_CONNECT_OK)
        xact->reused = 0;
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, record->arg);
    if (!attempt)
        return;
    if (record->aux == SQT_CONNECT_OK)
        servers_set(xact, attempt->server);
    if (record->aux == SQT_CONNECT_OK)
        attempt->connected = now;
    else
        sqt_attempt_end(life, attempt, now, sqt_connect_outcome(record->aux));
}

void
sqt_tls_begin(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, record->arg);
    if (attempt)
        attempt->tls = now;
}

void
sqt_tls_end(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, record->arg);
    if (attempt)
        sqt_attempt_end(life, attempt, now, sqt_connect_outcome(record->aux));
}

/* The connection is put to use. */
void
sqt_server_used(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    servers_settle(life, record->arg, now);
}

void
sqt_connect_reused(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    struct sqt_xact *const xact = sqt_idmap_get(&life->xacts, record->id);
    if (xact)
        xact->reused = 1;
    servers_set(xact, servers_named(record, more));
    struct sqt_attempt *const attempt = servers_add(life, now, record, more);
    attempt->reused = 1;
    sqt_attempt_end(life, attempt, now, SQT_OUTCOME_COMPLETE);
}

/* An attempt that is still open when its connection is closed was given up without a word; one that connected was
 * not wanted any more. */
void
sqt_server_close(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    servers_settle(life, record->id, now);
}
