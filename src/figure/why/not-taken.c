/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * not-taken.c - objects that are fetched again, because nothing was kept of them when they came, and why: no cache_dir took
 * them, or Squid did not even try.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
#include "figure/stat/sparse.h"
#include "format/events.h"
#include "misses.h"
#include "row/facts.h"

/* So many requests, that share of the time of all requests in %, and ns of servers for each in the mean. */
#define LEAST 20
#define LEAST_SHARE 20
#define LEAST_EACH INT64_C(20000000)
/* So many objects that were written say which sizes are. */
#define LEAST_WRITTEN 20
/* Objects that are remembered: one takes the place of another. */
#define OBJECTS 65536

/* Why nothing was kept: enum sqt_unkept, or no cache_dir took it. */
enum { NOT_TAKEN = SQT_UNKEPTS, REASONS };

static const struct not_taken_words {
    const char *cause, *culprit, *because, *advice;
} not_taken_words[REASONS] = {
    [SQT_UNKEPT_TOO_LARGE] = {"not_kept", "maximum_object_size", "it is larger than any cache takes",
                              "maximum_object_size, before the cache_dir lines: 4 MB unless it is set. max-size= of "
                              "cache_dir, and maximum_object_size_in_memory."},
    [SQT_UNKEPT_TOO_SMALL] = {"not_kept", "minimum_object_size", "it is smaller than minimum_object_size",
                              "minimum_object_size: 0 KB keeps objects of all sizes."},
    [SQT_UNKEPT_OPEN_FILES] =
        {"not_kept", "max_open_disk_fds", "Squid had more files of cache_dirs open than max_open_disk_fds allows",
         "max_open_disk_fds: more, or 0 for no limit. Each object that is read from a cache_dir or "
         "written to one keeps a file open, a slow download for as long as it lasts."},
    [SQT_UNKEPT_DESCRIPTORS] = {"not_kept", "max_filedescriptors", "too few descriptors were free",
                                "max_filedescriptors: more, if ulimit -n allows it. client_idle_pconn_timeout, "
                                "server_idle_pconn_timeout: close idle connections earlier."},
    [NOT_TAKEN] =
        {"not_taken", "limits of cache_dir", "no cache_dir took it then, and it did not stay in memory",
         "cache_dir: min-size=, max-size= and no-store. minimum_object_size, and maximum_object_size before the "
         "cache_dir lines. A cache_dir takes nothing either while its disk has too much to do, or no room. "
         "cache_mem and maximum_object_size_in_memory: what stays in memory."},
};

struct sizes {
    int64_t least, most; /* bytes */
};

/* An object that was sent whole. */
struct not_taken_object {
    uint64_t object;
    int64_t end;
    unsigned why; /* nothing was kept of it when it was sent last; 0: something was, or it is not known */
};

struct not_taken {
    struct sqt_sparse objects; /* OBJECTS of struct not_taken_object, by their hashes */
    struct not_taken_group {
        uint64_t count, ns;
        int64_t since, until;
        struct sizes again;
    } of[REASONS];
    uint64_t written, sized; /* objects, by swaps that ended well; and those whose size is known */
    struct sizes stored;
};

static void
sizes_add(struct sizes *s, int first, int64_t bytes)
{
    s->least = first || bytes < s->least ? bytes : s->least;
    s->most = first || bytes > s->most ? bytes : s->most;
}

static void
not_taken_add(struct not_taken_group *g, const struct sqt_xact *xact, int64_t ns)
{
    sizes_add(&g->again, !g->count, xact->size);
    g->since = g->count ? g->since : xact->begin;
    g->until = xact->end;
    g->ns += (uint64_t)ns;
    ++g->count;
}

/* Whether a miss may be because nothing was kept: the store has no entry.  If nothing is kept this time either, the reason
 * is not that it is absent. */
static int
not_taken_is_miss(const struct sqt_xact *xact, const struct sqt_request_fact *fact)
{
    const int absent = xact->miss == SQT_MISS_ABSENT || (xact->miss == SQT_MISS_UNCACHEABLE && xact->not_kept);
    return absent && xact->size != SQT_MISSING && 1u << fact->class & SQT_MISSES;
}

static void
not_taken_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct not_taken *const n = state;
    (void)felt; /* a hit saves what the server takes */
    if (!xact->object || xact->outcome != SQT_OUTCOME_COMPLETE)
        return;
    struct not_taken_object *const sent =
        sqt_sparse_at(&n->objects, OBJECTS, sizeof(struct not_taken_object), xact->object % OBJECTS);
    if (sent->object == xact->object && sent->why && sent->end <= xact->begin && not_taken_is_miss(xact, fact))
        not_taken_add(&n->of[sent->why], xact, sqt_row_sum(fact->row, SQT_SERVER_TIME));
    if (xact->fetched > 0)
        *sent =
            (struct not_taken_object){xact->object, xact->end, xact->not_taken ? (unsigned)NOT_TAKEN : xact->not_kept};
}

static void
not_taken_swap(void *state, const struct sqt_swap *swap)
{
    struct not_taken *const n = state;
    if (!swap->out || swap->update || swap->outcome != SQT_OUTCOME_COMPLETE)
        return;
    ++n->written;
    if (swap->image != SQT_MISSING) /* older traces do not say it */
        sizes_add(&n->stored, !n->sized++, swap->image);
}

/* What the sizes say.  What is written has a header more, so that it is compared where that does not matter. */
static void
not_taken_sizes(const struct not_taken *n, const struct not_taken_group *g, char *text, size_t size)
{
    char least[SQT_HUMAN_ROOM], most[SQT_HUMAN_ROOM];
    sqt_human_bytes(least, (double)g->again.least);
    sqt_human_bytes(most, (double)g->again.most);
    const int used = snprintf(text, size, " They have %s to %s", least, most);
    text += used;
    size -= (size_t)used;
    if (g != &n->of[NOT_TAKEN])
        snprintf(text, size, ".");
    else if (!n->written)
        snprintf(text, size, ", and no object at all was written to a cache_dir meanwhile.");
    else if (n->sized >= LEAST_WRITTEN && n->stored.least > g->again.most)
        snprintf(text, size,
                 ", and what is written to a cache_dir is larger: %s and more. They are too small to be stored.",
                 sqt_human_bytes(least, (double)n->stored.least));
    else if (n->sized >= LEAST_WRITTEN && n->stored.most < g->again.least)
        snprintf(text, size,
                 ", and what is written to a cache_dir is smaller: up to %s. They are too large to be stored.",
                 sqt_human_bytes(most, (double)n->stored.most));
    else
        snprintf(text, size, ". %llu objects were written to a cache_dir meanwhile.", (unsigned long long)n->written);
}

static void
not_taken_tell_one(const struct not_taken *n, unsigned why, const struct sqt_look_totals *totals,
                   struct sqt_tolds *tolds)
{
    static const char *const vaguer[] = {"cache_too_small", "not_stored", NULL};
    const struct not_taken_group *const g = &n->of[why];
    const struct not_taken_words *const words = &not_taken_words[why];
    char each[SQT_HUMAN_ROOM], sizes[256];
    if (g->count < LEAST || g->ns / g->count < (uint64_t)LEAST_EACH ||
        100.0 * (double)g->ns < (double)totals->total_ns * LEAST_SHARE)
        return;
    sqt_misses_take(tolds, NULL, 0, g->ns);
    sqt_instead(tolds, vaguer, g->ns, SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, words->cause, SQT_HARM_WAITING, g->ns);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", words->culprit);
    told->since = g->since;
    told->until = g->until;
    told->requests = g->count;
    told->waiting = g->ns;
    told->share = sqt_percent((double)g->ns, (double)totals->total_ns);
    not_taken_sizes(n, g, sizes, sizeof(sizes));
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests fetch an object again that was fetched before and not kept: %s. Servers take %s for "
        "each.%s",
        (unsigned long long)g->count, (unsigned long long)totals->requests, words->because,
        sqt_human_time(each, (double)g->ns / (double)g->count, " ", "us"), sizes);
    sqt_told_print(told->advice, "%s", words->advice);
    if (why == NOT_TAKEN)
        sqt_told_print(told->command, "sqtrace-dump --where='miss_reason == absent' TRACE");
    else
        sqt_told_print(told->command,
                       "sqtrace-dump --columns=time_s,xid,server,size_bytes,not_kept --where='not_kept == %s' TRACE",
                       sqt_unkept[why].name);
}

static void
not_taken_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    for (unsigned why = 1; why < REASONS; ++why)
        not_taken_tell_one(state, why, totals, tolds);
}

static void
not_taken_end(void *state)
{
    sqt_sparse_free(&((struct not_taken *)state)->objects);
}

const struct sqt_look sqt_look_not_taken = {.size = sizeof(struct not_taken),
                                            .request = not_taken_request,
                                            .swap = not_taken_swap,
                                            .tell = not_taken_tell,
                                            .end = not_taken_end};
