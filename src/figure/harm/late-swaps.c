/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * late-swaps.c - swaps that a disker did not take or answer in time: adds to what is told of their cache_dir.
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Fewer are not told. */
#define LEAST 5
#define PLACES 64

struct late_place {
    struct sqt_name_entry named;
    uint64_t swaps, late;
    uint64_t reads;  /* of the late ones */
    uint64_t waited; /* for those, ns */
    int64_t longest; /* of those that were too late, ns */
};

struct late_swaps {
    struct sqt_names places; /* of struct late_place */
};

static void
swaps_late_swap(void *state, const struct sqt_swap *swap)
{
    struct late_swaps *const l = state;
    char name[SQT_FINDING_NAME];
    if (swap->update)
        return;
    l->places.size = sizeof(struct late_place);
    l->places.most = PLACES;
    sqt_finding_swap_name(swap, name);
    struct late_place *const place = sqt_names_get(&l->places, name);
    ++place->swaps;
    if (swap->outcome != SQT_OUTCOME_TIMEOUT)
        return;
    ++place->late;
    place->reads += !swap->out;
    place->waited += swap->out ? 0 : (uint64_t)(swap->end - swap->begin);
    place->longest = swap->end - swap->begin > place->longest ? swap->end - swap->begin : place->longest;
}

static void
swaps_late_add(const struct late_place *place, struct sqt_told *told)
{
    char longest[SQT_HUMAN_ROOM];
    const size_t used = strlen(told->sentence);
    snprintf(
        told->sentence + used, sizeof(told->sentence) - used,
        " %llu of %llu swaps timed out: its disker did not take them in time, and Squid gave them up after up to %s.",
        (unsigned long long)place->late, (unsigned long long)place->swaps,
        sqt_human_time(longest, (double)place->longest, " ", "us"));
    sqt_told_print(
        told->advice,
        "cache_dir rock: max-swap-rate= limits how many blocks a second its disker takes, and swap-timeout= for "
        "how long one may take: a larger max-swap-rate, or none. Else look whether the disker runs, and at its "
        "disk.");
}

/* The only cache_dir whose reads are late; NULL: there are none, or several. */
static const struct late_place *
swaps_late_only(const struct late_swaps *l)
{
    const struct late_place *only = NULL;
    for (const struct sqt_name_entry *named = l->places.first; named; named = named->next) {
        if (((const struct late_place *)named)->reads < LEAST)
            continue;
        if (only)
            return NULL;
        only = (const struct late_place *)named;
    }
    return only;
}

/* Blocks that are given up have no parts, so that no rule of a cache_dir is about them.  What waits for cache_dirs has that
 * culprit only if half of it or more is late reads. */
static void
swaps_late_name(const struct late_swaps *l, struct sqt_tolds *tolds)
{
    const struct late_place *const only = swaps_late_only(l);
    for (unsigned i = 0; only && i < tolds->count; ++i)
        if (strcmp(tolds->told[i]->cause, "cache_dirs") == 0 && only->waited >= tolds->told[i]->waiting / 2)
            snprintf(tolds->told[i]->culprit, SQT_TOLD_NAME, "%s", only->named.name);
}

static void
swaps_late_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    const struct late_swaps *const l = state;
    (void)totals;
    swaps_late_name(l, tolds);
    for (const struct sqt_name_entry *named = l->places.first; named; named = named->next)
        for (unsigned i = 0; i < tolds->count; ++i)
            if (((const struct late_place *)named)->late >= LEAST && strcmp(tolds->told[i]->culprit, named->name) == 0)
                swaps_late_add((const struct late_place *)named, tolds->told[i]);
}

static void
swaps_late_end(void *state)
{
    sqt_names_free(&((struct late_swaps *)state)->places);
}

const struct sqt_look sqt_look_late_swaps = {
    .size = sizeof(struct late_swaps), .swap = swaps_late_swap, .tell = swaps_late_tell, .end = swaps_late_end};
