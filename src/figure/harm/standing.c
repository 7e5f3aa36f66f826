/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * standing.c - which requests a standstill met: those that were over when it ended, and those that end later.
 */
#include <stdio.h>

#include "standstill.h"

#define SECOND INT64_C(1000000000)
/* The rate before a standstill is that of so many seconds. */
#define BEFORE 10
/* Names of their own. */
#define GROUPS 64
/* Less is no wait, ns. */
#define FELT INT64_C(1000000)
/* What is read within that time after a standstill was there before, ns. */
#define SOON INT64_C(2000000)

/* What its client waited in the standstill.  When bytes on a kept connection came is not known: where they are read as soon
 * as it is over, they came in it, and waited for half of it in the mean. */
static int64_t
standing_waited(const struct sqt_standing *x, const struct sqt_stood *r)
{
    const int64_t from = x->since > r->from ? x->since : r->from, until = x->until < r->until ? x->until : r->until;
    if (!x->group || x->origin != r->origin)
        return 0;
    if (r->kept && r->from >= x->until && r->from < x->until + SOON)
        return (x->until - x->since) / 2;
    return until - from >= FELT ? until - from : 0;
}

static void
standing_meet(struct sqt_standing *x, const struct sqt_stood *r)
{
    const int64_t ns = standing_waited(x, r);
    x->group->waited_ns += (uint64_t)ns;
    x->group->requests += ns > 0;
}

static struct sqt_standing_group *
standing_group(struct sqt_standstill *s, enum sqt_standing_kind kind, const char *name)
{
    char key[SQT_TOLD_NAME];
    s->groups.size = sizeof(struct sqt_standing_group);
    s->groups.most = GROUPS;
    snprintf(key, sizeof(key), "%u %s", kind, name);
    struct sqt_standing_group *const group = sqt_names_get(&s->groups, key);
    if (!group->count)
        group->kind = kind;
    return group;
}

struct sqt_standing_group *
sqt_standing_add(struct sqt_standstill *s, enum sqt_standing_kind kind, const char *name,
                 const struct sqt_origin *origin, int64_t since, int64_t until)
{
    struct sqt_standing_group *const group = standing_group(s, kind, name);
    struct sqt_standing *const x = &s->standings[s->standing_count++ % SQT_STANDINGS];
    *x = (struct sqt_standing){group, origin, since, until};
    group->since = group->count ? group->since : since;
    group->until = until;
    if (__builtin_add_overflow(group->ns, until - since, &group->ns))
        group->ns = INT64_MAX;
    group->longest = until - since > group->longest ? until - since : group->longest;
    ++group->count;
    s->latest = until > s->latest ? until : s->latest;
    for (uint64_t i = 0; i < s->stood_count && i < SQT_STOOD; ++i)
        standing_meet(x, &s->stood[i]);
    return group;
}

void
sqt_standing_request(struct sqt_standstill *s, const struct sqt_xact *xact)
{
    const int kept = xact->accept_wait == SQT_MISSING && xact->read_wait != SQT_MISSING;
    const int64_t before = xact->accept_wait != SQT_MISSING ? xact->accept_wait : kept ? xact->read_wait : 0;
    struct sqt_stood *const r = &s->stood[s->stood_count++ % SQT_STOOD];
    *r = (struct sqt_stood){xact->origin, xact->begin - before, xact->begin, xact->end, kept};
    for (uint64_t i = 0; r->from < s->latest + SOON && i < s->standing_count && i < SQT_STANDINGS; ++i)
        standing_meet(&s->standings[i], r);
}

double
sqt_standing_rate(const struct sqt_standstill *s, int64_t at)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->stood_count && i < SQT_STOOD; ++i)
        count += s->stood[i].begin < at && s->stood[i].begin >= at - BEFORE * SECOND;
    const int64_t since = at < BEFORE * SECOND ? at : BEFORE * SECOND;
    return since > 0 ? (double)count * 1e9 / (double)since : 0;
}

uint64_t
sqt_standing_open(const struct sqt_standstill *s, int64_t begun, int64_t until)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < s->stood_count && i < SQT_STOOD; ++i)
        count += s->stood[i].begin <= begun && s->stood[i].until >= until;
    return count;
}
