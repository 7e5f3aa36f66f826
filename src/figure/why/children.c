/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * children.c - helpers whose children die, although Squid did not ask them to.
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

struct helper {
    struct sqt_name_entry named;
    uint64_t died, silent, started, unknown;
    uint32_t statuses[STATUSES];
    int64_t since, until;
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
    if (row->event == SQT_EV_CHILD_STARTED)
        return;
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

static void
children_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    struct children *const c = state;
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
