/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * options.c - the command line of sqtrace-attach.
 */
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "base/memory.h"

const struct option_info attach_option_infos[ATTACH_OPTIONS] = {
#define ATTACH_OPTION(id, name, letter, value, doc) {name, value, doc, letter},
#include "options.def"
};

#define SECOND INT64_C(1000000000)
#define PID_MOST 4194304 /* the kernel's own limit */

void
attach_help(FILE *to)
{
    fputs("usage: sqtrace-attach --pid=PID | --service=NAME -o DIR [OPTION]...\n"
          "       sqtrace-attach --check [PROGRAM]\n"
          "Traces a running Squid that has no hooks, from outside, with probes of the kernel on its functions.\n\n",
          to);
    options_help(to, attach_option_infos, ATTACH_OPTIONS);
    fputs("\nexit status: 0 done; 1 could not attach, or the trace could not be written; 2 usage\n", to);
}

static int
attach_options_check(const struct attach_request *r, const struct options *o)
{
    const int check = r->given[ATTACH_check] != NULL;
    if (r->given[ATTACH_pid] && r->given[ATTACH_service])
        return options_fail(o, "--pid and --service exclude each other");
    if (r->word_count > (size_t)check)
        return options_fail(o, check ? "more than one program given" : "unexpected argument %s", r->words[0]);
    if (r->word_count && (r->given[ATTACH_pid] || r->given[ATTACH_service]))
        return options_fail(o, "give a program, --pid or --service");
    if (check)
        return r->given[ATTACH_output] ? options_fail(o, "--check writes no trace: leave out -o") : 0;
    if (!r->given[ATTACH_pid] && !r->given[ATTACH_service])
        return options_fail(o, "name the Squid with --pid=PID or --service=NAME");
    if (!r->given[ATTACH_output] || !*r->given[ATTACH_output])
        return options_fail(o, "name the folder for the trace with -o DIR");
    return 0;
}

/* "2%" */
static int
attach_share(struct attach_request *r, const struct options *o)
{
    const char *const text = r->given[ATTACH_most];
    char *end;
    if (!text)
        return 0;
    const double share = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || !(share >= 0.1 && share <= 100))
        return options_fail(o, "--most: %s is no share from 0.1%% to 100%%", text);
    r->most = share / 100;
    return 0;
}

int
attach_parse(struct attach_request *r, int argc, char **argv, char *error, size_t error_size)
{
    int64_t pid = 0;
    memset(r, 0, sizeof(*r));
    r->words = sqt_zeroed((size_t)argc + 1, sizeof(*r->words));
    struct options taken = {.infos = attach_option_infos,
                            .info_count = ATTACH_OPTIONS,
                            .given = r->given,
                            .words = r->words,
                            .error = error,
                            .error_size = error_size};
    if (options_take(&taken, argc, argv) != 0)
        return -1;
    r->word_count = taken.word_count;
    if (r->given[ATTACH_help] || r->given[ATTACH_version])
        return 0;
    if (options_number(&taken, ATTACH_pid, SQT_UNITS_NONE, 1, 1, &pid) != 0 ||
        options_number(&taken, ATTACH_for, SQT_UNITS_TIME, SECOND, 1, &r->duration) != 0)
        return -1;
    if (attach_share(r, &taken) != 0)
        return -1;
    if (pid > PID_MOST)
        return options_fail(&taken, "--pid: there is no process %s", r->given[ATTACH_pid]);
    r->pid = (pid_t)pid;
    return attach_options_check(r, &taken);
}

void
attach_request_free(struct attach_request *r)
{
    free(r->words);
}
