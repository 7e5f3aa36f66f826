/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * parquet.c - --format=parquet: several tables in one pass, with the columns that say whose rows they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run.h"

/* What the rows of one table need. */
struct dump_parquet_table {
    struct dump *dump;
    const struct sqt_job *job;
    struct sqt_wide_table wide;
    struct sqt_parquet_table *files;
};

static int
parquet_row(void *context, const union sqt_cell *row)
{
    struct dump_parquet_table *const t = context;
    struct sqt_identity_cells identity;
    union sqt_cell wider[SQT_WIDE_CELLS];
    sqt_identity(&t->dump->identities, &t->job->source, &identity);
    sqt_wide_row(&t->wide, wider, row, &identity);
    return sqt_parquet_row(t->files, t->job->source.origin, wider);
}

/* A file of Parquet has no lines for them; that a bound was met is a warning. */
static void
parquet_note(void *context, const char *key, const char *text)
{
    const struct dump_parquet_table *const t = context;
    char warning[512];
    snprintf(warning, sizeof(warning), "%s: %s", t->job->table->name, text);
    if (strcmp(key, "bound") == 0)
        dump_report(t->dump, SQT_WARNING, warning);
}

struct sqt_job *
dump_parquet_begin(struct dump *d, size_t *count)
{
    const struct dump_request *const r = d->request;
    struct sqt_job *const jobs = sqt_zeroed(r->table_count, sizeof(*jobs));
    d->parquet = sqt_parquet_new(d->sink.out.fd, r->given[DUMP_output], d->sink.start_ns, 0666);
    d->parquet_tables = sqt_zeroed(r->table_count, sizeof(*d->parquet_tables));
    for (unsigned i = 0; i < r->table_count; ++i) {
        struct dump_parquet_table *const t = &d->parquet_tables[i];
        sqt_wide_table_init(&t->wide, r->tables[i]);
        t->wide.start_ns = d->wide.start_ns;
        t->dump = d;
        t->job = &jobs[i];
        t->files = sqt_parquet_add(d->parquet, &t->wide.table);
        jobs[i] = d->job;
        jobs[i].table = r->tables[i];
        jobs[i].row = parquet_row;
        jobs[i].note = parquet_note;
        jobs[i].context = t;
        jobs[i].sourced = 1;
        jobs[i].run = NULL;
        if (!r->given[DUMP_group] && sqt_family_of(r->tables[i])->group)
            jobs[i].group = sqt_family_of(r->tables[i])->group;
    }
    *count = r->table_count;
    return jobs;
}

int
dump_parquet_finish(struct dump *d)
{
    const int failed = sqt_parquet_finish(d->parquet) != 0;
    d->sink.rows = sqt_parquet_rows(d->parquet);
    if (failed)
        fprintf(stderr, "sqtrace-dump: %s\n", sqt_parquet_error(d->parquet));
    sqt_parquet_free(d->parquet);
    free(d->parquet_tables);
    return failed ? -1 : 0;
}
