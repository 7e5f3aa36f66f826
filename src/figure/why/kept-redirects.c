/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kept-redirects.c - redirects that the cache has under an ID of a Store-ID helper: they answer for all URLs with that ID, also
 * for the one to which they lead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "figure/finding/look.h"
#include "row/facts.h"

/* So many requests, that part of all, and of all hits with such an ID, in %. */
#define LEAST 20
#define SHARE 2
#define SHARE_OF_HITS 50
/* That part of them, in %, come within so many ns of another redirect with that ID: somebody follows it. */
#define SHARE_FOLLOWED 50
#define SOON INT64_C(1000000000)
/* Requests that have an ID and are open at a time: one takes the place of another.  The same of objects that are redirects. */
#define ASKED 16384

struct kept_redirects {
    struct kept_asked {
        const struct sqt_origin *origin; /* NULL: free */
        uint64_t xact;
        uint32_t who;
    } * asked; /* NULL: nobody got an ID yet */
    struct kept_object {
        uint64_t object;
        int64_t end; /* of the request that was redirected last */
    } * objects;
    char helper[SQT_TOLD_NAME]; /* "": none */
    uint64_t requests, hits, redirects;
    uint64_t followed; /* of redirects */
    uint64_t felt;     /* ns, of redirects */
    uint32_t status;
    int64_t since, until;
};

static struct kept_asked *
kept_place(const struct kept_redirects *k, const struct sqt_origin *origin, uint64_t xact)
{
    return &k->asked[(xact * UINT64_C(0x9e3779b97f4a7c15) + origin->index) % ASKED];
}

static void
kept_wait(void *state, const struct sqt_wait *wait)
{
    static const char kind[] = "store_id ";
    struct kept_redirects *const k = state;
    const char *const who = wait->def == SQT_DEF_WAITED ? sqt_origin_text(wait->origin, wait->def, wait->who) : NULL;
    if (!who || strncmp(who, kind, sizeof(kind) - 1) != 0 || wait->outcome != SQT_WAIT_OK || !wait->xact)
        return;
    if (!k->asked) {
        k->asked = sqt_zeroed(ASKED, sizeof(*k->asked));
        k->objects = sqt_zeroed(ASKED, sizeof(*k->objects));
    }
    *kept_place(k, wait->origin, wait->xact) = (struct kept_asked){wait->origin, wait->xact, wait->who};
}

static int
is_redirect(uint32_t status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* A redirect, of a server or of the cache.  Returns whether one with the same ID was sent soon before. */
static int
kept_follows(const struct kept_redirects *k, const struct sqt_xact *xact)
{
    struct kept_object *const o = &k->objects[xact->object % ASKED];
    const int follows = xact->object && o->object == xact->object && xact->begin >= o->end &&
                        (uint64_t)xact->begin - (uint64_t)o->end < (uint64_t)SOON;
    *o = (struct kept_object){xact->object, xact->end};
    return follows;
}

static void
kept_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct kept_redirects *const k = state;
    struct kept_asked *const asked = k->asked ? kept_place(k, xact->origin, xact->id) : NULL;
    ++k->requests;
    if (!asked || asked->origin != xact->origin || asked->xact != xact->id)
        return;
    asked->origin = NULL;
    const int redirect = is_redirect(xact->status), follows = redirect && kept_follows(k, xact);
    if (!(1u << fact->class & SQT_HITS))
        return;
    ++k->hits;
    if (!redirect)
        return;
    k->followed += (unsigned)follows;
    const char *const who = sqt_origin_text(xact->origin, SQT_DEF_WAITED, asked->who);
    snprintf(k->helper, sizeof(k->helper), "%s", who ? who : "store_id");
    k->since = k->redirects ? k->since : xact->begin;
    k->until = xact->end;
    k->status = xact->status;
    k->felt += (uint64_t)felt;
    ++k->redirects;
}

static void
kept_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct kept_redirects *const k = state;
    (void)totals;
    if (k->redirects < LEAST || k->redirects * 100 < k->requests * SHARE ||
        k->redirects * 100 < k->hits * SHARE_OF_HITS || k->followed * 100 < k->redirects * SHARE_FOLLOWED)
        return;
    struct sqt_told *const told =
        sqt_tolds_add(tolds, "kept_redirects", SQT_HARM_FAILURE, k->felt + k->redirects * SQT_FAILURE_NS);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", k->helper);
    told->since = k->since;
    told->until = k->until;
    told->requests = told->failures = k->redirects;
    told->waiting = k->felt;
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests got a redirect (%u) from the cache, under an ID that %s gave. It answers for all "
        "URLs with that ID. If the one to which it leads has that ID, too, who follows it gets it again: %.0f %% of "
        "them came within a second of another one with the same ID. Of all hits with such an ID, %.0f %% are "
        "redirects.",
        (unsigned long long)k->redirects, (unsigned long long)k->requests, k->status, k->helper,
        100 * (double)k->followed / (double)k->redirects, 100 * (double)k->redirects / (double)k->hits);
    sqt_told_print(told->advice,
                   "Let no redirect be stored there: acl redirects http_status 300-399, and store_miss deny "
                   "redirects. Or let store_id_program give no ID to URLs that are redirected.");
    sqt_told_print(told->command,
                   "sqtrace-dump --where='status >= 301 and status <= 308 and status != 304 and tries == 0' TRACE");
}

static void
kept_end(void *state)
{
    struct kept_redirects *const k = state;
    sqt_freed(k->asked);
    sqt_freed(k->objects);
}

const struct sqt_look sqt_look_kept_redirects = {.size = sizeof(struct kept_redirects),
                                                 .request = kept_request,
                                                 .wait = kept_wait,
                                                 .tell = kept_tell,
                                                 .end = kept_end};
