/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * budget.c - how much of a processor the probes may take, and when they must go.
 *
 * A bucket of processor time: it fills with the share that --most allows, and each call takes what a call costs.  While it is
 * empty, no probe is in.  It is small, so that the share is kept in any ten seconds, and not in the mean of an hour only.
 */
#include "attach.h"

#define BUDGET_MOST 100e6 /* ns of a processor: at 2 %, those of 5 s */

int
attach_budget_allows(struct attach_budget *b, uint64_t now, uint64_t calls)
{
    const double passed = (double)(now - b->looked);
    *(b->paused ? &b->off : &b->on) += now - b->looked;
    b->left += passed * b->most - (double)(calls - b->calls) * (double)b->call;
    if (b->left > BUDGET_MOST)
        b->left = BUDGET_MOST;
    b->looked = now;
    b->calls = calls;
    b->paused = b->left < (b->paused ? BUDGET_MOST * 0.99 : 0);
    return !b->paused;
}
