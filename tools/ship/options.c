/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-ship.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#include "../program/tables.h"
#include "ship.h"

const struct option_info ship_option_infos[SHIP_OPTIONS] = {
#define SHIP_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

#define SECOND INT64_C(1000000000)
#define DEFAULT_SIZE (INT64_C(1) << 20)
#define DEFAULT_AGE (600 * SECOND)
#define COMPACT_SIZE (INT64_C(64) << 20)
#define COMPACT_AGE (24 * 3600 * SECOND)
#define DEFAULT_GRACE (3600 * SECOND)

void
ship_help(FILE *to)
{
    fputs("usage: sqtrace-ship DIR... --to=OUT [OPTION]...\n"
          "       sqtrace-ship --compact --to=OUT [OPTION]...\n"
          "Writes the rows that ended since the last time to OUT, as files of Parquet.  DIR is the directory of a "
          "trace,\n"
          "finished or being written.  A run that was killed loses no row and doubles none.\n\n",
          to);
    options_help(to, ship_option_infos, SHIP_OPTIONS);
    fputs("\nexit status: 0 done; 1 could not, and the next run goes on; 2 usage; 3 done, but another sqtrace-ship has "
          "some\nof the rings\n",
          to);
}

static int
ship_take_tables(struct ship_request *r, const struct options *o)
{
    if (program_take_tables(o, SHIP_table, r->tables, &r->table_count) != 0)
        return -1;
    for (unsigned i = 0; i < r->table_count; ++i)
        if (!r->tables[i]->things)
            return options_fail(o, "--table: the rows of %s sum up a whole trace, and cannot be shipped in pieces",
                                r->tables[i]->name);
    return 0;
}

static int
ship_take_raw(struct ship_request *r, const struct options *o)
{
    int among = 0, counted = 0;
    if (!r->given[SHIP_raw])
        return 0;
    if (ship_raw_parse(&r->raw, r->given[SHIP_raw]) != 0)
        return options_fail(o,
                            "--raw=%.100s: name rules, as in slowest:10,failed,share:0.1%% (slowest: 1 to 10000 "
                            "of each class and minute; share: up to 100%%)",
                            r->given[SHIP_raw]);
    for (unsigned i = 0; i < r->table_count; ++i) {
        among |= r->tables[i] == &sqt_tables[SQT_TABLE_requests];
        counted |= r->tables[i] == &sqt_tables[SQT_TABLE_rollups];
    }
    if (!among)
        return options_fail(o, "--raw is of table requests, which --table does not name");
    return counted ? 0
                   : options_fail(o, "--raw needs table rollups, which counts the requests that it leaves out: "
                                     "--table=requests,rollups,losses");
}

/* What goes together. */
static int
ship_check(const struct ship_request *r, const struct options *o)
{
    const int compact = r->given[SHIP_compact] != NULL;
    if (!compact && (r->given[SHIP_grace] || r->given[SHIP_dry_run]))
        return options_fail(o, "--%s goes with --compact", r->given[SHIP_grace] ? "grace" : "dry-run");
    if (compact && (r->given[SHIP_raw] || r->given[SHIP_make_folder]))
        return options_fail(o, "--%s does not go with --compact", r->given[SHIP_raw] ? "raw" : "make-folder");
    if (compact && r->directory_count)
        return options_fail(o, "--compact reads no trace: leave out %.200s", r->directories[0]);
    if (!compact && !r->directory_count)
        return options_fail(o, "no trace given: name the directory of a trace");
    if (!r->given[SHIP_to] || !*r->given[SHIP_to])
        return options_fail(o, "name the folder %s with --to=DIR", compact ? "to compact" : "to ship to");
    return 0;
}

int
ship_parse(struct ship_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->directories = sqt_zeroed((size_t)argc + 1, sizeof(*r->directories));
    r->least_size = DEFAULT_SIZE;
    r->least_age = DEFAULT_AGE;
    struct options taken = {.infos = ship_option_infos,
                            .info_count = SHIP_OPTIONS,
                            .given = r->given,
                            .words = r->directories,
                            .error = error,
                            .error_size = error_size};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    r->directory_count = taken.word_count;
    if (r->given[SHIP_compact]) {
        r->least_size = COMPACT_SIZE;
        r->least_age = COMPACT_AGE;
    }
    r->grace = DEFAULT_GRACE;
    if (r->given[SHIP_help] || r->given[SHIP_version])
        return 0;
    if (ship_take_tables(r, &taken) != 0 || ship_take_raw(r, &taken) != 0 ||
        options_number(&taken, SHIP_least_size, SQT_UNITS_BYTES, 1, 0, &r->least_size) != 0 ||
        options_number(&taken, SHIP_least_age, SQT_UNITS_TIME, SECOND, 0, &r->least_age) != 0 ||
        options_number(&taken, SHIP_grace, SQT_UNITS_TIME, SECOND, 0, &r->grace) != 0)
        return -1;
    return ship_check(r, &taken);
}

void
ship_request_free(struct ship_request *r)
{
    free(r->directories);
}
