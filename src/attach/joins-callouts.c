/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * joins-callouts.c - others who are asked about a request or a reply: redirectors, store-id helpers, adaptation services.
 */
#include "joins-rule.h"

const struct sqt_joins_rule sqt_joins_callout_rules[] = {
    {CALL(REDIRECT_ASK), OF(XACT, 0)},
    {CALL(STORE_ID_ASK), OF(XACT, 0)},
    {CALL(HELPER), AFTER(REDIRECT_ASK), OPENS(REDIRECT, REDIRECT_BEGIN, 0)}, /* it is asked, not only meant to be */
    {CALL(HELPER), AFTER(STORE_ID_ASK), OPENS(STORE_ID, REDIRECT_BEGIN, 1)},
    {CALL(REDIRECT_ANSWER), OF(CALLOUTS, 0), CLOSES(REDIRECT, REDIRECT_END, 0)},
    {CALL(STORE_ID_ANSWER), OF(CALLOUTS, 0), CLOSES(STORE_ID, REDIRECT_END, 1)},
    {CALL(ADAPT_REQUEST), OF(XACT, 0), OPENS(REQMOD, ADAPT_BEGIN, 0)},
    {CALL(ADAPTED_REQUEST), OF(XACT, 0), CLOSES(REQMOD, ADAPT_END, 0)},
    {CALL(ADAPT_REPLY), OF(SERVER, 0), OPENS(RESPMOD, ADAPT_BEGIN, 1)},
    {CALL(ADAPTED_REPLY), OF(SERVER, 0), CLOSES(RESPMOD, ADAPT_END, 1)},
    {CALL(ROWS)},
};
