/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * told-drop.c - findings that go because another one says the same better.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "told.h"

/* What is looked for: each kind of question uses some of it. */
struct dropped {
    const struct sqt_told *better;
    const char *cause, *culprit, *const *causes;
    uint64_t waiting;
    unsigned percent;
};

static void
tolds_drop_if(struct sqt_tolds *tolds, int (*is_dropped)(const struct sqt_told *told, const struct dropped *by),
              const struct dropped *by)
{
    unsigned left = 0;
    for (unsigned i = 0; i < tolds->count; ++i)
        if (is_dropped(tolds->told[i], by))
            sqt_freed(tolds->told[i]);
        else
            tolds->told[left++] = tolds->told[i];
    tolds->count = left;
}

/* Whether both are of one culprit: a helper is named with and without its kind.  What has no culprit is the same if
 * it is about as much. */
static int
is_same(const struct sqt_told *told, const struct dropped *by)
{
    const struct sqt_told *const a = told, *const b = by->better;
    if (a == b || a->now || a->apart || a->harm != SQT_HARM_WAITING)
        return 0;
    if (!*a->culprit || !*b->culprit)
        return a->waiting / 5 * 4 <= b->waiting && b->waiting / 5 * 4 <= a->waiting;
    return (sqt_told_names(a->culprit, b->culprit) || sqt_told_names(b->culprit, a->culprit)) &&
           a->waiting / 2 <= b->waiting;
}

void
sqt_tolds_supersede(struct sqt_tolds *tolds, const struct sqt_told *better)
{
    tolds_drop_if(tolds, is_same, &(struct dropped){.better = better});
}

void
sqt_tolds_now(struct sqt_tolds *tolds)
{
    struct sqt_told *now[SQT_TOLD_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < tolds->count; ++i)
        if (tolds->told[i]->now)
            now[count++] = tolds->told[i];
    for (unsigned i = 0; i < count; ++i)
        sqt_tolds_supersede(tolds, now[i]);
}

static int
is_spared(const struct sqt_told *told, const struct dropped *by)
{
    return strcmp(told->cause, by->cause) == 0 && told->waiting / 5 * 4 <= by->waiting;
}

void
sqt_tolds_spare(struct sqt_tolds *tolds, const char *cause, uint64_t waiting)
{
    tolds_drop_if(tolds, is_spared, &(struct dropped){.cause = cause, .waiting = waiting});
}

static int
is_of_culprit(const struct sqt_told *told, const struct dropped *by)
{
    return strcmp(told->cause, by->cause) == 0 && strcmp(told->culprit, by->culprit) == 0;
}

void
sqt_tolds_drop(struct sqt_tolds *tolds, const char *cause, const char *culprit)
{
    tolds_drop_if(tolds, is_of_culprit, &(struct dropped){.cause = cause, .culprit = culprit});
}

static int
is_of_causes(const struct sqt_told *told, const struct dropped *by)
{
    for (const char *const *cause = by->causes; *cause; ++cause)
        if (strcmp(told->cause, *cause) == 0)
            return (double)by->waiting * 100 >= (double)told->waiting * by->percent;
    return 0;
}

void
sqt_instead(struct sqt_tolds *tolds, const char *const *causes, uint64_t ns, unsigned percent)
{
    tolds_drop_if(tolds, is_of_causes, &(struct dropped){.causes = causes, .waiting = ns, .percent = percent});
}
