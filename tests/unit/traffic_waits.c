/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * traffic_waits.c - whom transactions of make_traffic wait for besides servers: helpers, name servers, ICAP services.
 */
#include "traffic-internal.h"

#define ADD(event, arg, aux) traffic_add(slot, SQT_EV_##event, xact, arg, aux)

/* ---- helpers ---- */

static void
ask_helper(struct make_traffic *t, struct make_traffic_slot *slot, uint64_t xact, uint32_t helper)
{
    const uint64_t use = ++t->use;
    ADD(HELPER_BEGIN, use, helper);
    traffic_wait(slot);
    ADD(HELPER_END, use, SQT_WAIT_OK);
    traffic_part(slot, SQT_EV_PART_HELPER, 0, 0, 0);
}

void
traffic_helpers(struct make_traffic *t, struct make_traffic_slot *slot, uint64_t xact, unsigned column)
{
    traffic_owe(t, column, SQT_EV_HELPER_BEGIN);
    if (traffic_times(t, column, SQT_EV_REDIRECT_BEGIN)) {
        ADD(REDIRECT_BEGIN, 0, 0);
        ask_helper(t, slot, xact, TRAFFIC_REWRITER);
        ADD(REDIRECT_END, 0, 0);
        t->owed[SQT_EV_HELPER_BEGIN][column] -= 1;
    } else if (traffic_take(t, column, SQT_EV_HELPER_BEGIN, 1))
        ask_helper(t, slot, xact, TRAFFIC_QUOTA);
}

/* ---- name servers ---- */

void
traffic_query(struct make_traffic_slot *slot, uint64_t xact)
{
    ADD(QUERY_END, 0, TRAFFIC_NAME_SERVER);
    traffic_part(slot, SQT_EV_PART_QUERY, 0, 0, SQT_WAIT_OK);
}

void
traffic_look_up_name(struct make_traffic *t, struct make_traffic_slot *slot, uint64_t xact, unsigned column, int may)
{
    traffic_owe(t, column, SQT_EV_QUERY_END);
    traffic_owe(t, column, SQT_EV_DNS_BEGIN);
    if (!may || !traffic_take(t, column, SQT_EV_DNS_BEGIN, 1))
        return;
    ADD(DNS_BEGIN, ++t->lookup, 0);
    const uint64_t lookup = t->lookup;
    traffic_wait(slot);
    while (traffic_take(t, column, SQT_EV_QUERY_END, 0.5))
        traffic_query(slot, xact);
    ADD(DNS_END, lookup, 0);
}

/* ---- adaptation services ---- */

int
traffic_adapt_begin(struct make_traffic *t, struct make_traffic_slot *slot, uint64_t xact, unsigned column)
{
    traffic_owe(t, column, SQT_EV_ADAPT_ADMITTED);
    if (!traffic_times(t, column, SQT_EV_ADAPT_BEGIN))
        return 0;
    ADD(ADAPT_BEGIN, 0, 1);
    return 1;
}

void
traffic_adapt(struct make_traffic *t, struct make_traffic_slot *slot, uint64_t xact, unsigned column)
{
    ADD(ADAPT_SERVICE, TRAFFIC_ANTIVIRUS, 1);
    if (traffic_take(t, column, SQT_EV_ADAPT_ADMITTED, 1)) {
        traffic_wait(slot);
        ADD(ADAPT_ADMITTED, 0, 0);
    }
    traffic_wait(slot);
    ADD(ADAPT_END, 0, 1);
}
