/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * all-figures.c - makes every figure of a trace in one pass, and throws the rows away; for measuring.
 *
 * usage: all-figures TRACE [none | FIGURE...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/pass.h"

static void
report(void *context, enum sqt_severity severity, const char *text)
{
    (void)context;
    (void)severity;
    fprintf(stderr, "all-figures: %s\n", text);
}

static int
row(void *rows, const union sqt_cell *cells)
{
    (void)cells;
    ++*(uint64_t *)rows;
    return 1;
}

static void
note(void *rows, const char *key, const char *text)
{
    (void)rows;
    (void)key;
    (void)text;
}

static int
wanted(const struct sqt_table *table, int argc, char **argv)
{
    for (int i = 2; i < argc; ++i)
        if (strcmp(argv[i], table->name) == 0)
            return 1;
    return argc == 2 && table->figure;
}

int
main(int argc, char **argv)
{
    static struct sqt_job jobs[SQT_TABLES];
    uint64_t rows = 0, records = 0;
    size_t count = 0;
    struct sqt_stream *const stream = argc > 1 ? sqt_stream_open((const char *const *)&argv[1], 1, report, NULL) : NULL;
    if (!stream)
        return 1;
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (wanted(&sqt_tables[i], argc, argv))
            jobs[count++] = (struct sqt_job){.table = &sqt_tables[i],
                                             .since = INT64_MIN,
                                             .until = INT64_MAX,
                                             .group = INT64_C(1200000000000),
                                             .peak = INT64_C(3600000000000),
                                             .row = row,
                                             .note = note,
                                             .context = &rows};
    struct sqt_crew *const crew = sqt_crew_new(sqt_processors() - 1);
    struct sqt_pass *const pass = count ? sqt_pass_new(jobs, count, NULL, crew) : NULL;
    sqt_stream_share(stream, crew);
    struct sqt_run run;
    while (sqt_stream_next(stream, &run)) {
        records += run.count;
        if (pass)
            sqt_pass_run(pass, &run);
    }
    if (pass)
        sqt_pass_finish(pass);
    sqt_pass_free(pass);
    sqt_stream_close(stream);
    sqt_crew_free(crew);
    printf("%zu figures, %llu rows, %llu records\n", count, (unsigned long long)rows, (unsigned long long)records);
    return 0;
}
