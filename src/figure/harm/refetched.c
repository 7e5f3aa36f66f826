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
#include "figure/stat/names.h"
#include "figure/stat/sparse.h"
#include "figure/why/misses.h"
#include "row/facts.h"

/* So many requests, that share of the time of all requests in %, and ns of servers for each in the mean. */
#define LEAST 20
#define LEAST_SHARE 30
#define LEAST_EACH INT64_C(20000000)
/* What is fetched again and not stored is told from that mean size on: smaller objects are not stored for other reasons. */
#define LARGE INT64_C(1000000)
/* What a server sends anew has the size that it had, but for one in so many: it has hardly changed. */
#define SAME_SIZE 10
/* Objects that are remembered: one takes the place of another. */
#define OBJECTS 65536
/* Workers that are told apart. */
#define WORKERS 64
/* Workers share no cache if hardly a hit is of what another one has fetched: one for so many misses of such objects, at most. */
#define UNSHARED 20
/* A server is named if that part of what is fetched again is its own, in %. */
#define OF_ONE 90
#define SERVERS 1024
/* That is told where it is that part of what is fetched again, in %. */
#define ELSEWHERE 50

enum refetched_kind { REMOVED, TOO_LARGE, FILE_GONE, RANGES, CHANGED, KINDS };

struct refetched_group {
    uint64_t requests, again, ns, bytes; /* again: of objects that were asked for before */
    uint64_t same;                       /* of them, as large as the one before */
    uint64_t elsewhere, elsewhere_ns;    /* of them, of objects that only other workers have had */
    uint64_t bodies;                     /* ns of them, in which bodies came */
    int64_t begin, end;
    char place[SQT_FINDING_NAME]; /* of files that are gone */
};

/* An object that was sent whole: when the last time, and its size then. */
struct refetched_object {
    uint64_t object;
    int64_t end, bytes;
    int storable;     /* a request found that it may be stored */
    uint64_t workers; /* bits of those that sent it */
};

struct refetched {
    struct sqt_sparse objects; /* OBJECTS of struct refetched_object, by their hashes */
    uint64_t outs, not_out;    /* objects that were to be written to disk, and those of which that failed */
    uint64_t not_created;      /* of them, whose file could not be created */
    uint64_t not_written; /* of them, whose file was: a write to it failed.  Not of rock, which has one file for all */
    uint64_t *unwritten;  /* OBJECTS of them, by their hashes: those of which that failed last */
    char not_out_place[SQT_FINDING_NAME];
    struct sqt_names servers; /* of struct refetched_server */
    uint64_t purged;          /* requests that removed an object */
    uint64_t shared_hits;     /* of what only other workers had sent */
    struct refetched_group groups[KINDS];
    struct refetched_group lost[TOO_LARGE + 1]; /* of unwritten objects, beside the groups of these kinds */
};

struct refetched_server {
    struct sqt_name_entry named;
    uint64_t of[KINDS];
};

/* The bit of the request's worker. */
static uint64_t
refetched_worker(const struct sqt_xact *xact)
{
    return UINT64_C(1) << xact->origin->identity.kid % WORKERS;
}

/* Whether the object was sent whole before this request began.  before: what is known of it then. */
static int
refetched_again(struct refetched *r, const struct sqt_xact *xact, int storable, struct refetched_object *before)
{
    struct refetched_object *const sent =
        sqt_sparse_at(&r->objects, OBJECTS, sizeof(struct refetched_object), xact->object % OBJECTS);
    const int known = sent->object == xact->object, again = xact->object && known && sent->end <= xact->begin;
    *before = *sent;
    if (xact->outcome == SQT_OUTCOME_COMPLETE)
        *sent = (struct refetched_object){xact->object, known ? sent->end : xact->end, xact->size,
                                          storable || (known && sent->storable),
                                          (known ? sent->workers : 0) | refetched_worker(xact)};
    return again;
}

/* Whether the object is fetched again because it could not be written. */
static int
is_unwritten(const struct refetched *r, const struct sqt_xact *xact, enum refetched_kind kind,
             const struct refetched_object *before)
{
    return (r->unwritten && r->unwritten[xact->object % OBJECTS] == xact->object) ||
           (kind == TOO_LARGE && before->storable);
}

static enum refetched_kind
refetched_kind(const struct sqt_xact *xact, const struct sqt_request_fact *fact, const char *reason)
{
    if (fact->class == SQT_CLASS_REFRESH_MISS) /* not for clients that want no older one, nor errors */
        return reason && strcmp(reason, "stale") == 0 && xact->status == 200 ? CHANGED : KINDS;
    return !reason                              ? KINDS
           : xact->status == 206                ? RANGES
           : strcmp(reason, "absent") == 0      ? REMOVED
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
    struct refetched_object before;
    const enum refetched_kind kind = refetched_kind(xact, fact, reason);
    const int again = refetched_again(r, xact, kind == REMOVED || kind == FILE_GONE, &before);
    const int elsewhere = again && before.workers && !(before.workers & refetched_worker(xact));
    r->purged += (unsigned)sqt_misses_is_purge(xact);
    r->shared_hits += elsewhere && SQT_HITS >> fact->class & 1;
    if (kind == KINDS || !(1u << fact->class & SQT_MISSES) || (!again && kind != FILE_GONE))
        return;
    const int lost = kind <= TOO_LARGE && is_unwritten(r, xact, kind, &before);
    struct refetched_group *const g = lost ? &r->lost[kind] : &r->groups[kind];
    g->begin = g->requests ? g->begin : xact->begin;
    g->end = xact->end;
    ++g->requests;
    g->again += again != 0;
    g->same += again && xact->size != SQT_MISSING && xact->size == before.bytes;
    g->ns += (uint64_t)sqt_row_sum(fact->row, SQT_SERVER_TIME);
    g->elsewhere += (uint64_t)elsewhere;
    g->elsewhere_ns += elsewhere ? (uint64_t)sqt_row_sum(fact->row, SQT_SERVER_TIME) : 0;
    g->bodies += (uint64_t)sqt_row_sum(fact->row, SQT_NS(server_reply));
    g->bytes += xact->sent == SQT_MISSING ? 0 : (uint64_t)xact->sent;
    if (kind == FILE_GONE)
        sqt_finding_place_name(xact, g->place);
    const char *const server = fact->row[SQT_CELL(requests, server)].text;
    r->servers.size = sizeof(struct refetched_server);
    r->servers.most = SERVERS;
    ++((struct refetched_server *)sqt_names_get(&r->servers, server ? server : ""))->of[kind];
}

/* The server that has nearly all of them; NULL: several have. */
static const char *
refetched_one_server(const struct refetched *r, enum refetched_kind kind, uint64_t requests)
{
    for (const struct sqt_name_entry *named = r->servers.first; named; named = named->next)
        if (*named->name && !sqt_names_is_others(named) &&
            100 * ((const struct refetched_server *)named)->of[kind] >= OF_ONE * requests)
            return named->name;
    return NULL;
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
    if (!r->unwritten)
        r->unwritten = sqt_zeroed(OBJECTS, sizeof(*r->unwritten));
    uint64_t *const unwritten = &r->unwritten[swap->object % OBJECTS];
    if (swap->outcome == SQT_OUTCOME_ERROR)
        *unwritten = swap->object;
    else if (swap->outcome == SQT_OUTCOME_COMPLETE && *unwritten == swap->object)
        *unwritten = 0;
    if (swap->outcome != SQT_OUTCOME_ERROR)
        return;
    char place[SQT_FINDING_NAME];
    sqt_finding_swap_name(swap, place);
    const int a_file = strncmp(place, "rock:", 5) != 0 && swap->failure == SQT_OUTCOME_ERROR;
    r->not_created += a_file && !swap->ios;
    r->not_written += a_file && swap->ios;
    if (!r->not_out++)
        snprintf(r->not_out_place, sizeof(r->not_out_place), "%s", place);
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
    /* What is written goes to the kernel's memory: there, a disk that fails does not show. */
    const int full = 2 * r->not_written > r->not_out, none = 2 * r->not_created > r->not_out;
    sqt_told_print(
        told->sentence,
        "%llu of %llu objects could not be written to %s: %s. %llu requests had to fetch such objects again, %s each.",
        (unsigned long long)r->not_out, (unsigned long long)r->outs, r->not_out_place,
        full   ? "files can be created there, and writing to them fails, as it does where no space is left on the file "
                 "system, or a quota is used up"
        : none ? "their files could not be created"
               : "writing failed",
        (unsigned long long)g->requests, sqt_human_time(each, (double)g->ns / (double)g->requests, " ", "us"));
    sqt_told_print(
        told->advice, "%s The size of a cache_dir must leave a tenth of its file system free.",
        full ? "df (and df -i, quota) of that file system: make room there, or make the cache_dir smaller in "
               "squid.conf. Squid does not do so itself, and goes on trying. If there is room: dmesg, and the "
               "error in cache.log."
        : none
            ? "cache.log has the error: directories that are missing (squid -z) or belong to another user, a file "
              "system that is read-only, or has no inodes left (df -i)."
            : "No space on its file system, or a disk that fails or is too slow: df and dmesg say which, and cache.log "
              "has the error.");
    sqt_told_print(told->command, "sqtrace-dump --table=swaps --where='direction == out and outcome == error' TRACE");
}

/* Whether most of what is fetched again is in the cache of another worker, which this one cannot use. */
static int
is_unshared(const struct refetched *r, enum refetched_kind kind, const struct refetched_group *g)
{
    return kind == REMOVED && 100 * g->elsewhere >= ELSEWHERE * g->requests &&
           UNSHARED * r->shared_hits <= g->elsewhere;
}

/* Whether clients removed most of it. */
static int
is_purged(const struct refetched *r, enum refetched_kind kind, const struct refetched_group *g)
{
    return kind == REMOVED && 2 * r->purged >= g->requests;
}

static void
refetched_purged(const struct refetched *r, const struct refetched_group *g, const struct sqt_look_totals *totals,
                 struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM];
    told->cause = "purged";
    snprintf(told->culprit, sizeof(told->culprit), "PURGE");
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests fetch an object again that was asked for before: %s for each. Clients removed "
        "%llu objects from the cache meanwhile (PURGE).",
        (unsigned long long)g->requests, (unsigned long long)totals->requests,
        sqt_human_time(each, (double)g->ns / (double)g->requests, " ", "us"), (unsigned long long)r->purged);
    sqt_told_print(told->advice, "%s", sqt_misses_purge_advice);
    sqt_told_print(told->command, "sqtrace-dump --where='method == PURGE' TRACE");
}

static void
refetched_unshared(const struct refetched_group *g, const struct sqt_look_totals *totals, struct sqt_told *told)
{
    char each[SQT_HUMAN_ROOM];
    told->cause = "caches_not_shared";
    snprintf(told->culprit, sizeof(told->culprit), "memory_cache_shared");
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests fetch what another worker has fetched before: %s for each. Hardly a hit is of another "
        "worker's object, so that each worker has a cache of its own.",
        (unsigned long long)g->elsewhere, (unsigned long long)totals->requests,
        sqt_human_time(each, (double)g->elsewhere_ns / (double)g->elsewhere, " ", "us"));
    sqt_told_print(
        told->advice,
        "memory_cache_shared on, and cache_dir of type rock, are for all workers. Directories of ufs, aufs and "
        "diskd belong to one worker each. What is larger than maximum_object_size_in_memory, or than a slot of "
        "the shared memory takes, is not shared.");
}

static int
refetched_is_felt(enum refetched_kind kind, const struct refetched_group *g, const struct sqt_look_totals *totals)
{
    return g->requests >= LEAST && g->ns >= totals->total_ns / 100 * LEAST_SHARE &&
           g->ns / g->requests >= (uint64_t)LEAST_EACH &&
           (kind != TOO_LARGE || g->bytes / g->requests >= (uint64_t)LARGE) &&
           (kind != CHANGED || SAME_SIZE * g->same >= (SAME_SIZE - 1) * g->requests);
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
    } else if (kind == CHANGED) {
        sqt_told_print(
            told->sentence,
            "%llu of %llu requests ask servers about objects in the cache that have expired, and get all of them "
            "again: %s for each, of %s in the mean. %llu of them are as large as before, so that they may be "
            "the same.",
            n, whole, each, bytes, (unsigned long long)g->same);
        sqt_told_print(
            told->advice,
            "Fetch such an object twice by hand, and compare its ETag, or its content. If nothing changes, servers "
            "should "
            "answer If-Modified-Since and If-None-Match with 304, and say for how long a reply is fresh (max-age). "
            "refresh_pattern: a longer min, with override-expire, if the servers cannot be changed.");
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
                   : kind == CHANGED   ? "stale"
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
    to->elsewhere += from->elsewhere;
    to->elsewhere_ns += from->elsewhere_ns;
    to->bytes += from->bytes;
}

/* The groups as they are told.  Objects that could not be written are one group, whether their files are gone, they were
 * removed, or they count as not cachable: one that was not written whole is not looked for any more. */
static void
refetched_prepare(const struct refetched *r, const struct sqt_tolds *tolds, struct refetched_group groups[KINDS])
{
    static const struct refetched_group none;
    memcpy(groups, r->groups, sizeof(r->groups));
    for (unsigned kind = REMOVED; kind <= TOO_LARGE; ++kind)
        refetched_join(&groups[is_not_written(r) ? FILE_GONE : kind], &r->lost[kind]);
    if (is_lost_hits(tolds, &groups[REMOVED]))
        groups[REMOVED] = none;
}

static void
refetched_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[KINDS] = {"cache_too_small", "not_stored", "files_gone", "ranges_not_stored",
                                              "fetched_again"};
    static const char *const culprits[KINDS] = {"cache", "maximum_object_size", NULL, "ranges", "servers"};
    static const char *const rules[] = {"slow_servers", "slow_server", "only_server", NULL};
    const struct refetched *const r = state;
    struct refetched_group groups[KINDS];
    refetched_prepare(r, tolds, groups);
    for (unsigned kind = 0; kind < KINDS; ++kind) {
        const struct refetched_group *const g = &groups[kind];
        if (!refetched_is_felt((enum refetched_kind)kind, g, totals))
            continue;
        const int purged = is_purged(r, (enum refetched_kind)kind, g),
                  unshared = is_unshared(r, (enum refetched_kind)kind, g);
        if (purged || unshared ||
            (kind == CHANGED && 2 * g->bodies < g->ns)) /* slow bodies, and late ends, are told as such */
            sqt_misses_take(tolds, NULL, 0, g->ns);
        struct sqt_told *const told = sqt_tolds_add(tolds, causes[kind], SQT_HARM_WAITING, g->ns);
        if (!told)
            continue;
        if (kind == RANGES || kind == CHANGED)
            sqt_instead(tolds, rules, g->ns, SQT_INSTEAD);
        const char *const one =
            kind == CHANGED ? refetched_one_server(r, (enum refetched_kind)kind, g->requests) : NULL;
        snprintf(told->culprit, sizeof(told->culprit), "%s", one ? one : culprits[kind] ? culprits[kind] : g->place);
        told->since = g->begin;
        told->until = g->end;
        told->requests = g->requests;
        told->waiting = g->ns;
        told->share = sqt_percent((double)g->ns, (double)totals->total_ns);
        refetched_text((enum refetched_kind)kind, g, totals->requests, told);
        if (purged)
            refetched_purged(r, g, totals, told);
        else if (unshared)
            refetched_unshared(g, totals, told);
        if (kind == FILE_GONE && is_not_written(r))
            refetched_not_written(r, g, told);
    }
}

static void
refetched_end(void *state)
{
    sqt_sparse_free(&((struct refetched *)state)->objects);
    sqt_freed(((struct refetched *)state)->unwritten);
    sqt_names_free(&((struct refetched *)state)->servers);
}

const struct sqt_look sqt_look_refetched = {.size = sizeof(struct refetched),
                                            .request = refetched_request,
                                            .swap = refetched_swap,
                                            .tell = refetched_tell,
                                            .end = refetched_end};
