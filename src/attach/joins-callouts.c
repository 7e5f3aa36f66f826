/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-callouts.c - others who are asked about a request or a reply: helpers of access checks, redirectors, store-id helpers,
 * adaptation services.
 */
#include "joins-rule.h"

/* A transaction waits for one helper of its access checks at a time.  What the helper says is not seen.  A check that is over
 * may still be known, and its address be that of another one. */
static void
joins_check_asks(struct sqt_joins_call *call)
{
    if (!(call->xact->open & SQT_JOINS_IN_ACCESS))
        return;
    sqt_joins_open(call, SQT_JOINS_IN_HELPER, SQT_EV_HELPER_BEGIN, call->xact->number, 0);
}

static void
joins_check_goes_on(struct sqt_joins_call *call)
{
    sqt_joins_close(call, SQT_JOINS_IN_HELPER, SQT_EV_HELPER_END, call->xact->number, SQT_WAIT_OK);
}

const struct sqt_joins_rule sqt_joins_callout_rules[] = {
    /* The call-outs begin with http_access, so what waits then is a new check, also where an older one had its address.  A check
     * may also wait for an address, and then asks no helper. */
    {CALL(ACL_WAITS), AFTER(CALLOUTS), OWNS(CHECK, 0)},
    {CALL(ACL_WAITS), OF(CHECK, 0)},
    {CALL(ACL_GOES_ON), OF(CHECK, 0), DOES(joins_check_goes_on)},
    {CALL(REDIRECT_ASK), OF(XACT, 0)},
    {CALL(STORE_ID_ASK), OF(XACT, 0)},
    {CALL(HELPER), AFTER(REDIRECT_ASK), OPENS(REDIRECT, REDIRECT_BEGIN, 0)}, /* it is asked, not only meant to be */
    {CALL(HELPER), AFTER(STORE_ID_ASK), OPENS(STORE_ID, REDIRECT_BEGIN, 1)},
    {CALL(HELPER), AFTER(ACL_WAITS), DOES(joins_check_asks)},
    {CALL(REDIRECT_ANSWER), OF(CALLOUTS, 0), CLOSES(REDIRECT, REDIRECT_END, 0)},
    {CALL(STORE_ID_ANSWER), OF(CALLOUTS, 0), CLOSES(STORE_ID, REDIRECT_END, 1)},
    {CALL(ADAPT_REQUEST), OF(XACT, 0), OPENS(REQMOD, ADAPT_BEGIN, 0)},
    {CALL(ADAPTED_REQUEST), OF(XACT, 0), CLOSES(REQMOD, ADAPT_END, 0)},
    {CALL(ADAPT_REPLY), OF(SERVER, 0), OPENS(RESPMOD, ADAPT_BEGIN, 1)},
    {CALL(ADAPTED_REPLY), OF(SERVER, 0), CLOSES(RESPMOD, ADAPT_END, 1)},
    {CALL(ROWS)},
};
