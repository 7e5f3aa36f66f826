/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * owners.c - whose wait it is where no single name stands out: most servers together, or whoever a cause belongs to.
 */
#include <stdio.h>
#include <string.h>

#include "findings-internal.h"

/* Several servers are told together from so many on, if they are that part of those that have such a wait, in %. */
#define TOGETHER 3
#define TOGETHER_PART 60
/* So many connections as late as after a lost SYN are named. */
#define SYNS 5

/* Servers of which a rule tells a finding, and those that have what it claims. */
struct together {
    unsigned told, all;
};

static struct together
together_count(struct sqt_findings *f, unsigned rule)
{
    struct together found = {0, 0};
    for (unsigned i = 0; i < f->count; ++i)
        found.told += f->found[i].rule == &sqt_finding_rules[rule];
    for (struct sqt_name_entry *named = f->names[SQT_FINDING_SERVER].first; named; named = named->next)
        found.all += sqt_finding_claim_of(f, (struct sqt_subject *)named, rule)->count > 0;
    return found;
}

static void
together_join(struct sqt_findings *f, unsigned each, unsigned all)
{
    const struct together found = together_count(f, each);
    unsigned left = 0;
    if (found.told < TOGETHER || found.told * 100 < found.all * TOGETHER_PART)
        return;
    for (unsigned i = 0; i < f->count; ++i)
        if (f->found[i].rule != &sqt_finding_rules[each])
            f->found[left++] = f->found[i];
    f->found[left] = (struct sqt_finding){&sqt_finding_rules[all], &f->all, sqt_finding_claim_of(f, &f->all, all)};
    f->count = left + 1;
}

void
sqt_findings_together(struct sqt_findings *f)
{
    together_join(f, SQT_FINDING_NUMBER_connect_server, SQT_FINDING_NUMBER_connect);
    together_join(f, SQT_FINDING_NUMBER_tls_server, SQT_FINDING_NUMBER_tls);
}

void
sqt_findings_add_syns(const struct sqt_findings *f, const struct sqt_finding *x, struct sqt_told *told)
{
    const size_t used = strlen(told->sentence);
    if (x->rule == &sqt_finding_rules[SQT_FINDING_NUMBER_connect] && f->all.syns >= SYNS)
        snprintf(told->sentence + used, sizeof(told->sentence) - used,
                 " %llu of them took 1 s or 3 s, as when a first packet (SYN) is lost and TCP sends it again.",
                 (unsigned long long)f->all.syns);
}

void
sqt_findings_own(struct sqt_tolds *tolds)
{
    static const struct {
        const char *cause, *owner;
    } owners[] = {
#define SQT_FINDING_OWNER(cause, owner) {#cause, owner},
#include "findings.def"
    };
    for (unsigned i = 0; i < tolds->count; ++i)
        for (unsigned k = 0; k < sizeof(owners) / sizeof(*owners) && !*tolds->told[i]->culprit; ++k)
            if (strcmp(tolds->told[i]->cause, owners[k].cause) == 0)
                snprintf(tolds->told[i]->culprit, sizeof(tolds->told[i]->culprit), "%s", owners[k].owner);
}
