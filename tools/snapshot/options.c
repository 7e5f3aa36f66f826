/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-snapshot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#include "snapshot.h"

const struct option_info snapshot_option_infos[SNAPSHOT_OPTIONS] = {
#define SNAPSHOT_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

#define SECOND INT64_C(1000000000)

void
snapshot_help(FILE *to)
{
    fputs("usage: sqtrace-snapshot DIR --to=OUT [OPTION]...\n"
          "Copies the minutes around a moment of a trace to a folder of their own.  DIR is the directory of a trace,\n"
          "finished or being written.\n\n",
          to);
    options_help(to, snapshot_option_infos, SNAPSHOT_OPTIONS);
    fputs("\nexit status: 0 done; 1 could not, and no snapshot was made; 2 usage\n", to);
}

/* --last=TIME is --since=-TIME. */
static int
options_take_last(struct snapshot_request *r, const struct options *o)
{
    int64_t last = 0;
    if (!r->given[SNAPSHOT_last])
        return 0;
    if (r->given[SNAPSHOT_since])
        return options_fail(o, "--last and --since exclude each other");
    if (options_number(o, SNAPSHOT_last, SQT_UNITS_TIME, SECOND, 1, &last) != 0)
        return -1;
    r->since = (struct moment){.form = MOMENT_BEFORE_END, .ns = last};
    return 0;
}

static int
options_check(const struct snapshot_request *r, const struct options *o)
{
    if (o->word_count != 1)
        return options_fail(o, "%s",
                            o->word_count ? "more than one trace given: name one directory"
                                          : "no trace given: name the directory of a trace");
    if (!r->given[SNAPSHOT_to] || !*r->given[SNAPSHOT_to])
        return options_fail(o, "name the folder for the snapshot with --to=OUT");
    if (!r->given[SNAPSHOT_last] && !r->given[SNAPSHOT_since] && !r->given[SNAPSHOT_until])
        return options_fail(o, "say what to take with --last, --since or --until");
    return 0;
}

int
snapshot_parse(struct snapshot_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->directories = sqt_zeroed((size_t)argc + 1, sizeof(*r->directories));
    struct options taken = {.infos = snapshot_option_infos,
                            .info_count = SNAPSHOT_OPTIONS,
                            .given = r->given,
                            .words = r->directories,
                            .error = error,
                            .error_size = error_size};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    if (r->given[SNAPSHOT_help] || r->given[SNAPSHOT_version])
        return 0;
    if (moment_take(&taken, SNAPSHOT_since, &r->since) != 0 || moment_take(&taken, SNAPSHOT_until, &r->until) != 0 ||
        options_number(&taken, SNAPSHOT_keep, SQT_UNITS_NONE, 1, 1, &r->keep) != 0 || options_take_last(r, &taken) != 0)
        return -1;
    return options_check(r, &taken);
}

void
snapshot_request_free(struct snapshot_request *r)
{
    free(r->directories);
}
