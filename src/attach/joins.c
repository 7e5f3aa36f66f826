/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins.c - see joins.h.
 */
#include "joins.h"

#include <stdlib.h>

#include "joins-clients.h"
#include "joins-rule.h"
#include "joins-servers.h"
#include "joins-swaps.h"

static const struct sqt_joins_rule *const joins_things[] = {
    sqt_joins_client_rules, sqt_joins_xact_rules,   sqt_joins_callout_rules, sqt_joins_reply_rules,
    sqt_joins_code_rules,   sqt_joins_server_rules, sqt_joins_tunnel_rules,  sqt_joins_swap_rules,
};

void
sqt_joins_begin(struct sqt_joins *joins)
{
    for (size_t i = 0; i < sizeof(joins_things) / sizeof(*joins_things); ++i)
        for (const struct sqt_joins_rule *rule = joins_things[i]; rule->row != SQT_ATTACH_ROWS; ++rule)
            if (!joins->rules[rule->row])
                joins->rules[rule->row] = rule;
    joins->clients = sqt_joins_clients_new();
    joins->servers = sqt_joins_servers_new();
    joins->swaps = sqt_joins_swaps_new();
    joins->before = SQT_ATTACH_ROWS; /* row 0 is a function, too */
}

/* Finds the call's transaction. */
static int
joins_applies(const struct sqt_joins_rule *rule, struct sqt_joins_call *call)
{
    if (rule->of)
        return sqt_joins_of(call, rule->of, rule->of_value) != NULL;
    return !rule->after || sqt_joins_after(call, rule->after);
}

static void
joins_apply(const struct sqt_joins_rule *rule, struct sqt_joins_call *call)
{
    if (rule->owns)
        sqt_joins_own(call, rule->owns, rule->owns_value);
    if (rule->opens)
        sqt_joins_open(call, rule->opens, rule->event, 0, rule->aux);
    else if (rule->closes)
        sqt_joins_close(call, rule->closes, rule->event, 0, rule->aux);
    else if (rule->event)
        sqt_joins_emit(call, rule->event, 0, rule->aux);
    if (rule->handle)
        rule->handle(call);
    if (rule->ends)
        sqt_joins_unbind(call->joins, rule->of, call->event->values[rule->of_value]);
}

void
sqt_joins_take(struct sqt_joins *joins, const struct sqt_attach_event *event)
{
    struct sqt_joins_call call = {joins, event, event->time, NULL};
    if (event->row >= SQT_ATTACH_ROWS)
        return;
    sqt_joins_servers_next(joins, event);
    const struct sqt_joins_rule *rule = joins->rules[event->row];
    while (rule->row == event->row && !joins_applies(rule, &call))
        ++rule;
    if (rule->row == event->row)
        joins_apply(rule, &call);
    if (event->row == SQT_ATTACH_TAG) /* it happens between others */
        return;
    joins->tag_unclaimed = 0;
    joins->before = event->row;
    joins->before_time = event->time;
    joins->before_xact = call.xact ? call.xact->number : 0;
}

void
sqt_joins_forget(struct sqt_joins *joins)
{
    sqt_joins_xacts_forget(joins);
    sqt_joins_clients_forget(joins->clients);
    sqt_joins_servers_forget(joins->servers);
    sqt_joins_swaps_forget(joins->swaps);
}

size_t
sqt_joins_bytes(const struct sqt_joins *joins)
{
    return sqt_joins_xacts_bytes(joins) + sqt_joins_clients_bytes(joins->clients) + sqt_joins_swaps_bytes(joins->swaps);
}

void
sqt_joins_free(struct sqt_joins *joins)
{
    sqt_joins_forget(joins);
    free(joins->clients);
    free(joins->servers);
    free(joins->swaps);
}
