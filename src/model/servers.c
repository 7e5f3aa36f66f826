/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * servers.c - attempts to get a server connection.
 */
#include "model-internal.h"

#define PEER_KIND_SPARE (UINT32_C(1) << 31)

static struct sqt_attempt *
add(struct sqt_life *life, int64_t now, const struct sqt_record *record)
{
    struct sqt_attempt *const attempt = sqt_pool_get(&life->attempt_pool);
    attempt->origin = life->origin;
    attempt->conn = record->arg;
    attempt->xact = record->id;
    attempt->peer_kind = record->aux & ~PEER_KIND_SPARE;
    attempt->spare = (record->aux & PEER_KIND_SPARE) != 0;
    attempt->begin = now;
    attempt->epoch = life->epoch;
    return attempt;
}

void
sqt_attempt_end(struct sqt_life *life, struct sqt_attempt *attempt, int64_t now, enum sqt_outcome outcome)
{
    attempt->end = now;
    attempt->outcome = attempt->epoch != life->epoch ? SQT_OUTCOME_LOST : outcome;
    if (life->consumer->connection)
        life->consumer->connection(life->consumer->context, attempt);
    if (sqt_idmap_get(&life->attempts, attempt->conn) == attempt)
        sqt_idmap_take(&life->attempts, attempt->conn);
    sqt_pool_put(&life->attempt_pool, attempt);
}

void
sqt_connect_begin(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    sqt_xact_stages(life, now, record, more);
    struct sqt_attempt *const old = sqt_idmap_get(&life->attempts, record->arg);
    if (old)
        sqt_attempt_end(life, old, now, SQT_OUTCOME_ABORTED);
    sqt_idmap_put(&life->attempts, record->arg, add(life, now, record));
}

void
sqt_connect_end(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    static const enum sqt_outcome outcomes[] = {
        [SQT_CONNECT_OK] = SQT_OUTCOME_COMPLETE,
        [SQT_CONNECT_FAILED] = SQT_OUTCOME_ERROR,
        [SQT_CONNECT_TIMEOUT] = SQT_OUTCOME_TIMEOUT,
        [SQT_CONNECT_CANCELLED] = SQT_OUTCOME_ABORTED,
    };
    sqt_xact_stages(life, now, record, more);
    struct sqt_xact *const xact = sqt_idmap_get(&life->xacts, record->id);
    if (xact && record->aux == SQT_CONNECT_OK)
        xact->reused = 0;
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, record->arg);
    if (attempt)
        sqt_attempt_end(life, attempt, now,
                        record->aux < sizeof(outcomes) / sizeof(*outcomes) ? outcomes[record->aux]
                                                                           : SQT_OUTCOME_ERROR);
}

void
sqt_connect_reused(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_xact *const xact = sqt_idmap_get(&life->xacts, record->id);
    if (xact)
        xact->reused = 1;
    struct sqt_attempt *const attempt = add(life, now, record);
    attempt->reused = 1;
    sqt_attempt_end(life, attempt, now, SQT_OUTCOME_COMPLETE);
}

/* An attempt that is still open when its connection is closed was given up without a word. */
void
sqt_server_close(struct sqt_life *life, int64_t now, const struct sqt_record *record, unsigned more)
{
    (void)more;
    struct sqt_attempt *const attempt = sqt_idmap_get(&life->attempts, record->id);
    if (attempt)
        sqt_attempt_end(life, attempt, now, SQT_OUTCOME_ABORTED);
}
