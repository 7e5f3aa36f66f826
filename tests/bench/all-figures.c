/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * all-figures.c - makes every figure of a trace in one pass, and throws the rows away; for measuring.
 *
 * usage: all-figures TRACE [none | FIGURE...]
 */
/* RUSAGE_THREAD */
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../../src/figure/pass.h"

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

static double
seconds(const struct rusage *r)
{
    return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) + (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
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
    struct sqt_stream *const stream =
        argc > 1 ? sqt_stream_open((const char *const *)&argv[1], 1, report, NULL) : NULL;
    if (!stream)
        return 1;
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (wanted(&sqt_tables[i], argc, argv))
            jobs[count++] = (struct sqt_job){.table = &sqt_tables[i], .since = INT64_MIN, .until = INT64_MAX,
                                             .group = INT64_C(1200000000000), .peak = INT64_C(3600000000000),
                                             .row = row, .note = note, .context = &rows};
    struct sqt_pass *const pass = count ? sqt_pass_new(jobs, count, NULL) : NULL;
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
    struct rusage here, all;
    getrusage(RUSAGE_THREAD, &here);
    getrusage(RUSAGE_SELF, &all);
    printf("%zu figures, %llu rows, %llu records, %.3f s of which %.3f s in a second thread\n", count,
           (unsigned long long)rows, (unsigned long long)records, seconds(&all), seconds(&all) - seconds(&here));
    return 0;
}
