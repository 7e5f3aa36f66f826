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
#include "row/facts.h"

/* So many requests, that share of the time of all requests in %, and ns of servers for each in the mean. */
#define LEAST 20
#define LEAST_SHARE 30
#define LEAST_EACH INT64_C(20000000)
/* What is fetched again and not stored is told from that mean size on: smaller objects are not stored for other reasons. */
#define LARGE INT64_C(1000000)
/* Objects that are remembered: one takes the place of another. */
#define OBJECTS 65536

enum refetched_kind { REMOVED, TOO_LARGE, FILE_GONE, RANGES, KINDS };

struct refetched_group {
    uint64_t requests, again, ns, bytes; /* again: of objects that were asked for before */
    int64_t begin, end;
    char place[SQT_FINDING_NAME]; /* of files that are gone */
};

struct refetched {
    struct refetched_object {
        uint64_t object;
        int64_t end;
    } * objects;            /* that were sent whole, by their hashes, and when the last was */
    uint64_t outs, not_out; /* objects that were to be written to disk, and those of which that failed */
    char not_out_place[SQT_FINDING_NAME];
    struct refetched_group groups[KINDS];
};

/* Whether the object was sent whole before this request began. */
static int
refetched_again(struct refetched *r, const struct sqt_xact *xact)
{
    if (!r->objects)
        r->objects = sqt_zeroed(OBJECTS, sizeof(*r->objects));
    struct refetched_object *const sent = &r->objects[xact->object % OBJECTS];
    const int again = xact->object && sent->object == xact->object && sent->end <= xact->begin;
    if (xact->outcome == SQT_OUTCOME_COMPLETE)
        *sent = (struct refetched_object){xact->object, sent->object == xact->object ? sent->end : xact->end};
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
    const int again = refetched_again(r, xact);
    const enum refetched_kind kind = reason && xact->status == 206 ? RANGES : reason ? refetched_kind(reason) : KINDS;
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

/* Hits that became misses are objects that were removed, too. */
static int
is_lost_hits(const struct sqt_tolds *tolds, const struct refetched_group *g)
{
    return sqt_tolds_find(tolds, "lost_hits", NULL, g->ns / 2) != NULL;
}

static void
refetched_swap(void *state, const struct sqt_swap *swap)
{
    struct refetched *const r = state;
    if (!swap->out || swap->update)
        return;
    ++r->outs;
    if (swap->outcome == SQT_OUTCOME_ERROR && !r->not_out++)
        sqt_finding_swap_name(swap, r->not_out_place);
}

/* Whether it is because they could not be written: then their files are gone, or were never whole. */
static int
is_not_written(const struct refetched *r)
{
    return r->not_out >= LEAST && 4 * r->not_out >= r->outs;
}

static void
refetched_not_written(const struct refetched *r, const struct refetched_group *g, struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM];
    told->cause = "not_written";
    snprintf(told->culprit, sizeof(told->culprit), "%s", r->not_out_place);
    sqt_told_print(
        told->sentence,
        "%llu of %llu objects could not be written to %s: writing failed. %llu requests had to fetch such objects "
        "again, %s each.",
        (unsigned long long)r->not_out, (unsigned long long)r->outs, r->not_out_place, (unsigned long long)g->requests,
        sqt_human_time(each, (double)g->ns / (double)g->requests, " ", "us"));
    sqt_told_print(told->advice,
                   "No space on its file system, or a disk that fails: df and dmesg say which, and cache.log has the "
                   "error. The size of a cache_dir must leave a tenth of its file system free.");
    sqt_told_print(told->command, "sqtrace-dump --table=swaps --where='direction == out and outcome == error' TRACE");
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
    } else if (kind == RANGES) {
        sqt_told_print(
            told->sentence,
            "%llu of %llu requests are for ranges (206) of objects of which ranges were sent before: %s each. Squid "
            "stores no ranges, so none of them is a hit.",
            n, whole, each);
        sqt_told_print(told->advice,
                       "range_offset_limit none for such objects: Squid fetches and stores the whole at the first "
                       "request, and ranges of it are hits.");
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
                   : kind == FILE_GONE ? "swap_fail"
                                       : "uncacheable");
}

static void
refetched_join(struct refetched_group *to, const struct refetched_group *from)
{
    if (!from->requests)
        return;
    to->begin = to->requests && to->begin < from->begin ? to->begin : from->begin;
    to->end = to->end > from->end ? to->end : from->end;
    to->requests += from->requests;
    to->again += from->again;
    to->ns += from->ns;
    to->bytes += from->bytes;
}

/* The groups as they are told.  Objects that could not be written are one group, whether their files are gone or they were
 * removed. */
static void
refetched_prepare(const struct refetched *r, const struct sqt_tolds *tolds, struct refetched_group groups[KINDS])
{
    static const struct refetched_group none;
    memcpy(groups, r->groups, sizeof(r->groups));
    if (is_lost_hits(tolds, &groups[REMOVED]))
        groups[REMOVED] = none;
    if (is_not_written(r)) {
        refetched_join(&groups[FILE_GONE], &groups[REMOVED]);
        groups[REMOVED] = none;
    }
}

static void
refetched_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[KINDS] = {"cache_too_small", "not_stored", "files_gone", "ranges_not_stored"};
    static const char *const culprits[KINDS] = {"cache", "maximum_object_size", NULL, "ranges"};
    static const char *const rules[] = {"slow_servers", NULL};
    const struct refetched *const r = state;
    struct refetched_group groups[KINDS];
    refetched_prepare(r, tolds, groups);
    for (unsigned kind = 0; kind < KINDS; ++kind) {
        const struct refetched_group *const g = &groups[kind];
        struct sqt_told *const told = refetched_is_felt((enum refetched_kind)kind, g, totals)
                                          ? sqt_tolds_add(tolds, causes[kind], SQT_HARM_WAITING, g->ns)
                                          : NULL;
        if (!told)
            continue;
        if (kind == RANGES)
            sqt_instead(tolds, rules, g->ns, SQT_INSTEAD);
        snprintf(told->culprit, sizeof(told->culprit), "%s", culprits[kind] ? culprits[kind] : g->place);
        told->since = g->begin;
        told->until = g->end;
        told->requests = g->requests;
        told->waiting = g->ns;
        told->share = sqt_percent((double)g->ns, (double)totals->total_ns);
        refetched_text((enum refetched_kind)kind, g, totals->requests, told);
        if (kind == FILE_GONE && is_not_written(r))
            refetched_not_written(r, g, told);
    }
}

static void
refetched_end(void *state)
{
    free(((struct refetched *)state)->objects);
}

const struct sqt_look sqt_look_refetched = {.size = sizeof(struct refetched),
                                            .request = refetched_request,
                                            .swap = refetched_swap,
                                            .tell = refetched_tell,
                                            .end = refetched_end};
