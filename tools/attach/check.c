/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * check.c - sqtrace-attach --check: which functions and stages a program allows.
 */
#include <limits.h>
#include <string.h>

#include "attach.h"
#include "base/visible.h"

/* Rows of the same stage stand together in the table. */
static unsigned
check_stage(const struct attach_target *target, unsigned first, FILE *to)
{
    const char *const stage = sqt_attach_infos[first].stage;
    const struct sqt_attach_functions *const f = &target->functions;
    char name[256];
    unsigned row = first;
    for (; row < SQT_ATTACH_ROWS && strcmp(sqt_attach_infos[row].stage, stage) == 0; ++row) {
        if (!f->has[row])
            fprintf(to, "%s\t%s\tmissing\t-\t-\n", stage, sqt_attach_infos[row].name);
        for (size_t i = 0; i < f->count; ++i)
            if (f->found[i].row == row)
                fprintf(to, "%s\t%s\t%s\t0x%llx\t%s\n", stage, sqt_attach_infos[row].name,
                        f->found[i].emulated ? "emulated" : "single-stepped", (unsigned long long)f->found[i].offset,
                        sqt_visible_text(name, sizeof(name), f->found[i].name));
    }
    return row;
}

enum attach_status
attach_check(const struct attach_target *target, FILE *to)
{
    char program[PATH_MAX];
    fprintf(to, "# program: %s\n# build id: %s\n# Squid: %s\n",
            sqt_visible_text(program, sizeof(program), target->program),
            *target->elf.build_id ? target->elf.build_id : "-", *target->version ? target->version : "-");
    fputs("stage\tevent\tprobe\toffset\tfunction\n", to);
    for (unsigned row = 0; row < SQT_ATTACH_ROWS;)
        row = check_stage(target, row, to);
    return options_told() == 0 ? ATTACH_DONE : ATTACH_FAILED;
}
