/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * dump.h - what the files of sqtrace-dump share.
 */
#ifndef SQT_DUMP_H
#define SQT_DUMP_H

#include <stdio.h>

#include "ddl/ddl.h"
#include "figure/whatif/settings.h"
#include "pass/family.h"
#include "row/wide-columns.h"
#include "sink/order.h"
#include "sink/sink.h"
#include "tally/alarm.h"
#include "tally/histogram.h"
#include "tally/tally.h"
#include "../program/moment.h"
#include "../program/options.h"
#include "../program/tables.h"
#include "../program/window.h"

enum dump_status { DUMP_DONE = 0, DUMP_FAILED = 1, DUMP_USAGE = 2, DUMP_DAMAGED = 3, DUMP_ALARM = 4, DUMP_WARNING = 5 };

enum dump_option {
#define DUMP_OPTION(id, name, letter, value, doc) DUMP_##id,
#include "options.def"
    DUMP_OPTIONS
};

extern const struct option_info dump_option_infos[DUMP_OPTIONS];

/* What the command line says. */
struct dump_request {
    const char *given[DUMP_OPTIONS]; /* value of each option; "" if it stands alone, NULL if not given */
    const char **traces;
    size_t trace_count;
    const char **repeats;  /* values of --fail-if */
    const char **logs;     /* values of --access-log */
    const char **warnings; /* conditions of --warn-if */
    size_t log_count;

    const struct sqt_table *table;
    const struct sqt_table *tables[SQT_TABLES]; /* of a format of several tables; table is the first */
    unsigned table_count;
    const struct sqt_family *family;
    const struct sqt_sink_type *format;
    struct sqt_where *where;
    struct sqt_wide_table wide;     /* the table with the columns of wide-columns.def */
    int clock_wall;                 /* they take the place of times */
    int uses_wide;                  /* some of those are asked for */
    struct sqt_tally_form_by tally; /* with --group-by */
    struct sqt_alarms *alarms;      /* with --fail-if or --warn-if; else NULL */
    unsigned failures;              /* the first of them are of --fail-if */
    struct sqt_histogram histogram; /* with --histogram */
    const struct sqt_table *shown;  /* whose rows are printed: that table, or one of these three */
    unsigned char columns[256];     /* of that one */
    unsigned column_count;
    int all_columns; /* those of the table, in its order */
    struct moment since, until;
    struct program_window window; /* what --lookback says */
    int64_t group, peak;          /* ns */
    int64_t batch;                /* operations; 0: not given */
    int64_t kid;                  /* -1: all */
    struct sqt_order_key keys[SQT_ORDER_KEYS];
    unsigned key_count;                /* 0: as they come */
    int64_t limit;                     /* rows; 0: all */
    const struct sqt_ddl_engine *ddl;  /* with --ddl; else NULL */
    struct sqt_otlp_sampling sampling; /* of --format=otlp */
    struct sqt_whatif whatif;          /* of --whatif and --squid-conf */
};

/* Reads the command line.  Returns 0, or -1 with one line in error. */
int dump_parse(struct dump_request *request, int argc, char **argv, char *error, size_t error_size);
void dump_request_free(struct dump_request *request);

/* columns.c: what is printed of the rows.  Returns 0, or -1 with a line in the options' error. */
int dump_take_columns(struct dump_request *request, const struct options *options);

/* follow.c: whether the rows of a table end, so that it can be followed. */
int dump_rows_end(const struct sqt_table *table);

/* What --follow goes with.  Returns 0, or -1 with a line in the options' error. */
int dump_take_follow(const struct dump_request *request, const struct options *options);

/* Makes every --follow of this process end once all is read, as a signal does. */
void dump_follow_end(void);

/* alarm.c: the conditions of --fail-if.  Returns 0, or -1 with a line in the options' error. */
int dump_take_alarms(struct dump_request *request, const struct options *options);
static inline int
dump_has_alarms(const struct dump_request *request)
{
    return request->given[DUMP_fail_if] || request->given[DUMP_warn_if];
}
/* Whether the command line asks for Nagios's line; it may be wrong otherwise. */
int dump_wants_nagios(int argc, char **argv);
/* Prints that line of what could not be judged, and returns its exit status. */
int dump_nagios_unknown(const char *text);

/* ddl.c: --ddl.  Returns 0, or -1 with a line in the options' error. */
int dump_take_ddl(struct dump_request *request, const struct options *options);
/* Prints the statements.  Returns enum dump_status. */
int dump_ddl(const struct dump_request *request);

/* What --list and --help print. */
void dump_list(FILE *to);
void dump_help(FILE *to);

/* Does it.  Returns enum dump_status, or with --nagios a plugin's. */
int dump_run(const struct dump_request *request);

#endif
