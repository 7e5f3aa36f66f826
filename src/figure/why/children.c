/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * children.c - helpers whose children die, although Squid did not ask them to.
 *
 * And queues before helpers of which Squid starts no more children.
 *
 * Questions that such a child had are told of where they failed.  Squid starts another child, so nobody may feel it for
 * long: until it happens too often, and Squid ends itself.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/stat/names.h"

/* Fewer are an accident. */
#define LEAST 3
#define HELPERS 64
/* Statuses that are told apart: those of exit and signals. */
#define STATUSES 512
/* So many make a pattern. */
#define RECURRING 3
/* So many starts of a helper's children are known; of one that has more nothing is said. */
#define STARTS 64
/* A queue lasts for so long without a start, ns. */
#define NO_START INT64_C(5000000000)

struct helper {
    struct sqt_name_entry named;
    uint64_t died, silent, started, unknown;
    uint32_t statuses[STATUSES];
    int64_t since, until;
    int64_t starts[STARTS];
    unsigned start_count;
};

struct children {
    struct sqt_names helpers; /* of struct helper */
};

static void
children_incident(void *state, const struct sqt_incident_row *row)
{
    struct children *const c = state;
    const char *const name = sqt_incident_who(row);
    if (row->event != SQT_EV_CHILD_STARTED && row->event != SQT_EV_CHILD_DIED)
        return;
    c->helpers.size = sizeof(struct helper);
    c->helpers.most = HELPERS;
    struct helper *const h = sqt_names_get(&c->helpers, name ? name : "helper");
    h->started += row->event == SQT_EV_CHILD_STARTED && h->died > h->started;
    if (row->event == SQT_EV_CHILD_STARTED) {
        if (h->start_count < STARTS)
            h->starts[h->start_count] = row->at;
        ++h->start_count;
        return;
    }
    h->since = h->died ? h->since : row->at;
    h->until = row->at;
    ++h->died;
    h->silent += (uint64_t)row->silent;
    if (row->code < STATUSES)
        ++h->statuses[row->code];
    else
        ++h->unknown;
}

/* How most of them ended: "with status 1", "by signal 9"; "": not known. */
static void
children_ended(const struct helper *h, char text[32])
{
    unsigned most = 0;
    for (unsigned i = 1; i < STATUSES; ++i)
        most = h->statuses[i] > h->statuses[most] ? i : most;
    *text = '\0';
    if (h->statuses[most] <= h->unknown)
        return;
    snprintf(text, 32, most < SQT_EXIT_SIGNAL ? ", most with status %u" : ", most by signal %u",
             most < SQT_EXIT_SIGNAL ? most : most - SQT_EXIT_SIGNAL);
}

static const char *
children_name(const struct helper *h)
{
    return sqt_names_is_others(&h->named) ? "other helpers" : h->named.name;
}

static void
children_print(const struct helper *h, const char *before, char *text, size_t size)
{
    char ended[32], started[64] = "none";
    children_ended(h, ended);
    if (h->started)
        snprintf(started, sizeof(started), "%llu", (unsigned long long)h->started);
    snprintf(text, size, "%s%llu children of %s died%s; %llu had not answered one question. Squid started %s again.",
             before, (unsigned long long)h->died, children_name(h), ended, (unsigned long long)h->silent, started);
}

static void
children_tell_one(const struct helper *h, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char advice[] =
        "Run that helper by hand, as Squid's user: cache.log has what it wrote to its standard "
        "error. Squid ends itself if children die within 30 s of their start.";
    struct sqt_told *told = sqt_tolds_find(tolds, NULL, children_name(h), 0); /* of that helper already */
    char when[128], text[SQT_TOLD_TEXT];
    const size_t used = told ? strlen(told->sentence) : 0;
    if (told) {
        children_print(h, " ", told->sentence + used, sizeof(told->sentence) - used);
        return;
    }
    told = sqt_tolds_add(tolds, "dying_children", SQT_HARM_RESOURCE, 0);
    if (!told)
        return;
    snprintf(told->culprit, sizeof(told->culprit), "%s", children_name(h));
    told->since = h->since;
    told->until = h->until > h->since ? h->until : totals->end;
    told->pattern = h->died >= RECURRING ? SQT_PATTERN_RECURRING : SQT_PATTERN_ONCE;
    children_print(h, "", text, sizeof(text));
    sqt_told_print(told->sentence, "%s, %s", sqt_told_when(when, sizeof(when), told), text);
    sqt_told_print(told->advice, "%s", advice);
    sqt_told_print(told->command, "sqtrace-dump --table=incidents --where='incident == child_died' TRACE");
}

/* The longest time of a queue in which no child was started; helper NULL: none ever was. */
static int64_t
children_gap(const struct helper *h, int64_t since, int64_t until)
{
    int64_t last = since, gap = 0;
    if (h && h->start_count > STARTS)
        return 0;
    for (unsigned i = 0; h && i < h->start_count; ++i) {
        const int64_t at = h->starts[i];
        if (at <= last || at >= until)
            continue;
        gap = at - last > gap ? at - last : gap;
        last = at;
    }
    return until - last > gap ? until - last : gap;
}

/* A queue before a helper that Squid does not relieve. */
static void
children_tell_queue(const struct children *c, struct sqt_told *told)
{
    const struct helper *its = NULL;
    for (const struct sqt_name_entry *named = c->helpers.first; named; named = named->next)
        if (strcmp(named->name, told->culprit) == 0)
            its = (const struct helper *)named;
    const int64_t gap = children_gap(its, told->since, told->until);
    size_t used = strlen(told->sentence);
    if (gap < NO_START)
        return;
    snprintf(told->sentence + used, sizeof(told->sentence) - used,
             " Squid started no more of its children for %.0f s of that time.", (double)gap / 1e9);
    used = strlen(told->advice);
    snprintf(told->advice + used, sizeof(told->advice) - used,
             " If it has fewer children than that allows, cache.log says why none is started: fork fails, for want of "
             "memory or at a limit of processes (pids.max, ulimit -u).");
}

static void
children_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const queues[] = {"rewriter_queue", "helper_queue"};
    struct children *const c = state;
    for (unsigned i = 0; i < sizeof(queues) / sizeof(*queues); ++i)
        if (sqt_tolds_find(tolds, queues[i], NULL, 0))
            children_tell_queue(c, sqt_tolds_find(tolds, queues[i], NULL, 0));
    for (const struct sqt_name_entry *named = c->helpers.first; named; named = named->next)
        if (((const struct helper *)named)->died >= LEAST)
            children_tell_one((const struct helper *)named, totals, tolds);
}

static void
children_end(void *state)
{
    sqt_names_free(&((struct children *)state)->helpers);
}

const struct sqt_look sqt_look_children = {
    .size = sizeof(struct children), .incident = children_incident, .tell = children_tell, .end = children_end};
