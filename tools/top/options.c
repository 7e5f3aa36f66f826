/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-top.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "top.h"

const struct option_info top_option_infos[TOP_OPTIONS] = {
#define TOP_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

const char *const top_sort_names[TOP_SORT_COUNT] = {
#define TOP_SORT(name) #name,
    TOP_SORTS(TOP_SORT)
#undef TOP_SORT
};

#define MILLISECOND INT64_C(1000000)

/* The place of a name among others.  Returns 0, or -1 with a line in the options' error. */
static int
options_choose(const struct options *o, enum top_option option, const char *(*name)(unsigned), unsigned count,
               unsigned *chosen)
{
    const char *const given = o->given[option];
    struct sqt_nearest nearest;
    if (!given)
        return 0;
    sqt_nearest_init(&nearest, given, strlen(given));
    for (unsigned i = 0; i < count; ++i) {
        *chosen = i;
        if (strcmp(name(i), given) == 0)
            return 0;
        sqt_nearest_offer(&nearest, name(i));
    }
    return options_fail(o, "--%s: '%s' is unknown; %s", top_option_infos[option].name, given,
                        sqt_nearest_text(&nearest, "", "--help names them"));
}

static const char *
options_table_name(unsigned i)
{
    return top_tables[i].name;
}

static const char *
options_sort_name(unsigned i)
{
    return top_sort_names[i];
}

/* The first two sinks are for people and scripts. */
static const char *
options_format_name(unsigned i)
{
    return sqt_sink_types[i].name;
}

static int
options_take_format(struct top_request *r, const struct options *o)
{
    unsigned chosen = isatty(STDOUT_FILENO) ? 1 : 0;
    if (options_choose(o, TOP_format, options_format_name, 2, &chosen) != 0)
        return -1;
    r->format = &sqt_sink_types[chosen];
    return 0;
}

/* What does not go together. */
static int
top_options_check(const struct top_request *r, const struct options *o)
{
    static const enum top_option with_once[] = {TOP_table, TOP_xid, TOP_limit};
    for (unsigned i = 0; i < sizeof(with_once) / sizeof(*with_once); ++i)
        if (r->given[with_once[i]] && !r->given[TOP_once])
            return options_fail(o, "--%s needs --once", top_option_infos[with_once[i]].name);
    if (r->given[TOP_format] && !r->given[TOP_table])
        return options_fail(o, "--format needs --table");
    if (r->given[TOP_xid] && r->given[TOP_table])
        return options_fail(o, "--xid and --table exclude each other");
    if (r->kid > UINT32_MAX)
        return options_fail(o, "--kid: '%s': too large", r->given[TOP_kid]);
    if (!r->trace_count)
        return options_fail(o, "no trace given: name a trace directory or a ring");
    if (r->given[TOP_log_format] && !r->log_count)
        return options_fail(o, "--log-format goes with --access-log");
    for (size_t i = 0; i < r->log_count; ++i)
        if (strcmp(r->logs[i], "-") == 0)
            return options_fail(o,
                                "--access-log: the standard input cannot be followed; name the file that Squid writes");
    for (size_t i = 0; i < r->trace_count; ++i)
        if (strcmp(r->traces[i], "-") == 0)
            return options_fail(o, "the standard input cannot be followed; name a trace directory or a ring");
    return 0;
}

struct sqt_where *
top_where_parse(const char *text, char *error, size_t error_size)
{
    const struct sqt_table *const tables[] = {&sqt_tables[SQT_TABLE_requests]};
    return sqt_where_parse(text, tables, 1, error, error_size);
}

/* What is older than the window is not known. */
static int
options_check_window(const struct top_request *r, const struct options *o)
{
    const int64_t most = (WINDOW_SECONDS - 1) * WINDOW_SECOND;
    if (r->now <= most && r->last <= most)
        return 0;
    return options_fail(o, "--%s: expected at most 5min", r->now > most ? "now" : "last");
}

/* Only whether it can be read: who reads the trace parses it again. */
static int
options_check_where(const struct top_request *r, const struct options *o)
{
    char error[768];
    if (!r->given[TOP_where])
        return 0;
    struct sqt_where *const where = top_where_parse(r->given[TOP_where], error, sizeof(error));
    if (!where)
        return options_fail(o, "--where: %s", error);
    sqt_where_free(where);
    return 0;
}

int
top_parse(struct top_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->traces = sqt_zeroed((size_t)argc + 1, sizeof(*r->traces));
    r->logs = sqt_zeroed((size_t)argc + 1, sizeof(*r->logs));
    struct options taken = {top_option_infos,
                            TOP_OPTIONS,
                            r->given,
                            r->traces,
                            0,
                            error,
                            error_size,
                            TOP_OPTIONS,
                            NULL,
                            0,
                            {TOP_access_log, r->logs, 0},
                            {TOP_OPTIONS, NULL, 0}};
    const struct options *const o = &taken;
    unsigned sort = TOP_SORT_age_ns;
    r->table = TOP_TABLES;
    r->kid = r->xid = -1;
    r->now = 10 * WINDOW_SECOND;
    r->last = (WINDOW_SECONDS - 1) * WINDOW_SECOND;
    r->every = WINDOW_SECOND;
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    r->trace_count = taken.word_count;
    r->log_count = taken.also.count;
    if (r->given[TOP_help] || r->given[TOP_version])
        return 0;
    if (options_choose(o, TOP_table, options_table_name, TOP_TABLES, &r->table) != 0 ||
        options_choose(o, TOP_sort, options_sort_name, TOP_SORT_COUNT, &sort) != 0 || options_take_format(r, o) != 0 ||
        options_number(o, TOP_limit, SQT_UNITS_NONE, 1, 1, &r->limit) != 0 ||
        options_number(o, TOP_kid, SQT_UNITS_NONE, 1, 0, &r->kid) != 0 ||
        options_number(o, TOP_xid, SQT_UNITS_NONE, 1, 0, &r->xid) != 0 ||
        options_number(o, TOP_now, SQT_UNITS_TIME, WINDOW_SECOND, WINDOW_SECOND, &r->now) != 0 ||
        options_number(o, TOP_last, SQT_UNITS_TIME, WINDOW_SECOND, 0, &r->last) != 0 ||
        options_number(o, TOP_every, SQT_UNITS_TIME, WINDOW_SECOND, 100 * MILLISECOND, &r->every) != 0 ||
        options_check_window(r, o) != 0 || options_check_where(r, o) != 0)
        return -1;
    r->sort = (enum top_sort)sort;
    return top_options_check(r, o);
}

void
top_request_free(struct top_request *r)
{
    free(r->traces);
    free(r->logs);
}

void
top_help(FILE *to)
{
    fputs("usage: sqtrace-top [OPTION]... TRACE...\n"
          "Shows what a traced Squid does at the moment.  TRACE is a trace directory or a ring.\n\n",
          to);
    options_help(to, top_option_infos, TOP_OPTIONS);
}
