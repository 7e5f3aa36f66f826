/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sqtrace-attach.c - a trace of a running Squid that nobody patched.
 */
#include <stdio.h>
#include <unistd.h>

#include "attach.h"

static int
check(const struct attach_request *request, struct program_voice *voice)
{
    struct attach_target target;
    const char *const program = request->word_count                                            ? request->words[0]
                                : request->given[ATTACH_pid] || request->given[ATTACH_service] ? NULL
                                                                                               : "/usr/sbin/squid";
    const int found =
        program ? attach_target_program(&target, program, voice) : attach_target_find(&target, request, voice);
    const int status = found == 0 ? (int)attach_check(&target, stdout) : ATTACH_FAILED;
    attach_target_free(&target);
    return status;
}

int
main(int argc, char **argv)
{
    struct attach_request request;
    char error[768];
    int status;
    if (attach_parse(&request, argc, argv, error, sizeof(error)) != 0) {
        fprintf(stderr, "sqtrace-attach: %s\n", error);
        status = ATTACH_USAGE;
    } else if (request.given[ATTACH_help]) {
        options_print_help(attach_help);
        status = options_told();
    } else if (request.given[ATTACH_version]) {
        puts("sqtrace-attach " PACKAGE_VERSION);
        status = options_told();
    } else {
        struct program_voice voice = {.program = "sqtrace-attach",
                                      .quiet = request.given[ATTACH_quiet] != NULL,
                                      .watched = isatty(STDERR_FILENO)};
        status = request.given[ATTACH_check] ? check(&request, &voice) : (int)attach_run(&request, &voice);
    }
    attach_request_free(&request);
    return status;
}
