/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * family.c - see family.h.
 */
#include "family.h"

#include <stdio.h>

static const struct sqt_family *const families[SQT_TABLES] = {
#define SQT_TABLE(id, name, kind, doc) [SQT_TABLE_##id] = &sqt_family_##id,
#define SQT_FIGURE(id, name, family, title, x, y, rule, caption) [SQT_TABLE_##id] = &sqt_family_##family,
#include "row/tables.def"
};

const struct sqt_family *
sqt_family_of(const struct sqt_table *table)
{
    return families[table - sqt_tables];
}

void
sqt_job_note_bound(const struct sqt_job *job, uint64_t count, const char *words)
{
    char text[256];
    snprintf(text, sizeof(text), "%llu %s", (unsigned long long)count, words);
    if (count)
        job->note(job->context, "bound", text);
}

void
sqt_job_note_coarse(const struct sqt_job *job, const char *key, int coarse)
{
    job->note(job->context, key, coarse ? "at most 0.1 % off (log-linear histogram)" : "exact");
}
