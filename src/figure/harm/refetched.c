/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * refetched.c - objects that are fetched again though a cache could have kept them: they were removed, are too large to be
 * stored, or their files are gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
#include "instead.h"
#include "row/facts.h"

/* So many requests, that share of the time of all requests in %, and ns of servers for each in the mean. */
#define LEAST 20
#define LEAST_SHARE 30
#define LEAST_EACH INT64_C(20000000)
/* What is fetched again and not stored is told from that mean size on: smaller objects are not stored for other reasons. */
#define LARGE INT64_C(1000000)
/* Objects that are remembered: one takes the place of another. */
#define OBJECTS 65536

enum refetched_kind { REMOVED, TOO_LARGE, FILE_GONE, KINDS };

struct refetched_group {
    uint64_t requests, again, ns, bytes; /* again: of objects that were asked for before */
    int64_t begin, end;
    char place[SQT_FINDING_NAME]; /* of files that are gone */
};

struct refetched {
    uint64_t *objects; /* by their hashes */
    struct refetched_group groups[KINDS];
};

/* Whether the object was asked for before; from now on it was. */
static int
refetched_again(struct refetched *r, uint64_t object)
{
    if (!r->objects)
        r->objects = sqt_zeroed(OBJECTS, sizeof(*r->objects));
    uint64_t *const asked = &r->objects[object % OBJECTS];
    const int again = object && *asked == object;
    *asked = object;
    return again;
}

static enum refetched_kind
refetched_kind(const char *reason)
{
    return strcmp(reason, "absent") == 0        ? REMOVED
           : strcmp(reason, "uncacheable") == 0 ? TOO_LARGE
           : strcmp(reason, "swap_fail") == 0   ? FILE_GONE
                                                : KINDS;
}

static void
refetched_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct refetched *const r = state;
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    (void)felt; /* a hit saves what the server takes */
    const int again = refetched_again(r, xact->object);
    const enum refetched_kind kind = reason ? refetched_kind(reason) : KINDS;
    if (kind == KINDS || !(1u << fact->class & SQT_MISSES) || (!again && kind != FILE_GONE))
        return;
    struct refetched_group *const g = &r->groups[kind];
    g->begin = g->requests ? g->begin : xact->begin;
    g->end = xact->end;
    ++g->requests;
    g->again += again != 0;
    g->ns += (uint64_t)sqt_row_sum(fact->row, SQT_SERVER_TIME);
    g->bytes += xact->sent == SQT_MISSING ? 0 : (uint64_t)xact->sent;
    if (kind == FILE_GONE)
        sqt_finding_place_name(xact, g->place);
}

static int
refetched_is_felt(enum refetched_kind kind, const struct refetched_group *g, const struct sqt_look_totals *totals)
{
    return g->requests >= LEAST && g->ns >= totals->total_ns / 100 * LEAST_SHARE &&
           g->ns / g->requests >= (uint64_t)LEAST_EACH &&
           (kind != TOO_LARGE || g->bytes / g->requests >= (uint64_t)LARGE);
}

static void
refetched_text(enum refetched_kind kind, const struct refetched_group *g, uint64_t all, struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM], bytes[SQT_HUMAN_ROOM];
    sqt_human_time(each, (double)g->ns / (double)g->requests, " ", "us");
    sqt_human_bytes(bytes, (double)g->bytes / (double)g->requests);
    const unsigned long long n = g->requests, whole = all;
    if (kind == REMOVED) {
        sqt_told_print(told->sentence,
                       "%llu of %llu requests fetch an object again that was asked for before and is not in the cache "
                       "any more: %s for "
                       "each. It was removed to make room, as a cache that is too small does, or was never kept.",
                       n, whole, each);
        sqt_told_print(told->advice, "cache_dir and cache_mem: more room. cache_replacement_policy: which objects go. "
                                     "refresh_pattern: keep what has no date of its own for longer.");
    } else if (kind == TOO_LARGE) {
        sqt_told_print(
            told->sentence,
            "%llu of %llu requests fetch an object again that Squid did not store: %s for each, of %s in the "
            "mean. It is too large, or its server forbids it.",
            n, whole, each, bytes);
        sqt_told_print(told->advice,
                       "maximum_object_size, before the cache_dir lines: 4 MB unless it is set. Or the reply says "
                       "no-store or private: then nothing helps here.");
    } else {
        sqt_told_print(
            told->sentence,
            "%llu of %llu requests fetch an object because its file in %s could not be read: it is in Squid's "
            "index, and not there. %s for each.",
            n, whole, *g->place ? g->place : "a cache_dir", each);
        sqt_told_print(told->advice,
                       "Who removes files from that cache_dir? cache.log has the errors. squid -z, and a start "
                       "without swap.state, make a new index.");
    }
    sqt_told_print(told->command, "sqtrace-dump --where='miss_reason == %s' TRACE",
                   kind == REMOVED     ? "absent"
                   : kind == TOO_LARGE ? "uncacheable"
                                       : "swap_fail");
}

/* Whether misses of what had been hits are told already, and are most of these.  If they are few of them, these say it. */
static int
refetched_is_told(enum refetched_kind kind, const struct refetched_group *g, struct sqt_tolds *tolds)
{
    static const char *const lost[] = {"lost_hits", NULL};
    for (unsigned i = 0; i < tolds->count && kind == REMOVED; ++i)
        if (strcmp(tolds->told[i]->cause, lost[0]) == 0 && tolds->told[i]->waiting >= g->ns / 2)
            return 1;
    if (kind == REMOVED)
        sqt_instead(tolds, lost, g->ns, SQT_INSTEAD);
    return 0;
}

static void
refetched_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[KINDS] = {"cache_too_small", "not_stored", "files_gone"};
    static const char *const culprits[KINDS] = {"cache", "maximum_object_size", NULL};
    const struct refetched *const r = state;
    for (unsigned kind = 0; kind < KINDS; ++kind) {
        const struct refetched_group *const g = &r->groups[kind];
        const int felt = refetched_is_felt((enum refetched_kind)kind, g, totals) &&
                         !refetched_is_told((enum refetched_kind)kind, g, tolds);
        struct sqt_told *const told = felt ? sqt_tolds_add(tolds, causes[kind], SQT_HARM_WAITING, g->ns) : NULL;
        if (!told)
            continue;
        snprintf(told->culprit, sizeof(told->culprit), "%s", culprits[kind] ? culprits[kind] : g->place);
        told->since = g->begin;
        told->until = g->end;
        told->requests = g->requests;
        told->waiting = g->ns;
        told->share = sqt_percent((double)g->ns, (double)totals->total_ns);
        refetched_text((enum refetched_kind)kind, g, totals->requests, told);
    }
}

static void
refetched_end(void *state)
{
    free(((struct refetched *)state)->objects);
}

const struct sqt_look sqt_look_refetched = {
    .size = sizeof(struct refetched), .request = refetched_request, .tell = refetched_tell, .end = refetched_end};
