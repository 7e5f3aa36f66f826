/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * more-children.c - what more children of a helper would bring, in the advice of findings about its queue.
 */
#include <stdio.h>
#include <string.h>

#include "figure/finding/look.h"
#include "figure/whatif/whatif.h"

struct more_children {
    struct sqt_job job; /* without a table: no rows */
    struct sqt_whatif_children *children;
};

static void
more_children_wait(void *state, const struct sqt_wait *wait)
{
    struct more_children *const m = state;
    if (!m->children)
        m->children = sqt_whatif_children_new(&m->job);
    sqt_whatif_children_wait(m->children, wait);
}

static void
more_children_tell(void *state, const struct sqt_look_totals *totals, struct sqt_tolds *tolds)
{
    static const char *const causes[] = {"rewriter_queue", "helper_queue"};
    struct more_children *const m = state;
    for (unsigned i = 0; m->children && i < sizeof(causes) / sizeof(*causes); ++i) {
        struct sqt_told *const told = sqt_tolds_find(tolds, causes[i], NULL, 0);
        char text[128];
        if (!told ||
            !sqt_whatif_children_advice(m->children, told->culprit, (double)totals->total_ns, text, sizeof(text)))
            continue;
        const size_t used = strlen(told->advice);
        snprintf(told->advice + used, sizeof(told->advice) - used, " %s Table whatif has other numbers.", text);
    }
}

static void
more_children_end(void *state)
{
    struct more_children *const m = state;
    if (m->children)
        sqt_whatif_children_finish(m->children);
}

const struct sqt_look sqt_look_more_children = {
    .size = sizeof(struct more_children),
    .wait = more_children_wait,
    .tell = more_children_tell,
    .end = more_children_end,
};
