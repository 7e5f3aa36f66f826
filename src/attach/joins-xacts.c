/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-xacts.c - transactions: begin, access checks, look-up in the store, end.
 */
#include "joins-clients.h"
#include "joins-codes.h"
#include "joins-rule.h"

static void
joins_xact_begins(struct sqt_joins_call *call)
{
    struct sqt_joins *const joins = call->joins;
    /* One that was never logged, because access_log leaves it out, ends unseen. */
    sqt_joins_xact_drop(joins, sqt_joins_bound(joins, SQT_JOINS_XACT, call->event->values[0]));
    struct sqt_joins_xact *const xact = sqt_joins_xact_new(call);
    sqt_joins_own(call, SQT_JOINS_XACT, 0);
    xact->client = sqt_joins_client_begins(call, call->event->values[1]);
    sqt_joins_emit(call, SQT_EV_XACT_BEGIN, xact->client, 0);
}

/* The store is also asked for an entry's other variants, and whether a new entry replaces one. */
static void
joins_looks_up(struct sqt_joins_call *call)
{
    const struct sqt_joins_xact *const xact = call->xact;
    if (!(xact->open & SQT_JOINS_IN_LOOKUP) && !xact->forwarded && xact->ready < 0)
        sqt_joins_open(call, SQT_JOINS_IN_LOOKUP, SQT_EV_LOOKUP_BEGIN, 0, 0);
}

static void
joins_found(struct sqt_joins_call *call)
{
    call->xact->found = 1;
}

static void
joins_xact_ends(struct sqt_joins_call *call)
{
    struct sqt_joins *const joins = call->joins;
    const struct sqt_joins_xact *const xact = call->xact;
    const uint64_t id = SQT_UNNAMED | xact->number;
    const uint32_t internal = xact->ready == SQT_REPLY_MADE && !xact->forwarded && !(xact->flags & SQT_XACT_ERROR_PAGE)
                                  ? SQT_XACT_INTERNAL
                                  : 0;
    const struct sqt_record unit[] = {
        {.time = call->time, .id = id, .arg = xact->tag, .event = SQT_EV_XACT_END, .flags = 2},
        {.time = call->time,
         .id = UINT64_MAX,
         .arg = xact->sent,
         .aux = xact->tries,
         .event = SQT_EV_PART_XACT_SIZES,
         .flags = SQT_FLAG_PART},
        {.time = call->time,
         .arg = xact->client,
         .aux = xact->flags | internal,
         .event = SQT_EV_PART_XACT_FLAGS,
         .flags = SQT_FLAG_PART},
    };
    joins->emit(joins->context, unit, 3);
    sqt_joins_client_ends(joins->clients, xact->client);
    sqt_joins_xact_drop(joins, xact->number);
    ++joins->ended;
    call->xact = NULL;
}

static void
joins_log_request(struct sqt_joins_call *call)
{
    if (!call->joins->has[SQT_ATTACH_LOG])
        joins_xact_ends(call);
}

static void
joins_log(struct sqt_joins_call *call)
{
    sqt_joins_code_logged(call);
    joins_xact_ends(call);
}

const struct sqt_joins_rule sqt_joins_xact_rules[] = {
    {CALL(XACT), DOES(joins_xact_begins)},
    {CALL(REQUEST), OF(XACT, 0), OWNS(REQUEST, 1)},
    {CALL(NEW_REQUEST), OF(XACT, 0), OWNS(REQUEST, 1)},
    {CALL(CALLOUTS), OF(XACT, 1), OWNS(CALLOUTS, 0), OPENS(ACCESS, ACCESS_BEGIN, 0)},
    {CALL(PROCESS), OF(XACT, 0), CLOSES(ACCESS, ACCESS_END, 0)},
    {CALL(LOOKUP), OF(REQUEST, 0), DOES(joins_looks_up)},
    {CALL(FOUND), OF(REPLY, 0), CLOSES(LOOKUP, LOOKUP_END, 1), DOES(joins_found)},
    {CALL(LOG_REQUEST), OF(XACT, 0), DOES(joins_log_request)},
    {CALL(LOG), AFTER(LOG_REQUEST), DOES(joins_log)},
    {CALL(ROWS)},
};
