/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-report.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "report.h"

const struct option_info report_option_infos[REPORT_OPTIONS] = {
#define REPORT_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

const char *const report_tables[SQT_TABLES] = {
    [SQT_TABLE_stalls] = "The longest passes of the event loop",
    [SQT_TABLE_summary] = "Every stage, in numbers",
    [SQT_TABLE_checks] = "What was checked",
};

#define DEFAULT_GROUP INT64_C(1200000000000) /* 20 min */
#define DEFAULT_PEAK INT64_C(3600000000000)  /* 1 h */
#define SECOND INT64_C(1000000000)
#define LABEL_MOST 40

void
report_help(FILE *to)
{
    fputs("usage: sqtrace-report -o DIR [OPTION]... TRACE...\n"
          "       sqtrace-report -o DIR [OPTION]... LABEL=TRACE LABEL=TRACE...\n"
          "       sqtrace-report --single-file -o FILE [OPTION]... TRACE...\n"
          "Makes a folder with a page, index.html, that says where the time of a traced Squid's requests went, and\n"
          "with the series, the script and the picture of each figure.  With labels it compares traces.  A TRACE is\n"
          "what sqtrace-dump takes: a segment (.sqt), a ring, a directory of both, or - for the standard input.\n\n",
          to);
    options_help(to, report_option_infos, REPORT_OPTIONS);
    fputs(
        "\nexit status: 0 done; 1 could not, and nothing was left behind; 2 usage; 3 done, but some figure could not\n"
        "be drawn\n",
        to);
}

/* ---- traces ---- */

/* Letters that a label and so a file's name may have. */
static int
is_label(const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+";
    return length && length <= LABEL_MOST && strspn(text, letters) >= length && text[0] != '-';
}

static struct report_trace *
trace_of(struct report *r, const char *label, size_t length)
{
    for (size_t i = 0; i < r->trace_count; ++i)
        if (strlen(r->traces[i].label) == length && memcmp(r->traces[i].label, label, length) == 0)
            return &r->traces[i];
    if (r->trace_count == REPORT_TRACES)
        return NULL;
    struct report_trace *const t = &r->traces[r->trace_count++];
    t->report = r;
    char *const copy = sqt_zeroed(length + 1, 1);
    memcpy(copy, label, length);
    t->label = copy;
    return t;
}

static int
take_trace(struct report *r, const struct options *o, const char *word)
{
    const char *const equals = strchr(word, '=');
    const int labelled = equals && !memchr(word, '/', (size_t)(equals - word));
    const size_t length = labelled ? (size_t)(equals - word) : 0;
    if (labelled && !is_label(word, length))
        return options_fail(o,
                            "'%.*s': a label has 1 to %d letters, digits, '_', '+' or '-'; for a trace with '=' in its "
                            "name write ./%s",
                            (int)length, word, LABEL_MOST, word);
    if (r->trace_count && !*r->traces[0].label != !labelled)
        return options_fail(o, "'%s': either all traces have a label, as in before=TRACE after=TRACE, or none has",
                            word);
    struct report_trace *const t = trace_of(r, word, length);
    if (!t)
        return options_fail(o, "'%s': more than %d labels", word, REPORT_TRACES);
    t->paths = sqt_resized(t->paths, (t->path_count + 1) * sizeof(*t->paths));
    t->paths[t->path_count++] = labelled ? equals + 1 : word;
    return 0;
}

/* Logs in place of traces. */
static int
take_logs(struct report *r, const struct options *o)
{
    if (r->given[REPORT_log_format] && !o->also.count)
        return options_fail(o, "--log-format goes with --access-log");
    if (!o->also.count || r->trace_count)
        return 0;
    r->of_log = 1;
    for (size_t i = 0; i < o->also.count; ++i)
        if (take_trace(r, o, r->logs[i]) != 0)
            return -1;
    for (size_t i = 0; i < r->trace_count; ++i)
        r->traces[i].of_log = 1;
    return 0;
}

/* Logs beside traces: of a label those of it, or else those of all. */
static int
join_logs(struct report *r, const struct options *o)
{
    for (size_t i = 0; i < o->also.count && !r->of_log; ++i) {
        const char *const equals = strchr(r->logs[i], '=');
        const size_t length = equals && *r->traces[0].label ? (size_t)(equals - r->logs[i]) : 0;
        int joined = 0;
        for (size_t k = 0; k < r->trace_count; ++k) {
            struct report_trace *const t = &r->traces[k];
            if (length && (strlen(t->label) != length || memcmp(t->label, r->logs[i], length) != 0))
                continue;
            t->logs = sqt_resized(t->logs, (t->log_count + 1) * sizeof(*t->logs));
            t->logs[t->log_count++] = length ? equals + 1 : r->logs[i];
            joined = 1;
        }
        if (!joined)
            return options_fail(o, "--access-log=%s: no TRACE has that label", r->logs[i]);
    }
    return 0;
}

/* ---- figures ---- */

/* Whether the report has the table of that name, and so no picture of it: its words say more. */
static int
is_shown_as_table(const char *name)
{
    const struct sqt_table *const table = sqt_table_find(name, 0);
    return table && report_tables[table - sqt_tables];
}

/* Whether it is looked at first when something is slow. */
static int
is_trouble(unsigned figure)
{
    return figure == SQT_TABLE_tail_stages || figure == SQT_TABLE_slowest || figure == SQT_TABLE_waterfall ||
           figure == SQT_TABLE_leader_stages || figure == SQT_TABLE_held_back;
}

/* Whether there is what it is made of. */
static int
is_there(const struct report *r, unsigned table)
{
    return !r->of_log || sqt_table_of_log(&sqt_tables[table]);
}

static int
take_figures(struct report *r, const struct options *o)
{
    const char *text = r->given[REPORT_figures];
    r->figures = sqt_zeroed(SQT_TABLES, sizeof(*r->figures));
    unsigned char chosen[SQT_TABLES] = {0};
    while (text) {
        const size_t length = strcspn(text, ",");
        struct sqt_nearest nearest;
        sqt_nearest_init(&nearest, text, length);
        unsigned i = 0;
        while (i < SQT_TABLES && !(sqt_tables[i].figure && strlen(sqt_tables[i].name) == length &&
                                   memcmp(sqt_tables[i].name, text, length) == 0)) {
            if (sqt_tables[i].figure)
                sqt_nearest_offer(&nearest, sqt_tables[i].name);
            ++i;
        }
        if (i == SQT_TABLES)
            return options_fail(o, "--figures: there is no figure '%.*s'; %s", (int)length, text,
                                sqt_nearest_text(&nearest, "", "sqtrace-dump --list shows them"));
        if (r->of_log && !sqt_table_of_log(&sqt_tables[i]))
            return options_fail(o, "--figures: %s needs a TRACE: an access.log does not have what it is made of",
                                sqt_tables[i].name);
        chosen[i] = 1;
        text = text[length] ? text + length + 1 : NULL;
    }
    for (unsigned first = 1; first < 2; --first)
        for (unsigned i = 0; i < SQT_TABLES; ++i)
            if (sqt_tables[i].figure && (chosen[i] || !r->given[REPORT_figures]) &&
                !is_shown_as_table(sqt_tables[i].name) && is_trouble(i) == (int)first && is_there(r, i))
                r->figures[r->figure_count++] = &sqt_tables[i];
    for (unsigned i = 0; i < SQT_TABLES; ++i)
        if (report_tables[i] && is_there(r, i))
            r->figures[r->figure_count++] = &sqt_tables[i];
    return 0;
}

int
report_parse(struct report *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->group = DEFAULT_GROUP;
    r->peak = DEFAULT_PEAK;
    r->kid = -1;
    r->words = sqt_zeroed((size_t)argc + 1, sizeof(*r->words));
    const char **const logs = r->logs = sqt_zeroed((size_t)argc + 1, sizeof(*logs));
    struct options taken = {
        report_option_infos,          REPORT_OPTIONS,           r->given, r->words, 0, error, error_size, 0, NULL, 0,
        {REPORT_access_log, logs, 0}, {REPORT_OPTIONS, NULL, 0}};
    const struct options *const o = &taken;
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    if (r->given[REPORT_help] || r->given[REPORT_version])
        return 0;
    for (size_t i = 0; i < taken.word_count; ++i)
        if (take_trace(r, o, r->words[i]) != 0)
            return -1;
    if (take_logs(r, o) != 0 || join_logs(r, o) != 0)
        return -1;
    if (take_figures(r, o) != 0 || moment_take(o, REPORT_since, &r->since) != 0 ||
        moment_take(o, REPORT_until, &r->until) != 0 || program_window_take(o, REPORT_lookback, &r->window) != 0 ||
        options_number(o, REPORT_group, SQT_UNITS_TIME, SECOND, 1, &r->group) != 0 ||
        options_number(o, REPORT_peak, SQT_UNITS_TIME, SECOND, 1, &r->peak) != 0 ||
        options_number(o, REPORT_kid, SQT_UNITS_NONE, 1, 0, &r->kid) != 0)
        return -1;
    if (r->kid > UINT32_MAX)
        return options_fail(o, "--kid: '%s': too large", r->given[REPORT_kid]);
    if (r->since.form == MOMENT_AFTER_START && r->until.form == MOMENT_AFTER_START && r->since.ns >= r->until.ns)
        return options_fail(o, "--since is not before --until");
    if (!r->trace_count)
        return options_fail(o, "no trace given: name a segment, a ring, a directory of them, or -; or an access.log by "
                               "--access-log=FILE");
    if (r->given[REPORT_verdict] && (r->given[REPORT_output] || r->given[REPORT_single] || r->given[REPORT_figures]))
        return options_fail(
            o, "--verdict prints text and makes no report: it does not go with --output, --single-file and "
               "--figures");
    if (r->given[REPORT_verdict])
        r->figure_count = 0;
    else if (!r->given[REPORT_output] || !*r->given[REPORT_output])
        return options_fail(o, "no %s given: -o %s names the one to make", r->given[REPORT_single] ? "file" : "folder",
                            r->given[REPORT_single] ? "FILE" : "DIR");
    return 0;
}
