/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * follows.c - collapsed forwarding: what the leader's time goes to while its followers wait.
 *
 *     leader     dns  connect  server_wait        server_reply
 *     follower             |--- collapsed_wait ---|
 *     counted              connect, server_wait
 *
 * A follower keeps what was charged to the leader when the wait began, and takes the difference when it ends.  A leader
 * that ends before knows its followers, and gives them the difference then.
 */
#include <string.h>

#include "model/model-internal.h"

#define WAIT (1u << SQT_STAGE_COLLAPSED_WAIT)
#define AT_ONCE 10000 /* ns */

/* The transaction of that kid, which may be another process; NULL if it is not open. */
static struct sqt_xact *
follows_find(struct sqt_process_state *process, uint64_t id, uint32_t kid, struct sqt_process_state **of)
{
    *of = kid == process->origin->identity.kid ? process : process->room->kids[kid % SQT_MODEL_KIDS];
    return id && *of && (*of)->origin->identity.kid == kid ? sqt_idmap_get(&(*of)->xacts.ids, id) : NULL;
}

static void
follows_charge_leader(struct sqt_follow *follow, int64_t now)
{
    if (now > follow->leader->stages.last)
        sqt_xact_charge(follow->process, follow->leader, now);
}

/* Counts what has been charged to the leader since this was called last. */
static void
follows_count(struct sqt_follow *follow, int64_t now)
{
    if (follow->leader) {
        follows_charge_leader(follow, now);
        for (unsigned i = 0; i <= SQT_UNACCOUNTED; ++i) {
            follow->ns[i] += follow->leader->stages.ns[i] - follow->charged[i];
            follow->charged[i] = follow->leader->stages.ns[i];
        }
        if (follow->leader->server != UINT32_MAX)
            follow->server = follow->leader->server;
    } else {
        follow->ns[SQT_FOLLOW_UNKNOWN] += now - follow->until;
    }
    follow->until = now;
}

static void
follows_unlink(struct sqt_follow *follow)
{
    if (!follow->leader)
        return;
    if (follow->next)
        follow->next->previous = follow->previous;
    if (follow->previous)
        follow->previous->next = follow->next;
    else
        follow->leader->followers = follow->next;
    follow->leader = NULL;
}

static void
follows_link(struct sqt_follow *follow, struct sqt_xact *leader)
{
    follow->leader = leader;
    follow->origin = leader->origin;
    follow->previous = NULL;
    follow->next = leader->followers;
    if (follow->next)
        follow->next->previous = follow;
    leader->followers = follow;
}

static void
follows_stop(struct sqt_follow *follow, int64_t now)
{
    if (!follow->waits)
        return;
    follow->waits = 0;
    follows_count(follow, now);
    follows_unlink(follow);
}

void
sqt_follow_begin(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now, uint64_t leader, uint32_t kid)
{
    if (!xact->follow && sqt_pool_full(&process->follows.pool)) {
        sqt_bound_met(process, &process->follows);
        return;
    }
    if (!xact->follow)
        xact->follow = sqt_pool_get(&process->follows.pool);
    struct sqt_follow *const follow = xact->follow;
    follows_stop(follow, now);
    follow->waits = 1;
    follow->until = xact->followed_at = now;
    follow->origin = NULL;
    follow->server = UINT32_MAX;
    struct sqt_xact *const found = follows_find(process, leader, kid, &follow->process);
    if (!found || found == xact)
        return;
    follows_link(follow, found);
    follows_charge_leader(follow, now);
    memcpy(follow->charged, found->stages.ns, sizeof(follow->charged));
}

void
sqt_follow_check(const struct sqt_xact *xact, int64_t now)
{
    if (!(xact->stages.open & WAIT))
        follows_stop(xact->follow, now);
}

/* A trace from before this stage says within microseconds that the follower's reply is ready.  Then nobody knows how long
 * it waits, and what was charged is a part of the look-up. */
void
sqt_follow_old(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    struct sqt_spans *const s = &xact->stages;
    if (!(s->open & WAIT) || now - xact->followed_at > AT_ONCE)
        return;
    sqt_xact_charge(process, xact, now);
    const int64_t ns = s->ns[SQT_STAGE_COLLAPSED_WAIT];
    if (ns > now - xact->followed_at)
        return; /* it has waited before */
    const unsigned instead = s->seen & 1u << SQT_STAGE_LOOKUP ? SQT_STAGE_LOOKUP : SQT_UNACCOUNTED;
    s->ns[SQT_STAGE_COLLAPSED_WAIT] = 0;
    s->ns[instead] += ns;
    s->seen &= ~WAIT;
    if (ns && process->consumer->recharge)
        process->consumer->recharge(process->consumer->context, &(struct sqt_charge){.xact = xact,
                                                                                     .stage = instead,
                                                                                     .from = xact->followed_at,
                                                                                     .until = now,
                                                                                     .was = SQT_STAGE_COLLAPSED_WAIT});
}

/* What was charged to a stage before the follower came may have gone to another one since (an interim response, a try
 * that failed).  Then a difference is negative, and that of failed_tries too large.  What comes to such a stage after the
 * failure counts as failed_tries, too: to tell it apart, each failure would have to look at all followers. */
static void
follows_settle(struct sqt_follow *follow)
{
    int64_t owed = 0;
    for (unsigned i = 0; i < SQT_FOLLOW_STAGES; ++i)
        if (follow->ns[i] < 0) {
            owed -= follow->ns[i];
            follow->ns[i] = 0;
        }
    for (unsigned i = 0; i < SQT_FOLLOW_STAGES && owed; ++i) {
        const unsigned at = (SQT_STAGE_FAILED_TRIES + i) % SQT_FOLLOW_STAGES;
        const int64_t paid = follow->ns[at] < owed ? follow->ns[at] : owed;
        follow->ns[at] -= paid;
        owed -= paid;
    }
}

void
sqt_follow_leave(struct sqt_process_state *process, struct sqt_xact *xact, int64_t now)
{
    while (xact->followers) {
        struct sqt_follow *const follower = xact->followers;
        follows_count(follower, now);
        follows_unlink(follower);
    }
    if (!xact->follow)
        return;
    follows_stop(xact->follow, now);
    follows_settle(xact->follow);
    if (!(xact->stages.seen & WAIT))
        sqt_follow_drop(process, xact);
}

void
sqt_follow_drop(struct sqt_process_state *process, struct sqt_xact *xact)
{
    if (xact->follow)
        sqt_pool_put(&process->follows.pool, xact->follow);
    xact->follow = NULL;
}

const struct sqt_thing_kind sqt_thing_follows = {.words = "requests that follow another one",
                                                 .size = sizeof(struct sqt_follow)};
