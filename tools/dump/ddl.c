/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ddl.c - --ddl: SQL over files of Parquet, in place of rows.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "../program/draft.h"
#include "dump.h"

/* The names of the engines, as in "a, b, c". */
static const char *
ddl_names(char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (unsigned i = 0; sqt_ddl_engine_name(i) && used < size; ++i)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "there are: ", sqt_ddl_engine_name(i));
    return text;
}

static int
ddl_unknown(const struct options *o, const char *name)
{
    struct sqt_nearest nearest;
    char others[128];
    sqt_nearest_init(&nearest, name, strlen(name));
    for (unsigned i = 0; sqt_ddl_engine_name(i); ++i)
        sqt_nearest_offer(&nearest, sqt_ddl_engine_name(i));
    return options_fail(o, "--ddl: unknown engine '%s'; %s", name,
                        sqt_nearest_text(&nearest, "", ddl_names(others, sizeof(others))));
}

int
dump_take_ddl(struct dump_request *r, const struct options *o)
{
    for (unsigned i = 0; i < DUMP_OPTIONS; ++i)
        if (r->given[i] && i != DUMP_ddl && i != DUMP_output && i != DUMP_quiet)
            return options_fail(o, "--%s does not go with --ddl", dump_option_infos[i].name);
    r->ddl = sqt_ddl_engine_find(r->given[DUMP_ddl]);
    if (!r->ddl)
        return ddl_unknown(o, r->given[DUMP_ddl]);
    if (r->trace_count != 1)
        return options_fail(o, "--ddl takes one folder: the one with the outputs of --format=parquet");
    return 0;
}

static int
ddl_fail(const char *name)
{
    fprintf(stderr, "sqtrace-dump: %s: cannot write: %s\n", name, strerror(errno));
    return DUMP_FAILED;
}

int
dump_ddl(const struct dump_request *r)
{
    const char *const name = r->given[DUMP_output] ? r->given[DUMP_output] : "standard output";
    struct sqt_ddl_place place;
    char error[1024];
    if (sqt_ddl_place_find(&place, r->traces[0], error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-dump: %s\n", error);
        return DUMP_FAILED;
    }
    const int fd = r->given[DUMP_output] ? draft_file(name, 0) : -1;
    FILE *const to = !r->given[DUMP_output] ? stdout : fd < 0 ? NULL : sqt_fdopen(fd, "w");
    if (!to)
        return ddl_fail(name);
    sqt_ddl_print(to, r->ddl, &place);
    const int failed = fflush(to) != 0 || ferror(to);
    const int unclosed = to != stdout && fclose(to) != 0;
    if (failed || unclosed) {
        const int cause = errno;
        draft_drop();
        if (cause == EPIPE) /* a reader that has enough, as head(1), is no error */
            return DUMP_DONE;
        errno = cause;
        return ddl_fail(name);
    }
    return draft_keep() == 0 ? DUMP_DONE : ddl_fail(name);
}
