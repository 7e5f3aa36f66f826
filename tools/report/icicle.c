/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * icicle.c - all time as a tree: classes of requests, what they wait for, stages.  A node is as wide as its time.
 */
#include "index.h"

/* Nodes with a smaller share of all time are left out; nodes with a smaller one have no label. */
#define NODE_SHARE 0.003
#define LABEL_SHARE 0.02

enum group {
#define REPORT_GROUP(GROUP, name) GROUP_##GROUP,
#include "groups.def"
    GROUP_UNACCOUNTED,
    GROUPS
};

static const char *const group_names[GROUPS] = {
#define REPORT_GROUP(GROUP, name) [GROUP_##GROUP] = (name),
#include "groups.def"
    [GROUP_UNACCOUNTED] = "unaccounted",
};

static const enum group part_groups[SQT_PARTS] = {
#define REPORT_PART(STAGE, GROUP, label, text) [SQT_STAGE_##STAGE] = GROUP_##GROUP,
#include "parts.def"
    [SQT_STAGES] = GROUP_UNACCOUNTED,
};

struct icicle {
    struct page *page;
    const struct report_trace *trace;
    double all; /* ns, of all requests */
};

/* Flex factors of less than 1 in all leave room for the nodes that are left out, so a node is as wide as its time. */

/* Begins a node; returns 0 if it is too small to be there.  of: the time of the node above. */
static int
icicle_begin(const struct icicle *c, const char *kind, const char *name, double ns, double of, const char *filter)
{
    const int small = ns < LABEL_SHARE * c->all;
    char grow[32], share[WORDS_ROOM], time[WORDS_ROOM];
    if (ns < NODE_SHARE * c->all)
        return 0;
    snprintf(grow, sizeof(grow), "%.5f", ns / of);
    words_share(ns / c->all, share);
    page_put(c->page, "icicle-node", "kind", kind, "name", name, "label", small ? "" : name, "told", small ? "" : share,
             "grow", grow, "share", share, "time", words_time(ns, time), "filter", filter, NULL);
    return 1;
}

static void
icicle_stages(const struct icicle *c, enum sqt_class class, enum group group, double of)
{
    const uint64_t *const parts = c->trace->classes[class].all.parts;
    unsigned order[SQT_PARTS];
    char filter[LINK_ROOM], kind[64];
    words_order(parts, order);
    for (unsigned i = 0; i < SQT_PARTS; ++i) {
        const unsigned part = order[i];
        if (part_groups[part] != group)
            continue;
        snprintf(kind, sizeof(kind), "part-%s", part < SQT_STAGES ? sqt_stages[part].name : "unaccounted");
        if (!icicle_begin(c, kind, words_part_name(part), (double)parts[part], of,
                          link_of_part(filter, c->trace, class, part)))
            continue;
        page_put(c->page, "icicle-node-end", NULL);
    }
}

static void
icicle_groups(const struct icicle *c, enum sqt_class class, double of)
{
    const uint64_t *const parts = c->trace->classes[class].all.parts;
    uint64_t sums[GROUPS] = {0}, stages[GROUPS] = {0};
    char filter[LINK_ROOM], kind[32];
    for (unsigned p = 0; p < SQT_PARTS; ++p) {
        sums[part_groups[p]] += parts[p];
        stages[part_groups[p]] |= UINT64_C(1) << p;
    }
    for (unsigned g = 0; g < GROUPS; ++g) {
        snprintf(kind, sizeof(kind), "group-%u", g);
        if (!icicle_begin(c, kind, group_names[g], (double)sums[g], of,
                          link_of_parts(filter, c->trace, class, stages[g])))
            continue;
        icicle_stages(c, class, g, (double)sums[g]);
        page_put(c->page, "icicle-node-end", NULL);
    }
}

void
index_icicle(struct page *page, const struct report_trace *t)
{
    struct icicle c = {page, t, 0};
    char filter[LINK_ROOM];
    for (unsigned class = 0; class < SQT_CLASSES; ++class)
        c.all += (double)t->classes[class].all.totals.sum;
    if (c.all <= 0)
        return;
    page_put(page, "icicle-begin", "label", t->label, NULL);
    for (unsigned class = 0; class < SQT_CLASSES; ++class) {
        const double sum = (double)t->classes[class].all.totals.sum;
        if (!icicle_begin(&c, "", words_class(class), sum, c.all, link_of_part(filter, t, class, SQT_PARTS)))
            continue;
        icicle_groups(&c, class, sum);
        page_put(page, "icicle-node-end", NULL);
    }
    page_put(page, "icicle-end", NULL);
}
