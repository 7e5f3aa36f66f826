/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * no-hits.c - a cache without hits, although there should be some: a Store-ID helper gives each request an ID of its own, or
 * no reply may be stored that clients ask for again and again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
#include "figure/stat/sparse.h"
#include "misses.h"
#include "row/facts.h"

/* Hardly a hit: one request in so many at most. */
#define FEW 20
/* So many requests that ask again, or that a Store-ID helper is asked for; ns of servers for each in the mean; share of the
 * time of all requests in %. */
#define LEAST 20
#define LEAST_ASKED 100
#define LEAST_EACH INT64_C(20000000)
#define LEAST_SHARE 20
/* Objects that are told apart: of two in the same place, the later one is known. */
#define OBJECTS 65536

struct no_hits_group {
    uint64_t count, ns; /* ns: of servers */
    int64_t since, until;
};

struct no_hits {
    struct sqt_sparse objects; /* OBJECTS numbers of objects whose replies may not be stored, by their hashes */
    uint64_t requests, hits, asked;
    char helper[SQT_TOLD_NAME]; /* for Store-IDs; "": none */
    struct no_hits_group misses, again;
};

static void
no_hits_wait(void *state, const struct sqt_wait *wait)
{
    static const char kind[] = "store_id ";
    struct no_hits *const n = state;
    const char *const who = wait->def == SQT_DEF_WAITED ? sqt_origin_text(wait->origin, wait->def, wait->who) : NULL;
    if (!who || strncmp(who, kind, sizeof(kind) - 1) != 0)
        return;
    ++n->asked;
    snprintf(n->helper, sizeof(n->helper), "%s", who);
}

static void
no_hits_add(struct no_hits_group *g, const struct sqt_xact *xact, int64_t ns)
{
    g->since = g->count && g->since < xact->begin ? g->since : xact->begin;
    g->until = g->until > xact->end ? g->until : xact->end;
    ++g->count;
    g->ns += (uint64_t)ns;
}

/* Whether the same was asked for before, and could not be stored either. */
static int
no_hits_again(struct no_hits *n, uint64_t object)
{
    uint64_t *const place = sqt_sparse_at(&n->objects, OBJECTS, sizeof(*place), object % OBJECTS);
    const int again = *place == object;
    *place = object;
    return again;
}

static int
is_plain(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    const char *const method =
        xact->method == UINT32_MAX ? NULL : sqt_origin_text(xact->origin, SQT_DEF_METHOD, xact->method);
    return xact->status == 200 && xact->object && method && strcmp(method, "GET") == 0 && reason &&
           strcmp(reason, "uncacheable") == 0;
}

static void
no_hits_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct no_hits *const n = state;
    const int64_t ns = sqt_row_sum(fact->row, SQT_SERVER_TIME);
    (void)felt; /* a hit saves what the server takes */
    n->hits += 1u << fact->class & SQT_HITS ? 1 : 0;
    n->requests += 1u << fact->class & (SQT_HITS | SQT_MISSES) ? 1 : 0;
    if (!(1u << fact->class & SQT_MISSES) || xact->server == UINT32_MAX)
        return;
    no_hits_add(&n->misses, xact, ns);
    if (is_plain(xact, fact) && no_hits_again(n, xact->object))
        no_hits_add(&n->again, xact, ns);
}

/* NULL: they do not matter. */
static struct sqt_told *
no_hits_told(const struct no_hits_group *g, const char *cause, const struct sqt_look_totals *totals,
             struct sqt_tolds *tolds)
{
    if (g->count < LEAST || g->ns / g->count < (uint64_t)LEAST_EACH ||
        100.0 * (double)g->ns < (double)totals->total_ns * LEAST_SHARE)
        return NULL;
    sqt_misses_take(tolds, NULL, 0, g->ns);
    struct sqt_told *const told = sqt_tolds_add(tolds, cause, SQT_HARM_WAITING, g->ns);
    if (!told)
        return NULL;
    told->since = g->since;
    told->until = g->until;
    told->requests = g->count;
    told->waiting = g->ns;
    told->share = sqt_percent((double)g->ns, (double)totals->total_ns);
    return told;
}

static void
no_hits_tell_ids(const struct no_hits *n, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM];
    struct sqt_told *const told = no_hits_told(&n->misses, "store_id_no_hits", totals, tolds);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", n->helper);
    sqt_told_print(
        told->sentence,
        "%s was asked %llu times, and %llu of %llu requests found anything in the cache: servers take %s for "
        "each of the others.",
        n->helper, (unsigned long long)n->asked, (unsigned long long)n->hits, (unsigned long long)n->requests,
        sqt_human_time(each, (double)n->misses.ns / (double)n->misses.count, " ", "us"));
    sqt_told_print(told->advice,
                   "store_id_program: ask it by hand twice for the same URL, and for two URLs of the same "
                   "object. Each time it must answer with the same store-id=. store_id_access: ask it "
                   "about such URLs only.");
    sqt_told_print(told->command, "sqtrace-dump --table=waits --where='kind == store_id' TRACE");
}

/* Whether something else than the servers' own time explains a third of that.  Much of the web may not be stored, and what
 * makes its misses slow is worth more. */
static int
no_hits_explained(const struct sqt_tolds *tolds, uint64_t ns)
{
    for (unsigned i = 0; i < tolds->count; ++i)
        if (!sqt_misses_about(tolds->told[i], NULL) && 3 * tolds->told[i]->weight >= ns)
            return 1;
    return 0;
}

static void
no_hits_tell_again(const struct no_hits *n, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    char each[SQT_HUMAN_ROOM];
    struct sqt_told *const told = no_hits_told(&n->again, "not_storable", totals, tolds);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "servers");
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests ask again for what was asked for before, and servers take %s for each, because "
        "such replies are not stored. %llu requests are hits.",
        (unsigned long long)n->again.count, (unsigned long long)n->requests,
        sqt_human_time(each, (double)n->again.ns / (double)n->again.count, " ", "us"), (unsigned long long)n->hits);
    sqt_told_print(told->advice,
                   "Look at one such request and reply by hand. Cache-Control: private or no-store: the server "
                   "forbids it. A request with Authorization: the server must allow it, with public, "
                   "must-revalidate or s-maxage. If neither is there: cache, store_miss, "
                   "maximum_object_size and max_open_disk_fds in squid.conf.");
    sqt_told_print(told->command, "sqtrace-dump --where='miss_reason == uncacheable' TRACE");
}

static void
no_hits_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct no_hits *const n = state;
    if (n->hits * FEW > n->requests)
        return;
    if (n->asked >= LEAST_ASKED)
        no_hits_tell_ids(n, totals, tolds);
    else if (!no_hits_explained(tolds, n->again.ns))
        no_hits_tell_again(n, totals, tolds);
}

static void
no_hits_end(void *state)
{
    sqt_sparse_free(&((struct no_hits *)state)->objects);
}

const struct sqt_look sqt_look_no_hits = {.size = sizeof(struct no_hits),
                                          .request = no_hits_request,
                                          .wait = no_hits_wait,
                                          .tell = no_hits_tell,
                                          .end = no_hits_end};
