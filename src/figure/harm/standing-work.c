/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * standing-work.c - the work that Squid did in a standstill, such as reading a list of an ACL; and why it ended itself.
 */
#include <stdio.h>
#include <string.h>

#include "standstill.h"

/* Lists that are read within that time are of the same start or reconfiguration, ns. */
#define TOGETHER INT64_C(60000000000)
/* Children of helpers are started one after the other, at most so long after each other, ns. */
#define NEXT INT64_C(500000000)

static struct sqt_standing_kid *
working_kid(struct sqt_standstill *s, const struct sqt_origin *origin)
{
    struct sqt_standing_kid *const kid =
        origin->identity.kid < SQT_STANDING_KIDS ? &s->kids[origin->identity.kid] : NULL;
    return kid && kid->origin == origin ? kid : NULL;
}

static void
working_list(struct sqt_standstill *s, const struct sqt_incident_row *row)
{
    const char *const acl = sqt_incident_who(row);
    const int64_t took = row->took == SQT_MISSING ? 0 : row->took;
    struct sqt_standing_list *const list = &s->list;
    if (list->origin == row->origin && row->at - list->at < TOGETHER && list->took >= took)
        return;
    *list = (struct sqt_standing_list){.origin = row->origin, .at = row->at, .took = took, .values = row->count};
    snprintf(list->acl, sizeof(list->acl), "%s", acl ? acl : "");
}

static void
working_child(struct sqt_standing_kid *kid, const struct sqt_incident_row *row)
{
    const char *const helper = sqt_incident_who(row) ? sqt_incident_who(row) : "";
    if (strcmp(kid->ending.helper, helper) != 0)
        kid->ending.died = 0;
    snprintf(kid->ending.helper, sizeof(kid->ending.helper), "%s", helper);
    ++kid->ending.died;
}

static void
working_started(struct sqt_standstill *s, const struct sqt_incident_row *row)
{
    const char *const name = sqt_incident_who(row) ? sqt_incident_who(row) : "";
    if (s->children.origin != row->origin || row->at - s->children.until > NEXT) {
        snprintf(s->children.name, sizeof(s->children.name), "%s", name);
        s->children.origin = row->origin;
        s->children.since = row->at;
        s->children.count = 0;
    }
    if (strcmp(s->children.name, name) != 0)
        *s->children.name = '\0';
    s->children.until = row->at;
    ++s->children.count;
}

void
sqt_standing_incident(struct sqt_standstill *s, const struct sqt_incident_row *row)
{
    struct sqt_standing_kid *const kid = working_kid(s, row->origin);
    const char *const words = sqt_incident_who(row);
    if (row->event == SQT_EV_LIST_READ)
        working_list(s, row);
    if (row->event == SQT_EV_CHILD_STARTED)
        working_started(s, row);
    if (row->event == SQT_EV_CHILD_DIED && kid)
        working_child(kid, row);
    if (row->event == SQT_EV_FATAL && kid) {
        kid->ending.at = row->at;
        snprintf(kid->ending.why, sizeof(kid->ending.why), "%s", words ? words : "an error");
    }
    if (row->event == SQT_EV_SWAP_LOGS_WRITTEN) {
        s->written.origin = row->origin;
        s->written.at = row->at;
        s->written.entries = row->count;
    }
}

void
sqt_standing_worked(const struct sqt_standstill *s, struct sqt_standing_group *group, const struct sqt_origin *origin,
                    int64_t since, int64_t until)
{
    const struct sqt_standing_list *const list = &s->list;
    if ((!origin || list->origin == origin) && list->at >= since && list->at <= until && list->took > group->list.took)
        group->list = *list;
    if (s->written.origin == origin && s->written.at >= since && s->written.at <= until &&
        s->written.entries > group->entries)
        group->entries = s->written.entries;
    if (s->children.origin == origin && s->children.since >= since && s->children.until <= until) {
        int64_t ns;
        if (s->children.count > group->children.count) {
            group->children.count = s->children.count;
            snprintf(group->children.name, sizeof(group->children.name), "%s", s->children.name);
        }
        if (__builtin_sub_overflow(s->children.until, s->children.since, &ns) ||
            __builtin_add_overflow(group->children.ns, ns, &group->children.ns))
            group->children.ns = INT64_MAX;
    }
}
