/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-dump.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/memory.h"
#include "read/strace.h"
#include "../program/sampling.h"
#include "dump.h"

const struct option_info dump_option_infos[DUMP_OPTIONS] = {
#define DUMP_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

#define DEFAULT_GROUP INT64_C(1200000000000) /* 20 min */
#define DEFAULT_PEAK INT64_C(3600000000000)  /* 1 h */
#define SECOND INT64_C(1000000000)

/* The tables of a format that takes several. */
static int
take_tables(struct dump_request *r, const struct options *o)
{
    if (program_take_tables(o, DUMP_table, r->tables, &r->table_count) != 0)
        return -1;
    if (r->given[DUMP_where] && r->table_count > 1)
        return options_fail(o, "--where goes with one table: name it with --table=NAME");
    r->table = r->tables[0];
    r->family = sqt_family_of(r->table);
    return 0;
}

static int
take_table(struct dump_request *r, const struct options *o)
{
    if (r->given[DUMP_table] && r->given[DUMP_figure])
        return options_fail(o, "--table and --figure exclude each other");
    if (r->format->many)
        return take_tables(r, o);
    const int figure = r->given[DUMP_figure] != NULL;
    const char *const kind = figure ? "figure" : "table";
    const char *const name = figure                  ? r->given[DUMP_figure]
                             : r->given[DUMP_table]  ? r->given[DUMP_table]
                             : r->given[DUMP_whatif] ? "whatif"
                             : r->format->table      ? r->format->table
                                                     : "requests";
    r->table = sqt_table_find(name, figure);
    if (r->table) {
        r->family = sqt_family_of(r->table);
        return 0;
    }
    if (sqt_table_find(name, !figure))
        return options_fail(o, "'%s' is a %s: --%s=%s", name, figure ? "table" : "figure", figure ? "table" : "figure",
                            name);
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (sqt_tables[i].figure == figure)
            sqt_nearest_offer(&nearest, sqt_tables[i].name);
    return options_fail(o, "unknown %s '%s'; %s", kind, name, sqt_nearest_text(&nearest, "", "--list shows them"));
}

static int
take_where(struct dump_request *r, const struct options *o)
{
    if (!r->given[DUMP_where])
        return 0;
    const struct sqt_table *tables[SQT_WHERE_TABLES];
    if (!r->family->where_count)
        return options_fail(o, "--where does not go with --%s=%s", r->table->figure ? "figure" : "table",
                            r->table->name);
    for (unsigned i = 0; i < r->family->where_count; ++i)
        tables[i] = &sqt_tables[r->family->where[i]];
    char error[768];
    r->where = sqt_where_parse(r->given[DUMP_where], tables, r->family->where_count, error, sizeof(error));
    return r->where ? 0 : options_fail(o, "--where: %s", error);
}

static int
take_format(struct dump_request *r, const struct options *o)
{
    /* A person looks at a terminal. */
    const int person = !r->given[DUMP_output] && !dump_has_alarms(r) && !r->given[DUMP_follow] && isatty(STDOUT_FILENO);
    const char *const name = r->given[DUMP_format] ? r->given[DUMP_format] : person ? "table" : "tsv";
    struct sqt_nearest nearest;
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; i < sqt_sink_type_count; ++i) {
        if (strcmp(sqt_sink_types[i].name, name) == 0) {
            r->format = &sqt_sink_types[i];
            return 0;
        }
        sqt_nearest_offer(&nearest, sqt_sink_types[i].name);
    }
    return options_fail(o, "unknown format '%s'; %s", name, sqt_nearest_text(&nearest, "", "--list shows them"));
}

static int
take_group(struct dump_request *r, const struct options *o)
{
    if (options_number(o, DUMP_group, SQT_UNITS_TIME, SECOND, 1, &r->group) != 0)
        return -1;
    if (!r->group)
        r->group = r->family->group ? r->family->group : DEFAULT_GROUP;
    return 0;
}

/* --plot=FILE.gp is short for a format and a file. */
static int
take_plot(struct dump_request *r, const struct options *o)
{
    if (!r->given[DUMP_plot])
        return 0;
    if (r->given[DUMP_format] || r->given[DUMP_output])
        return options_fail(o, "--plot is short for --format=gnuplot --output=FILE.gp: give no other %s",
                            r->given[DUMP_format] ? "--format" : "--output");
    r->given[DUMP_format] = "gnuplot";
    if (strcmp(r->given[DUMP_plot], "-") != 0)
        r->given[DUMP_output] = r->given[DUMP_plot];
    return 0;
}

/* What a script of gnuplot does not go with. */
static int
dump_check_plot(const struct dump_request *r, const struct options *o)
{
    static const enum dump_option senseless[] = {DUMP_table, DUMP_columns, DUMP_sort, DUMP_limit, DUMP_no_header};
    const char *const with = r->given[DUMP_plot] ? "--plot" : "--format=gnuplot";
    if (!r->given[DUMP_figure])
        return options_fail(o, "%s draws a figure: name it with --figure=NAME; --list shows them", with);
    for (unsigned i = 0; i < sizeof(senseless) / sizeof(*senseless); ++i)
        if (r->given[senseless[i]])
            return options_fail(o, "--%s does not go with %s", dump_option_infos[senseless[i]].name, with);
    return 0;
}

/* What the format does not go with. */
static int
check_format(const struct dump_request *r, const struct options *o)
{
    const struct sqt_sink_type *const f = r->format;
    static const enum dump_option senseless[] = {DUMP_figure, DUMP_columns,  DUMP_no_header, DUMP_where, DUMP_sort,
                                                 DUMP_limit,  DUMP_group_by, DUMP_histogram, DUMP_clock};
    if (f->directory && !r->given[DUMP_output])
        return options_fail(o, "--format=%s makes a directory: name it with --output=DIRECTORY", f->name);
    if (f->figures)
        return dump_check_plot(r, o);
    if (!f->table && !f->many)
        return 0;
    if (f->table && r->given[DUMP_table] && strcmp(r->given[DUMP_table], f->table) != 0)
        return options_fail(o, "--format=%s is made of the table %s, not of %s", f->name, f->table,
                            r->given[DUMP_table]);
    for (unsigned i = 0; i < sizeof(senseless) / sizeof(*senseless); ++i)
        if (r->given[senseless[i]] && !(senseless[i] == DUMP_where && (f->family || f->many)))
            return options_fail(o, "--%s does not go with --format=%s", dump_option_infos[senseless[i]].name, f->name);
    return 0;
}

/* Today's settings and other values of them. */
static int
take_whatif(struct dump_request *r, const struct options *o)
{
    static const enum dump_option given[] = {DUMP_whatif, DUMP_squid_conf};
    char error[768];
    sqt_settings_init(&r->whatif.settings);
    for (unsigned i = 0; i < 2; ++i)
        if (r->given[given[i]] && r->family != &sqt_family_whatif)
            return options_fail(o, "--%s goes with --table=whatif", dump_option_infos[given[i]].name);
    if (r->given[DUMP_whatif] && sqt_whatif_ask(&r->whatif, r->given[DUMP_whatif], error, sizeof(error)) != 0)
        return options_fail(o, "--whatif: %s", error);
    if (r->given[DUMP_squid_conf] &&
        sqt_settings_file(&r->whatif.settings, r->given[DUMP_squid_conf], error, sizeof(error)) != 0)
        return options_fail(o, "--squid-conf: %s", error);
    r->whatif.from_file = r->given[DUMP_squid_conf] != NULL;
    return 0;
}

/* What cannot be made of a log without a trace. */
static int
check_log(const struct dump_request *r, const struct options *o)
{
    if (r->given[DUMP_log_format] && !r->log_count)
        return options_fail(o, "--log-format goes with --access-log");
    if (r->log_count && r->given[DUMP_follow])
        return options_fail(o, "--access-log does not go with --follow: a log is read to its end");
    if (!r->log_count || r->trace_count)
        return 0;
    if (!sqt_table_of_log(r->table))
        return options_fail(o, "%s %s needs a TRACE: an access.log does not have what it is made of",
                            r->table->figure ? "figure" : "table", r->table->name);
    return 0;
}

int
dump_parse(struct dump_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->traces = sqt_zeroed((size_t)argc + 1, sizeof(*r->traces));
    r->repeats = sqt_zeroed((size_t)argc + 1, sizeof(*r->repeats));
    r->logs = sqt_zeroed((size_t)argc + 1, sizeof(*r->logs));
    r->warnings = sqt_zeroed((size_t)argc + 1, sizeof(*r->warnings));
    struct options taken = {dump_option_infos,
                            DUMP_OPTIONS,
                            r->given,
                            r->traces,
                            0,
                            error,
                            error_size,
                            DUMP_fail_if,
                            r->repeats,
                            0,
                            {DUMP_access_log, r->logs, 0},
                            {DUMP_warn_if, r->warnings, 0}};
    const struct options *const o = &taken;
    r->peak = DEFAULT_PEAK;
    r->kid = -1;
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    r->trace_count = taken.word_count;
    r->log_count = taken.also.count;
    if (r->given[DUMP_help] || r->given[DUMP_version] || r->given[DUMP_list])
        return 0;
    if (r->given[DUMP_ddl])
        return dump_take_ddl(r, o);
    if (take_plot(r, o) != 0 || take_format(r, o) != 0 || check_format(r, o) != 0 || take_table(r, o) != 0 ||
        take_group(r, o) != 0 || dump_take_columns(r, o) != 0 || dump_take_alarms(r, o) != 0 ||
        dump_take_follow(r, o) != 0 || options_number(o, DUMP_limit, SQT_UNITS_NONE, 1, 1, &r->limit) != 0 ||
        take_where(r, o) != 0 || moment_take(o, DUMP_since, &r->since) != 0 ||
        moment_take(o, DUMP_until, &r->until) != 0 || program_window_take(o, DUMP_lookback, &r->window) != 0 ||
        options_number(o, DUMP_peak, SQT_UNITS_TIME, SECOND, 1, &r->peak) != 0 ||
        options_number(o, DUMP_batch, SQT_UNITS_NONE, 1, 1, &r->batch) != 0 ||
        options_number(o, DUMP_kid, SQT_UNITS_NONE, 1, 0, &r->kid) != 0)
        return -1;
    static const unsigned sampling[SAMPLING_OPTIONS] = {
        [SAMPLING_SAMPLE] = DUMP_otlp_sample, [SAMPLING_SLOW] = DUMP_otlp_slow,
        [SAMPLING_FAILED] = DUMP_otlp_failed, [SAMPLING_REST] = DUMP_otlp_rest,
        [SAMPLING_STAGES] = DUMP_otlp_stages,
    };
    if (sampling_take(o, sampling, r->format->family == &sqt_otlp_family ? NULL : "--format=otlp", &r->sampling) != 0)
        return -1;
    if (r->given[DUMP_from] && !sqt_tracer_find(r->given[DUMP_from]))
        return options_fail(o, "--from: '%s' is unknown; there are: strace, perf", r->given[DUMP_from]);
    if (r->given[DUMP_from] && r->table != &sqt_tables[SQT_TABLE_syscalls])
        return options_fail(o, "--from=%s gives only --table=syscalls", r->given[DUMP_from]);
    if (r->kid > UINT32_MAX)
        return options_fail(o, "--kid: '%s': too large", r->given[DUMP_kid]);
    if (take_whatif(r, o) != 0 || check_log(r, o) != 0)
        return -1;
    if (!r->trace_count && !r->log_count)
        return options_fail(o, "no trace given: name a segment, a ring, a directory of them, or -; or an access.log by "
                               "--access-log=FILE");
    return 0;
}

void
dump_request_free(struct dump_request *r)
{
    sqt_where_free(r->where);
    sqt_alarms_free(r->alarms);
    free(r->repeats);
    free(r->warnings);
    free(r->logs);
    free(r->traces);
}
