/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sink.c - see sink.h.
 */
#include "sink.h"

#include <stdlib.h>

const struct sqt_sink_type sqt_sink_types[] = {
    {.name = "tsv",
     .doc = "columns separated by tabs, with a header row, for gnuplot and spreadsheets",
     .follows = 1,
     .comment = sqt_tsv_comment,
     .header = sqt_tsv_header,
     .row = sqt_tsv_row,
     .events = sqt_tsv_events},
    {.name = "table",
     .doc = "aligned columns with units, for people; a terminal gets it without being asked",
     .comment = sqt_aligned_comment,
     .header = sqt_aligned_header,
     .row = sqt_aligned_row,
     .finish = sqt_aligned_finish},
    {.name = "json",
     .doc = "an object a line, with the names of tsv; a missing value is null",
     .follows = 1,
     .comment = sqt_json_comment,
     .row = sqt_json_row},
    {.name = "chrome",
     .doc = "trace-event JSON of requests and what they wait for, for Perfetto and Chromium",
     .table = "requests",
     .family = &sqt_chrome_family,
     .comment = sqt_chrome_comment,
     .header = sqt_chrome_header,
     .finish = sqt_chrome_finish},
    {.name = "ctf",
     .doc = "a directory of all records in the Common Trace Format 1.8, for babeltrace2 and Trace Compass",
     .table = "events",
     .directory = 1,
     .events = sqt_ctf_events,
     .finish = sqt_ctf_finish},
    {.name = "otlp",
     .doc = "spans of requests and what they wait for, for OpenTelemetry: its JSON, an object TracesData a line",
     .table = "requests",
     .family = &sqt_otlp_family,
     .follows = 1,
     .sourced = 1},
    {.name = "gnuplot",
     .doc = "a script that draws a figure, with its data in it; --plot=FILE.gp is short for it",
     .figures = 1,
     .comment = sqt_plot_comment,
     .header = sqt_plot_header,
     .row = sqt_plot_row,
     .finish = sqt_plot_finish},
    {.name = "parquet",
     .doc = "a directory of Parquet files, of several tables in one pass, for DuckDB, ClickHouse, Spark and pandas",
     .directory = 1,
     .many = 1},
};
const unsigned sqt_sink_type_count = sizeof(sqt_sink_types) / sizeof(*sqt_sink_types);

void
sqt_sink_comment(struct sqt_sink *sink, const char *key, const char *text)
{
    if (!sink->no_comments && sink->type->comment)
        sink->type->comment(sink, key, text);
}

void
sqt_sink_header(struct sqt_sink *sink)
{
    if (!sink->headed && sink->type->header)
        sink->type->header(sink);
    sink->headed = 1;
}

int
sqt_sink_row(void *context, const union sqt_cell *row)
{
    struct sqt_sink *const sink = context;
    if (!sink->headed)
        sqt_sink_header(sink);
    sink->type->row(sink, row);
    ++sink->rows;
    return !sink->out.error && !sink->out.gone;
}

int
sqt_sink_events(struct sqt_sink *sink, const struct sqt_run *run, int64_t since, int64_t until)
{
    if (!sink->headed)
        sqt_sink_header(sink);
    sink->type->events(sink, run, since, until);
    return !sink->out.error && !sink->out.gone;
}

void
sqt_sink_finish(struct sqt_sink *sink)
{
    if (sink->type->finish)
        sink->type->finish(sink);
    sqt_out_flush(&sink->out);
}

void
sqt_sink_free(struct sqt_sink *sink)
{
    for (unsigned i = 0; i < sink->origin_count; ++i)
        free(sink->origins[i]);
    free(sink->origins);
    sqt_out_free(&sink->out);
}
