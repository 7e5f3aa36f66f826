/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * not-taken.c - objects that are fetched again, because no cache_dir took them when they came, and they did not stay in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/memory.h"
#include "figure/finding/look.h"
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

struct sizes {
    int64_t least, most; /* bytes */
};

struct not_taken {
    struct not_taken_object {
        uint64_t object;
        int64_t end;
        int refused; /* when it was sent last */
    } * objects;     /* that were sent whole, by their hashes */
    uint64_t count, ns;
    int64_t since, until;
    uint64_t written, sized; /* objects, by swaps that ended well; and those whose size is known */
    struct sizes again, stored;
};

static void
sizes_add(struct sizes *s, int first, int64_t bytes)
{
    s->least = first || bytes < s->least ? bytes : s->least;
    s->most = first || bytes > s->most ? bytes : s->most;
}

static void
not_taken_request(void *state, const struct sqt_xact *xact, const struct sqt_request_fact *fact, int64_t felt)
{
    struct not_taken *const n = state;
    const char *const reason = fact->row[SQT_CELL(requests, miss_reason)].text;
    (void)felt; /* a hit saves what the server takes */
    if (!xact->object || xact->outcome != SQT_OUTCOME_COMPLETE)
        return;
    if (!n->objects)
        n->objects = sqt_zeroed(OBJECTS, sizeof(*n->objects));
    struct not_taken_object *const sent = &n->objects[xact->object % OBJECTS];
    if (sent->object == xact->object && sent->refused && sent->end <= xact->begin && xact->size != SQT_MISSING &&
        1u << fact->class & SQT_MISSES && reason && strcmp(reason, "absent") == 0) {
        sizes_add(&n->again, !n->count, xact->size);
        n->since = n->count ? n->since : xact->begin;
        n->until = xact->end;
        n->ns += (uint64_t)sqt_row_sum(fact->row, SQT_SERVER_TIME);
        ++n->count;
    }
    if (xact->fetched > 0)
        *sent = (struct not_taken_object){xact->object, xact->end, xact->not_taken};
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
not_taken_sizes(const struct not_taken *n, char *text, size_t size)
{
    char least[SQT_HUMAN_ROOM], most[SQT_HUMAN_ROOM];
    sqt_human_bytes(least, (double)n->again.least);
    sqt_human_bytes(most, (double)n->again.most);
    const int used = snprintf(text, size, " They have %s to %s", least, most);
    text += used;
    size -= (size_t)used;
    if (!n->written)
        snprintf(text, size, ", and no object at all was written to a cache_dir meanwhile.");
    else if (n->sized >= LEAST_WRITTEN && n->stored.least > n->again.most)
        snprintf(text, size,
                 ", and what is written to a cache_dir is larger: %s and more. They are too small to be stored.",
                 sqt_human_bytes(least, (double)n->stored.least));
    else if (n->sized >= LEAST_WRITTEN && n->stored.most < n->again.least)
        snprintf(text, size,
                 ", and what is written to a cache_dir is smaller: up to %s. They are too large to be stored.",
                 sqt_human_bytes(most, (double)n->stored.most));
    else
        snprintf(text, size, ". %llu objects were written to a cache_dir meanwhile.", (unsigned long long)n->written);
}

static void
not_taken_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const removed[] = {"cache_too_small", NULL};
    const struct not_taken *const n = state;
    char each[SQT_HUMAN_ROOM], sizes[256];
    if (n->count < LEAST || n->ns / n->count < (uint64_t)LEAST_EACH ||
        100.0 * (double)n->ns < (double)totals->total_ns * LEAST_SHARE)
        return;
    sqt_misses_take(tolds, NULL, 0, n->ns);
    sqt_instead(tolds, removed, n->ns, SQT_INSTEAD);
    struct sqt_told *const told = sqt_tolds_add(tolds, "not_taken", SQT_HARM_WAITING, n->ns);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "limits of cache_dir");
    told->since = n->since;
    told->until = n->until;
    told->requests = n->count;
    told->waiting = n->ns;
    told->share = sqt_percent((double)n->ns, (double)totals->total_ns);
    not_taken_sizes(n, sizes, sizeof(sizes));
    sqt_told_print(
        told->sentence,
        "%llu of %llu requests fetch an object again that was fetched before and not kept: no cache_dir took it "
        "then, and it did not stay in memory. Servers take %s for each.%s",
        (unsigned long long)n->count, (unsigned long long)totals->requests,
        sqt_human_time(each, (double)n->ns / (double)n->count, " ", "us"), sizes);
    sqt_told_print(
        told->advice,
        "cache_dir: min-size=, max-size= and no-store. minimum_object_size, and maximum_object_size before the "
        "cache_dir lines. A cache_dir takes nothing either while its disk has too much to do, or no room. "
        "cache_mem and maximum_object_size_in_memory: what stays in memory.");
    sqt_told_print(told->command, "sqtrace-dump --where='miss_reason == absent' TRACE");
}

static void
not_taken_end(void *state)
{
    free(((struct not_taken *)state)->objects);
}

const struct sqt_look sqt_look_not_taken = {.size = sizeof(struct not_taken),
                                            .request = not_taken_request,
                                            .swap = not_taken_swap,
                                            .tell = not_taken_tell,
                                            .end = not_taken_end};
