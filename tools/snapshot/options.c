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
#define MOST (365 * 86400 * SECOND)

void
snapshot_help(FILE *to)
{
    fputs("usage: sqtrace-snapshot DIR --to=OUT --last=TIME [OPTION]...\n"
          "       sqtrace-snapshot DIR --to=OUT --when=CONDITION [OPTION]...\n"
          "Copies the minutes around a moment of a trace to a folder of their own.  DIR is the directory of a trace,\n"
          "finished or being written.\n\n",
          to);
    options_help(to, snapshot_option_infos, SNAPSHOT_OPTIONS);
    fputs("\nCONDITION is 'stall > 1s' of a pass of the event loop, lost, or of a request that ends, as with\n"
          "sqtrace-dump --where: 'total_ns > 5s'.\n",
          to);
    fputs("\nexit status: 0 done; 1 a snapshot could not be made; 2 usage\n", to);
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

/* Only whether conditions can be read: who watches parses them again. */
static int
options_check_watch(const struct snapshot_request *r, const struct options *o)
{
    char error[768];
    for (size_t i = 0; i < r->when_count; ++i) {
        struct snapshot_condition condition;
        if (snapshot_condition_parse(&condition, r->when[i], error, sizeof(error)) != 0)
            return options_fail(o, "--when: %s", error);
        snapshot_condition_free(&condition);
    }
    for (unsigned i = SNAPSHOT_before; i <= SNAPSHOT_every && !r->when_count; ++i)
        if (r->given[i])
            return options_fail(o, "--%s needs --when", snapshot_option_infos[i].name);
    return 0;
}

static int
options_take_numbers(struct snapshot_request *r, const struct options *o)
{
    r->before = 60 * SECOND;
    r->after = 5 * SECOND;
    r->every = 60 * SECOND;
    r->keep = r->when_count ? 100 : 0;
    r->total = r->when_count ? INT64_C(10000000000) : 0;
    if (options_number(o, SNAPSHOT_before, SQT_UNITS_TIME, SECOND, 0, &r->before) != 0 ||
        options_number(o, SNAPSHOT_after, SQT_UNITS_TIME, SECOND, 0, &r->after) != 0 ||
        options_number(o, SNAPSHOT_every, SQT_UNITS_TIME, SECOND, 0, &r->every) != 0 ||
        options_number(o, SNAPSHOT_keep, SQT_UNITS_NONE, 1, 1, &r->keep) != 0 ||
        options_number(o, SNAPSHOT_total, SQT_UNITS_BYTES, 1, 1, &r->total) != 0)
        return -1;
    for (unsigned i = SNAPSHOT_before; i <= SNAPSHOT_every; ++i)
        if ((i == SNAPSHOT_before ? r->before : i == SNAPSHOT_after ? r->after : r->every) > MOST)
            return options_fail(o, "--%s: expected at most 365d", snapshot_option_infos[i].name);
    return 0;
}

static int
snapshot_options_check(const struct snapshot_request *r, const struct options *o)
{
    if (o->word_count != 1)
        return options_fail(o, "%s",
                            o->word_count ? "more than one trace given: name one directory"
                                          : "no trace given: name the directory of a trace");
    if (!r->given[SNAPSHOT_to] || !*r->given[SNAPSHOT_to])
        return options_fail(o, "name the folder for the snapshot with --to=OUT");
    const int window = r->given[SNAPSHOT_last] || r->given[SNAPSHOT_since] || r->given[SNAPSHOT_until];
    if (!window && !r->when_count)
        return options_fail(o, "say what to take with --last, --since or --until, or when with --when");
    if (window && r->when_count)
        return options_fail(o, "--when excludes --last, --since and --until");
    return options_check_watch(r, o);
}

int
snapshot_parse(struct snapshot_request *r, int argc, char **argv, char *error, size_t error_size)
{
    memset(r, 0, sizeof(*r));
    r->directories = sqt_zeroed((size_t)argc + 1, sizeof(*r->directories));
    r->when = sqt_zeroed((size_t)argc + 1, sizeof(*r->when));
    struct options taken = {.infos = snapshot_option_infos,
                            .info_count = SNAPSHOT_OPTIONS,
                            .given = r->given,
                            .words = r->directories,
                            .error = error,
                            .error_size = error_size,
                            .repeatable = SNAPSHOT_when,
                            .repeats = r->when};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    r->when_count = taken.repeat_count;
    if (r->given[SNAPSHOT_help] || r->given[SNAPSHOT_version])
        return 0;
    if (moment_take(&taken, SNAPSHOT_since, &r->since) != 0 || moment_take(&taken, SNAPSHOT_until, &r->until) != 0 ||
        options_take_numbers(r, &taken) != 0 || options_take_last(r, &taken) != 0)
        return -1;
    return snapshot_options_check(r, &taken);
}

void
snapshot_request_free(struct snapshot_request *r)
{
    free(r->directories);
    free(r->when);
}
