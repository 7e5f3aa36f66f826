/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings-connects.c - which servers a request waited for while it tried to connect: it counts for the server that it was
 * connected to last, and that may be another one.
 *
 * An attempt ends before its request does, so it is kept until then: in a table of fixed size, where a request that the
 * trace never ends is replaced by another one.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "findings-internal.h"

/* Requests that may connect at a time, and the names that are told apart of each. */
#define REQUESTS 32768
#define NAMES 6

struct sqt_connecting {
    const struct sqt_findings *of; /* whose claims they are; NULL: free */
    const struct sqt_origin *origin;
    uint64_t xact;
    unsigned count;
    struct {
        struct sqt_claim *claim;
        uint64_t ns;
    } names[NAMES];
};

struct sqt_connecting *
sqt_connecting_new(void)
{
    return sqt_zeroed(REQUESTS, sizeof(struct sqt_connecting));
}

static struct sqt_connecting *
connects_place(struct sqt_findings *f, const struct sqt_origin *origin, uint64_t xact)
{
    if (!f->connecting)
        f->connecting = sqt_connecting_new();
    return &f->connecting[(xact * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)origin >> 4) % REQUESTS];
}

static int
is_connecting_of(const struct sqt_connecting *w, const struct sqt_findings *f, const struct sqt_origin *origin,
                 uint64_t xact)
{
    return w->of == f && w->origin == origin && w->xact == xact;
}

void
sqt_connecting_forget(struct sqt_connecting *all, const struct sqt_findings *f)
{
    for (unsigned i = 0; i < REQUESTS; ++i)
        if (all[i].of == f)
            all[i].of = NULL;
}

static void
connects_add(struct sqt_findings *f, const struct sqt_origin *origin, uint64_t xact, struct sqt_claim *claim,
             int64_t ns)
{
    struct sqt_connecting *const w = connects_place(f, origin, xact);
    if (!is_connecting_of(w, f, origin, xact))
        *w = (struct sqt_connecting){.of = f, .origin = origin, .xact = xact};
    unsigned i = 0;
    while (i < w->count && w->names[i].claim != claim)
        ++i;
    if (i == NAMES)
        return;
    if (i == w->count)
        w->names[w->count++].ns = 0;
    w->names[i].claim = claim;
    w->names[i].ns += (uint64_t)ns;
}

/* A tunnel through a cache_peer names no server, so its time is charged to the server of the request's last connection.
 * NULL: there was none. */
static struct sqt_claim *
connects_last(struct sqt_findings *f, const struct sqt_attempt *attempt)
{
    const struct sqt_connecting *const w = connects_place(f, attempt->origin, attempt->xact);
    return is_connecting_of(w, f, attempt->origin, attempt->xact) && w->count ? w->names[w->count - 1].claim : NULL;
}

void
sqt_findings_connection(struct sqt_findings *f, const struct sqt_attempt *attempt)
{
    const char *const server =
        attempt->server == UINT32_MAX ? NULL : sqt_origin_text(attempt->origin, SQT_DEF_SERVER, attempt->server);
    if (attempt->reused || !attempt->xact || sqt_durations_unknown(attempt->outcome))
        return;
    struct sqt_claim *claim = connects_last(f, attempt);
    if (server)
        claim = sqt_finding_claim_of(f, sqt_names_get(&f->names[SQT_FINDING_SERVER], server),
                                     SQT_FINDING_NUMBER_connect_server);
    if (claim)
        connects_add(f, attempt->origin, attempt->xact, claim,
                     (attempt->connected == SQT_MISSING ? attempt->end : attempt->connected) - attempt->begin);
}

/* ns in which the event loop was held while the request connected: no server's fault. */
static uint64_t
connects_held(const struct sqt_xact *xact)
{
    return xact->held_in
               ? ((uint64_t)xact->held_in->us[SQT_STAGE_CONNECT] + xact->held_in->us[SQT_STAGE_FAILED_TRIES]) * 1000
               : 0;
}

void
sqt_findings_connected(struct sqt_findings *f, const struct sqt_xact *xact, int64_t total)
{
    struct sqt_connecting *const w = connects_place(f, xact->origin, xact->id);
    if (!is_connecting_of(w, f, xact->origin, xact->id))
        return;
    uint64_t held = connects_held(xact);
    for (unsigned i = 0; total >= 0 && i < w->count; ++i) {
        const uint64_t its = held < w->names[i].ns ? held : w->names[i].ns;
        w->names[i].ns -= its;
        held -= its;
        ++w->names[i].claim->count;
        sqt_finding_claim(f, w->names[i].claim, w->names[i].ns < (uint64_t)total ? (int64_t)w->names[i].ns : total,
                          total);
        sqt_finding_claim_at(f, w->names[i].claim, (int64_t)w->names[i].ns, xact->begin);
    }
    w->of = NULL;
}
