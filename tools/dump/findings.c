/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * findings.c - what table `findings` says, as comments behind table `summary`.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "run.h"

#define LINE_SIZE 2048

static int
findings_take(void *context, const union sqt_cell *row)
{
    struct dump_findings *const f = context;
    const char *const advice = row[SQT_CELL(findings, advice)].text;
    f->lines = sqt_resized(f->lines, (f->count + 1) * sizeof(*f->lines));
    char *const line = f->lines[f->count++] = sqt_zeroed(1, LINE_SIZE);
    snprintf(line, LINE_SIZE, "%s%s%s", row[SQT_CELL(findings, sentence)].text, advice ? " " : "",
             advice ? advice : "");
    return 1;
}

/* How good percentiles are is said of the summary's own. */
static void
findings_note(void *context, const char *key, const char *text)
{
    (void)context, (void)key, (void)text;
}

int
dump_findings_begin(struct dump *d)
{
    if (d->job.table != &sqt_tables[SQT_TABLE_summary] || d->sink.no_comments || !d->sink.type->comment)
        return 0;
    d->findings.job = (struct sqt_job){.table = &sqt_tables[SQT_TABLE_findings],
                                       .where = d->job.where,
                                       .since = d->job.since,
                                       .until = d->job.until,
                                       .row = findings_take,
                                       .note = findings_note,
                                       .context = &d->findings};
    return 1;
}

void
dump_findings_print(struct dump *d)
{
    for (size_t i = 0; i < d->findings.count; ++i) {
        sqt_sink_comment(&d->sink, "finding", d->findings.lines[i]);
        free(d->findings.lines[i]);
    }
    free(d->findings.lines);
}
